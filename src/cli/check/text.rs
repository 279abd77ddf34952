//! The report for people: what changed and what it costs, everything that differs, the verdict.

use std::fmt::Write as _;

use crate::cli::output::counted;
use crate::lab::gate::{Examined, Gate, NoteKind};

/// The whole report.
pub(super) fn render(gate: &Gate) -> String {
    let mut text = String::new();
    for one in &gate.experiments {
        for sentence in &one.summary {
            let _ = writeln!(text, "{sentence}");
        }
        for found in &one.findings {
            let _ = writeln!(text, "{}: {}", one.name, found.message);
        }
    }
    for stray in &gate.strays {
        let _ = writeln!(text, "{}", stray_words(stray));
    }
    for note in notes(gate) {
        let _ = writeln!(text, "{note}");
    }
    let _ = writeln!(text, "{}", verdict(gate));
    if !gate.skipped.is_empty() {
        let _ = writeln!(
            text,
            "without results, as they are only made when asked for: {}",
            gate.skipped.join(", ")
        );
    }
    text
}

/// What is said of a folder that no experiment makes.
pub(super) fn stray_words(stray: &str) -> String {
    format!("{stray}: results of no experiment; remove the folder")
}

/// `24 experiments, 66 claims: all as committed`.
pub(super) fn verdict(gate: &Gate) -> String {
    let what = match gate.failures() {
        0 => "all as committed".to_owned(),
        1 => "1 thing differs".to_owned(),
        more => format!("{more} things differ"),
    };
    format!(
        "{}, {}: {what}",
        counted(gate.experiments.len() as u64, "experiment"),
        counted(gate.claims() as u64, "claim"),
    )
}

/// What is worth saying and is no failure, a line each.
pub(super) fn notes(gate: &Gate) -> Vec<String> {
    let mut notes = Vec::new();
    for one in &gate.experiments {
        notes.extend(timings(one));
    }
    for (words, names) in gate.notes(NoteKind::WithoutEffect) {
        let names = names.join(", ");
        notes.push(format!(
            "note: {words}, without effect on the rows of {names}; `loopmeter run` records it"
        ));
    }
    for (words, names) in gate.notes(NoteKind::Outdated) {
        let names = names.join(", ");
        notes.push(format!(
            "note: {words} since {names} was measured; `loopmeter run --only NAME` measures it again"
        ));
    }
    notes
}

fn timings(one: &Examined) -> Vec<String> {
    let of = |kind| one.notes.iter().filter(move |note| note.kind == kind);
    let name = &one.name;
    let mut lines: Vec<String> = of(NoteKind::Inconclusive)
        .map(|note| format!("note: {name}: {}", note.message))
        .collect();
    lines.extend(of(NoteKind::Faster).map(|note| {
        let message = &note.message;
        format!("note: {name}: {message}; `loopmeter check --only {name} --update` accepts it")
    }));
    match of(NoteKind::AsBefore).count() {
        0 => {}
        1 => lines.push(format!("note: {name}: 1 time is as before")),
        more => lines.push(format!("note: {name}: {more} times are as before")),
    }
    lines
}
