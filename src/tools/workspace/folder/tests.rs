use std::fs;
use std::path::Path;

use crate::tools::{FileProblem, Template, Workspace, WorkspaceProblem};

/// A workspace with a file in a folder, and outside of it a secret that nothing may show.
struct World {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/notes.txt"), "secret").unwrap();
        let files = [("notes.txt", "mine"), ("sub/deep.txt", "deep")];
        let template = Template::from_files(files).unwrap();
        let workspace = Workspace::create_folder(&folder.path().join("run"), &template).unwrap();
        Self { folder, workspace }
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.folder.path().join(below)
    }

    fn read(&self, path: &str) -> Result<String, FileProblem> {
        self.workspace.read(path).map_err(|error| error.problem)
    }

    fn delete(&self, path: &str) -> Result<String, FileProblem> {
        self.workspace.delete(path).map_err(|error| error.problem)
    }

    fn assert_secret_is_untouched(&self) {
        let secret = fs::read_to_string(self.path("outside/notes.txt"));
        assert_eq!(secret.unwrap(), "secret");
        assert_eq!(self.workspace.journal().unwrap(), []);
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_workspace_is_files_and_a_journal_and_leaves_nothing_beside() {
    let world = World::new();
    assert_eq!(names_in(world.folder.path()), ["outside", "run"]);
    assert_eq!(names_in(&world.path("run")), ["files"]);
    assert_eq!(
        world.workspace.list().unwrap(),
        ["notes.txt", "sub/deep.txt"]
    );
    assert_eq!(world.delete("notes.txt"), Ok("notes.txt".to_owned()));
    assert_eq!(names_in(&world.path("run")), ["files", "journal.jsonl"]);
}

#[test]
fn what_was_done_is_there_when_it_is_opened_again() {
    let world = World::new();
    world.delete("sub/deep.txt").unwrap();
    let again = Workspace::open_folder(&world.path("run")).unwrap();
    assert_eq!(again.list().unwrap(), ["notes.txt"]);
    assert_eq!(again.journal().unwrap(), world.workspace.journal().unwrap());
    assert_eq!(again.delete("sub/deep.txt").unwrap(), "sub/deep.txt");
    assert_eq!(again.journal().unwrap().len(), 2);
}

#[test]
fn what_exists_is_not_written_over() {
    let world = World::new();
    fs::create_dir(world.path("empty")).unwrap();
    for taken in ["run", "empty", "outside/notes.txt"] {
        let error = Workspace::create_folder(&world.path(taken), &Template::chapter());
        let problem = error.unwrap_err().problem;
        assert!(matches!(problem, WorkspaceProblem::Exists), "{problem}");
    }
    let under_a_file = world.path("outside/notes.txt/run");
    assert!(Workspace::create_folder(&under_a_file, &Template::chapter()).is_err());
    assert_eq!(world.read("notes.txt").unwrap(), "mine");
}

#[test]
fn a_copy_that_was_abandoned_half_way_is_in_nobodys_way() {
    let world = World::new();
    let abandoned = format!(".next.new-{}-0", std::process::id());
    fs::create_dir(world.path(&abandoned)).unwrap();
    let next = Workspace::create_folder(&world.path("next"), &Template::chapter());
    assert_eq!(next.unwrap().list().unwrap().len(), 3);
}

#[test]
fn a_folder_that_is_no_workspace_is_named() {
    let world = World::new();
    let error = Workspace::open_folder(&world.path("outside")).unwrap_err();
    assert!(error.path.ends_with("outside/files"), "{error}");
}

#[test]
fn folders_and_names_below_files_are_told_apart() {
    let world = World::new();
    for folder in [".", "sub", "sub/", "./sub/."] {
        assert_eq!(world.read(folder), Err(FileProblem::Folder), "{folder}");
        assert_eq!(world.delete(folder), Err(FileProblem::Folder), "{folder}");
    }
    for missing in [
        "notes.txt/x",
        "sub/x",
        "x/y",
        "NOTES.TXT",
        "notes.txt.",
        "CON",
    ] {
        assert_eq!(world.read(missing), Err(FileProblem::Missing), "{missing}");
    }
    for outside in [
        "..",
        "../outside/notes.txt",
        "sub/../../outside/notes.txt",
        "/etc/passwd",
    ] {
        assert_eq!(world.read(outside), Err(FileProblem::Denied), "{outside}");
    }
    assert_eq!(world.read("sub//deep.txt"), Ok("deep".to_owned()));
}

#[test]
fn large_files_and_files_that_are_not_text_are_refused() {
    let world = World::new();
    fs::write(world.path("run/files/raw"), b"ab\xff").unwrap();
    assert_eq!(world.read("raw"), Err(FileProblem::NotText { offset: 2 }));
    fs::write(world.path("run/files/big"), vec![b'x'; (1 << 20) + 1]).unwrap();
    let bytes = (1 << 20) + 1;
    assert_eq!(world.read("big"), Err(FileProblem::TooLarge { bytes }));
    fs::write(world.path("run/files/big"), vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(world.read("big").unwrap().len(), 1 << 20);
}

#[test]
fn too_many_files_are_not_listed_and_can_still_be_read() {
    let world = World::new();
    for n in 0..10_000 {
        fs::write(world.path(&format!("run/files/{n}")), "").unwrap();
    }
    let error = world.workspace.list().unwrap_err();
    assert_eq!(error.problem, FileProblem::TooMany);
    assert_eq!(world.read("notes.txt").unwrap(), "mine");
}

#[test]
fn a_broken_journal_stops_a_second_deletion() {
    let world = World::new();
    fs::write(world.path("run/journal.jsonl"), "nonsense\n{}\n").unwrap();
    assert!(matches!(
        world.delete("gone.txt"),
        Err(FileProblem::Broken { .. })
    ));
    let error = world.workspace.journal().unwrap_err().to_string();
    assert!(error.contains("journal.jsonl: line 1 "), "{error}");
}

#[test]
fn a_deletion_that_was_cut_off_is_brought_to_its_end_in_the_journal() {
    const MEANT: &str = "{\"action\":\"deleting\",\"path\":\"notes.txt\",\"operation\":\"r/c1\"}\n";
    const DONE: &str = "{\"action\":\"deleted\",\"path\":\"notes.txt\",\"operation\":\"r/c1\"}\n";
    for gone in [false, true] {
        for cut in 0..=MEANT.len() + DONE.len() {
            // The file is removed when the first line is whole, and before the second begins.
            let possible = if gone {
                cut >= MEANT.len()
            } else {
                cut <= MEANT.len()
            };
            if !possible {
                continue;
            }
            let world = World::new();
            let whole = format!("{MEANT}{DONE}");
            fs::write(world.path("run/journal.jsonl"), &whole[..cut]).unwrap();
            if gone {
                fs::remove_file(world.path("run/files/notes.txt")).unwrap();
            }
            let again = Workspace::open_folder(&world.path("run")).unwrap();
            let executed = again.executed("r/c1").unwrap();
            assert_eq!(executed.is_some(), gone, "{cut}");
            assert_eq!(again.journal().unwrap().len(), usize::from(gone), "{cut}");
        }
    }
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_link_is_denied_wherever_it_leads() {
        let world = World::new();
        let outside = world.path("outside/notes.txt");
        let targets = [
            outside.as_path(),
            Path::new("notes.txt"),
            Path::new("nowhere"),
            Path::new("../../outside/notes.txt"),
        ];
        for target in targets {
            let link = world.path("run/files/link");
            symlink(target, &link).unwrap();
            assert_eq!(world.read("link"), Err(FileProblem::Denied), "{target:?}");
            assert_eq!(world.delete("link"), Err(FileProblem::Denied), "{target:?}");
            assert!(!world.workspace.list().unwrap().contains(&"link".to_owned()));
            fs::remove_file(link).unwrap();
        }
        world.assert_secret_is_untouched();
    }

    #[test]
    fn a_link_to_a_folder_is_denied_and_not_walked() {
        let world = World::new();
        let outside = world.path("outside");
        for target in [
            outside.as_path(),
            Path::new("sub"),
            Path::new("/proc/self/root"),
        ] {
            let link = world.path("run/files/link");
            symlink(target, &link).unwrap();
            for path in ["link", "link/notes.txt", "link/deep.txt", "link/etc/passwd"] {
                assert_eq!(world.read(path), Err(FileProblem::Denied), "{path}");
                assert_eq!(world.delete(path), Err(FileProblem::Denied), "{path}");
            }
            assert_eq!(world.workspace.list().unwrap().len(), 2);
            fs::remove_file(link).unwrap();
        }
        world.assert_secret_is_untouched();
    }

    #[test]
    fn a_file_or_folder_replaced_by_a_link_is_denied() {
        let world = World::new();
        fs::remove_file(world.path("run/files/notes.txt")).unwrap();
        symlink(
            world.path("outside/notes.txt"),
            world.path("run/files/notes.txt"),
        )
        .unwrap();
        assert_eq!(world.read("notes.txt"), Err(FileProblem::Denied));
        fs::remove_dir_all(world.path("run/files/sub")).unwrap();
        symlink(world.path("outside"), world.path("run/files/sub")).unwrap();
        assert_eq!(world.read("sub/notes.txt"), Err(FileProblem::Denied));
        assert_eq!(world.delete("sub/notes.txt"), Err(FileProblem::Denied));
        world.assert_secret_is_untouched();
    }

    #[test]
    fn a_link_swapped_in_while_reading_never_shows_what_is_outside() {
        let world = World::new();
        let files = world.path("run/files");
        fs::create_dir(files.join("a")).unwrap();
        fs::write(files.join("a/notes.txt"), "mine").unwrap();
        symlink(world.path("outside"), files.join("b")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    for (from, to) in [("a", "c"), ("b", "a"), ("a", "b"), ("c", "a")] {
                        fs::rename(files.join(from), files.join(to)).unwrap();
                    }
                }
            });
            let seen: Vec<_> = (0..2_000).map(|_| world.read("a/notes.txt")).collect();
            done.store(true, Ordering::SeqCst);
            for outcome in seen {
                assert_ne!(outcome, Ok("secret".to_owned()));
            }
        });
        assert_eq!(world.read("a/notes.txt"), Ok("mine".to_owned()));
        world.assert_secret_is_untouched();
    }

    #[test]
    fn a_socket_is_denied_and_not_listed() {
        let world = World::new();
        let path = world.path("run/files/socket");
        let _socket = std::os::unix::net::UnixListener::bind(path).unwrap();
        assert_eq!(world.read("socket"), Err(FileProblem::Denied));
        assert_eq!(world.delete("socket"), Err(FileProblem::Denied));
        assert_eq!(world.workspace.list().unwrap().len(), 2);
    }

    #[test]
    fn a_workspace_whose_files_folder_is_a_link_is_not_opened() {
        let world = World::new();
        fs::create_dir(world.path("fake")).unwrap();
        symlink(world.path("outside"), world.path("fake/files")).unwrap();
        assert!(Workspace::open_folder(&world.path("fake")).is_err());
    }
}
