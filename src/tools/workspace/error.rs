//! What goes wrong with files: [`FileError`] is for the model, [`WorkspaceError`] for the person
//! who set the workspace up.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{MOST_FILE_BYTES, MOST_FILES};
use crate::tools::words::shown;
use crate::tools::{ErrorKind, ToolError, ToolFailure};

/// Why the file at a path could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The path as it was given; empty where the whole workspace is meant.
    pub path: String,
    /// What is wrong with it.
    pub problem: FileProblem,
}

/// What is wrong with a path, or with what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileProblem {
    /// It is empty.
    Empty,
    /// It leaves the workspace, or passes through or names something that is no plain file.
    Denied,
    /// It names nothing.
    Missing,
    /// It names a folder.
    Folder,
    /// It names a file that is not UTF-8.
    NotText {
        /// The first byte, from 0, that is not.
        offset: usize,
    },
    /// It names a file of more than 1 MiB.
    TooLarge {
        /// The file's size in bytes.
        bytes: u64,
    },
    /// The workspace has more than 10,000 files.
    TooMany,
    /// The operating system, or the journal, failed.
    Broken {
        /// In which way.
        why: String,
    },
}

impl FileError {
    pub(super) fn new(path: &str, problem: FileProblem) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }

    /// Whether another path could help.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self.problem {
            FileProblem::Denied | FileProblem::Broken { .. } => ErrorKind::Permanent,
            _ => ErrorKind::Recoverable,
        }
    }
}

/// The words that the model reads: the path cut to a line and its control characters escaped.
impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HINT: &str = "Call list_files to see what exists.";
        let path = shown(&self.path);
        match &self.problem {
            FileProblem::Empty => write!(f, "the path is empty. {HINT}"),
            FileProblem::Denied => write!(f, "permission denied: {path}"),
            FileProblem::Missing => write!(f, "no such file: {path}. {HINT}"),
            FileProblem::Folder => write!(f, "not a file but a folder: {path}. {HINT}"),
            FileProblem::NotText { offset } => {
                write!(f, "not a text file: {path} (byte {offset} is not UTF-8)")
            }
            FileProblem::TooLarge { bytes } => write!(
                f,
                "file too large: {path} has {bytes} bytes, and {MOST_FILE_BYTES} can be read"
            ),
            FileProblem::TooMany => write!(
                f,
                "there are more than {MOST_FILES} files, too many to list. \
                 A file can still be read by its name."
            ),
            FileProblem::Broken { why } if path.is_empty() => write!(f, "files: {why}"),
            FileProblem::Broken { why } => write!(f, "{path}: {why}"),
        }
    }
}

impl std::error::Error for FileError {}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
        }
    }
}

impl From<FileError> for ToolFailure {
    fn from(error: FileError) -> Self {
        Self::Error(error.into())
    }
}

/// The kind of an I/O error is the same on every machine; its full text is not.
impl From<io::Error> for FileProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::PermissionDenied => Self::Denied,
            kind => Self::Broken {
                why: kind.to_string(),
            },
        }
    }
}

/// Why a workspace could not be made, opened or looked into.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .path.display())]
pub struct WorkspaceError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: WorkspaceProblem,
}

/// What is wrong with a file or folder of a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceProblem {
    /// The operating system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something is there already.
    #[error("already exists: a workspace is made in a new folder")]
    Exists,
    /// It is a link.
    #[error("is a link: a workspace has no links, put the file itself there")]
    Link,
    /// It is neither a file nor a folder.
    #[error("is neither a file nor a folder: remove it")]
    Special,
    /// Its name could not be written in a call.
    #[error("is not a name that a call could use: rename it in Unicode without `\\`")]
    Name,
    /// One name is a file and also the folder of another.
    #[error("is a file and also the folder of another file: rename one")]
    Clash,
    /// There are more than 10,000 files.
    #[error("has more than {MOST_FILES} files: remove some")]
    TooMany,
    /// Folders lie more than 64 deep.
    #[error("lies more than {} folders deep: move it up", super::walk::MOST_DEPTH)]
    TooDeep,
    /// The files have more than 64 MiB together.
    #[error(
        "has more than {} bytes: remove some",
        super::template::MOST_TOTAL_BYTES
    )]
    TooLarge,
    /// A line of the journal is not an entry.
    #[error("line {line} is not a journal entry: restore the file, or start with a new workspace")]
    Journal {
        /// The line, from 1.
        line: usize,
    },
}

impl WorkspaceError {
    pub(super) fn new(path: impl AsRef<Path>, problem: impl Into<WorkspaceProblem>) -> Self {
        Self {
            path: path.as_ref().to_path_buf(),
            problem: problem.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_reads_is_bounded_and_harmless() {
        let path = format!("/etc/\u{1b}[2J\n{}", "x".repeat(1_000_000));
        let words = FileError::new(&path, FileProblem::Denied).to_string();
        assert!(
            words.starts_with(r"permission denied: /etc/\u{1b}[2J\nxxx"),
            "{words}"
        );
        assert!(words.len() < 300);
        assert!(words.ends_with('…'));
    }

    #[test]
    fn an_error_is_permanent_only_where_no_path_could_help() {
        let kind = |problem| FileError::new("a", problem).kind();
        assert_eq!(kind(FileProblem::Denied), ErrorKind::Permanent);
        let why = String::new();
        assert_eq!(kind(FileProblem::Broken { why }), ErrorKind::Permanent);
        for problem in [
            FileProblem::Empty,
            FileProblem::Missing,
            FileProblem::Folder,
            FileProblem::NotText { offset: 0 },
            FileProblem::TooLarge { bytes: 0 },
            FileProblem::TooMany,
        ] {
            assert_eq!(kind(problem), ErrorKind::Recoverable);
        }
    }
}
