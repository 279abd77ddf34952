//! The command line: what was typed becomes what was meant, and what came of it is printed.
//! Only this module prints and reads the environment.

mod agent;
mod check;
mod columnar;
mod endpoint;
mod environment;
mod exit;
mod fit;
mod levers;
mod list;
mod merge;
mod meter;
mod output;
mod plots;
mod prices;
mod probe;
mod progress;
mod prose;
mod readers;
mod report;
mod rows;
mod run;
mod schema;
mod select;
mod serve;
mod shard;
mod signals;
mod spending;
mod tables;
mod whatif;

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
    /// Run experiments and write their rows, tables, plots and claims
    #[command(after_help = run::EXAMPLES)]
    Run(run::RunArgs),
    /// Join the shards of a sweep into what one run would have written
    #[command(after_help = merge::EXAMPLES)]
    Merge(merge::MergeArgs),
    /// Run again, and say what differs from what is committed
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// Write the tables in the readers' languages, as Markdown, HTML, CSV or LaTeX
    #[command(after_help = tables::EXAMPLES)]
    Tables(tables::TablesArgs),
    /// Write the plots in the readers' languages, as SVG or PNG
    #[command(after_help = plots::EXAMPLES)]
    Plots(plots::PlotsArgs),
    /// Write everything that was measured on one page of HTML for each language
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArgs),
    /// Find every number of a translation, and say which are wrong
    #[command(after_help = prose::EXAMPLES)]
    Prose(prose::ProseArgs),
    /// Drive one persisted run: start, resume, approve, reject, cancel, show, list
    Agent(agent::AgentArgs),
    /// Put the scripted model on the wire, as an OpenAI-compatible endpoint
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::ServeArgs),
    /// Run somebody's agent against the scripted model, and print its bill
    #[command(after_help = meter::EXAMPLES)]
    Meter(meter::MeterArgs),
    /// Run somebody's agent through a battery of checks, and print its report card
    #[command(after_help = probe::EXAMPLES)]
    Probe(Box<probe::ProbeArgs>),
    /// Replay recorded runs under other limits: what would they have saved, and what lost?
    #[command(after_help = whatif::EXAMPLES)]
    Whatif(Box<whatif::WhatifArgs>),
    /// Fit distributions to the times of recorded replies, for experiments to draw from
    #[command(after_help = fit::EXAMPLES)]
    Fit(fit::FitArgs),
    /// What makes a bill smaller, and what it risks: on scripted runs and on recorded ones
    #[command(after_help = levers::EXAMPLES)]
    Levers(levers::LeversArgs),
    /// List experiments, scenarios, locales or prices
    #[command(after_help = list::EXAMPLES)]
    List(list::ListArgs),
    /// Print the JSON Schema of experiment or scenario files, for editors
    Schema(schema::SchemaArgs),
    /// Print a script that completes this program in a shell
    Completions(schema::CompletionsArgs),
}

const EXAMPLES: &str = "\
Examples:
  loopmeter run                           # the whole chapter: every table, every number checked
  loopmeter run sweep.toml --shard 2/8    # an eighth of a sweep; `loopmeter merge` joins them
  loopmeter check                         # are the committed results still true?
  loopmeter tables --locale all           # the tables in every language
  loopmeter plots --locale all            # the plots in every language
  loopmeter report --locale all           # one page of all of it in every language
  loopmeter agent start --scenario plan   # one scripted run, saved after every step
  loopmeter serve                         # the scripted model at http://127.0.0.1:8787/v1
  loopmeter meter -- python agent.py      # what does my agent cost?
  loopmeter probe -- python agent.py      # does it stop, retry, tell the model why?
  loopmeter whatif --max-turns 5..30 runs.jsonl   # recorded runs under other limits
  loopmeter fit trace.jsonl               # how long do its replies take? a line to simulate with
  loopmeter levers runs.jsonl             # what would make their bill smaller
  LLM_BASE_URL=http://127.0.0.1:8080/v1 LLM_MODEL=name loopmeter agent start   # a real one

Environment:
  LLM_BASE_URL, LLM_MODEL, LLM_API_KEY    the endpoint of `agent start --provider endpoint` and of
                                          experiments that ask a real model; the key is sent as a
                                          bearer token, and never stored or printed.
  LLM_TIMEOUT, LLM_IDLE_TIMEOUT           how long an attempt may take in all, and how long nothing
                                          may come of a reply, such as 120s [default: 600s, 300s].
  LLM_SERVER                              what serves it, in which version: words for the rows.

Exit codes: 0 fine; 1 a check or a claim does not hold; 2 the input or the usage is wrong;
3 the work could not be done; 130 stopped by a signal.";

/// Runs the command line that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.verb {
        Verb::Run(args) => run::run(&args),
        Verb::Merge(args) => merge::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Tables(args) => tables::run(&args),
        Verb::Plots(args) => plots::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Prose(args) => prose::run(&args),
        Verb::Agent(args) => agent::run(args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Meter(args) => meter::run(&args),
        Verb::Probe(args) => probe::run(&args),
        Verb::Whatif(args) => whatif::run(&args),
        Verb::Fit(args) => fit::run(&args),
        Verb::Levers(args) => levers::run(&args),
        Verb::List(args) => list::run(&args),
        Verb::Schema(args) => schema::schema(&args),
        Verb::Completions(args) => schema::completions::<Cli>(&args),
    };
    outcome.unwrap_or_else(|failure| tell(&failure)).into()
}

/// Tells what went wrong, and where, on standard error.
fn tell(failure: &Failure) -> Exit {
    match failure {
        Failure::InTexts(problems) => output::note(problems),
        Failure::WrongInput(message) | Failure::CouldNotDo(message) => {
            output::note(format_args!("error: {message}"));
        }
        Failure::Stopped => output::note("stopped; every file that was written is whole"),
    }
    failure.exit()
}
