//! Runs in a folder: one folder a run, its record replaced whole after every step.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Filter, Folders, Found, Record, Store, StoreError};
use crate::files::{Reach, read_plain, replace_file, unwatched};
use crate::store::error::io_error;

const RECORD: &str = "run.json";

/// Runs in a folder.
#[derive(Clone)]
pub struct FileStore {
    folder: PathBuf,
    folders: Folders,
    reach: Arc<Reach>,
}

impl FileStore {
    /// The store in `folder`, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            folders: Folders::new(folder),
            reach: Arc::new(unwatched()),
        }
    }

    /// The same, with `reach` told of every point of a write at which the process could die; for
    /// tests of just that.
    #[must_use]
    pub fn watched_by(mut self, reach: Arc<Reach>) -> Self {
        self.reach = reach;
        self
    }

    fn record(&self, id: &str) -> Result<PathBuf, StoreError> {
        Ok(self.folders.of(id)?.join(RECORD))
    }
}

impl Store for FileStore {
    fn folders(&self) -> &Folders {
        &self.folders
    }

    fn place(&self) -> &Path {
        &self.folder
    }

    fn has(&self, id: &str) -> Result<bool, StoreError> {
        let path = self.record(id)?;
        path.try_exists().map_err(|source| io_error(&path, source))
    }

    fn write(&self, id: &str, record: &Record) -> Result<(), StoreError> {
        let bytes = record.to_bytes().map_err(|error| StoreError::Unwritable {
            id: id.to_owned(),
            why: error.to_string(),
        })?;
        replace_file(&self.record(id)?, &bytes, self.reach.as_ref())?;
        Ok(())
    }

    fn load(&self, id: &str) -> Result<Record, StoreError> {
        let path = self.record(id)?;
        let bytes = read_plain(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => self.unknown(id),
            _ => io_error(&path, source),
        })?;
        Record::from_bytes(&bytes, id, &path.display().to_string())
    }

    /// Reads every record: the status stands in them alone.
    fn find(&self, filter: Filter) -> Result<Vec<Found>, StoreError> {
        let mut found = Vec::new();
        for id in self.folders.ids()? {
            match self.load(&id) {
                // Its process died before it saved the run, or is about to save it.
                Err(StoreError::Unknown { .. }) => {}
                Ok(record) if !filter.admits(&record.run) => {}
                record => found.push(Found { id, record }),
            }
        }
        Ok(found)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileStore").field(&self.folder).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_tells_a_person_who_debugs_where_it_is() {
        let told = format!("{:?}", FileStore::new(Path::new("runs")));
        assert_eq!(told, "FileStore(\"runs\")");
    }
}
