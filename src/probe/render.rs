//! A report as text, Markdown and JSON: three forms of the same values.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::finding::{Finding, Verdict};
use super::report::{CheckReport, Report};
use super::require::Ruling;
use crate::results::{Cell, escape};

/// A span as a whole number of milliseconds.
pub(super) fn as_ms<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(ms(*span))
}

/// Spans as whole numbers of milliseconds.
pub(super) fn all_as_ms<S: Serializer>(spans: &[Duration], to: S) -> Result<S::Ok, S::Error> {
    let mut all = to.serialize_seq(Some(spans.len()))?;
    for span in spans {
        all.serialize_element(&ms(*span))?;
    }
    all.end()
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A span for people.
pub(super) fn shown_span(span: Duration) -> String {
    format!("{} ms", ms(span))
}

/// A number of things.
pub(super) fn counted(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        many => format!("{many} {thing}s"),
    }
}

/// Microseconds for people.
pub(super) fn shown_micros(micros: u64) -> String {
    format!("{}.{:03} ms", micros / 1_000, micros % 1_000)
}

/// The report as one JSON object. Money is in whole pico-dollars.
#[must_use]
pub fn to_json(report: &Report, rulings: &[Ruling]) -> String {
    #[derive(Serialize)]
    struct All<'a> {
        #[serde(flatten)]
        report: &'a Report,
        requirements: &'a [Ruling],
    }
    let all = All {
        report,
        requirements: rulings,
    };
    // Only a foreign value could fail to be written, and there is none.
    serde_json::to_string_pretty(&all).unwrap_or_default()
}

/// The report as text for a terminal.
#[must_use]
pub fn to_text(report: &Report, rulings: &[Ruling]) -> String {
    let mut text = format!("{}\n\noverall\n", heading(report));
    lines(&mut text, &report.overall);
    for check in &report.checks {
        let _ = writeln!(text, "\n{}: {}", check.check, figures(check));
        lines(&mut text, &check.findings);
    }
    for check in &report.not_run {
        let _ = writeln!(text, "\n{check}: not run, as no time was left");
    }
    if !rulings.is_empty() {
        text.push_str("\nrequirements\n");
    }
    for ruling in rulings {
        let mark = if ruling.holds { "holds" } else { "FAILS" };
        let _ = writeln!(text, "  {mark:8} {}: {}", ruling.requirement, ruling.why);
    }
    let _ = write!(text, "\n{}", tally(report));
    text
}

fn heading(report: &Report) -> String {
    let words = report.setting.command.iter();
    let words: Vec<String> = words.map(|word| harmless(word)).collect();
    let price = &report.setting.price;
    format!(
        "probe of {}\nprices: {}, {}, {}",
        words.join(" "),
        price.name,
        price.source,
        price.date
    )
}

/// A word of the command on one line.
fn harmless(word: &str) -> String {
    let safe = |letter: char| !letter.is_control();
    word.chars()
        .map(|c| if safe(c) { c } else { '?' })
        .collect()
}

fn figures(check: &CheckReport) -> String {
    let CheckReport {
        turns,
        requests,
        cost,
        wall,
        ..
    } = check;
    let wall = shown_span(*wall);
    let turns = counted(u64::from(*turns), "turn");
    let requests = counted(*requests, "request");
    format!("{turns}, {requests}, ${cost}, {wall}")
}

fn lines(text: &mut String, findings: &[Finding]) {
    for finding in findings {
        let _ = writeln!(text, "  {:8} {}", finding.verdict, finding.seen);
        for evidence in &finding.evidence {
            let _ = writeln!(text, "  {:8}   {evidence}", "");
        }
    }
}

fn tally(report: &Report) -> String {
    let verdicts = [
        Verdict::Good,
        Verdict::Bad,
        Verdict::Fact,
        Verdict::Unclear,
        Verdict::NotApplicable,
    ];
    let counts = verdicts.map(|verdict| format!("{} {verdict}", report.count(verdict)));
    let checks = counted(report.checks.len() as u64, "check");
    format!("{checks}: {}", counts.join(", "))
}

/// The report as Markdown.
#[must_use]
pub fn to_markdown(report: &Report, rulings: &[Ruling]) -> String {
    let mut text = format!("{}\n\n", escape(&heading(report).replace('\n', "; ")));
    if !rulings.is_empty() {
        text.push_str("| requirement | holds | why |\n| --- | --- | --- |\n");
        for ruling in rulings {
            let holds = Cell::from(ruling.holds);
            let why = escape(&ruling.why);
            let _ = writeln!(text, "| {} | {holds} | {why} |", ruling.requirement);
        }
        text.push('\n');
    }
    text.push_str("| check | verdict | finding | evidence |\n| --- | --- | --- | --- |\n");
    rows(&mut text, "overall", &report.overall);
    for check in &report.checks {
        let name = format!("{} ({})", check.check, escape(&figures(check)));
        rows(&mut text, &name, &check.findings);
    }
    for check in &report.not_run {
        let _ = writeln!(
            text,
            "| {check} | unclear | not run, as no time was left | |"
        );
    }
    let _ = write!(text, "\n{}", tally(report));
    text
}

fn rows(text: &mut String, name: &str, findings: &[Finding]) {
    for (index, finding) in findings.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let evidence = finding.evidence.iter();
        let evidence: Vec<String> = evidence.map(|one| escape(&one.to_string())).collect();
        let seen = escape(&finding.seen.to_string());
        let (verdict, evidence) = (finding.verdict, evidence.join("<br>"));
        let _ = writeln!(text, "| {name} | {verdict} | {seen} | {evidence} |");
    }
}
