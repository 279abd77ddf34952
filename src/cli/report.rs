//! `loopmeter report`: everything that was measured on one page for each language.

use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::readers::{Readers, for_each};
use super::rows::Rows;
use super::select::Which;
use super::signals::Interrupt;
use crate::files::write_file;
use crate::report::Report;

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter report                                # in English: results/report/en.html
  loopmeter report --locale uk --out uk.html      # in Ukrainian, into a file of its own
  loopmeter report --locale all                   # one page for each language
  loopmeter report mine.toml --results mine       # of experiments of one's own";

/// `loopmeter report`.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    readers: Readers,
    /// The folder for the pages, one file per language; or, if it ends in `.html`, the one page
    #[arg(long, value_name = "PATH", default_value = "results/report")]
    out: PathBuf,
    /// The folder of the results, as `loopmeter run` writes them
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// Does what `args` ask for.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let tags = args.readers.tags()?;
    if args.is_one_file() && tags.len() > 1 {
        let several = counted(u64::try_from(tags.len()).unwrap_or(u64::MAX), "language");
        return Err(Failure::WrongInput(format!(
            "--out {}: one file for {several}; name a folder",
            args.out.display()
        )));
    }
    let selected = args.which.load()?;
    let measured = Rows::of(&selected, &args.results, |_| true)?;
    if measured.rows.is_empty() {
        measured.tell_of_others()?;
        let message = "there is nothing to report: no experiment that is meant has rows yet";
        return Err(Failure::WrongInput(message.to_owned()));
    }
    let rows = measured
        .rows
        .iter()
        .map(|(experiment, rows)| (*experiment, rows));
    let report = Report::of(rows).map_err(|error| Failure::could_not_do(&error))?;
    for_each(&tags, |tag, interrupt| args.write(tag, &report, interrupt))?;
    let (pages, parts) = (tags.len(), measured.rows.len());
    output::line(format_args!(
        "{} of {}: {}",
        counted(u64::try_from(pages).unwrap_or(u64::MAX), "page"),
        counted(u64::try_from(parts).unwrap_or(u64::MAX), "experiment"),
        args.told(&tags).display()
    ))?;
    measured.tell_of_others()?;
    Ok(Exit::Fine)
}

impl ReportArgs {
    fn write(&self, tag: &str, report: &Report<'_>, interrupt: &Interrupt) -> Result<(), Failure> {
        interrupt.go_on()?;
        let page = report.page(&self.readers.locale(tag)?);
        let page = page.map_err(|error| Failure::could_not_do(&error))?;
        write_file(&self.file(tag), page.as_bytes())
            .map_err(|error| Failure::could_not_do(&error))?;
        Ok(())
    }

    /// Whether a file is named and no folder.
    fn is_one_file(&self) -> bool {
        let ending = self.out.extension();
        ending.is_some_and(|ending| ending.eq_ignore_ascii_case("html")) && !self.out.is_dir()
    }

    fn file(&self, tag: &str) -> PathBuf {
        if self.is_one_file() {
            self.out.clone()
        } else {
            self.out.join(format!("{tag}.html"))
        }
    }

    /// Where to look: the page if there is one, the folder if there are several.
    fn told(&self, tags: &[&str]) -> PathBuf {
        match tags {
            [tag] => self.file(tag),
            _ => Path::new(&self.out).to_owned(),
        }
    }
}
