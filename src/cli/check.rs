//! `loopmeter check`: are the committed results still true?

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::progress::Progress;
use super::select::{Jobs, Selection};
use super::signals::Interrupt;
use crate::experiment::{Experiment, Host};
use crate::lab::{CELLS, Lab, LabError, check};
use crate::report::plot;

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter check                          # everything, against results/
  loopmeter check --only turn-cap
  loopmeter check my/experiment.toml --against my/results";

/// `loopmeter check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    selection: Selection,
    /// The folder of the committed results
    #[arg(long, value_name = "DIR", default_value = "results")]
    against: PathBuf,
    #[command(flatten)]
    jobs: Jobs,
}

/// Does what `args` ask for.
pub(super) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let selected = args.selection.load()?;
    let host = Host::here();
    let interrupt = Interrupt::listen();
    let progress = Progress::new();
    let (mut experiments, mut claims, mut findings) = (0_u64, 0_u64, 0_u64);
    let mut skipped = Vec::new();
    for experiment in selected.iter() {
        // What `run` does not make unless asked is nothing to miss where nobody asked for it.
        if selected.skips(experiment) && !args.against.join(experiment.name()).exists() {
            skipped.push(experiment.name());
            continue;
        }
        let mut show = |experiment: &Experiment, done| progress.show(experiment, done);
        let mut lab = Lab {
            results: &args.against,
            jobs: args.jobs.count(),
            host: &host,
            progress: &mut show,
            draw: &plot::committed,
            stop: &|| interrupt.is_requested(),
        };
        let checked = check(experiment, &mut lab);
        progress.clear();
        let checked = match checked {
            Err(LabError::Stopped { .. }) => return Ok(Exit::Stopped),
            Err(error) => return Err(Failure::could_not_do(&error)),
            Ok(checked) => checked,
        };
        experiments += 1;
        claims += checked.claims as u64;
        findings += checked.findings.len() as u64;
        for finding in &checked.findings {
            output::line(format_args!("{}: {finding}", experiment.name()))?;
        }
    }
    if args.selection.is_everything() {
        for stray in strays(&args.against, &selected.names()) {
            findings += 1;
            output::line(format_args!(
                "{stray}: results of no experiment; remove the folder"
            ))?;
        }
    }
    output::line(format_args!(
        "{}, {}: {}",
        counted(experiments, "experiment"),
        counted(claims, "claim"),
        verdict(findings)
    ))?;
    if !skipped.is_empty() {
        output::line(format_args!(
            "without results, as they are only made when asked for: {}",
            skipped.join(", ")
        ))?;
    }
    Ok(if findings == 0 {
        Exit::Fine
    } else {
        Exit::DoesNotHold
    })
}

fn verdict(findings: u64) -> String {
    match findings {
        0 => "all as committed".to_owned(),
        1 => "1 thing differs".to_owned(),
        more => format!("{more} things differ"),
    }
}

/// Folders of results that no experiment makes.
fn strays(results: &Path, names: &[&str]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(results) else {
        return Vec::new();
    };
    let folders = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join(CELLS).exists());
    let folders = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let mut strays: Vec<_> = folders
        .filter(|name| !names.contains(&name.as_str()))
        .collect();
    strays.sort();
    strays
}
