//! The bill for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::Bill;
use crate::cli::output::counted;
use crate::meter::{Ended, Failure, Invoice, Turn};
use crate::money::PicoUsd;
use crate::server::Channel;

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
        Ended::NeverCalled => "the command ended and never asked the model",
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
        let calls = match turn.calls.is_empty() {
            true => "(answer)".to_owned(),
            false => turn.calls.join(", "),
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
    let million = |per_token: PicoUsd| per_token * 1_000_000;
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
                "${} at {}: ${} in, ${} out per million tokens",
                invoice.cost,
                bill.price.name,
                million(bill.price.input),
                million(bill.price.output)
            ),
        ),
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

/// What the model was told by the agent, turn by turn.
fn told(invoice: &Invoice) -> String {
    let mut text = String::new();
    for turn in &invoice.turns {
        for told in &turn.told {
            let how = match told.channel {
                Channel::Tool => "a tool message",
                Channel::User => "text of the user",
            };
            let _ = writeln!(
                text,
                "  turn {}, in {how}: {}",
                turn.number,
                brief(&told.text)
            );
        }
    }
    titled("what the model was told", &text)
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
    let mut odd = String::new();
    for (exchange, oddity) in &invoice.oddities {
        let _ = writeln!(odd, "  request {exchange}: {oddity}");
    }
    let forgotten = match invoice.forgotten {
        0 => String::new(),
        some => format!("  {some} earlier requests were not kept and are not billed\n"),
    };
    let error = invoice.last_error.as_deref();
    let error = error.map_or_else(String::new, |line| format!("  {line}\n"));
    [
        titled("failures", &failures),
        titled("odd", &odd),
        titled("missing", &forgotten),
        titled("the command's last words on standard error", &error),
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
