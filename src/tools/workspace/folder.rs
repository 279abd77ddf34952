//! A workspace in a real folder, for runs that outlive their process.
//!
//! Every step from the top goes through the handle of the folder before it, and neither a step
//! nor the last open follows a link: what is swapped in between two steps fails to open.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, OpenOptions};

use super::error::{FileProblem, WorkspaceError, WorkspaceProblem};
use super::journal::{self, Action, JournalEntry};
use super::mount::is_mounted_on;
use super::path::FilePath;
use super::template::{Template, open_plain};
use super::walk::{FoundKind, WalkError, walk};
use super::{MOST_FILE_BYTES, MOST_FILES};
use crate::files::{Point, Reach, unwatched};

/// The folder of the files, beside the journal.
const FILES: &str = "files";

pub(super) struct Folder {
    path: PathBuf,
    /// Holds the journal.
    root: Dir,
    files: Dir,
    /// Held while a deletion is executed and journalled, so that the journal has their order.
    deleting: Mutex<()>,
    reach: Arc<Reach>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let root = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| WorkspaceError::new(path, error))?;
        let files = root
            .open_dir_nofollow(FILES)
            .map_err(|error| WorkspaceError::new(path.join(FILES), error))?;
        let folder = Self {
            path: path.to_path_buf(),
            root,
            files,
            deleting: Mutex::default(),
            reach: Arc::new(unwatched()),
        };
        folder
            .settle()
            .map_err(|problem| WorkspaceError::new(path.join(journal::FILE), problem))?;
        Ok(folder)
    }

    pub(super) fn watched_by(mut self, reach: Arc<Reach>) -> Self {
        self.reach = reach;
        self
    }

    pub(super) fn create(path: &Path, template: &Template) -> Result<Self, WorkspaceError> {
        let failed = |error: io::Error| WorkspaceError::new(path, error);
        if fs::symlink_metadata(path).is_ok() {
            return Err(WorkspaceError::new(path, WorkspaceProblem::Exists));
        }
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let beside = create_beside(parent, path).map_err(failed)?;
        let built = fill(&beside, template).and_then(|()| fs::rename(&beside, path));
        if let Err(error) = built {
            // The first error is the one to report; what is left has a name that says it is ours.
            drop(fs::remove_dir_all(&beside));
            return Err(failed(error));
        }
        sync_folder(parent).map_err(failed)?;
        Self::open(path)
    }

    pub(super) fn list(&self) -> Result<Vec<String>, FileProblem> {
        let found = walk(&self.files, MOST_FILES).map_err(|error| match error {
            WalkError::TooMany => FileProblem::TooMany,
            WalkError::TooDeep { path } => FileProblem::Broken {
                why: format!("a folder lies too deep: {path}"),
            },
            WalkError::Io { path, error } => FileProblem::Broken {
                why: format!("the folder {path:?} cannot be read: {}", error.kind()),
            },
        })?;
        let readable = found
            .into_iter()
            .filter(|entry| entry.kind == FoundKind::File && FilePath::is_plain(&entry.path));
        Ok(readable.map(|entry| entry.path).collect())
    }

    pub(super) fn read(&self, path: &FilePath) -> Result<Vec<u8>, FileProblem> {
        let (parent, name) = self.find(path)?;
        let file = open_plain(&parent, name).map_err(|error| blame(&parent, name, error))?;
        if is_mounted_on(&file)? {
            return Err(FileProblem::Denied);
        }
        let too_large = |bytes| Err(FileProblem::TooLarge { bytes });
        let bytes = file.metadata()?.len();
        if bytes > MOST_FILE_BYTES {
            return too_large(bytes);
        }
        let mut contents = Vec::new();
        file.take(MOST_FILE_BYTES + 1).read_to_end(&mut contents)?;
        match u64::try_from(contents.len()) {
            Ok(bytes) if bytes > MOST_FILE_BYTES => too_large(bytes),
            _ => Ok(contents),
        }
    }

    /// Journals what is about to be done, does it, and journals that it was done.
    pub(super) fn delete(&self, path: &FilePath, by: Option<&str>) -> Result<(), FileProblem> {
        let _one_at_a_time = self.deleting.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle().map_err(broken)?;
        let done = JournalEntry::deleted(path.as_str(), by);
        match self.find(path) {
            Ok((parent, name)) => self.remove(&parent, name, &done),
            Err(FileProblem::Missing) => {
                let entries = journal::read(&self.root).map_err(broken)?;
                if !entries
                    .iter()
                    .any(|entry| entry.says_deleted(path.as_str()))
                {
                    return Err(FileProblem::Missing);
                }
                self.append(&done).map_err(|error| broken(error.into()))
            }
            Err(problem) => Err(problem),
        }
    }

    fn remove(&self, parent: &Dir, name: &str, done: &JournalEntry) -> Result<(), FileProblem> {
        self.append(&done.meant())
            .map_err(|error| broken(error.into()))?;
        parent
            .remove_file(name)
            .map_err(|error| blame(parent, name, error))?;
        // The file is gone and the journal says for whom, so the deletion was done, whatever
        // becomes of the line that says so: `settle` adds it.
        let said = (self.reach)(Point::Removed)
            .and_then(|()| sync_dir(parent))
            .and_then(|()| self.append(done));
        drop(said);
        Ok(())
    }

    /// Ends what a crash, or a full disk, left half-done: where the last entry says that a file is
    /// about to be deleted and there is no such file, it was deleted.
    fn settle(&self) -> Result<(), WorkspaceProblem> {
        let entries = journal::read(&self.root)?;
        let Some(last) = entries.last().filter(|e| e.action == Action::Deleting) else {
            return Ok(());
        };
        let gone = FilePath::parse(&last.path)
            .is_ok_and(|path| matches!(self.find(&path), Err(FileProblem::Missing)));
        if gone {
            self.append(&last.executed())?;
        }
        Ok(())
    }

    fn append(&self, entry: &JournalEntry) -> io::Result<()> {
        journal::append(&self.root, entry, self.reach.as_ref())
    }

    /// What the journal says was done.
    pub(super) fn journal(&self) -> Result<Vec<JournalEntry>, WorkspaceError> {
        let mut entries = journal::read(&self.root)
            .map_err(|problem| WorkspaceError::new(self.path.join(journal::FILE), problem))?;
        entries.retain(|entry| entry.action == Action::Deleted);
        Ok(entries)
    }

    /// The folder that holds the plain file at `path`, and the file's name in it.
    fn find<'p>(&self, path: &'p FilePath) -> Result<(Dir, &'p str), FileProblem> {
        let (folders, name) = path.split().ok_or(FileProblem::Folder)?;
        let mut dir = self.files.try_clone()?;
        for folder in folders {
            match listed(&dir, folder)? {
                kind if kind.is_dir() => {}
                kind if kind.is_file() => return Err(FileProblem::Missing),
                _ => return Err(FileProblem::Denied),
            }
            dir = dir
                .open_dir_nofollow(folder)
                .map_err(|error| blame(&dir, folder, error))?;
            if is_mounted_on(&dir)? {
                return Err(FileProblem::Denied);
            }
        }
        match listed(&dir, name)? {
            kind if kind.is_file() => Ok((dir, name)),
            kind if kind.is_dir() => Err(FileProblem::Folder),
            _ => Err(FileProblem::Denied),
        }
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path).finish()
    }
}

/// What `dir` lists under exactly this name. Opening by name would be quicker and would find
/// `NOTES.TXT`, `notes.txt.` or a device where the file system is blind to the difference.
fn listed(dir: &Dir, name: &str) -> Result<FileType, FileProblem> {
    for entry in dir.entries()? {
        let entry = entry?;
        if entry.file_name() == name {
            return Ok(entry.file_type()?);
        }
    }
    Err(FileProblem::Missing)
}

/// The problem behind a failed open: a link that was swapped in fails in a different way on every
/// platform, and is `Denied` on all of them.
fn blame(dir: &Dir, name: &str, error: io::Error) -> FileProblem {
    match dir.symlink_metadata(name) {
        Ok(now) if now.is_symlink() => FileProblem::Denied,
        _ => error.into(),
    }
}

fn broken(problem: WorkspaceProblem) -> FileProblem {
    let why = match problem {
        WorkspaceProblem::Io(error) => error.kind().to_string(),
        other => other.to_string(),
    };
    FileProblem::Broken {
        why: format!("the journal of the workspace: {why}"),
    }
}

/// A new folder in `parent` with a name of its own, on the same file system as `path`.
fn create_beside(parent: &Path, path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut attempt = 0_u64;
    loop {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".new-{}-{attempt}", std::process::id()));
        let beside = parent.join(beside);
        match fs::create_dir(&beside) {
            Ok(()) => return Ok(beside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn fill(root: &Path, template: &Template) -> io::Result<()> {
    let top = Dir::open_ambient_dir(root, ambient_authority())?;
    top.create_dir(FILES)?;
    let files = top.open_dir(FILES)?;
    for (name, contents) in template.files().iter() {
        if let Some((folder, _)) = name.rsplit_once('/') {
            files.create_dir_all(folder)?;
        }
        let mut file = files.open_with(name, OpenOptions::new().write(true).create_new(true))?;
        file.write_all(contents)?;
        file.sync_all()?;
    }
    sync_folder(&root.join(FILES))?;
    sync_folder(root)
}

/// Makes a removal in a folder durable, where the platform can.
fn sync_dir(folder: &Dir) -> io::Result<()> {
    if cfg!(unix) {
        folder.open(".")?.sync_all()
    } else {
        Ok(())
    }
}

/// Makes the names in a folder durable, where the platform can.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
