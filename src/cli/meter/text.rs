//! The bill for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::Bill;
use crate::cli::output::counted;
use crate::cli::output::one_line;
use crate::cli::prices;
use crate::meter::{Ended, Failure, Invoice, Turn};
use crate::server::{Channel, Oddity, SeenResult};

/// The bill: what came of it in a line, a table of the turns, the sums, and what stood out.
pub(super) fn of(bill: &Bill<'_>) -> String {
    let mut text = headline(bill);
    text.push_str(&table(bill.invoice));
    text.push_str(&sums(bill));
    text.push_str(&told(bill.invoice));
    text.push_str(&stood_out(bill.invoice));
    text.truncate(text.trim_end().len());
    text
}

fn headline(bill: &Bill<'_>) -> String {
    let invoice = bill.invoice;
    let turns = counted(invoice.turns.len() as u64, "turn");
    let (ended, cost) = (ending(bill), invoice.cost);
    let command = bill.command().join(" ");
    format!("{command}\n{turns}, ${cost}: {ended}\n\n")
}

fn ending(bill: &Bill<'_>) -> String {
    let words = match bill.invoice.ended {
        Ended::Answered => "the model answered, and the command ended",
        Ended::ToolsPending => "the command ended before it told what the last tool calls gave",
        Ended::RequestFailed => "the command ended after a request that failed",
        Ended::NeverCalled => {
            "the command ended and never asked the model (does it read OPENAI_BASE_URL or \
             LLM_BASE_URL, and speak chat completions?)"
        }
        Ended::TimedOut => "the command was ended: its time was up (--timeout)",
        Ended::TooManyRequests => "the command was ended: too many requests (--max-requests)",
        Ended::Signalled => "the command was ended by a signal",
        Ended::Stopped => "the command was ended because loopmeter was stopped",
    };
    match bill.invoice.exit_code {
        Some(code) => format!("{words}, exit code {code}"),
        None => words.to_owned(),
    }
}

const HEADINGS: [&str; 9] = [
    "turn",
    "tries",
    "messages",
    "their tokens",
    "tools tokens",
    "completion",
    "cost so far",
    "before ms",
    "reply ms",
];

/// The turns, each column as wide as it must be.
fn table(invoice: &Invoice) -> String {
    if invoice.turns.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = invoice.turns.iter().map(cells).collect();
    let width = |at: usize, heading: &str| {
        let cells = rows.iter().map(|row| row.get(at).map_or(0, String::len));
        cells.max().unwrap_or(0).max(heading.len())
    };
    let widths: Vec<_> = (0..)
        .zip(HEADINGS)
        .map(|(at, heading)| width(at, heading))
        .collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths);
        let padded: Vec<_> = padded
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        padded.join("  ")
    };
    let mut text = line(&HEADINGS.map(str::to_owned));
    text.push_str("  calls\n");
    for (row, turn) in rows.iter().zip(&invoice.turns) {
        let calls = if turn.calls.is_empty() {
            "(answer)".to_owned()
        } else {
            one_line(&turn.calls.join(", "))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  {calls}", line(row));
    }
    text.push('\n');
    text
}

fn cells(turn: &Turn) -> [String; 9] {
    [
        turn.number.to_string(),
        turn.attempts.to_string(),
        turn.messages.to_string(),
        turn.messages_tokens.to_string(),
        turn.tools_tokens.to_string(),
        turn.usage.completion_tokens.to_string(),
        format!("${}", turn.cost),
        ms(turn.before),
        ms(turn.provider),
    ]
}

fn sums(bill: &Bill<'_>) -> String {
    let invoice = bill.invoice;
    let (usage, time) = (&invoice.usage, &invoice.time);
    let replayed = invoice
        .replayed_percent()
        .map(|percent| format!(", {percent} % of them sent before"));
    let per_turn = time
        .harness_per_gap()
        .map(|span| format!(" ({} a turn)", ms(span)));
    let lines = [
        (
            "requests",
            format!(
                "{}, in {}",
                invoice.requests,
                counted(invoice.attempts, "attempt")
            ),
        ),
        (
            "tokens",
            format!(
                "{} prompt{}; {} completion",
                usage.prompt_tokens,
                replayed.unwrap_or_default(),
                usage.completion_tokens
            ),
        ),
        (
            "cost",
            format!(
                "${} at {}: {}",
                invoice.cost,
                bill.price.name,
                prices::in_words(bill.price)
            ),
        ),
        ("price", prices::origin(bill.price)),
        (
            "tool calls",
            format!(
                "{}, {} of them made before with the same arguments",
                invoice.tool_calls, invoice.repeated_calls
            ),
        ),
        (
            "time",
            format!(
                "{} ms: start {}, provider {}, harness {}{}, before retries {}, close {}",
                ms(time.wall()),
                ms(time.start),
                ms(time.provider),
                ms(time.harness),
                per_turn.unwrap_or_default(),
                ms(time.waiting),
                ms(time.close)
            ),
        ),
    ];
    let lines = lines.map(|(name, value)| format!("{name:<11} {value}\n"));
    lines.concat()
}

/// What the model was told by the agent, turn by turn; what is said again and again is shown once.
fn told(invoice: &Invoice) -> String {
    let mut all: Vec<(u32, u32, &SeenResult)> = Vec::new();
    for turn in &invoice.turns {
        for told in &turn.told {
            match all.last_mut() {
                Some((_, last, before))
                    if before.text == told.text && before.channel == told.channel =>
                {
                    *last = turn.number;
                }
                _ => all.push((turn.number, turn.number, told)),
            }
        }
    }
    let mut text = String::new();
    for (first, last, told) in all {
        let how = match told.channel {
            Channel::Tool => "a tool message",
            Channel::User => "text of the user",
        };
        let turns = if first == last {
            format!("turn {first}")
        } else {
            format!("turns {first} to {last}")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {turns}, in {how}: {}", brief(&told.text));
    }
    titled("what the model was told", &text)
}

/// The first oddity of each kind, and how many more there are of it.
fn odd(invoice: &Invoice) -> String {
    let mut kinds: Vec<(u64, &Oddity, u64)> = Vec::new();
    for (exchange, oddity) in &invoice.oddities {
        let same = |(_, first, _): &&mut (u64, &Oddity, u64)| first.as_str() == oddity.as_str();
        match kinds.iter_mut().find(same) {
            Some((_, _, more)) => *more += 1,
            None => kinds.push((*exchange, oddity, 0)),
        }
    }
    let mut text = String::new();
    for (exchange, oddity, more) in kinds {
        let more = match more {
            0 => String::new(),
            more => format!(" (and {more} more like it)"),
        };
        let _ = writeln!(
            text,
            "  request {exchange}: {}{more}",
            one_line(&oddity.to_string())
        );
    }
    titled("odd", &text)
}

/// What was not as it should be.
fn stood_out(invoice: &Invoice) -> String {
    let mut failures = String::new();
    for failed in &invoice.failures {
        let why = match &failed.why {
            Failure::Fault(kind) => format!("failed as it was told to: {kind}"),
            Failure::Refused(status, why) => format!("refused with {status}: {}", brief(why)),
            Failure::Aborted => "the client went away before the end of the reply".to_owned(),
        };
        let _ = writeln!(failures, "  request {}: {why}", failed.exchange);
    }
    let forgotten = match invoice.forgotten {
        0 => String::new(),
        some => format!("  {some} earlier requests were not kept and are not billed\n"),
    };
    let error = invoice.last_error.as_deref();
    let error = error.map_or_else(String::new, |line| format!("  {}\n", one_line(line)));
    [
        titled("failures", &failures),
        odd(invoice),
        titled("missing", &forgotten),
        titled("the command's last words", &error),
    ]
    .concat()
}

fn titled(title: &str, lines: &str) -> String {
    match lines {
        "" => String::new(),
        lines => format!("\n{title}\n{lines}"),
    }
}

/// The most characters of a text that are shown.
const BRIEF: usize = 200;

/// A text on one line, in quotes, cut.
fn brief(text: &str) -> String {
    let cut: String = text.chars().take(BRIEF).collect();
    let dots = if cut.len() < text.len() { " …" } else { "" };
    format!("{cut:?}{dots}")
}

/// Milliseconds with one decimal.
fn ms(span: Duration) -> String {
    let tenths = (span.as_micros() + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}
