//! `loopmeter whatif`: what it prints, writes and refuses.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

const RECORDS: &str = "experiments/records/library.jsonl";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn whatif(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("loopmeter").unwrap();
    command.arg("whatif").args(args).current_dir(root());
    command.output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn answer(args: &[&str]) -> Value {
    let output = whatif(&[&["--json"], args].concat());
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_it_is_told_and_how() {
    insta::assert_snapshot!("help", printed(&whatif(&["--help"])));
}

#[test]
fn every_setting_is_a_row_and_the_cheapest_that_keeps_enough_is_named() {
    let output = whatif(&[
        "--max-turns",
        "6..9",
        "--budget",
        "0.006,0.008",
        "--budget-check",
        "reserve",
        "--max-completion-tokens",
        "200",
        "--total-tokens",
        "2000",
        "--repeated-call-stop",
        "2,3",
        "--dedupe",
        "all",
        "--permanent-error-stop",
        RECORDS,
    ]);
    assert_eq!(told(&output), "");
    insta::assert_snapshot!("text", printed(&output));
}

#[test]
fn without_an_axis_it_says_what_was_recorded() {
    let folder = "tests/data/records/claude-code";
    let output = whatif(&[folder]);
    assert!(output.status.success());
    insta::assert_snapshot!("recorded", printed(&output));
    let told = told(&output);
    let broken =
        format!("{folder}/session-c03.jsonl:11: not UTF-8 at byte 78 of the line; left out");
    assert!(told.lines().any(|line| line == broken), "{told}");
}

#[test]
fn the_json_has_the_recorded_runs_and_every_setting_in_the_same_keys() {
    let answer = answer(&["--max-turns", "8..9", RECORDS]);
    let recorded = answer["recorded"].as_object().unwrap();
    let keys: Vec<_> = recorded.keys().collect();
    assert_eq!(
        keys,
        [
            "runs",
            "turns",
            "prompt_tokens",
            "completion_tokens",
            "cost_usd"
        ]
    );
    assert_eq!(recorded["prompt_tokens"], 44_759);
    assert_eq!(recorded["cost_usd"].to_string(), "0.14401");
    let settings = answer["settings"].as_array().unwrap();
    let caps: Vec<_> = settings
        .iter()
        .map(|one| one["max_turns"].as_u64())
        .collect();
    assert_eq!(caps, [Some(8), Some(9)]);
    for setting in settings {
        for key in keys
            .iter()
            .map(|key| key.as_str())
            .chain(["successes", "successes_kept"])
        {
            assert!(setting[key].is_number(), "{key}");
        }
    }
    assert_eq!(answer["cheapest"][0]["setting"], "max_turns=8");
    assert_eq!(answer["reported"][0]["prompt_tokens"], Value::Null);
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&answer).unwrap());
}

#[test]
fn a_record_without_a_mark_has_no_successes_and_no_answer() {
    let answer = answer(&["--max-turns", "1", "tests/data/records/codex"]);
    assert_eq!(answer["successes"], Value::Null);
    assert_eq!(answer["settings"][0]["successes_kept"], Value::Null);
    assert_eq!(answer["cheapest"], Value::Array(Vec::new()));
    let marked = whatif(&[
        "--success",
        "info.exit_status=Submitted",
        "tests/data/records/mini-swe-agent",
    ]);
    assert!(printed(&marked).contains("6 of 10 runs that say so"));
}

#[test]
fn axes_are_combined_where_that_is_asked_for() {
    let args = ["--max-turns", "6,8", "--repeated-call-stop", "2,3", RECORDS];
    assert_eq!(answer(&args)["settings"].as_array().unwrap().len(), 4);
    let crossed = answer(&[&["--cross"], &args[..]].concat());
    let settings = crossed["settings"].as_array().unwrap();
    let names: Vec<_> = settings
        .iter()
        .map(|one| one["setting"].as_str().unwrap())
        .collect();
    assert_eq!(names[0], "max_turns=6 repeated_call_stop=2");
    assert_eq!(names.len(), 4);
}

#[test]
fn the_rows_and_the_picture_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg, png) = (path("rows.csv"), path("frontier.svg"), path("frontier.png"));
    let axes = ["--max-turns", "2..9", "--budget", "0.004,0.008"];
    for plot in [&svg, &png] {
        let output = whatif(&[&axes, &["--csv", &csv, "--plot", plot, RECORDS][..]].concat());
        assert!(output.status.success(), "{}", told(&output));
    }
    let rows = fs::read_to_string(&csv).unwrap();
    assert_eq!(rows.lines().count(), 12);
    assert!(rows.starts_with("max_turns,budget_usd,budget_check,runs,turns,"));
    assert!(
        rows.lines()
            .nth(1)
            .unwrap()
            .starts_with(",,,30,162,44759,4541,0.144010,")
    );
    let picture = fs::read_to_string(&svg).unwrap();
    for words in [
        "turn cap 8",
        "budget $0.008",
        "as recorded",
        "successes kept, %",
    ] {
        assert!(picture.contains(words), "{words}");
    }
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let args = [
        "--max-turns",
        "1..20",
        "--json",
        "tests/data/records/chat",
        RECORDS,
    ];
    assert_eq!(whatif(&args).stdout, whatif(&args).stdout);
}

#[test]
fn what_cannot_be_is_refused_with_what_would_help() {
    let missing = Path::new("no-such-file.jsonl");
    assert!(!missing.exists());
    for (args, code, words) in [
        (
            &["--budget-check", "reserve", "--budget", "1", RECORDS][..],
            2,
            "--max-completion-tokens",
        ),
        (&["--dedupe", "read_only", RECORDS], 2, "--read-only-tool"),
        (&["--permanent-error-stop=(", RECORDS], 2, "no expression"),
        (&["--max-turns", "9..3", RECORDS], 2, "write 3..9"),
        (&["--max-turns", "0", RECORDS], 2, "above 0"),
        (&["--repeated-call-stop", "1..3", RECORDS], 2, "2 or more"),
        (
            &[
                "--cross",
                "--max-turns",
                "1..99",
                "--total-tokens",
                "1..99",
                RECORDS,
            ],
            2,
            "2,000",
        ),
        (&["--keep", "101", RECORDS], 2, "percentage"),
        (&["--plot", "frontier.pdf", RECORDS], 2, ".svg or .png"),
        (&["--price", "charter", RECORDS], 2, "did you mean"),
        (&["--success", "a..b", RECORDS], 2, "names no key"),
        (&["CHANGELOG.md"], 2, "--from FORMAT"),
        (
            &["no-such-file.jsonl"],
            3,
            "no-such-file.jsonl: cannot be read",
        ),
    ] {
        let output = whatif(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(told(&output).contains(words), "{args:?}: {}", told(&output));
        assert_eq!(printed(&output), "", "{args:?}");
    }
}

#[test]
fn a_tiered_price_bills_each_request_by_its_own_length() {
    let turn = |text: String| {
        serde_json::json!([{"role": "user", "content": text},
            {"role": "assistant", "content": "Yes."}])
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    // Both prompts together are longer than 200,000 tokens, and neither is alone.
    let line = |word: &str| serde_json::json!({"messages": turn(word.repeat(150_000))}).to_string();
    fs::write(&file, [line(" one"), line(" two")].join("\n")).unwrap();
    let price = ["--price", "anthropic/claude-sonnet-4-5"];
    let args = [&price[..], &[file.to_str().unwrap()]].concat();
    let answer = answer(&args);
    let counted = &answer["reported"][0]["counted_cost_usd"];
    assert!(answer["recorded"]["prompt_tokens"].as_u64() > Some(300_000));
    assert_eq!(
        *counted, answer["recorded"]["cost_usd"],
        "the cost of a sum is no sum of costs"
    );
    let printed = printed(&whatif(&args));
    let dollars = |line: &str| line.split('$').nth(1).unwrap().to_owned();
    let counted = printed.lines().find(|line| line.contains("counted"));
    assert_eq!(
        dollars(counted.unwrap()).parse::<f64>().ok(),
        answer["recorded"]["cost_usd"].as_f64()
    );
    assert!(printed.contains("where a prompt has more than 200000 tokens"));
}

#[test]
fn what_is_read_is_not_written_over_by_whatever_name() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("runs.jsonl");
    let bytes = fs::read(root().join(RECORDS)).unwrap();
    fs::write(&record, &bytes).unwrap();
    let link = folder.path().join("rows.csv");
    std::os::unix::fs::symlink(&record, &link).unwrap();
    let hard = folder.path().join("frontier.svg");
    fs::hard_link(&record, &hard).unwrap();
    let read = folder.path().to_str().unwrap();
    let round = format!(
        "{read}/../{}/runs.jsonl",
        folder.path().file_name().unwrap().display()
    );
    for (option, path) in [
        ("--csv", round.as_str()),
        ("--csv", link.to_str().unwrap()),
        ("--plot", hard.to_str().unwrap()),
    ] {
        let output = whatif(&["--max-turns", "5", option, path, read]);
        assert_eq!(output.status.code(), Some(2), "{path}: {}", told(&output));
        assert!(
            told(&output).contains("runs.jsonl: name another file"),
            "{}",
            told(&output)
        );
        assert_eq!(printed(&output), "");
        assert_eq!(fs::read(&record).unwrap(), bytes);
    }
}

#[test]
fn a_picture_has_something_to_draw_and_a_file_of_its_own() {
    let record = root().join(RECORDS);
    let record = record.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.svg");
    let file = file.to_str().unwrap();
    for (args, words) in [
        (&["--plot", file, record][..], "--plot draws settings"),
        (
            &["--max-turns", "5", "--plot", file, "--csv", file, record],
            "name two",
        ),
    ] {
        let output = whatif(args);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
        assert!(!folder.path().join("one.svg").exists());
    }
    let output = whatif(&["--cache", "openai,anthropic", "--plot", file, record]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let drawn = fs::read_to_string(folder.path().join("one.svg")).unwrap();
    assert!(drawn.contains("prompt cache, from the left: "), "{drawn}");
}

#[test]
fn a_file_of_a_folder_that_cannot_be_read_is_named_counted_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::copy(root().join(RECORDS), path("runs.jsonl")).unwrap();
    std::os::unix::fs::symlink(path("nothing"), path("gone.jsonl")).unwrap();
    let read = folder.path().to_str().unwrap();
    let output = whatif(&[read]);
    assert!(
        printed(&output).starts_with("30 recorded runs in 1 file, 1 file that cannot be read\n")
    );
    assert!(
        told(&output).contains("gone.jsonl: cannot be read"),
        "{}",
        told(&output)
    );
    assert_eq!(answer(&[read])["read"]["unreadable"], 1);
    let named = whatif(&[path("gone.jsonl").to_str().unwrap()]);
    assert_eq!(named.status.code(), Some(3));
}

#[test]
fn what_saves_nothing_is_not_the_cheapest_and_without_successes_there_is_none() {
    let idle = printed(&whatif(&["--max-turns", "500", RECORDS]));
    assert!(idle.contains("no turn cap of these saves anything and keeps 99 % of the successes"));
    let none = printed(&whatif(&[
        "--success",
        "id=nobody",
        "--max-turns",
        "3",
        RECORDS,
    ]));
    assert!(none.contains("no run was a success"), "{none}");
}

#[test]
fn cached_tokens_that_are_reported_are_said_to_have_no_discount() {
    let said = "cached tokens are reported; what is counted is billed without their discount";
    assert!(printed(&whatif(&["tests/data/records/codex"])).contains(said));
    assert!(!printed(&whatif(&[RECORDS])).contains(said));
}

#[cfg(unix)]
#[test]
fn who_waits_for_input_that_does_not_come_is_ended_by_a_signal() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    for verb in ["whatif", "levers"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loopmeter"))
            .args([verb, "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // More than a pipe holds: when it is written, somebody reads, and has listened before.
        input.write_all(&[b'\n'].repeat(1 << 20)).unwrap();
        let mut kill = Command::new("kill");
        let sent = kill.args(["-TERM", &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{verb}");
        drop(input);
    }
}
