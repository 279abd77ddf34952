//! How fast the loop is where it matters: counting, the step machine, whole runs.
//!
//! `benches/README.md` says what each number means.

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::hint::black_box;
use std::sync::{Arc, LazyLock};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loopmeter::clock::{Signal, VirtualClock};
use loopmeter::event::Metering;
use loopmeter::message::{FinishReason, Message, Usage, to_json};
use loopmeter::pricing::{CHAPTER_PRICE, Price, PriceList};
use loopmeter::provider::{Reply, Scripted};
use loopmeter::run::policy::StopCondition;
use loopmeter::run::{Harness, Machine, Need, RunSettings, RunState, Watchers, drive};
use loopmeter::scenario::{Said, Scenario};
use loopmeter::tokens::{RunningCount, count};
use loopmeter::tools::{Catalog, Template, Workspace};
use loopmeter::world;

static PRICE: LazyLock<Price> = LazyLock::new(|| {
    let prices = PriceList::builtin().expect("the shipped prices are read by a test");
    prices.get(CHAPTER_PRICE).expect("a test holds it").clone()
});

/// A run of `scenario` under a turn cap, in virtual time.
fn run(scenario: &Arc<Scenario>, catalog: &Catalog, turns: u32) -> RunState {
    let settings = RunSettings::new(PRICE.clone()).stop_when(StopCondition::MaxTurns { turns });
    let state = RunState::new("bench", settings, world::SYSTEM, world::USER);
    let mut machine = Machine::new(state, catalog);
    let harness = Harness {
        provider: &Scripted::new(Arc::clone(scenario)),
        catalog,
        workspace: &Workspace::in_memory(&Template::chapter()),
        clock: &VirtualClock::new(),
        signal: &Signal::new(),
    };
    pollster::block_on(drive(&mut machine, harness, &mut Watchers::none()))
        .expect("nothing to save");
    machine.into_state()
}

fn scenario(name: &str) -> Arc<Scenario> {
    Arc::new(Scenario::builtin(name).expect("a built-in scenario"))
}

fn counting(criterion: &mut Criterion) {
    let messages = run(&scenario("runaway"), &Catalog::chapter(), 200).messages;
    let text = to_json(&messages);
    let mut group = criterion.benchmark_group("tokens");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("raw text", |b| b.iter(|| count(black_box(&text))));
    // The definition, and the peer that the count is held against.
    group.bench_function("raw text, tiktoken-rs", |b| {
        let encoding = tiktoken_rs::o200k_base_singleton();
        b.iter(|| encoding.count_ordinary(black_box(&text)));
    });
    group.bench_function("message by message", |b| {
        b.iter(|| messages.iter().collect::<RunningCount>().tokens());
    });
    group.finish();
}

fn runs(criterion: &mut Criterion) {
    let catalog = Catalog::chapter();
    let mut group = criterion.benchmark_group("run");
    for (name, turns) in [
        ("plan", 20),
        ("recover", 20),
        ("denied", 12),
        ("runaway", 1_000),
    ] {
        let scenario = scenario(name);
        let taken = u64::from(run(&scenario, &catalog, turns).turns);
        group.throughput(Throughput::Elements(taken));
        group.bench_function(name, |b| b.iter(|| run(&scenario, &catalog, turns)));
    }
    group.finish();
}

/// What the model said and the tools answered in a run, in order: all that its machine is told.
fn told(state: &RunState) -> (Vec<Reply>, Vec<String>) {
    let (mut replies, mut results) = (Vec::new(), Vec::new());
    for message in &state.messages {
        match message {
            Message::Assistant {
                content,
                tool_calls,
            } => replies.push(Reply {
                message: Some(Said {
                    content: content.clone(),
                    tool_calls: tool_calls.clone(),
                }),
                finish: Some(FinishReason::ToolCalls),
                usage: Usage::default(),
                metering: Metering::reported(Usage::default()),
            }),
            Message::Tool { content, .. } => results.push(content.clone()),
            Message::System { .. } | Message::User { .. } => (),
        }
    }
    (replies, results)
}

/// The step machine alone: nobody is asked and nothing is executed.
fn machine(criterion: &mut Criterion) {
    const TURNS: u32 = 1_000;
    let catalog = Catalog::chapter();
    let (replies, results) = told(&run(&scenario("runaway"), &catalog, TURNS));
    let now = std::time::Duration::ZERO;
    let mut group = criterion.benchmark_group("machine");
    group.throughput(Throughput::Elements(u64::from(TURNS)));
    group.bench_function("runaway, told what happens", |b| {
        b.iter(|| {
            let settings =
                RunSettings::new(PRICE.clone()).stop_when(StopCondition::MaxTurns { turns: TURNS });
            let state = RunState::new("bench", settings, world::SYSTEM, world::USER);
            let mut machine = Machine::new(state, &catalog);
            let (mut replies, mut results) = (replies.iter().cloned(), results.iter().cloned());
            loop {
                match machine.next(now) {
                    Need::Nothing | Need::Summary { .. } => break,
                    Need::Reply { .. } => {
                        machine.on_request();
                        machine.on_reply(replies.next().expect("one for each turn"), now);
                    }
                    Need::Tool { call, .. } => {
                        machine.on_tool_start(&call);
                        let result = results.next().expect("one for each call");
                        machine.on_tool(&call, Ok(result), now);
                    }
                }
                black_box(machine.take_events());
            }
            machine.into_state()
        });
    });
    group.finish();
}

criterion_group!(benches, counting, machine, runs);
criterion_main!(benches);
