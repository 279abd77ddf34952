//! The folder of each run, whatever keeps its record: the lock, the files that its tools work on,
//! its trace, a request to stop.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::error::io_error;
use crate::files::{open_plain, read_plain, sync_folder, write_file};

const WORKSPACE: &str = "workspace";
const TRACE: &str = "trace.jsonl";
const STOP_REQUEST: &str = "stop-request";
const LOCK: &str = "lock";
const MOST_ID_CHARS: usize = 64;

/// A run that this process drives and no other. It ends with the process, however that ends.
#[derive(Debug)]
pub struct Hold {
    id: String,
    _file: File,
}

impl Hold {
    /// The run.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// The folders of the runs of one store.
#[derive(Clone, Debug)]
pub struct Folders {
    top: PathBuf,
}

/// Whether the folder of a run was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    New,
    Old,
}

impl Folders {
    pub(super) fn new(top: &Path) -> Self {
        Self {
            top: top.to_owned(),
        }
    }

    /// The ids of all runs that have a folder, sorted.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder of folders cannot be read.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.top) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error(&self.top, source)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| io_error(&self.top, source))?;
            if entry.path().is_dir() {
                ids.extend(entry.file_name().into_string().ok().filter(|id| is_id(id)));
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// Where the run's tools work.
    ///
    /// # Errors
    /// [`StoreError::BadId`].
    pub fn workspace(&self, id: &str) -> Result<PathBuf, StoreError> {
        Ok(self.of(id)?.join(WORKSPACE))
    }

    /// Where the run's trace is kept.
    ///
    /// # Errors
    /// [`StoreError::BadId`].
    pub fn trace(&self, id: &str) -> Result<PathBuf, StoreError> {
        Ok(self.of(id)?.join(TRACE))
    }

    /// The reason of a request to stop, where somebody has left one that can be read.
    #[must_use]
    pub fn stop_requested(&self, id: &str) -> Option<String> {
        let reason = read_plain(&self.of(id).ok()?.join(STOP_REQUEST)).ok()?;
        String::from_utf8(reason).ok()
    }

    /// Forgets a request to stop, which has been obeyed or overruled.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it cannot be removed.
    pub fn clear_stop_request(&self, id: &str) -> Result<(), StoreError> {
        let path = self.of(id)?.join(STOP_REQUEST);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(io_error(&path, source)),
            _ => Ok(()),
        }
    }

    pub(super) fn leave_stop_request(&self, id: &str, reason: &str) -> Result<(), StoreError> {
        write_file(&self.of(id)?.join(STOP_REQUEST), reason.as_bytes())?;
        Ok(())
    }

    /// The folder of one run.
    pub(super) fn of(&self, id: &str) -> Result<PathBuf, StoreError> {
        if !is_id(id) {
            return Err(StoreError::BadId(id.chars().take(MOST_ID_CHARS).collect()));
        }
        Ok(self.top.join(id))
    }

    /// Makes the folder of a run, if need be.
    pub(super) fn make(&self, id: &str) -> Result<Made, StoreError> {
        let folder = self.of(id)?;
        fs::create_dir_all(&self.top).map_err(|source| io_error(&self.top, source))?;
        match fs::create_dir(&folder).and_then(|()| sync_folder(&self.top)) {
            Ok(()) => Ok(Made::New),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Made::Old),
            Err(source) => Err(io_error(&folder, source)),
        }
    }

    /// Locks a run whose folder is there.
    pub(super) fn lock(&self, id: &str) -> Result<Hold, StoreError> {
        let path = self.of(id)?.join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = open_plain(&path, &options).map_err(|source| io_error(&path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(Hold {
                id: id.to_owned(),
                _file: file,
            }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Driven(id.to_owned())),
            Err(TryLockError::Error(source)) => Err(io_error(&path, source)),
        }
    }

    /// Removes what a process left that died before it saved the run: all but the lock.
    pub(super) fn clear(&self, hold: &Hold) -> Result<(), StoreError> {
        let folder = self.of(&hold.id)?;
        let clear = || -> io::Result<()> {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_name() == LOCK {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        clear().map_err(|source| io_error(&folder, source))
    }
}

/// Ids are single, visible path components on every file system.
fn is_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.len() <= MOST_ID_CHARS && !id.starts_with('.') && id.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_where_the_folders_should_be_is_told_and_no_folder_is_no_run() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("runs");
        assert!(Folders::new(&top).ids().unwrap().is_empty());
        fs::write(&top, "no folder").unwrap();
        let error = Folders::new(&top).ids().unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
    }

    #[test]
    fn a_run_works_and_is_traced_within_its_own_folder() {
        let folders = Folders::new(Path::new("runs"));
        let own = Path::new("runs").join("a");
        assert_eq!(folders.workspace("a").unwrap(), own.join("workspace"));
        assert_eq!(folders.trace("a").unwrap(), own.join("trace.jsonl"));
    }

    #[test]
    fn a_request_to_stop_that_cannot_be_removed_is_told() {
        let place = tempfile::tempdir().unwrap();
        let folders = Folders::new(place.path());
        fs::create_dir_all(place.path().join("a").join(STOP_REQUEST)).unwrap();
        let error = folders.clear_stop_request("a").unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
    }
}
