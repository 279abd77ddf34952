//! The scripted model, in process: a scenario, a token counter and an injected latency.

use std::sync::Arc;

use crate::clock::BoxFuture;
use crate::event::Metering;
use crate::message::{FinishReason, ToolCall, Usage};
use crate::provider::{Pace, Provider, ProviderContext, ProviderError, Reply, Request};
use crate::scenario::{
    Answer, Said, Scenario, results_text, scripted_summary, summary_asked_for, turn_index,
};
use crate::tokens;

/// The scripted model. Stateless: its reply is a function of the conversation.
#[derive(Clone, Debug)]
pub struct Scripted {
    scenario: Arc<Scenario>,
    pace: Pace,
}

impl Scripted {
    /// The model that plays `scenario`, as fast as the scenario says.
    #[must_use]
    pub fn new(scenario: Arc<Scenario>) -> Self {
        let pace = scenario.pace().clone();
        Self { scenario, pace }
    }

    /// The same with a latency of its own.
    #[must_use]
    pub fn with_latency(mut self, pace: impl Into<Pace>) -> Self {
        self.pace = pace.into();
        self
    }

    /// The reply to `request`: what the script says at this point of the conversation, cut where
    /// the request caps it, and the tokens of both.
    #[must_use]
    pub fn reply(&self, request: Request<'_>) -> Reply {
        let turn = turn_index(request.messages);
        let answer = match summary_asked_for(request.messages) {
            Some(tokens) => Answer::prose(scripted_summary(tokens)),
            None => self
                .scenario
                .answer(turn, &|| results_text(request.messages)),
        };
        let (sent, most) = (request.prompt_tokens, request.max_completion_tokens);
        reply_with(answer, sent, most, &completion_tokens)
    }
}

impl Provider for Scripted {
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let reply = self.reply(request);
            let turn = turn_index(request.messages);
            let wait = self.pace.of_turn(turn, reply.usage.completion_tokens);
            context.clock.sleep(wait, context.signal).await?;
            Ok(reply)
        })
    }
}

/// The reply that gives `answer` to a request of `prompt_tokens` tokens, cut to `most` tokens.
/// `count` counts the tokens of a reply, as [`tokens::count_completion`] does.
#[must_use]
pub fn reply_with(
    answer: Answer,
    prompt_tokens: u64,
    most: Option<u64>,
    count: &dyn Fn(&Said) -> u64,
) -> Reply {
    let Answer { said, usage: fixed } = answer;
    let completion_tokens = count(&said);
    let (said, finish, completion_tokens) = match most {
        Some(most) if completion_tokens > most => {
            let said = cut(said, most);
            let completion_tokens = self::completion_tokens(&said);
            (said, FinishReason::Length, completion_tokens)
        }
        _ => {
            let finish = finish(&said);
            (said, finish, completion_tokens)
        }
    };
    let counted = usage(prompt_tokens, completion_tokens);
    Reply {
        message: Some(said),
        finish: Some(finish),
        usage: fixed.apply(counted),
        metering: Metering::reported(counted),
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
    if kept.tool_calls.is_empty() {
        // A message that calls nothing has prose, if only an empty one.
        kept.content.get_or_insert_default();
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
