//! How fast an edition is checked: every number of a text found, read, and looked up.
//!
//! `benches/README.md` says what each number means.

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use loopmeter::experiment::Experiments;
use loopmeter::report::prose::{Constants, Edition, Ledger, Locale, check};

/// Texts of the tests, one over the other, so that a page becomes a chapter.
const TIMES: usize = 20;

fn ledger() -> Ledger {
    let experiments = Experiments::load(&[]).expect("the chapter's experiments");
    let constants = Constants::embedded().expect("a test reads them");
    let mut ledger = Ledger::new(&experiments, &constants).expect("a test makes it");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    ledger.add_results(&results).expect("a test reads them");
    ledger
}

fn prose(criterion: &mut Criterion) {
    let ledger = ledger();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prose");
    let mut group = criterion.benchmark_group("prose");
    for (file, tag) in [("el.txt", "el"), ("ja.md", "ja"), ("ar.html", "ar")] {
        let page = std::fs::read_to_string(folder.join(file)).expect("a text of the tests");
        let text = page.repeat(TIMES);
        let locale = Locale::parse(tag).expect("a tag");
        let read = || {
            let mut edition = Edition::default();
            edition.add(file, &text, &locale, &ledger);
            edition
        };
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(file, |b| {
            b.iter(|| check(read(), None, &ledger).expect("nothing is aligned"));
        });
        let reference = read();
        group.bench_function(format!("{file}, with a reference"), |b| {
            b.iter(|| check(read(), Some(&reference), &ledger).expect("short enough"));
        });
    }
    group.finish();
}

criterion_group!(benches, prose);
criterion_main!(benches);
