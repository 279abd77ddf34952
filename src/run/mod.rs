//! The run: a serialisable state, a pure step machine over it, and the driver that does its I/O.

pub mod context;
mod drive;
mod execute;
mod index;
mod machine;
pub mod policy;
mod sending;
mod state;
mod subagent;
#[cfg(test)]
mod tests;
mod trial;

pub use drive::{Checkpoint, CheckpointError, Harness, Watchers, drive};
pub use index::{PendingCall, Repeated, TranscriptIndex, signature};
pub use machine::{
    CustomStop, DecisionError, GENERIC_TOOL_ERROR, Machine, Need, RESULT_UNKNOWN, declined, worded,
};
pub use state::{RunSettings, RunState, Status, StopReason};
pub use subagent::{NO_RESULT, SubAgent};
pub use trial::{Trial, TrialError};
