//! The laboratory's two jobs: make an experiment's results, and check the committed ones.
//!
//! Making and checking share one path from rows to tables and claims, so what is checked is what
//! was made.

mod accept;
mod attribution;
mod bill;
mod check;
pub mod gate;
mod needed;
mod outlook;
#[cfg(feature = "parquet")]
pub mod parquet;
mod publish;
mod reading;
pub mod series;
pub mod shard;
mod timed;

pub use accept::{Accepted, accept};
pub use attribution::{Attribution, Why};
pub use bill::{Bill, CellChange, Changes};
pub use check::{Check, Finding, Timed, check};
pub use outlook::{Basis, Committed, Outlook, outlook};
pub use publish::{Published, publish, publish_within};
pub use reading::{Measured, Reading, TableTexts, clocked, judged};
pub use timed::{Doubt, FALSE_ALARMS, LEAST_RATIO, Outcome, Timing};

use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::experiment::{CellRows, ExecuteError, Execution, Experiment, Host, Purse, Spent, Stop};
use crate::files::{WriteError, open_to_read, remove_abandoned};
use crate::results::digest::DigestError;
use crate::results::summary::SummaryError;
use crate::results::{ReadError, RowsError, TableError};

/// The file that holds one row per cell.
pub const CELLS: &str = "cells.csv";
/// The file that holds one row per turn.
pub const TURNS: &str = "turns.csv";
/// The file that holds one row for all samples of a cell, where the experiment sums them up.
pub const SUMMARY: &str = "summary.csv";
/// The file that holds the reader's table as values.
pub const TABLE_CSV: &str = "table.csv";
/// The file that holds the reader's table as Markdown.
pub const TABLE_MD: &str = "table.md";

/// The file that holds the plot, in English.
pub const PLOT: &str = "plot.svg";

/// Draws the plot that an experiment asks for, if it asks for one.
pub type Draw<'a> = &'a dyn Fn(&Experiment, &Measured) -> Result<Option<String>, LabError>;
/// The file that holds what the rows were made from.
pub const INPUTS: &str = "inputs.json";

/// How the laboratory works.
pub struct Lab<'a> {
    /// The folder that holds a folder of results for each experiment.
    pub results: &'a Path,
    /// How many cells at a time.
    pub jobs: usize,
    /// The machine.
    pub host: &'a Host,
    /// Told how many of an experiment's runs are done.
    pub progress: &'a mut dyn FnMut(&Experiment, u64),
    /// Draws plots; how is none of the laboratory's business.
    pub draw: Draw<'a>,
    /// Ends the work early.
    pub stop: Stop<'a>,
}

impl Lab<'_> {
    /// Where an experiment's results are.
    #[must_use]
    pub fn folder(&self, experiment: &Experiment) -> PathBuf {
        self.results.join(experiment.name())
    }

    /// Where the rows of an experiment are kept that was not run to its end.
    #[must_use]
    pub fn partial_folder(&self, experiment: &Experiment) -> PathBuf {
        self.results.join(format!("{}.partial", experiment.name()))
    }

    /// Runs an experiment's cells and hands their rows to `take`, in cell order.
    fn rows_of(
        &mut self,
        experiment: &Experiment,
        take: &mut dyn FnMut(CellRows) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let every = 0..experiment.sweep().len();
        self.rows_of_cells(experiment, &[every], take)
    }

    /// Runs the cells of these ranges of indices and hands their rows to `take`, in this order.
    fn rows_of_cells(
        &mut self,
        experiment: &Experiment,
        cells: &[Range<u64>],
        take: &mut dyn FnMut(CellRows) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let progress = &mut *self.progress;
        let execution = Execution {
            jobs: self.jobs,
            host: self.host,
            progress: &mut |done| progress(experiment, done),
            stop: self.stop,
        };
        Ok(experiment.execute_cells(cells, execution, take)?)
    }

    /// Runs an experiment's cells as far as the purse goes, and hands their rows to `take`.
    fn rows_within(
        &mut self,
        purse: &mut Purse,
        experiment: &Experiment,
        take: &mut dyn FnMut(CellRows) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let progress = &mut *self.progress;
        let execution = Execution {
            jobs: self.jobs,
            host: self.host,
            progress: &mut |done| progress(experiment, done),
            stop: self.stop,
        };
        Ok(experiment.execute_within(purse, execution, take)?)
    }
}

/// Removes what killed processes were just writing to the folder of all results and to one in it.
fn remove_left(results: &Path, folder: &Path) {
    remove_abandoned(results);
    remove_abandoned(folder);
}

/// The bytes of a committed file; none where it is not there.
fn committed_bytes(folder: &Path, file: &str) -> Result<Option<Vec<u8>>, LabError> {
    let path = folder.join(file);
    let read = || -> io::Result<_> {
        let mut bytes = Vec::new();
        open_to_read(&path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LabError::Committed { path, source }),
    }
}

/// Why results could not be made or checked.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Somebody stopped it.
    #[error("stopped after {done} of {all} runs")]
    Stopped {
        /// Runs that were done.
        done: u64,
        /// Runs that there are.
        all: u64,
    },
    /// The next run does not fit into what may be spent.
    #[error("{0}")]
    Spent(Box<Spent>),
    /// The cells could not be run.
    #[error("{0}")]
    Execute(String),
    /// The rows do not fit their columns.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The samples cannot be summed up.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// The table cannot be made of the rows.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table cannot be printed.
    #[error("the table cannot be printed: {0}")]
    Csv(#[source] io::Error),
    /// The plot cannot be made of the rows.
    #[error("the plot: {0}")]
    Plot(String),
    /// Rows cannot be read back.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Digests cannot be written or verified.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// A shard cannot be run.
    #[error(transparent)]
    Shard(#[from] shard::ShardError),
    /// A committed file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Committed {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl<E: Into<LabError> + std::fmt::Display> From<ExecuteError<E>> for LabError {
    fn from(error: ExecuteError<E>) -> Self {
        match error {
            ExecuteError::Stopped { done, all } => Self::Stopped { done, all },
            ExecuteError::Spent(spent) => Self::Spent(spent),
            ExecuteError::Sink(error) => error.into(),
            other => Self::Execute(other.to_string()),
        }
    }
}
