//! `loopmeter list`: what there is to choose from.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::output;
use crate::clock::ClockKind;
use crate::experiment::Experiments;
use crate::pricing::PriceList;
use crate::report::Locale;
use crate::scenario::{AnyScenario, Scenario, builtin_names};

/// `loopmeter list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// What to list
    what: What,
    /// Experiment files or folders, for `experiments`
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Experiments: name, cells, claims, title
    Experiments,
    /// Scenarios of the scripted model: name, title
    Scenarios,
    /// Languages of tables, plots and pages: tag, name
    Locales,
    /// Prices in US dollars per million tokens, with source and date
    Prices,
}

/// Does what `args` ask for.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    match args.what {
        What::Experiments => experiments(&args.paths)?,
        What::Scenarios => scenarios()?,
        What::Locales => locales()?,
        What::Prices => prices()?,
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

fn prices() -> Result<(), Failure> {
    for price in PriceList::builtin()?.all() {
        let million = |per_token: crate::money::PicoUsd| per_token * 1_000_000;
        output::line(format_args!(
            "{:<24} ${} in, ${} out per million tokens  {} ({})",
            price.name,
            million(price.rates.input),
            million(price.rates.output),
            price.source,
            price.date
        ))?;
    }
    Ok(())
}
