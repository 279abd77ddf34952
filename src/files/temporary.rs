//! What is written before it is moved into its place, held by whoever writes it: so what a killed
//! process left can be told from what another one is just writing, and be removed.

#[cfg(unix)]
use std::fs;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// What the names of files begin and end with.
pub(super) const FILE: (&str, &str) = (".loopmeter-", ".tmp");

/// A file in `place`, held as long as it is open. As for any file, the process's umask decides who
/// reads it.
///
/// # Errors
/// Those of making it.
pub(crate) fn temporary_file(place: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(FILE.0).suffix(FILE.1);
    builder.make_in(place, |path| {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        if is_held(&file, path)? {
            Ok(file)
        } else {
            // Somebody has taken it for one that was left; this asks for another name.
            Err(io::ErrorKind::AlreadyExists.into())
        }
    })
}

/// Whether `made`, just made at `path`, is this process's from now on and still there. On file
/// systems without locks it is, and nobody removes it.
#[cfg(unix)]
pub(super) fn is_held(made: &File, path: &Path) -> io::Result<bool> {
    match made.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Ok(()) | Err(fs::TryLockError::Error(_)) => is_at(made, path),
    }
}

/// Locks would keep the file from being read by its path here.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape on every system")]
pub(super) fn is_held(_made: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Whether `path` leads to what is open.
#[cfg(unix)]
pub(super) fn is_at(opened: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    let opened = opened.metadata()?;
    Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino()))
}
