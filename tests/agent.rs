//! `loopmeter agent` from outside: one run across several processes.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

fn loopmeter(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopmeter"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    loopmeter(folder, arguments).output().unwrap()
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn fails(folder: &Path, arguments: &[&str], code: i32, words: &str) {
    let output = output(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    assert!(
        output.stdout.is_empty(),
        "{arguments:?} prints on a failure"
    );
}

fn run(folder: &Path, id: &str) -> Value {
    serde_json::from_str(&ok(folder, &["agent", "show", id, "--json"])).unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_run_is_started_shown_and_listed() {
    let folder = folder();
    let folder = folder.path();
    insta::assert_snapshot!(
        "start_plan",
        ok(folder, &["agent", "start", "--scenario", "plan"])
    );
    ok(
        folder,
        &[
            "agent",
            "start",
            "--scenario",
            "runaway",
            "--max-turns",
            "8",
            "--id",
            "wild",
        ],
    );
    insta::assert_snapshot!("show_plan", ok(folder, &["agent", "show", "r1"]));
    insta::assert_snapshot!(
        "trace_plan",
        ok(folder, &["agent", "show", "r1", "--trace"])
    );
    insta::assert_snapshot!("list", ok(folder, &["agent", "list"]));
    let plan = run(folder, "r1");
    assert_eq!(plan["cost_usd"].to_string(), "0.002470");
    assert_eq!(
        (&plan["prompt_tokens"], &plan["turns"]),
        (&Value::from(815), &Value::from(3))
    );
}

#[test]
fn an_approval_waits_between_processes_and_a_verdict_ends_it() {
    let folder = folder();
    let folder = folder.path();
    for id in ["yes", "no", "mute"] {
        let started = ok(
            folder,
            &["agent", "start", "--scenario", "destructive", "--id", id],
        );
        assert!(
            started.contains("interrupted / approval -> delete_file"),
            "{started}"
        );
    }
    let yes = ok(folder, &["agent", "approve", "yes"]);
    assert!(yes.contains("Deleted access.log to free space."), "{yes}");
    let no = ok(folder, &["agent", "reject", "no", "--reason", "keep it"]);
    assert!(no.contains("I did not delete anything"), "{no}");
    let mute = ok(
        folder,
        &["agent", "reject", "mute", "--verdict-wording", "empty"],
    );
    assert!(mute.contains("Deleted access.log to free space."), "{mute}");
    let deleted = |id: &str| {
        let file = folder
            .join(".loopmeter/runs")
            .join(id)
            .join("workspace/files/access.log");
        !file.exists()
    };
    assert_eq!(
        (deleted("yes"), deleted("no"), deleted("mute")),
        (true, false, false)
    );
    fails(
        folder,
        &["agent", "approve", "yes"],
        2,
        "waits for no approval",
    );
    fails(
        folder,
        &["agent", "resume", "yes"],
        2,
        "cannot be taken up again",
    );
}

#[test]
fn a_capped_run_is_resumed_under_a_higher_cap() {
    let folder = folder();
    let folder = folder.path();
    ok(
        folder,
        &[
            "agent",
            "start",
            "--scenario",
            "runaway",
            "--max-turns",
            "8",
        ],
    );
    assert_eq!(run(folder, "r1")["prompt_tokens"], 3_431);
    ok(folder, &["agent", "resume", "r1", "--max-turns", "50"]);
    assert_eq!(run(folder, "r1")["prompt_tokens"], 88_649);
    assert_eq!(run(folder, "r1")["status"], "max_turns_exceeded");
}

#[test]
fn wrong_usage_is_told_with_what_would_be_right() {
    let folder = folder();
    let folder = folder.path();
    fails(
        folder,
        &["agent", "start", "--scenario", "plann"],
        2,
        "plan",
    );
    fails(
        folder,
        &["agent", "start", "--scenario", "plan", "--id", "../x"],
        2,
        "not a run id",
    );
    fails(
        folder,
        &["agent", "start", "--scenario", "plan", "--max-turns", "0"],
        2,
        "1..",
    );
    fails(
        folder,
        &[
            "agent",
            "start",
            "--scenario",
            "plan",
            "--max-budget-usd",
            "nan",
        ],
        2,
        "nan",
    );
    let reserve = [
        "agent",
        "start",
        "--scenario",
        "plan",
        "--max-budget-usd",
        "1",
        "--budget-check",
        "reserve",
    ];
    fails(folder, &reserve, 2, "--max-completion-tokens");
    fails(folder, &["agent", "show", "nobody"], 2, "no run");
    ok(
        folder,
        &["agent", "start", "--scenario", "plan", "--id", "mine"],
    );
    fails(
        folder,
        &["agent", "start", "--scenario", "plan", "--id", "mine"],
        2,
        "already",
    );
    let record = folder.join(".loopmeter/runs/mine/run.json");
    std::fs::write(&record, "{\"format\":999}").unwrap();
    fails(folder, &["agent", "show", "mine"], 2, "format 999");
    std::fs::write(&record, "{\"format\":1,").unwrap();
    fails(folder, &["agent", "show", "mine"], 2, "not a run's record");
    std::fs::write(folder.join("occupied"), "").unwrap();
    fails(
        folder,
        &["agent", "start", "--scenario", "plan", "--dir", "occupied"],
        3,
        "occupied",
    );
}

#[test]
fn a_request_to_stop_ends_a_run_on_the_real_clock() {
    let folder = folder();
    let folder = folder.path();
    let slow = [
        "agent",
        "start",
        "--scenario",
        "runaway",
        "--max-turns",
        "10000",
        "--clock",
        "real",
        "--latency-ms",
        "20",
    ];
    let mut child = loopmeter(folder, &slow)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&folder.join(".loopmeter/runs/r1/trace.jsonl"));
    ok(folder, &["agent", "cancel", "r1", "--reason", "enough"]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let stopped = run(folder, "r1");
    assert_eq!(stopped["status"], "interrupted");
    assert_eq!(stopped["reason"]["reason"], "enough");
    let resumed = ok(folder, &["agent", "resume", "r1", "--max-turns", "1"]);
    assert!(
        resumed.contains("max_turns_exceeded"),
        "the request was obeyed once: {resumed}"
    );
}

/// Waits for another process to make a file; the test's own time-out ends a hopeless wait.
fn wait_for(path: &Path) {
    while !path.exists() {
        pause(Duration::from_millis(5));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for another process, not for a clock"
)]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(unix)]
#[test]
fn a_terminated_run_is_saved_interrupted_and_exits_130() {
    let folder = folder();
    let folder = folder.path();
    let slow = ["agent", "start", "--scenario", "archive", "--clock", "real"];
    let mut child = loopmeter(folder, &slow)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&folder.join(".loopmeter/runs/r1/trace.jsonl"));
    while !std::fs::read_to_string(folder.join(".loopmeter/runs/r1/trace.jsonl"))
        .unwrap()
        .contains("tool_start")
    {
        pause(Duration::from_millis(5));
    }
    let killed = Command::new("kill")
        .arg("-TERM")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(run(folder, "r1")["reason"]["reason"], "SIGTERM");
    assert_eq!(run(folder, "r1")["status"], "interrupted");
}

/// Twenty kills at moments spread over the run by a seeded sequence, each followed by a resume.
#[cfg(unix)]
#[test]
fn a_run_killed_twenty_times_ends_as_if_it_had_never_been() {
    const TURNS: &str = "200";
    let limits = [
        "--max-turns",
        TURNS,
        "--clock",
        "real",
        "--latency-ms",
        "20",
    ];
    let folder = folder();
    let folder = folder.path();
    ok(
        folder,
        &[
            "agent",
            "start",
            "--scenario",
            "runaway",
            "--max-turns",
            TURNS,
            "--id",
            "straight",
        ],
    );
    let mut start = vec!["agent", "start", "--scenario", "runaway", "--id", "killed"];
    start.extend(limits);
    let mut seed = 20_261_130_u64;
    let mut arguments = start;
    let mut kills = 0;
    for _ in 0..20 {
        let mut child = loopmeter(folder, &arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // A linear congruential generator (Knuth's MMIX constants) spreads the moments.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let record = folder.join(".loopmeter/runs/killed/run.json");
        wait_for(&record);
        pause(Duration::from_millis(20 + (seed >> 33) % 600));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
        arguments = vec!["agent", "resume", "killed"];
        if run(folder, "killed")["status"] != "running" {
            break;
        }
    }
    if run(folder, "killed")["status"] == "running" {
        ok(folder, &["agent", "resume", "killed"]);
    }
    assert!(kills >= 5, "only {kills} kills landed");
    let (killed, straight) = (run(folder, "killed"), run(folder, "straight"));
    for column in [
        "status",
        "turns",
        "cost_usd",
        "prompt_tokens",
        "completion_tokens",
        "messages",
    ] {
        assert_eq!(killed[column], straight[column], "{column}");
    }
}
