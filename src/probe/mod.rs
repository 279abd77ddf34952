//! A report card of somebody's agent, made from outside and without configuration.
//!
//! [`run`] takes a command through a battery of [`Check`]s, each with an endpoint of its own that
//! behaves or misbehaves in one way. What the endpoint saw, and how the command ended, becomes
//! [`Finding`]s: typed values with a [`Verdict`] and with evidence from the wire. A [`Report`]
//! holds them; text, Markdown and JSON render the same values, [`Requirement`]s are held against
//! them, and a [`ProbeRow`] is their summary in one row of a table.

mod attempts;
mod battery;
mod burden;
mod calls;
mod check;
mod ending;
mod finding;
mod observation;
mod render;
mod report;
mod require;
mod row;
mod stops;
mod told;

pub use self::attempts::{Attempts, Count, RetryWait};
pub use self::battery::{Options, ProbeError, Progress, run};
pub use self::burden::{FirstRequest, Overhead};
pub use self::calls::{Order, Parallel, Repeats};
pub use self::check::{Check, Failing};
pub use self::ending::Ending;
pub use self::finding::{Evidence, Finding, Seen, Verdict};
pub use self::observation::{LastWords, Observation, ToolStart};
pub use self::render::{to_json, to_markdown, to_text};
pub use self::report::{CheckReport, Report, Setting};
pub use self::require::{FORMS as REQUIREMENTS, Requirement, RequirementError, Ruling};
pub use self::row::ProbeRow;
pub use self::stops::{Estimate, Hundred, Stop, Stops};
pub use self::told::{Told, ToldWhy};
