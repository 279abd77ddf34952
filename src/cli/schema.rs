//! `loopmeter schema` and `loopmeter completions`: what editors and shells complete from.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::exit::{Exit, Failure};
use super::output;
use crate::scenario::Scenario;

/// `loopmeter schema`.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The kind of file
    file: File,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum File {
    /// An experiment
    Experiment,
    /// A scenario of the scripted model
    Scenario,
}

/// `loopmeter completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the JSON Schema of a kind of file.
pub(super) fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.file {
        File::Experiment => crate::experiment::schema(),
        File::Scenario => Scenario::schema(),
    };
    output::line(format_args!("{schema:#}"))?;
    Ok(Exit::Fine)
}

/// Prints a script that completes this program's verbs and options.
pub(super) fn completions<C: CommandFactory>(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "loopmeter", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Fine)
}
