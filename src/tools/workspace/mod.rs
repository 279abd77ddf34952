//! The files that tools act on: a fresh copy per run, which no path can leave.
//!
//! A workspace is in memory, or a folder `<path>` with the files in `<path>/files/` and the
//! journal of executed writes in `<path>/journal.jsonl`. Both kinds answer alike. A name exists
//! if listing the workspace gives it, byte for byte, also on file systems that are blind to case
//! or to the form of an accent. Links are never followed, not even inside the workspace.

mod error;
mod folder;
mod journal;
mod logs;
mod memory;
mod mount;
mod path;
mod template;
mod walk;

use std::path::Path;
use std::sync::Arc;

pub use error::{FileError, FileProblem, WorkspaceError, WorkspaceProblem};
pub use journal::{Action, JournalEntry};
pub use template::Template;

use folder::Folder;
use memory::Memory;
use path::FilePath;

use crate::files::Reach;

/// The most names that a workspace lists, and the most files of a [`Template`].
const MOST_FILES: usize = 10_000;
/// The largest file that is read, in bytes.
const MOST_FILE_BYTES: u64 = 1 << 20;

/// The files of one run, and the journal of what was done to them.
#[derive(Debug)]
pub struct Workspace {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Memory(Memory),
    Folder(Folder),
}

impl Workspace {
    /// A fresh copy of `template` in memory; nothing is copied until something is deleted.
    #[must_use]
    pub fn in_memory(template: &Template) -> Self {
        Self {
            kind: Kind::Memory(Memory::new(template)),
        }
    }

    /// A fresh copy of `template` in the new folder `path`. The folder appears whole or not at
    /// all: it is built beside `path` and renamed.
    ///
    /// # Errors
    /// [`WorkspaceError`] where something exists at `path`, or the folder cannot be written.
    pub fn create_folder(path: &Path, template: &Template) -> Result<Self, WorkspaceError> {
        Folder::create(path, template).map(Self::of_folder)
    }

    /// The workspace that [`Workspace::create_folder`] made at `path`, as it is now. A deletion
    /// that a crash cut off is brought to its end in the journal, if the file is gone.
    ///
    /// # Errors
    /// [`WorkspaceError`] where there is no such folder, or it cannot be read.
    pub fn open_folder(path: &Path) -> Result<Self, WorkspaceError> {
        Folder::open(path).map(Self::of_folder)
    }

    const fn of_folder(folder: Folder) -> Self {
        Self {
            kind: Kind::Folder(folder),
        }
    }

    /// The names of all files, `/` between folders, in the order of their bytes. Only what can be
    /// read by its name is listed: no links, no devices, no names that are not Unicode.
    ///
    /// # Errors
    /// [`FileError`] for more than 10,000 names, and where a folder cannot be read.
    pub fn list(&self) -> Result<Vec<String>, FileError> {
        let names = match &self.kind {
            Kind::Memory(memory) => Ok(memory.list()),
            Kind::Folder(folder) => folder.list(),
        };
        names.map_err(|problem| FileError::new("", problem))
    }

    /// The text of the file at `path`.
    ///
    /// # Errors
    /// [`FileError`] where `path` leaves the workspace or names no file, and where the file is
    /// larger than 1 MiB or not UTF-8 (a text with replacement characters in it would pass for
    /// the file's own).
    pub fn read(&self, path: &str) -> Result<String, FileError> {
        let bytes = FilePath::parse(path).and_then(|file| match &self.kind {
            Kind::Memory(memory) => memory.read(&file),
            Kind::Folder(folder) => folder.read(&file),
        });
        let text = bytes.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|error| FileProblem::NotText {
                offset: error.utf8_error().valid_up_to(),
            })
        });
        text.map_err(|problem| FileError::new(path, problem))
    }

    /// Deletes the file at `path`, writes that into the journal, and returns the file's name. A
    /// file that the journal says was deleted is deleted again: only the journal grows.
    ///
    /// # Errors
    /// [`FileError`] where `path` leaves the workspace or never named a file.
    pub fn delete(&self, path: &str) -> Result<String, FileError> {
        self.delete_as(path, None)
    }

    /// The same for the call that is known as `operation`, which the journal then names.
    ///
    /// # Errors
    /// Those of [`Workspace::delete`].
    pub fn delete_as(&self, path: &str, operation: Option<&str>) -> Result<String, FileError> {
        let name = FilePath::parse(path).and_then(|file| {
            match &self.kind {
                Kind::Memory(memory) => memory.delete(&file, operation),
                Kind::Folder(folder) => folder.delete(&file, operation),
            }?;
            Ok(file.into_string())
        });
        name.map_err(|problem| FileError::new(path, problem))
    }

    /// What was done for `operation`, if anything was.
    ///
    /// # Errors
    /// [`FileError`] where the journal cannot be read.
    pub fn executed(&self, operation: &str) -> Result<Option<JournalEntry>, FileError> {
        let journal = self.journal().map_err(|error| {
            let why = error.problem.to_string();
            FileError::new("", FileProblem::Broken { why })
        })?;
        let mut entries = journal.into_iter();
        Ok(entries.find(|entry| entry.operation.as_deref() == Some(operation)))
    }

    /// The same, with `reach` told of every point of a write to the disk at which the process
    /// could die; for tests of just that. A workspace in memory has none.
    #[must_use]
    pub fn watched_by(self, reach: Arc<Reach>) -> Self {
        match self.kind {
            Kind::Folder(folder) => Self::of_folder(folder.watched_by(reach)),
            memory @ Kind::Memory(_) => Self { kind: memory },
        }
    }

    /// The writes executed so far, oldest first.
    ///
    /// # Errors
    /// [`WorkspaceError`] where the journal cannot be read. A last line that was cut short by a
    /// crash is left out, and is no error.
    pub fn journal(&self) -> Result<Vec<JournalEntry>, WorkspaceError> {
        match &self.kind {
            Kind::Memory(memory) => Ok(memory.journal()),
            Kind::Folder(folder) => folder.journal(),
        }
    }
}
