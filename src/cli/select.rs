//! Which experiments a verb is about, and the laboratory that it works in.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::endpoint;
use super::environment::{BASE_URL, MODEL};
use super::exit::Failure;
use crate::clock::ClockKind;
use crate::experiment::{Experiment, Experiments};

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
    /// How many cells to run at a time, 256 at most [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

impl Jobs {
    pub(super) fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(cores, usize::from)
    }
}

/// Experiments that were read, and which of them are meant.
pub(super) struct Selected {
    experiments: Experiments,
    only: Vec<String>,
    real: bool,
    named: bool,
    /// Nobody named a real model.
    without_endpoint: bool,
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
        if experiments.is_empty() {
            let message = "no experiment there: name a `.toml` file, or a folder that has some";
            return Err(Failure::WrongInput(message.to_owned()));
        }
        // A file that was named is meant, whatever clock it uses; a folder is not that specific.
        let named = !self.paths.is_empty() && self.paths.iter().all(|path| path.is_file());
        Ok(Selected {
            experiments,
            only: self.only.clone(),
            real: false,
            named,
            without_endpoint: false,
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

    /// Gives the experiments that ask a real model the one that the environment names. Without
    /// one, those are skipped unless they were asked for by name.
    pub(super) fn give_endpoint(&mut self) -> Result<(), Failure> {
        let asked: Vec<String> = self
            .iter()
            .filter(|experiment| experiment.needs_endpoint() && !self.skips(experiment))
            .map(|experiment| experiment.name().to_owned())
            .collect();
        let Some(first) = asked.first() else {
            return Ok(());
        };
        match endpoint::from_environment()? {
            Some(endpoint) => self.experiments.give_endpoint(&endpoint),
            None if self.is_specific() => {
                return Err(Failure::WrongInput(format!(
                    "{first} asks a real model: set {BASE_URL} to where one is, such as \
                     http://127.0.0.1:8080/v1, and {MODEL} to its name there"
                )));
            }
            None => self.without_endpoint = true,
        }
        Ok(())
    }

    /// Gives those that ask a real model the one that the environment names, if it names one.
    pub(super) fn give_endpoint_if_set(&mut self) -> Result<(), Failure> {
        if let Some(endpoint) = endpoint::from_environment()? {
            self.experiments.give_endpoint(&endpoint);
        }
        Ok(())
    }

    /// Whether an experiment is only run when asked for, and was not, or lacks its endpoint.
    pub(super) fn skips(&self, experiment: &Experiment) -> bool {
        let lacks = self.without_endpoint && experiment.needs_endpoint();
        match experiment.clock() {
            ClockKind::Virtual => lacks,
            ClockKind::Real => lacks || !self.real && !self.is_specific(),
        }
    }

    /// Whether single experiments were named.
    pub(super) fn is_specific(&self) -> bool {
        self.named || !self.only.is_empty()
    }

    /// The names of all experiments that were read.
    pub(super) fn names(&self) -> Vec<&str> {
        self.experiments.names()
    }
}
