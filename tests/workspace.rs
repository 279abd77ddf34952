//! What a workspace in a real folder does when the folder changes under it, and when names are not
//! what they seem. Outside of it lies a secret that nothing may show, change or remove.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]
#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use loopmeter::tools::{FileProblem, Template, Workspace};

const SECRET: &str = "secret";

struct World {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/notes.txt"), SECRET).unwrap();
        let files = [("notes.txt", "mine"), ("sub/notes.txt", "mine")];
        let template = Template::from_files(files).unwrap();
        let workspace = Workspace::create_folder(&folder.path().join("run"), &template).unwrap();
        Self { folder, workspace }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn file(&self, below: &str) -> PathBuf {
        self.path("run/files").join(below)
    }

    fn read(&self, path: &str) -> Result<String, FileProblem> {
        self.workspace.read(path).map_err(|error| error.problem)
    }

    fn delete(&self, path: &str) -> Result<String, FileProblem> {
        self.workspace.delete(path).map_err(|error| error.problem)
    }

    fn assert_denied(&self, path: &str) {
        assert_eq!(self.read(path), Err(FileProblem::Denied), "{path}");
        assert_eq!(self.delete(path), Err(FileProblem::Denied), "{path}");
    }

    fn assert_secret_is_untouched(&self) {
        let secret = fs::read_to_string(self.path("outside/notes.txt"));
        assert_eq!(secret.unwrap(), SECRET);
    }
}

/// Runs `work` many times while another thread goes through `swaps` again and again.
fn while_swapping(rounds: usize, swaps: impl Fn() + Sync, mut work: impl FnMut()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                swaps();
            }
        });
        for _ in 0..rounds {
            work();
        }
        done.store(true, Ordering::SeqCst);
    });
}

/// Puts `what` in the place of `at` in one step, as somebody who races us would.
fn place(at: &std::path::Path, make: impl FnOnce(&std::path::Path)) {
    let beside = at.with_extension("next");
    make(&beside);
    fs::rename(beside, at).unwrap();
}

#[test]
fn a_file_that_turns_into_a_link_and_back_never_shows_what_is_outside() {
    let world = World::new();
    let at = world.file("notes.txt");
    let outside = world.path("outside/notes.txt");
    let mut seen = [0, 0];
    while_swapping(
        4_000,
        || {
            place(&at, |next| symlink(&outside, next).unwrap());
            place(&at, |next| fs::write(next, "mine").unwrap());
        },
        || match world.read("notes.txt") {
            Ok(text) => {
                assert!(text.is_empty() || text == "mine", "{text}");
                seen[0] += 1;
            }
            Err(problem) => {
                assert!(
                    matches!(problem, FileProblem::Denied | FileProblem::Missing),
                    "{problem:?}"
                );
                seen[1] += 1;
            }
        },
    );
    assert!(seen[0] > 0, "never read: {seen:?}");
    world.assert_secret_is_untouched();
}

#[test]
fn a_folder_that_turns_into_a_link_and_back_never_has_what_is_outside_deleted() {
    let world = World::new();
    let (sub, kept, link) = (world.file("sub"), world.file("kept"), world.file("link"));
    symlink(world.path("outside"), &link).unwrap();
    let mut deleted = 0;
    while_swapping(
        2_000,
        || {
            fs::rename(&sub, &kept).unwrap();
            fs::rename(&link, &sub).unwrap();
            fs::rename(&sub, &link).unwrap();
            fs::rename(&kept, &sub).unwrap();
        },
        || {
            // What was deleted comes back, wherever its folder is at the moment.
            for folder in [&sub, &kept] {
                let is_link = fs::symlink_metadata(folder).is_ok_and(|it| it.is_symlink());
                if !is_link && !folder.join("other.txt").exists() {
                    let _ = fs::write(folder.join("other.txt"), "mine");
                }
            }
            deleted += usize::from(world.delete("sub/notes.txt").is_ok());
            world.assert_secret_is_untouched();
        },
    );
    assert!(deleted > 0);
    world.assert_secret_is_untouched();
}

#[test]
fn a_file_that_turns_into_a_pipe_keeps_nobody_waiting() {
    let world = World::new();
    let at = world.file("notes.txt");
    while_swapping(
        1_000,
        || {
            place(&at, |next| special(next, &["p"]).then_some(()).unwrap());
            place(&at, |next| fs::write(next, "mine").unwrap());
        },
        || match world.read("notes.txt") {
            Ok(text) => assert!(text.is_empty() || text == "mine"),
            Err(problem) => assert!(
                matches!(problem, FileProblem::Denied | FileProblem::Missing),
                "{problem:?}"
            ),
        },
    );
}

/// Makes a pipe or a device, where that is allowed.
fn special(at: &std::path::Path, kind: &[&str]) -> bool {
    let made = Command::new("mknod").arg(at).args(kind).output();
    made.is_ok_and(|made| made.status.success())
}

#[test]
fn pipes_and_devices_are_denied_at_once_and_not_listed() {
    let world = World::new();
    assert!(special(&world.file("pipe"), &["p"]));
    world.assert_denied("pipe");
    for (name, numbers) in [("zero", ["c", "1", "5"]), ("disk", ["b", "7", "0"])] {
        // Only root makes devices.
        if special(&world.file(name), &numbers) {
            world.assert_denied(name);
        }
    }
    assert_eq!(
        world.workspace.list().unwrap(),
        ["notes.txt", "sub/notes.txt"]
    );
    assert!(Template::from_folder(&world.path("run/files")).is_err());
}

#[test]
fn a_journal_that_is_a_pipe_a_device_or_a_link_stops_deletions_and_keeps_nobody_waiting() {
    for kind in ["pipe", "device", "link"] {
        let world = World::new();
        let journal = world.path("run/journal.jsonl");
        let made = match kind {
            "pipe" => special(&journal, &["p"]),
            "device" => special(&journal, &["c", "1", "5"]),
            _ => symlink(world.path("outside/notes.txt"), &journal).is_ok(),
        };
        if made {
            assert!(world.workspace.journal().is_err(), "{kind}");
            assert!(matches!(
                world.delete("notes.txt"),
                Err(FileProblem::Broken { .. })
            ));
            world.assert_secret_is_untouched();
        }
    }
}

#[test]
fn the_ways_out_through_proc_are_links_like_any_other() {
    let world = World::new();
    for target in [
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/self/fd",
        "/dev/fd",
        "/proc/1/root",
    ] {
        let link = world.file("link");
        symlink(target, &link).unwrap();
        for path in [
            "link",
            "link/0",
            "link/etc/hostname",
            "link/etc/../etc/hostname",
        ] {
            world.assert_denied(path);
        }
        fs::remove_file(link).unwrap();
    }
    let root = ["proc/self/root", "etc/hostname"].join("/");
    assert_eq!(world.read(&root), Err(FileProblem::Missing));
    world.assert_denied(&format!("/{root}"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_mounted_in_a_workspace_is_no_part_of_it() {
    let world = World::new();
    fs::create_dir(world.file("up")).unwrap();
    let mount = |from: PathBuf, to: PathBuf| {
        let done = Command::new("mount")
            .arg("--bind")
            .args([from, to])
            .output();
        done.is_ok_and(|done| done.status.success())
    };
    let folder = mount(world.path("run/files/.."), world.file("up"));
    let file = mount(world.path("outside/notes.txt"), world.file("sub/notes.txt"));
    let seen = (
        world.read("up/files/notes.txt"),
        world.delete("up/files/notes.txt"),
        world.read("sub/notes.txt"),
        world.delete("sub/notes.txt"),
        world.workspace.list(),
    );
    for at in ["up", "sub/notes.txt"] {
        let _ = Command::new("umount").arg(world.file(at)).output();
    }
    if !(folder && file) {
        println!("nothing can be mounted here: not tried");
        return;
    }
    assert_eq!(seen.0, Err(FileProblem::Denied));
    assert_eq!(seen.1, Err(FileProblem::Denied));
    assert_eq!(seen.2, Err(FileProblem::Denied));
    assert!(seen.3.is_err(), "{:?}", seen.3);
    assert!(!seen.4.unwrap().iter().any(|name| name.starts_with("up/")));
    world.assert_secret_is_untouched();
}

#[test]
fn a_file_has_one_name_to_the_letter() {
    let world = World::new();
    let composed = "caf\u{e9}.txt";
    fs::write(world.file(composed), "mine").unwrap();
    assert_eq!(world.read(composed), Ok("mine".to_owned()));
    for other in [
        "cafe\u{301}.txt",
        "CAF\u{c9}.TXT",
        "Notes.txt",
        "NOTES.TXT",
        "notes.txt ",
        " notes.txt",
        "notes.txt.",
        "notes\u{200b}.txt",
        "notes.t\u{445}t",
        "\u{ff4e}otes.txt",
        "\u{202e}notes.txt",
        "sub/NOTES.txt",
        "SUB/notes.txt",
    ] {
        assert_eq!(world.read(other), Err(FileProblem::Missing), "{other:?}");
        assert_eq!(world.delete(other), Err(FileProblem::Missing), "{other:?}");
    }
}

#[test]
fn names_of_any_length_and_with_any_letter_are_answered() {
    let world = World::new();
    for length in [255, 256, 4_096, 1 << 20] {
        let long = "n".repeat(length);
        assert_eq!(world.read(&long), Err(FileProblem::Missing), "{length}");
        let deep = "d/".repeat(length) + "n";
        assert_eq!(world.read(&deep), Err(FileProblem::Missing), "{length}");
        let up = "../".repeat(length);
        assert_eq!(world.delete(&up), Err(FileProblem::Denied), "{length}");
    }
    for nul in [
        "\0",
        "notes.txt\0",
        "no\0tes.txt",
        "sub/\0/notes.txt",
        "\0../outside",
    ] {
        world.assert_denied(nul);
    }
}
