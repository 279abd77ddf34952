//! Who answers a request: the scripted model, a recording, or anything else that implements
//! [`Provider`].

#[cfg(feature = "client")]
pub mod http;
mod recorded;
mod scripted;
pub mod wire;

pub use recorded::Recorded;
pub use scripted::{Scripted, reply_with};

pub use crate::scenario::{Latency, LatencyError, Pace};

use std::fmt;

use crate::clock::{BoxFuture, Clock, Signal, Stopped};
use crate::event::{Attempt, Metering};
use crate::message::{FinishReason, Message, ToolDefinition, Usage};
use crate::scenario::Said;

/// One request to the model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The whole transcript.
    pub messages: &'a [Message],
    /// The tools on offer.
    pub tools: &'a [ToolDefinition],
    /// Tokens of the two, as the caller counts them.
    pub prompt_tokens: u64,
    /// The most tokens that the reply may have.
    pub max_completion_tokens: Option<u64>,
}

/// What came back, as far as it could be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What the model said; absent where the reply had no choice.
    pub message: Option<Said>,
    /// Why it stopped writing; absent where it gave a reason that is not one of the five.
    pub finish: Option<FinishReason>,
    /// What is billed.
    pub usage: Usage,
    /// Whose numbers those are, and what we count.
    pub metering: Metering,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Somebody pressed Stop while the provider was at work.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The provider failed for good; the text says how.
    #[error("{0}")]
    Failed(String),
}

/// What a provider works with while it answers a request.
#[derive(Clone, Copy)]
pub struct ProviderContext<'a> {
    /// Whose time it takes.
    pub clock: &'a dyn Clock,
    /// The Stop button; a press ends the wait.
    pub signal: &'a Signal,
    note: &'a (dyn Fn(Attempt) + Send + Sync),
}

impl<'a> ProviderContext<'a> {
    /// A context in which `note` hears of every attempt on the wire.
    #[must_use]
    pub fn new(
        clock: &'a dyn Clock,
        signal: &'a Signal,
        note: &'a (dyn Fn(Attempt) + Send + Sync),
    ) -> Self {
        Self {
            clock,
            signal,
            note,
        }
    }

    /// Tells of an attempt that has ended, whichever way.
    pub fn note(&self, attempt: Attempt) {
        (self.note)(attempt);
    }
}

impl fmt::Debug for ProviderContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderContext")
            .field("now", &self.clock.now())
            .finish_non_exhaustive()
    }
}

/// Answers requests.
pub trait Provider: Send + Sync {
    /// Answers `request`, taking its time on the clock of `context`; its signal ends the wait.
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>>;
}
