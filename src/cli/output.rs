//! Results go to standard output, diagnostics to standard error; nothing else prints.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use super::exit::Failure;
use crate::letters::{acts, inert_json, spelled};

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

/// A foreign text as a part of a line: no letter of it begins one, or acts otherwise.
pub(super) fn one_line(text: &str) -> String {
    spelled(text, acts)
}

/// The text without what acts on a terminal: control characters other than line breaks and tabs,
/// and what turns the direction of the text around. What is printed is English, and needs none.
fn harmless(text: &dyn Display) -> String {
    let acts = |letter: char| acts(letter) && !matches!(letter, '\n' | '\t');
    let text = text.to_string();
    text.replace(acts, "\u{fffd}")
}

/// JSON in which what acts on a terminal is escaped, so that it says the same and does nothing.
#[must_use]
pub(super) fn json(text: &str) -> String {
    inert_json(text.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_replaced() {
        let hostile = "a\u{1b}[2J\u{9b}1m\u{202e}b\u{2067}\u{2029}\r\u{7}";
        let shown = harmless(&hostile);
        assert_eq!(
            shown,
            "a\u{fffd}[2J\u{fffd}1m\u{fffd}b\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
        );
        let turning = "a\n\t\u{2066}5\u{200e}%\u{2069}\u{61c}\u{200f}";
        assert_eq!(
            harmless(&turning),
            "a\n\t\u{fffd}5\u{fffd}%\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
