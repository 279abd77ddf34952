//! One request and what became of it, as data.

use std::fmt;
use std::time::Duration;

use super::{Oddity, Turns};
use crate::event::{Event, Metering};
use crate::message::{FinishReason, ToolCall, Usage};
use crate::money::PicoUsd;
use crate::provider::wire::Delivery;
use crate::scenario::{FaultKind, Said};

/// One request and what became of it. Facts are kept, bodies are not, and texts are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its number on this server, from 1, in the order of arrival.
    pub number: u64,
    /// The run whose path it came on; none on the path without a run.
    pub run: Option<String>,
    /// When its head had been read, since the server started.
    pub started: Duration,
    /// When the last of the reply was handed over, or the exchange was given up.
    pub ended: Duration,
    /// What was asked; none where the request could not be understood.
    pub asked: Option<Asked>,
    /// What became of it.
    pub outcome: Outcome,
}

/// A request as far as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The model's name.
    pub model: String,
    /// The scenario that was played.
    pub scenario: String,
    /// How the reply travels.
    pub delivery: Delivery,
    /// Tells bodies apart.
    pub body: BodyHash,
    /// How often this body was seen in its run, this time included: above 1, it is a retry.
    pub attempt: u32,
    /// The turn by each derivation, from 0.
    pub turns: Turns,
    /// The turn that was played, from 0.
    pub turn: u32,
    /// How many messages it has.
    pub messages: usize,
    /// How many messages, from the first on, are those of the run's last request.
    pub messages_kept: usize,
    /// How many tools it declares; none where it does not say.
    pub tools: Option<usize>,
    /// Tokens of the messages.
    pub messages_tokens: u64,
    /// Tokens of the tools; 0 where there is no list of them.
    pub tools_tokens: u64,
    /// What the run's earlier requests did not have: results, and text of the user after the
    /// model has spoken, in their order.
    pub results: Vec<SeenResult>,
    /// What is odd about it.
    pub oddities: Vec<Oddity>,
}

impl Asked {
    /// Tokens sent: messages and tools.
    #[must_use]
    pub const fn prompt_tokens(&self) -> u64 {
        self.messages_tokens.saturating_add(self.tools_tokens)
    }
}

/// A hash of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BodyHash(pub(super) u128);

impl From<u128> for BodyHash {
    fn from(hash: u128) -> Self {
        Self(hash)
    }
}

impl fmt::Display for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Something that the model is told of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenResult {
    /// How it is told.
    pub channel: Channel,
    /// The id of the call that it answers.
    pub call_id: Option<String>,
    /// The text, cut to 4 KiB, and to 64 KiB together with its siblings.
    pub text: String,
}

/// How a result is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// In a tool message.
    Tool,
    /// In text of the user.
    User,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Replied {
        /// What the model said, its texts cut.
        said: Said,
        /// Why it stopped.
        finish: FinishReason,
        /// What was billed.
        usage: Usage,
    },
    /// The endpoint failed as it was told to.
    Faulted {
        /// How.
        kind: FaultKind,
    },
    /// The request was refused.
    Refused {
        /// The status.
        status: u16,
        /// What the client was told.
        why: String,
    },
    /// The client went away, or did not read on, before the end of the reply.
    Aborted,
}

impl Exchange {
    /// The exchange as a turn of a run that has cost `cost` with it; none where nothing was
    /// billed.
    #[must_use]
    pub fn event(&self, cost: PicoUsd) -> Option<Event> {
        let Outcome::Replied { finish, usage, .. } = &self.outcome else {
            return None;
        };
        Some(Event::Turn {
            turn: self.asked.as_ref()?.turn.saturating_add(1),
            usage: *usage,
            metering: Metering::reported(*usage),
            cost,
            finish: Some(*finish),
            provider: self.ended.saturating_sub(self.started),
        })
    }

    /// About how many bytes it holds.
    pub(super) fn weight(&self) -> usize {
        let asked = self.asked.as_ref().map_or(0, |asked| {
            let oddities = asked.oddities.iter().map(Oddity::weight);
            let results = asked.results.iter().map(SeenResult::weight);
            asked.model.len() + results.sum::<usize>() + oddities.sum::<usize>()
        });
        let outcome = match &self.outcome {
            Outcome::Replied { said, .. } => bytes_of(said) + said.tool_calls.len() * OF_TEXTS,
            Outcome::Refused { why, .. } => why.len(),
            Outcome::Faulted { .. } | Outcome::Aborted => 0,
        };
        asked + outcome + 512
    }
}

/// About how many bytes a few texts take beside their letters.
pub(super) const OF_TEXTS: usize = 128;

impl SeenResult {
    fn weight(&self) -> usize {
        self.call_id.as_ref().map_or(0, String::len) + self.text.len() + OF_TEXTS
    }
}

/// The letters of what the model said, in bytes.
pub(super) fn bytes_of(said: &Said) -> usize {
    let calls = said.tool_calls.iter();
    let calls = calls.map(|call| call.id.len() + call.name.len() + call.arguments.len());
    said.content.as_ref().map_or(0, String::len) + calls.sum::<usize>()
}

/// The longest text that is kept, in bytes.
const MOST_TEXT: usize = 4_096;
/// What the texts of one exchange's results, or of its calls, take together at most, in bytes.
const MOST_TEXTS: usize = 64 << 10;
/// The most parallel calls, results or names that are kept of one exchange.
pub(super) const MOST_LISTED: usize = 256;

/// The beginning of a text, for keeping.
pub(super) fn cut_text(text: &str) -> String {
    cut(text, MOST_TEXT)
}

/// The beginning of one of so many texts, which share the room for them.
pub(super) fn cut_one_of(texts: usize, text: &str) -> String {
    let share = MOST_TEXTS / texts.clamp(1, MOST_LISTED);
    cut(text, share.min(MOST_TEXT))
}

/// The longest name or id that is kept, in bytes.
const MOST_NAME: usize = 128;

/// The beginning of a name or an id, for telling.
pub(super) fn cut_name(name: &str) -> String {
    cut(name, MOST_NAME)
}

/// The beginning of a text, of so many bytes at most.
fn cut(text: &str, most: usize) -> String {
    let mut ends = (0..=most.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].to_owned()
}

/// What the model said, its texts cut.
pub(super) fn cut_said(said: &Said) -> Said {
    let calls = said.tool_calls.iter().take(MOST_LISTED);
    Said {
        content: said.content.as_deref().map(cut_text),
        tool_calls: calls
            .map(|call| ToolCall {
                id: cut_name(&call.id),
                name: cut_name(&call.name),
                arguments: cut_one_of(said.tool_calls.len(), &call.arguments),
            })
            .collect(),
    }
}

/// One line: what came, what became of it, what was odd.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.ended.saturating_sub(self.started).as_millis();
        let run = self.run.as_deref().unwrap_or("-");
        write!(f, "#{} run {run}", self.number)?;
        if let Some(asked) = &self.asked {
            let (turn, attempt) = (asked.turn, asked.attempt);
            write!(f, ": {} turn {turn} attempt {attempt}", asked.scenario)?;
        }
        match &self.outcome {
            Outcome::Replied { finish, usage, .. } => {
                let (sent, written) = (usage.prompt_tokens, usage.completion_tokens);
                let finish = finish.as_str();
                write!(f, ": {finish}, {sent} + {written} tokens, {ms} ms")?;
            }
            Outcome::Faulted { kind } => write!(f, ": fault {kind}, {ms} ms")?,
            Outcome::Refused { status, why } => write!(f, ": refused {status}: {why}")?,
            Outcome::Aborted => write!(f, ": the client went away after {ms} ms")?,
        }
        for oddity in self.asked.iter().flat_map(|asked| &asked.oddities) {
            write!(f, "; odd: {oddity}")?;
        }
        Ok(())
    }
}
