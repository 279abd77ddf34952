//! The report as a comment on a change: a sentence for each experiment that differs, a table of
//! what it costs, everything else folded. It begins with a marker by which the next report finds
//! this one and takes its place.

use std::fmt::Write as _;

use super::text;
use crate::lab::gate::{Change, Examined, Gate};

/// By this a comment of ours is found again.
const MARKER: &str = "<!-- loopmeter check -->";
/// How many sentences stand above the table.
const MOST_SENTENCES: usize = 10;
/// How many rows the table has.
const MOST_ROWS: usize = 20;
/// How many findings are listed below it.
const MOST_FINDINGS: usize = 100;
/// How long one of them is at most; a comment on GitHub holds 65,536 characters.
const MOST_CHARS: usize = 300;

/// The whole report.
pub(super) fn render(gate: &Gate) -> String {
    let mut report = format!("{MARKER}\n{}\n", headline(gate));
    let sentences: Vec<&String> = gate
        .experiments
        .iter()
        .flat_map(|one| &one.summary)
        .collect();
    if !sentences.is_empty() {
        report.push('\n');
    }
    for sentence in sentences.iter().take(MOST_SENTENCES) {
        let _ = writeln!(report, "- {}", inline(sentence));
    }
    if sentences.len() > MOST_SENTENCES {
        let more = sentences.len() - MOST_SENTENCES;
        let _ = writeln!(report, "- and {more} more experiments");
    }
    table(&mut report, gate);
    folded(&mut report, "What differs", &findings(gate));
    folded(&mut report, "Notes", &text::notes(gate));
    report
}

fn headline(gate: &Gate) -> String {
    let failed = gate.experiments.iter().filter(|one| !one.holds()).count();
    let all = gate.experiments.len();
    match (gate.holds(), failed) {
        (true, _) => format!("### ✅ loopmeter: {}", text::verdict(gate)),
        (false, 0) => format!("### ❌ loopmeter: {}", text::verdict(gate)),
        (false, failed) => format!("### ❌ loopmeter: {failed} of {all} experiments differ"),
    }
}

fn table(report: &mut String, gate: &Gate) {
    let changes = |one: &'_ Examined| -> Vec<(String, Change)> {
        let cells = one.changes.iter();
        cells
            .map(|change| (one.name.clone(), change.clone()))
            .collect()
    };
    let all: Vec<(String, Change)> = gate.experiments.iter().flat_map(changes).collect();
    if all.is_empty() {
        return;
    }
    report.push_str(
        "\n| experiment | at | turns | prompt tokens | cost of a run | change |\n\
         |---|---|--:|--:|--:|--:|\n",
    );
    for (name, change) in all.iter().take(MOST_ROWS) {
        let (was, is) = (&change.was, &change.is);
        let usd = |cost: &Option<String>| cost.as_ref().map(|cost| format!("${cost}"));
        let _ = writeln!(
            report,
            "| {} | {} | {} | {} | {} | {} |",
            inline(name),
            inline(&change.at),
            moved(was.turns, is.turns),
            moved(was.prompt_tokens, is.prompt_tokens),
            moved(usd(&was.cost_usd), usd(&is.cost_usd)),
            inline(change.percent.as_deref().unwrap_or_default()),
        );
    }
    let total: usize = gate.experiments.iter().map(|one| one.changed_cells).sum();
    if let more @ 1.. = total.saturating_sub(all.len().min(MOST_ROWS)) {
        let _ = writeln!(report, "\nand {more} more cells");
    }
}

/// `8 → 9`, or the value alone where it did not move.
fn moved<T: PartialEq + ToString>(was: Option<T>, is: Option<T>) -> String {
    let text = |value: Option<T>| value.map_or_else(|| "—".to_owned(), |value| value.to_string());
    if was == is {
        return text(is);
    }
    format!("{} → {}", text(was), text(is))
}

fn findings(gate: &Gate) -> Vec<String> {
    let of_experiment = |one: &'_ Examined| -> Vec<String> {
        let found = one.findings.iter();
        found
            .map(|found| format!("{}: {}", one.name, found.message))
            .collect()
    };
    let found = gate.experiments.iter().flat_map(of_experiment);
    let strays = gate.strays.iter().map(|stray| text::stray_words(stray));
    found.chain(strays).collect()
}

/// Lines as they are, behind a summary that opens on a click.
fn folded(report: &mut String, summary: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let shown: Vec<String> = lines
        .iter()
        .take(MOST_FINDINGS)
        .map(|line| cut(line))
        .collect();
    let fence = "`".repeat(longest_run(&shown).max(2) + 1);
    let _ = writeln!(
        report,
        "\n<details><summary>{summary} ({})</summary>\n\n{fence}text\n{}",
        lines.len(),
        shown.join("\n")
    );
    if lines.len() > MOST_FINDINGS {
        let _ = writeln!(report, "and {} more", lines.len() - MOST_FINDINGS);
    }
    let _ = writeln!(report, "{fence}\n\n</details>");
}

/// The longest run of backticks, which a fence around them has to exceed.
fn longest_run(lines: &[String]) -> usize {
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`'));
    runs.map(str::len).max().unwrap_or(0)
}

fn cut(line: &str) -> String {
    let line = line.replace('\n', " ");
    if line.chars().count() <= MOST_CHARS {
        return line;
    }
    let kept: String = line.chars().take(MOST_CHARS).collect();
    format!("{kept}…")
}

/// Words among Markdown: code stays code, and nothing opens a tag, a link, a cell or a mention.
fn inline(text: &str) -> String {
    let mut inline = String::new();
    let mut is_code = false;
    for letter in cut(text).chars() {
        match letter {
            '`' => {
                is_code = !is_code;
                inline.push('`');
            }
            '|' => inline.push_str("\\|"),
            _ if is_code => inline.push(letter),
            '<' => inline.push_str("&lt;"),
            '[' | ']' | '*' | '_' | '\\' => inline.extend(['\\', letter]),
            '@' => inline.push_str("@&#8203;"),
            letter => inline.push(letter),
        }
    }
    if is_code {
        inline.push('`');
    }
    inline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_open_nothing() {
        assert_eq!(
            inline("`a|b` <img> [x](y) @all max_turns=1"),
            "`a\\|b` &lt;img> \\[x\\](y) @&#8203;all max\\_turns=1"
        );
        assert_eq!(inline("an `open one"), "an `open one`");
        assert_eq!(cut(&"a".repeat(400)).chars().count(), MOST_CHARS + 1);
    }

    #[test]
    fn a_fence_is_longer_than_the_runs_in_it() {
        assert_eq!(longest_run(&["a ```` b".to_owned(), "`".to_owned()]), 4);
    }
}
