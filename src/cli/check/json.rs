//! The report for programs: the whole model, with the verdict before it.

use serde::Serialize;

use crate::lab::gate::Gate;

/// The version of the report's form: it grows where a key changes its meaning or goes.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'g> {
    version: u32,
    holds: bool,
    failures: usize,
    #[serde(flatten)]
    gate: &'g Gate,
}

/// The whole report.
pub(super) fn render(gate: &Gate) -> String {
    let report = Report {
        version: VERSION,
        holds: gate.holds(),
        failures: gate.failures(),
        gate,
    };
    // A model of texts and numbers always has a form in JSON.
    serde_json::to_string_pretty(&report).unwrap_or_default()
}
