//! `loopmeter check`: are the committed results still true?

mod export;
mod github;
mod json;
mod junit;
mod markdown;
mod text;
mod update;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::export::Export;
use super::endpoint;
use super::exit::{Exit, Failure};
use super::output;
use super::progress::Progress;
use super::select::{Jobs, Selected, Selection};
use super::signals::Interrupt;
use crate::experiment::{Experiment, Host};
use crate::lab::gate::{Examined, Gate};
use crate::lab::series::{Series, series_of};
use crate::lab::{CELLS, Check, Lab, LabError, Timed, check};
use crate::report::plot;

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter check                          # everything, against results/
  loopmeter check --only turn-cap
  loopmeter check my/experiment.toml --against my/results
  loopmeter check --format github          # annotations on the lines of the experiments
  loopmeter check --export junit=junit.xml --export bmf=bencher.json
  loopmeter check --only cancel-real       # measured again, and compared with what was measured
  loopmeter check --only turn-cap --update # what differs is right: accept it";

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
    /// How the report is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Also write the report, or what was measured, into a file; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", long_help = export::HELP)]
    export: Vec<Export>,
    /// Accept what differs: rows, tables, inputs and digests of the experiments that were named
    #[arg(long, conflicts_with_all = ["format", "export"])]
    update: bool,
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For a comment on a change.
    Markdown,
    /// For programs.
    Json,
    /// For services that show tests.
    Junit,
    /// Annotations, as GitHub Actions reads them.
    Github,
}

impl Format {
    fn render(self, gate: &Gate) -> String {
        match self {
            Self::Text => text::render(gate),
            Self::Markdown => markdown::render(gate),
            Self::Json => output::json(&json::render(gate)),
            Self::Junit => junit::render(gate),
            Self::Github => github::render(gate),
        }
    }
}

/// What a check works with.
struct Checking<'a> {
    args: &'a CheckArgs,
    host: Host,
    interrupt: Interrupt,
    progress: Progress,
}

/// Does what `args` ask for.
pub(super) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut selected = args.selection.load()?;
    let has_endpoint = endpoint::from_environment()?.is_some();
    if has_endpoint {
        selected.give_endpoint()?;
    }
    if args.update {
        update::must_be_named(&selected)?;
    }
    let mut checking = Checking {
        args,
        host: Host::here(),
        interrupt: Interrupt::listen(),
        progress: Progress::new(),
    };
    let (mut gate, mut series) = (Gate::default(), Vec::new());
    for experiment in selected.iter() {
        let is_made = args.against.join(experiment.name()).exists();
        if selected.skips(experiment) && !is_made && !is_published(experiment) {
            gate.skipped.push(experiment.name().to_owned());
            continue;
        }
        let lacks = experiment.needs_endpoint() && !has_endpoint;
        let timed = timed(&selected, experiment, lacks);
        let Some(checked) = checking.check(experiment, timed)? else {
            return Ok(Exit::Stopped);
        };
        if args.wants_series() {
            series.extend(checked.rows.iter().flat_map(|rows| {
                let rows = &rows.cells;
                series_of(experiment, rows)
            }));
        }
        gate.experiments.push(Examined::of(experiment, &checked));
        if args.update {
            checking.accept(experiment, &checked, &gate)?;
        }
    }
    if args.update {
        return Ok(update::exit(&gate));
    }
    if args.selection.is_everything() {
        gate.strays = strays(&args.against, &selected.names());
    }
    args.tell(&gate, &series)
}

/// Whether somebody can miss results that `run` does not make unless asked: numbers of them are
/// published. What a real model answers is there where somebody has one.
fn is_published(experiment: &Experiment) -> bool {
    !experiment.readout().claims.is_empty() && !experiment.needs_endpoint()
}

/// What becomes of an experiment on the real clock: one that was named, or all with `--real`, is
/// measured again, unless it `lacks` the model that it asks.
fn timed(selected: &Selected, experiment: &Experiment, lacks: bool) -> Timed {
    if lacks || selected.skips(experiment) {
        Timed::Held
    } else {
        Timed::Again
    }
}

impl CheckArgs {
    fn wants_series(&self) -> bool {
        self.export.iter().any(Export::is_of_series)
    }

    /// Writes what was asked for into files, and prints the report.
    fn tell(&self, gate: &Gate, series: &[Series]) -> Result<Exit, Failure> {
        for export in &self.export {
            export.write(gate, series)?;
        }
        output::line(self.format.render(gate).trim_end_matches('\n'))?;
        Ok(if gate.holds() {
            Exit::Fine
        } else {
            Exit::DoesNotHold
        })
    }
}

impl Checking<'_> {
    /// Checks one experiment; nothing if somebody stopped it.
    fn check(&mut self, experiment: &Experiment, timed: Timed) -> Result<Option<Check>, Failure> {
        let progress = &self.progress;
        let interrupt = &self.interrupt;
        let mut show = |experiment: &Experiment, done| progress.show(experiment, done);
        let mut lab = Lab {
            results: &self.args.against,
            jobs: self.args.jobs.count(),
            host: &self.host,
            progress: &mut show,
            draw: &plot::committed,
            stop: &|| interrupt.is_requested(),
        };
        let checked = check(experiment, &mut lab, timed);
        self.progress.clear();
        match checked {
            Err(LabError::Stopped { .. }) => Ok(None),
            Err(error) => Err(Failure::could_not_do(&error)),
            Ok(checked) => Ok(Some(checked)),
        }
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
