//! What happened in a run, as data: the small vocabulary that the trace, the rows and the
//! progress display all observe.

use std::time::Duration;

use crate::message::{FinishReason, Usage};
use crate::money::PicoUsd;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The model replied.
    Turn {
        /// The turn's number, from 1.
        turn: u32,
        /// Tokens of this turn.
        usage: Usage,
        /// The run's cost so far, this turn included.
        cost: PicoUsd,
        /// Why the model stopped writing; absent where the reply had no choice.
        finish: Option<FinishReason>,
        /// Time from the request to the whole reply.
        provider: Duration,
    },
    /// A tool's body is about to run.
    ToolStart {
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model wrote them.
        args: String,
        /// The call's id.
        call_id: String,
    },
    /// A running tool says how far it is.
    ToolProgress {
        /// The tool's name.
        tool_name: String,
        /// Words for a person.
        label: String,
    },
    /// A call was answered.
    ToolResult {
        /// The tool's name.
        tool_name: String,
        /// How long it took; zero for an answer without execution.
        took: Duration,
        /// Whether it succeeded.
        ok: bool,
    },
    /// A person has to decide about a call.
    ApprovalRequired {
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model wrote them.
        args: String,
        /// The call's id.
        call_id: String,
    },
    /// The run took one of its exits.
    RunStopped {
        /// The exit's name, such as `completed`.
        status: &'static str,
        /// Why, in one word of the closed vocabulary; absent for `completed`.
        reason: Option<String>,
        /// Turns taken.
        turns: u32,
        /// The run's cost.
        cost: PicoUsd,
    },
}

/// Sees every event of a run as it happens.
pub trait Observer: Send {
    /// `event` happened in run `run_id` when its clock showed `at`.
    fn observe(&mut self, run_id: &str, at: Duration, event: &Event);
}
