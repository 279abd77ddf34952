use proptest::prelude::*;

use super::*;
use crate::document::Document;
use crate::experiment::{Home, Host};

fn pico(amount: i64) -> PicoUsd {
    PicoUsd::from_pico(amount)
}

#[test]
fn runs_are_admitted_together_only_if_their_worst_bills_fit_together() {
    let mut purse = Purse::of(pico(10));
    let fitting = |purse: &Purse, worst: &[i64]| {
        purse.fitting(&worst.iter().copied().map(pico).collect::<Vec<_>>())
    };
    assert_eq!(fitting(&purse, &[4, 6, 1]), 2);
    assert_eq!(fitting(&purse, &[11, 1]), 0);
    assert_eq!(fitting(&purse, &[i64::MAX, i64::MAX]), 0);
    purse.pay(pico(3));
    assert_eq!(fitting(&purse, &[4, 6, 1]), 1);
    assert_eq!(purse.left(), pico(7));
    purse.pay(pico(8));
    assert_eq!(fitting(&purse, &[0]), 0);
    assert!(purse.to_string().contains("too much"), "{purse}");
}

/// Plays a sweep of runs of which each costs no more than its worst, `chunk` at a time.
fn play(runs: &[(i64, i64)], bound: i64, chunk: usize) -> (usize, PicoUsd) {
    let (mut purse, mut done) = (Purse::of(pico(bound)), 0);
    while done < runs.len() {
        let next = &runs[done..(done + chunk).min(runs.len())];
        let worst: Vec<_> = next.iter().map(|(worst, _)| pico(*worst)).collect();
        let fitting = purse.fitting(&worst);
        if fitting == 0 {
            break;
        }
        for (_, cost) in &next[..fitting] {
            purse.pay(pico(*cost));
        }
        done += fitting;
    }
    (done, purse.spent())
}

proptest! {
    #[test]
    fn no_more_is_spent_than_the_bound_and_the_same_runs_are_made_at_any_width(
        runs in proptest::collection::vec((0_i64..1_000, 0_i64..1_000), 0..60),
        bound in 0_i64..20_000, chunk in 1_usize..80,
    ) {
        let runs: Vec<_> = runs.into_iter().map(|(a, b)| (a.max(b), a.min(b))).collect();
        let (done, spent) = play(&runs, bound, chunk);
        prop_assert!(spent <= pico(bound));
        prop_assert_eq!((done, spent), play(&runs, bound, 1));
    }
}

const RUNAWAYS: &str = "title = \"t\"\nabout = \"t\"\n[settings]\nscenario = \"runaway\"\n\
                        [[axis]]\nsetting = \"max_turns\"\nvalues = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n";

fn spend(bound: PicoUsd, jobs: usize) -> (Vec<CellRows>, Purse, Option<Spent>) {
    let document = Document::parse("t.toml", RUNAWAYS).unwrap();
    let experiment = Experiment::from_document("t", &document, &Home::Embedded).unwrap();
    let (mut purse, mut rows) = (Purse::of(bound), Vec::new());
    let host = Host::here();
    let execution = Execution {
        jobs,
        host: &host,
        progress: &mut |_| {},
        stop: &|| false,
    };
    let mut take = |row| -> Result<(), std::convert::Infallible> {
        rows.push(row);
        Ok(())
    };
    let ended = experiment.execute_within(&mut purse, execution, &mut take);
    let spent = match ended {
        Ok(()) => None,
        Err(ExecuteError::Spent(spent)) => Some(*spent),
        Err(error) => panic!("{error}"),
    };
    (rows, purse, spent)
}

#[test]
fn a_sweep_ends_before_the_run_that_does_not_fit_at_any_parallelism() {
    let (all, whole, none) = spend(pico(i64::MAX), 2);
    assert_eq!((all.len(), none), (9, None));
    for hundredths in [0, 1, 17, 50, 83, 99, 100] {
        let bound = pico(whole.spent().pico() / 100 * hundredths);
        let (rows, purse, spent) = spend(bound, 1);
        assert!(purse.spent() <= bound);
        assert_eq!(rows, all[..rows.len()]);
        if let Some(spent) = spent {
            assert!(spent.worst > purse.left());
            assert_eq!(spent.done, rows.len() as u64);
        }
        for jobs in [2, 7] {
            assert_eq!(spend(bound, jobs).0, rows);
        }
    }
}

#[test]
fn a_run_without_a_bound_is_not_begun() {
    let text = "title = \"t\"\nabout = \"t\"\nclock = \"real\"\n[settings]\nmax_turns = 3\n\
                provider = \"endpoint\"\ntransport = \"http\"\n";
    let document = Document::parse("t.toml", text).unwrap();
    let experiment = Experiment::from_document("t", &document, &Home::Embedded).unwrap();
    let host = Host::here();
    let execution = Execution {
        jobs: 1,
        host: &host,
        progress: &mut |_| {},
        stop: &|| false,
    };
    let mut take = |_| -> Result<(), std::convert::Infallible> { panic!("a row") };
    let ended = experiment.execute_within(&mut Purse::of(pico(1_000)), execution, &mut take);
    let error = ended.unwrap_err().to_string();
    assert!(error.ends_with("set max_completion_tokens"), "{error}");
}

#[test]
fn a_stop_pays_for_what_ended_and_says_what_was_under_way() {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    let document = Document::parse("t.toml", RUNAWAYS).unwrap();
    let experiment = Experiment::from_document("t", &document, &Home::Embedded).unwrap();
    let whole = spend(pico(i64::MAX), 2).1.spent();
    let host = Host::here();
    // Whenever the stop comes; often it comes while runs are under way.
    let mut in_between = 0;
    for limit in (0..400).step_by(10) {
        let looks = AtomicU64::new(0);
        let stop = || looks.fetch_add(1, Relaxed) >= limit;
        let (mut purse, mut rows) = (Purse::of(pico(i64::MAX)), 0);
        let execution = Execution {
            jobs: 1,
            host: &host,
            progress: &mut |_| {},
            stop: &stop,
        };
        let mut take = |_| -> Result<(), std::convert::Infallible> {
            rows += 1;
            Ok(())
        };
        let ended = experiment.execute_within(&mut purse, execution, &mut take);
        let Err(ExecuteError::Stopped { done, .. }) = ended else {
            continue;
        };
        assert_eq!(done, rows);
        assert!(purse.spent() <= whole);
        assert_eq!(purse.spent() > PicoUsd::ZERO, rows > 0);
        if 0 < rows && rows < 9 {
            in_between += 1;
            assert!(purse.to_string().ends_with("more in flight"), "{purse}");
        }
    }
    assert!(in_between > 0);
}
