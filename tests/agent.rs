//! `loopmeter agent` from outside: one run across several processes.

#![expect(clippy::print_stdout, reason = "seeds and counts are worth reading")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "agent/disturbed.rs"]
mod disturbed;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use loopmeter::run::Status;
use loopmeter::store::{FileStore, Store};
use loopmeter::tools::{Template, Workspace};
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
    let json = ok(folder, &["agent", "show", "r1", "--json"]);
    assert!(json.contains("\"cost_usd\":0.002470,"), "{json}");
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
    let start = |more: &[&str], words: &str| {
        let mut arguments = vec!["agent", "start"];
        arguments.extend(more);
        fails(folder.path(), &arguments, 2, words);
    };
    start(&["--scenario", "plann"], "plan");
    start(&["--scenario", "plan", "--id", "../x"], "not a run id");
    start(&["--scenario", "plan", "--max-turns", "0"], "1..");
    start(&["--scenario", "plan", "--max-budget-usd", "nan"], "nan");
    start(
        &["--scenario", "plan", "--budget-check", "after"],
        "--max-budget-usd",
    );
    let reserve = ["--max-budget-usd", "1", "--budget-check", "reserve"];
    let reserve: Vec<_> = ["--scenario", "plan"]
        .iter()
        .chain(&reserve)
        .copied()
        .collect();
    start(&reserve, "--max-completion-tokens");
    fails(folder.path(), &["agent", "show", "nobody"], 2, "no run");
}

#[test]
fn a_record_that_cannot_be_used_is_told_and_left_alone() {
    let folder = folder();
    let folder = folder.path();
    let start = ["agent", "start", "--scenario", "plan", "--id", "mine"];
    ok(folder, &start);
    fails(folder, &start, 2, "already");
    let record = folder.join(".loopmeter/runs/mine/run.json");
    for (text, words) in [
        ("{\"format\":999}", "format 999"),
        ("{\"format\":1,", "not a run's record"),
        ("", "not a run's record"),
    ] {
        std::fs::write(&record, text).unwrap();
        fails(folder, &["agent", "show", "mine"], 2, words);
        fails(folder, &["agent", "resume", "mine"], 2, words);
        assert_eq!(std::fs::read_to_string(&record).unwrap(), text);
    }
    std::fs::write(folder.join("occupied"), "").unwrap();
    let occupied = ["agent", "start", "--scenario", "plan", "--dir", "occupied"];
    fails(folder, &occupied, 3, "occupied");
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

#[test]
fn one_process_at_a_time_drives_a_run() {
    let folder = folder();
    let folder = folder.path();
    let slow = ["agent", "start", "--scenario", "archive", "--clock", "real"];
    let mut child = loopmeter(folder, &slow)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&folder.join(".loopmeter/runs/r1/trace.jsonl"));
    fails(
        folder,
        &["agent", "resume", "r1"],
        3,
        "driven by another process",
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    fails(
        folder,
        &["agent", "resume", "r1"],
        2,
        "cannot be taken up again",
    );
}

#[test]
fn a_torn_line_of_a_trace_spoils_no_other() {
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
            "2",
        ],
    );
    let trace = folder.join(".loopmeter/runs/r1/trace.jsonl");
    let text = std::fs::read_to_string(&trace).unwrap();
    std::fs::write(&trace, &text[..text.len() - 20]).unwrap();
    ok(folder, &["agent", "resume", "r1", "--max-turns", "3"]);
    let text = std::fs::read_to_string(&trace).unwrap();
    let whole = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    assert_eq!(
        text.lines().filter(|line| !whole(line)).count(),
        1,
        "{text}"
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

/// Moments spread by a linear congruential generator (Knuth's MMIX constants), seed printed.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Duration {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        const STEP: u64 = 1_442_695_040_888_963_407;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(STEP);
        Duration::from_micros((self.0 >> 33) % 150_000)
    }
}

/// Starts the command, kills it `moment` after its first step, and says whether it still ran.
#[cfg(unix)]
fn killed(folder: &Path, arguments: &[&str], moment: Duration) -> bool {
    let mut child = loopmeter(folder, arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let trace = folder.join(".loopmeter/runs/killed/trace.jsonl");
    let length = || std::fs::metadata(&trace).map_or(0, |file| file.len());
    let before = length();
    while length() == before && child.try_wait().unwrap().is_none() {
        pause(Duration::from_millis(1));
    }
    pause(moment);
    let alive = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    alive
}

#[cfg(unix)]
#[test]
fn a_run_killed_twenty_times_ends_as_if_it_had_never_been() {
    const SEED: u64 = 20_261_130;
    println!("seed {SEED}");
    let limits = [
        "--max-turns",
        "200",
        "--latency-ms",
        "20",
        "--scenario",
        "runaway",
    ];
    let start = |more: &[&'static str]| {
        let mut arguments = vec!["agent", "start"];
        arguments.extend(limits);
        arguments.extend(more);
        arguments
    };
    let folder = folder();
    let folder = folder.path();
    ok(folder, &start(&["--id", "straight"]));
    let mut moments = Moments(SEED);
    let mut arguments = start(&["--id", "killed", "--clock", "real"]);
    let mut kills = 0;
    while kills < 20 && killed(folder, &arguments, moments.next()) {
        kills += 1;
        arguments = vec!["agent", "resume", "killed"];
    }
    if run(folder, "killed")["status"] == "running" {
        ok(folder, &["agent", "resume", "killed"]);
    }
    println!("{kills} kills");
    assert_eq!(kills, 20, "the run was over before the twentieth kill");
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

/// A run of `scenario` that was killed inside its call `c2`, as it lies in the store.
fn killed_in_a_write(folder: &Path, id: &str) {
    let start = ["agent", "start", "--scenario", "destructive", "--id", id];
    ok(folder, &start);
    let store = FileStore::new(&folder.join(".loopmeter/runs"));
    let hold = store.hold(id).unwrap();
    let mut record = store.load(id).unwrap();
    record.run.status = Status::Running;
    record.run.interruption = None;
    record.run.in_flight = Some("c2".to_owned());
    store.save(&hold, &record).unwrap();
}

#[test]
fn a_write_that_nobody_confirmed_is_settled_by_a_person() {
    let folder = folder();
    let folder = folder.path();
    for id in ["again", "done"] {
        killed_in_a_write(folder, id);
        let resumed = ok(folder, &["agent", "resume", id]);
        assert!(
            resumed.contains("interrupted / unknown_outcome: c2 = delete_file"),
            "{resumed}"
        );
        assert!(resumed.contains("--done c2, or --retry c2"), "{resumed}");
        let file = folder.join(format!(".loopmeter/runs/{id}/workspace/files/access.log"));
        assert!(file.exists(), "it was not run again");
    }
    fails(
        folder,
        &["agent", "resume", "again", "--retry", "c1"],
        2,
        "call c2 does",
    );
    let again = ok(folder, &["agent", "resume", "again", "--retry", "c2"]);
    assert!(again.contains("completed"), "{again}");
    let settle = [
        "agent",
        "resume",
        "done",
        "--done",
        "c2",
        "--result",
        "deleted access.log",
    ];
    let done = ok(folder, &settle);
    assert!(done.contains("completed"), "{done}");
    assert_eq!(
        run(folder, "again")["messages"],
        run(folder, "done")["messages"]
    );
    let deleted = |id: &str| {
        let file = folder.join(format!(".loopmeter/runs/{id}/workspace/files/access.log"));
        !file.exists()
    };
    assert_eq!((deleted("again"), deleted("done")), (true, false));
    for verb in ["--retry", "--done"] {
        fails(
            folder,
            &["agent", "resume", "again", verb, "c2"],
            2,
            "is completed",
        );
    }
}

#[test]
fn a_verdict_that_was_given_is_not_given_again() {
    let folder = folder();
    let folder = folder.path();
    for (id, verdict) in [("yes", "approve"), ("no", "reject")] {
        let start = ["agent", "start", "--scenario", "destructive", "--id", id];
        ok(folder, &start);
        ok(folder, &["agent", verdict, id]);
        for again in ["approve", "reject"] {
            let call = ["agent", again, id, "--call", "c2"];
            fails(folder, &call, 2, "call c2 has its result already");
        }
    }
}

#[test]
fn a_state_of_an_earlier_format_is_taken_up() {
    for format in ["1", "2"] {
        let folder = folder();
        let folder = folder.path();
        let run_folder = folder.join(".loopmeter/runs/old");
        std::fs::create_dir_all(&run_folder).unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/state/format-{format}.json"));
        std::fs::copy(fixture, run_folder.join("run.json")).unwrap();
        Workspace::create_folder(&run_folder.join("workspace"), &Template::chapter()).unwrap();
        let approved = ok(folder, &["agent", "approve", "old"]);
        assert!(approved.contains("Deleted access.log"), "{approved}");
        let record = std::fs::read_to_string(run_folder.join("run.json")).unwrap();
        assert!(
            record.starts_with("{\"format\":3,\"sha256\":\""),
            "{record}"
        );
    }
}

#[test]
fn a_changed_state_is_refused() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &["agent", "start", "--scenario", "destructive"]);
    let record = folder.join(".loopmeter/runs/r1/run.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let cheaper = text.replacen("\"turns\":2", "\"turns\":1", 1);
    assert_ne!(text, cheaper);
    std::fs::write(&record, &cheaper).unwrap();
    fails(folder, &["agent", "approve", "r1"], 2, "checksum");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), cheaper);
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_holds_runs_as_a_folder_does() {
    let folder = folder();
    let folder = folder.path();
    let database = |verb: &[&str]| -> Vec<String> {
        let store = ["--store", "sqlite:runs.db"];
        let all = ["agent"].iter().chain(verb).chain(&store);
        all.map(|word| (*word).to_owned()).collect()
    };
    let ok = |verb: &[&str]| {
        let arguments = database(verb);
        ok(
            folder,
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    ok(&["start", "--scenario", "plan"]);
    let waiting = ok(&["start", "--scenario", "destructive"]);
    assert!(
        waiting.contains("run r2: interrupted / approval"),
        "{waiting}"
    );
    let interrupted = ok(&["list", "--status", "interrupted", "--json"]);
    let interrupted: Value = serde_json::from_str(&interrupted).unwrap();
    assert_eq!(interrupted[0]["run_id"], "r2");
    assert_eq!(interrupted.as_array().unwrap().len(), 1);
    assert!(ok(&["approve", "r2"]).contains("completed"));
    assert_eq!(ok(&["list"]).lines().count(), 2);
    assert!(ok(&["show", "r2", "--trace"]).contains("approval_required"));
    let wrong = ["agent", "list", "--store", "postgres:runs"];
    fails(folder, &wrong, 2, "sqlite:FILE");
}
