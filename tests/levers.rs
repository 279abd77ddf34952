//! `loopmeter levers` from outside: the committed table is what the experiments claim and what
//! the small records give.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use loopmeter::experiment::Experiments;
use loopmeter::whatif::levers;

const RECORDS: &str = "experiments/records/incidents.jsonl";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn loopmeter(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopmeter"));
    command.current_dir(root()).args(args).output().unwrap()
}

#[test]
fn the_committed_table_is_what_its_command_gives() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = loopmeter(&["levers", RECORDS, "--out", out]);
    assert!(output.status.success(), "{output:?}");
    for name in ["table.md", "table.csv"] {
        let committed = fs::read_to_string(root().join("results/levers").join(name)).unwrap();
        let made = fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(made, committed, "{name}");
    }
}

#[test]
fn every_lever_has_a_claim_of_an_experiment() {
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let claims = experiments.iter().flat_map(|one| &one.readout().claims);
    let ids: Vec<&str> = claims.map(|claim| claim.id.as_str()).collect();
    for lever in levers() {
        assert!(ids.contains(&lever.claim), "{}", lever.claim);
    }
}

#[test]
fn without_records_there_are_the_scripted_runs_alone() {
    let output = loopmeter(&["levers"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("−84.0 % | —"), "{text}");
    assert!(!text.contains("recorded runs,"), "{text}");
}

#[test]
fn a_file_without_runs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("none.jsonl");
    fs::write(&path, "").unwrap();
    let output = loopmeter(&["levers", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
