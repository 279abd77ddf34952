//! Somebody's agent, in any language, metered from the side of the model.
//!
//! [`Launch`] says which command to start and how; [`run`] plays a scripted endpoint on a free
//! port of this machine, starts the command with the usual variables pointing at it, and tells
//! how the command ended and what the endpoint saw. Nothing of the agent is changed or known.
//!
//! The command has a process group of its own, and the group is ended with it. A process that
//! leaves the group, as a daemon does, is found again on Linux by a mark in its environment; one
//! that cleared its environment is not.

mod columns;
mod command;
mod group;
mod invoice;
mod script;
mod strays;
mod tail;
mod time;
mod variables;

pub use self::columns::{cell_columns, cell_values, turn_columns, turn_values};
pub use self::command::{Bounds, CommandEnd, Input, Launch, LaunchError, Metered, Ran, run};
pub use self::invoice::{Ended, Failed, Failure, Invoice, Turn};
pub use self::script::{script, script_by};
pub use self::tail::{Echo, Tail};
pub use self::time::TimeSplit;
pub use self::variables::{KEY, Variable, variables};

#[cfg(test)]
mod tests;
