//! Running an agent through the battery.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::check::{Check, Failing};
use super::ending::Ending;
use super::finding::quote;
use super::observation::{Observation, ToolStart};
use super::report::{Report, Setting};
use crate::clock::{Clock, RealClock, Signal};
use crate::files::open_plain;
use crate::meter::{Bounds, Input, Launch, LaunchError, Metered, Variable};
use crate::pricing::Price;
use crate::scenario::GivenCalls;
use crate::server::{Config, Library, MODEL_PREFIX, Outcome, TurnIndex};

/// What to probe, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables that it is started with, on top of those that name the endpoint.
    pub environment: Vec<Variable>,
    /// The checks, in the order in which they are run.
    pub checks: Vec<Check>,
    /// Calls that are known to fail; without them, likely ones are made up.
    pub given: Option<Arc<GivenCalls>>,
    /// How long each check may take.
    pub time_per_check: Duration,
    /// How long all checks together may take.
    pub time: Duration,
    /// How many requests a run may make.
    pub requests: u64,
    /// How the endpoint fails where a status is the fault.
    pub failing: Failing,
    /// What a token costs.
    pub price: Price,
    /// Seed of the arguments that are made up.
    pub seed: u64,
}

/// How far a probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The check that begins.
    pub check: Check,
    /// How many checks came before it.
    pub done: usize,
    /// How many checks there are.
    pub all: usize,
}

/// Why an agent could not be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The command could not be run.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is no place for the tool log.
    #[error("no folder for temporary files: {0}")]
    NoFolder(io::Error),
    /// What the command has put in the place of the tool log is none.
    #[error(
        "check {check}: what the command left at the path in {TOOL_LOG} cannot be read: {source}; \
         it may append lines to a plain file there, of {} MiB at most",
        MOST_OF_LOG >> 20
    )]
    ToolLog {
        /// The check.
        check: Check,
        /// Why not.
        source: io::Error,
    },
    /// The command ended without a request.
    #[error(
        "the command never called the endpoint; it must take the endpoint's address from \
         OPENAI_BASE_URL or LLM_BASE_URL{0}"
    )]
    NeverAsked(Said),
    /// None of its requests could be understood.
    #[error("the command calls the endpoint in a way that it does not serve: {why}")]
    NotUnderstood {
        /// What the command was told.
        why: String,
    },
    /// Somebody stopped it.
    #[error("stopped")]
    Stopped,
}

/// What the command printed last, to go behind a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said(Option<String>);

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(line) => write!(f, "; its standard error ends with {line}"),
            None => Ok(()),
        }
    }
}

/// The variable that names a file to which an agent may append a line of JSON, with `tool` and
/// `args`, for every tool that it starts.
const TOOL_LOG: &str = "LOOPMETER_TOOL_LOG";

/// The most bytes of a tool log.
const MOST_OF_LOG: u64 = 16 << 20;

/// Runs the command once per check, one after the other, each against an endpoint of its own on
/// this machine, and says what was found. Needs a tokio runtime with I/O and time.
///
/// # Errors
/// [`ProbeError`] where the command cannot be started, never asks the endpoint for anything that
/// it serves, or where `stop` was pressed.
pub async fn run(
    options: &Options,
    stop: &Signal,
    told: &mut (dyn FnMut(Progress) + Send),
) -> Result<Report, ProbeError> {
    let clock = RealClock::starting_at(Duration::ZERO);
    let mut seen: Vec<Observation> = Vec::new();
    let mut not_run = Vec::new();
    for (done, check) in options.checks.iter().copied().enumerate() {
        let left = options.time.saturating_sub(clock.now());
        if left.is_zero() {
            not_run.push(check);
            continue;
        }
        told(Progress {
            check,
            done,
            all: options.checks.len(),
        });
        let observation = options.observe(check, left, stop).await?;
        if observation.ending == Ending::Stopped {
            return Err(ProbeError::Stopped);
        }
        if seen.is_empty() {
            admit(&observation)?;
        }
        seen.push(observation);
    }
    let given = options.given.as_deref();
    Ok(Report::new(options.setting(), &seen, not_run, given))
}

/// Fails where the agent does not speak with the endpoint at all.
fn admit(seen: &Observation) -> Result<(), ProbeError> {
    if seen.exchanges.is_empty() {
        return Err(ProbeError::NeverAsked(Said(
            seen.last_words.stderr.as_deref().map(quote),
        )));
    }
    let refused = seen
        .exchanges
        .iter()
        .find_map(|exchange| match &exchange.outcome {
            Outcome::Refused { status, why } => Some(format!("{status}, {}", quote(why))),
            _ => None,
        });
    match refused {
        Some(why) if seen.asked().next().is_none() => Err(ProbeError::NotUnderstood { why }),
        _ => Ok(()),
    }
}

/// What is in the tool log. An agent that starts no tool, or does not say so, leaves no file; one
/// that leaves a pipe, a device or a file without end there would keep us for ever.
fn read_tool_log(path: &Path) -> io::Result<Vec<u8>> {
    let file = match open_plain(path, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut log = Vec::new();
    file.take(MOST_OF_LOG + 1).read_to_end(&mut log)?;
    if log.len() as u64 > MOST_OF_LOG {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(log)
}

impl Options {
    async fn observe(
        &self,
        check: Check,
        left: Duration,
        stop: &Signal,
    ) -> Result<Observation, ProbeError> {
        let folder = tempfile::tempdir().map_err(ProbeError::NoFolder)?;
        let tool_log = folder.path().join("tools.jsonl");
        let launch = self.launch(check, left, &tool_log);
        let metered: Metered = crate::meter::run(&launch, self.config(check), stop).await?;
        let log =
            read_tool_log(&tool_log).map_err(|source| ProbeError::ToolLog { check, source })?;
        let starts = ToolStart::read(&String::from_utf8_lossy(&log));
        Ok(Observation::new(check, metered, starts))
    }

    fn launch(&self, check: Check, left: Duration, tool_log: &Path) -> Launch {
        let log = (TOOL_LOG.to_owned(), tool_log.to_string_lossy().into_owned());
        let environment = self.environment.iter().cloned().chain([log]);
        Launch {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: environment.collect(),
            folder: None,
            run: check.as_str().to_owned(),
            model: format!("{MODEL_PREFIX}{check}"),
            input: Input::Nothing,
            bounds: Bounds {
                time: self.time_per_check.min(left),
                requests: self.requests,
            },
            echo: None,
        }
    }

    /// The turn is counted along the path, so that agents which rewrite what was said are led
    /// through the script all the same.
    fn config(&self, check: Check) -> Config {
        Config {
            library: Library::Only(check.script(self.given.as_ref())),
            turn_index: TurnIndex::Path,
            faults: check.faults(self.failing),
            seed: self.seed,
            ..Config::default()
        }
    }

    fn setting(&self) -> Setting {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        Setting {
            command: words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            price: self.price.clone(),
            requests_limit: self.requests,
            time_limit: self.time_per_check,
            failing: self.failing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_log_is_read_whole_and_one_that_is_not_there_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tools.jsonl");
        assert_eq!(read_tool_log(&path).unwrap(), b"");
        std::fs::write(&path, "{}\n").unwrap();
        assert_eq!(read_tool_log(&path).unwrap(), b"{}\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_tool_log_without_end_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        // Without a byte on the disk.
        let sparse = std::fs::File::create(at("sparse")).unwrap();
        sparse.set_len(6 << 30).unwrap();
        let kind = |name| read_tool_log(&at(name)).unwrap_err().kind();
        assert_eq!(kind("pipe"), io::ErrorKind::PermissionDenied);
        assert_eq!(kind("sparse"), io::ErrorKind::FileTooLarge);
    }
}
