//! Recorded conversations read from a file and counted, against a plain recount: the same lines
//! parsed, and every request of them encoded whole by tiktoken-rs.

use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use loopmeter::record::{Import, SuccessMark};
use serde_json::{Value, json};

const CONVERSATIONS: usize = 60;
const CALLS: usize = 12;

/// Conversations of 13 turns, whose results are a kilobyte of data each.
fn lines() -> String {
    let lines = (0..CONVERSATIONS).map(|number| {
        let mut messages = vec![
            json!({"role": "system", "content": "You look after a small library."}),
            json!({"role": "user", "content": format!("What is on loan to card {number}?")}),
        ];
        for call in 0..CALLS {
            let id = format!("call_{number}_{call}");
            let function = json!({"name": "list_loans", "arguments": format!("{{\"page\":{call}}}")});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function", "function": function}]}));
            let loans: Vec<Value> = (0..20)
                .map(|loan| json!({"title": format!("Volume {}", number * loan), "due": "2026-05-03"}))
                .collect();
            messages.push(json!({"role": "tool", "tool_call_id": id, "name": "list_loans",
                "content": Value::Array(loans).to_string()}));
        }
        messages.push(json!({"role": "assistant", "content": "All of these."}));
        json!({"id": number, "reward": 1, "messages": messages}).to_string() + "\n"
    });
    lines.collect()
}

fn import(file: &Path) -> u64 {
    let import = Import {
        files: vec![file.to_owned()],
        format: None,
        success: SuccessMark::Usual,
    };
    let mut sum = 0;
    let read = import.each(
        &mut |_| ControlFlow::Continue(()),
        |recording| recording.counted().total_tokens(),
        |tokens| sum += tokens,
    );
    black_box(read).map_or(0, |_| sum)
}

fn recount(text: &str) -> u64 {
    let encoding = tiktoken_rs::o200k_base_singleton();
    let tokens = |text: &str| encoding.encode_ordinary(text).len() as u64;
    let of_line = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        let messages = record["messages"].as_array().cloned().unwrap_or_default();
        let turns = messages.iter().enumerate();
        let turns = turns.filter(|(_, message)| message["role"] == "assistant");
        let turn = |(at, message): (usize, &Value)| {
            let prompt = Value::from(&messages[..at]).to_string();
            let calls = match &message["tool_calls"] {
                Value::Null => "[]".to_owned(),
                calls => calls.to_string(),
            };
            let said = message["content"].as_str().unwrap_or_default();
            tokens(&prompt) + tokens(said) + tokens(&calls)
        };
        turns.map(turn).sum::<u64>()
    };
    text.lines().map(of_line).sum()
}

fn throughput(criterion: &mut Criterion) {
    let text = lines();
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let file = folder.path().join("runs.jsonl");
    if fs::write(&file, &text).is_err() {
        return;
    }
    assert_eq!(import(&file), recount(&text), "both count the same");
    let mut group = criterion.benchmark_group("recorded runs");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.bench_function("import", |b| b.iter(|| import(&file)));
    group.bench_function("full recount, tiktoken-rs", |b| b.iter(|| recount(&text)));
    group.finish();
}

criterion_group!(benches, throughput);
criterion_main!(benches);
