//! Going through a folder without following anything out of it.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, FileType};

use super::mount::is_mounted_on;

/// How deep folders may lie; each level holds one folder open.
pub(super) const MOST_DEPTH: usize = 64;

/// What lies in a folder, at any depth.
#[derive(Debug)]
pub(super) struct Found {
    /// Its path from the top, `/` between components.
    pub(super) path: String,
    /// What it is.
    pub(super) kind: FoundKind,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundKind {
    /// A plain file.
    File,
    /// A link, to anything.
    Link,
    /// A device, a pipe, a socket, or a folder that something is mounted on.
    Special,
    /// Something whose name is not Unicode; the path shows it with replacement characters.
    Unnameable,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(super) enum WalkError {
    /// It saw more than it was allowed to.
    TooMany,
    /// The folder at `path` lies too deep.
    TooDeep {
        /// Its path from the top.
        path: String,
    },
    /// The folder at `path` could not be read.
    Io {
        /// Its path from the top; empty for the top itself.
        path: String,
        /// What the operating system said.
        error: io::Error,
    },
}

/// Everything in `dir` that is not a folder, sorted by path; folders count towards `most` too.
pub(super) fn walk(dir: &Dir, most: usize) -> Result<Vec<Found>, WalkError> {
    let mut walk = Walk {
        found: Vec::new(),
        left: most,
    };
    walk.enter(dir, "", MOST_DEPTH)?;
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.found)
}

struct Walk {
    found: Vec<Found>,
    left: usize,
}

impl Walk {
    fn enter(&mut self, dir: &Dir, path: &str, depth: usize) -> Result<(), WalkError> {
        let failed = |path: &str| {
            let path = path.to_owned();
            |error| WalkError::Io { path, error }
        };
        for entry in dir.entries().map_err(failed(path))? {
            let entry = entry.map_err(failed(path))?;
            self.left = self.left.checked_sub(1).ok_or(WalkError::TooMany)?;
            let os_name = entry.file_name();
            let name = os_name.to_string_lossy();
            let below = match path {
                "" => name.clone().into_owned(),
                folder => format!("{folder}/{name}"),
            };
            let kind = entry.file_type().map_err(failed(&below))?;
            if os_name.to_str().is_none() {
                self.add(below, FoundKind::Unnameable);
            } else if kind.is_dir() {
                let depth = depth.checked_sub(1).ok_or_else(|| WalkError::TooDeep {
                    path: below.clone(),
                })?;
                let inner = dir.open_dir_nofollow(&os_name).map_err(failed(&below))?;
                if is_mounted_on(&inner).map_err(failed(&below))? {
                    self.add(below, FoundKind::Special);
                } else {
                    self.enter(&inner, &below, depth)?;
                }
            } else {
                self.add(below, kind_of(kind));
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, kind: FoundKind) {
        self.found.push(Found { path, kind });
    }
}

fn kind_of(file_type: FileType) -> FoundKind {
    if file_type.is_file() {
        FoundKind::File
    } else if file_type.is_symlink() {
        FoundKind::Link
    } else {
        FoundKind::Special
    }
}
