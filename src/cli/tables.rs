//! `loopmeter tables`: the committed rows as tables, in the languages of the readers.

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::readers::{Readers, for_each};
use super::rows::Rows;
use super::select::Which;
use super::signals::Interrupt;
use crate::files::write_file;
use crate::report::{ExperimentTable, Format};

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter tables                                     # in English, into results/tables/en/
  loopmeter tables --locale uk el                      # in Ukrainian and Greek
  loopmeter tables --locale all --format html          # in every language, as HTML
  loopmeter tables --locale ar --digits native --only turn-cap";

/// `loopmeter tables`.
#[derive(Debug, Args)]
pub(super) struct TablesArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    readers: Readers,
    /// How the tables are written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The folder for the tables, one folder per language
    #[arg(long, value_name = "DIR", default_value = "results/tables")]
    out: PathBuf,
    /// The folder of the results, as `loopmeter run` writes them
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// Does what `args` ask for.
pub(super) fn run(args: &TablesArgs) -> Result<Exit, Failure> {
    let tags = args.readers.tags()?;
    let selected = args.which.load()?;
    let mut tables = Vec::new();
    let measured = Rows::of(&selected, &args.results, |_| true)?;
    for (experiment, rows) in &measured.rows {
        let table = ExperimentTable::of(experiment, rows);
        tables.extend(table.map_err(|error| Failure::could_not_do(&error))?);
    }
    for_each(&tags, |tag, interrupt| args.write(tag, &tables, interrupt))?;
    let files = tags.len().saturating_mul(tables.len());
    output::line(format_args!(
        "{} in {}; files in {}",
        counted(u64::try_from(files).unwrap_or(u64::MAX), "table"),
        counted(u64::try_from(tags.len()).unwrap_or(u64::MAX), "language"),
        args.out.display()
    ))?;
    measured.tell_of_others()?;
    Ok(Exit::Fine)
}

impl TablesArgs {
    fn write(
        &self,
        tag: &str,
        tables: &[ExperimentTable<'_>],
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let locale = self.readers.locale(tag)?;
        let folder = self.out.join(tag);
        for table in tables {
            interrupt.go_on()?;
            let text = table.write(&locale, self.format);
            let text = text.map_err(|error| Failure::could_not_do(&error))?;
            let name = format!("{}.{}", table.experiment().name(), self.format.extension());
            write_file(&folder.join(name), text.as_bytes())
                .map_err(|error| Failure::could_not_do(&error))?;
        }
        Ok(())
    }
}
