//! Plain files, and nothing that only looks like one: a pipe would keep its reader waiting, a
//! device may never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of one file of a run: its record, its trace, its journal. They are read whole.
const MOST_BYTES: u64 = 1 << 30;

/// Opens `path` as `options` say if a plain file is there, or can be made; waits for nobody at the
/// other end of a pipe.
///
/// # Errors
/// Those of opening it; [`io::ErrorKind::PermissionDenied`] where something else is there.
pub(crate) fn open_plain(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match without_waiting(options).open(path) {
        Ok(file) => plain(file),
        Err(error) if has_nobody_at_its_end(&error) => Err(not_plain()),
        Err(error) => Err(error),
    }
}

/// Opens the plain file at `path` to read it.
///
/// # Errors
/// Those of [`open_plain`].
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    open_plain(path, OpenOptions::new().read(true))
}

/// `file`, if it is a plain one. It has to have been opened so that the opening could not wait.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] where it is something else.
pub(crate) fn plain(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(not_plain())
    }
}

/// All bytes of the plain file at `path`.
///
/// # Errors
/// Those of [`open_to_read`] and of [`read_all`].
pub(crate) fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    read_all(&mut open_to_read(path)?)
}

/// What is left of `file`, a plain one of 1 GiB at most.
///
/// # Errors
/// Those of reading it; [`io::ErrorKind::FileTooLarge`].
pub(crate) fn read_all(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = file.metadata()?.len();
    if length <= MOST_BYTES {
        bytes.try_reserve_exact(usize::try_from(length).unwrap_or_default())?;
        // It may grow while it is read.
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if length > MOST_BYTES || bytes.len() as u64 > MOST_BYTES {
        let words = "it is larger than 1 GiB, as no file of a run is";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

pub(crate) fn not_plain() -> io::Error {
    let words =
        "no plain file, but a folder, a pipe or a device has its name; move that out of the way";
    io::Error::new(io::ErrorKind::PermissionDenied, words)
}

#[cfg(unix)]
fn without_waiting(options: &OpenOptions) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = options.clone();
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

/// Nothing that is found by a path waits for a partner here.
#[cfg(not(unix))]
fn without_waiting(options: &OpenOptions) -> OpenOptions {
    options.clone()
}

/// Whether it is the error of a pipe that nobody reads.
#[cfg(unix)]
fn has_nobody_at_its_end(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(not(unix))]
fn has_nobody_at_its_end(_error: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_file_is_read_whole_and_a_missing_one_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let missing = read_plain(&path).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "whole").unwrap();
        assert_eq!(read_plain(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_file_of_more_than_a_gibibyte_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        // Without a byte on the disk.
        File::create(&path)
            .unwrap()
            .set_len(MOST_BYTES + 1)
            .unwrap();
        let error = read_plain(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_folders_are_refused_at_once_however_they_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for name in ["pipe", "device", "folder"] {
            let error = read_plain(&at(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
        for name in ["pipe", "device"] {
            let writing = OpenOptions::new().write(true).create(true).clone();
            let error = open_plain(&at(name), &writing).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
            let appending = OpenOptions::new().append(true).read(true).clone();
            let error = open_plain(&at(name), &appending).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
    }
}
