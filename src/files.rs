//! Files that are never seen half-written: write beside, sync, rename.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Replaces the file at `path` by `bytes`, or leaves it as it was.
///
/// The bytes go to a temporary file in the same folder, which is synced and then renamed; the
/// folder is synced too, so that the rename survives a power cut.
///
/// # Errors
/// Whatever the file system says; nothing is left behind then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let mut beside = tempfile::Builder::new().prefix(".loopmeter-").tempfile_in(folder)?;
    beside.write_all(bytes)?;
    persist(beside, path)
}

/// Syncs `beside`, gives it its place at `path`, and syncs the folder.
///
/// # Errors
/// Whatever the file system says; the temporary file is removed then.
pub fn persist(beside: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    beside.as_file().sync_all()?;
    make_readable(beside.as_file())?;
    beside.persist(path).map_err(|failed| failed.error)?;
    File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Temporary files are private to their owner; results are meant to be read.
#[cfg(unix)]
fn make_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_stays_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write_atomically(&path, b"old").unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_a_file_is_an_error_and_leaves_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results");
        std::fs::write(&file, "mine").unwrap();
        assert!(write_atomically(&file.join("a.csv"), b"x").is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    }
}
