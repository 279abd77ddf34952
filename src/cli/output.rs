//! Results go to standard output, diagnostics to standard error; nothing else prints.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use super::exit::Failure;

/// Writes a line of results. What is shown may be anybody's text, so it cannot command a terminal.
///
/// # Errors
/// [`Failure::CouldNotDo`] where standard output takes no more; a closed pipe, as `| head`
/// leaves it, is no failure.
pub(super) fn line(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", harmless(&text)).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::CouldNotDo(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Writes a diagnostic line. Where even that cannot be written there is nobody left to tell.
pub(super) fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(&text));
}

/// The text without control characters other than line breaks and tabs.
fn harmless(text: &dyn Display) -> String {
    let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let text = text.to_string();
    text.replace(is_control, "\u{fffd}")
}

/// Whether somebody watches standard error, so that progress is worth drawing.
#[must_use]
pub(super) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// A number and what it counts: `1 cell`, `2 cells`.
#[must_use]
pub(super) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A Markdown table, its first row the headings, with columns as wide as they must be.
pub(super) fn markdown_table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: &[String; N]| {
        let cells = cells.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!(" {cell:<width$} "));
        format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
    };
    let rule = widths.map(|width| "-".repeat(width));
    let mut lines = rows.iter().map(line);
    let headings = lines.next().unwrap_or_default();
    let body: String = lines.collect();
    format!("{headings}{}{body}", line(&rule))
}
