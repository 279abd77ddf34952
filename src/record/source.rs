//! Files as pieces: a line each, an element of an array each, or the whole of a file that is one
//! document.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Place;
use super::elements::{Elements, Next};

/// How many bytes are read before what was read is worked on.
const BATCH: usize = 16 << 20;
/// The longest line, or document, that is read.
pub(super) const MOST: u64 = 256 << 20;

/// A part of a file.
#[derive(Debug)]
pub(super) enum Raw {
    /// A line, an element of an array, or a document.
    Piece {
        place: Place,
        /// How many bytes stand before it in its line.
        before: usize,
        bytes: Vec<u8>,
    },
    /// A line or an element that is longer than is read.
    TooLong(Place),
    /// The file ends inside of an array.
    Cut(Place),
    /// A file cannot be opened, or not be read behind this place.
    Unread(Place, io::Error),
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
    /// How many lines were read; inside of an array, the number of the line.
    line: u64,
    /// The array whose elements are read.
    array: Option<Elements>,
}

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

    /// The next pieces, in order; none at the end of the last file. A file that cannot be read on
    /// is at its end there.
    pub(super) fn batch(&mut self) -> Vec<Raw> {
        let mut batch = Vec::new();
        let until = self.bytes.saturating_add(BATCH as u64);
        while self.bytes < until || batch.is_empty() {
            let begun = self.open.take().map(Ok);
            let Some(open) = begun.or_else(|| self.files.next().map(|path| Open::new(path))) else {
                break;
            };
            let read = open.and_then(|mut open| {
                let read = open.piece().map_err(|error| (open.next_line(), error));
                self.open = Some(open);
                read
            });
            match read {
                Ok((piece, bytes)) => {
                    self.bytes = self.bytes.saturating_add(bytes);
                    if matches!(piece, Some(Raw::End)) {
                        self.open = None;
                    }
                    batch.extend(piece);
                }
                Err((place, error)) => {
                    self.open = None;
                    batch.extend([Raw::Unread(place, error), Raw::End]);
                }
            }
        }
        batch
    }
}

impl Open {
    fn new(path: &Path) -> Result<Self, (Place, io::Error)> {
        let file: Arc<Path> = path.into();
        let first = || Place {
            file: Arc::clone(&file),
            line: 1,
            element: None,
        };
        let reader = File::open(path).map_err(|error| (first(), error))?;
        let mut open = Self {
            file: Arc::clone(&file),
            reader: BufReader::with_capacity(1 << 20, reader),
            line: 0,
            array: None,
        };
        if let Some(length) = open.bracket().map_err(|error| (first(), error))? {
            open.array = Some(Elements::after(&open.reader.buffer()[..length]));
            open.reader.consume(length);
        }
        Ok(open)
    }

    /// How long the beginning of a file is that is one array, its bracket included.
    fn bracket(&mut self) -> io::Result<Option<usize>> {
        let called = matches!(self.ending(), Some("json" | "traj"));
        let begin = self.reader.fill_buf()?;
        let mark = "\u{feff}".as_bytes();
        let text = begin.strip_prefix(mark).unwrap_or(begin);
        let Some(rest) = text.trim_ascii_start().strip_prefix(b"[") else {
            return Ok(None);
        };
        // A line of a file of lines may be an array too.
        let line = rest.iter().position(|byte| *byte == b'\n');
        let is_alone = line.is_some_and(|end| rest[..end].trim_ascii().is_empty());
        Ok((called || is_alone).then_some(begin.len() - rest.len()))
    }

    fn ending(&self) -> Option<&str> {
        self.file.extension()?.to_str()
    }

    fn place(&self) -> Place {
        Place {
            file: Arc::clone(&self.file),
            line: self.line,
            element: None,
        }
    }

    /// Where reading goes on.
    fn next_line(&self) -> Place {
        let mut place = self.place();
        place.line += 1;
        place
    }

    /// The next element of an array, and how many bytes it took.
    fn element(&mut self, mut array: Elements) -> io::Result<(Option<Raw>, u64)> {
        let (next, bytes) = array.next(&mut self.reader)?;
        let place = Place {
            line: array.line(),
            element: Some(array.number()),
            ..self.place()
        };
        let raw = match next {
            Next::Element {
                line,
                before,
                bytes,
            } => {
                let place = Place { line, ..place };
                Raw::Piece {
                    place,
                    before,
                    bytes,
                }
            }
            Next::TooLong { line } => Raw::TooLong(Place { line, ..place }),
            Next::End => {
                // What else stands in the line is read as a line.
                self.line = array.line() - 1;
                return Ok((None, bytes));
            }
            Next::Cut => {
                self.line = array.line();
                let element = None;
                return Ok((Some(Raw::Cut(Place { element, ..place })), bytes));
            }
        };
        self.array = Some(array);
        Ok((Some(raw), bytes))
    }

    /// The next piece, if the next line is not blank, and how many bytes it took.
    fn piece(&mut self) -> io::Result<(Option<Raw>, u64)> {
        if let Some(array) = self.array.take() {
            return self.element(array);
        }
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
            return Ok((
                Some(Raw::Piece {
                    place,
                    before: 0,
                    bytes,
                }),
                whole,
            ));
        }
        if bytes.trim_ascii().is_empty() {
            return Ok((None, read));
        }
        let place = self.place();
        Ok((
            Some(Raw::Piece {
                place,
                before: 0,
                bytes,
            }),
            read,
        ))
    }

    /// Whether a file that begins with this line is one document: laid out over several lines, or
    /// called one and not done with its first line.
    fn is_document(&self, first: &[u8]) -> bool {
        let first = first.trim_ascii();
        match first {
            b"" => false,
            b"{" => true,
            _ if matches!(self.ending(), Some("json" | "traj")) => {
                serde_json::from_slice::<serde::de::IgnoredAny>(first).is_err()
            }
            _ => false,
        }
    }
}
