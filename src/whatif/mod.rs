//! Recorded runs under other limits: each is replayed through the step machine as the model
//! answered then, and stops where a limit would have stopped it.
//!
//! What a limit cuts off is exact up to the cut. What the model would have said afterwards, or in
//! answer to another text, nobody knows, and it is not made up.

mod axis;
mod levers;
mod replay;
mod row;
mod script;
mod sent;
mod sweep;
mod tally;
#[cfg(test)]
mod tests;

pub use axis::{Axis, Case, Setting, cases};
pub use levers::{Lever, OnRecords, lever_cases, lever_policies, levers};
pub use replay::Replayed;
pub use row::{NamedCell, of_case};
pub use script::{Marks, PERMANENT, RepeatedCalls};
pub use sweep::{Cheapest, Report, RunReplays, Sweep, SweepError};
pub use tally::Tally;
