//! The command line: what was typed becomes what was meant, and what came of it is printed.
//! Only this module prints and reads the environment.

mod agent;
mod exit;
mod output;
mod serve;
mod signals;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use exit::{Exit, Failure};

/// What an LLM agent loop costs and how long it takes, measured deterministically and for free.
#[derive(Debug, Parser)]
#[command(name = "loopmeter", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Drive one persisted run: start, resume, approve, reject, cancel, show, list
    Agent(agent::AgentArgs),
    /// Put the scripted model on the wire, as an OpenAI-compatible endpoint
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::ServeArgs),
}

const EXAMPLES: &str = "\
Examples:
  loopmeter agent start --scenario plan   # one scripted run, saved after every step
  loopmeter serve                         # the scripted model at http://127.0.0.1:8787/v1";

/// Runs the command line that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.verb {
        Verb::Agent(args) => agent::run(args),
        Verb::Serve(args) => serve::run(&args),
    };
    outcome.unwrap_or_else(|failure| report(&failure)).into()
}

/// Tells what went wrong, and where, on standard error.
fn report(failure: &Failure) -> Exit {
    match failure {
        Failure::Problems(problems) => output::note(format_args!("{problems}")),
        Failure::WrongInput(message) | Failure::CouldNotDo(message) => {
            output::note(format_args!("error: {message}"));
        }
    }
    failure.exit()
}
