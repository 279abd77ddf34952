//! The answer for people.

use std::fmt::Write as _;

use super::Answer;
use crate::cli::output::counted;
use crate::cli::prices::{in_words, origin};
use crate::record::{Format, OfFormat};
use crate::results::Cell;
use crate::results::stats::Thousandths;
use crate::whatif::{Axis, Case, Cheapest, Tally, of_case};

/// What was read, every setting in a table, and the cheapest that keep enough.
pub(super) fn of(answer: &Answer<'_>) -> String {
    let mut text = read(answer);
    text.push_str(&records(answer));
    text.push_str(&marks(answer));
    if !answer.report.cases.is_empty() {
        text.push_str(&settings(answer));
        text.push_str(&cheapest(answer));
        text.push_str(&caveats(answer));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Thousandths as a percentage: `99`, `99.5`.
pub(super) fn percent(thousandths: Thousandths) -> String {
    match (thousandths / 10, thousandths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenths) => format!("{whole}.{tenths}"),
    }
}

fn read(answer: &Answer<'_>) -> String {
    let imported = answer.imported;
    let runs = counted(answer.report.recorded.runs, "recorded run");
    let mut text = format!("{runs} in {}", counted(imported.files, "file"));
    if answer.unreadable > 0 {
        let files = counted(answer.unreadable, "file");
        let _ = write!(text, ", {files} that cannot be read");
    }
    if imported.skipped > 0 {
        let _ = write!(text, ", {} left out", counted(imported.skipped, "piece"));
    }
    if imported.duplicates > 0 {
        let repeats = counted(imported.duplicates, "repeated piece");
        let _ = write!(text, ", {repeats} taken once");
    }
    text.push('\n');
    for (oddity, number) in imported.oddities.iter() {
        let _ = writeln!(text, "  {}: {number}", oddity.as_str());
    }
    text.push('\n');
    text
}

/// What was counted and what was reported, by format.
fn records(answer: &Answer<'_>) -> String {
    let mut rows = vec![
        [
            "format",
            "tokens",
            "runs",
            "turns",
            "prompt",
            "cached",
            "completion",
            "cost",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for (format, of) in &answer.imported.formats {
        rows.extend(record(*format, of, answer));
    }
    table(&rows)
}

fn record(format: Format, of: &OfFormat, answer: &Answer<'_>) -> [Vec<String>; 2] {
    let or_empty =
        |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let reported = &of.reported;
    let cost = answer.costs.get(&format).copied().unwrap_or_default();
    let cost_reported = reported
        .cost
        .map_or_else(String::new, |cost| format!("${cost}"));
    [
        vec![
            format.as_str().to_owned(),
            "counted".to_owned(),
            of.runs.to_string(),
            of.turns.to_string(),
            of.counted.prompt_tokens.to_string(),
            String::new(),
            of.counted.completion_tokens.to_string(),
            format!("${cost}"),
        ],
        vec![
            String::new(),
            "reported".to_owned(),
            of.reporting.to_string(),
            or_empty(reported.turns),
            or_empty(reported.prompt_tokens),
            or_empty(reported.cached_tokens),
            or_empty(reported.completion_tokens),
            cost_reported,
        ],
    ]
}

fn marks(answer: &Answer<'_>) -> String {
    let (sum, calls) = (&answer.report.recorded, answer.report.repeated);
    let price = answer.price;
    let successes = match sum.marked {
        0 if answer.success.is_some() => format!(
            "no record has a `{}` that says yes or no",
            answer.success.unwrap_or_default()
        ),
        0 => "no record says which runs did what they were for; --success KEY names what does"
            .to_owned(),
        marked => format!("{} of {marked} runs that say so", sum.successes),
    };
    let tools = match answer.report.tools_tokens {
        0 => String::new(),
        tools => format!(
            "tools      {tools} tokens of the prompts define tools, {} of all\n",
            share(tools, sum.usage.prompt_tokens)
        ),
    };
    let mut formats = answer.imported.formats.values();
    let is_cached = |of: &OfFormat| of.reported.cached_tokens.is_some_and(|tokens| tokens > 0);
    let discount = if formats.any(is_cached) {
        "           cached tokens are reported; what is counted is billed without their discount\n"
    } else {
        ""
    };
    format!(
        "\nprice      {}: {} ({})\n{discount}\
         successes  {successes}\n\
         calls      {}, {} of them made before in the same run, in {}; {} in a row at most\n{tools}",
        price.name,
        in_words(price),
        origin(price),
        calls.calls,
        calls.repeated,
        counted(answer.report.runs_with_repeats, "run"),
        calls.in_a_row,
    )
}

/// `12.5 %`
fn share(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part) * 1_000 / u128::from(whole.max(1));
    let thousandths = Thousandths::try_from(thousandths).unwrap_or(Thousandths::MAX);
    format!("{} %", percent(thousandths))
}

/// The columns of the table, with their headings.
const COLUMNS: [(&str, &str); 11] = [
    ("turns", "turns"),
    ("prompt_tokens", "prompt"),
    ("cached_tokens", "cached"),
    ("completion_tokens", "completion"),
    ("cost_usd", "cost"),
    ("saved_percent", "saved %"),
    ("saved_tool_runs", "tool runs saved"),
    ("ended_early", "ended early"),
    ("successes_kept", "successes kept"),
    ("successes_lost_percent", "lost %"),
    ("", "95 % interval"),
];

fn settings(answer: &Answer<'_>) -> String {
    let columns: Vec<_> = columns(answer).collect();
    let headings = std::iter::once("setting").chain(columns.iter().map(|(_, heading)| *heading));
    let mut rows: Vec<Vec<String>> = vec![headings.map(str::to_owned).collect()];
    rows.push(setting(answer, None, &answer.report.recorded));
    for (case, tally) in &answer.report.cases {
        rows.push(setting(answer, Some(case), tally));
    }
    format!("\n{}", table(&rows))
}

/// The columns that the answer has something to say in.
fn columns(answer: &Answer<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let caches = varies(answer, Axis::Cache);
    COLUMNS
        .into_iter()
        .filter(move |(name, _)| caches || *name != "cached_tokens")
}

fn varies(answer: &Answer<'_>, axis: Axis) -> bool {
    let mut cases = answer.report.cases.iter();
    cases.any(|(case, _)| case.axes().contains(&axis))
}

fn setting(answer: &Answer<'_>, case: Option<&Case>, tally: &Tally) -> Vec<String> {
    let cells = of_case(answer.report, case, tally);
    let cell = |name: &str| {
        cells
            .iter()
            .find(|(known, ..)| *known == name)
            .map(|cell| &cell.2)
    };
    let shown = |name: &str| match cell(name) {
        Some(Cell::Usd(usd)) => format!("${usd}"),
        Some(cell) => cell.to_string(),
        None => interval(
            cell("successes_lost_low_percent"),
            cell("successes_lost_high_percent"),
        ),
    };
    let name = case.map_or_else(|| "as recorded".to_owned(), ToString::to_string);
    let columns = columns(answer).map(|(name, _)| shown(name));
    std::iter::once(name).chain(columns).collect()
}

fn interval(low: Option<&Cell>, high: Option<&Cell>) -> String {
    match (low, high) {
        (Some(low), Some(high)) if *low != Cell::Missing => format!("{low} to {high}"),
        _ => String::new(),
    }
}

fn cheapest(answer: &Answer<'_>) -> String {
    let mut text = String::from("\n");
    let sum = &answer.report.recorded;
    if sum.marked > 0 && sum.successes == 0 {
        text.push_str("no run was a success, so nothing says what a limit would lose\n");
    }
    for cheapest in answer.report.cheapest(answer.keep) {
        text.push_str(&sentence(answer, &cheapest));
    }
    text
}

fn sentence(answer: &Answer<'_>, cheapest: &Cheapest<'_>) -> String {
    let words: Vec<&str> = cheapest.axes.iter().copied().map(Axis::words).collect();
    let (what, keep) = (words.join(" with "), percent(answer.keep));
    let sum = &answer.report.recorded;
    match cheapest.found {
        Some((_, tally)) if tally.cost >= sum.cost => {
            format!("no {what} of these saves anything and keeps {keep} % of the successes\n")
        }
        Some((case, tally)) => format!(
            "the cheapest {what} that keeps {keep} % of the successes: {case}, {} of {} kept, ${} \
             instead of ${}\n",
            tally.successes_kept, tally.successes, tally.cost, sum.cost
        ),
        None => format!("no {what} of these keeps {keep} % of the successes\n"),
    }
}

/// What is exact and what is not.
fn caveats(answer: &Answer<'_>) -> String {
    let mut text = String::from(
        "\nup to where a run ends early all of this is exact; what the model would have said after \
         that is not in a record, and a run that ends early counts as lost\n",
    );
    if let Some(tokens) = answer.max_completion_tokens {
        let _ = writeln!(
            text,
            "budgets that reserve assume that no reply may have more than {tokens} tokens: no \
             record says so"
        );
    }
    if varies(answer, Axis::Cache) {
        text.push_str("caches are taken not to expire: no record says when a request was made\n");
    }
    if varies(answer, Axis::Context) {
        text.push_str(
            "what a context policy sends is exact, summaries at the length that they may have; the \
             replies are the recorded ones, though the model might have answered otherwise\n",
        );
    }
    let without = answer.report.without_texts;
    if without > 0 && (varies(answer, Axis::Cache) || varies(answer, Axis::Context)) {
        let _ = writeln!(
            text,
            "{} without texts: sent and billed as recorded, under every cache and policy",
            counted(without, "run")
        );
    }
    let changed = answer
        .report
        .cases
        .iter()
        .filter(|(_, tally)| tally.changed > 0);
    for (case, tally) in changed {
        let _ = writeln!(
            text,
            "{case}: {} would have read another text than the recorded one; from there on the \
             record is not what would have happened",
            counted(tally.changed, "run")
        );
    }
    text
}

/// Rows below each other, each column as wide as it must be: words to the left, numbers to the
/// right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let is_words = |at: usize| {
        let cells = rows.iter().skip(1).filter_map(|row| row.get(at));
        let mut letters = cells.filter_map(|cell| cell.chars().next());
        letters.any(char::is_alphabetic)
    };
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| {
                if is_words(at) {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
