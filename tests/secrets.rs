//! The key of an endpoint and the token of a server are in nothing that any verb prints, stores or
//! writes: every output of every verb is searched for them, the endpoint repeating its key
//! wherever a reply has room for words, as it is and escaped.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]

#[path = "wire/mod.rs"]
#[expect(dead_code, reason = "other tests ask otherwise")]
mod wire;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use wire::{Act, Canned, KEY, json, refusal, sse};

/// The token of a server, and of clients that are not to be believed.
const TOKEN: &str = "tok-do-not-tell-anybody-else";

/// The key of the endpoint as JSON within JSON can spell it, and what of it is spelled as it is.
const ESCAPED: &str = r"\\u0073k-do-not-tell-anybody";
const TAIL: &str = "k-do-not-tell-anybody";

/// Everything that was printed, and where files were written.
struct Outputs {
    folder: tempfile::TempDir,
    printed: String,
}

impl Outputs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("experiments")).unwrap();
        Self {
            folder,
            printed: String::new(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, base_url: &str, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("loopmeter"));
        command.current_dir(self.path()).args(args);
        command.env("LLM_BASE_URL", base_url);
        command.env("LLM_MODEL", "tiny").env("LLM_API_KEY", KEY);
        command.env("LLM_SERVER", "a server of a test");
        command.env("LOOPMETER_TOKEN", TOKEN);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a verb to its end, and keeps what it printed.
    fn run(&mut self, base_url: &str, args: &[&str]) {
        let output = self.command(base_url, args).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        self.printed
            .extend([&format!("$ {args:?}\n"), &*text, "\n"]);
        let code = output.status.code();
        assert!(
            matches!(code, Some(0..=3)),
            "{args:?}: {code:?}\n{}",
            self.printed
        );
    }

    fn assert_without_secrets(&self) {
        let files = files(self.path());
        assert!(files.len() > 10, "{files:?}");
        assert!(KEY.ends_with(TAIL) && ESCAPED.ends_with(TAIL));
        for secret in [TAIL, TOKEN] {
            for line in self.printed.lines() {
                assert!(!line.contains(secret), "{line}");
            }
            for file in &files {
                let bytes = fs::read(file).unwrap();
                let found = bytes
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!found, "{}", file.display());
            }
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// A reply that repeats the key in every text that it has.
fn repeating(key: &str, calls: &str) -> String {
    format!(
        r#"{{"id":"{KEY}","model":"{KEY}","system_fingerprint":"{KEY}","choices":[{{"index":0,"{key}":{{"role":"assistant","content":"it is {KEY}"{calls}}},"finish_reason":"{KEY}"}}],"usage":{{"prompt_tokens":30,"completion_tokens":4}}}}"#
    )
}

fn calls() -> String {
    format!(
        r#","tool_calls":[{{"index":0,"id":"{KEY}","function":{{"name":"read_file","arguments":"{{\"path\":\"{KEY}\"}}"}}}},{{"index":1,"id":"c2","function":{{"name":"f{KEY}","arguments":"{{}}"}}}},{{"index":2,"id":"c3","function":{{"name":"delete_file","arguments":"{{\"path\":\"access.log\",\"why\":\"{KEY}\",\"{ESCAPED}\":[\"{ESCAPED}\"]}}"}}}},{{"index":3,"id":"c4","function":{{"name":"read_file","arguments":"{{\"path\":\"{ESCAPED}\"}}"}}}}]"#
    )
}

/// An endpoint that refuses, calls, and answers, each time with the key in its words.
fn endpoint() -> Canned {
    let wrong = format!(
        r#"{{"error":{{"message":"bad key {KEY}","type":"{KEY}","code":"{KEY}","param":"{KEY}"}}}}"#
    );
    let head = format!("x-request-id: {KEY}\r\nretry-after-ms: 1\r\n");
    let chunk = repeating("delta", "");
    let call = repeating("delta", &calls());
    Canned::new([
        // `whole`, to the call that waits for a person; `streamed`, to the same.
        refusal(429, &head, &wrong),
        json(&repeating("message", &calls())),
        sse(&[&call, "[DONE]"]),
        refusal(401, &head, &wrong),
        json(&format!("<html>{KEY}</html>")),
        // Both, to their answers.
        json(&repeating("message", "")),
        sse(&[&chunk, "[DONE]"]),
        // One in a database.
        json(&repeating("message", "")),
        // The experiment, run and checked.
        sse(&[&call, "[DONE]"]),
        sse(&[&chunk, "[DONE]"]),
        sse(&[&call, "[DONE]"]),
        sse(&[&chunk, "[DONE]"]),
        vec![Act::Close],
    ])
}

const EXPERIMENT: &str = "title = \"Asks\"\nabout = \"Whether a key is kept.\"\nclock = \"real\"\n\n[settings]\nprovider = \"endpoint\"\n\
    transport = \"http_stream\"\nmax_turns = 3\nexpected_answer = \"it is\"\n\n[table]\n\
    caption = \"What it says\"\ncolumns = [\"model\", \"turns\", \"right\", \"answer\", \"status\"]\n";

/// Verbs about runs, in an order in which each finds what it needs.
const OF_RUNS: [&[&str]; 17] = [
    &["agent", "start", "--id", "whole"],
    &["agent", "start", "--id", "streamed", "--stream"],
    &["agent", "start", "--id", "refused"],
    &["agent", "start", "--id", "unreadable"],
    &["agent", "approve", "whole"],
    &["agent", "approve", "streamed"],
    &["agent", "resume", "whole"],
    &["agent", "list"],
    &["agent", "list", "--json"],
    &["agent", "show", "whole"],
    &["agent", "show", "whole", "--json"],
    &["agent", "show", "whole", "--trace"],
    &["agent", "show", "refused", "--json"],
    &["agent", "show", "unreadable"],
    &["whatif", ".loopmeter/runs/whole/trace.jsonl", "--json"],
    &[
        "agent",
        "start",
        "--id",
        "filed",
        "--store",
        "sqlite:runs.db",
    ],
    &[
        "agent",
        "show",
        "filed",
        "--store",
        "sqlite:runs.db",
        "--json",
    ],
];

/// All others; `serve` where it refuses to start.
const OF_THE_REST: [&[&str]; 13] = [
    &["run", "--only", "asks", "--real"],
    &["check", "--only", "asks"],
    &["tables", "--locale", "en", "--out", "tables"],
    &["plots", "--locale", "en", "--out", "plots"],
    &["report", "--locale", "en", "--out", "report.html"],
    &["list", "experiments"],
    &["meter", "--json", "--", "sh", "-c", "true"],
    &["meter", "--", "sh", "-c", "true"],
    &[
        "probe",
        "--only",
        "well-behaved",
        "--format",
        "json",
        "--",
        "sh",
        "-c",
        "true",
    ],
    &["serve", "--addr", "203.0.113.1:1"],
    &["serve", "--token", "two words"],
    &["serve", "--help"],
    &["schema"],
];

#[test]
fn no_verb_writes_a_secret_anywhere() {
    let mut outputs = Outputs::new();
    let server = endpoint();
    for args in OF_RUNS {
        outputs.run(&server.base_url(), args);
    }
    let experiment = outputs.path().join("experiments/asks.toml");
    fs::write(experiment, EXPERIMENT).unwrap();
    for args in OF_THE_REST {
        outputs.run(&server.base_url(), args);
    }
    let leaky = format!("http://127.0.0.1:1/v1?user={KEY}");
    outputs.run(&leaky, &["agent", "start", "--id", "leaky"]);
    assert!(
        outputs.path().join("runs.db").exists(),
        "{}",
        outputs.printed
    );
    // What was looked for has been there to be found.
    assert!(outputs.printed.contains("[secret]"), "{}", outputs.printed);
    let inputs = outputs.path().join("results/asks/inputs.json");
    assert!(inputs.exists(), "{}", outputs.printed);
    outputs.assert_without_secrets();
}

#[test]
fn a_metered_command_is_given_a_key_that_opens_nothing() {
    let outputs = Outputs::new();
    let mut meter = outputs.command("http://127.0.0.1:1/v1", &["meter", "--", "env"]);
    let output = meter.output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(
        text.contains("LLM_API_KEY=sk-loopmeter-not-a-key"),
        "{text}"
    );
    assert!(!text.contains(KEY), "{text}");
}

#[test]
fn a_server_that_tells_all_that_it_sees_does_not_tell_its_token() {
    let outputs = Outputs::new();
    let mut child = outputs
        .command(
            "http://127.0.0.1:1/v1",
            &["serve", "--verbose", "--addr", "127.0.0.1:0"],
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let addr = line
        .trim()
        .strip_prefix("listening on http://")
        .unwrap()
        .to_owned();
    let body = r#"{"model":"scripted/plan","messages":[{"role":"user","content":"Hi?"}]}"#;
    let mut said = String::new();
    for key in ["wrong", TOKEN, ""] {
        let mut stream = TcpStream::connect(&addr).unwrap();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_string(&mut said).unwrap();
    }
    let killed = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    stdout.read_to_string(&mut line).unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut line)
        .unwrap();
    child.wait().unwrap();
    assert_eq!(said.matches("HTTP/1.1 401").count(), 2, "{said}");
    assert_eq!(said.matches("HTTP/1.1 200").count(), 1, "{said}");
    assert!(line.contains("plan turn 0"), "{line}");
    for text in [&said, &line] {
        assert!(!text.contains(TOKEN) && !text.contains(KEY), "{text}");
    }
}
