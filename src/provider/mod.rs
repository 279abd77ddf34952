//! Who answers a request: the scripted model, a recording, or anything else that implements
//! [`Provider`].

mod recorded;
mod scripted;
pub mod wire;

pub use recorded::Recorded;
pub use scripted::{Scripted, reply_with};

pub use crate::scenario::{Latency, LatencyError, Pace};

use crate::clock::{BoxFuture, Clock, Signal, Stopped};
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
    /// Why it stopped writing.
    pub finish: Option<FinishReason>,
    /// What the provider bills.
    pub usage: Usage,
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

/// Answers requests.
pub trait Provider: Send + Sync {
    /// Answers `request`, taking its time on `clock`; a press of `signal` ends the wait.
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        clock: &'a dyn Clock,
        signal: &'a Signal,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>>;
}
