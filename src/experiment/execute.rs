//! Runs the cells of an experiment, many at a time, and hands out their rows in cell order.
//!
//! Cells are taken in chunks: those of one chunk run side by side, their rows leave in order. In
//! virtual time the rows of one chunk leave while the next one runs, so no more than three chunks
//! are in memory: one running, one waiting, one leaving.

use std::ops::Range;
use std::sync::mpsc::{SyncSender, sync_channel};

use rayon::prelude::*;

use super::Experiment;
use super::forecast::Missing;
use super::harness::{CommandHarness, Harness};
use super::host::Host;
use super::live::{CellRunError, Venue};
use super::seam::RealModel;
use super::settings::Settings;
use super::spend::Spent;
use super::sweep::{Cell, CellError};
use crate::clock::ClockKind;
use crate::meter;
use crate::money::PicoUsd;
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
    /// The next run does not fit into what may be spent.
    #[error("{0}")]
    Spent(Box<Spent>),
    /// Nobody knows what the next run can cost.
    #[error("cell `{cell}` has no bound on its bill: {missing}")]
    Unbounded {
        /// What the cell is called.
        cell: String,
        /// What would bound it.
        missing: Missing,
    },
    /// Somebody stopped it.
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

/// Whether somebody asked for a stop; looked at after every step of every run.
pub type Stop<'s> = &'s (dyn Fn() -> bool + Sync);

/// How to run cells.
pub struct Execution<'a> {
    /// How many at a time; on the real clock it is always one, so that none disturbs another.
    pub jobs: usize,
    /// The machine, whose description goes into the rows of the real clock.
    pub host: &'a Host,
    /// Told after each chunk how many runs are done.
    pub progress: &'a mut dyn FnMut(u64),
    /// Ends the work early.
    pub stop: Stop<'a>,
}

impl Experiment {
    /// The columns of `cells.csv`: labels, the machine's on the real clock, measurements.
    #[must_use]
    pub fn cell_columns(&self) -> Vec<Column> {
        let measured = match &self.harness {
            Harness::InProcess => named(self.presence.cell_columns()),
            Harness::Command(_) => meter::cell_columns(),
        };
        [self.leading_columns(), measured].concat()
    }

    /// The columns of `turns.csv`: the cell's labels, and measurements of the turn.
    #[must_use]
    pub fn turn_columns(&self) -> Vec<Column> {
        let mut columns = self.label_columns();
        if self.clock == ClockKind::Real {
            columns.push(Column::new("sample", Kind::Count));
        }
        columns.extend(match &self.harness {
            Harness::InProcess => named(self.presence.turn_columns()),
            Harness::Command(_) => meter::turn_columns(),
        });
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
        let every = 0..self.sweep.len();
        self.execute_cells(&[every], execution, sink)
    }

    /// Runs the cells of these ranges of indices, in this order, as [`Experiment::execute`] runs
    /// all of them.
    ///
    /// # Errors
    /// [`ExecuteError`]; there is no run of a cell beyond the last one.
    pub fn execute_cells<E>(
        &self,
        cells: &[Range<u64>],
        execution: Execution<'_>,
        sink: Sink<'_, E>,
    ) -> Result<(), ExecuteError<E>> {
        let repeat = u64::from(self.repeat);
        let of_cell = |index: u64| index.saturating_mul(repeat);
        let ranges = cells.iter();
        let runs = Runs(
            ranges
                .map(|range| of_cell(range.start)..of_cell(range.end))
                .collect(),
        );
        match &self.harness {
            Harness::InProcess => self.execute_many(&runs, execution, sink),
            Harness::Command(command) => self.execute_commands((command, &runs), execution, sink),
        }
    }

    /// Runs commands one after the other, so that none disturbs another.
    fn execute_commands<E>(
        &self,
        (command, runs): (&CommandHarness, &Runs),
        execution: Execution<'_>,
        sink: Sink<'_, E>,
    ) -> Result<(), ExecuteError<E>> {
        let Execution {
            host,
            progress,
            stop,
            ..
        } = execution;
        let all = runs.count();
        for (done, run) in (0..).zip(runs.0.iter().cloned().flatten()) {
            let rows = self.run_command(command, run, (host, stop))?;
            let rows = rows.ok_or(ExecuteError::Stopped { done, all })?;
            sink(rows).map_err(ExecuteError::Sink)?;
            progress(done + 1);
        }
        Ok(())
    }

    /// The rows of the n-th run, by a command; none if it was stopped.
    fn run_command(
        &self,
        command: &CommandHarness,
        run: u64,
        (host, stop): (&Host, Stop<'_>),
    ) -> Result<Option<CellRows>, RunError> {
        let run = self.run_at(run)?;
        let run_id = format!("{}-{}", run.cell.index, run.sample);
        let invoice = command.run(&run.cell.settings, &self.resources, run_id, stop);
        let invoice = invoice.map_err(|source| RunError::Run {
            id: run.cell.id.clone(),
            source,
        })?;
        Ok(invoice.map(|invoice| {
            let turns = invoice.turns.iter().map(meter::turn_values);
            self.rows(run, host, meter::cell_values(&invoice), turns)
        }))
    }

    fn execute_many<E>(
        &self,
        runs: &Runs,
        execution: Execution<'_>,
        sink: Sink<'_, E>,
    ) -> Result<(), ExecuteError<E>> {
        let Execution {
            jobs,
            host,
            progress,
            stop,
        } = execution;
        let all = runs.count();
        let jobs = self.side_by_side(jobs, all);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        let venue = Venue::prepare(self, stop)?;
        self.warm_up(&venue, host)?;
        let mut done = 0;
        let mut take = |rows: Chunk| {
            if stop() {
                return Err(ExecuteError::Stopped { done, all });
            }
            for rows in rows {
                sink(rows?).map_err(ExecuteError::Sink)?;
                done += 1;
            }
            progress(done);
            Ok(())
        };
        let chunks = runs.chunks(self.chunk_length(jobs));
        let run_chunk = |chunk: Range<u64>| -> Chunk {
            let runs = chunk.into_par_iter();
            runs.map(|run| self.run_one(run, &venue, host)).collect()
        };
        match self.clock {
            ClockKind::Virtual => pool.in_place_scope(|scope| {
                let (finished, rows) = sync_channel(1);
                scope.spawn(move |_| run_ahead(chunks, &run_chunk, &finished));
                rows.into_iter().try_for_each(&mut take)
            }),
            // Rows that are written while a run is timed would disturb it.
            ClockKind::Real => {
                let mut chunks = chunks;
                chunks.try_for_each(|chunk| take(pool.install(|| run_chunk(chunk))))
            }
        }
    }

    /// How many of `all` runs go side by side where `jobs` are wanted: on the real clock, one.
    pub(super) fn side_by_side(&self, jobs: usize, all: u64) -> usize {
        match self.clock {
            ClockKind::Virtual => jobs.clamp(1, usize::try_from(all).unwrap_or(usize::MAX).max(1)),
            ClockKind::Real => 1,
        }
    }

    /// The first run of a process loads what later ones find loaded, which is nobody's time. A
    /// real model is not asked for nothing: there only the tokenizer is loaded.
    pub(super) fn warm_up(&self, venue: &Venue<'_>, host: &Host) -> Result<(), RunError> {
        match (self.clock, self.needs_endpoint()) {
            (ClockKind::Virtual, _) => Ok(()),
            (ClockKind::Real, false) => match self.run_one(0, venue, host) {
                // Of a run that was stopped, nothing is said here.
                Err(error) if !venue.is_stopped() => Err(error),
                _ => Ok(()),
            },
            (ClockKind::Real, true) => {
                let _ = tokens::count("warm");
                Ok(())
            }
        }
    }

    /// How many runs there are between two reports of progress: on the real clock, one.
    pub(super) fn chunk_length(&self, jobs: usize) -> u64 {
        match self.clock {
            ClockKind::Virtual => {
                u64::try_from(jobs.saturating_mul(CELLS_PER_THREAD)).unwrap_or(u64::MAX)
            }
            ClockKind::Real => 1,
        }
    }

    /// The index of the cell of the n-th run.
    pub(super) fn cell_of(&self, run: u64) -> u64 {
        run / u64::from(self.repeat.max(1))
    }

    /// The n-th run.
    fn run_at(&self, run: u64) -> Result<Run, RunError> {
        let repeat = u64::from(self.repeat.max(1));
        Ok(Run {
            cell: self.sweep.cell(self.cell_of(run))?,
            sample: run % repeat + 1,
        })
    }

    /// The rows of the n-th run.
    fn run_one(&self, run: u64, venue: &Venue<'_>, host: &Host) -> Result<CellRows, RunError> {
        self.run_billed(run, venue, host).map(|(rows, _)| rows)
    }

    /// The rows of the n-th run, and what it cost.
    pub(super) fn run_billed(
        &self,
        run: u64,
        venue: &Venue<'_>,
        host: &Host,
    ) -> Result<(CellRows, PicoUsd), RunError> {
        let run = self.run_at(run)?;
        let id = &run.cell.id;
        let run_id = format!("{}/{id}", self.name);
        let measured = venue
            .run(&run.cell.settings, &run_id)
            .map_err(|source| RunError::Run {
                id: id.clone(),
                source,
            })?;
        let values = measured.cell_values(&self.presence);
        let turns: Vec<_> = measured.turn_values(&self.presence).collect();
        let cost = measured.bill();
        drop(measured);
        Ok((self.rows(run, host, values, turns), cost))
    }

    /// What was measured of a run, behind what tells it from other runs.
    fn rows(
        &self,
        run: Run,
        host: &Host,
        measured: Vec<Printed>,
        turns: impl IntoIterator<Item = Vec<Printed>>,
    ) -> CellRows {
        let mut row = run.cell.labels.clone();
        let mut of_turn = run.cell.labels;
        if self.clock == ClockKind::Real {
            row.extend([run.sample, u64::from(self.repeat.max(1))].map(Printed::from));
            row.extend(host.values());
            row.extend(self.model_values(&run.cell.settings));
            of_turn.push(Printed::from(run.sample));
        }
        row.extend(measured);
        let turns = turns
            .into_iter()
            .map(|values| [of_turn.clone(), values].concat());
        CellRows {
            index: run.cell.index,
            cell: row,
            turns: turns.collect(),
        }
    }

    fn label_columns(&self) -> Vec<Column> {
        let labels = self.sweep.labels().into_iter();
        labels.map(|(name, kind)| Column::new(name, kind)).collect()
    }

    fn leading_columns(&self) -> Vec<Column> {
        let mut columns = self.label_columns();
        if self.clock == ClockKind::Real {
            columns.extend(machine_columns());
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
        let given = match &self.real_model {
            RealModel::NotAsked => return Vec::new(),
            RealModel::Missing => None,
            RealModel::Given(given) => settings.asks_endpoint().then_some(given),
        };
        let model = given.map(|given| given.endpoint.model().to_owned());
        let server = given.and_then(|given| given.server.clone());
        vec![model.into(), server.into()]
    }
}

/// What came of the runs of one chunk, in order.
type Chunk = Vec<Result<CellRows, RunError>>;

/// Runs one chunk after the other, until nobody takes what comes of them any more.
fn run_ahead(
    chunks: impl Iterator<Item = Range<u64>>,
    run: &(impl Fn(Range<u64>) -> Chunk + Sync),
    finished: &SyncSender<Chunk>,
) {
    for chunk in chunks {
        if finished.send(run(chunk)).is_err() {
            break;
        }
    }
}

/// Which runs, by their numbers among all runs of the experiment.
struct Runs(Vec<Range<u64>>);

impl Runs {
    fn count(&self) -> u64 {
        let lengths = self.0.iter().map(|range| range.end - range.start);
        lengths.sum()
    }

    /// The ranges in pieces of at most `length` runs.
    fn chunks(&self, length: u64) -> impl Iterator<Item = Range<u64>> + Send {
        let length = length.max(1);
        self.0.iter().flat_map(move |range| {
            let pieces = (range.end - range.start).div_ceil(length);
            let (start, end) = (range.start, range.end);
            (0..pieces).map(move |piece| {
                let from = start + piece * length;
                from..from.saturating_add(length).min(end)
            })
        })
    }
}

/// The columns that cells have on the real clock, before what is measured.
pub(super) fn machine_columns() -> impl Iterator<Item = Column> {
    let samples = ["sample", "n"].map(|name| Column::new(name, Kind::Count));
    samples.into_iter().chain(Host::columns())
}

/// One run of a cell.
struct Run {
    cell: Cell,
    /// Its number among the runs of the cell, from 1.
    sample: u64,
}

fn named(columns: Vec<(&'static str, Kind)>) -> Vec<Column> {
    let columns = columns.into_iter();
    columns
        .map(|(name, kind)| Column::new(name, kind))
        .collect()
}
