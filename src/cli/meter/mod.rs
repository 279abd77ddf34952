//! `loopmeter meter`: run somebody's agent against the scripted model, and print its bill.

mod json;
mod text;

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::output;
use super::prices::price;
use super::signals::interrupted;
use crate::clock::Signal;
use crate::meter::{
    Bounds, CommandEnd, Echo, Input, Invoice, Launch, LaunchError, Metered, cell_columns,
    cell_values, script, turn_columns, turn_values,
};
use crate::pricing::{CHAPTER_PRICE, Price};
use crate::results::RowSet;
use crate::scenario::{Fault, Pace, parse_limit};
use crate::server::{Config, Library, MODEL_PREFIX, Script, TurnIndex};

/// `loopmeter meter`.
#[derive(Debug, Args)]
pub(super) struct MeterArgs {
    /// What the model does; the `any-*` scenarios use the tools that the agent declares
    #[arg(long, value_name = "NAME|FILE", default_value = "any-once")]
    scenario: String,
    /// How long replies take, such as `ttft=200ms,per_token=10ms`; a scenario's own is replaced
    #[arg(long, value_name = "SPEC")]
    latency: Option<Pace>,
    /// How the endpoint fails, such as `turn=1,first=2,kind=429,retry_after=3`; may be repeated
    #[arg(long, value_name = "SPEC")]
    fault: Vec<Fault>,
    /// How to tell which turn a request is for
    #[arg(long, value_enum, default_value = "conversation")]
    turn_index: TurnIndex,
    /// Seed of the arguments that the `any-*` scenarios make up
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How long the command may run before it is ended
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse_limit)]
    timeout: Duration,
    /// How many requests it may make before it is ended
    #[arg(long, value_name = "N", default_value_t = Bounds::default().requests)]
    max_requests: u64,
    /// What bills it: a model of `loopmeter list prices`, such as `openai/gpt-5`
    #[arg(long, value_name = "MODEL", default_value = CHAPTER_PRICE)]
    price: String,
    /// Print the bill as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the bill as CSV: a row of the command, or a row of each turn
    #[arg(long, value_name = "ROWS", num_args = 0..=1, require_equals = true,
          default_missing_value = "cells")]
    csv: Option<CsvRows>,
    /// Do not show what the command prints
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CsvRows {
    /// One row: what `cells.csv` has of an experiment
    Cells,
    /// One row for each turn: what `turns.csv` has
    Turns,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter meter -- python agent.py                      # one tool call and an answer
  loopmeter meter --scenario any-runaway -- node agent.js # does it ever stop, and at what price?
  loopmeter meter --scenario recover --json -- ./agent    # a scenario for tools that you know
  loopmeter meter --price openai/gpt-5 -- python agent.py # at what a model costs
  loopmeter meter --fault turn=0,first=2,kind=429,retry_after_ms=50 -- python agent.py

The command finds the endpoint in its environment, and needs no key and no network:
  OPENAI_BASE_URL, OPENAI_API_BASE, LLM_BASE_URL   http://127.0.0.1:PORT/runs/meter/v1
  OPENAI_API_KEY, LLM_API_KEY                      a key that opens nothing
  OPENAI_MODEL, LLM_MODEL                          scripted/SCENARIO; any other name will do
  NO_PROXY, no_proxy                               with 127.0.0.1 and localhost
What it prints goes to standard error, so that the bill has standard output to itself.
It is ended, with all that it started, after --timeout or --max-requests: with its process group,
and on Linux also with what left that, as a daemon does, unless it cleared its environment. Where
nobody reads what it prints, it waits, as without loopmeter; a second after its end, the rest is
dropped. From a terminal, it finds its standard input empty; a pipe or a file is handed on.

In CSV, a text of the agent that a spreadsheet would take for a formula (it begins with = + - @)
has a ' before it; in JSON it is as it came.

The default scenario is any-once, because it ends: it calls one of the tools that the agent
declares, with arguments that the tool's schema allows, and answers.

Exit code: the command's own; 124 if it was ended for --timeout or --max-requests; 128 and the
signal's number if a signal ended it; 2 for wrong usage and 3 if it cannot be started;
130 if loopmeter was stopped.";

/// The id of the run in the endpoint's path.
const RUN: &str = "meter";

/// Runs the command and prints its bill.
pub(super) fn run(args: &MeterArgs) -> Result<Exit, Failure> {
    let script = script(&args.scenario, Path::new("experiments"))?;
    let price = price(&args.price)?;
    let launch = launch(args, &script)?;
    let config = Config {
        library: Library::Only(script),
        turn_index: args.turn_index,
        pace: args.latency.clone(),
        faults: args.fault.clone(),
        seed: args.seed,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::could_not_do(&error))?;
    let metered = runtime.block_on(attend(&launch, config));
    // What is still being shown to somebody who does not read it is not waited for.
    runtime.shutdown_background();
    let metered = metered?;
    let invoice = Invoice::of(&metered, &price);
    let bill = Bill {
        args,
        price: &price,
        invoice: &invoice,
    };
    bill.print()?;
    Ok(exit(&metered.ran.end))
}

async fn attend(launch: &Launch, config: Config) -> Result<Metered, LaunchError> {
    let stop = Signal::new();
    let signals = async {
        stop.stop(interrupted().await);
        std::future::pending::<Infallible>().await
    };
    // Signals are heard before the command is started.
    tokio::select! {
        biased;
        never = signals => match never {},
        metered = crate::meter::run(launch, config, &stop) => metered,
    }
}

fn launch(args: &MeterArgs, script: &Script) -> Result<Launch, Failure> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Failure::WrongInput("no command: write it after --".into()));
    };
    let input = if std::io::stdin().is_terminal() {
        Input::Nothing
    } else {
        Input::Inherited
    };
    Ok(Launch {
        program: program.clone(),
        arguments: arguments.to_vec(),
        environment: no_proxy(),
        folder: None,
        run: RUN.to_owned(),
        model: format!("{MODEL_PREFIX}{}", script.name()),
        input,
        bounds: Bounds {
            time: args.timeout,
            requests: args.max_requests,
        },
        echo: (!args.quiet).then(|| Echo::to(tokio::io::stderr())),
    })
}

/// The hosts that need no proxy already, and the endpoint's.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line reads the environment"
)]
pub(super) fn no_proxy() -> Vec<(String, String)> {
    let known = ["NO_PROXY", "no_proxy"].into_iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        let value = value.trim_matches(',');
        (!value.is_empty()).then(|| (name.to_owned(), format!("{value},127.0.0.1,localhost")))
    });
    known.collect()
}

/// What our caller is told of the command's end.
fn exit(end: &CommandEnd) -> Exit {
    let code = |code: Option<i32>| code.and_then(|code| u8::try_from(code).ok());
    match end {
        CommandEnd::Exited(status) => Exit::OfCommand(code(Some(*status)).unwrap_or(u8::MAX)),
        CommandEnd::Signalled(signal) => {
            let signal = code(*signal).unwrap_or_default();
            Exit::OfCommand(signal.saturating_add(128))
        }
        CommandEnd::TimedOut | CommandEnd::TooManyRequests => Exit::OfCommand(124),
        CommandEnd::Stopped(_) => Exit::Stopped,
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        // The message holds the cause already.
        Self::CouldNotDo(error.to_string())
    }
}

/// What there is to print.
struct Bill<'a> {
    args: &'a MeterArgs,
    price: &'a Price,
    invoice: &'a Invoice,
}

impl Bill<'_> {
    fn print(&self) -> Result<(), Failure> {
        match (self.args.json, self.args.csv) {
            (true, _) => output::line(output::json(&json::of(self))),
            (false, Some(rows)) => output::line(self.csv(rows)?.trim_end()),
            (false, None) => output::line(text::of(self)),
        }
    }

    fn csv(&self, rows: CsvRows) -> Result<String, Failure> {
        let (columns, values): (_, Vec<_>) = match rows {
            CsvRows::Cells => (cell_columns(), vec![cell_values(self.invoice)]),
            CsvRows::Turns => {
                let turns = self.invoice.turns.iter();
                (turn_columns(), turns.map(turn_values).collect())
            }
        };
        let not_rows = |error: crate::results::RowsError| Failure::could_not_do(&error);
        let mut rows = RowSet::new(columns).map_err(not_rows)?;
        for row in values {
            rows.push(row).map_err(not_rows)?;
        }
        let csv = rows
            .to_csv()
            .map_err(|error| Failure::could_not_do(&error))?;
        Ok(String::from_utf8_lossy(&csv).into_owned())
    }

    /// The command as it was typed, as far as it is text.
    fn command(&self) -> Vec<String> {
        let words = self.args.command.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}
