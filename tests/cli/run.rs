//! `loopmeter run` from outside: what it writes, what it prints, and how it ends.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::common::{Folder, files, repository};

/// The committed results of the experiments in virtual time.
fn committed() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = files(&repository().join("results"));
    // What is measured on the real clock stands beside its digests and is not made again.
    let measured: Vec<_> = all
        .keys()
        .filter(|file| file.ends_with("SHA256SUMS"))
        .filter_map(|file| file.parent().map(Path::to_owned))
        .collect();
    all.retain(|file, _| !measured.iter().any(|folder| file.starts_with(folder)));
    // The table of `loopmeter levers` is of several experiments; tests/levers.rs holds it.
    all.retain(|file, _| !file.starts_with("levers"));
    all
}

/// The files are the committed ones. They are long, so that names are told and no contents.
#[track_caller]
fn are_committed(made: &BTreeMap<PathBuf, Vec<u8>>) {
    let committed = committed();
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(made), names(&committed));
    let differ = made
        .iter()
        .filter(|(file, bytes)| committed.get(*file) != Some(bytes));
    assert_eq!(
        differ.map(|(file, _)| file).collect::<Vec<_>>(),
        Vec::<&PathBuf>::new()
    );
}

#[test]
fn the_committed_results_come_out_again_byte_for_byte() {
    let folder = Folder::with(&["experiments"]);
    let printed = folder.run(&["run", "--quiet"]).ok();
    are_committed(&folder.files("results"));
    insta::assert_snapshot!("run_quiet", printed);
}

#[test]
fn the_experiments_are_part_of_the_program() {
    let folder = Folder::empty();
    folder.run(&["run", "--quiet", "--out", "somewhere"]).ok();
    are_committed(&folder.files("somewhere"));
    assert_eq!(folder.files("").len(), committed().len(), "nothing else");
}

#[test]
fn one_experiment_is_run_and_printed() {
    let folder = Folder::empty();
    let printed = folder.run(&["run", "--only", "turn-cap"]).ok();
    insta::assert_snapshot!("run_turn_cap", printed);
    assert_eq!(folder.files("results").len(), 6);
}

/// 600 cells: caps, budgets, error wordings, latencies.
fn sweep() -> String {
    let turns: Vec<String> = (1..=30).map(|turns| turns.to_string()).collect();
    let turns = turns.join(", ");
    format!(
        "title = \"Six hundred cells\"\nabout = \"Everything with everything.\"\n\
         [settings]\nscenario = \"denied\"\nrepeated_call = 9\n\
         latency = {{ distribution = \"log_normal\", median_ms = 800, sigma = 0.5 }}\n\
         [[axis]]\nsetting = \"max_turns\"\nvalues = [{turns}]\n\
         [[axis]]\nsetting = \"max_budget_usd\"\nvalues = [0.002, 0.005, 0.01, 0.02, 0.05]\n\
         [[axis]]\nsetting = \"tool_errors\"\nvalues = [\"generic\", \"worded\"]\n\
         [[axis]]\nsetting = \"seed\"\nvalues = [1, 2]\n"
    )
}

#[test]
fn any_number_of_jobs_writes_the_same_bytes() {
    let folder = Folder::with(&["experiments"]);
    folder.write("experiments/sweep.toml", sweep());
    for jobs in ["1", "8"] {
        folder
            .run(&["run", "--quiet", "--jobs", jobs, "--out", jobs])
            .ok();
    }
    let one = folder.files("1");
    assert!(one == folder.files("8"), "the number of jobs shows");
    let cells = &one[&PathBuf::from("sweep/cells.csv")];
    assert_eq!(String::from_utf8_lossy(cells).lines().count(), 601);
    let jobs = folder.run(&["run", "--jobs", "0"]).refused();
    assert!(jobs.contains("--jobs"), "{jobs}");
}

const OWN_SCENARIO: &str = r#"
title = "Looks at one file, then answers."
[[step]]
turn = 0
calls = [{ id = "c1", tool = "read_file", arguments = { path = "notes.txt" } }]
[[step]]
when = "milk"
say = "Buy milk."
[[step]]
say = "Nothing to buy."
"#;

const OWN_EXPERIMENT: &str = r#"
title = "What there is to buy"
about = "A scenario and a folder of one's own."
[settings]
scenario = "scripts/shopping.toml"
max_turns = 5
workspace = "files"
[[axis]]
setting = "tool_errors"
values = ["worded", "generic"]
[table]
caption = "Shopping"
columns = ["tool_errors", "turns", "answer", "cost_usd"]
[[claim]]
id = "shopping.turns"
value = 2
cell = { column = "turns", where = { tool_errors = "worded" } }
"#;

#[test]
fn an_experiment_of_ones_own_is_run_by_path() {
    let folder = Folder::empty();
    folder
        .write("my läb/shop ping.toml", OWN_EXPERIMENT)
        .write("my läb/scripts/shopping.toml", OWN_SCENARIO)
        .write("my läb/files/notes.txt", "milk\n");
    let printed = folder.run(&["run", "my läb/shop ping.toml"]).ok();
    insta::assert_snapshot!("run_own", printed);
    let check = folder.run(&["check", "my läb/shop ping.toml"]).ok();
    assert_eq!(check, "1 experiment, 1 claim: all as committed\n");
    folder.write("my läb/files/notes.txt", "nothing\n");
    let check = folder.run(&["check", "my läb"]).exits(1).stdout;
    assert!(
        check.contains("column `answer`: was Buy milk., is Nothing to buy."),
        "{check}"
    );
}

#[test]
fn a_claim_that_does_not_hold_is_told_and_fails_the_run() {
    let folder = Folder::with(&["experiments"]);
    folder.change("experiments/plan.toml", "value = 815", "value = 816");
    let ran = folder.run(&["run", "--only", "plan"]).exits(1);
    assert_eq!(ran.stderr, "");
    let wrong: Vec<_> = ran.stdout.lines().filter(|l| l.starts_with('✗')).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("plan.prompt_tokens"), "{wrong:?}");
    assert!(
        wrong[0].contains("816") && wrong[0].contains("815"),
        "{wrong:?}"
    );
}

#[test]
fn a_results_folder_that_cannot_be_written_is_named() {
    let folder = Folder::empty();
    folder.write("results", "");
    let ran = folder.run(&["run"]).exits(3);
    assert_eq!(ran.stdout, "");
    insta::assert_snapshot!("run_not_writable", ran.stderr);
    folder.write("out/plan", "");
    let arguments = ["run", "--only", "plan", "--out", "out"];
    let stderr = folder.run(&arguments).exits(3).stderr;
    assert!(stderr.contains("out/plan"), "{stderr}");
    assert_eq!(folder.files("").len(), 2, "nothing was written");
}

#[test]
fn colours_are_for_terminals() {
    let folder = Folder::empty();
    for arguments in [
        &["--help"][..],
        &["run", "--nonsense"],
        &["run", "--only", "turn-cap"],
    ] {
        for colour in ["NO_COLOR", "NOTHING"] {
            let output = folder.command(arguments).env(colour, "1").output().unwrap();
            assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
        }
    }
}

#[cfg(unix)]
mod processes {
    use std::collections::BTreeSet;
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[test]
    fn an_interrupted_sweep_leaves_no_file_and_exits_130() {
        let seeds: Vec<String> = (1..=2_000).map(|seed| seed.to_string()).collect();
        let many = sweep().replace("[1, 2]", &format!("[{}]", seeds.join(", ")));
        assert_stops(&many);
    }

    #[test]
    fn an_interrupted_run_without_an_end_leaves_no_file_and_exits_130() {
        assert_stops(
            "title = \"Long\"\nabout = \"A runaway.\"\n\
             settings = { scenario = \"runaway\", max_turns = 4_000_000_000 }\n",
        );
    }

    #[test]
    fn what_a_killed_run_was_just_writing_is_removed_by_the_next_one_and_nothing_of_one_at_work() {
        let folder = Folder::empty();
        folder.write(
            "long.toml",
            "title = \"Long\"\nabout = \"A runaway.\"\n\
             settings = { scenario = \"runaway\", max_turns = 4_000_000_000 }\n",
        );
        let names = || -> BTreeSet<String> {
            let entries = std::fs::read_dir(folder.path().join("results/long"));
            let names = entries.into_iter().flatten().flatten();
            let names = names.map(|entry| entry.file_name().into_string().unwrap());
            names.collect()
        };
        // Each writes two files as long as it is at work, which is for ever.
        let begin = |is_begun: &dyn Fn() -> bool| {
            let mut command = folder.command(&["run", "long.toml"]);
            let mut child = command.stdout(Stdio::null()).spawn().unwrap();
            while !is_begun() {
                let ended = child.try_wait().unwrap();
                assert!(ended.is_none(), "it ended before it was killed");
                std::thread::yield_now();
            }
            child
        };
        let kill = |mut child: Child| {
            child.kill().unwrap();
            child.wait().unwrap();
        };
        kill(begin(&|| names().len() == 2));
        let left = names();
        assert_eq!(left.len(), 2, "{left:?}");
        folder.write("results/.loopmeter-accept-killed/cells.csv", "rows");
        let first = begin(&|| names().len() == 2 && names().is_disjoint(&left));
        let of_first = names();
        let second = begin(&|| names().len() == 4);
        assert!(names().is_superset(&of_first), "{of_first:?}");
        let accepted = folder.path().join("results/.loopmeter-accept-killed");
        assert!(!accepted.exists());
        kill(first);
        kill(second);
    }

    /// Interrupts an experiment when it has begun.
    fn assert_stops(experiment: &str) {
        let folder = Folder::empty();
        folder
            .write("long.toml", experiment)
            .write("out/long/cells.csv", "as it was\n");
        let mut command = folder.command(&["run", "long.toml", "--out", "out"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        // It has begun where its temporary files are.
        while folder.files("out").len() < 3 {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended before it was stopped");
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with("stopped in long after "), "{stderr}");
        let left = folder.files("out");
        assert_eq!(left.len(), 1, "{:?}", left.keys());
        assert_eq!(folder.read("out/long/cells.csv"), "as it was\n");
    }

    #[test]
    fn a_reader_that_closes_the_pipe_is_no_error() {
        let folder = Folder::empty();
        let mut told = String::new();
        for arguments in [
            &["run"][..],
            &["check", "--against", "nowhere"],
            &["list", "experiments"],
            &["schema", "experiment"],
            &["completions", "bash"],
        ] {
            let mut command = folder.command(arguments);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = child.spawn().unwrap();
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            let code = output.status.code();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let _ = writeln!(told, "{}: {code:?}{stderr}", arguments[0]);
        }
        let expected = "run: Some(0)\ncheck: Some(1)\nlist: Some(0)\nschema: Some(0)\n\
                        completions: Some(0)\n";
        assert_eq!(told, expected);
    }
}
