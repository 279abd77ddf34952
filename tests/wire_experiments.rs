//! An experiment gives the same rows in process, over HTTP and over HTTP streamed: every column
//! but times, and those that exist on a wire only.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use loopmeter::document::Document;
use loopmeter::experiment::{Execution, Experiment, Home, Host};
use loopmeter::results::{Cell, Column, RowSet, Schema};
use loopmeter::server::{Config, Server};
use tokio::net::TcpListener;

/// The experiments that need no time of their own: in real time, the others would wait.
const TIMELESS: [&str; 16] = [
    "approval",
    "approval-wording",
    "budget",
    "budget-checks",
    "dedupe-writes",
    "exits",
    "idempotency-keys",
    "permanent-error",
    "permanent-error-triage",
    "plan",
    "repeat",
    "repeated-call-stop",
    "resume",
    "sub-agent",
    "tool-errors",
    "turn-cap",
];

/// The columns that only one of the clocks brings. Whole transcripts are compared run by run, in
/// `wire_same_rows.rs`.
const OF_A_CLOCK: [&str; 6] = [
    "sample",
    "n",
    "cpu_model",
    "cores",
    "os",
    "transcript_sha256",
];
/// The columns that are empty in process.
const OF_THE_WIRE: [&str; 2] = ["attempts", "retries"];

/// The experiment of this name, with another clock and another transport.
fn experiment(name: &str, clock: &str, transport: &str) -> Experiment {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let text = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
    let text = text.replacen(
        "\n[settings]\n",
        &format!("\nclock = \"{clock}\"\n[settings]\ntransport = \"{transport}\"\n"),
        1,
    );
    let document = Document::parse(name, &text).unwrap();
    Experiment::from_document(name, &document, &Home::Folder(folder)).unwrap()
}

/// Rows as names and values.
type Rows = Vec<Vec<(String, Cell)>>;

/// The rows of cells and of turns.
fn rows(experiment: &Experiment) -> (Rows, Rows) {
    let named = |columns: &[Column], cells: Vec<Cell>| -> Vec<(String, Cell)> {
        let names = columns.iter().map(|column| column.name.clone());
        names.zip(cells).collect()
    };
    let (of_cells, of_turns) = (experiment.cell_columns(), experiment.turn_columns());
    let (mut cells, mut turns) = (Vec::new(), Vec::new());
    let execution = Execution {
        jobs: 1,
        host: &Host::here(),
        progress: &mut |_| {},
        stop: &|| false,
    };
    let taken = experiment.execute::<std::convert::Infallible>(execution, &mut |taken| {
        cells.push(named(&of_cells, taken.cell));
        let taken = taken.turns.into_iter();
        turns.extend(taken.map(|turn| named(&of_turns, turn)));
        Ok(())
    });
    taken.unwrap();
    (cells, turns)
}

/// What must be the same.
fn compared(rows: &Rows) -> Rows {
    let is_compared = |name: &str| {
        !name.ends_with("_ms") && !OF_A_CLOCK.contains(&name) && !OF_THE_WIRE.contains(&name)
    };
    let compared = rows.iter().map(|row| {
        let kept = row.iter().filter(|(name, _)| is_compared(name));
        kept.cloned().collect()
    });
    compared.collect()
}

fn column<'r>(rows: &'r Rows, name: &str) -> Vec<&'r Cell> {
    let cells = rows.iter().flatten();
    cells
        .filter(|(column, _)| column == name)
        .map(|(_, cell)| cell)
        .collect()
}

#[test]
fn every_timeless_experiment_of_the_chapter_gives_the_same_rows_three_ways() {
    for name in TIMELESS {
        let (cells, turns) = rows(&experiment(name, "virtual", "in_process"));
        assert!(!turns.is_empty(), "{name}");
        for transport in ["http", "http_stream"] {
            let wire = rows(&experiment(name, "real", transport));
            assert_eq!(compared(&wire.0), compared(&cells), "{name}, {transport}");
            assert_eq!(compared(&wire.1), compared(&turns), "{name}, {transport}");
        }
    }
}

#[test]
fn what_exists_on_a_wire_only_is_empty_in_process() {
    let missing = |cells: Vec<&Cell>| cells.iter().all(|cell| **cell == Cell::Missing);
    let (cells, turns) = rows(&experiment("plan", "real", "in_process"));
    for name in ["attempts", "retries", "median_ttft_ms"] {
        assert_eq!(column(&cells, name), [&Cell::Missing], "{name}");
    }
    assert_eq!(column(&cells, "requests"), [&Cell::Integer(3)]);
    assert!(missing(column(&turns, "ttft_ms")));

    let (cells, turns) = rows(&experiment("plan", "real", "http"));
    for (name, value) in [
        ("requests", 3),
        ("attempts", 3),
        ("retries", 0),
        ("counted_prompt_tokens", 815),
        ("billed_over_counted_prompt_tokens", 0),
        ("billed_over_counted_completion_tokens", 0),
    ] {
        assert_eq!(column(&cells, name), [&Cell::Integer(value)], "{name}");
    }
    assert!(missing(column(&turns, "ttft_ms")), "nothing was streamed");

    let (cells, turns) = rows(&experiment("plan", "real", "http_stream"));
    assert_eq!(column(&turns, "ttft_ms").len(), 3);
    assert!(!column(&turns, "ttft_ms").contains(&&Cell::Missing));
    assert_ne!(column(&cells, "median_ttft_ms"), [&Cell::Missing]);
}

#[test]
fn the_server_waits_as_the_cell_says_and_faults_are_told_run_by_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("scenarios")).unwrap();
    let scenario = "title = \"Busy once, and dear.\"\nfaults = [\"kind=429,first=1,retry_after_ms=1\"]\n\
                    [[step]]\nsay = \"Done.\"\n\
                    usage = { prompt_tokens = 1000 }\n";
    fs::write(folder.path().join("scenarios/busy.toml"), scenario).unwrap();
    let text = "title = \"t\"\nabout = \"a\"\nclock = \"real\"\nrepeat = 2\n[settings]\n\
                scenario = \"busy\"\nmax_turns = 3\ntransport = \"http\"\nlatency_ms = 30\n";
    let document = Document::parse("busy.toml", text).unwrap();
    let home = Home::Folder(folder.path().to_owned());
    let experiment = Experiment::from_document("busy", &document, &home)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let (cells, _) = rows(&experiment);
    for (name, value) in [("requests", 1), ("attempts", 2), ("retries", 1)] {
        let both = [&Cell::Integer(value), &Cell::Integer(value)];
        assert_eq!(column(&cells, name), both, "{name}");
    }
    for more in column(&cells, "billed_over_counted_prompt_tokens") {
        let counted = column(&cells, "counted_prompt_tokens")[0];
        let (more, counted) = (more.to_decimal().unwrap(), counted.to_decimal().unwrap());
        assert_eq!((more + counted).to_string(), "1000");
    }
    for wall in column(&cells, "wall_ms") {
        assert!(wall.to_f64().unwrap() >= 30.0, "{wall}");
    }
}

/// `loopmeter run` on a file in a folder, with these variables and no others of ours.
fn loopmeter_run(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopmeter"));
    for name in ["LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY", "LLM_SERVER"] {
        command.env_remove(name);
    }
    command.arg("run").args(arguments).current_dir(folder);
    command.envs(environment.iter().copied()).output().unwrap()
}

const REAL: &str = "title = \"t\"\nabout = \"a\"\nclock = \"real\"\n[settings]\n\
    provider = \"endpoint\"\ntransport = \"http_stream\"\nmax_turns = 5\n\
    [[case]]\nname = \"right\"\nsettings = { expected_answer = \"worker \\\\d\" }\n\
    [[case]]\nname = \"wrong\"\nsettings = { expected_answer = \"^no\" }\n";

#[test]
fn a_real_model_is_asked_where_the_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("real.toml"), REAL).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let listener = runtime.block_on(listener).unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    runtime.spawn(Server::new(Config::default()).serve(listener, std::future::pending()));
    let ran = loopmeter_run(
        folder.path(),
        &["real.toml"],
        &[
            ("LLM_BASE_URL", &base_url),
            ("LLM_MODEL", "scripted/plan"),
            ("LLM_SERVER", "ours 1"),
        ],
    );
    assert!(ran.status.success(), "{ran:?}");
    let cells = RowSet::read_csv(
        &folder.path().join("results/real/cells.csv"),
        Schema::ByName,
    );
    let cells = cells.unwrap();
    let column = |name: &str| -> Vec<String> {
        cells
            .cells(name)
            .unwrap()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(column("model"), ["scripted/plan", "scripted/plan"]);
    assert_eq!(column("server"), ["ours 1", "ours 1"]);
    assert_eq!(column("right"), ["yes", "no"]);
    assert_eq!(column("turns"), ["3", "3"]);
    assert_eq!(column("harness_share_ms"), ["", ""], "nobody knows it");
}

#[test]
fn without_an_endpoint_the_experiment_is_skipped_and_refused_where_it_was_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("experiments")).unwrap();
    fs::write(folder.path().join("experiments/real.toml"), REAL).unwrap();
    let skipped = loopmeter_run(folder.path(), &["--real"], &[]);
    assert!(skipped.status.success(), "{skipped:?}");
    assert!(String::from_utf8_lossy(&skipped.stdout).contains("skipped"));
    let refused = loopmeter_run(folder.path(), &["--only", "real"], &[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("set LLM_BASE_URL"), "{said}");
}
