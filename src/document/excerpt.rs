//! The line of a text in which a problem is, with a mark under what is wrong.

use std::fmt;
use std::ops::Range;

/// How many characters of a line are shown before the marked ones, at most.
const MOST_BEFORE: usize = 60;
/// How many characters are marked, at most.
const MOST_MARKED: usize = 40;
/// How many characters of a line are shown after the marked ones, at most.
const MOST_AFTER: usize = 40;
/// What stands where a part of a line is left out.
const CUT: char = '…';

/// One line of a text, cut to what fits on a screen, and the part of it that is marked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The number of the line, from 1.
    line: usize,
    before: String,
    marked: String,
    after: String,
}

impl Excerpt {
    /// The line `number` of `text`, which begins at the byte `start`; `span` begins on it, and is
    /// marked as far as the line goes.
    pub(super) fn new(text: &str, (number, start): (usize, usize), span: &Range<usize>) -> Self {
        let rest = |from: usize| text.get(from..).unwrap_or_default();
        let line_end = |from: usize| rest(from).find('\n').map_or(text.len(), |at| from + at);
        let end = line_end(span.start);
        let part = |range: Range<usize>| text.get(range).unwrap_or_default();
        let middle = span.end.min(end);
        Self {
            line: number,
            before: last(part(start..span.start), MOST_BEFORE),
            marked: first(part(span.start..middle), MOST_MARKED),
            after: match part(span.start..middle).chars().nth(MOST_MARKED) {
                // What follows would be misread as the end of the marked part.
                Some(_) => String::new(),
                None => first(part(middle..end).trim_end(), MOST_AFTER),
            },
        }
    }
}

/// The last characters of a text, with a sign where the others were.
fn last(text: &str, most: usize) -> String {
    match text.char_indices().rev().nth(most.saturating_sub(1)) {
        Some((at, _)) if at > 0 => {
            format!("{CUT}{}", shown(text.get(at..).unwrap_or_default()))
        }
        _ => shown(text),
    }
}

/// The first characters of a text, with a sign where the others were.
fn first(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}{CUT}", shown(text.get(..at).unwrap_or_default())),
        None => shown(text),
    }
}

/// A tab is as wide as a space, so that the mark stands under what it marks; other control
/// characters do nothing to a terminal.
fn shown(text: &str) -> String {
    let plain = |letter: char| match letter {
        '\t' => ' ',
        other if other.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    text.chars().map(plain).collect()
}

/// `  6 | max_turns = -1` and below it `    |             ^^`.
impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            before,
            marked,
            after,
        } = self;
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let gap = " ".repeat(before.chars().count());
        let marks = "^".repeat(marked.chars().count().max(1));
        let shown = format!("  {number} | {before}{marked}{after}");
        writeln!(f, "{}", shown.trim_end())?;
        write!(f, "  {margin} | {gap}{marks}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, span: Range<usize>) -> String {
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let number = text[..span.start].matches('\n').count() + 1;
        Excerpt::new(text, (number, start), &span).to_string()
    }

    #[test]
    fn the_mark_stands_under_what_is_wrong() {
        assert_eq!(
            excerpt("a = 1\n\tbé = -1 # x\nc = 2", 13..15),
            "  2 |  bé = -1 # x\n    |       ^^"
        );
        assert_eq!(excerpt("a = 1", 5..5), "  1 | a = 1\n    |      ^");
        assert_eq!(excerpt("", 0..0), "  1 |\n    | ^");
    }

    #[test]
    fn what_spans_lines_is_marked_on_its_first() {
        assert_eq!(excerpt("a = [\n1]", 4..8), "  1 | a = [\n    |     ^");
    }

    #[test]
    fn a_long_line_is_cut_around_what_is_wrong() {
        let text = format!("{}=X{}", "b".repeat(500), "a".repeat(500));
        let cut = excerpt(&text, 501..502);
        let expected = format!(
            "  1 | …{}=X{}…\n    | {}^",
            "b".repeat(59),
            "a".repeat(40),
            " ".repeat(61)
        );
        assert_eq!(cut, expected);
        let long = excerpt(&text, 0..500);
        assert_eq!(
            long.lines().next().map(|line| line.chars().count()),
            Some(47)
        );
    }

    #[test]
    fn control_characters_do_nothing_to_a_terminal() {
        assert_eq!(excerpt("a\u{1b}[2J", 0..1), "  1 | a\u{fffd}[2J\n    | ^");
    }
}
