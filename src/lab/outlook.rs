//! What an experiment will cost: forecasts, and what its committed rows say.

use std::collections::BTreeSet;
use std::path::Path;

use crate::experiment::{Expected, Experiment, Forecast, Rehearsal, RunError, Worst};
use crate::lab::CELLS;
use crate::money::PicoUsd;
use crate::results::{Cell as Printed, RowSet, Schema};

/// What a cell will cost: all its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// What one run costs.
    pub forecast: Forecast,
    /// How many runs the cell has.
    pub runs: u64,
    /// What they probably cost together; none where nothing is known of it.
    pub expected: Option<PicoUsd>,
    /// How that is known.
    pub basis: Basis,
}

/// How it is known what a cell probably costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// The scripted model was asked in process.
    Rehearsed,
    /// The committed rows of the same cell.
    Committed,
    /// A real model is assumed to list, to read and to answer.
    Assumed,
    /// It is not known.
    Unknown,
}

impl Basis {
    /// The basis in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rehearsed => "rehearsed",
            Self::Committed => "committed",
            Self::Assumed => "assumed",
            Self::Unknown => "unknown",
        }
    }
}

/// The committed bills of an experiment's cells.
pub struct Committed {
    rows: Option<RowSet>,
    labels: usize,
    models: BTreeSet<String>,
    is_of_other: bool,
}

impl Committed {
    /// What stands in the experiment's folder below `results`; nothing where it is not of this
    /// sweep, or of another model than the experiment asks.
    #[must_use]
    pub fn of(experiment: &Experiment, results: &Path) -> Self {
        let path = results.join(experiment.name()).join(CELLS);
        let columns = experiment.cell_columns();
        let rows = RowSet::read_csv(&path, Schema::Given(&columns)).ok();
        let whole = |rows: &RowSet| u64::try_from(rows.len()) == Ok(experiment.runs());
        let rows = rows.filter(whole);
        let models = rows.as_ref().map(models).unwrap_or_default();
        let asked = experiment.model();
        let is_other = |model: &String| asked.is_some_and(|asked| asked != model);
        let is_of_other = models.iter().any(is_other);
        Self {
            rows: rows.filter(|_| !is_of_other),
            models,
            is_of_other,
            labels: experiment
                .sweep()
                .cell(0)
                .map_or(0, |cell| cell.labels.len()),
        }
    }

    /// The models that the rows are of, where they say so.
    #[must_use]
    pub const fn models(&self) -> &BTreeSet<String> {
        &self.models
    }

    /// Whether the rows say nothing because they are of other models than the one that is asked.
    #[must_use]
    pub const fn is_of_other(&self) -> bool {
        self.is_of_other
    }

    /// What the runs of a cell cost then, if all of them are there.
    fn bill(&self, forecast: &Forecast, runs: u64) -> Option<PicoUsd> {
        let rows = self.rows.as_ref()?;
        let first = usize::try_from(forecast.cell.index.checked_mul(runs)?).ok()?;
        let count = usize::try_from(runs).ok()?;
        let of_cell = rows.rows().get(first..first.checked_add(count)?)?;
        let cost = rows.index_of("cost_usd").ok()?;
        let labels = |row: &[Printed]| row.get(..self.labels) == Some(&forecast.cell.labels);
        if !of_cell.iter().all(|row| labels(row)) {
            return None;
        }
        let costs = of_cell.iter().map(|row| match row.get(cost) {
            Some(Printed::Usd(cost)) => Some(*cost),
            _ => None,
        });
        costs.sum()
    }
}

/// The models in the rows.
fn models(rows: &RowSet) -> BTreeSet<String> {
    let Ok(column) = rows.index_of("model") else {
        return BTreeSet::new();
    };
    let names = rows.rows().iter().filter_map(|row| match row.get(column) {
        Some(Printed::Text(model)) => Some(model.clone()),
        _ => None,
    });
    names.collect()
}

/// What the cell at `index` will cost. More than it can cost at most is never expected.
///
/// # Errors
/// [`RunError`] where it cannot be read or rehearsed.
pub fn outlook(
    experiment: &Experiment,
    (rehearsal, committed): (&Rehearsal<'_>, &Committed),
    index: u64,
) -> Result<Outlook, RunError> {
    let forecast = rehearsal.forecast(index)?;
    let runs = experiment.runs() / experiment.sweep().len().max(1);
    let told = match forecast.expected {
        Expected::Rehearsed(cost) => Some((cost * runs, Basis::Rehearsed)),
        Expected::Assumed(_) | Expected::Unknown => committed
            .bill(&forecast, runs)
            .map(|cost| (cost, Basis::Committed)),
    };
    let (expected, basis) = match (told, forecast.expected) {
        (Some((cost, basis)), _) => (Some(cost), basis),
        (None, Expected::Assumed(cost)) => (Some(cost * runs), Basis::Assumed),
        (None, _) => (None, Basis::Unknown),
    };
    let expected = match forecast.worst {
        Worst::AtMost(most) => expected.map(|expected| expected.min(most * runs)),
        Worst::Unbounded(_) => expected,
    };
    Ok(Outlook {
        forecast,
        runs,
        expected,
        basis,
    })
}
