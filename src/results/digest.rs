//! Digests of committed files that are not made again by a check: who changes a byte is seen.
//!
//! The digests of a folder stand in it as `SHA256SUMS`, in the format of `sha256sum`, so that
//! `sha256sum --check SHA256SUMS` verifies them without this program.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::files::{Commit, WriteError, open_to_read, write_file};

/// The file that holds the digests of its folder.
pub const DIGESTS_FILE: &str = "SHA256SUMS";

/// Length of a digest in hexadecimal digits.
const HEX_DIGITS: usize = 64;

/// A file that is not as its digest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The file's name in the folder.
    pub file: String,
    /// What is wrong with it.
    pub problem: MismatchProblem,
}

/// What is wrong with a file that should match a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MismatchProblem {
    /// Its bytes are others.
    Changed {
        /// The digest that is stored.
        was: String,
        /// The digest of the bytes.
        is: String,
    },
    /// It is not there.
    Gone,
    /// It is there and has no digest.
    Unlisted,
}

/// Why digests cannot be written or verified.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// A file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The digests cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A line of the digests is none.
    #[error(
        "{}:{line}: not a digest: 64 hexadecimal digits, two spaces and the name of a file in \
         the folder are expected; write the digests again",
        path.display()
    )]
    Malformed {
        /// The file of digests.
        path: PathBuf,
        /// The line in it, from 1.
        line: usize,
    },
    /// A name that the format cannot hold.
    #[error("{0:?} is not the name of a file in the folder")]
    Name(String),
}

/// Writes the digests of some files of a folder.
///
/// # Errors
/// [`DigestError`] if a file cannot be read, is not directly in the folder, or the digests cannot
/// be written.
pub fn write_digests(folder: &Path, files: &[&str]) -> Result<Commit, DigestError> {
    let mut digests = BTreeMap::new();
    for file in files {
        if !is_plain_name(file) {
            return Err(DigestError::Name((*file).to_owned()));
        }
        digests.insert(*file, digest_of(&folder.join(file))?);
    }
    let mut text = String::new();
    for (file, digest) in digests {
        let _ = writeln!(text, "{digest}  {file}");
    }
    Ok(write_file(&folder.join(DIGESTS_FILE), text.as_bytes())?)
}

/// Compares the files of a folder with their digests, by name. Hidden files and folders in it need
/// no digest.
///
/// # Errors
/// [`DigestError`] if the digests, or a file that has one, cannot be read.
pub fn verify_digests(folder: &Path) -> Result<Vec<Mismatch>, DigestError> {
    let stored = read_digests(&folder.join(DIGESTS_FILE))?;
    let mut mismatches = BTreeMap::new();
    for (file, was) in &stored {
        let path = folder.join(file);
        if !path.is_file() {
            mismatches.insert(file.clone(), MismatchProblem::Gone);
            continue;
        }
        let is = digest_of(&path)?;
        if is != *was {
            mismatches.insert(
                file.clone(),
                MismatchProblem::Changed {
                    was: was.clone(),
                    is,
                },
            );
        }
    }
    for file in visible_files(folder).map_err(reading(folder))? {
        if file != DIGESTS_FILE && !stored.contains_key(&file) {
            mismatches.insert(file, MismatchProblem::Unlisted);
        }
    }
    let named = mismatches
        .into_iter()
        .map(|(file, problem)| Mismatch { file, problem });
    Ok(named.collect())
}

fn read_digests(path: &Path) -> Result<BTreeMap<String, String>, DigestError> {
    let text = open_to_read(path).and_then(io::read_to_string);
    let text = text.map_err(reading(path))?;
    let mut digests = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let parsed = parse_line(line).filter(|(file, _)| !digests.contains_key(file));
        let malformed = || DigestError::Malformed {
            path: path.to_owned(),
            line: index + 1,
        };
        let (file, digest) = parsed.ok_or_else(malformed)?;
        digests.insert(file, digest);
    }
    Ok(digests)
}

fn parse_line(line: &str) -> Option<(String, String)> {
    let (digest, file) = line.split_once("  ")?;
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let valid = digest.len() == HEX_DIGITS && digest.bytes().all(is_hex) && is_plain_name(file);
    valid.then(|| (file.to_owned(), digest.to_owned()))
}

/// Whether this names a file directly in a folder and fits on a line of the format.
fn is_plain_name(name: &str) -> bool {
    let is_odd = |letter: char| matches!(letter, '/' | '\\') || letter.is_control();
    !name.is_empty() && name != "." && name != ".." && !name.contains(is_odd)
}

fn visible_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !name.starts_with('.') {
            files.push(name);
        }
    }
    Ok(files)
}

/// The SHA-256 of a file in lowercase hexadecimal digits.
///
/// # Errors
/// [`DigestError::Read`] if it cannot be read.
pub fn digest_of(path: &Path) -> Result<String, DigestError> {
    let mut file = open_to_read(path).map_err(reading(path))?;
    let mut hasher = Hasher::default();
    let mut buffer = [0; 8_192];
    loop {
        match file.read(&mut buffer).map_err(reading(path))? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hasher.finish())
}

/// A digest of bytes that come piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The SHA-256 of all of them in lowercase hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        hex(self.0.finalize().iter())
    }
}

/// The SHA-256 of some bytes, in lowercase hexadecimal digits.
#[must_use]
pub fn digest_of_bytes(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).iter())
}

/// How many bytes of a digest are printed where it stands for a text among others: enough that
/// no change goes unseen by chance.
const SHORT_BYTES: usize = 8;

/// The beginning of the SHA-256 of some bytes, in lowercase hexadecimal digits.
#[must_use]
pub fn short_digest(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).iter().take(SHORT_BYTES))
}

fn hex<'b>(bytes: impl Iterator<Item = &'b u8>) -> String {
    let mut digits = String::with_capacity(HEX_DIGITS);
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> DigestError {
    let path = path.to_owned();
    move |source| DigestError::Read { path, source }
}

/// `cells.csv: was 9f86d0…, is e3b0c4…`.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        match &self.problem {
            MismatchProblem::Changed { was, is } => {
                write!(f, "was {}…, is {}…", beginning(was), beginning(is))
            }
            MismatchProblem::Gone => f.write_str("is gone"),
            MismatchProblem::Unlisted => write!(f, "has no digest in {DIGESTS_FILE}"),
        }
    }
}

fn beginning(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cells.csv"), "abc").unwrap();
        fs::write(folder.path().join("table.md"), "").unwrap();
        write_digests(folder.path(), &["table.md", "cells.csv"]).unwrap();
        folder
    }

    fn mismatches(folder: &Path) -> Vec<String> {
        verify_digests(folder)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn digests_are_written_by_name_in_the_common_format() {
        let folder = folder();
        let text = fs::read_to_string(folder.path().join(DIGESTS_FILE)).unwrap();
        assert_eq!(
            text,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  cells.csv\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  table.md\n"
        );
        assert_eq!(mismatches(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn whatever_changed_is_named() {
        let folder = folder();
        fs::write(folder.path().join("cells.csv"), "abd").unwrap();
        fs::remove_file(folder.path().join("table.md")).unwrap();
        fs::write(folder.path().join("turns.csv"), "").unwrap();
        fs::write(folder.path().join(".hidden"), "").unwrap();
        assert_eq!(
            mismatches(folder.path()),
            [
                "cells.csv: was ba7816bf8f01…, is a52d159f262b…",
                "table.md: is gone",
                "turns.csv: has no digest in SHA256SUMS"
            ]
        );
    }

    #[test]
    fn names_outside_the_folder_and_broken_lines_are_refused() {
        let folder = folder();
        for name in ["", ".", "..", "../x", "a/b", "a\\b", "a\nb"] {
            let refused = write_digests(folder.path(), &[name]);
            assert!(matches!(refused, Err(DigestError::Name(_))), "{name:?}");
        }
        let digests = folder.path().join(DIGESTS_FILE);
        let hex = "0".repeat(HEX_DIGITS);
        let broken = [
            "zz  cells.csv".to_owned(),
            format!("{hex} cells.csv"),
            format!("{hex}  ../cells.csv"),
            format!("{hex}  a\n{hex}  a"),
        ];
        for text in broken {
            fs::write(&digests, &text).unwrap();
            let refused = verify_digests(folder.path());
            assert!(
                matches!(refused, Err(DigestError::Malformed { .. })),
                "{text}"
            );
        }
        fs::remove_file(&digests).unwrap();
        assert!(matches!(
            verify_digests(folder.path()),
            Err(DigestError::Read { .. })
        ));
    }
}
