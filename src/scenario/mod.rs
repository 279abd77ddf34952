//! What a scripted model says: an answer chosen by how far the conversation is and by what the
//! tools have said so far, and by nothing else, so that a killed run resumes against it.

mod any;
mod check;
mod fault;
mod file;
mod latency;
mod library;
mod spec;
mod summary;

use std::path::Path;

use regex::Regex;
use serde_json::Value;

pub use self::any::{
    AnyReply, AnyScenario, DeclaredTool, GivenCalls, answer_by_tool, is_answering_tool,
};
pub use self::fault::{Fault, FaultKind, RetryAfter};
pub use self::latency::{Draw, Latency, LatencyError, Pace};
pub use self::library::{ScenarioError, builtin_names};
pub use self::spec::{SpecError, parse_limit};
pub use self::summary::{ask_for_summary, scripted_summary, summary_asked_for, summary_message};

use self::file::ScenarioFile;
use crate::document::{Document, Problems, ReadError, schema_of};
use crate::message::{Message, ToolCall, Usage};

/// In a scenario's texts, replaced by the index of the turn.
const TURN: &str = "{turn}";

/// A script for a model. Every conversation has a reply in it.
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    title: String,
    source: String,
    pace: Pace,
    faults: Vec<Fault>,
    steps: Vec<Step>,
    otherwise: Speech,
}

/// A reply and the conversations to which it is given.
#[derive(Clone, Debug)]
struct Step {
    turns: Turns,
    when: Option<Regex>,
    unless: Option<Regex>,
    speech: Speech,
}

/// The turns at which a step may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    Exactly(u32),
    From(u32),
}

impl Turns {
    const fn contains(self, turn: u32) -> bool {
        match self {
            Self::Exactly(only) => turn == only,
            Self::From(first) => turn >= first,
        }
    }
}

/// Prose, calls or both, with [`TURN`] still in them.
#[derive(Clone, Debug, Default)]
struct Speech {
    say: Option<String>,
    calls: Vec<ToolCall>,
    usage: UsageOverride,
}

/// Figures of a reply's usage that the script fixes; the others are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageOverride {
    /// Tokens sent.
    pub prompt_tokens: Option<u64>,
    /// Tokens written.
    pub completion_tokens: Option<u64>,
    /// The part of the tokens sent that was cached.
    pub cached_tokens: Option<u64>,
    /// The part of the tokens sent that was put into a cache.
    pub cache_write_tokens: Option<u64>,
    /// Hidden reasoning, which comes on top of the counted tokens of the reply.
    pub reasoning_tokens: Option<u64>,
}

impl UsageOverride {
    /// `counted`, with the figures that the script fixes in place of those that were counted.
    /// What was cached is a part of what was sent; a scripted model says that it is nothing where
    /// the script does not.
    #[must_use]
    pub fn apply(&self, counted: Usage) -> Usage {
        let prompt_tokens = self.prompt_tokens.unwrap_or(counted.prompt_tokens);
        let reasoning_tokens = self.reasoning_tokens.unwrap_or(counted.reasoning_tokens);
        let written = counted.completion_tokens.saturating_add(reasoning_tokens);
        let cached = self.cached_tokens.or(counted.cached_tokens).unwrap_or(0);
        let cached = cached.min(prompt_tokens);
        let uncached = prompt_tokens - cached;
        let cache_write = self.cache_write_tokens.or(counted.cache_write_tokens);
        Usage {
            prompt_tokens,
            completion_tokens: self.completion_tokens.unwrap_or(written),
            cached_tokens: Some(cached),
            cache_write_tokens: cache_write.map(|part| part.min(uncached)),
            reasoning_tokens,
        }
    }
}

/// What the scripted model replies, and what it says to have cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The reply.
    pub said: Said,
    /// The figures of its usage that are not counted.
    pub usage: UsageOverride,
}

impl Answer {
    /// An answer in prose.
    #[must_use]
    pub fn prose(content: String) -> Self {
        Self {
            said: Said {
                content: Some(content),
                tool_calls: Vec::new(),
            },
            usage: UsageOverride::default(),
        }
    }
}

/// What the scripted model replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its prose; none where it only calls tools.
    pub content: Option<String>,
    /// Its calls, in order.
    pub tool_calls: Vec<ToolCall>,
}

impl Scenario {
    /// Reads a scenario from a document; `name` is what it is called from then on.
    ///
    /// # Errors
    ///
    /// Everything that is wrong in the document.
    pub fn from_document(name: &str, document: &Document) -> Result<Self, Problems> {
        let mended = document.mended::<ScenarioFile>();
        mended.decode::<ScenarioFile>()?.build(name, &mended)
    }

    /// Reads a scenario from a TOML text, in which problems are placed by `name`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong in the text.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Problems> {
        Self::from_document(name, &Document::parse(name, text)?)
    }

    /// Reads a scenario file, which is called by its file name without `.toml`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or everything that is wrong in it.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let document = Document::read(path)?;
        Self::from_document(&name, &document).map_err(ReadError::Invalid)
    }

    /// The JSON Schema of a scenario file.
    #[must_use]
    pub fn schema() -> Value {
        schema_of::<ScenarioFile>()
    }

    /// The scenario's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the scenario shows, in one line.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The text that the scenario was read from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// How long the script says that its replies take.
    #[must_use]
    pub const fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The faults of the endpoint that plays the script, the first that fits before the others.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The reply at a turn; see [`Scenario::answer`].
    #[must_use]
    pub fn reply(&self, turn: u32, results: &dyn Fn() -> String) -> Said {
        self.answer(turn, results).said
    }

    /// The answer at a turn. `results` gives the text of all tool results so far; it is called
    /// once, and only where a step of this turn depends on it.
    #[must_use]
    pub fn answer(&self, turn: u32, results: &dyn Fn() -> String) -> Answer {
        let mut text = None;
        let speech = self
            .steps
            .iter()
            .filter(|step| step.turns.contains(turn))
            .find(|step| {
                let mut says = |regex: &Regex| regex.is_match(text.get_or_insert_with(results));
                step.when.as_ref().is_none_or(&mut says)
                    && !step.unless.as_ref().is_some_and(&mut says)
            })
            .map_or(&self.otherwise, |step| &step.speech);
        Answer {
            said: speech.at(turn),
            usage: speech.usage,
        }
    }
}

impl Speech {
    fn at(&self, turn: u32) -> Said {
        let turn = turn.to_string();
        let fill = |text: &String| text.replace(TURN, &turn);
        let calls = self.calls.iter().map(|call| ToolCall {
            id: fill(&call.id),
            name: call.name.clone(),
            arguments: fill(&call.arguments),
        });
        Said {
            content: self.say.as_ref().map(fill),
            tool_calls: calls.collect(),
        }
    }
}

/// The index of the turn that comes next in a conversation: how often the model has spoken, turns
/// that a summary stands in for included.
#[must_use]
pub fn turn_index(messages: &[Message]) -> u32 {
    let turns = messages.iter().map(|message| match message {
        Message::Assistant { .. } => 1,
        other => summary::summarised_turns(other),
    });
    turns.fold(0, u32::saturating_add)
}

/// The text of all tool results of a conversation, joined by line breaks.
#[must_use]
pub fn results_text(messages: &[Message]) -> String {
    let results = messages.iter().filter_map(|message| match message {
        Message::Tool { content, .. } => Some(content.as_str()),
        _ => None,
    });
    results.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
