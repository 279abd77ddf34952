//! `loopmeter tables`: the committed rows as tables, in the languages of the readers.

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::select::Which;
use crate::experiment::Experiment;
use crate::files::write_file;
use crate::lab::{CELLS, Measured};
use crate::report::{Digits, ExperimentTable, Format, Locale, NumberStyle};

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter tables                                     # in English, into results/tables/en/
  loopmeter tables --locale uk el                      # in Ukrainian and Greek
  loopmeter tables --locale all --format html          # in every language, as HTML
  loopmeter tables --locale ar --digits native --only turn-cap";

/// The locale that stands for all of them.
const ALL: &str = "all";

/// `loopmeter tables`.
#[derive(Debug, Args)]
pub(super) struct TablesArgs {
    #[command(flatten)]
    which: Which,
    /// The languages, as `loopmeter list locales` names them, or `all`
    #[arg(long, value_name = "TAG", num_args = 1.., value_delimiter = ',', default_value = "en")]
    locale: Vec<String>,
    /// How the tables are written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Whose rules numbers follow
    #[arg(long, value_enum, default_value_t)]
    numbers: NumberStyle,
    /// Which digits numbers have
    #[arg(long, value_enum, default_value_t)]
    digits: Digits,
    /// The folder for the tables, one folder per language
    #[arg(long, value_name = "DIR", default_value = "results/tables")]
    out: PathBuf,
    /// The folder of the results, as `loopmeter run` writes them
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// Does what `args` ask for.
pub(super) fn run(args: &TablesArgs) -> Result<Exit, Failure> {
    let tags = args.tags()?;
    let selected = args.which.load()?;
    let mut tables = Vec::new();
    let mut without_rows = Vec::new();
    for experiment in selected.iter() {
        // What was not asked for and runs only when asked for need not have run.
        if selected.skips(experiment) && !has_rows(experiment, &args.results) {
            without_rows.push(experiment.name());
            continue;
        }
        let rows = read(experiment, &args.results)?;
        let table = ExperimentTable::of(experiment, &rows);
        tables.extend(table.map_err(|error| Failure::could_not_do(&error))?);
    }
    // Writing waits for the disk, which takes many waiting writers at once: one per language.
    let writers = ThreadPoolBuilder::new().num_threads(tags.len()).build();
    let writers = writers.map_err(|error| Failure::could_not_do(&error))?;
    writers.install(|| {
        let done = tags.par_iter().map(|tag| args.write(tag, &tables));
        done.collect::<Result<(), Failure>>()
    })?;
    let files = tags.len().saturating_mul(tables.len());
    output::line(format_args!(
        "{} in {}; files in {}",
        counted(u64::try_from(files).unwrap_or(u64::MAX), "table"),
        counted(u64::try_from(tags.len()).unwrap_or(u64::MAX), "language"),
        args.out.display()
    ))?;
    if !without_rows.is_empty() {
        output::line(format_args!(
            "skipped, without rows: {} (`loopmeter run --only NAME` makes them)",
            without_rows.join(", ")
        ))?;
    }
    Ok(Exit::Fine)
}

impl TablesArgs {
    /// The languages that are meant, each once.
    fn tags(&self) -> Result<Vec<&'static str>, Failure> {
        if self.locale.iter().any(|tag| tag == ALL) {
            return Ok(Locale::tags());
        }
        let found = self.locale.iter().map(|tag| Locale::find(tag));
        let mut tags = found
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Failure::wrong_input(&error))?;
        tags.sort_unstable();
        tags.dedup();
        Ok(tags)
    }

    fn write(&self, tag: &str, tables: &[ExperimentTable<'_>]) -> Result<(), Failure> {
        let locale = Locale::load(tag).map_err(|error| Failure::wrong_input(&error))?;
        let locale = locale.with_numbers(self.numbers, self.digits);
        let folder = self.out.join(tag);
        for table in tables {
            let text = table.write(&locale, self.format);
            let text = text.map_err(|error| Failure::could_not_do(&error))?;
            let name = format!("{}.{}", table.experiment().name(), self.format.extension());
            write_file(&folder.join(name), text.as_bytes())
                .map_err(|error| Failure::could_not_do(&error))?;
        }
        Ok(())
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
