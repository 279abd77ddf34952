//! The bill of a 1,000-turn runaway, counted as it grows and recounted whole for every request.
//!
//! A recount by tiktoken-rs takes most of a minute an iteration, so this is a bench of its own.

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use loopmeter::message::{Message, ToolCall, to_json};
use loopmeter::tokens::{RunningCount, count_messages};
use loopmeter::world;

const TURNS: u32 = 1_000;

/// The transcript of `runaway`, written out.
fn transcript() -> Vec<Message> {
    let mut messages = vec![
        Message::System {
            content: world::SYSTEM.to_owned(),
        },
        Message::User {
            content: world::USER.to_owned(),
        },
    ];
    for turn in 0..TURNS {
        let (id, name) = (format!("c{turn}"), "list_files".to_owned());
        let call = ToolCall {
            id: id.clone(),
            name: name.clone(),
            arguments: "{}".to_owned(),
        };
        messages.push(Message::Assistant {
            content: None,
            tool_calls: vec![call],
        });
        let content = r#"["access.log","errors.log","notes.txt"]"#.to_owned();
        messages.push(Message::Tool {
            tool_call_id: id,
            name,
            content,
        });
    }
    messages
}

fn recount(criterion: &mut Criterion) {
    let messages = transcript();
    let ends: Vec<_> = (2..messages.len()).step_by(2).collect();
    let mut group = criterion.benchmark_group("1,000 requests");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.bench_function("incremental", |b| {
        b.iter(|| {
            let mut running = RunningCount::new();
            let counts = messages.iter().map(|message| {
                running.push(message);
                running.tokens()
            });
            counts.sum::<u64>()
        });
    });
    group.bench_function("full recount", |b| {
        b.iter(|| {
            ends.iter()
                .map(|&end| count_messages(&messages[..end]))
                .sum::<u64>()
        });
    });
    // Its text is the definition, and its crate what most people count with.
    group.bench_function("full recount, tiktoken-rs", |b| {
        let encoding = tiktoken_rs::o200k_base_singleton();
        let count = |end| encoding.count_ordinary(&to_json(&messages[..end]));
        b.iter(|| ends.iter().map(|&end| count(end)).sum::<usize>());
    });
    group.finish();
}

criterion_group!(benches, recount);
criterion_main!(benches);
