//! What is wrong with a text, and where.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::excerpt::Excerpt;

/// Bytes between two counted places of a text: with them, the column of each of many problems on
/// one very long line is found in constant time.
const BLOCK: usize = 1024;

/// A text, what it is called, and where its lines begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    origin: String,
    text: String,
    line_starts: Vec<usize>,
    /// How many characters begin before each block.
    chars_before: Vec<usize>,
}

impl Source {
    pub(super) fn new(origin: &str, text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            origin: origin.to_owned(),
            text: text.to_owned(),
            line_starts: std::iter::once(0).chain(after_breaks).collect(),
            chars_before: text
                .as_bytes()
                .chunks(BLOCK)
                .scan(0, |before, block| {
                    let here = *before;
                    *before += chars_begun(block);
                    Some(here)
                })
                .collect(),
        }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The line and the column, counted from 1, the column in characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_start(line);
        (line, self.chars_to(offset) - self.chars_to(start) + 1)
    }

    /// Where a line, counted from 1, begins.
    fn line_start(&self, line: usize) -> usize {
        let start = self.line_starts.get(line.saturating_sub(1));
        start.copied().unwrap_or(0)
    }

    /// How many characters begin before `offset`.
    fn chars_to(&self, offset: usize) -> usize {
        let block = (offset / BLOCK).min(self.chars_before.len().saturating_sub(1));
        let rest = self.text.as_bytes().get(block * BLOCK..offset);
        self.chars_before.get(block).copied().unwrap_or(0) + chars_begun(rest.unwrap_or_default())
    }

    /// The range, moved onto character boundaries inside the text.
    fn clamp(&self, span: Range<usize>) -> Range<usize> {
        let boundary = |offset: usize| {
            (0..=offset.min(self.text.len()))
                .rev()
                .find(|at| self.text.is_char_boundary(*at))
                .unwrap_or(0)
        };
        let start = boundary(span.start);
        start..boundary(span.end).max(start)
    }
}

/// How many of these UTF-8 bytes begin a character.
fn chars_begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// One thing that is wrong in a text, where it is, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as it was named, or another name of the text.
    pub origin: String,
    /// The bytes of the text that are wrong; empty where something is missing.
    pub span: Range<usize>,
    /// The line of the span's start, from 1.
    pub line: usize,
    /// The column of the span's start in characters, from 1.
    pub column: usize,
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    source: Arc<Source>,
}

impl Problem {
    pub(super) fn new(
        source: &Arc<Source>,
        span: Range<usize>,
        message: &str,
        help: Option<String>,
    ) -> Self {
        let span = source.clamp(span);
        let (line, column) = source.position(span.start);
        Self {
            origin: source.origin.clone(),
            span,
            line,
            column,
            message: message.to_owned(),
            help,
            source: Arc::clone(source),
        }
    }

    /// The whole text in which the problem is, for printing the lines around the span.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source.text
    }

    fn excerpt(&self) -> Excerpt {
        let start = self.source.line_start(self.line);
        Excerpt::new(&self.source.text, (self.line, start), &self.span)
    }
}

/// `file:line:column: message`, and the help on a second line. The alternate form, `{:#}`, shows
/// the line of the text between the two, with a mark under what is wrong.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            origin,
            line,
            column,
            message,
            ..
        } = self;
        write!(f, "{origin}:{line}:{column}: {message}")?;
        if f.alternate() {
            write!(f, "\n{}", self.excerpt())?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

/// How many problems are kept; a file that is no TOML at all can have one per line.
const MOST_KEPT: usize = 100;

/// One problem or more, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    kept: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    /// A single problem.
    #[must_use]
    pub fn one(problem: Problem) -> Self {
        Self {
            kept: vec![problem],
            left_out: 0,
        }
    }

    /// Sorts problems by place and drops repeated ones.
    ///
    /// # Errors
    ///
    /// There are any.
    pub fn check(mut problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by(|a, b| {
            let key = |p: &Problem| (p.span.start, p.span.end);
            (&a.origin, key(a)).cmp(&(&b.origin, key(b)))
        });
        problems.dedup();
        let left_out = problems.len().saturating_sub(MOST_KEPT);
        problems.truncate(MOST_KEPT);
        Err(Self {
            kept: problems,
            left_out,
        })
    }

    /// The problems in order; of more than a hundred, the first hundred.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.kept.iter()
    }

    /// How many problems there are beyond those listed.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// The problems as a list.
    #[must_use]
    pub fn into_vec(self) -> Vec<Problem> {
        self.kept
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One problem after the other, each on lines of its own; in the alternate form with the lines of
/// the text.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.kept.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fmt::Display::fmt(problem, f)?;
        }
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}
