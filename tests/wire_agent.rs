//! `loopmeter agent` against an endpoint: what it sends, what it stores, what it says.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]

#[path = "wire/mod.rs"]
#[expect(dead_code, reason = "the commands drive their runs themselves")]
mod wire;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use wire::{Act, Canned, KEY, json, refusal, sse};

const CALL: &str = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"list_files","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":30,"completion_tokens":4}}"#;
const ANSWER: &str = r#"{"choices":[{"index":0,"delta":{"content":"three."},"message":{"content":"three."},"finish_reason":"stop"}]}"#;

fn agent(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("loopmeter").unwrap();
    command.current_dir(folder).arg("agent").args(args);
    for name in [
        "LLM_BASE_URL",
        "LLM_API_KEY",
        "LLM_MODEL",
        "LLM_TIMEOUT",
        "LLM_IDLE_TIMEOUT",
    ] {
        command.env_remove(name);
    }
    command
}

fn at(server: &Canned, folder: &Path, args: &[&str]) -> Command {
    let mut command = agent(folder, args);
    command.env("LLM_BASE_URL", server.base_url());
    command.env("LLM_MODEL", "tiny").env("LLM_API_KEY", KEY);
    command
}

fn printed(command: &mut Command, code: i32) -> String {
    let output = command.assert().code(code).get_output().clone();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

/// Everything that a run has stored, in one text.
fn stored(folder: &Path) -> String {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let text = entries.map(|path| {
        if path.is_dir() {
            stored(&path)
        } else {
            fs::read_to_string(path).unwrap()
        }
    });
    text.collect()
}

#[test]
fn a_run_is_started_capped_and_resumed_and_its_key_is_kept_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let busy = refusal(429, "retry-after-ms: 1\r\n", &format!("slow down, {KEY}"));
    let server = Canned::new([busy, json(CALL), json(ANSWER)]);
    let start = ["start", "--id", "one", "--max-turns", "1"];
    let text = printed(&mut at(&server, folder, &start), 0);
    assert!(text.contains("max_turns_exceeded"), "{text}");
    assert!(
        text.contains("requests=1 attempts=2 our own count: in=204"),
        "{text}"
    );
    assert!(
        text.contains("no price is known for model \"tiny\""),
        "{text}"
    );

    // The address and the model are the record's; only the key is asked of the environment.
    let mut resume = agent(folder, &["resume", "one", "--max-turns", "5", "--json"]);
    let text = printed(resume.env("LLM_API_KEY", KEY), 0);
    let run: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(run["status"], "completed");
    assert_eq!(run["answer"], "three.");
    assert_eq!((&run["requests"], &run["attempts"]), (&2.into(), &3.into()));

    for (head, body) in server.requests() {
        assert!(
            head.contains(&format!("authorization: Bearer {KEY}")),
            "{head}"
        );
        assert!(
            body.starts_with(r#"{"model":"tiny","messages":[{"role":"system""#),
            "{body}"
        );
    }
    let stored = stored(&folder.join(".loopmeter"));
    assert!(stored.contains(&server.base_url()));
    assert!(
        stored.contains(r#""type":"attempt","turn":1,"number":1,"outcome":"refused","status":429"#)
    );
    assert!(!stored.contains(KEY) && !text.contains(KEY));
}

#[test]
fn stream_asks_for_a_stream_and_its_usage() {
    let folder = tempfile::tempdir().unwrap();
    let server = Canned::new([sse(&[ANSWER, "[DONE]"])]);
    let text = printed(&mut at(&server, folder.path(), &["start", "--stream"]), 0);
    assert!(text.contains("answer: three."), "{text}");
    let (_, body) = server.requests().remove(0);
    assert!(
        body.ends_with(r#""stream":true,"stream_options":{"include_usage":true}}"#),
        "{body}"
    );
}

#[test]
fn an_endpoint_that_refuses_ends_the_run_and_the_command_has_done_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let server = Canned::new([refusal(401, "", r#"{"error":{"message":"no such key"}}"#)]);
    let text = printed(&mut at(&server, folder.path(), &["start"]), 0);
    assert!(text.contains("failed / provider_error"), "{text}");
    assert!(text.contains("refused with 401: no such key"), "{text}");
}

#[test]
fn what_does_not_go_together_is_refused_before_there_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = Canned::new([vec![Act::Close]]);
    let cases: [(&[&str], &str); 6] = [
        (
            &["start", "--scenario", "plan", "--stream"],
            "--stream needs --provider endpoint",
        ),
        (
            &["start", "--scenario", "plan", "--provider", "endpoint"],
            "leave one out",
        ),
        (
            &["start", "--provider", "scripted"],
            "--provider scripted needs --scenario",
        ),
        (
            &["start", "--clock", "virtual"],
            "an endpoint takes real time",
        ),
        (
            &["start", "--latency-ms", "5"],
            "--latency-ms is for the scripted model",
        ),
        (&["resume", "none"], "no run \"none\""),
    ];
    for (args, words) in cases {
        let text = printed(&mut at(&server, folder.path(), args), 2);
        assert!(text.contains(words), "{args:?}: {text}");
    }
    let text = printed(&mut agent(folder.path(), &["start"]), 2);
    assert!(text.contains("set LLM_BASE_URL and LLM_MODEL"), "{text}");
    let mut nameless = agent(folder.path(), &["start"]);
    let text = printed(nameless.env("LLM_BASE_URL", server.base_url()), 2);
    assert!(text.contains("LLM_MODEL is not set"), "{text}");
    for (parameter, blamed) in [("user", "LLM_API_KEY: "), ("key", "LLM_BASE_URL: ")] {
        let mut leaky = at(&server, folder.path(), &["start"]);
        leaky.env(
            "LLM_BASE_URL",
            format!("{}?{parameter}={KEY}", server.base_url()),
        );
        let text = printed(&mut leaky, 2);
        assert!(text.contains(blamed) && !text.contains(KEY), "{text}");
    }
    let mut hasty = at(&server, folder.path(), &["start"]);
    let text = printed(hasty.env("LLM_IDLE_TIMEOUT", "soon"), 2);
    assert!(text.contains("LLM_IDLE_TIMEOUT: `soon`"), "{text}");
    assert!(server.requests().is_empty());
    assert!(!folder.path().join(".loopmeter").exists());
}

#[test]
fn an_endpoint_that_says_nothing_is_given_up_after_the_time_that_the_environment_allows() {
    for (variable, words) in [
        ("LLM_IDLE_TIMEOUT", "nothing came for 30 ms"),
        ("LLM_TIMEOUT", "there was no whole reply within 30 ms"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let head = || vec![Act::Send(wire::JSON_HEAD.as_bytes().to_vec()), Act::Hold];
        let server = Canned::new(std::iter::repeat_with(head).take(3).collect::<Vec<_>>());
        let mut start = at(&server, folder.path(), &["start"]);
        let text = printed(start.env(variable, "30ms"), 0);
        assert!(text.contains(words), "{variable}: {text}");
    }
}

#[test]
fn a_key_that_the_endpoint_repeats_in_an_answer_is_stored_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let answer = format!("your key is {KEY}");
    let body =
        format!(r#"{{"choices":[{{"message":{{"content":"{answer}"}},"finish_reason":"stop"}}]}}"#);
    let server = Canned::new([json(&body)]);
    let text = printed(&mut at(&server, folder.path(), &["start"]), 0);
    assert!(text.contains("your key is [secret]"), "{text}");
    assert!(!stored(folder.path()).contains(KEY));
}

/// Arguments as they travel: JSON in a text.
fn quoted(arguments: &str) -> String {
    serde_json::to_string(arguments).unwrap()
}

#[test]
fn a_key_that_arguments_mean_is_stored_nowhere_however_they_spell_it() {
    let spelled = KEY.replacen("sk-", r"\u0073k\u002D", 1);
    let tail = &KEY["sk-".len()..];
    let clean = r#"{ "path" : "\u0061ccess.log"}"#;
    let read = format!(r#"{{"path":"{spelled}"}}"#);
    let delete = format!(r#"{{"path":"access.log","why":{{"{spelled}":["{spelled}"]}}}}"#);
    let calls = [
        ("read_file", clean),
        ("read_file", &read),
        ("delete_file", &delete),
    ];
    let whole = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let arguments = quoted(arguments);
        format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"{name}","arguments":{arguments}}}}}"#)
    });
    let whole: Vec<_> = whole.collect();
    let body = format!(
        r#"{{"choices":[{{"message":{{"content":null,"tool_calls":[{}]}},"finish_reason":"tool_calls"}}]}}"#,
        whole.join(",")
    );
    let chunk =
        |call: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#);
    let mut chunks = Vec::new();
    for (index, (name, arguments)) in calls.iter().enumerate() {
        chunks.push(chunk(&format!(
            r#"{{"index":{index},"id":"c{index}","function":{{"name":"{name}","arguments":""}}}}"#
        )));
        // Every piece is one letter, so that every escape is torn.
        for letter in arguments.chars() {
            let piece = quoted(&letter.to_string());
            chunks.push(chunk(&format!(
                r#"{{"index":{index},"function":{{"arguments":{piece}}}}}"#
            )));
        }
    }
    chunks.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned());
    let chunks: Vec<_> = chunks
        .iter()
        .map(String::as_str)
        .chain(["[DONE]"])
        .collect();
    for (reply, stream) in [(json(&body), &[][..]), (sse(&chunks), &["--stream"])] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let server = Canned::new([reply]);
        let start = [&["start", "--id", "one"], stream].concat();
        let mut text = printed(&mut at(&server, folder, &start), 0);
        assert!(text.contains("approval -> delete_file"), "{text}");
        assert!(text.contains(r#"{"[secret]":["[secret]"]}"#), "{text}");
        for how in [
            &["show", "one"][..],
            &["show", "one", "--json"],
            &["show", "one", "--trace"],
        ] {
            text += &printed(&mut agent(folder, how), 0);
        }
        let stored = stored(folder);
        assert!(stored.contains(&quoted(clean)), "{stored}");
        assert!(!text.contains(tail), "{text}");
        assert!(!stored.contains(tail), "{stored}");
    }
}

#[test]
fn a_scenario_is_played_in_process_whatever_the_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    let server = Canned::new([vec![Act::Close]]);
    let start = ["start", "--scenario", "plan", "--json"];
    let text = printed(&mut at(&server, folder.path(), &start), 0);
    let run: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&run["requests"], &run["attempts"]), (&3.into(), &0.into()));
    assert_eq!(run["cost_usd"], 0.002_47);
    assert!(server.requests().is_empty());
}

#[test]
fn cached_tokens_that_an_endpoint_reports_are_billed_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let usage = |details: &str| {
        format!(
            "{},\"usage\":{{\"prompt_tokens\":300,\"completion_tokens\":10{details}}}}}",
            ANSWER.strip_suffix('}').unwrap()
        )
    };
    let cached = r#","prompt_tokens_details":{"cached_tokens":200,"cache_write_tokens":50}"#;
    let model = "anthropic/claude-sonnet-4-5@2026-11-30";
    let cost = |details: &str, id: &str| {
        let server = Canned::new([json(&usage(details))]);
        let start = ["start", "--id", id, "--price", model, "--json"];
        let text = printed(&mut at(&server, folder, &start), 0);
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(run["price"], model);
        run["cost_usd"].to_string()
    };
    // 200 at $0.30, 50 at $3.75, 50 at $3 and 10 at $15 a million; without a word, 300 at $3.
    assert_eq!(cost(cached, "cached"), "0.0005475");
    assert_eq!(cost("", "plain"), "0.00105");
    let trace = printed(&mut agent(folder, &["show", "cached", "--trace"]), 0);
    let told = "\"total_tokens\":310,\"cached_tokens\":200,\"cache_write_tokens\":50,";
    assert!(trace.contains(told), "{trace}");
    let trace = printed(&mut agent(folder, &["show", "plain", "--trace"]), 0);
    assert!(!trace.contains("cache"), "{trace}");
}

/// An experiment of four runs of one turn, each of which can cost 204 · $2 and 10 · $12 a million.
const FOUR: &str = "title = \"t\"\nabout = \"t\"\nclock = \"real\"\nrepeat = 4\n[settings]\n\
    provider = \"endpoint\"\ntransport = \"http\"\nmax_turns = 1\nmax_completion_tokens = 10\n";

#[test]
fn a_paid_sweep_asks_no_more_than_its_bound_allows() {
    let run = |billed: u64, bound: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("four.toml"), FOUR).unwrap();
        let body = ANSWER.strip_suffix('}').unwrap();
        let usage = format!("{{\"prompt_tokens\":{billed},\"completion_tokens\":4}}");
        let body = format!("{body},\"usage\":{usage}}}");
        let server = Canned::new((0..4).map(|_| json(&body)));
        let mut command = Command::cargo_bin("loopmeter").unwrap();
        command
            .current_dir(folder.path())
            .args(["run", "four.toml"]);
        command
            .args(["--max-spend", bound])
            .env_remove("LLM_API_KEY");
        command
            .env("LLM_BASE_URL", server.base_url())
            .env("LLM_MODEL", "tiny");
        let code = if bound == "1" { 0 } else { 3 };
        let text = printed(&mut command, code);
        let kept = fs::read_to_string(folder.path().join("results/four.partial/cells.csv"));
        (
            text,
            server.requests().len(),
            kept.map_or(0, |rows| rows.lines().count()),
        )
    };
    // The fourth could cost $0.000528, and $0.000132 are left.
    let (text, requests, kept) = run(204, "0.0015");
    assert!(
        text.contains("after 3 of 4 runs: $0.001368 of $0.001500"),
        "{text}"
    );
    assert_eq!((requests, kept), (3, 4));
    // A provider that counts more than we do is told of, and asked no more.
    let (text, requests, kept) = run(5_000, "0.0015");
    assert!(text.contains("more was billed than was foreseen"), "{text}");
    assert_eq!((requests, kept), (1, 2));
    let (text, requests, _) = run(204, "1");
    assert!(text.contains("spent $0.001824 of $1.000000"), "{text}");
    assert_eq!(requests, 4);
}

#[cfg(unix)]
mod signals {
    use std::fs;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    /// Sends a signal to a process.
    fn send(signal: &str, to: u32) {
        let mut kill = Command::new("kill");
        let sent = kill.args([signal, &to.to_string()]).status().unwrap();
        assert!(sent.success(), "{signal}");
    }

    /// A request, read to its end.
    fn read_request(stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
    }

    #[test]
    fn a_signal_that_comes_while_a_reply_is_counted_is_obeyed_before_the_call_that_it_makes() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut child = Command::new(env!("CARGO_BIN_EXE_loopmeter"))
            .current_dir(folder.path())
            .args(["agent", "start", "--id", "one", "--approval", "granted"])
            .env("LLM_BASE_URL", format!("http://127.0.0.1:{port}/v1"))
            .env("LLM_MODEL", "tiny")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&stream);
        // What takes long to count, and a deletion.
        let prose = "\\\\".repeat(100_000);
        let call = r#"{"id":"c1","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"notes.txt\"}"}}"#;
        let body = format!(
            r#"{{"choices":[{{"message":{{"content":"{prose}","tool_calls":[{call}]}}}}]}}"#
        );
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        // Who has read all of it hangs up, and counts.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        send("-TERM", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let run = folder.path().join(".loopmeter/runs/one");
        assert!(run.join("workspace/files/notes.txt").exists());
        let trace = fs::read_to_string(run.join("trace.jsonl")).unwrap();
        assert!(
            trace.contains("interrupted") && !trace.contains("tool_start"),
            "{trace}"
        );
    }

    #[test]
    fn a_sweep_that_waits_for_a_reply_is_ended_by_a_signal_and_keeps_what_was_paid_for() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("four.toml"), super::FOUR).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut child = Command::new(env!("CARGO_BIN_EXE_loopmeter"))
            .current_dir(folder.path())
            .args(["run", "four.toml", "--max-spend", "1"])
            .env("LLM_BASE_URL", format!("http://127.0.0.1:{port}/v1"))
            .env("LLM_MODEL", "tiny")
            .env_remove("LLM_API_KEY")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&stream);
            let reply = format!("{}{}", super::wire::JSON_HEAD, super::ANSWER);
            stream.write_all(reply.as_bytes()).unwrap();
        }
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&stream);
        send("-INT", child.id());
        // Whoever is stopped hangs up, whatever the model is about to say.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let mut told = String::new();
        child.stderr.unwrap().read_to_string(&mut told).unwrap();
        assert!(told.contains("after 3 of 4 runs; spent $"), "{told}");
        let rows = fs::read_to_string(folder.path().join("results/four.partial/cells.csv"));
        assert_eq!(rows.unwrap().lines().count(), 1 + 3);
    }
}
