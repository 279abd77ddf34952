//! Files as pieces: a line each, or the whole of a file that is one document.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Place;

/// How many bytes are read before what was read is worked on.
const BATCH: usize = 16 << 20;
/// The longest line, or document, that is read.
pub(super) const MOST: u64 = 256 << 20;

/// A part of a file.
#[derive(Debug)]
pub(super) enum Raw {
    /// A line, or a document.
    Piece { place: Place, bytes: Vec<u8> },
    /// A line that is longer than is read.
    TooLong(Place),
    /// A file is at its end.
    End,
}

/// Reads files one after the other.
pub(super) struct Source<'f> {
    files: std::slice::Iter<'f, PathBuf>,
    open: Option<Open>,
    bytes: u64,
}

struct Open {
    file: Arc<Path>,
    reader: BufReader<File>,
    line: u64,
}

/// A file that cannot be read.
pub(super) type Unreadable = (PathBuf, io::Error);

impl<'f> Source<'f> {
    pub(super) fn new(files: &'f [PathBuf]) -> Self {
        Self {
            files: files.iter(),
            open: None,
            bytes: 0,
        }
    }

    /// How many bytes were read so far.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next pieces, in order; none at the end of the last file.
    pub(super) fn batch(&mut self) -> Result<Vec<Raw>, Unreadable> {
        let mut batch = Vec::new();
        let until = self.bytes.saturating_add(BATCH as u64);
        while self.bytes < until || batch.is_empty() {
            if self.open.is_none() {
                let Some(path) = self.files.next() else {
                    break;
                };
                self.open = Some(Open::new(path).map_err(|error| (path.clone(), error))?);
            }
            let Some(open) = &mut self.open else { break };
            let read = open.piece();
            let (piece, bytes) = read.map_err(|error| (open.file.to_path_buf(), error))?;
            self.bytes = self.bytes.saturating_add(bytes);
            if matches!(piece, Some(Raw::End)) {
                self.open = None;
            }
            batch.extend(piece);
        }
        Ok(batch)
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: path.into(),
            reader: BufReader::with_capacity(1 << 20, File::open(path)?),
            line: 0,
        })
    }

    fn place(&self) -> Place {
        Place {
            file: Arc::clone(&self.file),
            line: self.line,
        }
    }

    /// The next piece, if the next line is not blank, and how many bytes it took.
    fn piece(&mut self) -> io::Result<(Option<Raw>, u64)> {
        let mut bytes = Vec::new();
        let is_first = self.line == 0;
        let read = (&mut self.reader)
            .take(MOST)
            .read_until(b'\n', &mut bytes)? as u64;
        if read == 0 {
            return Ok((Some(Raw::End), 0));
        }
        self.line += 1;
        if read == MOST && bytes.last() != Some(&b'\n') {
            let rest = self.reader.skip_until(b'\n')? as u64;
            return Ok((Some(Raw::TooLong(self.place())), read.saturating_add(rest)));
        }
        if is_first && bytes.starts_with("\u{feff}".as_bytes()) {
            bytes.drain(..3);
        }
        if is_first && self.is_document(&bytes) {
            let rest = (&mut self.reader).take(MOST).read_to_end(&mut bytes)? as u64;
            let whole = read.saturating_add(rest);
            let place = self.place();
            if rest == MOST {
                return Ok((Some(Raw::TooLong(place)), whole));
            }
            return Ok((Some(Raw::Piece { place, bytes }), whole));
        }
        if bytes.trim_ascii().is_empty() {
            return Ok((None, read));
        }
        let place = self.place();
        Ok((Some(Raw::Piece { place, bytes }), read))
    }

    /// Whether a file that begins with this line is one document: laid out over several lines, or
    /// called one and not done with its first line.
    fn is_document(&self, first: &[u8]) -> bool {
        let first = first.trim_ascii();
        let called = self.file.extension().and_then(|ending| ending.to_str());
        match first {
            b"" => false,
            b"{" | b"[" => true,
            _ if matches!(called, Some("json" | "traj")) => {
                serde_json::from_slice::<serde::de::IgnoredAny>(first).is_err()
            }
            _ => false,
        }
    }
}

/// The files that are meant: files as they are, and of folders what is called `.jsonl`, `.json`
/// or `.traj`, however deep, in the order of their names.
///
/// # Errors
/// A path that cannot be looked at, with the reason.
pub fn record_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut files = Vec::new();
    for path in paths {
        let of_path = |error| (path.clone(), error);
        if fs::metadata(path).map_err(of_path)?.is_dir() {
            walk(path, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
    let of_folder = |error| (folder.to_owned(), error);
    let entries = fs::read_dir(folder).map_err(of_folder)?;
    let mut entries: Vec<fs::DirEntry> = entries.collect::<Result<_, _>>().map_err(of_folder)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(of_folder)?);
        let ending = path.extension().and_then(|ending| ending.to_str());
        if kind.is_dir() {
            walk(&path, files)?;
        } else if matches!(ending, Some("jsonl" | "json" | "traj")) {
            files.push(path);
        }
    }
    Ok(())
}
