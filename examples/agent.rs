//! A small agent that speaks chat completions over a socket of its own, with one tool.
//!
//! It reads `OPENAI_BASE_URL` and `OPENAI_MODEL`, and appends a line to the file that
//! `LOOPMETER_TOOL_LOG` names whenever its tool starts. It is made worse by choice:
//!
//! | variable | what it changes |
//! |---|---|
//! | `AGENT_MAX_TURNS=8` | its cap, which ends it with exit code 4 |
//! | `AGENT_RETRIES=2` | how often it tries again after 408, 409, 429, 5xx and broken replies |
//! | `AGENT_RETRY_AFTER=ignore` | it tries again at once, whatever the endpoint asks for |
//! | `AGENT_TIMEOUT_MS=500` | how long it waits for more of a reply; for ever without it |
//! | `AGENT_TAKES=anything` | it takes what is no reply for an empty answer |
//! | `AGENT_TELLS=user` | it tells results as text of the user |
//! | `AGENT_TELLS=first`, `reverse` | of parallel results it tells the first, or all, backwards |
//! | `AGENT_TOOL_FAILS=1`, `why`, `crash` | its tool fails: for a fixed reason, with a reason, fatally |
//! | `AGENT_BAD_CALLS=crash` | a call that cannot be made ends it |
//! | `AGENT_REPEATS=once` | a call that was made before is answered from memory |
//! | `AGENT_TOOLS=none` | it declares no tool |
//!
//! ```sh
//! loopmeter meter --scenario any-runaway -- cargo run -q --example agent
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    ExitCode::from(run())
}

/// Runs the agent and returns its exit code.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an agent says what came of it"
)]
pub(crate) fn run() -> u8 {
    let answer = Agent::from_environment().and_then(|mut agent| agent.answer("What is noted?"));
    match answer {
        Ok(Some(answer)) => {
            println!("{answer}");
            0
        }
        Ok(None) => {
            eprintln!("stopped: too many turns");
            4
        }
        Err(error) => {
            eprintln!("failed: {error}");
            1
        }
    }
}

/// Why a reply is none.
enum Broken {
    /// The endpoint says so, and perhaps when to come back.
    Status(u16, String, Option<Duration>),
    /// It is no completion, or it did not arrive.
    Reply(Failure),
}

struct Agent {
    /// Host and port.
    host: String,
    /// The path before `/chat/completions`.
    path: String,
    model: String,
    max_turns: u32,
    retries: u32,
    patience: Option<Duration>,
    /// Results of the calls that were made.
    made: BTreeMap<String, String>,
}

impl Agent {
    fn from_environment() -> Result<Self, Failure> {
        let base = variable("OPENAI_BASE_URL").ok_or("OPENAI_BASE_URL is not set")?;
        let rest = base
            .strip_prefix("http://")
            .ok_or("only http:// is spoken")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let number = |name, default: &str| variable(name).unwrap_or(default.into()).parse();
        let patience = variable("AGENT_TIMEOUT_MS").map(|ms| ms.parse());
        Ok(Self {
            host: host.to_owned(),
            path: format!("/{path}"),
            model: variable("OPENAI_MODEL").unwrap_or_default(),
            max_turns: number("AGENT_MAX_TURNS", "8")?,
            retries: number("AGENT_RETRIES", "2")?,
            patience: patience.transpose()?.map(Duration::from_millis),
            made: BTreeMap::new(),
        })
    }

    /// The loop: ask, call, tell. Nothing if the cap was reached.
    fn answer(&mut self, question: &str) -> Result<Option<String>, Failure> {
        let mut messages = vec![
            json!({ "role": "system", "content": "You answer from the notes." }),
            json!({ "role": "user", "content": question }),
        ];
        for _ in 0..self.max_turns {
            let message = self.ask(&messages)?;
            let calls = message["tool_calls"].as_array().cloned();
            let calls = calls.unwrap_or_default();
            if calls.is_empty() {
                let answer = message["content"].as_str().unwrap_or_default();
                return Ok(Some(answer.to_owned()));
            }
            messages.push(message);
            let told: Result<Vec<Value>, Failure> =
                calls.iter().map(|call| self.tell(call)).collect();
            let mut told = told?;
            match variable("AGENT_TELLS").as_deref() {
                Some("first") => told.truncate(1),
                Some("reverse") => told.reverse(),
                _ => {}
            }
            messages.extend(told);
        }
        Ok(None)
    }

    /// The message that tells what a call gave.
    fn tell(&mut self, call: &Value) -> Result<Value, Failure> {
        let result = self.result(&call["function"])?;
        if is("AGENT_TELLS", "user") {
            return Ok(json!({ "role": "user", "content": format!("The tool said: {result}") }));
        }
        Ok(json!({ "role": "tool", "tool_call_id": call["id"], "content": result }))
    }

    fn result(&mut self, function: &Value) -> Result<String, Failure> {
        let arguments = function["arguments"].as_str().unwrap_or_default();
        if is("AGENT_REPEATS", "once")
            && let Some(result) = self.made.get(arguments)
        {
            return Ok(result.clone());
        }
        let parsed: Result<Value, _> = serde_json::from_str(arguments);
        let result = match (function["name"].as_str(), parsed) {
            (Some("read_notes"), Ok(arguments)) => read_notes(&arguments)?,
            (Some("read_notes"), Err(error)) => not_made(&format!("not JSON: {error}"))?,
            (name, _) => not_made(&format!("no tool {:?}", name.unwrap_or_default()))?,
        };
        self.made.insert(arguments.to_owned(), result.clone());
        Ok(result)
    }

    /// The model's message.
    fn ask(&self, messages: &[Value]) -> Result<Value, Failure> {
        let mut body = json!({ "model": self.model, "messages": messages });
        if !is("AGENT_TOOLS", "none") {
            body["tools"] = tools();
        }
        let body = body.to_string();
        let mut attempt = 0;
        loop {
            let (wait, why) = match self.post(&body) {
                Ok(message) => return Ok(message),
                Err(Broken::Status(status @ (408 | 409 | 429 | 500..), reply, wait)) => {
                    (wait, format!("status {status}: {reply}").into())
                }
                Err(Broken::Status(status, reply, _)) => {
                    return Err(format!("status {status}: {reply}").into());
                }
                Err(Broken::Reply(_)) if is("AGENT_TAKES", "anything") => return Ok(json!({})),
                Err(Broken::Reply(why)) => (None, why),
            };
            if attempt >= self.retries {
                return Err(why);
            }
            attempt += 1;
            if !is("AGENT_RETRY_AFTER", "ignore") {
                pause(wait.unwrap_or_default());
            }
        }
    }

    fn post(&self, body: &str) -> Result<Value, Broken> {
        let response = self
            .send(body)
            .map_err(|error| Broken::Reply(error.into()))?;
        let broken = |why: &str| Broken::Reply(why.into());
        let (head, body) = response
            .split_once("\r\n\r\n")
            .ok_or(broken("no response"))?;
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        match status.ok_or(broken("no status"))? {
            200 => {}
            status => return Err(Broken::Status(status, body.to_owned(), retry_after(head))),
        }
        let reply: Value =
            serde_json::from_str(body).map_err(|error| Broken::Reply(error.into()))?;
        let message = reply["choices"][0]["message"].clone();
        if message.is_object() {
            Ok(message)
        } else {
            Err(broken("no choice"))
        }
    }

    fn send(&self, body: &str) -> std::io::Result<String> {
        let (host, path, length) = (&self.host, &self.path, body.len());
        let mut socket = TcpStream::connect(host)?;
        socket.set_read_timeout(self.patience)?;
        let head = format!(
            "POST {path}/chat/completions HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.write_all((head + body).as_bytes())?;
        let mut response = String::new();
        socket.read_to_string(&mut response)?;
        Ok(response)
    }
}

/// How long the endpoint asks to wait.
fn retry_after(head: &str) -> Option<Duration> {
    let values = head.lines().filter_map(|line| line.split_once(": "));
    let mut asked = values.filter(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    let seconds = asked.next()?.1.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The one tool.
fn read_notes(arguments: &Value) -> Result<String, Failure> {
    if let Some(path) = variable("LOOPMETER_TOOL_LOG") {
        let mut log = OpenOptions::new().create(true).append(true).open(path)?;
        let line = json!({ "tool": "read_notes", "args": arguments });
        writeln!(log, "{line}")?;
    }
    let topic = arguments["topic"].as_str().unwrap_or_default();
    match variable("AGENT_TOOL_FAILS").as_deref() {
        Some("crash") => Err("the notes are on fire".into()),
        Some("why") => Ok(format!("error: nothing is noted about {topic}")),
        Some(_) => Ok("error: the notes are locked".to_owned()),
        None => Ok("buy milk".to_owned()),
    }
}

/// What is told of a call that cannot be made.
fn not_made(why: &str) -> Result<String, Failure> {
    if is("AGENT_BAD_CALLS", "crash") {
        return Err(why.into());
    }
    Ok(format!("error: {why}"))
}

fn tools() -> Value {
    json!([{ "type": "function", "function": {
        "name": "read_notes",
        "description": "Reads the notes about a topic.",
        "parameters": {
            "type": "object",
            "properties": { "topic": { "type": "string" } },
            "required": ["topic"],
        },
    }}])
}

#[expect(
    clippy::disallowed_methods,
    reason = "an agent that waits as it is told"
)]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

fn is(name: &str, value: &str) -> bool {
    variable(name).as_deref() == Some(value)
}

#[expect(
    clippy::disallowed_methods,
    reason = "an agent that is driven by its environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
