//! The scripted model, in process: a scenario, a token counter and an injected latency.

use std::sync::Arc;

use crate::clock::BoxFuture;
use crate::event::Metering;
use crate::message::{FinishReason, ToolCall, Usage};
use crate::provider::{Latency, Provider, ProviderContext, ProviderError, Reply, Request};
use crate::scenario::{Said, Scenario, results_text, turn_index};
use crate::tokens;

/// The scripted model. Stateless: its reply is a function of the conversation.
#[derive(Clone, Debug)]
pub struct Scripted {
    scenario: Arc<Scenario>,
    latency: Latency,
}

impl Scripted {
    /// The model that plays `scenario` without delay.
    #[must_use]
    pub fn new(scenario: Arc<Scenario>) -> Self {
        Self {
            scenario,
            latency: Latency::None,
        }
    }

    /// The same with an injected latency.
    #[must_use]
    pub fn with_latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// The reply to `request`: what the script says at this point of the conversation, cut where
    /// the request caps it, and the tokens of both.
    #[must_use]
    pub fn reply(&self, request: Request<'_>) -> Reply {
        let turn = turn_index(request.messages);
        let said = self
            .scenario
            .reply(turn, &|| results_text(request.messages));
        let completion_tokens = completion_tokens(&said);
        let prompt_tokens = request.prompt_tokens;
        match request.max_completion_tokens {
            Some(most) if completion_tokens > most => {
                let said = cut(said, most);
                let usage = usage(prompt_tokens, self::completion_tokens(&said));
                Reply {
                    message: Some(said),
                    finish: Some(FinishReason::Length),
                    usage,
                    metering: Metering::agreed(usage),
                }
            }
            _ => {
                let finish = finish(&said);
                let usage = usage(prompt_tokens, completion_tokens);
                Reply {
                    message: Some(said),
                    finish: Some(finish),
                    usage,
                    metering: Metering::agreed(usage),
                }
            }
        }
    }
}

impl Provider for Scripted {
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let wait = self.latency.of_turn(turn_index(request.messages));
            context.clock.sleep(wait, context.signal).await?;
            Ok(self.reply(request))
        })
    }
}

fn completion_tokens(said: &Said) -> u64 {
    tokens::count_completion(said.content.as_deref(), &said.tool_calls)
}

fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
    Usage {
        prompt_tokens,
        completion_tokens,
        ..Usage::default()
    }
}

fn finish(said: &Said) -> FinishReason {
    if said.tool_calls.is_empty() {
        FinishReason::Stop
    } else {
        FinishReason::ToolCalls
    }
}

/// What a model writes before it hits a cap of `most` tokens: the beginning of its prose, and
/// then of its calls, the last of which may break off inside its arguments.
fn cut(said: Said, most: u64) -> Said {
    let mut kept = Said {
        content: None,
        tool_calls: Vec::new(),
    };
    if let Some(content) = said.content {
        // An empty list of calls is counted as the text `[]`.
        let for_prose = most.saturating_sub(completion_tokens(&kept));
        let prose = tokens::truncate(&content, for_prose).to_owned();
        let whole = prose.len() == content.len();
        kept.content = Some(prose);
        if !whole {
            return kept;
        }
    }
    for call in said.tool_calls {
        let whole = call.arguments.len();
        let Some(call) = longest_fitting(&kept, &call, most) else {
            break;
        };
        let broken = call.arguments.len() < whole;
        kept.tool_calls.push(call);
        if broken {
            break;
        }
    }
    kept
}

/// `call` with as much of its arguments as fits after `kept`; none where not even its name does.
fn longest_fitting(kept: &Said, call: &ToolCall, most: u64) -> Option<ToolCall> {
    let fits = |end: usize| {
        let mut trial = kept.clone();
        let arguments = call.arguments[..end].to_owned();
        trial.tool_calls.push(ToolCall {
            arguments,
            ..call.clone()
        });
        (completion_tokens(&trial) <= most).then_some(trial)
    };
    let ends: Vec<usize> = (0..=call.arguments.len())
        .rev()
        .filter(|&end| call.arguments.is_char_boundary(end))
        .collect();
    // Tokens do not grow strictly with characters, so the longest fit is looked for from the end.
    ends.into_iter().find_map(fits)?.tool_calls.pop()
}
