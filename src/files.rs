//! Files that are never seen half-written: written beside, synced, renamed into place. What is
//! read of a run's files is read from plain ones alone.

#[cfg(feature = "cli")]
mod abandoned;
mod plain;
mod temporary;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

#[cfg(feature = "cli")]
pub(crate) use abandoned::{TemporaryFolder, remove_abandoned};
#[cfg(feature = "sqlite")]
pub(crate) use plain::not_plain;
pub(crate) use plain::{open_plain, open_to_read, plain, read_all, read_plain};
pub(crate) use temporary::temporary_file;

/// A file that appears under its name when it is complete; dropped before that, it leaves
/// nothing behind.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: BufWriter<NamedTempFile>,
    /// Dropped after the temporary file in them.
    folders: NewFolders,
}

/// Folders that were made for a file, the innermost first. Dropped, those that are empty are
/// removed: so a file that never came leaves no folder behind, and none of another's is touched.
#[derive(Debug)]
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes `folder` and what is missing above it.
    fn make(folder: &Path) -> io::Result<Self> {
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let missing = missing.filter(|folder| !folder.as_os_str().is_empty());
        let made = Self(missing.map(Path::to_owned).collect());
        fs::create_dir_all(folder)?;
        Ok(made)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // One that holds something is not removed, which is what is wanted.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// What committing a file did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The file is new or has new bytes.
    Written,
    /// The file had these bytes already and was left alone.
    Unchanged,
}

/// A file that could not be written: which, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct WriteError {
    /// The file, or the folder for it.
    pub path: PathBuf,
    /// What went wrong.
    pub problem: WriteProblem,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteProblem {
    /// A file has the name that a folder needs.
    #[error("a file stands where a folder is needed: move it away or choose another folder")]
    FileInPlace,
    /// A folder has the name that the file needs.
    #[error("a folder stands where a file is to be written: move it away")]
    FolderInPlace,
    /// The operating system refused.
    #[error("cannot be written: {0}; make the folder writable or choose another one")]
    Io(#[from] io::Error),
}

/// Whether two paths lead to one file that is there.
#[must_use]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// What tells a file from all others, by whatever path it is reached: its device and its inode.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);

/// What tells a file from others, links aside that only such systems have.
#[cfg(not(unix))]
pub(crate) type Identity = PathBuf;

/// What tells the file at `path` from others, if there is one.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// What tells the file at `path` from others, if there is one.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok()
}

/// Writes a whole file at once, unless it has these bytes already.
///
/// # Errors
/// [`WriteError`]; the file is then as it was.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<Commit, WriteError> {
    if read_plain(path).is_ok_and(|there| there == bytes) {
        return Ok(Commit::Unchanged);
    }
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(at(path))?;
    file.commit()
}

/// A point of a write to the disk at which the process could die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Nothing was done yet.
    Begun,
    /// Half of the bytes are written.
    HalfWritten,
    /// All bytes are written, and may still be in the system's memory alone.
    Written,
    /// The bytes are on the disk, and not yet in their place.
    Synced,
    /// The bytes are in their place, and the folder may not be on the disk.
    Renamed,
    /// A file was removed.
    Removed,
    /// Everything was done.
    Done,
}

/// Is told of every point of a write. An error from it is what the write then fails with: so a
/// test can fill the disk at any point, or look at what is there.
pub type Reach = dyn Fn(Point) -> io::Result<()> + Send + Sync;

/// Watches nothing.
pub(crate) fn unwatched() -> impl Fn(Point) -> io::Result<()> + Send + Sync {
    |_| Ok(())
}

/// Replaces a file that one process at a time writes. What is not yet in its place has the name
/// `<path>.new`; what a killed process leaves there is written over by the next.
///
/// # Errors
/// [`WriteError`]; the file is then as it was, or, where its folder could not be synced, new.
pub fn replace_file(path: &Path, bytes: &[u8], reach: &Reach) -> Result<(), WriteError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let replace = || {
        reach(Point::Begun)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut file = open_plain(beside.as_ref(), &options)?;
        let (half, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all(half)?;
        reach(Point::HalfWritten)?;
        file.write_all(rest)?;
        reach(Point::Written)?;
        file.sync_all()?;
        reach(Point::Synced)?;
        fs::rename(&beside, path)?;
        reach(Point::Renamed)?;
        sync_folder(folder_of(path))?;
        reach(Point::Done)
    };
    replace().map_err(at(path))
}

impl AtomicFile {
    /// Begins a file that will be called `path`; makes its folder if need be.
    ///
    /// # Errors
    /// [`WriteError`] if the folder or a file in it cannot be made.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let folder = folder_of(path);
        let folders = NewFolders::make(folder).map_err(|error| folder_error(folder, error))?;
        if path.is_dir() {
            return Err(WriteError {
                path: path.to_owned(),
                problem: WriteProblem::FolderInPlace,
            });
        }
        let temporary = temporary_file(folder).map_err(at(folder))?;
        Ok(Self {
            path: path.to_owned(),
            temporary: BufWriter::new(temporary),
            folders,
        })
    }

    /// Puts the file into its place, durably.
    ///
    /// # Errors
    /// [`WriteError`]; what stood there before still stands.
    pub fn commit(self) -> Result<Commit, WriteError> {
        let path = self.path.clone();
        self.commit_as(&path)
    }

    /// Puts the file into another place than it was begun for, durably; makes its folder if need
    /// be.
    ///
    /// # Errors
    /// [`WriteError`]; what stood there before still stands.
    pub fn commit_as(self, path: &Path) -> Result<Commit, WriteError> {
        let folder = folder_of(path);
        let _made = NewFolders::make(folder).map_err(|error| folder_error(folder, error))?;
        // Kept until the file is in its place: they are empty no more then.
        let _folders = self.folders;
        let temporary = self
            .temporary
            .into_inner()
            .map_err(|error| at(path)(error.into_error()))?;
        if same_bytes(temporary.path(), path) {
            return Ok(Commit::Unchanged);
        }
        temporary.as_file().sync_all().map_err(at(path))?;
        temporary
            .persist(path)
            .map_err(|error| at(path)(error.error))?;
        sync_folder(folder).map_err(at(path))?;
        Ok(Commit::Written)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

pub(crate) fn at<E: Into<WriteProblem>>(path: &Path) -> impl FnOnce(E) -> WriteError {
    let path = path.to_owned();
    move |error| WriteError {
        path,
        problem: error.into(),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Names the file that stands in a folder's place, if that is why the folder cannot be made.
fn folder_error(folder: &Path, error: io::Error) -> WriteError {
    let in_place = folder.ancestors().find(|ancestor| ancestor.is_file());
    match in_place {
        Some(file) => WriteError {
            path: file.to_owned(),
            problem: WriteProblem::FileInPlace,
        },
        None => at(folder)(error),
    }
}

/// Whether two files can be read and have the same bytes.
fn same_bytes(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (open_to_read(one), open_to_read(other)) else {
        return false;
    };
    let length = |file: &File| file.metadata().map(|metadata| metadata.len()).ok();
    if length(&one).is_none() || length(&one) != length(&other) {
        return false;
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (Ok(a), Ok(b)) = (one.fill_buf(), other.fill_buf()) else {
            return false;
        };
        let both = a.len().min(b.len());
        if a[..both] != b[..both] {
            return false;
        }
        if both == 0 {
            return a.is_empty() && b.is_empty();
        }
        one.consume(both);
        other.consume(both);
    }
}

/// Makes a rename in a folder durable.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Folders cannot be synced here; the rename itself is still atomic.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape on every system")]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_the_old_one_or_the_new_one_at_every_point() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        replace_file(&path, b"old bytes", &unwatched()).unwrap();
        let there = path.clone();
        let seen = move |point: Point| {
            let bytes = fs::read(&there)?;
            let expected: &[u8] = if point < Point::Renamed {
                b"old bytes"
            } else {
                b"new"
            };
            assert_eq!(bytes, expected, "{point:?}");
            Ok(())
        };
        replace_file(&path, b"new", &seen).unwrap();
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn what_a_killed_process_left_beside_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        fs::write(
            folder.path().join("run.json.new"),
            "half of something longer",
        )
        .unwrap();
        replace_file(&path, b"whole", &unwatched()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn the_same_bytes_are_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.md");
        assert_eq!(write_file(&path, b"abc").unwrap(), Commit::Written);
        assert_eq!(write_file(&path, b"abc").unwrap(), Commit::Unchanged);
        assert_eq!(write_file(&path, b"abd").unwrap(), Commit::Written);
        assert_eq!(write_file(&path, b"abdc").unwrap(), Commit::Written);
        assert_eq!(fs::read(&path).unwrap(), b"abdc");
        assert_eq!(names(folder.path()), ["table.md"]);
    }

    #[test]
    fn a_file_that_never_comes_leaves_none_of_the_folders_made_for_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("kept")).unwrap();
        let never = AtomicFile::create(&folder.path().join("kept/a/b/never.csv")).unwrap();
        drop(never);
        assert_eq!(names(folder.path()), ["kept"]);
        assert!(names(&folder.path().join("kept")).is_empty());
    }

    #[test]
    fn a_file_in_a_folders_place_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results");
        fs::write(&results, "").unwrap();
        for below in ["cells.csv", "plan/cells.csv"] {
            let error = write_file(&results.join(below), b"x").unwrap_err();
            assert_eq!(error.path, results, "{below}");
            assert!(
                matches!(error.problem, WriteProblem::FileInPlace),
                "{error}"
            );
        }
        let error = write_file(folder.path(), b"x").unwrap_err();
        assert!(
            matches!(error.problem, WriteProblem::FolderInPlace),
            "{error}"
        );
    }
    #[cfg(unix)]
    #[test]
    fn a_written_file_is_not_executable_and_its_owner_can_write_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_file(&path, b"a").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o700, 0o600);
        assert_eq!(mode & 0o111, 0);
    }
}
