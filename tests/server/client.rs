//! A server of one test, and a client of few words.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use loopmeter::provider::wire::{Chunk, Completion, ErrorBody, ErrorObject};
use loopmeter::server::{Config, Exchange, Log, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A running server.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) log: Log,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

pub(crate) async fn start(config: Config) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let server = Server::new(config);
    let log = server.log();
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(server.serve(listener, async {
        let _ = stopped.await;
    }));
    Running {
        addr,
        log,
        stop,
        task,
    }
}

impl Running {
    /// Stops the server; what it has seen is complete then.
    pub(crate) async fn stop(self) -> Vec<Arc<Exchange>> {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
        self.log.snapshot()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Sent<'_>) -> Got {
        let mut stream = self.connect().await;
        // A server that has refused already may have closed: what matters is what it said.
        let _ = stream.write_all(&request.bytes()).await;
        Got::read(stream).await
    }

    pub(crate) async fn chat(&self, body: &Value) -> Got {
        self.send(Sent::chat(&body.to_string())).await
    }

    pub(crate) async fn completion(&self, body: &Value) -> Completion {
        let got = self.chat(body).await;
        assert_eq!(got.status, Some(200), "{}", got.body);
        serde_json::from_str(&got.body).unwrap()
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Sent<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a str,
}

impl<'a> Sent<'a> {
    pub(crate) fn chat(body: &'a str) -> Self {
        Self {
            method: "POST",
            path: "/v1/chat/completions",
            headers: &[],
            body,
        }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self {
            method: "GET",
            path,
            headers: &[],
            body: "",
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let Self {
            method,
            path,
            headers,
            body,
        } = self;
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let headers = headers.concat();
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-length: {length}\r\n{headers}\r\n{body}"
        )
        .into_bytes()
    }
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    BrokenOff,
    Reset,
}

/// A response, as far as it came.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) status: Option<u16>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) end: End,
}

impl Got {
    pub(crate) async fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let (body, whole) = match headers.get("content-length") {
            Some(length) => (body.to_owned(), body.len().to_string() == *length),
            None => unchunk(body),
        };
        let end = match read {
            Err(_) => End::Reset,
            Ok(_) if whole => End::Whole,
            Ok(_) => End::BrokenOff,
        };
        Self {
            status: status.and_then(|status| status.parse().ok()),
            headers,
            body,
            end,
        }
    }

    pub(crate) fn error(&self) -> ErrorObject {
        ErrorBody::read(&self.body).unwrap_or_else(|| panic!("no error: {:?}", self.body))
    }

    /// The chunks of a stream, and whether it was closed as it should be.
    pub(crate) fn chunks(&self) -> (Vec<Chunk>, bool) {
        let events: Vec<_> = self
            .body
            .split("\n\n")
            .filter_map(|event| event.strip_prefix("data: "))
            .collect();
        let chunks = events.iter().filter(|data| **data != "[DONE]");
        let chunks = chunks.map(|data| serde_json::from_str(data).unwrap());
        (chunks.collect(), events.last() == Some(&"[DONE]"))
    }
}

fn unchunk(mut body: &str) -> (String, bool) {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (text, true);
        }
        let Some(piece) = rest.get(..size) else { break };
        text.push_str(piece);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    (text, false)
}

/// A request of one question.
pub(crate) fn ask(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "Which file?"}]})
}

/// `body` with one parameter more.
pub(crate) fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}
