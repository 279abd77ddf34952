//! `loopmeter fit` from outside.

use std::fmt::Write as _;
use std::fs;

use crate::common::Folder;

/// Replies of which the first tokens are evenly spread on a logarithmic scale.
fn table(rows: u32) -> String {
    let mut csv = "turn,ttft_ms,output_tokens,total_ms\n".to_owned();
    for row in 0..rows {
        let first = 400 + 37 * row;
        let tokens = 10 + row % 7;
        writeln!(
            csv,
            "{row},{first},{tokens},{}",
            first + tokens * (15 + row % 11)
        )
        .unwrap();
    }
    csv
}

fn folder(rows: u32) -> Folder {
    let folder = Folder::empty();
    fs::write(folder.path().join("measured.csv"), table(rows)).unwrap();
    folder
}

#[test]
fn a_table_is_fitted_and_a_line_is_printed_for_an_experiment() {
    let printed = folder(40).run(&["fit", "measured.csv"]).ok();
    insta::assert_snapshot!("fit", printed);
}

#[test]
fn the_line_is_one_that_an_experiment_reads() {
    let folder = folder(40);
    for law in ["closest", "log_normal", "gamma", "empirical"] {
        let line = folder
            .run(&["fit", "--line", "--law", law, "measured.csv"])
            .ok();
        let experiment = format!(
            "title = \"t\"\nabout = \"a\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
             samples = 100\nlatency = \"{}\"\n[table]\ncaption = \"c\"\ncolumns = [\"p99_wall_ms\"]\n",
            line.trim_end()
        );
        fs::write(folder.path().join("x.toml"), experiment).unwrap();
        folder.run(&["run", "x.toml"]).ok();
    }
}

#[test]
fn few_values_are_called_a_guess_and_whole_replies_what_they_are() {
    let folder = folder(5);
    let ran = folder.run(&["fit", "measured.csv"]).exits(0);
    assert!(
        ran.stderr.contains("n = 5; with fewer than 30 values"),
        "{ran}"
    );
    fs::write(
        folder.path().join("whole.jsonl"),
        "{\"total_ms\":5}\nnot JSON\n{\"total_ms\":7}\n",
    )
    .unwrap();
    let ran = folder.run(&["fit", "whole.jsonl"]).exits(0);
    assert!(ran.stderr.contains("whole.jsonl:2: skipped"), "{ran}");
    assert!(ran.stderr.contains("whole replies are fitted"), "{ran}");
}

#[test]
fn a_file_without_times_is_refused() {
    let folder = Folder::empty();
    fs::write(folder.path().join("a.jsonl"), "{\"a\":1}\n").unwrap();
    let refused = folder.run(&["fit", "a.jsonl"]).refused();
    assert!(refused.contains("no time in 1 file"), "{refused}");
    folder.run(&["fit", "absent.csv"]).exits(3);
}

#[test]
fn everything_is_one_json_object_for_a_script() {
    let printed = folder(40).run(&["fit", "--json", "measured.csv"]).ok();
    let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(value["ttft"]["n"], 40);
    assert_eq!(value["per_token"]["is_few"], false);
    assert!(value["latency"].as_str().unwrap().starts_with("ttft="));
}
