//! Why a stored run cannot be had.

use std::io;
use std::path::{Path, PathBuf};

use super::FORMAT;
use crate::files::WriteError;

/// Why a stored run cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The id could be a path.
    #[error("{0:?} is not a run id: use 1 to 64 letters, digits, `-`, `_` or `.`, not first a `.`")]
    BadId(String),
    /// There is no such run.
    #[error("there is no run {id:?} in {}", store.display())]
    Unknown {
        /// The id.
        id: String,
        /// Where it was looked for.
        store: PathBuf,
    },
    /// There is one already.
    #[error("there is a run {id:?} in {} already", store.display())]
    Taken {
        /// The id.
        id: String,
        /// Where it is.
        store: PathBuf,
    },
    /// Another process drives it.
    #[error("run {0:?} is driven by another process; wait for it, or `loopmeter agent cancel {0}`")]
    Driven(String),
    /// The record is not what this program wrote.
    #[error("{place} is not a run's record: {why}; restore it from a copy, or start a new run")]
    Damaged {
        /// The record: its file, or its database and the run.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// The record is of a later version of this program.
    #[error(
        "{place} has format {found}; this loopmeter reads up to format {FORMAT}: use a later one"
    )]
    Newer {
        /// The record, or the database.
        place: String,
        /// Its format.
        found: u32,
    },
    /// Somebody who does not hold the run would save it.
    #[error("run {saved:?} cannot be saved by whoever holds run {held:?}")]
    NotHeld {
        /// The run that is to be saved.
        saved: String,
        /// The run that is held.
        held: String,
    },
    /// The record has no JSON form.
    #[error("run {id:?} cannot be written down: {why}")]
    Unwritable {
        /// The run.
        id: String,
        /// Why not.
        why: String,
    },
    /// The run could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// The database is of a later version of this program.
    #[cfg(feature = "sqlite")]
    #[error("{} has tables of version {found}, later than this loopmeter's: use a later one", path.display())]
    NewerTables {
        /// The database.
        path: PathBuf,
        /// The version of its tables.
        found: u32,
    },
    /// The database is no longer where it was opened.
    #[cfg(feature = "sqlite")]
    #[error(
        "{} was moved or removed while runs were being saved: what was saved last is not in it",
        path.display()
    )]
    Moved {
        /// The database, or its write-ahead log.
        path: PathBuf,
    },
    /// The database says no.
    #[cfg(feature = "sqlite")]
    #[error("{}: {source}{}", path.display(), advice(source))]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
}

/// What helps where it is not the database that says no, but its folder.
#[cfg(feature = "sqlite")]
fn advice(source: &rusqlite::Error) -> &'static str {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::ReadOnly | rusqlite::ErrorCode::CannotOpen) => {
            "; make the database and its folder writable: its log is kept beside it, even where \
             runs are only looked at"
        }
        _ => "",
    }
}

pub(super) fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        path: path.to_owned(),
        source,
    }
}
