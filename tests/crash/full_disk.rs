//! The disk is full at one point of one write: the run stops there, says so, and is taken up when
//! there is space again.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loopmeter::files::{Point, Reach};

use crate::case::{self, Case};
use crate::matrix::scratch;
use crate::stage::{Ended, Kept, Stage, answer};

/// Fails at the point of that number, from 0, and at none else.
fn full_at(number: usize) -> (Arc<Reach>, Arc<AtomicUsize>) {
    let reached = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reached);
    let reach = move |_: Point| {
        if counter.fetch_add(1, Ordering::SeqCst) == number {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    };
    (Arc::new(reach), reached)
}

/// Tries every point of one run and says how many there were.
fn try_case(kept: Kept, case: &Case) -> usize {
    let folder = scratch();
    let straight = Stage::new(kept, folder.path()).start(case).unwrap();
    for number in 0.. {
        let folder = scratch();
        let (reach, reached) = full_at(number);
        let stage = Stage {
            reach,
            ..Stage::new(kept, folder.path())
        };
        let ended = stage.start(case);
        if reached.load(Ordering::SeqCst) <= number {
            return number;
        }
        let ended = ended.unwrap_or_else(|_| {
            let resumed = Stage::new(kept, folder.path()).take_up(case, &straight);
            resumed.unwrap_or_else(|error| panic!("{}, {number}: {error}", case.name))
        });
        holds(case, &ended, &straight);
    }
    unreachable!("a run ends");
}

/// A write that the disk refused is one that the model was told has failed; every other one was
/// done once.
fn holds(case: &Case, ended: &Ended, straight: &Ended) {
    let operations: BTreeSet<_> = ended.journal.iter().map(|(by, _)| by).collect();
    assert_eq!(
        operations.len(),
        ended.journal.len(),
        "{}: a write was done twice",
        case.name
    );
    if ended.journal == straight.journal {
        assert_eq!(ended.run.messages, straight.run.messages, "{}", case.name);
        assert_eq!(ended.run.cost, straight.run.cost, "{}", case.name);
        return;
    }
    for (operation, path) in &straight.journal {
        let call = operation.split('/').nth(1).unwrap();
        if !ended.journal.iter().any(|(done, _)| done == operation) {
            let told = answer(&ended.run, call);
            assert!(
                told.contains("journal") || operation.matches('/').count() > 1,
                "{}: {path} was not deleted, and the model reads {told:?}",
                case.name
            );
        }
    }
}

fn report(kept: Kept) {
    let cases = case::all();
    let points: usize = cases.iter().map(|case| try_case(kept, case)).sum();
    println!(
        "{kept:?}: {} runs met a full disk at {points} points",
        cases.len()
    );
    assert!(points > 100);
}

#[test]
fn a_run_in_a_folder_survives_a_full_disk_at_every_point() {
    report(Kept::InFolders);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_run_in_a_database_survives_a_full_disk_at_every_point() {
    report(Kept::InDatabase);
}
