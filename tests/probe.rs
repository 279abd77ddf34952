//! `loopmeter probe`: each finding, of an agent that does well and of one that does badly. The
//! agent is this test itself, started again as that of `examples/agent.rs`.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use loopmeter::clock::Signal;
use loopmeter::pricing::{CHAPTER_PRICE, PriceList};
use loopmeter::probe::{
    Check, Failing, Options, ProbeError, Progress, Requirement, to_json, to_markdown, to_text,
};
use regex::Regex;
use serde_json::Value;

#[path = "../examples/agent.rs"]
#[expect(dead_code, reason = "its own entry is not used here")]
mod agent;

const BIN: &str = env!("CARGO_BIN_EXE_loopmeter");

/// An agent that does well in everything.
const WELL: [(&str, &str); 3] = [
    ("AGENT_TIMEOUT_MS", "500"),
    ("AGENT_TOOL_FAILS", "why"),
    ("AGENT_REPEATS", "once"),
];

/// Not a test of its own: the agent, when this binary was started as one.
#[test]
#[expect(clippy::exit, reason = "an agent has an exit code of its own")]
#[expect(
    clippy::disallowed_methods,
    reason = "an agent is told by its environment"
)]
fn acting_as_the_agent() {
    if std::env::var("ACT_AS_AGENT").is_ok() {
        std::process::exit(i32::from(agent::run()));
    }
}

fn this_binary() -> String {
    let here = std::env::current_exe().unwrap();
    here.to_str().unwrap().to_owned()
}

fn probe(options: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(BIN)
        .args(["probe", "--retry-after", "1"])
        .args(options)
        .arg("--")
        .arg(this_binary())
        .args(["acting_as_the_agent", "--exact", "--nocapture"])
        .env("ACT_AS_AGENT", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The report on one check.
fn checked(check: &str, variables: &[(&str, &str)]) -> Value {
    checked_with(check, &[], variables)
}

fn checked_with(check: &str, options: &[&str], variables: &[(&str, &str)]) -> Value {
    let options = [&["--format", "json", "--only", check], options].concat();
    let output = probe(&options, variables);
    let report: Result<Value, _> = serde_json::from_slice(&output.stdout);
    let mut report = report.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    report["checks"][0].take()
}

/// The finding of that name in the report on a check.
fn found(check: &Value, finding: &str) -> Value {
    let all = check["findings"].as_array().unwrap();
    let one = all.iter().find(|one| one["finding"] == finding);
    one.unwrap_or_else(|| panic!("no {finding} in {check}"))
        .clone()
}

/// The verdict on a finding of a check, and the value of one of its keys.
fn verdict(check: &Value, finding: &str, key: &str) -> (String, Value) {
    let found = found(check, finding);
    (
        found["verdict"].as_str().unwrap().to_owned(),
        found[key].clone(),
    )
}

fn is(verdict: &str, value: impl Into<Value>) -> (String, Value) {
    (verdict.to_owned(), value.into())
}

#[test]
fn a_runaway_is_stopped_or_not_and_a_hundred_turns_have_a_price() {
    let stops = checked("runaway", &[]);
    assert_eq!(verdict(&stops, "stops", "stop"), is("good", "itself"));
    assert_eq!(found(&stops, "stops")["turns"], 8);
    let hundred = found(&stops, "hundred-turns");
    assert_eq!(
        (&hundred["n"], &hundred["estimate"]["how"]),
        (&8.into(), &"fitted".into())
    );
    let estimate = hundred["estimate"]["prompt_tokens"].as_u64().unwrap();

    let uncapped = [("AGENT_MAX_TURNS", "1000000")];
    let runs = checked("runaway", &uncapped);
    assert_eq!(verdict(&runs, "stops", "stop"), is("bad", "request-limit"));
    assert_eq!(verdict(&runs, "ends", "ending").0, "bad");
    let hundred = found(&runs, "hundred-turns");
    assert_eq!(hundred["estimate"]["how"], "measured");
    let measured = found(&runs, "stops")["prompt_tokens"].as_u64().unwrap();
    assert!(
        measured.abs_diff(estimate) * 50 < measured,
        "{measured} {estimate}"
    );

    let short = checked("runaway", &[("AGENT_MAX_TURNS", "2")]);
    assert_eq!(verdict(&short, "hundred-turns", "n"), is("unclear", 2));
}

#[test]
fn a_repeated_call_is_answered_from_memory_or_made_again() {
    let once = checked("repeated-call", &WELL);
    assert_eq!(verdict(&once, "repeats", "executed"), is("good", 1));
    let twice = checked("repeated-call", &[]);
    assert_eq!(verdict(&twice, "repeats", "executed"), is("fact", 2));
    assert_eq!(verdict(&twice, "repeats", "same_text").1, true);
    let never = checked("repeated-call", &[("AGENT_TOOL_FAILS", "crash")]);
    assert_eq!(verdict(&never, "repeats", "answered"), is("bad", false));
}

#[test]
fn parallel_calls_are_answered_all_or_some_in_order_or_not_or_in_text() {
    let of = |tells| checked("parallel-calls", &[("AGENT_TELLS", tells)]);
    let all = of("tool");
    assert_eq!(verdict(&all, "parallel", "answered"), is("good", 3));
    assert_eq!(verdict(&all, "parallel", "order").1, "as-made");
    assert_eq!(verdict(&of("first"), "parallel", "answered"), is("bad", 1));
    assert_eq!(
        verdict(&of("reverse"), "parallel", "order"),
        is("bad", "another")
    );
    assert_eq!(
        verdict(&of("user"), "parallel", "order"),
        is("unclear", "untold")
    );
}

#[test]
fn a_call_that_cannot_be_made_is_answered_or_crashes() {
    for check in ["unknown-tool", "malformed-arguments"] {
        let told = checked(check, &[]);
        assert_eq!(verdict(&told, "told-why", "told"), is("good", "something"));
        assert_eq!(verdict(&told, "ends", "ending").0, "good");
        let crashes = checked(check, &[("AGENT_BAD_CALLS", "crash")]);
        let why = found(&crashes, "told-why");
        assert_eq!(
            (&why["told"], &why["verdict"]),
            (&"crashed".into(), &"bad".into())
        );
        let evidence = why["evidence"].to_string();
        assert!(evidence.contains("standard error ends with"), "{evidence}");
    }
}

#[test]
fn the_model_is_told_why_a_tool_failed_or_not() {
    let of = |fails| checked("failing-tool", &[("AGENT_TOOL_FAILS", fails)]);
    assert_eq!(
        verdict(&of("why"), "told-why", "told"),
        is("good", "own-words")
    );
    assert_eq!(
        verdict(&of("1"), "told-why", "told"),
        is("bad", "fixed-sentence")
    );
    assert_eq!(
        verdict(&of("crash"), "told-why", "told"),
        is("bad", "crashed")
    );
    let never = checked("failing-tool", &[]);
    assert_eq!(
        verdict(&never, "told-why", "told"),
        is("unclear", "no-failure")
    );
    let user = [("AGENT_TOOL_FAILS", "why"), ("AGENT_TELLS", "user")];
    let user = checked("failing-tool", &user);
    assert_eq!(verdict(&user, "told-why", "channel"), is("good", "user"));
}

#[test]
fn a_call_that_is_known_to_fail_is_made_as_it_is_given() {
    let given = [
        "--tool",
        "read_notes",
        "--failing-arguments",
        r#"{"topic":"the moon"}"#,
    ];
    let check = checked_with("failing-tool", &given, &[("AGENT_TOOL_FAILS", "why")]);
    let why = found(&check, "told-why");
    assert_eq!(why["told"], "own-words");
    assert!(why["evidence"].to_string().contains("the moon"), "{why}");
    let fixed = checked_with("failing-tool", &given, &[("AGENT_TOOL_FAILS", "1")]);
    assert_eq!(
        verdict(&fixed, "told-why", "told"),
        is("unclear", "no-reason")
    );
}

#[test]
fn a_status_is_met_with_more_attempts_or_with_one() {
    let patient = checked("server-error", &[]);
    let attempts = found(&patient, "attempts");
    assert_eq!(
        (&attempts["verdict"], &attempts["attempts"]["exactly"]),
        (&"good".into(), &3.into())
    );
    let outlives = checked_with("server-error", &["--failures", "2"], &[]);
    let attempts = found(&outlives, "attempts");
    assert_eq!(
        (&attempts["recovered"], &attempts["attempts"]["at-least"]),
        (&true.into(), &3.into())
    );
    let hasty = checked("server-error", &[("AGENT_RETRIES", "0")]);
    assert_eq!(verdict(&hasty, "attempts", "recovered"), is("bad", false));
}

#[test]
fn the_wait_that_is_asked_for_is_kept_or_not() {
    let of = |variables: &[(&str, &str)]| checked("rate-limited", variables);
    let kept = of(&[("AGENT_RETRIES", "1")]);
    assert_eq!(verdict(&kept, "retry-after", "asked_ms"), is("good", 1_000));
    let ignored = of(&[("AGENT_RETRY_AFTER", "ignore")]);
    assert_eq!(
        verdict(&ignored, "retry-after", "asked_ms"),
        is("bad", 1_000)
    );
    let given_up = of(&[("AGENT_RETRIES", "0")]);
    assert_eq!(
        verdict(&given_up, "retry-after", "shortest_ms"),
        is("not-applicable", Value::Null)
    );
}

#[test]
fn a_reply_that_is_none_is_asked_for_again_or_taken_for_an_answer() {
    for check in ["cut-reply", "empty-reply"] {
        let again = checked(check, &[]);
        assert_eq!(verdict(&again, "attempts", "recovered"), is("good", true));
        let taken = checked(check, &[("AGENT_TAKES", "anything")]);
        assert_eq!(verdict(&taken, "attempts", "recovered"), is("bad", false));
        assert_eq!(found(&taken, "ends")["ending"]["how"], "silence");
        let raised = checked(check, &[("AGENT_RETRIES", "0")]);
        assert_eq!(verdict(&raised, "attempts", "recovered"), is("fact", false));
    }
}

#[test]
fn a_stalled_reply_is_given_up_or_waited_for() {
    let patient = checked("stalled-reply", &[("AGENT_TIMEOUT_MS", "300")]);
    assert_eq!(verdict(&patient, "attempts", "recovered"), is("good", true));
    let hangs = checked_with("stalled-reply", &["--timeout-per-check", "2s"], &[]);
    assert_eq!(verdict(&hangs, "attempts", "recovered"), is("bad", false));
    assert_eq!(found(&hangs, "ends")["ending"]["how"], "time-up");
}

#[test]
fn an_agent_without_tools_is_not_blamed_for_them() {
    for check in [
        "runaway",
        "repeated-call",
        "parallel-calls",
        "failing-tool",
        "unknown-tool",
    ] {
        let none = checked(check, &[("AGENT_TOOLS", "none")]);
        assert_eq!(
            found(&none, "no-tools")["verdict"],
            "not-applicable",
            "{check}"
        );
    }
}

#[test]
fn requirements_that_hold_are_no_news() {
    let require = "stops,max-turns=8,max-cost=0.05,max-attempts=3,retries,honours-retry-after,\
                   told-why,answers-unknown-tool,answers-malformed-arguments,answers-parallel,\
                   runs-repeats-once,no-hangs,max-first-tokens=500";
    let output = probe(&["--require", require], &WELL);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_requirement_that_does_not_hold_is_named() {
    let uncapped = [("AGENT_MAX_TURNS", "1000000")];
    for broken in ["stops", "max-cost=100", "max-turns=1000"] {
        let options = [
            "--only",
            "runaway",
            "--require",
            broken,
            "--max-requests",
            "20",
        ];
        let output = probe(&options, &uncapped);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        let expected = format!("requirement {broken} does not hold: it does not stop a runaway");
        assert!(said.starts_with(&expected), "{said}");
        assert!(text(&output.stdout).contains(&format!("FAILS    {broken}")));
    }
}

#[test]
fn what_was_not_seen_does_not_hold() {
    let options = ["--only", "failing-tool", "--require", "told-why"];
    let output = probe(&options, &[]);
    assert_eq!(output.status.code(), Some(1));
    let options = [
        "--only",
        "well-behaved",
        "--require",
        "no-hangs",
        "--timeout",
        "1us",
    ];
    let output = probe(&options, &[]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn more_attempts_fail_where_a_requirement_counts_that_many() {
    let options = [
        "--only",
        "server-error,rate-limited",
        "--require",
        "max-attempts=6",
    ];
    let variables = [("AGENT_RETRIES", "9"), ("AGENT_RETRY_AFTER", "ignore")];
    let output = probe(&options, &variables);
    assert_eq!(output.status.code(), Some(1));
    let variables = [("AGENT_RETRIES", "5"), ("AGENT_RETRY_AFTER", "ignore")];
    assert_eq!(probe(&options, &variables).status.code(), Some(0));
}

#[test]
fn wrong_usage_is_refused_before_anything_is_run() {
    for (options, expected) in [
        (vec!["--require", "stop"], "did you mean `stops`?"),
        (
            vec!["--only", "runaway", "--require", "told-why"],
            "needs the check failing-tool, which --only leaves out",
        ),
        (
            vec!["--tool", "t", "--failing-arguments", "[1]"],
            "is not a JSON object",
        ),
        (vec!["--price", "none"], "no price \"none\""),
    ] {
        let output = probe(&options, &[]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_command_that_cannot_be_started_or_never_asks_is_no_agent() {
    let silent = format!("{}-that-is-not-there", this_binary());
    let nothing = vec![this_binary(), "--list".to_owned()];
    for (command, expected) in [
        (vec![silent], "cannot be started"),
        (nothing, "never called the endpoint"),
    ] {
        let output = Command::new(BIN)
            .args(["probe", "--"])
            .args(command)
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_row_of_the_table_is_written_beside_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("row.csv");
    let options = ["--only", "runaway,failing-tool", "--name", "mine", "--row"];
    let options = [&options[..], &[path.to_str().unwrap()]].concat();
    assert_eq!(probe(&options, &WELL).status.code(), Some(0));
    let csv = fs::read_to_string(&path).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, cells) = (lines.next().unwrap(), lines.next().unwrap());
    let cell = |name| cells[names.iter().position(|one| *one == name).unwrap()];
    assert_eq!(cell("agent"), "mine");
    assert_eq!(cell("runaway_turns"), "8");
    assert_eq!(cell("runaway_ending"), "exception");
    assert_eq!(cell("told_why"), "own words");
    assert_eq!(cell("requests_429"), "", "what was not seen is missing");
}

/// What differs from run to run and from machine to machine, masked.
fn masked(report: &str) -> String {
    let mut report = report.replace(&this_binary(), "AGENT");
    for (pattern, mask) in [
        (r"\d+(\.\d+)? ms", "N ms"),
        (r#""(wall|shortest)_ms": \d+"#, r#""${1}_ms": 0"#),
        (r#""median_us": \d+"#, r#""median_us": 0"#),
        (r#""waits_ms": \[[^\]]*\]"#, r#""waits_ms": []"#),
    ] {
        report = Regex::new(pattern)
            .unwrap()
            .replace_all(&report, mask)
            .into_owned();
    }
    report
}

fn options(variables: &[(&str, &str)]) -> Options {
    let words = ["acting_as_the_agent", "--exact", "--nocapture"];
    let acting = [("ACT_AS_AGENT", "1")];
    let variables = acting.iter().chain(variables);
    Options {
        program: this_binary().into(),
        arguments: words.map(Into::into).to_vec(),
        environment: variables
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        checks: Check::ALL.to_vec(),
        given: None,
        time_per_check: Duration::from_secs(60),
        time: Duration::from_secs(600),
        requests: 100,
        failing: Failing {
            attempts: 4,
            retry_after_seconds: 1,
        },
        price: PriceList::builtin()
            .unwrap()
            .get(CHAPTER_PRICE)
            .unwrap()
            .clone(),
        seed: 0,
    }
}

#[tokio::test]
async fn the_three_forms_of_a_report_say_the_same() {
    let mut begun = Vec::new();
    let mut told = |progress: Progress| begun.push((progress.check, progress.done));
    let report = loopmeter::probe::run(&options(&WELL), &Signal::new(), &mut told)
        .await
        .unwrap();
    assert_eq!(begun.len(), Check::ALL.len());
    assert_eq!(begun[11], (Check::EmptyReply, 11));
    let rulings: Vec<_> = [Requirement::Stops, Requirement::MaxTurns(7)]
        .iter()
        .map(|requirement| requirement.rule(&report))
        .collect();
    insta::assert_snapshot!("well_text", masked(&to_text(&report, &rulings)));
    insta::assert_snapshot!("well_markdown", masked(&to_markdown(&report, &rulings)));
    insta::assert_snapshot!("well_json", masked(&to_json(&report, &rulings)));
}

#[tokio::test]
async fn a_probe_that_is_stopped_says_so_and_has_no_report() {
    let stop = Signal::new();
    stop.stop("enough");
    let stopped = loopmeter::probe::run(&options(&WELL), &stop, &mut |_| {}).await;
    assert!(matches!(stopped, Err(ProbeError::Stopped)), "{stopped:?}");
}

#[test]
fn the_report_of_an_agent_that_does_badly() {
    let badly = [
        ("AGENT_MAX_TURNS", "1000000"),
        ("AGENT_RETRIES", "0"),
        ("AGENT_TAKES", "anything"),
        ("AGENT_BAD_CALLS", "crash"),
        ("AGENT_TOOL_FAILS", "1"),
        ("AGENT_TELLS", "first"),
    ];
    // It would wait for a stalled reply for as long as it may.
    let checks = Check::ALL
        .iter()
        .filter(|check| **check != Check::StalledReply);
    let checks: Vec<&str> = checks.map(|check| check.as_str()).collect();
    let output = probe(&["--only", &checks.join(",")], &badly);
    insta::assert_snapshot!("badly_text", masked(&text(&output.stdout)));
}

#[cfg(unix)]
#[test]
fn a_tool_log_that_is_none_is_said_to_be() {
    let output = Command::new(BIN)
        .args(["probe", "--only", "well-behaved", "--", "sh", "-c"])
        .arg("mkdir \"$LOOPMETER_TOOL_LOG\"")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("check well-behaved"), "{said}");
    assert!(said.contains("LOOPMETER_TOOL_LOG"), "{said}");
}
