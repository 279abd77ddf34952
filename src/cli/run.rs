//! `loopmeter run`: experiments in; rows, tables and claims out.

use std::path::{Path, PathBuf};

use clap::Args;

use super::columnar::Columnar;
use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::progress::Progress;
use super::select::{Jobs, Selection};
use super::shard::{self, Part};
use super::signals::Interrupt;
use super::spending::{self, Spending};
use crate::experiment::{Experiment, Host};
use crate::lab::{Lab, Published, Reading, publish_within};
use crate::report::plot;
use crate::results::claims::Verdict;

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter run                                  # every experiment in virtual time, into results/
  loopmeter run --only turn-cap                  # one of them
  loopmeter run my/experiment.toml --out /tmp/x  # one of your own
  loopmeter run --only cancel-real               # one on the real clock
  loopmeter run --only local-model --dry-run     # what a real model would be paid, at most
  loopmeter run --only local-model --max-spend 2 # and no more than two dollars of it
  loopmeter run my/sweep.toml --shard 2/8        # one of eight parts; `loopmeter merge` joins them";

/// `loopmeter run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    /// The folder for the results, one folder per experiment
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    spending: Spending,
    /// Print the closing summary only, not the tables and claims
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    columnar: Columnar,
}

/// What was done, in numbers.
#[derive(Default)]
pub(super) struct Tally {
    experiments: u64,
    cells: u64,
    held: usize,
    broken: usize,
    external: usize,
    skipped: Vec<String>,
}

/// Does what `args` ask for.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let mut selected = args.selection.load()?;
    if args.spending.is_dry() {
        selected.give_endpoint_if_set()?;
        return args.spending.forecast(&selected, &args.out);
    }
    selected.give_endpoint()?;
    if let Some(shard) = args.part.shard(&selected)? {
        return shard::run(shard, &selected, (&args.out, args.jobs.count()));
    }
    let mut purse = args.spending.purse(&selected)?;
    let host = Host::here();
    let interrupt = Interrupt::listen();
    let progress = Progress::new();
    let mut tally = Tally::default();
    for experiment in selected.iter() {
        if selected.skips(experiment) {
            tally.skipped.push(experiment.name().to_owned());
            continue;
        }
        let mut show = |experiment: &Experiment, done| progress.show(experiment, done);
        let mut lab = Lab {
            results: &args.out,
            jobs: args.jobs.count(),
            host: &host,
            progress: &mut show,
            draw: &plot::committed,
            stop: &|| interrupt.is_requested(),
        };
        let published = publish_within(experiment, &mut lab, purse.as_mut());
        progress.clear();
        let published = match published {
            Ok(published) => published,
            Err(error) => {
                let partial = lab.partial_folder(experiment);
                let paid = purse.map(|purse| (purse, partial.as_path()));
                return spending::ended(&error, experiment.name(), paid);
            }
        };
        args.columnar.write(experiment, &args.out)?;
        tally.count(experiment, &published);
        if let (false, Some(reading)) = (args.quiet, &published.reading) {
            print(experiment, reading)?;
        }
    }
    let ended = tally.finish(&args.out)?;
    if let Some(purse) = purse {
        output::line(format_args!("spent {purse}"))?;
    }
    Ok(ended)
}

pub(super) fn print(experiment: &Experiment, reading: &Reading) -> Result<(), Failure> {
    output::line(format_args!(
        "# {} ({})\n",
        experiment.title(),
        experiment.name()
    ))?;
    if let Some(table) = &reading.table {
        output::line(&table.markdown)?;
    }
    for claim in &reading.claims {
        let mark = match &claim.verdict {
            Verdict::Held => "✓",
            Verdict::External => "·",
            Verdict::NotHeld | Verdict::Broken(_) => "✗",
        };
        output::line(format_args!("{mark} {claim}"))?;
    }
    if !reading.claims.is_empty() {
        output::line("")?;
    }
    Ok(())
}

impl Tally {
    pub(super) fn count(&mut self, experiment: &Experiment, published: &Published) {
        self.experiments += 1;
        self.cells += experiment.sweep().len();
        for claim in published.reading.iter().flat_map(|reading| &reading.claims) {
            match claim.verdict {
                Verdict::Held => self.held += 1,
                Verdict::External => self.external += 1,
                Verdict::NotHeld | Verdict::Broken(_) => self.broken += 1,
            }
        }
    }

    /// Prints the sum of it, and says whether all claims hold.
    pub(super) fn finish(&self, out: &Path) -> Result<Exit, Failure> {
        self.print(out)?;
        Ok(match self.broken {
            0 => Exit::Fine,
            _ => Exit::DoesNotHold,
        })
    }

    fn print(&self, out: &Path) -> Result<(), Failure> {
        let quoted = match self.external {
            0 => String::new(),
            some => format!(", {some} quoted"),
        };
        output::line(format_args!(
            "{}, {}; claims: {} hold, {} do not{quoted}; files in {}",
            counted(self.experiments, "experiment"),
            counted(self.cells, "cell"),
            self.held,
            self.broken,
            out.display()
        ))?;
        if !self.skipped.is_empty() {
            output::line(format_args!(
                "skipped, on the real clock or without an endpoint: {} (run them by --only NAME, or all \
                 with --real)",
                self.skipped.join(", ")
            ))?;
        }
        Ok(())
    }
}
