//! From rows to what is read from them: the table, the fit, the claims.

use std::path::Path;

use crate::clock::ClockKind;
use crate::experiment::{Execution, Experiment, RowKind};
use crate::lab::{CELLS, Lab, LabError, TURNS};
use crate::results::claims::{ClaimOutcome, RowSources, evaluate};
use crate::results::fit::Fit;
use crate::results::{Clocked, Figures, RowSet, Schema, Table, Words};

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
        let progress = &mut *lab.progress;
        let execution = Execution {
            jobs: lab.jobs,
            host: lab.host,
            progress: &mut |done| progress(experiment, done),
        };
        experiment.execute::<LabError>(execution, &mut |rows| {
            cells.push(rows.cell)?;
            for turn in rows.turns {
                turns.push(turn)?;
            }
            Ok(())
        })?;
        Ok(Self { cells, turns })
    }
}

impl Measured {
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

    /// The rows of this kind.
    #[must_use]
    pub const fn rows(&self, kind: RowKind) -> &RowSet {
        match kind {
            RowKind::Cells => &self.cells,
            RowKind::Turns => &self.turns,
        }
    }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableTexts {
    /// Its values, as CSV.
    pub csv: String,
    /// What a reader sees, as Markdown.
    pub markdown: String,
}

/// What is read from an experiment's rows.
#[derive(Clone, Debug)]
pub struct Reading {
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
        let sources = RowSources {
            cells: &measured.cells,
            turns: Some(&measured.turns),
        };
        let settings = |path: &str| experiment.setting(path);
        let claims = evaluate(&readout.claims, sources, &settings);
        let table = readout.table.as_ref().map(|(spec, kind)| {
            let table = Table::build(spec, measured.rows(*kind))?;
            let notes = notes(experiment, &measured.cells);
            let shown = table.shown(&Figures::ENGLISH, clocked(experiment));
            let markdown = shown.with_notes(notes).to_markdown();
            let csv = table.to_rows()?.to_csv().map_err(LabError::Csv)?;
            let csv = String::from_utf8_lossy(&csv).into_owned();
            Ok::<_, LabError>(TableTexts { csv, markdown })
        });
        Ok(Self {
            table: table.transpose()?,
            claims,
        })
    }

    /// The claims that do not hold.
    pub fn broken(&self) -> impl Iterator<Item = &ClaimOutcome> {
        self.claims.iter().filter(|claim| !claim.holds())
    }
}

/// Lines below the table: the fit, or why there is none.
fn notes(experiment: &Experiment, cells: &RowSet) -> Option<Words> {
    let spec = experiment.readout().fit.as_ref();
    spec.map(|spec| {
        let (x, y) = (&spec.x, &spec.y);
        Words::Author(match Fit::of_columns(cells, x, y) {
            Ok(fit) => format!("`{y}` over N = `{x}`: {fit}"),
            Err(reason) => format!("`{y}` over N = `{x}`: no fit, because {reason}"),
        })
    })
}
