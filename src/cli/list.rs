//! `loopmeter list`: what there is to choose from.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::output;
use super::prices::{self, Listed};
use crate::clock::ClockKind;
use crate::experiment::Experiments;
use crate::pricing::Day;
use crate::report::Locale;
use crate::scenario::{AnyScenario, Scenario, builtin_names};

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter list experiments                       # what `run` would run
  loopmeter list prices gpt-5                      # every model with that in its name
  loopmeter list prices openai/o3 --at 2025-06-01  # as it was billed on a day
  loopmeter list prices claude --json              # pico-dollars per token, for programs";

/// `loopmeter list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// What to list
    what: What,
    /// Experiment files or folders, for `experiments`; a part of a name, for `prices`
    #[arg(value_name = "PATH|PATTERN")]
    paths: Vec<PathBuf>,
    /// The prices of that day [default: the day on which the table was read]
    #[arg(long, value_name = "YYYY-MM-DD")]
    at: Option<Day>,
    /// Print prices as JSON, in pico-dollars per token
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Experiments: name, cells, claims, title
    Experiments,
    /// Scenarios of the scripted model: name, title
    Scenarios,
    /// Languages of tables, plots and pages: tag, name
    Locales,
    /// Prices of models in US dollars per million tokens, with source and date
    Prices,
}

/// Does what `args` ask for.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    if args.what != What::Prices && (args.at.is_some() || args.json) {
        let message = "--at and --json are for `list prices`".to_owned();
        return Err(Failure::WrongInput(message));
    }
    match args.what {
        What::Experiments => experiments(&args.paths)?,
        What::Scenarios => scenarios()?,
        What::Locales => locales()?,
        What::Prices => return list_prices(args),
    }
    Ok(Exit::Fine)
}

fn experiments(paths: &[PathBuf]) -> Result<(), Failure> {
    for experiment in &Experiments::load(paths)? {
        let clock = match experiment.clock() {
            ClockKind::Virtual => "",
            ClockKind::Real => " (real clock)",
        };
        let (name, title) = (experiment.name(), experiment.title());
        let cells = experiment.sweep().len();
        let claims = experiment.readout().claims.len();
        output::line(format_args!(
            "{name:<24} {cells:>6} cells {claims:>3} claims  {title}{clock}"
        ))?;
    }
    Ok(())
}

fn scenarios() -> Result<(), Failure> {
    let folder = Path::new("experiments");
    for name in builtin_names() {
        let scenario = Scenario::load(name, folder)?;
        output::line(format_args!("{name:<24} {}", scenario.title()))?;
    }
    for any in AnyScenario::ALL {
        let (name, title) = (any.as_str(), any.title());
        output::line(format_args!("{name:<24} {title} (serve, meter, probe)"))?;
    }
    Ok(())
}

fn locales() -> Result<(), Failure> {
    for tag in Locale::tags() {
        let locale = Locale::load(tag).map_err(|error| Failure::could_not_do(&error))?;
        output::line(format_args!("{tag:<8} {}", locale.name()))?;
    }
    Ok(())
}

fn list_prices(args: &ListArgs) -> Result<Exit, Failure> {
    let pattern = match args.paths.as_slice() {
        [] => None,
        [pattern] => Some(pattern.to_string_lossy()),
        _ => {
            let message = "one pattern at a time: a part of a model's name".to_owned();
            return Err(Failure::WrongInput(message));
        }
    };
    prices::list(&Listed {
        pattern: pattern.as_deref(),
        at: args.at,
        json: args.json,
    })
}
