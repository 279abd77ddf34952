//! A report in words, and as the annotations of a code-hosting service.

use std::fmt::Write as _;

use super::edition::{Number, Standing};
use super::report::{Quotation, Report, Status, asides};
use super::{Cause, Contradiction};

/// How many names are listed where a number can be several things.
const MOST_NAMES: usize = 3;

/// How loudly an annotation speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
}

impl Report {
    /// One line, or for what is wrong two, about a number: its place, what it is, and the text
    /// around it.
    #[must_use]
    pub fn line(&self, number: &Number) -> String {
        let place = format!("{}:{}", self.file(number), number.place);
        match self.status(number) {
            Status::Contradiction | Status::Uncovered => {
                format!(
                    "{place}: {}\n    … {} …",
                    self.message(number),
                    number.around
                )
            }
            _ => format!("{place}: {}", self.message(number)),
        }
    }

    /// What a number is, in words.
    #[must_use]
    pub fn message(&self, number: &Number) -> String {
        let text = &number.text;
        match &number.standing {
            Standing::Contradicts(contradiction) => {
                format!("{text} contradicts {}", expected(contradiction))
            }
            Standing::Uncovered => {
                format!(
                    "{text} is covered by nothing: correct it, or declare it as a claim or a constant"
                )
            }
            Standing::Covered(_) | Standing::Declared(_) => {
                let kind = match self.status(number) {
                    Status::Claim => "claim",
                    Status::Row => "row",
                    _ => "constant",
                };
                format!("{text} {kind} {}", names(&self.covering(number)))
            }
        }
    }

    /// What `--format github` prints for a number, if anything is wrong with it.
    #[must_use]
    pub fn annotation(&self, number: &Number, lenient: bool) -> Option<String> {
        let (level, title) = match self.status(number) {
            Status::Contradiction => (Level::Error, "contradicted number"),
            Status::Uncovered if lenient => (Level::Warning, "uncovered number"),
            Status::Uncovered => (Level::Error, "uncovered number"),
            Status::Claim | Status::Row | Status::Constant => return None,
        };
        let level = match level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let file = property(self.file(number));
        let (line, column) = (number.place.line, number.place.column);
        let message = data(&format!("{} … {} …", self.message(number), number.around));
        Some(format!(
            "::{level} file={file},line={line},col={column},title={title}::{message}"
        ))
    }

    /// The closing lines: how many numbers are what, and which claims are not quoted.
    #[must_use]
    pub fn summary(&self) -> String {
        let tally = self.tally();
        let mut summary = format!(
            "{} numbers: {} match a claim, {} a row, {} a declared constant; {} contradict, {} covered by nothing",
            tally.numbers,
            tally.claims,
            tally.rows,
            tally.constants,
            tally.contradictions,
            tally.uncovered
        );
        let passed_over = asides(&self.edition.asides);
        if !passed_over.is_empty() {
            summary.push_str("\nnot read as numbers: ");
            summary.push_str(&passed_over.join(", "));
        }
        let quoted = self
            .claims
            .iter()
            .filter(|claim| claim.status == Quotation::Quoted)
            .count();
        let _ = write!(summary, "\n{} claims: {quoted} quoted", self.claims.len());
        for (status, word) in [
            (Quotation::Partly, "partly"),
            (Quotation::Missing, "missing"),
        ] {
            let ids: Vec<&str> = self
                .claims
                .iter()
                .filter(|claim| claim.status == status)
                .map(|claim| claim.id.as_str())
                .collect();
            if !ids.is_empty() {
                let _ = write!(summary, "; {} {word}: {}", ids.len(), ids.join(", "));
            }
        }
        summary
    }

    fn file(&self, number: &Number) -> &str {
        self.edition
            .files
            .get(number.file)
            .map_or("", String::as_str)
    }
}

fn names(ids: &[&str]) -> String {
    let mut shown = ids
        .iter()
        .take(MOST_NAMES)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if ids.len() > MOST_NAMES {
        let _ = write!(shown, " and {} more", ids.len() - MOST_NAMES);
    }
    shown
}

fn expected(contradiction: &Contradiction) -> String {
    let values = contradiction.expected.join(" or ");
    let ids: Vec<&str> = contradiction.ids.iter().map(String::as_str).collect();
    let named = if ids.is_empty() {
        String::new()
    } else {
        format!(" ({})", names(&ids))
    };
    match contradiction.cause {
        Cause::NearMiss(slip) => format!("{values}{named}: {slip}"),
        Cause::Neighbours => format!("{values}{named}: the numbers beside it are of that run"),
        Cause::Reference => format!("the reference, which has {values}{named}"),
    }
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
