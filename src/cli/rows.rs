//! The committed rows of the experiments that a verb is about.

use std::path::Path;

use super::exit::Failure;
use super::output;
use super::select::Selected;
use crate::experiment::Experiment;
use crate::lab::{CELLS, Measured};

/// Experiments with their rows.
pub(super) struct Rows<'s> {
    /// Those that have some.
    pub(super) rows: Vec<(&'s Experiment, Measured)>,
    /// Those that run only when asked for, and did not yet.
    without: Vec<&'s str>,
}

impl<'s> Rows<'s> {
    /// Reads the rows in `results` of the experiments that are meant and of use.
    pub(super) fn of(
        selected: &'s Selected,
        results: &Path,
        is_of_use: impl Fn(&Experiment) -> bool,
    ) -> Result<Self, Failure> {
        let (mut rows, mut without) = (Vec::new(), Vec::new());
        for experiment in selected.iter().filter(|experiment| is_of_use(experiment)) {
            // What was not asked for and runs only when asked for need not have run.
            if selected.skips(experiment) && !has_rows(experiment, results) {
                without.push(experiment.name());
            } else {
                rows.push((experiment, read(experiment, results)?));
            }
        }
        Ok(Self { rows, without })
    }

    /// Names the experiments that were left out.
    pub(super) fn tell_of_others(&self) -> Result<(), Failure> {
        if self.without.is_empty() {
            return Ok(());
        }
        output::line(format_args!(
            "skipped, without rows: {} (`loopmeter run --only NAME` makes them)",
            self.without.join(", ")
        ))
    }
}

/// The rows of an experiment; without them there is a verb that makes them.
fn read(experiment: &Experiment, results: &Path) -> Result<Measured, Failure> {
    let folder = results.join(experiment.name());
    if !has_rows(experiment, results) {
        return Err(Failure::WrongInput(format!(
            "{}: there are no rows of {name}; `loopmeter run --only {name}` makes them",
            folder.display(),
            name = experiment.name()
        )));
    }
    Measured::read(experiment, &folder).map_err(|error| Failure::wrong_input(&error))
}

fn has_rows(experiment: &Experiment, results: &Path) -> bool {
    results.join(experiment.name()).join(CELLS).is_file()
}
