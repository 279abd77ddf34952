//! From rows to what is read from them: the table, the fit, the claims.

use crate::clock::ClockKind;
use crate::experiment::{Experiment, RowKind};
use crate::lab::{Lab, LabError};
use crate::results::claims::{ClaimOutcome, RowSources, evaluate};
use crate::results::fit::Fit;
use crate::results::{Clocked, Figures, RowSet, Table};

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
    /// What became of each published number.
    pub claims: Vec<ClaimOutcome>,
}

impl Reading {
    /// Reads what `experiment` asks for from its rows.
    ///
    /// # Errors
    /// [`LabError::Table`] where the table cannot be made of them.
    pub fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, LabError> {
        let readout = experiment.readout();
        let summary = readout.summary.as_ref();
        let summary = summary.map(|spec| spec.of(&measured.cells)).transpose()?;
        let sources = RowSources {
            cells: &measured.cells,
            turns: Some(&measured.turns),
            summary: summary.as_ref(),
        };
        let settings = |path: &str| experiment.setting(path);
        let claims = evaluate(&readout.claims, sources, &settings);
        let table = readout.table.as_ref().map(|(spec, kind)| {
            let rows = match kind {
                RowKind::Cells => &measured.cells,
                RowKind::Turns => &measured.turns,
                RowKind::Summary => summary.as_ref().unwrap_or(&measured.cells),
            };
            let table = Table::build(spec, rows)?;
            let clock = match experiment.clock() {
                ClockKind::Virtual => Clocked::Virtual,
                ClockKind::Real => Clocked::Real,
            };
            let notes = notes(experiment, &measured.cells, summary.as_ref());
            let markdown = table.to_markdown(&Figures::ENGLISH, clock, &notes);
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

/// Lines below the table: the fit, or why there is none; how samples were summed up.
fn notes(experiment: &Experiment, cells: &RowSet, summary: Option<&RowSet>) -> Vec<String> {
    let readout = experiment.readout();
    let summed = readout.summary.as_ref().zip(summary);
    let summed = summed.map(|(spec, rows)| spec.notes(rows));
    let note = readout.fit.as_ref().map(|spec| {
        let (x, y) = (&spec.x, &spec.y);
        match Fit::of_columns(cells, x, y) {
            Ok(fit) => format!("`{y}` over N = `{x}`: {fit}"),
            Err(reason) => format!("`{y}` over N = `{x}`: no fit, because {reason}"),
        }
    });
    note.into_iter()
        .chain(summed.into_iter().flatten())
        .collect()
}
