//! `loopmeter check` as a gate: its formats, what it accepts, what it measures again.

use std::fs;

use crate::common::Folder;

/// Three small experiments of which everything is as committed.
fn committed() -> Folder {
    let folder = Folder::empty();
    folder
        .write("experiments/cap.toml", CAP)
        .write("experiments/plain.toml", PLAIN);
    folder.run(&["run", "--quiet"]).exits(0);
    folder
}

const CAP: &str = r#"title = "A cap"
about = "A runaway under two caps."

[settings]
scenario = "runaway"

[[axis]]
setting = "max_turns"
values = [8, 50]

[table]
caption = "Two caps"
columns = ["max_turns", "turns", "prompt_tokens", "cost_usd"]

[[claim]]
id = "cap.50.prompt_tokens"
value = 88649
cell = { column = "prompt_tokens", where = { max_turns = 50 } }
"#;

const PLAIN: &str = r#"title = "A plan"
about = "Three turns."

[settings]
scenario = "plan"
max_turns = 9
"#;

/// One where a description has more words than it had.
fn described() -> Folder {
    let folder = committed();
    let words = "scenario = \"runaway\"\n\
                 descriptions = { list_files = \"List the names of all files, one by one.\" }";
    folder.change("experiments/cap.toml", "scenario = \"runaway\"", words);
    folder
}

#[test]
fn every_format_says_the_same_of_a_changed_description() {
    let folder = described();
    for format in ["text", "markdown", "json", "junit", "github"] {
        let ran = folder.run(&["check", "--format", format]).exits(1);
        assert_eq!(ran.stderr, "");
        insta::assert_snapshot!(format!("gate_{format}"), digestless(&ran.stdout));
        let cause = "since the tool description of `list_files` changed";
        assert!(ran.stdout.contains(cause), "{format}: {}", ran.stdout);
    }
}

/// The text without digests of transcripts, which say nothing to a reader.
fn digestless(text: &str) -> String {
    let is_digest = |word: &str| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(|word| {
            let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if is_digest(end) {
                word.replace(end, "[digest]")
            } else {
                word.to_owned()
            }
        })
        .collect()
}

#[test]
fn every_format_says_that_all_is_as_committed() {
    let folder = committed();
    for format in ["text", "markdown", "json", "junit", "github"] {
        let told = folder.run(&["check", "--format", format]).ok();
        insta::assert_snapshot!(format!("gate_fine_{format}"), told);
    }
}

#[test]
fn reports_and_measurements_are_exported_beside_the_report() {
    let folder = described();
    let exports = ["junit", "markdown", "bmf", "github-action-benchmark"];
    let exports: Vec<String> = exports
        .iter()
        .map(|format| format!("--export={format}=out/{format}"))
        .collect();
    let mut arguments = vec!["check"];
    arguments.extend(exports.iter().map(String::as_str));
    let told = folder.run(&arguments).exits(1).stdout;
    assert_eq!(told, folder.run(&["check"]).stdout);
    let printed = |format: &str| folder.run(&["check", "--format", format]).stdout;
    for format in ["junit", "markdown"] {
        assert_eq!(folder.read(&format!("out/{format}")), printed(format));
    }
    insta::assert_snapshot!("gate_bmf", folder.read("out/bmf"));
    let list = folder.read("out/github-action-benchmark");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[3]["name"], "cap max_turns=8: cost_usd");
    assert_eq!(list[3]["unit"], "USD");
    let refused = folder.run(&["check", "--export", "xml=a"]).refused();
    assert!(refused.contains("github-action-benchmark"), "{refused}");
}

#[test]
fn what_differs_is_accepted_where_it_is_named_and_only_there() {
    let folder = described();
    let plain = folder.read("results/plain/cells.csv");
    folder.write("results/plain/cells.csv", plain.replace("815", "816"));
    let before = folder.files("results");
    for refused in [
        &["check", "--update"][..],
        &["check", "--update", "experiments"],
        &["check", "--update", "--real"],
    ] {
        let told = folder.run(refused).refused();
        assert!(told.contains("by `--only NAME`"), "{told}");
        assert_eq!(folder.files("results"), before);
    }
    let told = folder.run(&["check", "--update", "--only", "cap"]).exits(1);
    insta::assert_snapshot!("gate_update", told.stdout);
    // The claim still does not hold, and the other experiment still differs.
    let after = folder.run(&["check"]).exits(1).stdout;
    assert!(after.contains("cap: claim cap.50.prompt_tokens"), "{after}");
    assert!(after.contains("plain: cells.csv: row 1"), "{after}");
    assert_eq!(after.matches("cap: ").count(), 1, "{after}");
    let file = "experiments/plain.toml";
    let told = folder.run(&["check", "--update", file]).ok();
    assert!(told.ends_with("plain: accepted cells.csv\n"), "{told}");
    let told = folder.run(&["check", "--update", file]).ok();
    assert!(
        told.ends_with("plain: all as committed, nothing to accept\n"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_accepted_leaves_the_results_as_they_are() {
    let folder = described();
    fs::remove_file(folder.path().join("results/cap/table.md")).unwrap();
    fs::create_dir(folder.path().join("results/cap/table.md.d")).unwrap();
    let results = folder.path().join("results/cap/inputs.json");
    fs::remove_file(&results).unwrap();
    fs::create_dir(&results).unwrap();
    let before = folder.files("results");
    let ran = folder.run(&["check", "--update", "--only", "cap"]).exits(3);
    assert!(ran.stderr.contains("inputs.json"), "{ran}");
    assert_eq!(folder.files("results"), before);
}

#[test]
fn each_input_is_named_as_the_reason_where_it_is_the_one_that_changed() {
    let cases = [
        (
            "max_turns = 9",
            "max_turns = 2",
            "since `max_turns` is `2`, which was `9`",
        ),
        (
            "max_turns = 9",
            "max_turns = 9\nuser = \"Which?\"",
            "since the user's message changed",
        ),
        (
            "max_turns = 9",
            "max_turns = 9\ntools = [\"read_file\", \"list_files\"]",
            "since the tool `delete_file` is gone and the tool `scan_archive` is gone",
        ),
        (
            "scenario = \"plan\"",
            "scenario = \"recover\"",
            "since `scenario` is `recover`, which was `plan`",
        ),
    ];
    let folder = committed();
    for (from, to, cause) in cases {
        folder.change("experiments/plain.toml", from, to);
        let told = folder.run(&["check", "--only", "plain"]).exits(1).stdout;
        assert!(
            told.lines().next().unwrap().contains(cause),
            "{cause}: {told}"
        );
        folder.write("experiments/plain.toml", PLAIN);
    }
}

#[test]
fn a_changed_row_with_the_same_inputs_is_the_programs() {
    let folder = committed();
    folder.change("results/plain/cells.csv", "815", "814");
    let told = folder.run(&["check", "--only", "plain"]).exits(1).stdout;
    insta::assert_snapshot!("gate_program", told);
}

#[test]
fn a_changed_input_without_effect_is_a_note_and_no_failure() {
    let folder = committed();
    folder.change("results/plain/inputs.json", "no such file", "no file");
    let told = folder.run(&["check"]).ok();
    insta::assert_snapshot!("gate_without_effect", told);
    folder.run(&["run", "--quiet"]).exits(0);
    assert!(!folder.run(&["check"]).ok().contains("note:"));
}

#[test]
fn times_that_are_measured_again_are_compared_and_counts_are_exact() {
    let folder = Folder::empty();
    let timed = format!("clock = \"real\"\nrepeat = 3\n{PLAIN}");
    folder.write("experiments/timed.toml", timed);
    folder.run(&["run", "--quiet", "--real"]).exits(0);
    let told = folder.run(&["check", "--only", "timed"]).ok();
    let few =
        "note: timed: `wall_ms`: inconclusive, n = 3 is too small: 10 measurements are needed";
    assert!(told.contains(few), "{told}");
    // Another count of samples is no difference; another count of tokens is one.
    folder.change("experiments/timed.toml", "repeat = 3", "repeat = 2");
    let told = folder.run(&["check", "--only", "timed"]).ok();
    assert!(told.contains(": all as committed"), "{told}");
    folder.change("experiments/timed.toml", "max_turns = 9", "max_turns = 2");
    let told = folder.run(&["check", "--only", "timed"]).exits(1).stdout;
    assert!(told.contains("since `max_turns` is `2`"), "{told}");
    assert!(
        told.contains("cells.csv: row 1 (sample=1), column `prompt_tokens`"),
        "{told}"
    );
    // Unasked, the committed rows are held against their digests, and the change is a note.
    let told = folder.run(&["check"]).ok();
    let note = "note: `max_turns` is `2`, which was `9` since timed was measured";
    assert!(told.contains(note), "{told}");
    folder
        .run(&["check", "--real", "--only", "timed", "--update"])
        .exits(0);
    assert!(!folder.run(&["check"]).ok().contains("max_turns"));
}

#[test]
fn rows_of_another_machine_are_inconclusive() {
    let folder = Folder::empty();
    folder.write(
        "experiments/timed.toml",
        format!("clock = \"real\"\n{PLAIN}"),
    );
    folder.run(&["run", "--quiet", "--real"]).exits(0);
    let cells = folder.read("results/timed/cells.csv");
    let os = std::env::consts::OS;
    folder.write("results/timed/cells.csv", cells.replace(os, "another"));
    let told = folder.run(&["check", "--only", "timed"]).exits(1).stdout;
    assert!(told.contains("cells.csv: was "), "its digest: {told}");
    assert!(
        told.contains("inconclusive, measured on another machine"),
        "{told}"
    );
}

#[test]
fn a_slower_time_names_the_input_that_can_be_the_reason_or_that_none_is() {
    let folder = Folder::empty();
    let timed = format!("clock = \"real\"\nrepeat = 10\n{PLAIN}latency_ms = 1\n");
    folder.write("experiments/timed.toml", timed);
    folder.run(&["run", "--quiet", "--real"]).exits(0);
    folder.change("experiments/timed.toml", "latency_ms = 1", "latency_ms = 9");
    let told = folder.run(&["check", "--only", "timed"]).exits(1).stdout;
    let first = told.lines().next().unwrap();
    let cause = "times what it was since `latency_ms` is `9`, which was `1`";
    assert!(first.ends_with(cause), "{told}");
    let inputs = "results/timed/inputs.json";
    folder.change(inputs, "latency_ms\": 1", "latency_ms\": 9");
    let told = folder.run(&["check", "--only", "timed"]).exits(1).stdout;
    let first = told.lines().next().unwrap();
    assert!(
        first.ends_with("times what it was with the same inputs"),
        "{told}"
    );
}

#[test]
fn rows_in_another_order_are_put_down_to_the_axis_that_is_in_another_order() {
    let folder = committed();
    folder.change("experiments/cap.toml", "[8, 50]", "[50, 8]");
    let told = folder.run(&["check", "--only", "cap"]).exits(1).stdout;
    let first = told.lines().next().unwrap();
    let words = "`cap`: its rows are in another order since the axis `max_turns` changed";
    assert_eq!(first, words, "{told}");
}
