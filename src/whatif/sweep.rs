//! Every recorded run under every case, and which case is the cheapest that keeps what matters.

use super::axis::{Axis, Case};
use super::replay::{Replayed, catalog, replay};
use super::script::{Marks, RepeatedCalls, Script};
use super::tally::Tally;
use crate::pricing::Price;
use crate::record::{Format, Recording};
use crate::results::stats::Thousandths;
use crate::run::RunSettings;
use crate::tools::{Catalog, CatalogError};

/// What recorded runs are replayed under.
#[derive(Debug)]
pub struct Sweep {
    cases: Vec<Case>,
    settings: RunSettings,
    marks: Marks,
    catalog: Catalog,
}

/// Why there is no sweep.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The tools that stand for the recorded ones are no catalog: never in practice.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// One recording under every case.
#[derive(Clone, Debug)]
pub struct RunReplays {
    recorded: Replayed,
    cases: Vec<Replayed>,
    success: Option<bool>,
    repeated: RepeatedCalls,
    tools_tokens: u64,
    has_texts: bool,
}

/// All recordings under every case.
#[derive(Clone, Debug)]
pub struct Report {
    /// The runs as they were.
    pub recorded: Tally,
    /// The runs in each case.
    pub cases: Vec<(Case, Tally)>,
    /// Equal calls.
    pub repeated: RepeatedCalls,
    /// Runs with such.
    pub runs_with_repeats: u64,
    /// Prompt tokens that are definitions of tools, where the records have them.
    pub tools_tokens: u64,
    /// Runs whose records have no texts: what else would have been sent is not known of them.
    pub without_texts: u64,
}

/// The cheapest case of some axes that keeps enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cheapest<'r> {
    /// What is varied.
    pub axes: Vec<Axis>,
    /// The case and what it gives; none where each loses too much.
    pub found: Option<(&'r Case, &'r Tally)>,
}

impl Sweep {
    /// A sweep over `cases` at `price`; no reply is assumed to have more tokens than
    /// `max_completion_tokens`, which budgets under `reserve` need.
    ///
    /// # Errors
    /// [`SweepError`], never in practice.
    pub fn new(
        cases: Vec<Case>,
        (price, max_completion_tokens): (Price, Option<u64>),
        marks: Marks,
    ) -> Result<Self, SweepError> {
        let mut settings = RunSettings::new(price);
        settings.max_completion_tokens = max_completion_tokens;
        let catalog = catalog()?;
        Ok(Self {
            cases,
            settings,
            marks,
            catalog,
        })
    }

    /// Replays one recording.
    #[must_use]
    pub fn replay(&self, recording: &Recording) -> RunReplays {
        let mut script = Script::of(recording, &self.marks);
        let sends_other = |case: &Case| {
            let axes = case.axes();
            axes.contains(&Axis::Cache) || axes.contains(&Axis::Context)
        };
        if self.cases.iter().any(sends_other) {
            script = script.with_sent(recording);
        }
        let under = |case: &Case| {
            let settings = case.apply(self.settings.clone());
            replay(&script, settings, &self.catalog)
        };
        RunReplays {
            recorded: under(&Case::default()),
            cases: self.cases.iter().map(under).collect(),
            success: recording.success,
            repeated: script.repeated,
            tools_tokens: script.tools_tokens,
            has_texts: recording.format != Format::Trace,
        }
    }

    /// A report of no runs yet.
    #[must_use]
    pub fn report(&self) -> Report {
        let none = |case: &Case| (case.clone(), Tally::default());
        Report {
            recorded: Tally::default(),
            cases: self.cases.iter().map(none).collect(),
            repeated: RepeatedCalls::default(),
            runs_with_repeats: 0,
            tools_tokens: 0,
            without_texts: 0,
        }
    }
}

impl Report {
    /// Adds a run.
    pub fn add(&mut self, run: &RunReplays) {
        self.recorded.add(&run.recorded, run.success);
        for ((_, tally), replayed) in self.cases.iter_mut().zip(&run.cases) {
            tally.add(replayed, run.success);
        }
        let sum = &mut self.repeated;
        sum.calls += run.repeated.calls;
        sum.repeated += run.repeated.repeated;
        sum.in_a_row = sum.in_a_row.max(run.repeated.in_a_row);
        self.tools_tokens += run.tools_tokens;
        self.without_texts += u64::from(!run.has_texts);
        self.runs_with_repeats += u64::from(run.repeated.repeated > 0);
    }

    /// The cheapest case of each combination of axes with a limit that keeps so many thousandths
    /// of the successes; empty where no record says which runs were such. Of equally dear ones it is the
    /// one that comes first.
    #[must_use]
    pub fn cheapest(&self, keep: Thousandths) -> Vec<Cheapest<'_>> {
        if self.recorded.successes == 0 {
            return Vec::new();
        }
        let mut groups: Vec<Cheapest<'_>> = Vec::new();
        let with_limit =
            |(case, _): &&(Case, Tally)| case.axes().iter().any(|axis| axis.is_limit());
        for (case, tally) in self.cases.iter().filter(with_limit) {
            let axes = case.axes();
            let known = groups.iter().position(|group| group.axes == axes);
            let at = known.unwrap_or_else(|| {
                groups.push(Cheapest { axes, found: None });
                groups.len() - 1
            });
            let is_enough = u128::from(tally.successes_kept) * 1_000
                >= u128::from(tally.successes) * u128::from(keep);
            if let Some(group) = groups.get_mut(at)
                && is_enough
                && group.found.is_none_or(|(_, best)| tally.cost < best.cost)
            {
                group.found = Some((case, tally));
            }
        }
        groups
    }
}
