//! What killed processes left of what they were just writing: it is removed, and nothing that anybody
//! holds.

use std::fs::File;
#[cfg(unix)]
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::{Builder, TempDir};

#[cfg(unix)]
use super::temporary::{FILE, is_at, is_held};

/// What the names of folders begin with.
const FOLDER: &str = ".loopmeter-accept-";

/// A folder that goes when it is dropped, and is held until then.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: TempDir,
    _held: Held,
}

/// What holds a folder.
#[cfg(unix)]
type Held = File;
#[cfg(not(unix))]
type Held = ();

impl TemporaryFolder {
    /// Makes one in `place`.
    ///
    /// # Errors
    /// Those of making it.
    pub(crate) fn in_place(place: &Path) -> io::Result<Self> {
        loop {
            let folder = Builder::new().prefix(FOLDER).tempdir_in(place)?;
            match hold_folder(folder.path()) {
                Ok(Some(held)) => {
                    return Ok(Self {
                        folder,
                        _held: held,
                    });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                // Somebody has taken it for one that was left.
                Ok(None) | Err(_) => {}
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes from `place` the files and folders that nobody holds. What cannot be removed stays.
#[cfg(unix)]
pub(crate) fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        // What cannot be removed shall not keep anybody from writing results.
        let _ = if kind.is_file() && name.starts_with(FILE.0) && name.ends_with(FILE.1) {
            super::open_plain(&path, OpenOptions::new().write(true))
                .and_then(|file| remove_unheld(&file, &path, |path| fs::remove_file(path)))
        } else if kind.is_dir() && name.starts_with(FOLDER) {
            File::open(&path)
                .and_then(|folder| remove_unheld(&folder, &path, |path| fs::remove_dir_all(path)))
        } else {
            Ok(())
        };
    }
}

/// Nothing is held here, so nothing is known to be abandoned.
#[cfg(not(unix))]
pub(crate) fn remove_abandoned(_place: &Path) {}

/// Removes `path`, which `opened` is, unless somebody holds it or the system cannot tell.
#[cfg(unix)]
fn remove_unheld(
    opened: &File,
    path: &Path,
    remove: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    // Held until it is gone: its maker, if that has not held it yet, makes another one.
    if opened.try_lock().is_ok() && is_at(opened, path)? {
        remove(path)?;
    }
    Ok(())
}

/// The folder at `path`, if it is this process's from now on.
#[cfg(unix)]
fn hold_folder(path: &Path) -> io::Result<Option<Held>> {
    let folder = File::open(path)?;
    Ok(is_held(&folder, path)?.then_some(folder))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape on every system")]
fn hold_folder(_path: &Path) -> io::Result<Option<Held>> {
    Ok(Some(()))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::files::{temporary_file, write_file};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_nobody_holds_is_removed_and_all_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at(".loopmeter-killed.tmp"), "rows").unwrap();
        fs::create_dir(at(".loopmeter-accept-killed")).unwrap();
        fs::write(at(".loopmeter-accept-killed/cells.csv"), "rows").unwrap();
        let others = [".loopmeter-notes", "cells.csv", "x.tmp"];
        for other in others {
            fs::write(at(other), "mine").unwrap();
        }
        std::os::unix::fs::symlink("cells.csv", at(".loopmeter-link.tmp")).unwrap();
        let file = temporary_file(folder.path()).unwrap();
        let held = TemporaryFolder::in_place(folder.path()).unwrap();
        remove_abandoned(folder.path());
        assert!(file.path().exists() && held.path().exists());
        drop((file, held));
        let mut left = others.to_vec();
        left.push(".loopmeter-link.tmp");
        left.sort_unstable();
        assert_eq!(names(folder.path()), left);
    }

    #[test]
    fn who_writes_while_others_remove_what_was_left_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (place, done) = (folder.path(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let remover = || {
                while !done.load(Ordering::Relaxed) {
                    remove_abandoned(place);
                }
            };
            let removers = [scope.spawn(remover), scope.spawn(remover)];
            let write = |writer: u32| {
                for round in 0..200 {
                    let path = place.join(writer.to_string());
                    write_file(&path, format!("{round}").as_bytes()).unwrap();
                    let held = TemporaryFolder::in_place(place).unwrap();
                    fs::write(held.path().join("cells.csv"), "rows").unwrap();
                }
            };
            let writers: Vec<_> = (0..2)
                .map(|writer| scope.spawn(move || write(writer)))
                .collect();
            let ended: Vec<_> = writers
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect();
            done.store(true, Ordering::Relaxed);
            assert!(ended.iter().all(Result::is_ok));
            for remover in removers {
                remover.join().unwrap();
            }
        });
        assert_eq!(names(place), ["0", "1"]);
    }
}
