//! What a request is answered with: the script's reply, or a fault.

use std::time::Duration;

use super::body::{Record, ReplyBody, Step, Watch, break_off};
use super::config::Script;
use super::exchange::{Outcome, cut_name, cut_said};
use super::memo::Memo;
use super::oddity::Oddity;
use super::received::Received;
use super::route::{Refusal, Response, json, respond, respond_with};
use super::stream::{Ending, Stream, Timing};
use super::{CREATED, Limits};
use crate::clock;
use crate::message::{FinishReason, to_json};
use crate::provider::wire::{Choice, Completion, Delivery, Parallel, ToolChoice, WireUsage};
use crate::provider::{Reply, reply_with};
use crate::scenario::{
    Answer, AnyReply, DeclaredTool, Draw, Fault, FaultKind, RetryAfter, Said, UsageOverride,
    answer_by_tool,
};

/// The reply that `script` gives at `turn`, and what was odd about asking for it.
pub(super) fn reply(
    script: &Script,
    received: &Received,
    place: (u32, u64),
    memo: &Memo,
) -> (Reply, Vec<Oddity>) {
    let (turn, seed) = place;
    let mut oddities = Vec::new();
    let tools: Vec<_> = received
        .incoming
        .functions()
        .map(|(name, parameters)| DeclaredTool { name, parameters })
        .collect();
    let answer = match script {
        Script::Written(scenario) => {
            let mut answer = scenario.answer(turn, &|| received.results_text());
            give_as_wanted(&mut answer.said, turn, &tools);
            oddities.extend(undeclared(&answer.said, &tools));
            answer
        }
        Script::Any(any) => {
            let tools = allowed(&tools, &received.incoming.choice);
            of_any(any.reply(turn, &tools, seed), received, &mut oddities)
        }
        Script::Given(given) => {
            let reply = given.reply(turn, &tools, seed);
            oddities.extend(undeclared(&reply.said, &tools));
            of_any(reply, received, &mut oddities)
        }
    };
    let prompt_tokens = received.messages_tokens + received.tools_tokens;
    let most = received.incoming.max_completion_tokens;
    let reply = reply_with(answer, prompt_tokens, most, &|said| completion(said, memo));
    (reply, oddities)
}

/// The calls of tools that the request does not declare.
fn undeclared(said: &Said, tools: &[DeclaredTool<'_>]) -> Vec<Oddity> {
    let declared = |name: &str| tools.iter().any(|tool| tool.name == name);
    let unknown = said.tool_calls.iter().filter(|call| !declared(&call.name));
    unknown
        .map(|call| Oddity::UndeclaredTool {
            name: call.name.clone(),
        })
        .collect()
}

/// Gives an answer through the tool by which the request wants it given, as a model would.
fn give_as_wanted(said: &mut Said, turn: u32, tools: &[DeclaredTool<'_>]) {
    if let (Some(prose), []) = (&said.content, said.tool_calls.as_slice())
        && let Some(call) = answer_by_tool(prose, turn, tools)
    {
        *said = Said {
            content: None,
            tool_calls: vec![call],
        };
    }
}

/// A reply that was made up for the tools of a request, and what was odd about making it up.
fn of_any(reply: AnyReply, received: &Received, oddities: &mut Vec<Oddity>) -> Answer {
    if received.incoming.functions().next().is_none() {
        oddities.push(Oddity::NoTools);
    }
    let unsure = reply.unsure.into_iter();
    oddities.extend(unsure.map(|tool| Oddity::NoValidArguments {
        tool: cut_name(&tool),
    }));
    let mut said = reply.said;
    if received.incoming.parallel == Parallel::Forbidden {
        said.tool_calls.truncate(1);
    }
    Answer {
        said,
        usage: UsageOverride::default(),
    }
}

/// The tools that the request lets a reply call. A scenario for any tools keeps to it, as a model
/// does; a written one says what it says.
fn allowed<'t>(tools: &[DeclaredTool<'t>], choice: &ToolChoice) -> Vec<DeclaredTool<'t>> {
    let allows = |tool: &&DeclaredTool<'_>| match choice {
        ToolChoice::Free => true,
        ToolChoice::None => false,
        ToolChoice::Named(name) => tool.name == name,
    };
    tools.iter().filter(allows).copied().collect()
}

fn completion(said: &Said, memo: &Memo) -> u64 {
    let prose = memo.text(said.content.as_deref().unwrap_or_default());
    prose + memo.text(&to_json(&said.tool_calls))
}

/// A decided reply, ready to be sent.
pub(super) struct Answered {
    pub(super) stream: Stream,
    pub(super) reply: Reply,
    pub(super) watch: Watch,
    pub(super) limits: Limits,
}

impl Answered {
    /// The reply as it should be.
    pub(super) fn whole(mut self) -> Response {
        let outcome = self.outcome();
        self.record(|record| record.when_done(outcome));
        match self.stream.delivery {
            Delivery::Whole => self.completion(|body| vec![Step::Send(body)]),
            Delivery::Streamed | Delivery::StreamedWithUsage => {
                let steps = self.stream.steps(self.reply, Ending::Whole);
                event_stream(ReplyBody::streamed(steps, self.watch))
            }
        }
    }

    /// The fault in place of the reply.
    pub(super) fn fault(mut self, fault: Fault) -> Response {
        let kind = fault.kind;
        self.record(|record| record.decided(Outcome::Faulted { kind }));
        if kind.status().is_some() {
            return refusal_of(fault).respond(self.watch);
        }
        let stall = self.limits.stall_time;
        let streamed = self.stream.delivery.is_streamed();
        match (kind, streamed) {
            (FaultKind::Stall, true) => self.broken_stream(Ending::Stalled(stall)),
            (FaultKind::Cut, true) => self.broken_stream(Ending::Cut),
            (FaultKind::Stall, false) => self.half(vec![Step::Stall(stall)]),
            (FaultKind::Cut, false) => self.half(break_off(Duration::ZERO).to_vec()),
            (FaultKind::EmptyChoices, true) => {
                let steps = self.stream.without_choices(self.reply.usage.into());
                event_stream(ReplyBody::streamed(steps.into_iter(), self.watch))
            }
            (FaultKind::EmptyChoices, false) => {
                self.reply.message = None;
                self.completion(|body| vec![Step::Send(body)])
            }
            _ => respond(200, "text/html", NOT_JSON.to_owned(), self.watch),
        }
    }

    fn record(&mut self, tell: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut self.watch.record {
            tell(record);
        }
    }

    fn outcome(&self) -> Outcome {
        let nothing = Said {
            content: None,
            tool_calls: Vec::new(),
        };
        Outcome::Replied {
            said: cut_said(self.reply.message.as_ref().unwrap_or(&nothing)),
            finish: self.reply.finish.unwrap_or(FinishReason::Stop),
            usage: self.reply.usage,
        }
    }

    fn broken_stream(self, ending: Ending) -> Response {
        let steps = self.stream.steps(self.reply, ending);
        event_stream(ReplyBody::streamed(steps, self.watch))
    }

    /// The first half of the completion, and then `rest`.
    fn half(self, rest: Vec<Step>) -> Response {
        self.completion(|body| {
            let half = Step::Send(body.slice(..body.len() / 2));
            std::iter::once(half).chain(rest).collect()
        })
    }

    /// The completion as one JSON object, sent by the steps that `play` makes of it.
    fn completion(self, play: impl FnOnce(hyper::body::Bytes) -> Vec<Step>) -> Response {
        let finish = self.reply.finish.map(|why| why.as_str().to_owned());
        let choice = self.reply.message.map(|said| Choice {
            index: 0,
            message: said.into(),
            finish_reason: finish,
        });
        let body = to_json(&Completion {
            id: self.stream.id,
            object: "chat.completion".to_owned(),
            created: CREATED,
            model: self.stream.model,
            choices: choice.into_iter().collect(),
            usage: Some(WireUsage::from(self.reply.usage)),
            error: None,
        });
        let bytes = body.len();
        let steps = play(body.into());
        json(200, ReplyBody::sized(steps, bytes, self.watch))
    }
}

const NOT_JSON: &str = "<html><body><h1>It works, but not as you think</h1></body></html>\n";

fn event_stream(body: ReplyBody) -> Response {
    let headers = [
        (
            "content-type",
            "text/event-stream; charset=utf-8".to_owned(),
        ),
        ("cache-control", "no-cache".to_owned()),
    ];
    respond_with(200, &headers, body)
}

/// A fault that is a status, as an error object.
fn refusal_of(fault: Fault) -> Refusal {
    let (kind, code, message) = match fault.kind {
        FaultKind::Unauthorized => (INVALID, "invalid_api_key", "the key is not accepted"),
        FaultKind::NotFound => (INVALID, "model_not_found", "there is no such model"),
        FaultKind::RequestTimeout => (SERVER, "request_timeout", "the request took too long"),
        FaultKind::Conflict => (INVALID, "conflict", "the request conflicts with another"),
        FaultKind::RateLimited => ("requests", "rate_limit_exceeded", "too many requests"),
        FaultKind::Unavailable => (SERVER, "overloaded", "the endpoint is overloaded"),
        _ => (SERVER, "server_error", "the endpoint failed"),
    };
    let status = fault.kind.status().unwrap_or(500);
    let message = format!("{message} (an injected fault)");
    let refusal = Refusal::new(status, kind, code, &message);
    match fault.retry_after.map(retry_header) {
        Some((name, value)) => refusal.with_header(name, value),
        None => refusal,
    }
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

fn retry_header(retry: RetryAfter) -> (&'static str, String) {
    match retry {
        RetryAfter::Seconds(seconds) => ("retry-after", seconds.to_string()),
        RetryAfter::Millis(ms) => ("retry-after-ms", ms.to_string()),
        RetryAfter::DateIn(seconds) => {
            let now = clock::since_1970().as_secs();
            let at = now.saturating_add(u64::from(seconds));
            let at = std::time::UNIX_EPOCH + Duration::from_secs(at);
            ("retry-after", httpdate::fmt_http_date(at))
        }
    }
}

/// The timing of a reply of so many tokens at a turn.
pub(super) fn timing(pace: &crate::scenario::Pace, draw: Draw, tokens: u64) -> Timing {
    Timing {
        first: pace.ttft(draw),
        writing: pace.writing(draw, tokens),
    }
}
