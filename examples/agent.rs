//! A small agent that speaks chat completions over a socket of its own, with one tool.
//!
//! It reads `OPENAI_BASE_URL` and `OPENAI_MODEL`, and is made worse by choice:
//! `AGENT_MAX_TURNS` (8) is its cap, which ends it with exit code 4; `AGENT_RETRIES` (2) is how
//! often it tries again after a status of 408, 409, 429 or 5xx; `AGENT_TELLS=user` tells results
//! as text of the user; `AGENT_TOOL_FAILS=1` makes its tool fail.
//!
//! ```sh
//! loopmeter meter --scenario any-runaway -- cargo run -q --example agent
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use serde_json::{Value, json};

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    ExitCode::from(run())
}

/// Runs the agent and returns its exit code.
pub fn run() -> u8 {
    match Agent::from_environment().and_then(|agent| agent.answer("What is in the notes?")) {
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

struct Agent {
    /// Host and port.
    host: String,
    /// The path before `/chat/completions`.
    path: String,
    model: String,
    max_turns: u32,
    retries: u32,
    tells_as_user: bool,
    tool_fails: bool,
}

impl Agent {
    fn from_environment() -> Result<Self, Failure> {
        let base = variable("OPENAI_BASE_URL").ok_or("OPENAI_BASE_URL is not set")?;
        let rest = base
            .strip_prefix("http://")
            .ok_or("only http:// is spoken")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let number = |name, default: &str| variable(name).unwrap_or(default.into()).parse();
        Ok(Self {
            host: host.to_owned(),
            path: format!("/{path}"),
            model: variable("OPENAI_MODEL").unwrap_or_default(),
            max_turns: number("AGENT_MAX_TURNS", "8")?,
            retries: number("AGENT_RETRIES", "2")?,
            tells_as_user: variable("AGENT_TELLS").as_deref() == Some("user"),
            tool_fails: variable("AGENT_TOOL_FAILS").is_some(),
        })
    }

    /// The loop: ask, call, tell. Nothing if the cap was reached.
    fn answer(&self, question: &str) -> Result<Option<String>, Failure> {
        let mut messages = vec![
            json!({ "role": "system", "content": "You answer from the notes." }),
            json!({ "role": "user", "content": question }),
        ];
        for _ in 0..self.max_turns {
            let reply = self.ask(&messages)?;
            let message = reply["choices"][0]["message"].clone();
            let calls = message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if calls.is_empty() {
                let answer = message["content"].as_str().unwrap_or_default();
                return Ok(Some(answer.to_owned()));
            }
            messages.push(message);
            messages.extend(calls.iter().map(|call| self.tell(call)));
        }
        Ok(None)
    }

    /// The message that tells what a call gave.
    fn tell(&self, call: &Value) -> Value {
        let result = if self.tool_fails {
            "error: the notes are locked"
        } else {
            "buy milk"
        };
        if self.tells_as_user {
            json!({ "role": "user", "content": format!("The tool said: {result}") })
        } else {
            json!({ "role": "tool", "tool_call_id": call["id"], "content": result })
        }
    }

    fn ask(&self, messages: &[Value]) -> Result<Value, Failure> {
        let body = json!({ "model": self.model, "messages": messages, "tools": tools() });
        let mut attempt = 0;
        loop {
            let (status, reply) = self.post(&body.to_string())?;
            match status {
                200 => return Ok(serde_json::from_str(&reply)?),
                408 | 409 | 429 | 500.. if attempt < self.retries => attempt += 1,
                _ => return Err(format!("status {status}: {reply}").into()),
            }
        }
    }

    fn post(&self, body: &str) -> Result<(u16, String), Failure> {
        let (host, path, length) = (&self.host, &self.path, body.len());
        let mut socket = TcpStream::connect(host)?;
        let head = format!(
            "POST {path}/chat/completions HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.write_all((head + body).as_bytes())?;
        let mut response = String::new();
        socket.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").ok_or("no response")?;
        let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
        Ok((status, body.to_owned()))
    }
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
    reason = "an agent that is driven by its environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
