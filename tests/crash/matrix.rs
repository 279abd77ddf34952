//! The matrix: every run, cut off at every point of every write, for every store, and taken up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use loopmeter::files::Point;
use tempfile::TempDir;

use crate::camera::{Camera, Picture, develop};
use crate::case::{self, Case};
use crate::stage::{Ended, Kept, Stage};

/// A folder in memory, where there is one: what survives is what the process has written, and
/// waiting for a disk would prove no more.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// How many points were tried, and how many of them left something that no other did.
#[derive(Default)]
struct Tried {
    points: usize,
    distinct: usize,
    settled: u32,
}

fn try_all(kept: Kept) -> Tried {
    let mut tried = Tried::default();
    for case in case::all() {
        let folder = scratch();
        let camera = Camera::over(folder.path());
        let stage = Stage {
            reach: camera.reach(),
            ..Stage::new(kept, folder.path())
        };
        let straight = stage.start(&case).unwrap();
        assert_eq!(straight.settled, 0);
        let mut pictures = camera.pictures();
        pictures.extend(torn(&pictures));
        tried.points += pictures.len();
        let mut seen = BTreeSet::new();
        for (point, picture) in pictures {
            if seen.insert(picture.clone()) {
                tried.settled += survives(kept, &case, &picture, (&straight, point));
            }
        }
        tried.distinct += seen.len();
    }
    tried
}

/// The run on `picture` ends as the straight one did. Returns how often the person was asked.
fn survives(kept: Kept, case: &Case, picture: &Picture, (straight, point): (&Ended, Point)) -> u32 {
    let folder = scratch();
    develop(picture, folder.path());
    let resumed = Stage::new(kept, folder.path()).take_up(case, straight);
    let resumed = resumed.unwrap_or_else(|error| panic!("{}, {point:?}: {error}", case.name));
    let place = format!("{} in {kept:?}, cut off at {point:?}", case.name);
    let (run, expected) = (&resumed.run, &straight.run);
    assert_eq!(run.status, expected.status, "{place}");
    assert_eq!(run.messages, expected.messages, "{place}");
    assert_eq!(run.cost, expected.cost, "{place}");
    assert_eq!(run.usage, expected.usage, "{place}");
    assert_eq!(run.turns, expected.turns, "{place}");
    assert_eq!(run.output, expected.output, "{place}");
    assert_eq!(resumed.files, straight.files, "{place}");
    // The same writes, each once: none lost, none twice.
    assert_eq!(resumed.journal, straight.journal, "{place}");
    resumed.settled
}

/// What a process leaves that dies while the database appends to its log: the log cut off at
/// every page that a write added, and in the middle of it.
fn torn(pictures: &[(Point, Picture)]) -> Vec<(Point, Picture)> {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 4096;
    let log = PathBuf::from("runs.db-wal");
    let mut torn = Vec::new();
    for pair in pictures.windows(2) {
        let [(_, before), (point, after)] = pair else {
            continue;
        };
        let length = |picture: &Picture| picture.get(&log).map_or(0, Vec::len);
        let (from, to) = (length(before), length(after));
        let half_frames = (0..).map(|half| HEADER + half * FRAME / 2);
        let cuts = half_frames
            .take_while(|cut| *cut < to)
            .filter(|cut| *cut > from);
        for cut in cuts {
            let mut picture = after.clone();
            if let Some(bytes) = picture.get_mut(&log) {
                bytes.truncate(cut);
            }
            torn.push((*point, picture));
        }
    }
    torn
}

fn report(kept: Kept) {
    let Tried {
        points,
        distinct,
        settled,
    } = try_all(kept);
    println!(
        "{kept:?}: {} runs cut off at {points} points, {distinct} of them different on the disk; \
         {settled} times a person had to say what became of a write",
        case::all().len()
    );
    assert!(distinct > 300, "{distinct} points are not a matrix");
    assert!(settled > 0, "no write was ever cut off");
}

#[test]
fn a_run_in_a_folder_survives_its_process_at_every_point() {
    report(Kept::InFolders);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_run_in_a_database_survives_its_process_at_every_point() {
    report(Kept::InDatabase);
}
