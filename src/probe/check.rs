//! The battery: what is tried on an agent, in which order.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::scenario::{AnyScenario, Fault, FaultKind, GivenCalls, RetryAfter};
use crate::server::Script;

/// One thing that is tried on an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The model calls a tool, then answers
    WellBehaved,
    /// The model calls tools for ever
    Runaway,
    /// The model makes the same call twice
    RepeatedCall,
    /// The model makes three calls of a tool in one message
    ParallelCalls,
    /// The model calls a tool that does not exist
    UnknownTool,
    /// The model writes arguments that are not JSON
    MalformedArguments,
    /// The model makes calls that fail
    FailingTool,
    /// The endpoint says 429 with Retry-After
    RateLimited,
    /// The endpoint says 500
    ServerError,
    /// A reply begins, and nothing more comes
    StalledReply,
    /// A reply breaks off
    CutReply,
    /// A reply has no choice in it
    EmptyReply,
}

impl Check {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 12] = [
        Self::WellBehaved,
        Self::Runaway,
        Self::RepeatedCall,
        Self::ParallelCalls,
        Self::UnknownTool,
        Self::MalformedArguments,
        Self::FailingTool,
        Self::RateLimited,
        Self::ServerError,
        Self::StalledReply,
        Self::CutReply,
        Self::EmptyReply,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WellBehaved => "well-behaved",
            Self::Runaway => "runaway",
            Self::RepeatedCall => "repeated-call",
            Self::ParallelCalls => "parallel-calls",
            Self::UnknownTool => "unknown-tool",
            Self::MalformedArguments => "malformed-arguments",
            Self::FailingTool => "failing-tool",
            Self::RateLimited => "rate-limited",
            Self::ServerError => "server-error",
            Self::StalledReply => "stalled-reply",
            Self::CutReply => "cut-reply",
            Self::EmptyReply => "empty-reply",
        }
    }

    /// How the endpoint fails in it, if it fails.
    #[must_use]
    pub const fn fault(self) -> Option<FaultKind> {
        match self {
            Self::RateLimited => Some(FaultKind::RateLimited),
            Self::ServerError => Some(FaultKind::ServerError),
            Self::StalledReply => Some(FaultKind::Stall),
            Self::CutReply => Some(FaultKind::Cut),
            Self::EmptyReply => Some(FaultKind::EmptyChoices),
            _ => None,
        }
    }

    /// What the model plays; `given` are calls that are known to fail.
    pub(super) fn script(self, given: Option<&Arc<GivenCalls>>) -> Script {
        Script::Any(match (self, given) {
            (Self::FailingTool, Some(given)) => return Script::Given(Arc::clone(given)),
            (Self::FailingTool, None) => AnyScenario::FailingTool,
            (Self::Runaway, _) => AnyScenario::Runaway,
            (Self::RepeatedCall, _) => AnyScenario::Repeat,
            (Self::ParallelCalls, _) => AnyScenario::ParallelOne,
            (Self::UnknownTool, _) => AnyScenario::UnknownTool,
            (Self::MalformedArguments, _) => AnyScenario::BadArguments,
            _ => AnyScenario::Once,
        })
    }

    /// How the endpoint fails: in the first turn, with a status as often as `failing` says, in
    /// other ways for the very first attempt.
    pub(super) fn faults(self, failing: Failing) -> Vec<Fault> {
        let fault = self.fault().map(|kind| Fault {
            turn: Some(0),
            first: Some(match kind.status() {
                Some(_) => failing.attempts,
                None => 1,
            }),
            retry_after: (kind == FaultKind::RateLimited)
                .then_some(RetryAfter::Seconds(failing.retry_after_seconds)),
            ..Fault::always(kind)
        });
        fault.into_iter().collect()
    }
}

/// How a failing endpoint fails where a status is the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Failing {
    /// How many attempts of a request fail.
    pub attempts: u32,
    /// How long a client is asked to wait by status 429, in seconds.
    pub retry_after_seconds: u32,
}

/// Few failures, so that a patient client is seen to recover; and a longer wait than clients
/// make of themselves before their first retries.
impl Default for Failing {
    fn default() -> Self {
        Self {
            attempts: 4,
            retry_after_seconds: 2,
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn each_check_is_typed_by_its_name_and_run_once() {
        assert_eq!(Check::ALL, Check::value_variants());
        for check in Check::ALL {
            assert_eq!(Check::from_str(check.as_str(), false), Ok(check));
        }
    }

    #[test]
    fn only_statuses_fail_more_than_once_and_only_429_says_when_to_retry() {
        for check in Check::ALL {
            let faults = check.faults(Failing::default());
            assert_eq!(
                faults.len(),
                usize::from(check.fault().is_some()),
                "{check}"
            );
            for fault in faults {
                let fails = fault.first.unwrap();
                assert_eq!(fails > 1, fault.kind.status().is_some(), "{check}");
                assert_eq!(fault.retry_after.is_some(), check == Check::RateLimited);
            }
        }
    }
}
