//! Runs that outlive their process: what they were started with, where they stand, and a lock, so
//! that one process at a time drives a run.
//!
//! [`FileStore`] keeps a folder for each run, which people can read and copy; `SqliteStore`
//! (feature `sqlite`) keeps all records in one database, for many runs and for queries. The files
//! that a run's tools work on are in a folder of its own either way.

mod error;
mod file;
mod folders;
mod record;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use error::StoreError;
pub use file::FileStore;
pub use folders::{Folders, Hold};
pub use record::{CatalogKind, FORMAT, Launch, Model, Record};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

use crate::run::{RunState, Status};
use folders::Made;

/// Which runs are looked for; by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those that stand so.
    pub status: Option<Status>,
}

impl Filter {
    /// Whether `run` is looked for.
    #[must_use]
    pub fn admits(&self, run: &RunState) -> bool {
        self.status.is_none_or(|status| status == run.status)
    }
}

/// A run that was found, and its record, if that can be read.
#[derive(Debug)]
pub struct Found {
    /// The run's id.
    pub id: String,
    /// Its record.
    pub record: Result<Record, StoreError>,
}

/// Keeps runs.
pub trait Store: Send + Sync {
    /// The folders of the runs.
    fn folders(&self) -> &Folders;

    /// Where the store is, for messages.
    fn place(&self) -> &Path;

    /// Whether a run of that id was ever saved.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read, or `id` cannot be one.
    fn has(&self, id: &str) -> Result<bool, StoreError>;

    /// Replaces the record of run `id`, whole or not at all, and returns when it is on the disk.
    /// [`Store::save`] is for callers.
    ///
    /// # Errors
    /// [`StoreError`]; the earlier record stands then.
    fn write(&self, id: &str, record: &Record) -> Result<(), StoreError>;

    /// The record of a run.
    ///
    /// # Errors
    /// [`StoreError`] where there is none, or none that this version reads.
    fn load(&self, id: &str) -> Result<Record, StoreError>;

    /// The runs that `filter` admits, by id. Those whose record cannot be read are among them.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be read.
    fn find(&self, filter: Filter) -> Result<Vec<Found>, StoreError>;

    /// Takes `id` for a new run, or the first free one of `r1`, `r2`, …, and holds it. An id that
    /// a process took and never saved is free again once that process is gone.
    ///
    /// # Errors
    /// [`StoreError`] where the id is taken or cannot be one, or the folder cannot be made.
    fn claim(&self, id: Option<&str>) -> Result<Hold, StoreError> {
        if let Some(id) = id {
            return self.claim_this(id);
        }
        let mut number = self.folders().ids()?.len();
        loop {
            number = number.saturating_add(1);
            match self.claim_this(&format!("r{number}")) {
                Err(StoreError::Taken { .. }) => {}
                claimed => return claimed,
            }
        }
    }

    /// Takes exactly `id` for a new run.
    ///
    /// # Errors
    /// Those of [`Store::claim`].
    fn claim_this(&self, id: &str) -> Result<Hold, StoreError> {
        let taken = || StoreError::Taken {
            id: id.to_owned(),
            store: self.place().to_owned(),
        };
        // A store that cannot be read is left without a folder that nobody needs.
        if self.has(id)? {
            return Err(taken());
        }
        let made = self.folders().make(id)?;
        let hold = match self.folders().lock(id) {
            Err(StoreError::Driven(_)) => return Err(taken()),
            held => held?,
        };
        // Looked for once more, under the lock: whoever held it before may have saved the run.
        if self.has(id)? {
            return Err(taken());
        }
        if made == Made::Old {
            self.folders().clear(&hold)?;
        }
        Ok(hold)
    }

    /// Takes a stored run for this process alone.
    ///
    /// # Errors
    /// [`StoreError::Driven`] where another process holds it, [`StoreError::Unknown`] where there
    /// is no such run.
    fn hold(&self, id: &str) -> Result<Hold, StoreError> {
        if !self.has(id)? {
            return Err(self.unknown(id));
        }
        self.folders().make(id)?;
        self.folders().lock(id)
    }

    /// Replaces the record of the run that is held.
    ///
    /// # Errors
    /// [`StoreError`]; the earlier record stands then.
    fn save(&self, hold: &Hold, record: &Record) -> Result<(), StoreError> {
        let id = &record.run.run_id;
        if hold.id() != id {
            return Err(StoreError::NotHeld {
                saved: id.clone(),
                held: hold.id().to_owned(),
            });
        }
        self.write(id, record)
    }

    /// Asks whoever drives the run to stop.
    ///
    /// # Errors
    /// [`StoreError`] where there is no such run or the request cannot be written.
    fn request_stop(&self, id: &str, reason: &str) -> Result<(), StoreError> {
        self.load(id)?;
        self.folders().leave_stop_request(id, reason)
    }

    /// The error that says that there is no run `id` here.
    fn unknown(&self, id: &str) -> StoreError {
        StoreError::Unknown {
            id: id.to_owned(),
            store: PathBuf::from(self.place()),
        }
    }
}
