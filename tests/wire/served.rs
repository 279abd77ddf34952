//! The scripted endpoint, served on a loopback port, and the same run in process, over HTTP and
//! over HTTP streamed.

use std::sync::Arc;
use std::time::Duration;

use loopmeter::clock::{Clock, RealClock, Signal};
use loopmeter::event::{Event, Ledger, Observer};
use loopmeter::pricing::{CHAPTER_PRICE, PriceList};
use loopmeter::provider::http::{Endpoint, HttpProvider, RetryPolicy, Timeouts};
use loopmeter::provider::wire::Delivery;
use loopmeter::provider::{Provider, Scripted};
use loopmeter::run::{
    Harness, Machine, RunSettings, RunState, Watchers, drive, policy::StopCondition,
};
use loopmeter::scenario::Scenario;
use loopmeter::server::{Config, Exchange, Log, Server};
use loopmeter::tools::{Catalog, Template, Workspace};
use loopmeter::world;
use tokio::net::TcpListener;

/// The endpoint, as a test sees it.
pub(crate) struct Served {
    port: u16,
    log: Log,
}

impl Served {
    /// The base URL of a run that is told from the others.
    pub(crate) fn base_url(&self, run: &str) -> String {
        format!("http://127.0.0.1:{}/runs/{run}/v1", self.port)
    }

    /// What the endpoint has seen, once that is as many exchanges as are expected: it learns of
    /// those that the client gave up a little later than the client.
    pub(crate) async fn exchanges(&self, expected: usize) -> Vec<Exchange> {
        let (clock, never) = (RealClock::starting_at(Duration::ZERO), Signal::new());
        for _ in 0..1_000 {
            if self.log.snapshot().len() >= expected {
                break;
            }
            clock.sleep(Duration::from_millis(5), &never).await.unwrap();
        }
        let exchanges = self.log.snapshot();
        exchanges.iter().map(|one| Exchange::clone(one)).collect()
    }
}

/// Serves as `config` says while `test` runs, both on one thread.
pub(crate) fn with_server<T>(config: Config, test: impl AsyncFnOnce(Served) -> T) -> T {
    // The first count loads the tokenizer, which is no time of anybody's.
    assert!(loopmeter::tokens::count("warm") > 0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Server::new(config);
        let log = server.log();
        let serving = tokio::spawn(server.serve(listener, std::future::pending()));
        let outcome = test(Served { port, log }).await;
        serving.abort();
        outcome
    })
}

/// How a run asks the scripted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    InProcess,
    Http(Delivery),
}

/// The patience and the limits of the client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Care {
    pub(crate) retry: RetryPolicy,
    pub(crate) timeouts: Timeouts,
}

/// The model that plays `scenario`, asked in this way; `base_url` is where it is served.
pub(crate) fn provider(way: Way, base_url: &str, scenario: &str, care: Care) -> Arc<dyn Provider> {
    match way {
        Way::InProcess => {
            let scenario = Scenario::builtin(scenario).unwrap();
            Arc::new(Scripted::new(Arc::new(scenario)))
        }
        Way::Http(delivery) => {
            let endpoint = Endpoint::new(base_url, &format!("scripted/{scenario}"))
                .unwrap()
                .with_delivery(delivery)
                .with_retry(care.retry)
                .with_timeouts(care.timeouts);
            Arc::new(HttpProvider::new(endpoint).unwrap())
        }
    }
}

/// The chapter's price and a cap of twelve turns.
pub(crate) fn settings() -> RunSettings {
    let prices = PriceList::builtin().unwrap();
    let price = prices.get(CHAPTER_PRICE).unwrap().clone();
    RunSettings::new(price).stop_when(StopCondition::MaxTurns { turns: 12 })
}

/// What came of a run.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Event>,
    pub(crate) ledger: Ledger,
}

impl Observer for Seen {
    fn observe(&mut self, run_id: &str, at: Duration, event: &Event) {
        self.ledger.observe(run_id, at, event);
        self.events.push(event.clone());
    }
}

/// Runs the chapter's question against `provider` to its exit, on the real clock.
pub(crate) async fn run(
    provider: &dyn Provider,
    catalog: &Catalog,
    settings: RunSettings,
) -> (RunState, Seen) {
    let state = RunState::new("t", settings, world::SYSTEM, world::USER);
    let mut machine = Machine::new(state, catalog);
    let mut seen = Seen::default();
    let clock: &dyn Clock = &RealClock::starting_at(Duration::ZERO);
    let harness = Harness {
        provider,
        catalog,
        workspace: &Workspace::in_memory(&Template::chapter()),
        clock,
        signal: &Signal::new(),
    };
    let mut watchers = Watchers::none().observed_by(&mut seen);
    drive(&mut machine, harness, &mut watchers).await.unwrap();
    drop(watchers);
    (machine.into_state(), seen)
}

/// A run without its times and without its attempts on the wire.
pub(crate) fn timeless((mut run, seen): (RunState, Seen)) -> (RunState, Vec<Event>) {
    run.elapsed = Duration::ZERO;
    run.attempts = 0;
    run.children.attempts = 0;
    let events = seen.events.into_iter().filter_map(|mut event| {
        match &mut event {
            Event::Attempt { .. } => return None,
            Event::Turn {
                provider, metering, ..
            } => {
                *provider = Duration::ZERO;
                metering.first_token = None;
            }
            Event::ToolResult { took, .. } => *took = Duration::ZERO,
            _ => {}
        }
        Some(event)
    });
    (run, events.collect())
}
