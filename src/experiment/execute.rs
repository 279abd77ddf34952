//! Runs the cells of an experiment, many at a time, and hands out their rows in cell order.
//!
//! Cells are taken in chunks: those of one chunk run side by side, their rows leave in order, and
//! no more than one chunk is in memory.

use rayon::prelude::*;

use super::Experiment;
use super::host::Host;
use super::live::{CellRunError, Venue};
use super::seam::ModelSource;
use super::settings::Settings;
use super::sweep::CellError;
use crate::clock::ClockKind;
use crate::results::{Cell as Printed, Column, Kind};
use crate::tokens;

/// How many cells of one chunk there are for each thread.
const CELLS_PER_THREAD: usize = 64;

/// The rows of one run of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRows {
    /// The cell's index in the sweep.
    pub index: u64,
    /// The cell's row, under [`Experiment::cell_columns`].
    pub cell: Vec<Printed>,
    /// A row for each turn, under [`Experiment::turn_columns`].
    pub turns: Vec<Vec<Printed>>,
}

/// Why a run gave no rows.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A cell's settings cannot be read.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A cell could not be run.
    #[error("cell `{id}`: {source}")]
    Run {
        /// What the cell is called.
        id: String,
        /// Why.
        source: CellRunError,
    },
}

/// Why an experiment was not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError<E> {
    /// A run gave no rows.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The machine gives no timer, socket or thread.
    #[error("the cells have nowhere to run: {0}")]
    Venue(#[from] std::io::Error),
    /// No threads to run cells on.
    #[error("cells cannot be run side by side: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The rows could not be taken.
    #[error("{0}")]
    Sink(E),
    /// Somebody stopped it between two chunks.
    #[error("stopped after {done} of {all} runs")]
    Stopped {
        /// Runs whose rows were taken.
        done: u64,
        /// Runs that there are.
        all: u64,
    },
}

/// Takes the rows of the next run; no more come after an error.
pub type Sink<'s, E> = &'s mut dyn FnMut(CellRows) -> Result<(), E>;

/// Whether to go on after a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Go on.
    On,
    /// Stop here.
    Stop,
}

/// How to run cells.
pub struct Execution<'a> {
    /// How many at a time; on the real clock it is always one, so that none disturbs another.
    pub jobs: usize,
    /// The machine, whose description goes into the rows of the real clock.
    pub host: &'a Host,
    /// Told after each chunk how many runs are done; says whether to go on.
    pub progress: &'a mut dyn FnMut(u64) -> Go,
}

impl Experiment {
    /// The columns of `cells.csv`: labels, the machine's on the real clock, measurements.
    #[must_use]
    pub fn cell_columns(&self) -> Vec<Column> {
        let measured = self.presence.cell_columns();
        let measured = measured
            .into_iter()
            .map(|(name, kind)| Column::new(name, kind));
        self.leading_columns().into_iter().chain(measured).collect()
    }

    /// The columns of `turns.csv`: the cell's labels, and measurements of the turn.
    #[must_use]
    pub fn turn_columns(&self) -> Vec<Column> {
        let mut columns = self.label_columns();
        if self.clock == ClockKind::Real {
            columns.push(Column::new("sample", Kind::Count));
        }
        columns.extend(
            self.presence
                .turn_columns()
                .into_iter()
                .map(|(name, kind)| Column::new(name, kind)),
        );
        columns
    }

    /// How many runs there are: every cell as often as it is repeated.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.sweep.len().saturating_mul(u64::from(self.repeat))
    }

    /// Runs every cell and hands its rows to `sink`, in cell order whatever finishes first.
    ///
    /// # Errors
    /// [`ExecuteError`]; the rows of all chunks before have been taken then.
    pub fn execute<E>(
        &self,
        execution: Execution<'_>,
        sink: Sink<'_, E>,
    ) -> Result<(), ExecuteError<E>> {
        let Execution {
            jobs,
            host,
            progress,
        } = execution;
        let jobs = match self.clock {
            ClockKind::Virtual => jobs.max(1),
            ClockKind::Real => 1,
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        let venue = Venue::prepare(self)?;
        self.warm_up(&venue, host)?;
        let (all, chunk) = (self.runs(), self.chunk_length(jobs));
        let mut done = 0;
        while done < all {
            let end = done.saturating_add(chunk).min(all);
            let rows: Vec<_> = pool.install(|| {
                (done..end)
                    .into_par_iter()
                    .map(|run| self.run_one(run, (&venue, host)))
                    .collect()
            });
            for rows in rows {
                sink(rows?).map_err(ExecuteError::Sink)?;
            }
            done = end;
            if progress(done) == Go::Stop && done < all {
                return Err(ExecuteError::Stopped { done, all });
            }
        }
        Ok(())
    }

    /// The first run of a process loads what later ones find loaded, which is nobody's time. A
    /// real model is not asked for nothing: there only the tokenizer is loaded.
    fn warm_up(&self, venue: &Venue<'_>, host: &Host) -> Result<(), RunError> {
        match (self.clock, self.needs_endpoint()) {
            (ClockKind::Virtual, _) => {}
            (ClockKind::Real, false) => drop(self.run_one(0, (venue, host))?),
            (ClockKind::Real, true) => {
                let _ = tokens::count("warm");
            }
        }
        Ok(())
    }

    /// How many runs there are before somebody can stop: on the real clock, one.
    fn chunk_length(&self, jobs: usize) -> u64 {
        match self.clock {
            ClockKind::Virtual => {
                u64::try_from(jobs.saturating_mul(CELLS_PER_THREAD)).unwrap_or(u64::MAX)
            }
            ClockKind::Real => 1,
        }
    }

    /// The rows of the n-th run.
    fn run_one(&self, run: u64, (venue, host): (&Venue<'_>, &Host)) -> Result<CellRows, RunError> {
        let repeat = u64::from(self.repeat.max(1));
        let (index, sample) = (run / repeat, run % repeat + 1);
        let cell = self.sweep.cell(index)?;
        let run_id = format!("{}/{}", self.name, cell.id);
        let measured = venue
            .run(&cell.settings, &run_id)
            .map_err(|source| RunError::Run {
                id: cell.id.clone(),
                source,
            })?;
        let mut row = cell.labels.clone();
        let mut of_turn = cell.labels;
        if self.clock == ClockKind::Real {
            row.extend([Printed::from(sample), Printed::from(repeat)]);
            row.extend(host.values());
            row.extend(self.model_values(&cell.settings));
            of_turn.push(Printed::from(sample));
        }
        row.extend(measured.cell_values(&self.presence));
        let turns = measured
            .turn_values(&self.presence)
            .map(|values| [of_turn.clone(), values].concat());
        Ok(CellRows {
            index,
            cell: row,
            turns: turns.collect(),
        })
    }

    fn label_columns(&self) -> Vec<Column> {
        let labels = self.sweep.labels().into_iter();
        labels.map(|(name, kind)| Column::new(name, kind)).collect()
    }

    fn leading_columns(&self) -> Vec<Column> {
        let mut columns = self.label_columns();
        if self.clock == ClockKind::Real {
            columns.extend(["sample", "n"].map(|name| Column::new(name, Kind::Count)));
            columns.extend(Host::columns());
            columns.extend(self.model_columns());
        }
        columns
    }

    /// Which model answered, and what served it, where a cell may ask a real one.
    fn model_columns(&self) -> Vec<Column> {
        let names: &[&str] = if self.needs_endpoint() {
            &["model", "server"]
        } else {
            &[]
        };
        let columns = names.iter().map(|name| Column::new(*name, Kind::Text));
        columns.collect()
    }

    fn model_values(&self, settings: &Settings) -> Vec<Printed> {
        if !self.needs_endpoint() {
            return Vec::new();
        }
        let asked = match settings.provider {
            ModelSource::Scripted => None,
            ModelSource::Endpoint => self.endpoint.as_ref(),
        };
        let model = asked.map(|asked| asked.endpoint.model().to_owned());
        let server = asked.and_then(|asked| asked.server.clone());
        vec![model.into(), server.into()]
    }
}
