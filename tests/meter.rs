//! `loopmeter meter`, and experiments whose harness is a command, with an agent that is no part of
//! the program: this test itself, started again as the agent of `examples/agent.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

#[path = "../examples/agent.rs"]
#[expect(dead_code, reason = "its own entry is not used here")]
mod agent;

const BIN: &str = env!("CARGO_BIN_EXE_loopmeter");

/// Not a test of its own: the agent, when this binary was started as one.
#[test]
#[expect(clippy::exit, reason = "an agent has an exit code of its own")]
#[expect(
    clippy::disallowed_methods,
    reason = "an agent is told by its environment"
)]
fn acting_as_the_agent() {
    match std::env::var("ACT_AS_AGENT").as_deref() {
        Ok("forger") => {
            forge(&std::env::var("OPENAI_BASE_URL").unwrap());
            std::process::exit(5);
        }
        Ok(_) => std::process::exit(i32::from(agent::run())),
        Err(_) => {}
    }
}

/// An agent that names its tool and a parameter so that they would pass for lines of the bill and
/// for formulas, and whose last words would.
fn forge(base: &str) {
    let parameters = serde_json::json!({ "type": "object", "properties": {} });
    let tool = serde_json::json!({ "name": "=cmd()\nforged", "parameters": parameters });
    let body = serde_json::json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "hi" }],
        "tools": [{ "type": "function", "function": tool }],
        "odd\nforged": 1,
    });
    let (host, path) = base.trim_start_matches("http://").split_once('/').unwrap();
    let body = body.to_string();
    let mut socket = TcpStream::connect(host).unwrap();
    write!(
        socket,
        "POST /{path}/chat/completions HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    std::io::copy(&mut socket, &mut std::io::sink()).unwrap();
    std::io::stderr().write_all(b"=HYPERLINK(\"x\")\n").unwrap();
}

/// The words of a command that is the agent.
fn agent_command() -> Vec<String> {
    let here = std::env::current_exe().unwrap();
    let here = here.to_str().unwrap().to_owned();
    let rest = ["acting_as_the_agent", "--exact", "--nocapture"];
    std::iter::once(here)
        .chain(rest.map(str::to_owned))
        .collect()
}

fn meter(options: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(BIN)
        .arg("meter")
        .args(options)
        .arg("--")
        .args(agent_command())
        .env("ACT_AS_AGENT", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn bill(options: &[&str], variables: &[(&str, &str)]) -> (Value, i32) {
    let output = meter(&[&["--json"], options].concat(), variables);
    let bill = serde_json::from_slice(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        bill.unwrap_or_else(|error| panic!("{error}: {told}")),
        output.status.code().unwrap(),
    )
}

#[test]
fn an_agent_that_is_asked_for_one_tool_calls_it_and_answers() {
    let (bill, code) = bill(&[], &[]);
    assert_eq!(code, 0);
    assert_eq!(bill["ended"], "answered");
    assert_eq!(bill["scenario"], "any-once");
    assert_eq!((&bill["turns"], &bill["requests"]), (&2.into(), &2.into()));
    assert_eq!(bill["by_turn"][0]["called"][0], "read_notes");
    assert_eq!(bill["by_turn"][1]["told"][0]["text"], "buy milk");
    assert_eq!(bill["by_turn"][1]["told"][0]["channel"], "tool");
    let first = &bill["by_turn"][0];
    let sent = first["messages_tokens"].as_u64().unwrap() + first["tools_tokens"].as_u64().unwrap();
    assert_eq!(bill["first_prompt_tokens"], sent);
    assert_eq!(bill["oddities"], Value::Array(vec![]));
}

#[test]
fn the_bill_has_standard_output_to_itself() {
    let output = meter(&["--csv"], &[]);
    let csv = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 2, "{csv}");
    assert!(lines[0].starts_with("ended,exit_code,turns,"));
    assert!(lines[1].starts_with("answered,0,2,"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("That is done."), "{said}");
}

#[test]
fn the_exit_code_is_the_commands_own() {
    let (bill, code) = bill(&["--scenario", "any-runaway"], &[("AGENT_MAX_TURNS", "3")]);
    assert_eq!((code, &bill["exit_code"]), (4, &4.into()));
    assert_eq!(bill["ended"], "tools_pending");
    assert_eq!(bill["turns"], 3);
    assert_eq!(bill["last_error"], "stopped: too many turns");
}

#[test]
fn an_agent_that_does_not_stop_is_stopped() {
    let options = ["--scenario", "any-runaway", "--max-requests", "20"];
    let (bill, code) = bill(&options, &[("AGENT_MAX_TURNS", "1000000")]);
    assert_eq!((code, &bill["ended"]), (124, &"too_many_requests".into()));
    assert!(bill["turns"].as_u64().unwrap() >= 20);
    assert_eq!(bill["exit_code"], Value::Null);
}

#[test]
fn attempts_at_one_request_are_told_from_requests() {
    let fault = ["--fault", "turn=1,first=2,kind=429,retry_after_ms=1"];
    let (bill, code) = bill(&fault, &[]);
    assert_eq!(code, 0);
    let numbers = ["turns", "requests", "attempts", "retries"].map(|key| bill[key].as_u64());
    assert_eq!(numbers, [Some(2), Some(2), Some(4), Some(2)]);
    assert_eq!(bill["by_turn"][1]["attempts"], 3);
    assert_eq!(bill["failures"][0]["status"], 429);
}

#[test]
fn an_agent_that_gives_up_has_a_bill_without_turns() {
    let options = ["--fault", "kind=500"];
    let (bill, code) = bill(&options, &[("AGENT_RETRIES", "1")]);
    assert_eq!((code, &bill["ended"]), (1, &"request_failed".into()));
    assert_eq!((&bill["turns"], &bill["attempts"]), (&0.into(), &2.into()));
    assert_eq!(bill["first_prompt_tokens"], Value::Null);
    assert_eq!(bill["replayed_percent"], Value::Null);
}

#[test]
fn results_that_are_told_as_the_user_are_seen_as_such() {
    let options = ["--turn-index", "conversation"];
    let (bill, _) = bill(&options, &[("AGENT_TELLS", "user")]);
    assert_eq!(bill["by_turn"][1]["told"][0]["channel"], "user");
    let odd = bill["oddities"].as_array().unwrap();
    let kinds: Vec<_> = odd
        .iter()
        .map(|odd| odd["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"results_as_user_text"), "{kinds:?}");
}

#[test]
fn the_bill_for_people_says_what_the_numbers_are() {
    let output = meter(&["--fault", "turn=0,first=1,kind=503"], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "2 turns, $",
        "the model answered, and the command ended, exit code 0",
        "requests    2, in 3 attempts",
        "turn 2, in a tool message: \"buy milk\"",
        "request 1: failed as it was told to: 503",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn an_agent_writes_no_line_of_the_bill() {
    let output = meter(&[], &[("ACT_AS_AGENT", "forger")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("unknown parameters: odd\\nforged\n"),
        "{text}"
    );
    assert!(text.contains("  =cmd()\\nforged\n"), "{text}");
    assert!(!text.contains("\nforged"), "{text}");
}

#[test]
fn an_agent_writes_no_formula_into_the_csv_and_json_has_its_words() {
    let forger = [("ACT_AS_AGENT", "forger")];
    let csv = |form| String::from_utf8(meter(&[form], &forger).stdout).unwrap();
    let cells = csv("--csv");
    assert!(cells.ends_with(",\"'=HYPERLINK(\"\"x\"\")\"\n"), "{cells}");
    let turns = csv("--csv=turns");
    assert!(turns.contains(",\"'=cmd()\nforged\","), "{turns}");
    let (bill, code) = bill(&[], &forger);
    assert_eq!(
        (code, &bill["last_error"]),
        (5, &"=HYPERLINK(\"x\")".into())
    );
    assert_eq!(bill["by_turn"][0]["called"][0], "=cmd()\nforged");
}

#[test]
fn what_cannot_be_metered_is_said() {
    let run = |words: &[&str]| {
        let output = Command::new(BIN).arg("meter").args(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, output.stdout)
    };
    let (code, said, stdout) = run(&["--", "no-such-agent"]);
    assert_eq!((code, stdout.len()), (Some(3), 0));
    assert!(said.contains("`no-such-agent` cannot be started"), "{said}");
    let (code, said, _) = run(&["--scenario", "any-onse", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("any-once"), "{said}");
    assert_eq!(run(&["--price", "chaptre", "--", "true"]).0, Some(2));
    assert_eq!(run(&["--timeout", "120", "--", "true"]).0, Some(2));
    assert_eq!(run(&[]).0, Some(2));
}

/// A file for an experiment whose harness is the agent.
fn experiment(rest: &str) -> String {
    let words = serde_json::to_string(&agent_command()).unwrap();
    format!(
        "title = \"An agent\"\nabout = \"What it costs.\"\n{rest}\n\
         [harness]\ncommand = {words}\nenv = {{ ACT_AS_AGENT = 1, AGENT_RETRIES = 1 }}\n"
    )
}

fn in_folder(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(BIN)
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

const SWEEP: &str = r#"
    settings = { scenario = "any-runaway" }
    axis = [{ setting = "env.AGENT_MAX_TURNS", values = [2, 4] }]
    table = { caption = "A cap", columns = ["env.AGENT_MAX_TURNS", "turns", "exit_code"] }
    claim = [{ id = "agent.turns", value = 4, cell = { column = "turns", where = { "env.AGENT_MAX_TURNS" = 4 } } }]
"#;

#[test]
fn an_experiment_sweeps_somebodys_agent_and_checks_what_it_published() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::create_dir(here.join("experiments")).unwrap();
    fs::write(here.join("experiments/cap.toml"), experiment(SWEEP)).unwrap();
    let (code, said) = in_folder(here, &["run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("skipped, on the real clock or without an endpoint: cap"),
        "{said}"
    );
    let (code, said) = in_folder(here, &["run", "--only", "cap"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("claims: 1 hold, 0 do not"), "{said}");
    let read = |file: &str| fs::read_to_string(here.join("results/cap").join(file)).unwrap();
    assert_eq!(
        read("table.csv"),
        "env.AGENT_MAX_TURNS,turns,exit_code\n2,2,4\n4,4,4\n"
    );
    assert_eq!(read("turns.csv").lines().count(), 1 + 2 + 4);
    assert!(read("SHA256SUMS").contains("cells.csv"));
    let (code, said) = in_folder(here, &["check"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn the_variables_of_a_case_are_written_over_those_of_all_cells() {
    let rest = r#"
        settings = { scenario = "any-once", env = { AGENT_TELLS = "user", AGENT_TOOL_FAILS = true } }
        case = [
            { name = "as user" },
            { name = "as tool", settings = { env = { AGENT_TELLS = "tool" } } },
            { name = "fails", settings = { faults = ["turn=0,kind=500"] } },
        ]
        table = { caption = "T", columns = ["case", "turns", "attempts", "ended"] }
    "#;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cases.toml"), experiment(rest)).unwrap();
    let (code, said) = in_folder(folder.path(), &["run", "cases.toml", "--out", "out"]);
    assert_eq!(code, Some(0), "{said}");
    let read = |file: &str| fs::read_to_string(folder.path().join("out/cases").join(file)).unwrap();
    assert_eq!(
        read("table.csv"),
        "case,turns,attempts,ended\nas user,2,2,answered\nas tool,2,2,answered\n\
         fails,0,2,request_failed\n"
    );
    let turns = read("turns.csv");
    assert!(turns.contains("The tool said: error: the notes are locked"));
    assert!(turns.contains(",error: the notes are locked,"));
}

#[test]
fn a_setting_that_the_harness_does_not_obey_is_refused_where_it_stands() {
    let refused = |name: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        let (code, said) = in_folder(folder.path(), &["run", name]);
        assert_eq!(code, Some(2), "{said}");
        said
    };
    let of_the_loop = "settings = { scenario = \"any-once\", max_turns = 3 }\nclock = \"virtual\"";
    let said = refused("a.toml", &experiment(of_the_loop));
    assert!(said.contains("a.toml:3:"), "{said}");
    assert!(
        said.contains("only the loop of this program obeys it"),
        "{said}"
    );
    assert!(
        said.contains("a command cannot run on the virtual clock"),
        "{said}"
    );
    let of_commands = "title = \"T\"\nabout = \"A.\"\n\
        [settings]\nscenario = \"plan\"\nmax_turns = 3\nfaults = [\"kind=500\"]\n\
        [[axis]]\nsetting = \"env.A\"\nvalues = [1]\n";
    let said = refused("b.toml", of_commands);
    assert!(said.contains("b.toml:6:"), "{said}");
    assert!(
        said.contains("the variable A: only a command obeys it"),
        "{said}"
    );
    let unknown = "settings = { scenario = \"any-onse\", faults = [\"kind=599\"] }";
    let said = refused("c.toml", &experiment(unknown));
    assert!(said.contains("kind=599") || said.contains("599"), "{said}");
}

/// What came of a process, if it ends within a minute; it is killed otherwise.
#[cfg(unix)]
fn ending_of(process: Child) -> Option<Output> {
    let id = process.id().to_string();
    let (tell, told) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || tell.send(process.wait_with_output()));
    let output = told.recv_timeout(Duration::from_secs(60));
    if output.is_err() {
        let killed = Command::new("kill").args(["-KILL", &id]).status();
        assert!(killed.unwrap().success());
    }
    waiting.join().unwrap().unwrap();
    Some(output.ok()?.unwrap())
}

/// A command that is metered, with its standard output and standard error to be read here.
#[cfg(unix)]
fn metering(options: &[&str], script: &str) -> Child {
    Command::new(BIN)
        .args(["meter", "--json"])
        .args(options)
        .args(["--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn where_nobody_reads_what_the_command_prints_its_time_is_up_all_the_same() {
    let mut metering = metering(&["--timeout", "1s"], "yes & yes >&2");
    let unread = metering.stderr.take();
    let output = ending_of(metering).expect("it ends");
    assert_eq!(output.status.code(), Some(124));
    let bill: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(bill["ended"], "timed_out");
    drop(unread);
}

#[cfg(unix)]
#[test]
fn where_nobody_reads_what_the_command_prints_a_signal_is_heard_all_the_same() {
    let mut metering = metering(&[], "echo up; yes & yes >&2");
    let mut line = String::new();
    // One piece is read, and no more.
    let mut unread = BufReader::new(metering.stderr.take().unwrap());
    unread.read_line(&mut line).unwrap();
    let id = metering.id().to_string();
    let told = Command::new("kill").args(["-TERM", &id]).status();
    assert!(told.unwrap().success());
    let output = ending_of(metering).expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    drop(unread);
}

#[cfg(unix)]
#[test]
fn what_the_command_prints_is_shown_whole_and_in_order() {
    let output = ending_of(metering(&[], "seq 1 200000")).expect("it ends");
    let printed: Vec<_> = (1..=200_000).map(|n: u32| n.to_string()).collect();
    let printed = printed.join("\n") + "\n";
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown == printed, "{} of {}", shown.len(), printed.len());
}

/// An agent that nobody can ask to end, metered by a meter that is metered itself: both have the
/// same time to end, and the outer one ends the inner one before that has ended the agent.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_inside_of_two_meters_is_ended_with_the_outer_one() {
    use loopmeter::clock::{Clock, RealClock};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    let agent = "trap '' TERM; echo $$ > \"$ID\"; while :; do sleep 0.05; done";
    let outer = Command::new(BIN)
        .args(["meter", "--quiet", "--timeout", "5s", "--", BIN])
        .args(["meter", "--quiet", "--timeout", "60s", "--", "sh", "-c"])
        .arg(agent)
        .env("ID", &file)
        .stdout(Stdio::null())
        .status();
    assert_eq!(outer.unwrap().code(), Some(124));
    let id = fs::read_to_string(&file).unwrap();
    let stat = Path::new("/proc").join(id.trim()).join("stat");
    let is_alive = || {
        let stat = fs::read_to_string(&stat).unwrap_or_default();
        [") R ", ") S ", ") D "]
            .iter()
            .any(|state| stat.contains(state))
    };
    // What is killed may be seen for a moment, on its way out.
    let clock = RealClock::starting_at(Duration::ZERO);
    while is_alive() && clock.now() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    let is_left = is_alive();
    if is_left {
        let killed = Command::new("kill").args(["-KILL", id.trim()]).status();
        assert!(killed.unwrap().success());
    }
    assert!(!is_left, "{id}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_command_and_then_loopmeter() {
    let mut metering = Command::new(BIN)
        .args(["meter", "--json", "--", "sh", "-c"])
        .arg("echo up; sleep 600")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stderr = metering.stderr.take().unwrap();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    let id = metering.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = metering.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let bill: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(bill["ended"], "stopped");
}
