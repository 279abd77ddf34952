//! The built program in a folder of its own, and what it says.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// What a process left behind.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the exit code and returns what was printed.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Asserts that all is well and nothing stands on standard error.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        assert_eq!(self.stderr, "", "{self}");
        self.stdout
    }

    /// Asserts that the input was refused with words on standard error only, and returns them.
    #[track_caller]
    pub(crate) fn refused(self) -> String {
        assert_eq!(self.code, Some(2), "{self}");
        assert_eq!(self.stdout, "", "{self}");
        self.stderr
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        write!(f, "exit {code:?}\n{stdout}\n{stderr}")
    }
}

/// A folder in which the program is run.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One with copies of some folders of this repository.
    pub(crate) fn with(folders: &[&str]) -> Self {
        let folder = Self::empty();
        for name in folders {
            copy(&repository().join(name), &folder.path().join(name));
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below the folder and returns what it is called from there.
    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    /// Puts `to` in the place of the first `from` in a file.
    #[track_caller]
    pub(crate) fn change(&self, file: &str, from: &str, to: &str) -> &Self {
        let text = self.read(file);
        assert!(text.contains(from), "no {from:?} in {file}:\n{text}");
        self.write(file, text.replacen(from, to, 1))
    }

    /// The program, about to be run here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopmeter"));
        command
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    /// Runs the program, which is killed where it waits for somebody who never comes.
    #[cfg(unix)]
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for another process, not for a clock"
    )]
    pub(crate) fn run_soon(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        for _ in 0..6_000 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        // It has ended, unless it waits.
        let _ = child.kill();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Puts a pipe that nobody reads or writes in the place of a file below the folder.
    #[cfg(unix)]
    pub(crate) fn pipe(&self, file: &str) {
        let path = self.path().join(file);
        fs::remove_file(&path).unwrap();
        let made = Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    /// Every file below a folder, by its path from there.
    pub(crate) fn files(&self, below: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.path().join(below))
    }
}

/// Where this repository is.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder, by its path from there.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for (file, content) in files(from) {
        let path = to.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}
