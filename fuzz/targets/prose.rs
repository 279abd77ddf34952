//! A translation: its numbers found and held to the claims, and to itself as a reference.
//!
//! The first two bytes choose the kind of file and the language.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use loopmeter::experiment::Experiments;
use loopmeter::report::prose::{Constants, Edition, Ledger, Locale, check};

const FILES: [&str; 3] = ["a.md", "a.html", "a.txt"];
const LOCALES: [&str; 6] = ["en", "ar", "ja", "uk", "hi", "zh-Hans"];

fuzz_target!(|bytes: &[u8]| {
    static LEDGER: OnceLock<Ledger> = OnceLock::new();
    let ledger = LEDGER.get_or_init(|| {
        let experiments = Experiments::embedded().expect("the chapter's");
        Ledger::new(&experiments, &Constants::embedded().expect("ours")).expect("a ledger")
    });
    let Some((&[file, locale], text)) = bytes.split_first_chunk::<2>().map(|(a, b)| (a, b)) else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let file = FILES[usize::from(file) % FILES.len()];
    let tag = LOCALES[usize::from(locale) % LOCALES.len()];
    let locale = Locale::parse(tag).expect("a language of ours");
    let edition = || {
        let mut edition = Edition::default();
        edition.add(file, text, &locale, ledger);
        edition
    };
    let reference = edition();
    let Ok(report) = check(edition(), Some(&reference), ledger) else {
        return;
    };
    for number in &report.edition.numbers {
        assert!(!report.line(number).is_empty());
        let _ = report.annotation(number, false);
    }
    let _ = (report.summary(), report.to_json(tag));
});
