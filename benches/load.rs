//! How many requests a second the scripted endpoint answers, beside a bare axum handler that
//! returns the same bytes without reading the request.
//!
//! Both servers run on one thread each, and the same clients ask both, turn and turn about.
//! Ends with an error if any reply is not the one that is expected.

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use loopmeter::clock::{Clock, RealClock};
use loopmeter::message::{Message, ToolDefinition};
use loopmeter::provider::Request;
use loopmeter::provider::wire::{ChatRequest, Delivery};
use loopmeter::results::stats::Sample;
use loopmeter::server::{Config, Server};
use loopmeter::tools::Catalog;
use loopmeter::world;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Requests of one round, over all connections.
const REQUESTS: usize = 6_400;
/// Rounds, of which the median counts.
const ROUNDS: usize = 5;
/// Longer than any reply takes.
const PATIENCE: Duration = Duration::from_secs(30);

const PATH: &str = "/v1/chat/completions";

type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Error> {
    let scripted = serve_scripted()?;
    let clients = runtime()?;
    let mut table = String::from(
        "| replies | connections | requests/s | bare axum | ratio | p99 ms | bare axum | ratio |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (name, delivery) in [
        ("plain", Delivery::Whole),
        ("streamed", Delivery::StreamedWithUsage),
    ] {
        let request = Arc::new(request(delivery));
        let reply = clients.block_on(first_reply(scripted, &request))?;
        let canned = serve_canned(reply.kind.clone(), reply.body.clone())?;
        for connections in [1, 64] {
            let (mut ours, mut bare) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                for (address, rounds) in [(scripted, &mut ours), (canned, &mut bare)] {
                    let load = load(address, Arc::clone(&request), connections);
                    rounds.push(clients.block_on(load)?);
                }
            }
            let (ours, bare) = (Round::median(&ours)?, Round::median(&bare)?);
            writeln!(
                table,
                "| {name} | {connections} | {:.0} | {:.0} | {:.2} | {:.3} | {:.3} | {:.2} |",
                ours.per_second,
                bare.per_second,
                ours.per_second / bare.per_second,
                ours.p99_ms,
                bare.p99_ms,
                ours.p99_ms / bare.p99_ms,
            )?;
        }
    }
    writeln!(
        table,
        "\n{ROUNDS} rounds of {REQUESTS} requests each, medians; no reply was wrong or missing"
    )?;
    io::stdout().write_all(table.as_bytes())?;
    Ok(())
}

/// What came of one round.
#[derive(Clone, Copy)]
struct Round {
    per_second: f64,
    p99_ms: f64,
}

impl Round {
    fn median(rounds: &[Self]) -> Result<Self, Error> {
        let median = |of: fn(&Self) -> f64| Sample::new(rounds.iter().map(of).collect())?.median();
        Ok(Self {
            per_second: median(|round| round.per_second)?,
            p99_ms: median(|round| round.p99_ms)?,
        })
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The scripted endpoint, on a thread that ends with the process.
fn serve_scripted() -> Result<SocketAddr, Error> {
    let runtime = runtime()?;
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        let server = Server::new(Config::default());
        runtime.block_on(server.serve(listener, std::future::pending()));
    });
    Ok(address)
}

/// A handler that returns one body to everybody, on a thread that ends with the process.
fn serve_canned(kind: String, body: Vec<u8>) -> Result<SocketAddr, Error> {
    let runtime = runtime()?;
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
    let address = listener.local_addr()?;
    let canned = axum::body::Bytes::from(body);
    let handler = move || {
        let reply = ([(CONTENT_TYPE, kind.clone())], canned.clone());
        async move { reply }
    };
    let router = Router::new().route(PATH, post(handler));
    thread::spawn(move || runtime.block_on(async { axum::serve(listener, router).await }));
    Ok(address)
}

/// The first request of the chapter's task, head and body.
fn request(delivery: Delivery) -> Vec<u8> {
    let messages = [
        Message::System {
            content: world::SYSTEM.to_owned(),
        },
        Message::User {
            content: world::USER.to_owned(),
        },
    ];
    let catalog = Catalog::chapter();
    let tools: &[ToolDefinition] = catalog.definitions();
    let request = Request {
        messages: &messages,
        tools,
        prompt_tokens: 0,
        max_completion_tokens: None,
    };
    let body = ChatRequest {
        model: "scripted/plan",
        request,
        delivery,
    }
    .body();
    let length = body.len();
    format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A reply with status 200.
struct Reply {
    kind: String,
    body: Vec<u8>,
}

async fn first_reply(address: SocketAddr, request: &[u8]) -> Result<Reply, Error> {
    Client::connect(address).await?.ask(request).await
}

/// Asks over so many connections at once until all requests are answered.
async fn load(
    address: SocketAddr,
    request: Arc<Vec<u8>>,
    connections: usize,
) -> Result<Round, Error> {
    let clock = Arc::new(RealClock::starting_at(Duration::ZERO));
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        let mut client = Client::connect(address).await?;
        let (request, clock) = (Arc::clone(&request), Arc::clone(&clock));
        clients.spawn(async move {
            let expected = client.ask(&request).await?.body.len();
            let mut took = Vec::new();
            for _ in 0..REQUESTS / connections {
                let start = clock.now();
                let reply = client.ask(&request).await?;
                took.push(clock.now().saturating_sub(start).as_secs_f64() * 1_000.0);
                if reply.body.len() != expected {
                    return Err("a reply differs from the first".into());
                }
            }
            Ok::<_, Error>(took)
        });
    }
    let start = clock.now();
    let mut took = Vec::new();
    while let Some(client) = clients.join_next().await {
        took.extend(client??);
    }
    let wall = clock.now().saturating_sub(start).as_secs_f64();
    let sample = Sample::new(took)?;
    let answered = f64::from(u32::try_from(sample.n())?);
    Ok(Round {
        per_second: answered / wall,
        p99_ms: sample.quantile(990)?,
    })
}

/// As little of an HTTP client as there can be: it must not be what is measured.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let buffer = Vec::new();
        Ok(Self { stream, buffer })
    }

    async fn ask(&mut self, request: &[u8]) -> Result<Reply, Error> {
        self.stream.write_all(request).await?;
        tokio::time::timeout(PATIENCE, self.reply()).await?
    }

    async fn reply(&mut self) -> Result<Reply, Error> {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break self.take(end + 4);
            }
            self.read().await?;
        };
        let head = String::from_utf8(head)?.to_ascii_lowercase();
        if !head.starts_with("http/1.1 200 ") {
            return Err(format!("not answered: {head}").into());
        }
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let body = match header("content-length") {
            Some(length) => self.exactly(length.parse()?).await?,
            None => self.chunks().await?,
        };
        let kind = header("content-type").unwrap_or_default().to_owned();
        Ok(Reply { kind, body })
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(end) = find(&self.buffer, b"\r\n") {
                    break self.take(end + 2);
                }
                self.read().await?;
            };
            let size = usize::from_str_radix(str::from_utf8(&line)?.trim_end(), 16)?;
            let chunk = self.exactly(size + 2).await?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn exactly(&mut self, bytes: usize) -> Result<Vec<u8>, Error> {
        while self.buffer.len() < bytes {
            self.read().await?;
        }
        Ok(self.take(bytes))
    }

    async fn read(&mut self) -> Result<(), Error> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err("the connection was closed".into());
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(bytes);
        std::mem::replace(&mut self.buffer, rest)
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
