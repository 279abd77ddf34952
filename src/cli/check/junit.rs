//! The report as `JUnit` XML: a suite for each experiment, a case for its rows, its tables, its
//! files, each claim and each time.

use std::fmt::Write as _;

use super::text;
use crate::lab::gate::{Examined, Gate, Kind, NoteKind};

/// What became of one case.
enum Verdict {
    Passed,
    /// A message, and everything there is to say.
    Failed(String, String),
    Skipped(String),
}

struct Case {
    name: String,
    verdict: Verdict,
}

struct Suite<'g> {
    name: &'g str,
    file: Option<&'g str>,
    cases: Vec<Case>,
}

/// The whole report.
pub(super) fn render(gate: &Gate) -> String {
    let mut suites: Vec<Suite<'_>> = gate.experiments.iter().map(suite).collect();
    if !gate.strays.is_empty() {
        let cases = gate.strays.iter().map(|stray| Case {
            name: stray.clone(),
            verdict: Verdict::Failed(text::stray_words(stray), String::new()),
        });
        suites.push(Suite {
            name: "results",
            file: None,
            cases: cases.collect(),
        });
    }
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"loopmeter\" {}>", totals(cases()));
    for suite in &suites {
        write_suite(&mut xml, suite);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(one: &Examined) -> Suite<'_> {
    let of_kinds = [
        ("rows", &[Kind::Row][..]),
        ("tables", &[Kind::Table]),
        ("files", &[Kind::File, Kind::Digest]),
    ];
    let of_kinds = of_kinds.into_iter().map(|(name, kinds)| Case {
        name: name.to_owned(),
        verdict: verdict_of(one, kinds),
    });
    let claims = one.claims.iter().map(|claim| Case {
        name: format!("claim {}", claim.id),
        verdict: if claim.holds {
            Verdict::Passed
        } else {
            Verdict::Failed(claim.message.clone(), String::new())
        },
    });
    let slower = one.findings.iter().filter(|one| one.kind == Kind::Slower);
    let slower = slower.map(|found| Case {
        name: timed(&found.message),
        verdict: Verdict::Failed(found.message.clone(), String::new()),
    });
    let times = one.notes.iter().filter_map(|note| {
        let verdict = match note.kind {
            NoteKind::Inconclusive => Verdict::Skipped(note.message.clone()),
            NoteKind::Faster | NoteKind::AsBefore => Verdict::Passed,
            NoteKind::WithoutEffect | NoteKind::Outdated => return None,
        };
        let name = timed(&note.message);
        Some(Case { name, verdict })
    });
    Suite {
        name: &one.name,
        file: Some(&one.file),
        cases: of_kinds.chain(claims).chain(slower).chain(times).collect(),
    }
}

fn verdict_of(one: &Examined, kinds: &[Kind]) -> Verdict {
    let found = one
        .findings
        .iter()
        .filter(|found| kinds.contains(&found.kind));
    let messages: Vec<&str> = found.map(|found| found.message.as_str()).collect();
    let Some(first) = messages.first() else {
        return Verdict::Passed;
    };
    // A sentence that says why is the better headline; only rows and tables have one.
    let why = one
        .summary
        .first()
        .filter(|_| kinds != [Kind::File, Kind::Digest]);
    let headline = why.map_or(*first, String::as_str);
    Verdict::Failed(headline.to_owned(), messages.join("\n"))
}

/// The name of a timed case: what stands before the first colon of its message.
fn timed(message: &str) -> String {
    message.split(": ").next().unwrap_or(message).to_owned()
}

fn totals<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for case in cases {
        tests += 1;
        match case.verdict {
            Verdict::Passed => {}
            Verdict::Failed(..) => failures += 1,
            Verdict::Skipped(_) => skipped += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"")
}

fn write_suite(xml: &mut String, suite: &Suite<'_>) {
    let (name, totals) = (escaped(suite.name), totals(suite.cases.iter()));
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" {totals}>");
    let file = suite
        .file
        .map(|file| format!(" file=\"{}\"", escaped(file)))
        .unwrap_or_default();
    for case in &suite.cases {
        let head = format!(
            "    <testcase name=\"{}\" classname=\"{name}\"{file}",
            escaped(&case.name)
        );
        let _ = match &case.verdict {
            Verdict::Passed => writeln!(xml, "{head}/>"),
            Verdict::Skipped(why) => writeln!(
                xml,
                "{head}>\n      <skipped message=\"{}\"/>\n    </testcase>",
                escaped(why)
            ),
            Verdict::Failed(message, all) => writeln!(
                xml,
                "{head}>\n      <failure message=\"{}\" type=\"differs\">{}</failure>\n    </testcase>",
                escaped(message),
                escaped(all)
            ),
        };
    }
    xml.push_str("  </testsuite>\n");
}

/// Text as it may stand in an attribute or an element; what XML cannot hold is replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(
            escaped("a<b> & \"c\"\n\u{1b}\u{0}\u{ffff}"),
            "a&lt;b&gt; &amp; &quot;c&quot;&#10;\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
