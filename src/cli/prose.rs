//! `loopmeter prose`: is every number of a translation the right one?

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::output;
use crate::document::Document;
use crate::experiment::Experiments;
use crate::report::prose::{Constants, Edition, Ledger, Locale, Report, check, read_text};

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter prose --locale el chapter.el.txt                             # every number, and what it is
  loopmeter prose --locale uk --quiet part1.md part2.md                  # only what is wrong
  loopmeter prose --locale uk chapter.uk.txt --reference chapter.el.txt  # and what differs from an edition already checked

Exit code 1: a number contradicts a claim or a table, or, without --lenient, nothing covers it.";

/// Where the declared constants are looked for if nobody says.
const CONSTANTS: &str = "experiments/prose/constants.toml";

/// `loopmeter prose`.
#[derive(Debug, Args)]
pub(super) struct ProseArgs {
    /// The files of one translation, in order: text, Markdown or HTML in UTF-8
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The language of the translation, such as uk or pt-BR
    #[arg(long, value_name = "TAG", value_parser = locale)]
    locale: Locale,
    /// An edition already checked, in any language; the numbers must stand in nearly its order
    #[arg(long, value_name = "EDITION")]
    reference: Option<PathBuf>,
    /// A number that nothing covers is no failure
    #[arg(long)]
    lenient: bool,
    /// How to say it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The folder of results, whose tables may be quoted too
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// The declared constants [default: ./experiments/prose/constants.toml, or the embedded ones]
    #[arg(long, value_name = "FILE")]
    constants: Option<PathBuf>,
    /// Print only what is wrong, and the summary
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for people
    Text,
    /// One object: `locale`, `files`, `tally`, `asides`, `numbers`, `claims`
    Json,
    /// Annotations for GitHub Actions
    Github,
}

fn locale(tag: &str) -> Result<Locale, String> {
    Locale::parse(tag).ok_or_else(|| "write it as uk or zh-Hans".to_owned())
}

/// Does what `args` ask for.
pub(super) fn run(args: &ProseArgs) -> Result<Exit, Failure> {
    let texts = texts(args)?;
    let mut ledger = Ledger::new(
        &Experiments::load(&[])?,
        &constants(args.constants.as_deref())?,
    )
    .map_err(|error| Failure::wrong_input(&error))?;
    ledger
        .add_results(&args.results)
        .map_err(|error| Failure::wrong_input(&error))?;
    let mut edition = Edition::default();
    for (name, text) in &texts.files {
        edition.add(name, text, &args.locale, &ledger);
    }
    let reference = texts
        .reference
        .map(|(name, text)| reference(&name, &text, args, &ledger))
        .transpose()?;
    let report = check(edition, reference.as_ref(), &ledger)
        .map_err(|error| Failure::wrong_input(&error))?;
    print(&report, args)?;
    let tally = report.tally();
    let holds = tally.contradictions == 0 && (args.lenient || tally.uncovered == 0);
    Ok(if holds { Exit::Fine } else { Exit::DoesNotHold })
}

/// The texts that were asked for, by the names of their files.
struct Texts {
    files: Vec<(String, String)>,
    reference: Option<(String, String)>,
}

/// Reads all files before anything is said about one.
fn texts(args: &ProseArgs) -> Result<Texts, Failure> {
    let mut wrong = Vec::new();
    let mut read = |path: &PathBuf| match read_text(path) {
        Ok(text) => Some((path.display().to_string(), text)),
        Err(error) => {
            wrong.push(error.to_string());
            None
        }
    };
    let files = args.files.iter().filter_map(&mut read).collect();
    let reference = args.reference.as_ref().and_then(&mut read);
    if wrong.is_empty() {
        Ok(Texts { files, reference })
    } else {
        Err(Failure::WrongInput(wrong.join("\nerror: ")))
    }
}

fn constants(named: Option<&Path>) -> Result<Constants, Failure> {
    let usual = Path::new(CONSTANTS);
    match named.or_else(|| usual.is_file().then_some(usual)) {
        Some(path) => Ok(Constants::from_document(&Document::read(path)?)?),
        None => Ok(Constants::embedded()?),
    }
}

/// The reference, with a note if it is not as checked as it should be.
fn reference(
    name: &str,
    text: &str,
    args: &ProseArgs,
    ledger: &Ledger,
) -> Result<Edition, Failure> {
    let mut reference = Edition::default();
    reference.add(name, text, &args.locale, ledger);
    if reference.numbers.is_empty() {
        return Err(Failure::WrongInput(format!(
            "{name}: there is no number in it, so it cannot be a reference; is it the right file?"
        )));
    }
    let wrong = reference
        .numbers
        .iter()
        .filter(|number| !number.is_fine())
        .count();
    if wrong > 0 {
        output::note(format_args!(
            "note: {name}: {wrong} numbers of the reference are themselves not covered; check it first"
        ));
    }
    Ok(reference)
}

fn print(report: &Report, args: &ProseArgs) -> Result<(), Failure> {
    if args.format == Format::Json {
        return output::line(output::json(&format!(
            "{:#}",
            report.to_json(args.locale.tag())
        )));
    }
    for number in &report.edition.numbers {
        match args.format {
            Format::Github => {
                if let Some(annotation) = report.annotation(number, args.lenient) {
                    output::line(annotation)?;
                }
            }
            Format::Text | Format::Json => {
                if !args.quiet || !number.is_fine() {
                    output::line(report.line(number))?;
                }
            }
        }
    }
    output::line(report.summary())
}
