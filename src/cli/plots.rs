//! `loopmeter plots`: the committed rows as pictures, in the languages of the readers.

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::readers::{Readers, for_each};
use super::rows::Rows;
use super::select::Which;
use super::signals::Interrupt;
use crate::files::write_file;
use crate::report::plot::{ExperimentPlot, PlotFormat};

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter plots                                # in English, into results/plots/en/
  loopmeter plots --locale uk el --format png    # in Ukrainian and Greek, as PNG
  loopmeter plots --locale all                   # in every language
  loopmeter plots --locale ar --digits native --only turn-cap";

/// `loopmeter plots`.
#[derive(Debug, Args)]
pub(super) struct PlotsArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    readers: Readers,
    /// How the plots are written
    #[arg(long, value_enum, default_value_t)]
    format: PlotFormat,
    /// The folder for the plots, one folder per language
    #[arg(long, value_name = "DIR", default_value = "results/plots")]
    out: PathBuf,
    /// The folder of the results, as `loopmeter run` writes them
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// Does what `args` ask for.
pub(super) fn run(args: &PlotsArgs) -> Result<Exit, Failure> {
    let tags = args.readers.tags()?;
    let selected = args.which.load()?;
    let asks = |experiment: &crate::experiment::Experiment| experiment.readout().plot.is_some();
    let measured = Rows::of(&selected, &args.results, asks)?;
    let mut plots = Vec::new();
    for (experiment, rows) in &measured.rows {
        let plot = ExperimentPlot::of(experiment, rows).map_err(|error| {
            let name = experiment.name();
            Failure::CouldNotDo(format!("{name}: {error}"))
        })?;
        plots.extend(plot);
    }
    for_each(&tags, |tag, interrupt| args.write(tag, &plots, interrupt))?;
    let files = tags.len().saturating_mul(plots.len());
    output::line(format_args!(
        "{} in {}; files in {}",
        counted(u64::try_from(files).unwrap_or(u64::MAX), "plot"),
        counted(u64::try_from(tags.len()).unwrap_or(u64::MAX), "language"),
        args.out.display()
    ))?;
    measured.tell_of_others()?;
    Ok(Exit::Fine)
}

impl PlotsArgs {
    fn write(
        &self,
        tag: &str,
        plots: &[ExperimentPlot<'_>],
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let locale = self.readers.locale(tag)?;
        let folder = self.out.join(tag);
        for plot in plots {
            interrupt.go_on()?;
            let bytes = plot.write(&locale, self.format);
            let bytes = bytes.map_err(|error| Failure::could_not_do(&error))?;
            let name = format!("{}.{}", plot.experiment().name(), self.format.extension());
            write_file(&folder.join(name), &bytes)
                .map_err(|error| Failure::could_not_do(&error))?;
        }
        Ok(())
    }
}
