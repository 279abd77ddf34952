//! What was found, what is thought of it, and what on the wire shows it.

use std::fmt;

use serde::Serialize;

use super::attempts::{Attempts, RetryWait};
use super::burden::{FirstRequest, Overhead};
use super::calls::{Parallel, Repeats};
use super::ending::Ending;
use super::stops::{Hundred, Stops};
use super::told::ToldWhy;

/// What is thought of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As an agent should be.
    Good,
    /// Not as an agent should be.
    Bad,
    /// Worth knowing, and neither good nor bad in itself.
    Fact,
    /// It could not be told.
    Unclear,
    /// It does not apply to this agent.
    NotApplicable,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Fact => "fact",
            Self::Unclear => "unclear",
            Self::NotApplicable => "n/a",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What was found, as a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "kebab-case")]
pub enum Seen {
    /// How the agent ends.
    Ends {
        /// How.
        ending: Ending,
    },
    /// What its first request weighs.
    FirstRequest(FirstRequest),
    /// Whether it stops a runaway.
    Stops(Stops),
    /// What a runaway of a hundred turns costs.
    HundredTurns(Hundred),
    /// Whether a repeated call is made again.
    Repeats(Repeats),
    /// How parallel calls are answered.
    Parallel(Parallel),
    /// What the model is told of a call that cannot succeed.
    ToldWhy(ToldWhy),
    /// How often a failing request is tried.
    Attempts(Attempts),
    /// Whether it waits as long as it is asked to.
    RetryAfter(RetryWait),
    /// How long it takes between a reply and the next request.
    Overhead(Overhead),
    /// It declares no tools, so there is nothing to see.
    NoTools,
}

/// In a sentence without its full stop, `it` being the agent.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ends { ending } => write!(f, "it {ending}"),
            Self::FirstRequest(first) => first.fmt(f),
            Self::Stops(stops) => stops.fmt(f),
            Self::HundredTurns(hundred) => hundred.fmt(f),
            Self::Repeats(repeats) => repeats.fmt(f),
            Self::Parallel(parallel) => parallel.fmt(f),
            Self::ToldWhy(told) => told.fmt(f),
            Self::Attempts(attempts) => attempts.fmt(f),
            Self::RetryAfter(wait) => wait.fmt(f),
            Self::Overhead(overhead) => overhead.fmt(f),
            Self::NoTools => f.write_str("it declares no tools, so the model has none to call"),
        }
    }
}

/// What shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The exchange of the check on the wire, counted from 1; none where it is not on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<u64>,
    /// What is to be seen there; quoted texts are cut, and escaped for a terminal.
    pub what: String,
}

impl Evidence {
    pub(super) fn at(exchange: u64, what: impl Into<String>) -> Self {
        Self {
            exchange: Some(exchange),
            what: what.into(),
        }
    }

    pub(super) fn beside(what: impl Into<String>) -> Self {
        Self {
            exchange: None,
            what: what.into(),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exchange {
            Some(number) => write!(f, "#{number} {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// What was found, what is thought of it, and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What was found.
    #[serde(flatten)]
    pub seen: Seen,
    /// What is thought of it.
    pub verdict: Verdict,
    /// What shows it.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    pub(super) const fn new(seen: Seen, verdict: Verdict, evidence: Vec<Evidence>) -> Self {
        Self {
            seen,
            verdict,
            evidence,
        }
    }
}

/// The most characters that are quoted of a text.
const MOST_QUOTED: usize = 160;

/// A text between quotation marks: cut, on one line, and harmless to a terminal.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars().take(MOST_QUOTED) {
        match letter {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if commands(letter) => quoted.extend(letter.escape_unicode()),
            _ => quoted.push(letter),
        }
    }
    let is_cut = text.chars().nth(MOST_QUOTED).is_some();
    quoted.push_str(if is_cut { "…\"" } else { "\"" });
    quoted
}

/// Whether a letter is one that moves a cursor, colours, or turns the direction of writing.
fn commands(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_short_and_cannot_command_a_terminal() {
        assert_eq!(
            quote("a\n\u{1b}[31m\u{202e}é"),
            "\"a\\n\\u{1b}[31m\\u{202e}é\""
        );
        let long = quote(&"é".repeat(500));
        assert_eq!(long.chars().count(), MOST_QUOTED + 3);
        assert!(long.ends_with("…\""));
    }
}
