//! Replayed runs, summed up.

use super::replay::Replayed;
use crate::message::Usage;
use crate::money::PicoUsd;

/// Sums over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Turns of all runs.
    pub turns: u64,
    /// Tokens of all turns.
    pub usage: Usage,
    /// What they cost.
    pub cost: PicoUsd,
    /// Calls that were executed.
    pub tool_runs: u64,
    /// Runs that a limit stopped before their record ends.
    pub cut: u64,
    /// Runs in which a call was answered with another text than the recorded one.
    pub changed: u64,
    /// Runs whose record says whether they did what they were for.
    pub marked: u64,
    /// Those that did.
    pub successes: u64,
    /// Those that did and were not cut.
    pub successes_kept: u64,
}

impl Tally {
    /// Adds a run.
    pub fn add(&mut self, run: &Replayed, success: Option<bool>) {
        let is_success = success == Some(true);
        self.runs += 1;
        self.turns += run.turns;
        self.usage += run.usage;
        self.cost += run.cost;
        self.tool_runs += run.tool_runs;
        self.cut += u64::from(run.is_cut);
        self.changed += u64::from(run.is_changed);
        self.marked += u64::from(success.is_some());
        self.successes += u64::from(is_success);
        self.successes_kept += u64::from(is_success && !run.is_cut);
    }

    /// Successes that were cut off.
    #[must_use]
    pub const fn successes_lost(&self) -> u64 {
        self.successes.saturating_sub(self.successes_kept)
    }
}
