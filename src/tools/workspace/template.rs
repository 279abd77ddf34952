//! The files that every run starts with.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::MOST_FILES;
use super::error::{WorkspaceError, WorkspaceProblem};
use super::logs::service_logs;
use super::path::FilePath;
use super::walk::{FoundKind, WalkError, walk};

/// The most bytes of a template's files together.
pub(super) const MOST_TOTAL_BYTES: u64 = 64 << 20;

/// Contents by name, sorted by the name's bytes.
pub(super) type Files = BTreeMap<String, Arc<[u8]>>;

/// Files for workspaces to start with; cloning it copies none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    files: Arc<Files>,
}

impl Template {
    /// The three files of the chapter: `access.log`, `errors.log`, `notes.txt`.
    #[must_use]
    pub fn chapter() -> Self {
        let file = |name: &str, contents: &str| (name.to_owned(), contents.as_bytes().into());
        Self::of(Files::from([
            file(
                "access.log",
                include_str!("../../../experiments/world/files/access.log"),
            ),
            file(
                "errors.log",
                include_str!("../../../experiments/world/files/errors.log"),
            ),
            file(
                "notes.txt",
                include_str!("../../../experiments/world/files/notes.txt"),
            ),
        ]))
    }

    /// The built-in files of that name: `service_logs`, a hundred logs of about a thousand tokens
    /// each, `day-0.log` to `day-99.log`, and `on-call.txt`, a short one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        (name == "service_logs").then(|| Self::of(service_logs()))
    }

    /// Files by name (`/` between folders) and contents; of a repeated name the last counts.
    ///
    /// # Errors
    /// [`WorkspaceError`] for a name that a call could not use or that is also a folder, and for
    /// more than 10,000 files or 64 MiB.
    pub fn from_files<N, C>(files: impl IntoIterator<Item = (N, C)>) -> Result<Self, WorkspaceError>
    where
        N: Into<String>,
        C: AsRef<[u8]>,
    {
        let mut builder = Builder::default();
        for (name, contents) in files {
            let name = name.into();
            builder
                .add(&name, contents.as_ref())
                .map_err(|problem| WorkspaceError::new(&name, problem))?;
        }
        builder.finish()
    }

    /// A copy of the files in `path` and its subfolders; empty folders are not kept.
    ///
    /// # Errors
    /// [`WorkspaceError`] for a link, a device or a name that a call could not use, for more than
    /// 10,000 entries or 64 MiB, and where something cannot be read.
    pub fn from_folder(path: &Path) -> Result<Self, WorkspaceError> {
        let at = |below: &str| {
            let path = path.join(below);
            move |problem: WorkspaceProblem| WorkspaceError::new(path, problem)
        };
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| WorkspaceError::new(path, error))?;
        let found = walk(&dir, MOST_FILES).map_err(|error| match error {
            WalkError::TooMany => WorkspaceError::new(path, WorkspaceProblem::TooMany),
            WalkError::TooDeep { path: below } => at(&below)(WorkspaceProblem::TooDeep),
            WalkError::Io { path: below, error } => at(&below)(error.into()),
        })?;
        let mut builder = Builder::default();
        for entry in found {
            let added = plain_file(entry.kind)
                .and_then(|()| read_bounded(&dir, &entry.path))
                .and_then(|contents| builder.add(&entry.path, &contents));
            added.map_err(at(&entry.path))?;
        }
        builder.finish()
    }

    /// The files by name, `/` between folders, in the order of their names.
    pub fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.files.iter();
        files.map(|(name, contents)| (name.as_str(), contents.as_ref()))
    }

    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    fn of(files: Files) -> Self {
        Self {
            files: Arc::new(files),
        }
    }
}

const fn plain_file(kind: FoundKind) -> Result<(), WorkspaceProblem> {
    match kind {
        FoundKind::File => Ok(()),
        FoundKind::Link => Err(WorkspaceProblem::Link),
        FoundKind::Special => Err(WorkspaceProblem::Special),
        FoundKind::Unnameable => Err(WorkspaceProblem::Name),
    }
}

/// Opens the plain file `name`; a link fails, and a pipe does not make us wait for its writer.
pub(super) fn open_plain(dir: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = dir.open_with(name, &options)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// The contents of a file, one byte more than is allowed at most; a larger one is not read.
fn read_bounded(dir: &Dir, path: &str) -> Result<Vec<u8>, WorkspaceProblem> {
    let file = open_plain(dir, path)?;
    if file.metadata()?.len() > MOST_TOTAL_BYTES {
        return Err(WorkspaceProblem::TooLarge);
    }
    let mut contents = Vec::new();
    // It may grow while it is read.
    file.take(MOST_TOTAL_BYTES + 1).read_to_end(&mut contents)?;
    Ok(contents)
}

#[derive(Default)]
struct Builder {
    files: Files,
    bytes: u64,
}

impl Builder {
    fn add(&mut self, name: &str, contents: &[u8]) -> Result<(), WorkspaceProblem> {
        if !FilePath::is_plain(name) {
            return Err(WorkspaceProblem::Name);
        }
        let bytes = u64::try_from(contents.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        self.files.insert(name.to_owned(), contents.into());
        if self.bytes > MOST_TOTAL_BYTES {
            return Err(WorkspaceProblem::TooLarge);
        }
        if self.files.len() > MOST_FILES {
            return Err(WorkspaceProblem::TooMany);
        }
        Ok(())
    }

    fn finish(self) -> Result<Template, WorkspaceError> {
        let is_file = |folder: &str| self.files.contains_key(folder);
        let mut folders = self.files.keys().flat_map(|name| {
            let ends = name.match_indices('/').map(|(end, _)| end);
            ends.map(|end| &name[..end])
        });
        match folders.find(|folder| is_file(folder)) {
            Some(name) => Err(WorkspaceError::new(name, WorkspaceProblem::Clash)),
            None => Ok(Template::of(self.files)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tools::Workspace;

    fn problem(result: Result<Template, WorkspaceError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_copied_with_its_subfolders_and_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/c.txt"), "deep").unwrap();
        fs::write(folder.path().join("raw.bin"), [0xff, 0xfe]).unwrap();
        let template = Template::from_folder(folder.path()).unwrap();
        let files = [
            ("a/b/c.txt", b"deep".as_slice()),
            ("raw.bin", &[0xff, 0xfe]),
        ];
        assert_eq!(template, Template::from_files(files).unwrap());
        let workspace = Workspace::in_memory(&template);
        assert_eq!(workspace.list().unwrap(), ["a/b/c.txt", "raw.bin"]);
        assert_eq!(workspace.read("a/b/c.txt").unwrap(), "deep");
    }

    #[test]
    fn names_that_no_call_could_use_are_refused() {
        for name in ["", ".", "../a", "/a", "a/", "./a", "a\\b", "C:a"] {
            let words = problem(Template::from_files([(name, "")]));
            assert!(words.contains("rename"), "{name:?}: {words}");
        }
        let clash = problem(Template::from_files([("a", ""), ("a/b", "")]));
        assert!(clash.starts_with("a: is a file and also"), "{clash}");
    }

    #[test]
    fn too_much_is_refused() {
        let many = (0..=MOST_FILES).map(|n| (n.to_string(), ""));
        assert!(problem(Template::from_files(many)).contains("10000 files"));
        let half = vec![b'x'; usize::try_from(MOST_TOTAL_BYTES / 2).unwrap() + 1];
        let large = problem(Template::from_files([("a", &half), ("b", &half)]));
        assert!(large.starts_with("b: has more than 67108864"), "{large}");
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        // Without a byte on the disk.
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let read = read_bounded(&dir, "sparse");
        assert!(matches!(read, Err(WorkspaceProblem::TooLarge)), "{read:?}");
        let words = problem(Template::from_folder(folder.path()));
        assert!(words.contains("sparse: has more than 67108864"), "{words}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let words = problem(Template::from_folder(&folder.path().join("gone")));
        assert!(words.contains("gone: "), "{words}");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_wherever_they_lead() {
        use std::os::unix::fs::symlink;
        for target in ["/etc", "real.txt", "nowhere"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("real.txt"), "").unwrap();
            symlink(target, folder.path().join("link")).unwrap();
            let words = problem(Template::from_folder(folder.path()));
            assert!(words.contains("link: is a link"), "{words}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn sockets_and_odd_names_are_refused() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(problem(Template::from_folder(folder.path())).contains("neither"));
        fs::remove_file(socket).unwrap();
        let name = std::ffi::OsStr::from_bytes(b"\xff.txt");
        fs::write(folder.path().join(name), "").unwrap();
        assert!(problem(Template::from_folder(folder.path())).contains("rename"));
    }
}
