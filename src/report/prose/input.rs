//! Reading a text without reading what cannot be one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::edition::Place;
use super::text::BREAK;

/// The largest text that is read, in bytes: a whole book, and no archive of one.
pub const MAX_BYTES: u64 = 4 << 20;

/// Why a file is no text.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system did not let it be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file as it was named.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is a folder or a device.
    #[error("{}: not a regular file; name the files of the translation", path.display())]
    NotAFile {
        /// The file as it was named.
        path: PathBuf,
    },
    /// It is larger than [`MAX_BYTES`]; it was not read.
    #[error("{}: too large: {MAX_BYTES} bytes at most; check a chapter at a time", path.display())]
    TooLarge {
        /// The file as it was named.
        path: PathBuf,
    },
    /// It is not UTF-8.
    #[error("{}:{place}: not UTF-8: byte 0x{byte:02X}; save the file as UTF-8", path.display())]
    NotUtf8 {
        /// The file as it was named.
        path: PathBuf,
        /// The first such byte.
        place: Place,
        /// Its value.
        byte: u8,
    },
    /// It has a byte that no text has.
    #[error("{}:{place}: a zero byte: this is no text; export it as text, Markdown or HTML", path.display())]
    Binary {
        /// The file as it was named.
        path: PathBuf,
        /// The first such byte.
        place: Place,
    },
}

/// Reads a text file of at most [`MAX_BYTES`].
///
/// # Errors
/// [`InputError`].
pub fn read_text(path: &Path) -> Result<String, InputError> {
    let owned = || path.to_owned();
    let unreadable = |source| InputError::Io {
        path: owned(),
        source,
    };
    let metadata = path.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(InputError::NotAFile { path: owned() });
    }
    if metadata.len() > MAX_BYTES {
        return Err(InputError::TooLarge { path: owned() });
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_BYTES) {
        return Err(InputError::TooLarge { path: owned() });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let byte = bytes.get(at).copied().unwrap_or(0);
        let place = end_of(&String::from_utf8_lossy(
            bytes.get(..at).unwrap_or_default(),
        ));
        InputError::NotUtf8 {
            path: owned(),
            place,
            byte,
        }
    })?;
    match text.find(BREAK) {
        Some(at) => Err(InputError::Binary {
            path: owned(),
            place: end_of(text.get(..at).unwrap_or_default()),
        }),
        None => Ok(text),
    }
}

/// The place after a text.
fn end_of(text: &str) -> Place {
    let last = text.rsplit('\n').next().unwrap_or_default();
    Place {
        line: text.matches('\n').count() + 1,
        column: last.chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let message = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let error = read_text(&path).unwrap_err();
            error.to_string()
        };
        assert!(
            message("latin.txt", b"one\ncaf\xe9 2").contains("latin.txt:2:4: not UTF-8: byte 0xE9")
        );
        assert!(message("zero.txt", b"one\n\xc3\xa9\0").contains("zero.txt:2:2: a zero byte"));
        assert!(message("utf16.txt", b"\xff\xfe1\0").contains("utf16.txt:1:1: not UTF-8"));
        let large = vec![b'5'; usize::try_from(MAX_BYTES).unwrap() + 1];
        assert!(message("large.txt", &large).contains("too large"));
        let message = |path: &Path| read_text(path).unwrap_err().to_string();
        assert!(message(folder.path()).contains("not a regular file"));
        assert!(message(&folder.path().join("gone")).contains("gone: cannot be read"));
    }

    #[test]
    fn the_largest_text_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.txt");
        let text = "5".repeat(usize::try_from(MAX_BYTES).unwrap());
        std::fs::write(&path, &text).unwrap();
        assert!(read_text(&path).unwrap() == text);
    }
}
