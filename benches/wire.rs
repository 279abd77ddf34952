//! Three turns of `plan` in process, over loopback HTTP with our client and our server, and the
//! same bytes over a bare socket.
//!
//! `benches/README.md` says what each number means.

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use loopmeter::clock::{RealClock, Signal};
use loopmeter::experiment::bare::{Relay, round_trips};
use loopmeter::pricing::{CHAPTER_PRICE, Price, PriceList};
use loopmeter::provider::http::{Endpoint, HttpProvider};
use loopmeter::provider::wire::Delivery;
use loopmeter::provider::{Provider, Scripted};
use loopmeter::run::policy::StopCondition;
use loopmeter::run::{Harness, Machine, RunSettings, RunState, Watchers, drive};
use loopmeter::scenario::Scenario;
use loopmeter::server::{Config, Server};
use loopmeter::tools::{Catalog, Template, Workspace};
use loopmeter::world;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

static PRICE: LazyLock<Price> = LazyLock::new(|| {
    let prices = PriceList::builtin().expect("the shipped prices are read by a test");
    prices.get(CHAPTER_PRICE).expect("a test holds it").clone()
});

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("the system gives timers and sockets")
}

/// Serves all built-in scenarios on a thread that ends with the process.
fn served() -> SocketAddr {
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)));
    let listener = listener.expect("the system gives a port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        let server = Server::new(Config::default());
        runtime.block_on(server.serve(listener, std::future::pending()));
    });
    address
}

fn over_http(address: SocketAddr, delivery: Delivery) -> HttpProvider {
    let endpoint = Endpoint::new(&format!("http://{address}/v1"), "scripted/plan");
    let endpoint = endpoint.expect("a URL").with_delivery(delivery);
    HttpProvider::new(endpoint).expect("a client without TLS")
}

/// One whole run on the real clock.
async fn run(provider: &dyn Provider, catalog: &Catalog) -> RunState {
    let settings = RunSettings::new(PRICE.clone()).stop_when(StopCondition::MaxTurns { turns: 20 });
    let state = RunState::new("bench", settings, world::SYSTEM, world::USER);
    let mut machine = Machine::new(state, catalog);
    let harness = Harness {
        provider,
        catalog,
        workspace: &Workspace::in_memory(&Template::chapter()),
        clock: &RealClock::starting_at(Duration::ZERO),
        signal: &Signal::new(),
    };
    let driven = drive(&mut machine, harness, &mut Watchers::none()).await;
    driven.expect("nothing to save");
    let state = machine.into_state();
    assert_eq!(state.turns, 3, "{:?}", state.error);
    state
}

fn three_turns(criterion: &mut Criterion) {
    let (catalog, runtime, address) = (Catalog::chapter(), runtime(), served());
    let plan = Scenario::builtin("plan").expect("a built-in scenario");
    let mut group = criterion.benchmark_group("three turns");
    let ways: [(&str, Box<dyn Provider>); 3] = [
        ("in process", Box::new(Scripted::new(Arc::new(plan)))),
        ("http", Box::new(over_http(address, Delivery::Whole))),
        (
            "http, streamed",
            Box::new(over_http(address, Delivery::StreamedWithUsage)),
        ),
    ];
    for (name, provider) in &ways {
        group.bench_function(*name, |b| {
            b.iter(|| runtime.block_on(run(provider.as_ref(), &catalog)));
        });
    }
    for (name, delivery) in [
        ("bare socket", Delivery::Whole),
        ("bare socket, streamed bytes", Delivery::StreamedWithUsage),
    ] {
        let exchanges = runtime.block_on(async {
            let relay = Relay::to(address).await.expect("the system gives a port");
            run(&over_http(relay.address(), delivery), &catalog).await;
            relay.finish()
        });
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                let spans = (0..times).map(|_| round_trips(&exchanges).expect("a connection"));
                spans.sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, three_turns);
criterion_main!(benches);
