//! Random runs, cut off, stopped and decided at random, against a small model of what a run is.
//!
//! The model (`reference.rs`) plays the script straight through, without a state machine, without
//! saving anything and without accidents. The real run meets kills, stops and refused verdicts, is
//! taken up again and again from what was saved, and has to end exactly as the model says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "seeds and counts are worth reading")]

mod chance;
mod fate;
mod play;
mod reference;
mod script;
mod tools;

use std::collections::BTreeMap;

use chance::Chance;
use play::Accidents;
use script::Plan;
use tools::Bench;

const SEED: u64 = 20_261_130;
const CASES: u64 = 4_000;

/// Says which case it was, if the test ends in it.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("in the case of seed {}", self.0);
        }
    }
}

#[test]
fn every_run_ends_as_the_model_says_whatever_happens_to_it() {
    println!("seed {SEED}, {CASES} cases");
    let mut exits: BTreeMap<String, u32> = BTreeMap::new();
    let mut accidents = Accidents::default();
    let bench = Bench::new();
    for seed in SEED..SEED + CASES {
        let _told = Told(seed);
        let mut chance = Chance::new(seed);
        let plan = Plan::random(&mut chance);
        let expected = reference::play(&plan, &bench.catalog);
        let run = play::play((&plan, &bench), &mut chance, &mut accidents);
        play::compare(&run, &expected);
        let reason = expected.reason.unwrap_or("answered");
        let exit = format!("{} / {reason}", expected.status.as_str());
        *exits.entry(exit).or_default() += 1;
    }
    for (exit, count) in &exits {
        println!("{count:6} {exit}");
    }
    println!("{accidents}");
    for exit in [
        "completed / answered",
        "failed / tool_error",
        "failed / permanent_error",
        "failed / provider_error",
        "max_turns_exceeded / max_turns",
        "budget_exceeded / max_budget",
        "budget_exceeded / max_tokens",
        "interrupted / repeated_call",
    ] {
        assert!(exits.contains_key(exit), "no case ended {exit}");
    }
    assert!(accidents.all_happened(), "{accidents}");
}
