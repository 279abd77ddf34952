//! A recording as the replay needs it: what decides is kept, and texts are left out.
//!
//! Tokens are known already, so of a text no more is needed than whether it is the same as
//! another; a digest says that. Ids are made anew, because records use one twice.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use regex::Regex;
use serde_json::{Value, json};

use super::sent::Sent;
use crate::message::{Message, ToolCall, Usage, to_json};
use crate::record::Recording;
use crate::run::signature;
use crate::scenario::Said;

/// What an error on which the model cannot act looks like, unless somebody says otherwise.
pub const PERMANENT: &str = r"(?i)\b(permission denied|access (is )?denied|forbidden|unauthori[sz]ed|not authori[sz]ed|not permitted)\b";

/// What a failed call's result begins with; a line of a log may begin with `ERROR` too.
const FAILED: &str = r"(?i)^\s*error\s*(:|\d{3}\b)";

/// So much of a result is looked at: an error says at once what it is.
const LOOKED_AT: usize = 200;

/// How results are told apart, which no record says.
#[derive(Clone, Debug)]
pub struct Marks {
    permanent: Regex,
    failed: Regex,
    read_only: BTreeSet<String>,
}

impl Marks {
    /// Errors that match `permanent` are such that the model cannot act on; these tools write
    /// nothing.
    ///
    /// # Errors
    /// An expression that cannot be read.
    pub fn new(permanent: &str, read_only: &[String]) -> Result<Self, regex::Error> {
        Ok(Self {
            permanent: Regex::new(permanent)?,
            failed: Regex::new(FAILED)?,
            read_only: read_only.iter().cloned().collect(),
        })
    }

    fn outcome(&self, text: &str, is_marked: bool) -> Outcome {
        let end = text
            .char_indices()
            .nth(LOOKED_AT)
            .map_or(text.len(), |(end, _)| end);
        let begin = &text[..end];
        let is_error = is_marked || self.failed.is_match(begin);
        let kind = match is_error {
            true if self.permanent.is_match(begin) => OutcomeKind::Permanent,
            true => OutcomeKind::Failed,
            false => OutcomeKind::Fine,
        };
        let text = digest(text);
        Outcome { text, kind }
    }
}

/// What came of a recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// What stands for the text.
    pub(super) text: String,
    pub(super) kind: OutcomeKind,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutcomeKind {
    Fine,
    Failed,
    Permanent,
}

/// Equal calls in a recording: the same tool with the same arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeatedCalls {
    /// All calls.
    pub calls: u64,
    /// Those that were made before in the same run.
    pub repeated: u64,
    /// The most in a row.
    pub in_a_row: u64,
}

/// A recording without its texts.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The tokens of each turn's request.
    pub(super) prompts: Vec<u64>,
    pub(super) steps: Vec<Step>,
    /// What came of each call, by its number, where the record says or goes on.
    pub(super) outcomes: Vec<Option<Outcome>>,
    pub(super) repeated: RepeatedCalls,
    /// Tokens of the tools, of all requests.
    pub(super) tools_tokens: u64,
    /// What is sent, where a case asks for that and the record has texts.
    pub(super) sent: Option<Sent>,
}

/// A turn.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) said: Said,
    pub(super) usage: Usage,
}

impl Script {
    pub(super) fn of(recording: &Recording, marks: &Marks) -> Self {
        let tools = recording.turns.iter().map(|turn| turn.tools_tokens);
        let mut script = Self {
            prompts: Vec::with_capacity(recording.turns.len()),
            steps: Vec::with_capacity(recording.turns.len()),
            outcomes: Vec::new(),
            repeated: RepeatedCalls::default(),
            tools_tokens: tools.sum(),
            sent: None,
        };
        let mut row = Row::default();
        let last = recording.turns.last().map(|turn| turn.reply);
        for turn in &recording.turns {
            let Some(Message::Assistant { tool_calls, .. }) = recording.messages.get(turn.reply)
            else {
                continue;
            };
            let first = script.outcomes.len();
            let calls = tool_calls.iter().enumerate();
            let calls = calls.map(|(at, call)| {
                let signature = signature(call);
                row.push(&signature);
                bare(first + at, (call, &signature), marks)
            });
            let said = Said {
                content: None,
                tool_calls: calls.collect(),
            };
            let is_last = last == Some(turn.reply);
            let outcomes = outcomes(recording, (turn.reply, tool_calls, is_last), marks);
            script.outcomes.extend(outcomes);
            script.prompts.push(turn.counted.prompt_tokens);
            let usage = turn.counted;
            script.steps.push(Step { said, usage });
        }
        script.repeated = row.repeated;
        script
    }

    /// The same with what is needed to say what would have been sent.
    pub(super) fn with_sent(mut self, recording: &Recording) -> Self {
        self.sent = Sent::of(recording);
        self
    }

    /// How many calls have an outcome.
    pub(super) fn answered(&self) -> usize {
        self.outcomes.iter().flatten().count()
    }
}

/// The calls so far.
#[derive(Default)]
struct Row {
    known: BTreeSet<u64>,
    last: Option<u64>,
    length: u64,
    repeated: RepeatedCalls,
}

impl Row {
    fn push(&mut self, signature: &str) {
        let signature = hash(signature);
        self.repeated.calls += 1;
        if !self.known.insert(signature) {
            self.repeated.repeated += 1;
        }
        self.length = if self.last == Some(signature) {
            self.length + 1
        } else {
            1
        };
        self.last = Some(signature);
        self.repeated.in_a_row = self.repeated.in_a_row.max(self.length);
    }
}

/// A call that equals another where the recorded ones do, with its number for an id.
fn bare(number: usize, (call, signature): (&ToolCall, &str), marks: &Marks) -> ToolCall {
    let mut arguments = json!({"call": digest(signature)});
    let recorded = serde_json::from_str::<Value>(&call.arguments);
    let key = recorded
        .as_ref()
        .ok()
        .and_then(|all| all.get("idempotency_key"));
    if let Some(key) = key {
        arguments["idempotency_key"] = key.clone();
    }
    let access = if marks.read_only.contains(&call.name) {
        READS
    } else {
        WRITES
    };
    ToolCall {
        id: number.to_string(),
        name: access.to_owned(),
        arguments: to_json(&arguments),
    }
}

/// The tool that stands for all that write nothing.
pub(super) const READS: &str = "reads";
/// The tool that stands for all others.
pub(super) const WRITES: &str = "writes";

/// What came of the calls of a reply. One without a result has an unknown one if the record goes
/// on: the model read something, or it would not have been asked.
fn outcomes(
    recording: &Recording,
    (reply, calls, is_last): (usize, &[ToolCall], bool),
    marks: &Marks,
) -> Vec<Option<Outcome>> {
    let after = recording.messages.iter().enumerate().skip(reply + 1);
    let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
    let after: Vec<_> = after
        .take_while(|(_, message)| !is_reply(message))
        .collect();
    let is_user = |(_, message): &(usize, &Message)| matches!(message, Message::User { .. });
    let goes_on = !is_last || after.iter().any(is_user);
    let mut found = vec![None; calls.len()];
    for (at, message) in after {
        let Message::Tool {
            tool_call_id,
            content,
            ..
        } = message
        else {
            continue;
        };
        let is_open = |(call, found): &(&ToolCall, &mut Option<Outcome>)| {
            call.id == *tool_call_id && found.is_none()
        };
        if let Some((_, open)) = calls.iter().zip(&mut found).find(is_open) {
            *open = Some(marks.outcome(content, recording.failed.contains(&at)));
        }
    }
    if goes_on {
        for missing in found.iter_mut().filter(|found| found.is_none()) {
            *missing = Some(Outcome {
                text: String::new(),
                kind: OutcomeKind::Fine,
            });
        }
    }
    found
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn digest(text: &str) -> String {
    format!("{:016x}", hash(text))
}
