//! What the process says to its caller when it ends.

use std::error::Error;
use std::process::ExitCode;

use crate::document::{Problems, ReadError};
use crate::experiment::LoadError;
use crate::scenario::ScenarioError;
use crate::store::StoreError;

/// The code of a process that was stopped by a signal, as a shell's for SIGINT.
pub(super) const STOPPED: u8 = 130;

/// The exit codes, a contract with scripts: 0, 1, 2, 3 and 130 in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Everything was done; a run reached one of its exits, whichever.
    Fine,
    /// A check or a claim does not hold.
    DoesNotHold,
    /// The input or the usage is wrong.
    WrongInput,
    /// The work could not be done: files, endpoints.
    CouldNotDo,
    /// Stopped by SIGINT or SIGTERM.
    Stopped,
    /// A metered command's own code, or one that says how it was ended.
    OfCommand(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::DoesNotHold => 1,
            Exit::WrongInput => 2,
            Exit::CouldNotDo => 3,
            Exit::Stopped => STOPPED,
            Exit::OfCommand(code) => code,
        })
    }
}

/// Why a verb ends early, and with which code.
#[derive(Debug)]
pub(super) enum Failure {
    /// Problems in texts that the user wrote, each with its place before it.
    InTexts(String),
    /// The input or the usage is wrong.
    WrongInput(String),
    /// The work could not be done.
    CouldNotDo(String),
    /// A signal ended it.
    Stopped,
}

impl Failure {
    /// The exit code that goes with it.
    #[must_use]
    pub(super) const fn exit(&self) -> Exit {
        match self {
            Self::InTexts(_) | Self::WrongInput(_) => Exit::WrongInput,
            Self::CouldNotDo(_) => Exit::CouldNotDo,
            Self::Stopped => Exit::Stopped,
        }
    }

    /// A failure to do the work, told with its causes.
    #[must_use]
    pub(super) fn could_not_do(error: &dyn Error) -> Self {
        Self::CouldNotDo(chain(error))
    }

    /// Something wrong with what was given, told with its causes.
    #[must_use]
    pub(super) fn wrong_input(error: &dyn Error) -> Self {
        Self::WrongInput(chain(error))
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Some errors print their cause themselves.
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::InTexts(format!("{problems:#}"))
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::InTexts(format!("{error:#}"))
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::InTexts(format!("{error:#}"))
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Read(error) => error.into(),
            unknown @ ScenarioError::Unknown { .. } => Self::wrong_input(&unknown),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { .. } | StoreError::Write(_) | StoreError::Driven(_) => {
                Self::could_not_do(&error)
            }
            #[cfg(feature = "sqlite")]
            StoreError::Sqlite { .. } | StoreError::Moved { .. } => Self::could_not_do(&error),
            _ => Self::wrong_input(&error),
        }
    }
}
