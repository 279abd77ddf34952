//! Recorded runs of anybody's agent, read from the files that agents and their loggers leave.
//!
//! Every importer gives the same [`Recording`]: the messages in the order and with the keys of
//! chat completions and no others, the tokens of every turn as this program counts them, and what
//! the record itself reported. Files are streamed: what is in memory is one batch of lines and
//! the conversations that are still open. A piece that cannot be read is told with its place and
//! left out.

mod chat;
mod claude_code;
mod codex;
mod draft;
mod elements;
mod escapes;
mod files;
mod format;
mod import;
mod message;
mod mini_swe_agent;
mod pairs;
mod reported;
mod source;
mod success;
mod swe_agent;
mod trace;
mod value;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use files::{RecordFiles, Unreadable, record_files};
pub use format::Format;
pub use import::{Import, ImportStopped, Imported, OfFormat, Seen, Skipped, Watch};
pub use message::{Oddities, Oddity};
pub use reported::Reported;
pub use success::{SuccessMark, SuccessMarkError};

use crate::message::{Message, Usage};
use crate::money::PicoUsd;
use crate::pricing::Price;

/// A line of a file, and in an array which element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: u64,
    /// The element of the array that the file is, from 1.
    pub element: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)?;
        match self.element {
            Some(number) => write!(f, ", element {number}"),
            None => Ok(()),
        }
    }
}

/// One request of a recorded run and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which of the recording's messages is the reply.
    pub reply: usize,
    /// The tokens as they are counted from the record's text.
    pub counted: Usage,
    /// Those of its prompt that are definitions of tools.
    pub tools_tokens: u64,
    /// What the record says of this turn.
    pub reported: Reported,
}

/// One recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What the record calls it, or the place where it begins.
    pub id: String,
    /// Where it begins.
    pub place: Place,
    /// Which importer read it.
    pub format: Format,
    /// The conversation; of a trace, which has no texts, its calls alone.
    pub messages: Vec<Message>,
    /// Which of the messages are results that are marked as failures.
    pub failed: Vec<usize>,
    /// Requests with their replies, in order.
    pub turns: Vec<Turn>,
    /// What the record says of the whole run, or of its turns together.
    pub reported: Reported,
    /// Whether the run did what it was for, where the record says.
    pub success: Option<bool>,
    /// How the run ended, in the record's own word, where it has one.
    pub ended: Option<String>,
    /// What had to be read in some way or other.
    pub oddities: Oddities,
}

impl Recording {
    /// The tokens of all turns as they are counted.
    #[must_use]
    pub fn counted(&self) -> Usage {
        let mut sum = Usage::default();
        for turn in &self.turns {
            sum += turn.counted;
        }
        sum
    }

    /// What the turns cost together. Tiers go by the length of a request, so it is not what their
    /// tokens together would cost.
    #[must_use]
    pub fn cost(&self, price: &Price) -> PicoUsd {
        self.turns
            .iter()
            .map(|turn| price.cost(&turn.counted))
            .sum()
    }
}
