//! `loopmeter check` from outside: what is changed is named.

use std::fs;

use crate::common::Folder;

/// Experiments and results as they are committed.
fn committed() -> Folder {
    Folder::with(&["experiments", "results"])
}

/// What a check of one experiment says that does not hold.
#[track_caller]
fn differs(folder: &Folder, experiment: &str) -> String {
    let ran = folder.run(&["check", "--only", experiment]).exits(1);
    assert_eq!(ran.stderr, "");
    ran.stdout
}

/// The one experiment of this name and its results, so that a check of everything is a check of it.
fn only(experiment: &str) -> Folder {
    let folder = Folder::with(&[&format!("results/{experiment}")]);
    let file = format!("experiments/{experiment}.toml");
    let text = std::fs::read_to_string(crate::common::repository().join(&file)).unwrap();
    folder.write(&file, text);
    folder
}

#[test]
fn nothing_differs_from_what_is_committed() {
    let before = committed();
    let files = before.files("");
    insta::assert_snapshot!("check_fine", before.run(&["check"]).ok());
    assert_eq!(before.files(""), files, "a check writes nothing");
}

#[test]
fn a_changed_digit_in_the_cells_is_named() {
    let folder = committed();
    folder.change("results/turn-cap/cells.csv", "88649", "88648");
    insta::assert_snapshot!("check_cells", differs(&folder, "turn-cap"));
    let everything = folder.run(&["check"]).exits(1).stdout;
    assert!(
        everything.contains("turn-cap: cells.csv: row 3"),
        "{everything}"
    );
    assert!(
        everything.ends_with(" claims: 1 thing differs\n"),
        "{everything}"
    );
}

#[test]
fn a_changed_digit_in_the_turns_is_named() {
    let folder = committed();
    folder.change("results/plan/turns.csv", "269", "268");
    insta::assert_snapshot!("check_turns", differs(&folder, "plan"));
}

#[test]
fn a_changed_digit_in_a_table_is_named() {
    let folder = committed();
    folder
        .change("results/turn-cap/table.csv", "0.191098", "0.191099")
        .change(
            "results/turn-cap/table.md",
            "| $0.038038 |",
            "| $0.038039 |",
        );
    insta::assert_snapshot!("check_table", differs(&folder, "turn-cap"));
}

#[test]
fn a_changed_claim_is_named() {
    let folder = committed();
    folder.change(
        "experiments/plan.toml",
        "value = 0.002470",
        "value = 0.002471",
    );
    insta::assert_snapshot!("check_claim", differs(&folder, "plan"));
}

#[test]
fn a_changed_tool_description_is_seen_in_every_prompt() {
    let folder = committed();
    let words = "scenario = \"plan\"\ndescriptions = { read_file = \"Reads a file.\" }";
    folder.change("experiments/plan.toml", "scenario = \"plan\"", words);
    insta::assert_snapshot!("check_description", differs(&folder, "plan"));
}

#[test]
fn a_description_of_as_many_tokens_is_seen_too() {
    let folder = committed();
    let words = "scenario = \"plan\"\n\
                 descriptions = { list_files = \"List the names of the files.\" }";
    folder.change("experiments/plan.toml", "scenario = \"plan\"", words);
    let told = differs(&folder, "plan");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[0],
        "`plan`: other words, as many tokens since the tool description of `list_files` changed; \
         at the same cost"
    );
    assert!(
        lines[1].starts_with("plan: cells.csv: row 1, column `transcript_sha256`: was "),
        "{told}"
    );
    assert_eq!(lines.len(), 3, "{told}");
}

#[test]
fn missing_additional_and_stray_results_are_told() {
    let folder = committed();
    fs::remove_file(folder.path().join("results/plan/turns.csv")).unwrap();
    fs::remove_file(folder.path().join("results/plan/table.md")).unwrap();
    let row = "\n8,max_turns_exceeded";
    folder
        .change("results/turn-cap/cells.csv", row, &row.replace('8', "9"))
        .write("results/former/cells.csv", "turns\n1\n")
        .write("results/budget/cells.csv", "not,the\nsame");
    let ran = folder.run(&["check"]).exits(1);
    let told: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.contains("column `"))
        .collect();
    insta::assert_snapshot!("check_missing", told.join("\n"));
}

#[test]
fn results_that_are_no_text_are_told() {
    let folder = committed();
    folder.write("results/plan/cells.csv", b"\xff\xfe");
    let told = differs(&folder, "plan");
    assert!(told.contains("results/plan/cells.csv"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_committed_results_is_told_at_once() {
    for (experiment, file) in [
        ("plan", "cells.csv"),
        ("plan", "inputs.json"),
        ("cancel-real", "turns.csv"),
        ("cancel-real", "SHA256SUMS"),
    ] {
        let folder = only(experiment);
        folder.pipe(&format!("results/{experiment}/{file}"));
        let ran = folder.run_soon(&["check"]);
        assert!(matches!(ran.code, Some(1 | 3)), "{file}: {ran}");
        assert!(ran.to_string().contains("no plain file"), "{file}: {ran}");
    }
}

#[test]
fn inputs_that_cannot_be_read_and_digests_that_are_gone_are_told_and_end_nothing_else() {
    let folder = only("plan");
    folder.write("results/plan/inputs.json", b"{");
    let told = differs(&folder, "plan");
    assert!(told.contains("inputs.json: "), "{told}");
    assert!(told.contains("--update --only plan"), "{told}");
    folder.run(&["check", "--update", "--only", "plan"]).ok();
    folder.run(&["check", "--only", "plan"]).ok();

    let folder = only("cancel-real");
    std::fs::remove_file(folder.path().join("results/cancel-real/SHA256SUMS")).unwrap();
    let told = folder.run(&["check"]).exits(1).stdout;
    assert!(told.contains("SHA256SUMS"), "{told}");
    assert!(told.contains("claims"), "{told}");
}

#[test]
fn a_changed_byte_of_the_real_clock_is_held_against_its_digest() {
    let folder = only("cancel-real");
    for file in ["cells.csv", "turns.csv", "inputs.json"] {
        let path = format!("results/cancel-real/{file}");
        let text = folder.read(&path);
        folder.change(&path, "Stop reaches everything", "stop reaches everything");
        let told = folder.run(&["check"]).exits(1).stdout;
        assert!(
            told.contains(&format!("cancel-real: {file}: was ")),
            "{told}"
        );
        folder.write(&path, text);
    }
    folder.run(&["check"]).ok();
}

#[test]
fn tables_and_claims_of_the_real_clock_are_made_again_from_the_committed_rows() {
    let folder = only("cancel-real");
    let cells = folder.read("results/cancel-real/cells.csv");
    let header = cells.lines().next().unwrap().split(',');
    let column = header.clone().position(|name| name == "click_to_stop_ms");
    let slower = |line: &str| {
        let mut values: Vec<_> = line.split(',').collect();
        if line.starts_with("Stop reaches everything") {
            values[column.unwrap()] = "1900.5";
        }
        values.join(",") + "\n"
    };
    let slow: String = cells.lines().map(slower).collect();
    folder.write("results/cancel-real/cells.csv", slow);
    let told = folder.run(&["check"]).exits(1).stdout;
    let named = |words: &str| told.lines().any(|line| line.contains(words));
    assert!(named("cells.csv: was "), "{told}");
    assert!(named("table.csv") && named("is 1900.5"), "{told}");
    assert!(named("claim cancel.click_to_stop_ms"), "{told}");
}

#[test]
fn a_check_against_a_folder_that_is_not_there_says_what_makes_it() {
    let folder = Folder::empty();
    let ran = folder.run(&["check", "--only", "plan", "--against", "nowhere"]);
    insta::assert_snapshot!("check_nowhere", ran.exits(1).stdout);
    assert!(folder.files("").is_empty());
}

#[test]
fn what_run_makes_only_when_asked_is_not_missed_by_check_but_named() {
    let folder = Folder::empty();
    let real = "clock = \"real\"\ntitle = \"A\"\nabout = \"B\"\n[settings]\nscenario = \"plan\"\n\
                max_turns = 9\n";
    folder
        .write("experiments/real.toml", real)
        .write("experiments/virtual.toml", real.replace("real", "virtual"));
    let run = folder.run(&["run", "--quiet"]).exits(0).stdout;
    assert!(
        run.contains("skipped, on the real clock") && run.contains(": real"),
        "{run}"
    );
    let check = folder.run(&["check"]).exits(0).stdout;
    assert_eq!(
        check,
        "1 experiment, 0 claims: all as committed\n\
         without results, as they are only made when asked for: real\n"
    );
    let check = folder.run(&["check", "--only", "real"]).exits(1).stdout;
    assert!(check.contains("cells.csv is not there"), "{check}");
    let claim = "[[claim]]\nid = \"turns\"\nvalue = 3\ncell = { column = \"turns\" }\n";
    folder.write("experiments/real.toml", format!("{real}{claim}"));
    let missed = folder.run(&["check"]).exits(1).stdout;
    assert!(
        missed.contains("real: cells.csv is not there; `loopmeter run --only NAME` makes it"),
        "{missed}"
    );
    folder
        .run(&["check", "--only", "real", "--update"])
        .exits(0);
    folder.run(&["check"]).exits(0);
}
