//! `loopmeter probe`: a report card of somebody's agent.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::exit::{Exit, Failure};
use super::meter::no_proxy;
use super::output;
use super::prices::price;
use super::signals::interrupted;
use crate::clock::Signal;
use crate::pricing::CHAPTER_PRICE;
use crate::probe::{
    Check, Failing, Options, ProbeError, ProbeRow, Progress, Report, Requirement, RequirementError,
    Ruling, to_json, to_markdown, to_text,
};
use crate::results::{CsvFile, WriteError};
use crate::scenario::{GivenCalls, parse_limit};

/// `loopmeter probe`.
#[derive(Debug, Args)]
pub(super) struct ProbeArgs {
    /// What must hold, such as `stops,max-cost=0.05,told-why`; see below for all of them
    #[arg(long, value_name = "REQUIREMENT", value_delimiter = ',')]
    require: Vec<String>,
    /// The form of the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Run these checks and no others, in the order of the battery
    #[arg(long, value_enum, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<Check>,
    /// How long each check may take before the command is ended
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_limit)]
    timeout_per_check: Duration,
    /// How long all checks together may take; no check begins after that
    #[arg(long, value_name = "TIME", default_value = "900s", value_parser = parse_limit)]
    timeout: Duration,
    /// How many requests a runaway may make before it is ended
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    max_requests: u64,
    /// How many attempts of a request fail with 429 and with 500
    #[arg(long, value_name = "N", default_value_t = Failing::default().attempts, value_parser = clap::value_parser!(u32).range(1..))]
    failures: u32,
    /// How many seconds status 429 asks to wait
    #[arg(long, value_name = "N", default_value_t = Failing::default().retry_after_seconds)]
    retry_after: u32,
    /// A tool that can be made to fail
    #[arg(long, value_name = "NAME", requires = "failing_arguments")]
    tool: Option<String>,
    /// Arguments with which that tool fails; give it twice, with other arguments, so that a fixed
    /// sentence can be told from the tool's own words
    #[arg(long, value_name = "JSON", requires = "tool")]
    failing_arguments: Vec<String>,
    /// What bills it: a model of `loopmeter list prices`, such as `openai/gpt-5`
    #[arg(long, value_name = "MODEL", default_value = CHAPTER_PRICE)]
    price: String,
    /// Seed of the arguments that are made up for the agent's tools
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the report as one row of a table to this CSV file as well
    #[arg(long, value_name = "FILE")]
    row: Option<PathBuf>,
    /// What the agent is called in that row [default: the command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// One object; money in whole pico-dollars
    Json,
    /// Tables, for a comment or a summary
    Markdown,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter probe -- python agent.py
  loopmeter probe --only runaway,rate-limited -- node agent.mjs
  loopmeter probe --require stops,max-cost=0.05,max-attempts=4,told-why -- python agent.py
  loopmeter probe --tool read_file --failing-arguments '{\"path\":\"none.txt\"}' \\
      --failing-arguments '{\"path\":\"/etc/shadow\"}' -- python agent.py

The command is run once for each check, and calls its tools for real. It finds the endpoint in
OPENAI_BASE_URL or LLM_BASE_URL, and is ended, as with `loopmeter meter`; it reads nothing. If it
appends a line {\"tool\": NAME, \"args\": {…}} to the file that LOOPMETER_TOOL_LOG names (16 MiB at
most) whenever a tool starts, the report also says what was executed.

Requirements hold where they were seen to hold:
  stops                        it ends a runaway of itself
  max-turns=N, max-cost=USD    and within so many turns, and for no more than so much
  max-attempts=N               neither 429 nor 500 is met with more attempts
  retries                      both are met with a second attempt at least
  honours-retry-after          it waits as long as Retry-After says
  told-why                     the model gets a failed tool's own words
  answers-unknown-tool         a call of a tool that does not exist is answered
  answers-malformed-arguments  a call whose arguments are not JSON is answered
  answers-parallel             parallel calls are all answered, in order, in one request
  runs-repeats-once            of two identical calls the second is answered and not executed
  no-hangs                     no check is ended because its time is up
  max-overhead-ms=N            its own time per turn, the median, tools included
  max-first-tokens=N           tokens of its first request

Exit code: 0 if all requirements hold, 1 if one does not, 2 for wrong usage, 3 if the command cannot
be started or never calls the endpoint, 130 if loopmeter was stopped.";

/// Runs the command through the battery and prints what was found.
pub(super) fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let requirements = args.requirements()?;
    let options = args.options(&requirements)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::could_not_do(&error))?;
    let report = match runtime.block_on(attend(&options)) {
        Ok(report) => report,
        Err(ProbeError::Stopped) => return Ok(Exit::Stopped),
        Err(error) => return Err(Failure::CouldNotDo(error.to_string())),
    };
    let rulings: Vec<Ruling> = requirements
        .iter()
        .map(|requirement| requirement.rule(&report))
        .collect();
    output::line(match args.format {
        Format::Text => to_text(&report, &rulings),
        Format::Json => output::json(&to_json(&report, &rulings)),
        Format::Markdown => to_markdown(&report, &rulings),
    })?;
    if let Some(path) = &args.row {
        args.write_row(path, &report)?;
    }
    let broken = rulings.iter().filter(|ruling| !ruling.holds);
    let broken: Vec<&Ruling> = broken.collect();
    for ruling in &broken {
        output::note(format_args!("requirement {ruling}"));
    }
    Ok(if broken.is_empty() {
        Exit::Fine
    } else {
        Exit::DoesNotHold
    })
}

async fn attend(options: &Options) -> Result<Report, ProbeError> {
    let stop = Signal::new();
    let signals = async {
        stop.stop(interrupted().await);
        std::future::pending::<Infallible>().await
    };
    let bar = bar();
    let mut told = |progress: Progress| {
        bar.set_length(progress.all as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.check.as_str());
    };
    let report = tokio::select! {
        report = crate::probe::run(options, &stop, &mut told) => report,
        never = signals => match never {},
    };
    bar.finish_and_clear();
    report
}

/// A bar that shows which check is run; nothing is drawn where nobody watches.
fn bar() -> ProgressBar {
    if !output::is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:20} {wide_bar} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    bar
}

impl ProbeArgs {
    fn requirements(&self) -> Result<Vec<Requirement>, Failure> {
        let texts = self.require.iter();
        let read: Result<Vec<Requirement>, RequirementError> =
            texts.map(|text| text.parse()).collect();
        let read = read.map_err(|error| Failure::WrongInput(error.to_string()))?;
        let checks = self.checks();
        for requirement in &read {
            let missing = requirement
                .checks()
                .iter()
                .find(|needed| !checks.contains(needed));
            if let Some(check) = missing {
                return Err(Failure::WrongInput(format!(
                    "requirement `{requirement}` needs the check {check}, which --only leaves out; \
                     add it to --only"
                )));
            }
        }
        Ok(read)
    }

    fn checks(&self) -> Vec<Check> {
        let is_wanted = |check: &Check| self.only.is_empty() || self.only.contains(check);
        Check::ALL.into_iter().filter(is_wanted).collect()
    }

    fn options(&self, requirements: &[Requirement]) -> Result<Options, Failure> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Failure::WrongInput("no command: write it after --".into()));
        };
        let failures = requirements.iter().map(Requirement::failures);
        Ok(Options {
            program: program.clone(),
            arguments: arguments.to_vec(),
            environment: no_proxy(),
            checks: self.checks(),
            given: self.given()?,
            time_per_check: self.timeout_per_check,
            time: self.timeout,
            requests: self.max_requests,
            failing: Failing {
                attempts: failures.fold(self.failures, u32::max),
                retry_after_seconds: self.retry_after,
            },
            price: price(&self.price)?,
            seed: self.seed,
        })
    }

    /// The calls that are known to fail.
    fn given(&self) -> Result<Option<Arc<GivenCalls>>, Failure> {
        let Some(tool) = &self.tool else {
            return Ok(None);
        };
        for arguments in &self.failing_arguments {
            let object: Result<serde_json::Map<String, serde_json::Value>, _> =
                serde_json::from_str(arguments);
            if let Err(error) = object {
                return Err(Failure::WrongInput(format!(
                    "--failing-arguments `{arguments}` is not a JSON object: {error}; write it as \
                     '{{\"path\":\"none.txt\"}}'"
                )));
            }
        }
        Ok(Some(Arc::new(GivenCalls {
            tool: tool.clone(),
            arguments: self.failing_arguments.clone(),
        })))
    }

    fn write_row(&self, path: &std::path::Path, report: &Report) -> Result<(), Failure> {
        let words = self.command.iter().map(|word| word.to_string_lossy());
        let command = || words.collect::<Vec<_>>().join(" ");
        let name = self.name.clone().unwrap_or_else(command);
        let row = ProbeRow::new(&name, report);
        let written = CsvFile::create(path, ProbeRow::columns()).and_then(|mut file| {
            file.append(row.cells())?;
            file.commit()
        });
        let failed = |error: WriteError| Failure::could_not_do(&error);
        written.map(|_| ()).map_err(failed)
    }
}
