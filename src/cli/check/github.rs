//! The report as workflow commands of GitHub Actions: annotations on the lines of the experiments.
//!
//! A step shows ten errors at most, so what stands on one line becomes one annotation, and the
//! sentences that say why come first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::text;
use crate::lab::gate::{At, Examined, Gate, NoteKind};

/// Where a note stands: it is about the whole file.
const FIRST: At = At { line: 1, column: 1 };
/// How many messages one annotation shows.
const MOST_SHOWN: usize = 5;

/// The whole report.
pub(super) fn render(gate: &Gate) -> String {
    let mut report = String::new();
    for one in &gate.experiments {
        annotate(&mut report, one);
    }
    for stray in &gate.strays {
        let _ = writeln!(report, "::error::{}", data(&text::stray_words(stray)));
    }
    for one in &gate.experiments {
        for note in &one.notes {
            let level = match note.kind {
                NoteKind::Inconclusive => "warning",
                NoteKind::Faster => "notice",
                _ => continue,
            };
            let message = [note.message.as_str()];
            command(&mut report, level, (one, FIRST), &message);
        }
    }
    let _ = writeln!(report, "{}", text::verdict(gate));
    report
}

/// One annotation for each line that something is wrong with.
fn annotate(report: &mut String, one: &Examined) {
    let mut lines: BTreeMap<usize, (At, Vec<&str>)> = BTreeMap::new();
    let mut add = |at: At, message| {
        let (_, messages) = lines.entry(at.line).or_insert((at, Vec::new()));
        messages.push(message);
    };
    // What changed is said where its cause stands, if the file has it.
    let cause = one.inputs.first().map(|input| input.place);
    let first = one.findings.first().map(|found| found.place);
    if let Some(at) = cause.or(first) {
        one.summary.iter().for_each(|sentence| add(at, sentence));
    }
    for found in &one.findings {
        add(found.place, &found.message);
    }
    if one.holds() {
        return;
    }
    for (at, messages) in lines.values() {
        command(report, "error", (one, *at), messages);
    }
}

/// `::error file=a.toml,line=3,col=1,title=loopmeter a::message`.
fn command(report: &mut String, level: &str, (one, at): (&Examined, At), messages: &[&str]) {
    let mut message = messages
        .iter()
        .take(MOST_SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    if messages.len() > MOST_SHOWN {
        let _ = write!(message, "\nand {} more", messages.len() - MOST_SHOWN);
    }
    let title = property(&format!("loopmeter: {}", one.name));
    let place = if one.file.starts_with('<') {
        String::new()
    } else {
        let At { line, column } = at;
        format!("file={},line={line},col={column},", property(&one.file))
    };
    let _ = writeln!(report, "::{level} {place}title={title}::{}", data(&message));
}

/// A message as a command carries it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
