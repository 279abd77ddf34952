//! An experiment file: read with all its claims, tables and plots, and its first cells laid out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopmeter::document::Document;
use loopmeter::experiment::{Experiment, Home};

fuzz_target!(|text: &str| {
    let read = Document::parse("fuzzed.toml", text)
        .and_then(|document| Experiment::from_document("fuzzed", &document, &Home::Embedded));
    match read {
        Ok(experiment) => {
            let _ = (experiment.prices(), experiment.seeds());
        }
        Err(problems) => assert!(!format!("{problems:#}").is_empty()),
    }
});
