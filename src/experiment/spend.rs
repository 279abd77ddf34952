//! Runs an experiment within a sum of money: a run begins only if the most that it can cost fits
//! into what is left.
//!
//! Runs that go side by side are admitted together, the longest row of them whose worst bills fit
//! together. So the money that is left is never promised twice, and which runs are made does not
//! depend on how many go side by side: a run is refused only when all before it are paid.

use std::fmt;

use rayon::prelude::*;

use super::Experiment;
use super::execute::{CellRows, ExecuteError, Execution, RunError, Sink};
use super::forecast::{Missing, Rehearsal, Worst};
use super::live::Venue;
use crate::money::PicoUsd;

/// A sum that may be spent, and how much of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purse {
    bound: PicoUsd,
    spent: PicoUsd,
    /// What runs that were broken off can have cost at most; nobody saw their bill.
    broken_off: PicoUsd,
}

impl Purse {
    /// A purse with `bound` in it.
    #[must_use]
    pub const fn of(bound: PicoUsd) -> Self {
        Self {
            bound,
            spent: PicoUsd::ZERO,
            broken_off: PicoUsd::ZERO,
        }
    }

    /// What may be spent in all.
    #[must_use]
    pub const fn bound(&self) -> PicoUsd {
        self.bound
    }

    /// What is spent.
    #[must_use]
    pub const fn spent(&self) -> PicoUsd {
        self.spent
    }

    /// What is left; less than nothing where a run cost more than it could.
    #[must_use]
    pub fn left(&self) -> PicoUsd {
        self.bound - self.spent
    }

    /// How many of the next runs, from the first on, fit together at their worst.
    #[must_use]
    pub fn fitting(&self, worst: &[PicoUsd]) -> usize {
        let left = i128::from(self.left().pico());
        let sums = worst.iter().scan(0, |sum: &mut i128, worst| {
            *sum += i128::from(worst.pico());
            Some(*sum)
        });
        sums.take_while(|sum| *sum <= left).count()
    }

    /// Takes out what a run cost.
    pub fn pay(&mut self, cost: PicoUsd) {
        self.spent += cost;
    }

    /// Notes that a run was broken off that can have cost so much.
    fn break_off(&mut self, worst: PicoUsd) {
        self.broken_off += worst;
    }
}

/// What was spent of what: `$0.41 of $0.50, $0.09 left`.
impl fmt::Display for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spent, bound, left) = (self.spent, self.bound, self.left());
        if left < PicoUsd::ZERO {
            let over = PicoUsd::ZERO - left;
            write!(
                f,
                "${spent} of ${bound}, ${over} too much: more was billed than was foreseen"
            )
        } else {
            write!(f, "${spent} of ${bound}, ${left} left")?;
            match self.broken_off {
                PicoUsd::ZERO => Ok(()),
                worst => write!(f, ", and at most ${worst} more in flight"),
            }
        }
    }
}

/// A run that did not fit into what was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The purse as it was then.
    pub purse: Purse,
    /// The cell whose run did not fit.
    pub cell: String,
    /// What it could have cost.
    pub worst: PicoUsd,
    /// Runs whose rows were taken.
    pub done: u64,
    /// Runs that there are.
    pub all: u64,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            purse,
            cell,
            worst,
            done,
            all,
        } = self;
        write!(
            f,
            "after {done} of {all} runs: {purse}, and the next one (`{cell}`) can cost ${worst}"
        )
    }
}

impl Experiment {
    /// Runs its cells as [`Experiment::execute`] does, as far as the purse goes.
    ///
    /// # Errors
    /// [`ExecuteError::Spent`] where a run does not fit any more, [`ExecuteError::Unbounded`]
    /// where the most that it can cost is not known; the rows of all runs before have been taken.
    pub fn execute_within<E>(
        &self,
        purse: &mut Purse,
        execution: Execution<'_>,
        sink: Sink<'_, E>,
    ) -> Result<(), ExecuteError<E>> {
        let Execution {
            jobs,
            host,
            progress,
            stop,
        } = execution;
        let jobs = self.side_by_side(jobs, self.runs());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        let rehearsal = self.rehearsal(stop);
        let venue = Venue::prepare(self, stop)?;
        self.warm_up(&venue, host)?;
        let (all, chunk) = (self.runs(), self.chunk_length(jobs));
        let mut done = 0;
        while done < all {
            let end = done.saturating_add(chunk).min(all);
            let worst = pool.install(|| {
                let runs = (done..end).into_par_iter();
                runs.map(|run| self.worst(run, &rehearsal)).collect()
            });
            let worst: Vec<_> = self.bounded(done, worst)?;
            if stop() {
                return Err(ExecuteError::Stopped { done, all });
            }
            let fitting = u64::try_from(purse.fitting(&worst)).unwrap_or(u64::MAX);
            if fitting == 0 {
                let spent = self.spent(purse, (done, all), worst.first().copied())?;
                return Err(ExecuteError::Spent(Box::new(spent)));
            }
            let ran: Vec<Result<(CellRows, PicoUsd), RunError>> = pool.install(|| {
                let runs = (done..done + fitting).into_par_iter();
                runs.map(|run| self.run_billed(run, &venue, host)).collect()
            });
            let mut failed = None;
            for (ran, worst) in ran.into_iter().zip(worst) {
                match ran {
                    Ok((rows, cost)) => {
                        // What was paid for is kept, whatever became of the runs beside it.
                        purse.pay(cost);
                        sink(rows).map_err(ExecuteError::Sink)?;
                        done += 1;
                    }
                    Err(error) => {
                        purse.break_off(worst);
                        failed.get_or_insert(error);
                    }
                }
            }
            if stop() {
                return Err(ExecuteError::Stopped { done, all });
            }
            if let Some(error) = failed {
                return Err(error.into());
            }
            progress(done);
        }
        Ok(())
    }

    fn worst(&self, run: u64, rehearsal: &Rehearsal<'_>) -> Result<Worst, RunError> {
        Ok(rehearsal.forecast(self.cell_of(run))?.worst)
    }

    /// The worst bills of the runs from `first` on, which all have one.
    fn bounded<E>(
        &self,
        first: u64,
        worst: Vec<Result<Worst, RunError>>,
    ) -> Result<Vec<PicoUsd>, ExecuteError<E>> {
        let runs = (first..).zip(worst);
        let bounded = runs.map(|(run, worst)| match worst? {
            Worst::AtMost(most) => Ok(most),
            Worst::Unbounded(missing) => Err(self.unbounded(run, missing)?),
        });
        bounded.collect()
    }

    fn unbounded<E>(&self, run: u64, missing: Missing) -> Result<ExecuteError<E>, RunError> {
        let cell = self.sweep.cell(self.cell_of(run))?.id;
        Ok(ExecuteError::Unbounded { cell, missing })
    }

    fn spent(
        &self,
        purse: &Purse,
        (done, all): (u64, u64),
        worst: Option<PicoUsd>,
    ) -> Result<Spent, RunError> {
        Ok(Spent {
            purse: *purse,
            cell: self.sweep.cell(self.cell_of(done))?.id,
            worst: worst.unwrap_or(PicoUsd::ZERO),
            done,
            all,
        })
    }
}

#[cfg(test)]
mod tests;
