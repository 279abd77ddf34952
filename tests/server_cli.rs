//! `loopmeter serve` as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;

fn loopmeter(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("loopmeter"));
    command.arg("serve").args(arguments);
    command.env_remove("LOOPMETER_TOKEN");
    command
}

/// A server on a free port, and its address as it printed it.
fn start(arguments: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut command = loopmeter(&["--addr", "127.0.0.1:0"]);
    command.args(arguments);
    started(command)
}

fn started(mut command: Command) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut stdout = BufReader::new(stdout);
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line is printed");
    let addr = line.trim().strip_prefix("listening on http://");
    let addr = addr.expect("the first line says where").to_owned();
    (child, stdout, addr)
}

fn ask(addr: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(addr).expect("the server listens");
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("it answers");
    reply
}

const BODY: &str = r#"{"model":"my-model","messages":[{"role":"user","content":"Hi?"}]}"#;

/// What the process says when a signal has ended it.
fn end(mut child: Child, signal: &str) -> (Option<i32>, String) {
    let pid = child.id().to_string();
    let killed = Command::new("kill").args([signal, &pid]).status();
    assert!(killed.expect("kill runs").success());
    let mut stderr = String::new();
    let mut pipe = child.stderr.take().expect("stderr is piped");
    pipe.read_to_string(&mut stderr).expect("stderr is text");
    (child.wait().expect("it ends").code(), stderr)
}

#[test]
fn it_says_where_it_is_plays_one_scenario_and_ends_on_a_signal() {
    for signal in ["-INT", "-TERM"] {
        let fault = ["--fault", "turn=0,first=1,kind=503"];
        let (child, mut stdout, addr) =
            start(&[&["--scenario", "plan", "--verbose"], &fault[..]].concat());
        assert!(ask(&addr, BODY).starts_with("HTTP/1.1 503"));
        assert!(ask(&addr, BODY).contains("list_files"));
        let (code, stderr) = end(child, signal);
        assert_eq!(code, Some(130), "{stderr}");
        assert!(
            stderr.contains("plan turn 0 attempt 1: fault 503"),
            "{stderr}"
        );
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).expect("stdout is text");
        assert!(
            rest.contains(&format!("OPENAI_BASE_URL=http://{addr}/v1")),
            "{rest}"
        );
    }
}

/// A connection on which a streamed reply has begun.
fn begun(addr: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).expect("the server listens");
    let body = BODY.replacen('{', "{\"stream\":true,", 1);
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    stream.read_exact(&mut [0]).expect("it answers");
    stream
}

#[test]
fn what_is_cut_off_when_it_stops_has_its_line() {
    let long = ["--scenario", "plan", "--verbose", "--latency", "ttft=600s"];
    let (child, _stdout, addr) = start(&long);
    let streams: Vec<_> = (0..8).map(|_| begun(&addr)).collect();
    let (code, stderr) = end(child, "-TERM");
    assert_eq!(code, Some(130), "{stderr}");
    let lines = stderr.matches("the client went away");
    assert_eq!(lines.count(), streams.len(), "{stderr}");
}

/// After so long, what was waited for does not come.
const NEVER: Duration = Duration::from_secs(20);

#[test]
fn lines_that_nobody_reads_keep_neither_a_client_waiting_nor_the_end() {
    let (mut child, _stdout, addr) = start(&["--scenario", "plan", "--verbose"]);
    let names: Vec<_> = (0..200).map(|at| format!("\"{at:0>120}\":1,")).collect();
    let body = BODY.replacen('{', &format!("{{{}", names.concat()), 1);
    // A pipe holds 64 KiB, and each of these has a line of more than 24.
    for _ in 0..40 {
        assert!(ask(&addr, &body).starts_with("HTTP/1.1 200"));
    }
    let pid = child.id().to_string();
    let asked = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(asked.expect("kill runs").success());
    let unread = child.stderr.take();
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    let Ok(status) = end.recv_timeout(NEVER) else {
        let _ = Command::new("kill").args(["-KILL", &pid]).status();
        panic!("it did not end");
    };
    assert_eq!(status.expect("it ends").code(), Some(130));
    drop(unread);
}

#[cfg(unix)]
#[test]
fn idle_connections_make_room_where_the_system_has_no_file_left() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]);
    command.arg(cargo_bin!("loopmeter"));
    command.args(["serve", "--scenario", "plan", "--addr", "127.0.0.1:0"]);
    command.env_remove("LOOPMETER_TOKEN");
    let (child, _stdout, addr) = started(command);
    let connect = || TcpStream::connect(&addr).expect("the server listens");
    let silent: Vec<_> = (0..70).map(|_| connect()).collect();
    let mut stream = connect();
    stream.set_read_timeout(Some(NEVER)).expect("a limit");
    let request = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut reply = String::new();
    let read = stream.read_to_string(&mut reply);
    end(child, "-TERM");
    read.expect("it answers before the silent ones are given up");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    drop(silent);
}

/// The most memory that a process has held, in KiB.
#[cfg(target_os = "linux")]
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|kib| kib.parse().ok()).expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn bodies_that_wait_for_their_reply_are_not_held() {
    let (child, _stdout, addr) = start(&["--scenario", "plan"]);
    let values = "[0],".repeat(200_000);
    let body = BODY.replace("\"Hi?\"", &format!("\"Hi?\",\"x\":[{values}0]"));
    let length = body.len();
    let waiting: Vec<_> = (0..40)
        .map(|run| {
            let mut stream = TcpStream::connect(&addr).expect("the server listens");
            let head = format!(
                "POST /runs/{run}/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n\
                 x-loopmeter-latency: 600s\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).expect("it reads");
            stream.write_all(body.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    // Large bodies are understood in the order in which they come.
    assert!(ask(&addr, &body).starts_with("HTTP/1.1 200"));
    let peak = peak(child.id());
    end(child, "-TERM");
    drop(waiting);
    // Two bodies at once are held as values, of 40 MB each; all of them would be 1 GB and more.
    assert!(peak < 512 << 10, "{peak} KiB");
}

#[test]
fn wrong_usage_is_refused_with_what_to_do() {
    for (arguments, told) in [
        (&["--addr", "0.0.0.0:0"][..], "--token"),
        (&["--scenario", "any-onc"], "did you mean `any-once`"),
        (&["--fault", "kind=418"], "turn=1,first=2,kind=429"),
        (&["--latency", "200"], "ttft=200ms"),
        (&["--turn-index", "guess"], "conversation"),
        (&["--addr", "here"], "--addr"),
    ] {
        let output = loopmeter(arguments).output().expect("the binary runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    }
}

#[test]
fn a_token_that_lets_everybody_in_or_nobody_is_refused_and_not_repeated() {
    for token in ["", "open sesame", "schlüssel-7", "sesame-7\n"] {
        for addr in ["127.0.0.1:0", "0.0.0.0:0"] {
            let output = loopmeter(&["--addr", addr, "--token", token]).output();
            let output = output.expect("the binary runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{stderr}");
            assert!(stderr.contains("--token: a token is"), "{stderr}");
            assert!(token.is_empty() || !stderr.contains(token), "{stderr}");
        }
    }
}

#[test]
fn no_address_but_loopback_is_listened_on_without_a_token() {
    for addr in ["0.0.0.0:0", "[::]:0", "[::ffff:127.0.0.1]:0", "192.0.2.1:0"] {
        for token in [None, Some(""), Some("  ")] {
            let mut command = loopmeter(&["--addr", addr]);
            let output = command.envs(token.map(|token| ("LOOPMETER_TOKEN", token)));
            let output = output.output().expect("the binary runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{addr}: {stderr}");
            assert!(
                stderr.contains("can be reached from other machines"),
                "{stderr}"
            );
        }
    }
}

#[test]
fn a_token_that_can_be_guessed_is_for_loopback_alone() {
    let short = "fifteen-letters";
    for (how, addr) in [("--token", "0.0.0.0:0"), ("LOOPMETER_TOKEN", "[::]:0")] {
        let mut command = loopmeter(&["--addr", addr]);
        if how == "--token" {
            command.args(["--token", short]);
        } else {
            command.env("LOOPMETER_TOKEN", short);
        }
        let output = command.output().expect("the binary runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(how), "{stderr}");
        assert!(stderr.contains("openssl rand -hex 16"), "{stderr}");
        assert!(!stderr.contains(short), "{stderr}");
    }
    let (child, _stdout, addr) = start(&["--token", "a"]);
    assert!(ask(&addr, BODY).starts_with("HTTP/1.1 401"));
    end(child, "-TERM");
    let mut command = loopmeter(&["--addr", "0.0.0.0:0"]);
    command.args(["--token", "sixteen-letters!"]);
    let (child, _stdout, _) = started(command);
    end(child, "-TERM");
}

#[test]
fn a_token_of_the_environment_is_asked_for_on_every_address() {
    let mut command = loopmeter(&["--addr", "0.0.0.0:0"]);
    command.env("LOOPMETER_TOKEN", " sesame-opens-itself ");
    let (child, _stdout, addr) = started(command);
    let addr = addr.replace("0.0.0.0", "127.0.0.1");
    assert!(ask(&addr, BODY).starts_with("HTTP/1.1 401"));
    let (_, stderr) = end(child, "-TERM");
    assert!(!stderr.contains("sesame"), "{stderr}");
}
