//! How fast the loop is where it matters: counting, whole runs, sweeps.
//!
//! `benches/README.md` says what each number means.

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use loopmeter::clock::{Signal, VirtualClock};
use loopmeter::experiment::{Execution, Experiments, Host};
use loopmeter::message::to_json;
use loopmeter::pricing::{CHAPTER_PRICE, Price, PriceList};
use loopmeter::provider::Scripted;
use loopmeter::run::policy::StopCondition;
use loopmeter::run::{Harness, Machine, RunSettings, RunState, Watchers, drive};
use loopmeter::scenario::Scenario;
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

/// The ten thousand cells of `experiments/examples/sweep-10k.toml`, rows made and dropped.
fn sweep(criterion: &mut Criterion) {
    let file: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/examples/sweep-10k.toml");
    let experiments = Experiments::load(&[file]).expect("the example is read by a test");
    let experiment = experiments.iter().next().expect("one experiment");
    let host = Host::here();
    let mut group = criterion.benchmark_group("sweep");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Elements(experiment.runs()));
    for jobs in [1, 2] {
        group.bench_function(format!("10,000 cells, {jobs} at a time"), |b| {
            b.iter(|| {
                let execution = Execution {
                    jobs,
                    host: &host,
                    progress: &mut |_| (),
                    stop: &|| false,
                };
                let mut rows = 0_usize;
                let taken =
                    experiment.execute::<std::convert::Infallible>(execution, &mut |cell| {
                        rows += 1 + black_box(cell).turns.len();
                        Ok(())
                    });
                taken.expect("every cell runs");
                rows
            });
        });
    }
    group.finish();
}

criterion_group!(benches, counting, runs, sweep);
criterion_main!(benches);
