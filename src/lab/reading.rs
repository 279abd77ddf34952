//! From rows to what is read from them: the table, the fit, the claims.

use std::collections::BTreeSet;
use std::path::Path;

use crate::clock::ClockKind;
use crate::experiment::{Experiment, FitSpec, RowKind};
use crate::lab::{CELLS, Draw, Lab, LabError, TURNS};
use crate::results::claims::{ClaimOutcome, RowSources, evaluate};
use crate::results::fit::{Fit, NoFit};
use crate::results::stats::Sample;
use crate::results::summary::N;
use crate::results::{Cell, Clocked, Figures, RowSet, Schema, Table, Words};

/// The rows of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// One row per cell.
    pub cells: RowSet,
    /// One row per turn.
    pub turns: RowSet,
}

impl Measured {
    /// Runs every cell and keeps the rows in memory.
    ///
    /// # Errors
    /// [`LabError`] where a cell cannot be run, or somebody stopped it.
    pub fn of(experiment: &Experiment, lab: &mut Lab<'_>) -> Result<Self, LabError> {
        let mut cells = RowSet::new(experiment.cell_columns())?;
        let mut turns = RowSet::new(experiment.turn_columns())?;
        lab.rows_of(experiment, &mut |rows| {
            cells.push(rows.cell)?;
            for turn in rows.turns {
                turns.push(turn)?;
            }
            Ok(())
        })?;
        Ok(Self { cells, turns })
    }

    /// The rows in an experiment's folder of results.
    ///
    /// # Errors
    /// [`LabError::Read`] where a file is not there, or does not hold such rows.
    pub fn read(experiment: &Experiment, folder: &Path) -> Result<Self, LabError> {
        let read = |file: &str, columns: &[_]| {
            RowSet::read_csv(&folder.join(file), Schema::Given(columns))
        };
        Ok(Self {
            cells: read(CELLS, &experiment.cell_columns())?,
            turns: read(TURNS, &experiment.turn_columns())?,
        })
    }

    /// The samples summed up, where the experiment asks for that.
    ///
    /// # Errors
    /// [`LabError::Summary`] where it speaks of columns that the rows do not have.
    pub fn summary(&self, experiment: &Experiment) -> Result<Option<RowSet>, LabError> {
        let spec = experiment.readout().summary.as_ref();
        Ok(spec.map(|spec| spec.of(&self.cells)).transpose()?)
    }

    /// The rows of this kind; `summary` is [`Measured::summary`].
    #[must_use]
    pub fn rows<'m>(&'m self, kind: RowKind, summary: Option<&'m RowSet>) -> &'m RowSet {
        match kind {
            RowKind::Cells => &self.cells,
            RowKind::Turns => &self.turns,
            RowKind::Summary => summary.unwrap_or(&self.cells),
        }
    }
}

/// What became of each claim of `experiment`, in order; `summary` is [`Measured::summary`].
#[must_use]
pub fn judged(
    experiment: &Experiment,
    measured: &Measured,
    summary: Option<&RowSet>,
) -> Vec<ClaimOutcome> {
    let sources = RowSources {
        cells: &measured.cells,
        turns: Some(&measured.turns),
        summary,
    };
    let settings = |path: &str| experiment.setting(path);
    evaluate(&experiment.readout().claims, sources, &settings)
}

/// Which clock made an experiment's rows.
#[must_use]
pub const fn clocked(experiment: &Experiment) -> Clocked {
    match experiment.clock() {
        ClockKind::Virtual => Clocked::Virtual,
        ClockKind::Real => Clocked::Real,
    }
}

/// The table of an experiment, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TableTexts {
    /// Its values.
    pub rows: RowSet,
    /// The same, as CSV.
    pub csv: String,
    /// What a reader sees, as Markdown.
    pub markdown: String,
}

/// What is read from an experiment's rows.
#[derive(Clone, Debug)]
pub struct Reading {
    /// One row for all samples of a cell, as CSV, where the experiment sums them up.
    pub summary: Option<String>,
    /// The table, where the experiment has one.
    pub table: Option<TableTexts>,
    /// The plot as SVG, where the experiment has one.
    pub plot: Option<String>,
    /// What became of each published number.
    pub claims: Vec<ClaimOutcome>,
}

impl Reading {
    /// Reads what `experiment` asks for from its rows.
    ///
    /// # Errors
    /// [`LabError::Table`] or [`LabError::Plot`] where one of the two cannot be made of them.
    pub fn of(
        experiment: &Experiment,
        measured: &Measured,
        draw: Draw<'_>,
    ) -> Result<Self, LabError> {
        let readout = experiment.readout();
        let summary = measured.summary(experiment)?;
        let claims = judged(experiment, measured, summary.as_ref());
        let table = readout.table.as_ref().map(|(spec, kind)| {
            let table = Table::build(spec, measured.rows(*kind, summary.as_ref()))?;
            let notes = notes(experiment, &measured.cells, summary.as_ref());
            let shown = table.shown(&Figures::ENGLISH, clocked(experiment));
            let markdown = shown.with_notes(notes).to_markdown();
            let rows = table.to_rows()?;
            let csv = csv_of(&rows)?;
            Ok::<_, LabError>(TableTexts {
                rows,
                csv,
                markdown,
            })
        });
        Ok(Self {
            summary: summary.as_ref().map(csv_of).transpose()?,
            table: table.transpose()?,
            plot: draw(experiment, measured)?,
            claims,
        })
    }

    /// The claims that do not hold.
    pub fn broken(&self) -> impl Iterator<Item = &ClaimOutcome> {
        self.claims.iter().filter(|claim| !claim.holds())
    }
}

fn csv_of(rows: &RowSet) -> Result<String, LabError> {
    let csv = rows.to_csv().map_err(LabError::Csv)?;
    Ok(String::from_utf8_lossy(&csv).into_owned())
}

/// A parabola in words, or why there is none.
fn fit_note(spec: &FitSpec, (group, fit): (Option<Cell>, Result<Fit, NoFit>)) -> String {
    let (x, y) = (&spec.x, &spec.y);
    let group = spec.by.as_ref().zip(group);
    let of = group.map_or_else(String::new, |(by, value)| format!(", `{by}` = {value}"));
    match fit {
        Ok(fit) => format!("`{y}` over N = `{x}`{of}: {fit}"),
        Err(reason) => format!("`{y}` over N = `{x}`{of}: no fit, because {reason}"),
    }
}

/// Lines below the table: the fit, or why there is none; how samples were summed up.
fn notes(experiment: &Experiment, cells: &RowSet, summary: Option<&RowSet>) -> Vec<Words> {
    let readout = experiment.readout();
    let summed = readout.summary.as_ref().zip(summary);
    let summed = summed.map(|(spec, rows)| spec.notes(rows));
    let fits = readout.fit.as_ref();
    let fits = fits.map(|spec| spec.fits(cells).into_iter().map(|fit| fit_note(spec, fit)));
    fits.into_iter()
        .flatten()
        .chain(summed.into_iter().flatten())
        .chain(few_samples(cells))
        .map(Words::Author)
        .collect()
}

/// The columns of quantiles, with the number of samples that each needs.
const QUANTILES: [(&str, &str, u16); 2] =
    [("p95_wall_ms", "p95", 950), ("p99_wall_ms", "p99", 990)];

/// Why a quantile is missing, for each number of samples that is too small for it.
fn few_samples(cells: &RowSet) -> Vec<String> {
    let counts = cells.cells(N).into_iter().flatten();
    let counts: BTreeSet<usize> = counts
        .filter_map(|count| count.to_string().parse().ok())
        .collect();
    let has = |column: &str| cells.index_of(column).is_ok();
    let quantiles = QUANTILES.iter().filter(|(column, ..)| has(column));
    let few = quantiles.flat_map(|(_, name, place)| {
        let missing = counts.iter().filter_map(|n| {
            let sample = Sample::new(vec![0.0; *n]).ok()?;
            sample.quantile(*place).err()
        });
        missing.map(move |error| format!("no {name} where {error}"))
    });
    few.collect()
}
