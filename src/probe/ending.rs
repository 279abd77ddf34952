//! How an agent ends.

use std::fmt;

use serde::Serialize;

use crate::meter::CommandEnd;
use crate::scenario::{Said, is_answering_tool};
use crate::server::{Exchange, Outcome};

/// How a run of an agent ended, as far as it can be told from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Ending {
    /// With the model's answer and code 0.
    Result,
    /// With code 0 and without the model's answer, though the model had spoken.
    PartialResult,
    /// With code 0, and the model had never spoken.
    Silence,
    /// With another code.
    Exception {
        /// The code.
        code: i32,
    },
    /// By a signal that was not ours.
    Killed {
        /// The signal's number.
        signal: Option<i32>,
    },
    /// It was ended when its time was up.
    TimeUp,
    /// It was ended when it had made all the requests that it may.
    RequestLimit,
    /// We were told to stop.
    Stopped,
}

impl Ending {
    pub(super) fn of(end: &CommandEnd, exchanges: &[impl AsRef<Exchange>]) -> Self {
        match end {
            CommandEnd::Exited(0) => Self::of_success(exchanges),
            CommandEnd::Exited(code) => Self::Exception { code: *code },
            CommandEnd::Signalled(signal) => Self::Killed { signal: *signal },
            CommandEnd::TimedOut => Self::TimeUp,
            CommandEnd::TooManyRequests => Self::RequestLimit,
            CommandEnd::Stopped(_) => Self::Stopped,
        }
    }

    fn of_success(exchanges: &[impl AsRef<Exchange>]) -> Self {
        let last = exchanges
            .iter()
            .rev()
            .find_map(|exchange| match &exchange.as_ref().outcome {
                Outcome::Replied { said, .. } => Some(said),
                _ => None,
            });
        match last {
            None => Self::Silence,
            Some(said) if is_answer(said) => Self::Result,
            Some(_) => Self::PartialResult,
        }
    }

    /// One word for it, or two.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::PartialResult => "partial result",
            Self::Silence => "silence",
            Self::Exception { .. } => "exception",
            Self::Killed { .. } => "killed",
            Self::TimeUp => "time up",
            Self::RequestLimit => "request limit",
            Self::Stopped => "stopped",
        }
    }

    /// Whether it ended of itself.
    #[must_use]
    pub const fn is_its_own(&self) -> bool {
        !matches!(self, Self::TimeUp | Self::RequestLimit | Self::Stopped)
    }
}

/// Whether a reply is the answer that ends a run.
fn is_answer(said: &Said) -> bool {
    let mut calls = said.tool_calls.iter();
    said.tool_calls.is_empty() || calls.any(|call| is_answering_tool(&call.name))
}

/// What is said of the agent, after "it".
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result => f.write_str("ends with a result"),
            Self::PartialResult => f.write_str("ends with code 0, without the model's answer"),
            Self::Silence => f.write_str("ends with code 0, though the model never spoke"),
            Self::Exception { code } => write!(f, "ends with code {code}"),
            Self::Killed {
                signal: Some(number),
            } => write!(f, "is killed by signal {number}"),
            Self::Killed { signal: None } => f.write_str("is killed by a signal"),
            Self::TimeUp => f.write_str("had not ended when its time was up"),
            Self::RequestLimit => f.write_str("had not ended when its requests were used up"),
            Self::Stopped => f.write_str("was stopped by us"),
        }
    }
}
