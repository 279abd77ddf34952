//! An endpoint that plays what it is told, one connection after the other, and a run against it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use loopmeter::clock::{Clock, RealClock, Signal};
use loopmeter::event::{Event, Ledger, Metering, Observer};
use loopmeter::pricing::{CHAPTER_PRICE, PriceList};
use loopmeter::provider::http::{Endpoint, HttpProvider, RetryPolicy, Secret, Timeouts};
use loopmeter::provider::wire::Delivery;
use loopmeter::run::{Harness, Machine, RunSettings, RunState, Watchers, drive};
use loopmeter::tools::{Catalog, Template, Workspace};
use loopmeter::world;

pub(crate) const KEY: &str = "sk-do-not-tell-anybody";
pub(crate) const JSON_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
pub(crate) const SSE_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// What the endpoint does with a connection, after it has read the request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Does nothing for a while.
    Pause(Duration),
    /// Says nothing more and keeps the connection until the client hangs up.
    Hold,
    /// Breaks the connection.
    Reset,
    /// Closes it.
    Close,
}

/// A JSON reply.
pub(crate) fn json(body: &str) -> Vec<Act> {
    vec![
        Act::Send(format!("{JSON_HEAD}{body}").into_bytes()),
        Act::Close,
    ]
}

/// A stream of these events.
pub(crate) fn sse(events: &[&str]) -> Vec<Act> {
    let events: Vec<_> = events
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    let bytes = format!("{SSE_HEAD}{}", events.concat()).into_bytes();
    vec![Act::Send(bytes), Act::Close]
}

/// A stream that promises more bytes than it sends.
pub(crate) fn promised(length: usize, body: &str) -> Vec<Act> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream";
    let bytes = format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes();
    vec![Act::Send(bytes), Act::Close]
}

/// A refusal with more `headers`, each ended by CRLF.
pub(crate) fn refusal(status: u16, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} No\r\n{headers}content-length: {length}\r\n");
    let bytes = format!("{head}connection: close\r\n\r\n{body}").into_bytes();
    vec![Act::Send(bytes), Act::Close]
}

/// A patience of milliseconds.
pub(crate) fn retry() -> RetryPolicy {
    RetryPolicy {
        base: Duration::from_millis(4),
        total_wait: Duration::from_secs(1),
        ..RetryPolicy::default()
    }
}

/// Limits that a test can wait for.
pub(crate) fn timeouts() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(5),
        idle: Duration::from_millis(300),
        attempt: Duration::from_millis(1_500),
    }
}

/// The endpoint.
pub(crate) struct Canned {
    port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<(String, String)>>,
    /// Every connection has been played to its end; one that is held ends when the client hangs up.
    over: AtomicBool,
}

impl Canned {
    /// Plays one list of acts a connection, and takes no more connections than that.
    pub(crate) fn new(connections: impl IntoIterator<Item = Vec<Act>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let (connections, noted): (Vec<_>, _) =
            (connections.into_iter().collect(), Arc::clone(&seen));
        thread::spawn(move || {
            for acts in connections {
                let (stream, _) = listener.accept().unwrap();
                play(stream, acts, &noted);
            }
            noted.over.store(true, Ordering::SeqCst);
        });
        Self { port, seen }
    }

    /// A port on which nobody listens.
    pub(crate) fn nobody() -> Self {
        // Bound for a moment, so that the port is one that was free.
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        seen.over.store(true, Ordering::SeqCst);
        Self { port, seen }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The heads and the bodies of the requests that came, in order.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        self.seen.requests.lock().unwrap().clone()
    }

    async fn is_over(&self, clock: &dyn Clock) -> bool {
        let never = Signal::new();
        for _ in 0..1_000 {
            if self.seen.over.load(Ordering::SeqCst) {
                return true;
            }
            clock.sleep(Duration::from_millis(2), &never).await.unwrap();
        }
        false
    }

    /// A run that Stop is pressed on while it waits.
    pub(crate) fn ask_and_stop(&self, delivery: Delivery) -> Asked {
        let patient = Timeouts {
            idle: Duration::from_secs(60),
            attempt: Duration::from_secs(60),
            ..timeouts()
        };
        self.ask_with(delivery, retry(), patient, true)
    }

    /// A run of the chapter's question.
    pub(crate) fn ask_with(
        &self,
        delivery: Delivery,
        retry: RetryPolicy,
        timeouts: Timeouts,
        stop: bool,
    ) -> Asked {
        let endpoint = Endpoint::new(&self.base_url(), "m")
            .unwrap()
            .with_api_key(Secret::new(KEY))
            .with_delivery(delivery)
            .with_retry(retry)
            .with_timeouts(timeouts);
        let provider = HttpProvider::new(endpoint).unwrap();
        let catalog = Catalog::chapter();
        let prices = PriceList::builtin().unwrap();
        let settings = RunSettings::new(prices.get(CHAPTER_PRICE).unwrap().clone());
        let state = RunState::new("t", settings, world::SYSTEM, world::USER);
        let (mut machine, mut seen) = (Machine::new(state, &catalog), Watcher::default());
        let signal = Signal::new();
        let harness = Harness {
            provider: &provider,
            catalog: &catalog,
            workspace: &Workspace::in_memory(&Template::chapter()),
            clock: &RealClock::starting_at(Duration::ZERO),
            signal: &signal,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        if stop {
            let (signal, noted) = (signal.clone(), Arc::clone(&self.seen));
            thread::spawn(move || {
                // The request has arrived, so the client is waiting for the reply.
                while noted.requests.lock().unwrap().is_empty() {
                    pause(Duration::from_millis(5));
                }
                pause(Duration::from_millis(30));
                signal.stop("enough");
            });
        }
        let mut watchers = Watchers::none().observed_by(&mut seen);
        let over = runtime.block_on(async {
            drive(&mut machine, harness, &mut watchers).await.unwrap();
            self.is_over(harness.clock).await
        });
        drop(watchers);
        Asked {
            over,
            run: machine.into_state(),
            ledger: seen.ledger,
            meterings: seen.meterings,
        }
    }
}

/// What came of a run.
pub(crate) struct Asked {
    pub(crate) run: RunState,
    pub(crate) ledger: Ledger,
    pub(crate) meterings: Vec<Metering>,
    /// Whether the client had let go of every connection while it was still alive.
    pub(crate) over: bool,
}

/// A run of the chapter's question against `server`.
pub(crate) fn ask(server: &Canned, delivery: Delivery) -> Asked {
    server.ask_with(delivery, retry(), timeouts(), false)
}

#[derive(Default)]
struct Watcher {
    ledger: Ledger,
    meterings: Vec<Metering>,
}

impl Observer for Watcher {
    fn observe(&mut self, run_id: &str, at: Duration, event: &Event) {
        self.ledger.observe(run_id, at, event);
        if let Event::Turn { metering, .. } = event {
            self.meterings.push(*metering);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the endpoint is another process, in effect"
)]
fn pause(span: Duration) {
    thread::sleep(span);
}

fn play(mut stream: TcpStream, acts: Vec<Act>, seen: &Seen) {
    stream.set_nodelay(true).unwrap();
    if matches!(acts.first(), Some(Act::Reset)) {
        // A connection that is closed with bytes unread is reset.
        stream.read_exact(&mut [0; 16]).unwrap();
        return;
    }
    let request = read_request(&mut stream);
    seen.requests.lock().unwrap().push(request);
    for act in acts {
        match act {
            // A client that has hung up is some tests' point.
            Act::Send(bytes) => drop(stream.write_all(&bytes)),
            Act::Pause(span) => pause(span),
            // Ends when the client hangs up, cleanly or not.
            Act::Hold => drop(stream.read(&mut [0])),
            Act::Reset | Act::Close => return,
        }
    }
}

/// Reads one request and returns its head and its body.
fn read_request(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let length = name.eq_ignore_ascii_case("content-length");
                length.then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return (head.to_owned(), body.to_owned());
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return Default::default(),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}
