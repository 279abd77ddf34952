//! Getting a text from a file without reading what cannot be one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::problem::{Problem, Problems, Source};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// Why a file did not become a document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system did not let it be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file as it was named.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is a folder, a device or a pipe.
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// The file as it was named.
        path: PathBuf,
    },
    /// It is larger than [`MAX_BYTES`]; it was not read.
    #[error("{}: too large: {MAX_BYTES} bytes at most", path.display())]
    TooLarge {
        /// The file as it was named.
        path: PathBuf,
    },
    /// It was read, and its text is wrong.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

/// The file's bytes. Its size is checked before it is opened, and again while it is read.
pub(super) fn read_limited(path: &Path) -> Result<Vec<u8>, ReadError> {
    let unreadable = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let too_large = || ReadError::TooLarge {
        path: path.to_owned(),
    };
    let metadata = path.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile {
            path: path.to_owned(),
        });
    }
    if metadata.len() > MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len <= MAX_BYTES) {
        Ok(bytes)
    } else {
        Err(too_large())
    }
}

/// The bytes as text, or one problem for each run of bytes that is not UTF-8.
pub(super) fn utf8<'b>(origin: &str, bytes: &'b [u8]) -> Result<&'b str, Problems> {
    std::str::from_utf8(bytes).or_else(|_| {
        let mut text = String::new();
        let mut runs = Vec::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                let start = text.len();
                text.push(char::REPLACEMENT_CHARACTER);
                runs.push((start..text.len(), chunk.invalid()));
            }
        }
        let source = Arc::new(Source::new(origin, &text));
        let problems = runs.into_iter().map(|(span, run)| {
            let message = format!(
                "not UTF-8: byte 0x{:02X}",
                run.first().copied().unwrap_or(0)
            );
            let help = Some("save the file as UTF-8".to_owned());
            Problem::new(&source, span, &message, help)
        });
        Problems::check(problems.collect()).map(|()| "")
    })
}
