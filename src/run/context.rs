//! What of a transcript is sent: the policy, and the edits that it makes to what was sent before.
//!
//! A run stores its whole transcript, whatever is sent of it. What is sent follows from the
//! transcript, the policy and the summaries made so far, all of which are in the state; so every
//! request of a run can be made again from its state, and a resumed run goes on as it would have.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::message::{Message, to_json};
use crate::scenario::summary_message;
use crate::tokens::{EditedCount, JsonCost, count_common};

/// What a tool result says instead of its text once the policy leaves it out.
pub const LEFT_OUT: &str = "[older result left out]";

/// What of the transcript is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ContextPolicy {
    /// All of it.
    #[default]
    Full,
    /// Of tool results only so many, the last ones.
    LastResults(u32),
    /// No tool results that are older than so many turns.
    ElideOlder(u32),
    /// All of it, until a request would have more tokens than a threshold: then the model sums up
    /// all turns but the last ones, and the summary stands in for them.
    Summarise {
        /// The threshold.
        above_tokens: u64,
        /// How many of the last turns are sent as they are.
        keep_turns: u32,
        /// The most tokens that the summary may have.
        summary_tokens: u64,
    },
}

/// A text that is no context policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no context policy {0:?}: write {FORMS}")]
pub struct ContextPolicyError(String);

/// The forms of a policy, for a message.
const FORMS: &str = "full, last_results=K, elide_older=TURNS or \
                     summarise_above=TOKENS,keep_turns=K,summary_tokens=N, with numbers from 1";

impl fmt::Display for ContextPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::LastResults(results) => write!(f, "last_results={results}"),
            Self::ElideOlder(turns) => write!(f, "elide_older={turns}"),
            Self::Summarise {
                above_tokens,
                keep_turns,
                summary_tokens,
            } => write!(
                f,
                "summarise_above={above_tokens},keep_turns={keep_turns},summary_tokens={summary_tokens}"
            ),
        }
    }
}

impl From<ContextPolicy> for String {
    fn from(policy: ContextPolicy) -> Self {
        policy.to_string()
    }
}

impl TryFrom<String> for ContextPolicy {
    type Error = ContextPolicyError;

    fn try_from(text: String) -> Result<Self, ContextPolicyError> {
        text.parse()
    }
}

impl FromStr for ContextPolicy {
    type Err = ContextPolicyError;

    fn from_str(text: &str) -> Result<Self, ContextPolicyError> {
        if text == "full" {
            return Ok(Self::Full);
        }
        let parts = text.split(',').map(|part| part.split_once('='));
        let parts: Option<Vec<(&str, &str)>> = parts.collect();
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
        let small = |text: &str| number(text).and_then(|number| u32::try_from(number).ok());
        let policy = match parts.as_deref() {
            Some([("last_results", results)]) => small(results).map(Self::LastResults),
            Some([("elide_older", turns)]) => small(turns).map(Self::ElideOlder),
            Some(
                [
                    ("summarise_above", above),
                    ("keep_turns", keep),
                    ("summary_tokens", summary),
                ],
            ) => (|| {
                Some(Self::Summarise {
                    above_tokens: number(above)?,
                    keep_turns: small(keep)?,
                    summary_tokens: number(summary)?,
                })
            })(),
            _ => None,
        };
        policy.ok_or_else(|| ContextPolicyError(text.to_owned()))
    }
}

/// A summary that was made, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// How many messages the transcript had.
    pub after_messages: usize,
    /// What the model wrote.
    pub text: String,
}

/// What a message is to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A reply of the model, with which a turn begins.
    Reply,
    /// A tool result, which can be left out: what is sent instead, and how many tokens the two
    /// forms begin with in common.
    Result(JsonCost, u64),
    /// Anything else.
    Other,
}

/// A message as a policy counts it; made once, whatever becomes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    cost: JsonCost,
    part: Part,
}

impl Counted {
    /// Counts `message`, and what would be sent instead of it.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let cost = JsonCost::of_message(message);
        let part = match message {
            Message::Assistant { .. } => Part::Reply,
            Message::Tool { .. } => {
                let short = left_out(message.clone());
                let common = count_common(&keys(message), &keys(&short));
                Part::Result(JsonCost::of_message(&short), common)
            }
            Message::System { .. } | Message::User { .. } => Part::Other,
        };
        Self { cost, part }
    }
}

/// The message as it is sent once its text is left out; others than results stay as they are.
#[must_use]
pub fn left_out(mut message: Message) -> Message {
    if let Message::Tool { content, .. } = &mut message {
        LEFT_OUT.clone_into(content);
    }
    message
}

/// A message behind what every message begins with, as a count of messages is cut.
fn keys(message: &Message) -> String {
    let json = to_json(message);
    json.strip_prefix("{\"").map(str::to_owned).unwrap_or(json)
}

/// An edit of what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The result at this place is left out.
    LeaveOut(usize),
    /// The messages of these places, which are all of so many turns, are summed up.
    Fold(Range<usize>, u32),
}

/// What is sent of a transcript that grows, with its tokens.
#[derive(Clone, Debug)]
pub struct Context {
    policy: ContextPolicy,
    count: EditedCount,
    /// Results that are sent whole and that the model has read: place, the number of the turn,
    /// what leaving it out costs and has in common with it.
    results: VecDeque<Read>,
    /// Results that the model has not read yet.
    unread: Vec<Read>,
    /// Where the turns begin that are sent as they are.
    replies: VecDeque<usize>,
    /// Where the first turn began.
    head: Option<usize>,
    turns: u32,
    left_out: u32,
}

/// A result that is sent whole.
#[derive(Clone, Copy, Debug)]
struct Read {
    at: usize,
    turn: u32,
    whole: JsonCost,
    short: JsonCost,
    common: u64,
}

impl Context {
    /// What is sent of an empty transcript.
    #[must_use]
    pub fn new(policy: ContextPolicy) -> Self {
        Self {
            policy,
            count: EditedCount::default(),
            results: VecDeque::new(),
            unread: Vec::new(),
            replies: VecDeque::new(),
            head: None,
            turns: 0,
            left_out: 0,
        }
    }

    /// Takes in the next message of the transcript.
    pub fn push(&mut self, Counted { cost, part }: Counted) {
        let at = self.count.len();
        match part {
            Part::Reply => {
                self.results.extend(self.unread.drain(..));
                self.head.get_or_insert(at);
                self.replies.push_back(at);
                self.turns = self.turns.saturating_add(1);
            }
            Part::Result(short, common) => self.unread.push(Read {
                at,
                turn: self.turns,
                whole: cost,
                short,
                common,
            }),
            Part::Other => {}
        }
        self.count.push(cost);
    }

    /// Makes the edits that are due before the next request; a summary is only named.
    pub fn edit(&mut self, mut watch: impl FnMut(&Edit)) {
        while let Some(read) = self.results.front().copied()
            && self.is_due(&read)
        {
            self.results.pop_front();
            if read.short.is_less_than(read.whole) {
                self.count.replace(read.at, read.short, read.common);
                self.left_out = self.left_out.saturating_add(1);
                watch(&Edit::LeaveOut(read.at));
            }
        }
    }

    fn is_due(&self, read: &Read) -> bool {
        match self.policy {
            ContextPolicy::Full | ContextPolicy::Summarise { .. } => false,
            ContextPolicy::LastResults(results) => {
                let whole = self.results.len() + self.unread.len();
                whole > usize::try_from(results).unwrap_or(usize::MAX)
            }
            ContextPolicy::ElideOlder(turns) => self.turns.saturating_sub(read.turn) >= turns,
        }
    }

    /// The fold that is due before the next request, whose tools have so many tokens.
    #[must_use]
    pub fn due_summary(&self, tools_tokens: u64) -> Option<Edit> {
        let ContextPolicy::Summarise {
            above_tokens,
            keep_turns,
            ..
        } = self.policy
        else {
            return None;
        };
        if self.tokens() + tools_tokens <= above_tokens {
            return None;
        }
        let keep = usize::try_from(keep_turns).unwrap_or(usize::MAX);
        let folded = self.replies.len().checked_sub(keep).filter(|n| *n > 0)?;
        let end = self.replies.get(folded).copied()?;
        let turns = self.turns.saturating_sub(keep_turns);
        Some(Edit::Fold(self.head?..end, turns))
    }

    /// Puts a summary in the place of what it sums up, of which `first` is the first message.
    pub fn fold(
        &mut self,
        (range, turns): (Range<usize>, u32),
        first: &Message,
        text: &str,
    ) -> Message {
        let message = summary_message(turns, text);
        let cost = JsonCost::of_message(&message);
        let gone = range.len().saturating_sub(1);
        let common = count_common(&keys(first), &keys(&message));
        self.count.fold(range.clone(), cost, common);
        self.replies.retain(|at| *at >= range.end);
        for at in &mut self.replies {
            *at -= gone;
        }
        message
    }

    /// The transcript is sent as it is now.
    pub fn send(&mut self) {
        self.count.send();
    }

    /// Tokens of what is sent, without the tools.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.count.tokens()
    }

    /// The count of what is sent.
    #[must_use]
    pub const fn count(&self) -> &EditedCount {
        &self.count
    }

    /// How many results have been left out so far.
    #[must_use]
    pub const fn results_left_out(&self) -> u32 {
        self.left_out
    }
}
