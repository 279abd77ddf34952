//! Which files are read: those that are named, and those of the folders that are.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::files::open_to_read;

/// The files that were found.
#[derive(Debug, Default)]
pub struct RecordFiles {
    /// Those to read, in the order of reading.
    pub files: Vec<PathBuf>,
    /// How often a file was met that is among those already, by this path or another.
    pub again: u64,
    /// Those of folders that cannot be read, and why.
    pub unreadable: Vec<Unreadable>,
    /// The files without links.
    known: BTreeSet<PathBuf>,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be read: {error}", path.display())]
pub struct Unreadable {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub error: io::Error,
}

/// What files of records end in.
const RECORDS: [&str; 3] = ["jsonl", "json", "traj"];

/// What compressed files end in, and the bytes that they begin with.
const COMPRESSED: [(&str, &[u8]); 4] = [
    ("gz", b"\x1f\x8b"),
    ("zst", b"\x28\xb5\x2f\xfd"),
    ("xz", b"\xfd7zXZ"),
    ("bz2", b"BZh"),
];

/// The files that are meant: files as they are, and of folders what is called `.jsonl`, `.json`
/// or `.traj`, however deep, in the order of their names. What cannot be read in a folder is
/// told and left out, and so is a pipe or a device there; one that is named itself is read. A file
/// that is met twice is read once. `-` is standard input; a file of that name is `./-`.
///
/// # Errors
/// [`Unreadable`] for a path that was named itself.
pub fn record_files(paths: &[PathBuf]) -> Result<RecordFiles, Unreadable> {
    let mut found = RecordFiles::default();
    for path in paths {
        let path = if path == Path::new("-") {
            Path::new("/dev/stdin")
        } else {
            path
        };
        let of_path = |error| Unreadable {
            path: path.to_path_buf(),
            error,
        };
        let kind = fs::metadata(path).map_err(of_path)?;
        if kind.is_dir() {
            found.walk(path).map_err(of_path)?;
            continue;
        }
        // What a pipe begins with can be read once.
        if kind.is_file() {
            File::open(path)
                .and_then(begins_with_text)
                .map_err(of_path)?;
        }
        found.take(path);
    }
    Ok(found)
}

impl RecordFiles {
    /// Takes a file, once.
    fn take(&mut self, path: &Path) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if self.known.insert(real) {
            self.files.push(path.to_path_buf());
        } else {
            self.again += 1;
        }
    }

    fn walk(&mut self, folder: &Path) -> io::Result<()> {
        let entries = fs::read_dir(folder)?;
        let mut entries: Vec<fs::DirEntry> = entries.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let seen = if entry.file_type()?.is_dir() {
                self.walk(&path)
            } else if is_record(&path) {
                open_to_read(&path)
                    .and_then(begins_with_text)
                    .map(|()| self.take(&path))
            } else {
                Ok(())
            };
            if let Err(error) = seen {
                self.unreadable.push(Unreadable { path, error });
            }
        }
        Ok(())
    }
}

/// Whether a file of a folder is called a record, compressed or not.
fn is_record(path: &Path) -> bool {
    let ending = |path: &Path| {
        path.extension()
            .and_then(|ending| ending.to_str())
            .map(str::to_owned)
    };
    let is_compressed = |ending: &String| COMPRESSED.iter().any(|(known, _)| known == ending);
    let last = match ending(path) {
        Some(last) if is_compressed(&last) => path.file_stem().map(Path::new).and_then(ending),
        last => last,
    };
    last.is_some_and(|last| RECORDS.contains(&last.as_str()))
}

/// Whether a file can be read and begins with text.
fn begins_with_text(file: File) -> io::Result<()> {
    let mut begin = Vec::new();
    file.take(8).read_to_end(&mut begin)?;
    if COMPRESSED.iter().any(|(_, magic)| begin.starts_with(magic)) {
        return Err(io::Error::other("compressed: unpack it first"));
    }
    Ok(())
}
