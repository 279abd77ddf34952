//! How long the program takes from its start to its first exact count, and to its end: each
//! iteration is a process of its own.
//!
//! `benches/README.md` says what each number means.

use std::path::Path;
use std::process::{Command, Stdio};

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};

/// Runs the program and waits for it.
fn loopmeter(folder: &Path, arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_loopmeter"))
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("cargo built it");
    assert!(status.success(), "{arguments:?}: {status}");
}

fn start(criterion: &mut Criterion) {
    let empty = tempfile::tempdir().expect("a folder for temporary files");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut group = criterion.benchmark_group("start");
    group.sample_size(30).sampling_mode(SamplingMode::Flat);
    // What of the rest is the system's: a process that counts nothing.
    group.bench_function("--version", |b| {
        b.iter(|| loopmeter(empty.path(), &["--version"]));
    });
    // Three turns counted, metered and saved.
    group.bench_function("agent start --scenario plan", |b| {
        b.iter(|| loopmeter(empty.path(), &["agent", "start", "--scenario", "plan"]));
    });
    group.bench_function("run, the whole chapter", |b| {
        b.iter(|| loopmeter(empty.path(), &["run", "--quiet"]));
    });
    group.bench_function("check, the whole chapter", |b| {
        b.iter(|| loopmeter(repository, &["check"]));
    });
    group.finish();
}

criterion_group!(benches, start);
criterion_main!(benches);
