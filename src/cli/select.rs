//! Which experiments a verb is about, and the laboratory that it works in.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use crate::clock::ClockKind;
use crate::document::{Problems, ReadError};
use crate::experiment::{Experiment, Experiments, LoadError};

/// Which experiments, and whether those on the real clock are meant.
#[derive(Debug, Args)]
pub(super) struct Selection {
    #[command(flatten)]
    which: Which,
    /// Also those on the real clock, which take as long as they take
    #[arg(long)]
    real: bool,
}

/// Which experiments.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// Experiment files, or folders of them [default: ./experiments, or the embedded ones]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only the experiment of this name; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// How many cells at a time.
#[derive(Debug, Args)]
pub(super) struct Jobs {
    /// How many cells to run at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl Jobs {
    pub(super) fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().ok();
        self.jobs.or_else(cores).map_or(1, NonZeroUsize::get)
    }
}

/// Experiments that were read, and which of them are meant.
pub(super) struct Selected {
    experiments: Experiments,
    only: Vec<String>,
    real: bool,
    named: bool,
}

impl Selection {
    /// Reads the experiments and finds those that are meant.
    pub(super) fn load(&self) -> Result<Selected, Failure> {
        let selected = self.which.load()?;
        Ok(Selected {
            real: self.real,
            ..selected
        })
    }

    /// Whether everything in the default place is meant.
    pub(super) fn is_everything(&self) -> bool {
        self.which.paths.is_empty() && self.which.only.is_empty()
    }
}

impl Which {
    /// Reads the experiments and finds those that are meant.
    pub(super) fn load(&self) -> Result<Selected, Failure> {
        let experiments = Experiments::load(&self.paths)?;
        if let Some(unknown) = self
            .only
            .iter()
            .find(|name| experiments.get(name).is_none())
        {
            let names = experiments.names();
            let known = names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>();
            let help = crate::document::suggest(unknown, "experiments", &known).unwrap_or_default();
            return Err(Failure::WrongInput(format!(
                "no experiment {unknown:?}; {help}"
            )));
        }
        // A file that was named is meant, whatever clock it uses; a folder is not that specific.
        let named = !self.paths.is_empty() && self.paths.iter().all(|path| path.is_file());
        Ok(Selected {
            experiments,
            only: self.only.clone(),
            real: false,
            named,
        })
    }
}

impl Selected {
    /// The experiments that are meant, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Experiment> {
        let only = &self.only;
        let meant = |name: &str| only.is_empty() || only.iter().any(|named| named == name);
        self.experiments
            .iter()
            .filter(move |experiment| meant(experiment.name()))
    }

    /// Whether an experiment is only run when asked for, and was not.
    pub(super) fn skips(&self, experiment: &Experiment) -> bool {
        match experiment.clock() {
            ClockKind::Virtual => false,
            ClockKind::Real => !self.real && self.only.is_empty() && !self.named,
        }
    }

    /// The names of all experiments that were read.
    pub(super) fn names(&self) -> Vec<&str> {
        self.experiments.names()
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let problems = error.errors().iter().filter_map(|error| match error {
            ReadError::Invalid(problems) => Some(problems),
            _ => None,
        });
        let all: Vec<_> = problems.flat_map(Problems::iter).cloned().collect();
        match Problems::check(all) {
            Err(problems)
                if error
                    .errors()
                    .iter()
                    .all(|e| matches!(e, ReadError::Invalid(_))) =>
            {
                Self::Problems(problems)
            }
            _ => Self::WrongInput(error.to_string()),
        }
    }
}
