//! What a gate says of experiments: the one model that every format of a report is made from.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attribution::{Attribution, Why};
use super::{Bill, Check, Finding, Outcome};
use crate::experiment::{Experiment, Place, Topic};
use crate::results::compare::Difference;

/// How many cells of one experiment are listed with what they cost.
const MOST_CELLS: usize = 20;

/// What was found, of all experiments.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Gate {
    /// The experiments that were checked, in order.
    pub experiments: Vec<Examined>,
    /// Folders of results that no experiment makes.
    pub strays: Vec<String>,
    /// Experiments without results, which are only made when asked for.
    pub skipped: Vec<String>,
}

/// What was found of one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Examined {
    /// The experiment.
    pub name: String,
    /// Its file, as it was named.
    pub file: String,
    /// Whether it was run again, or its files were only held against their digests.
    pub run_again: bool,
    /// What changed, why, and what it costs, in sentences.
    pub summary: Vec<String>,
    /// The cells that say something else, the first of them.
    pub changes: Vec<Change>,
    /// How many cells say something else.
    pub changed_cells: usize,
    /// The inputs that differ, whether that changed a row or not.
    pub inputs: Vec<Input>,
    /// What is not as it should be.
    pub findings: Vec<Found>,
    /// What is worth saying, and is no failure.
    pub notes: Vec<Note>,
    /// What became of every published number.
    pub claims: Vec<Claimed>,
}

/// One cell that says something else.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The cell; empty of an only one.
    pub at: String,
    /// What it used.
    pub was: Used,
    /// What it uses.
    pub is: Used,
    /// What it uses more or less, in words.
    pub usage: String,
    /// What that costs, in words.
    pub price: String,
    /// By how much that is more of what it cost, in words.
    pub percent: Option<String>,
    /// The inputs that can be the reason, in words.
    pub since: Vec<String>,
}

/// What one run used.
#[derive(Clone, Debug, Serialize)]
pub struct Used {
    /// How it ended.
    pub status: String,
    /// How many turns it took.
    pub turns: Option<i64>,
    /// Tokens sent.
    pub prompt_tokens: Option<i64>,
    /// Tokens written.
    pub completion_tokens: Option<i64>,
    /// Dollars, with all digits.
    pub cost_usd: Option<String>,
}

/// An input that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Input {
    /// Its name in the file of inputs.
    pub name: String,
    /// What changed, in words.
    pub words: String,
    /// Where the experiment's file speaks of it.
    #[serde(flatten)]
    pub place: At,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Which sort of thing.
    pub kind: Kind,
    /// What it is, in words.
    pub message: String,
    /// What of the experiment's file it is about.
    #[serde(flatten)]
    pub place: At,
}

/// The sorts of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A file is not there, or cannot be read.
    File,
    /// A row is another one.
    Row,
    /// A table or a summary is another one.
    Table,
    /// A file is not what its digest says.
    Digest,
    /// A published number does not come out.
    Claim,
    /// A time is longer than it was.
    Slower,
}

/// Something worth saying that is no failure.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// Which sort of thing.
    pub kind: NoteKind,
    /// What it is, in words.
    pub message: String,
}

/// The sorts of notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The measurements do not say whether a time changed.
    Inconclusive,
    /// A time is shorter than it was.
    Faster,
    /// A time is as it was.
    AsBefore,
    /// Inputs changed, and no row did.
    WithoutEffect,
    /// Times were measured with other inputs.
    Outdated,
}

/// What became of a published number.
#[derive(Clone, Debug, Serialize)]
pub struct Claimed {
    /// Its name.
    pub id: String,
    /// Whether it holds, or is quoted.
    pub holds: bool,
    /// What was published and measured, in words.
    pub message: String,
    /// Where it stands.
    #[serde(flatten)]
    pub place: At,
}

/// A place in an experiment's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct At {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl From<Place> for At {
    fn from(Place { line, column, .. }: Place) -> Self {
        Self { line, column }
    }
}

impl Gate {
    /// How many things are not as they should be.
    #[must_use]
    pub fn failures(&self) -> usize {
        let found = self.experiments.iter().map(|one| one.findings.len());
        found.sum::<usize>() + self.strays.len()
    }

    /// Whether everything is as it should be.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failures() == 0
    }

    /// How many claims were evaluated.
    #[must_use]
    pub fn claims(&self) -> usize {
        self.experiments.iter().map(|one| one.claims.len()).sum()
    }

    /// Notes of one kind that several experiments have, told once: the words, and of which
    /// experiments.
    #[must_use]
    pub fn notes(&self, kind: NoteKind) -> BTreeMap<&str, Vec<&str>> {
        let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for one in &self.experiments {
            for note in one.notes.iter().filter(|note| note.kind == kind) {
                notes.entry(&note.message).or_default().push(&one.name);
            }
        }
        notes
    }
}

impl Examined {
    /// What was found of `experiment`.
    #[must_use]
    pub fn of(experiment: &Experiment, check: &Check) -> Self {
        let at = |topic: &Topic| At::from(experiment.place(topic));
        let attribution = &check.attribution;
        let inputs = attribution.inputs.iter().flatten().map(|input| Input {
            name: input.name.clone(),
            words: input.to_string(),
            place: at(&input.topic()),
        });
        let findings = check.findings.iter().map(|finding| Found {
            kind: kind_of(finding),
            message: finding.to_string(),
            place: at(&topic_of(experiment, finding)),
        });
        let claims = check.claims.iter().map(|claim| Claimed {
            id: claim.id.clone(),
            holds: claim.holds(),
            message: claim.to_string(),
            place: at(&experiment.claim_topic(&claim.id)),
        });
        let mut examined = Self {
            name: experiment.name().to_owned(),
            file: experiment.origin().to_owned(),
            run_again: check.is_fresh,
            summary: Vec::new(),
            changes: changes(attribution),
            changed_cells: attribution.changes.total,
            inputs: inputs.collect(),
            findings: findings.collect(),
            notes: notes(check),
            claims: claims.collect(),
        };
        examined.summary = examined.sentences(check);
        examined.summary.extend(slowest(experiment.name(), check));
        examined
    }

    /// Whether everything is as it should be.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    /// What changed, why and what it costs. Where no row did, but their order or what is read from
    /// them, why that is.
    fn sentences(&self, check: &Check) -> Vec<String> {
        let attribution = &check.attribution;
        let sentences = attribution.summary(&self.name);
        if !sentences.is_empty() || !attribution.changes.is_empty() {
            return sentences;
        }
        let of_table = |found: &Found| found.kind == Kind::Table;
        let (what, causes) = if check.findings.iter().any(is_reordering) {
            (
                "its rows are in another order",
                attribution.causes_of_cells(),
            )
        } else if self.findings.iter().any(of_table) {
            ("its table is another one", attribution.causes_of_readout())
        } else {
            return sentences;
        };
        vec![format!(
            "`{}`: {what}{}",
            self.name,
            attribution.why(&causes)
        )]
    }
}

/// A sentence about the time that grew most, if any did.
fn slowest(name: &str, check: &Check) -> Option<String> {
    let slower = check.timings.iter();
    let slower: Vec<_> = slower
        .filter_map(|timing| match timing.outcome {
            Outcome::Slower(shift) => Some((shift.ratio, timing)),
            _ => None,
        })
        .collect();
    let (ratio, most) = slower.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let at = match most.row.as_str() {
        "" => String::new(),
        row => format!(" at {row}"),
    };
    let more = match slower.len() {
        1 => String::new(),
        2 => " (and 1 more time)".to_owned(),
        all => format!(" (and {} more times)", all - 1),
    };
    let column = &most.column;
    let causes = check.attribution.causes_at(&most.row);
    let why = match check.attribution.why(&causes) {
        Why::Program => " with the same inputs".to_owned(),
        why => why.to_string(),
    };
    Some(format!(
        "`{name}`{at}{more}: `{column}` is {ratio:.2} times what it was{why}"
    ))
}

fn kind_of(finding: &Finding) -> Kind {
    match finding {
        Finding::Missing { .. } | Finding::Unreadable { .. } => Kind::File,
        Finding::Row { file, .. } | Finding::More { file, .. } if is_of_cells(file) => Kind::Row,
        Finding::Row { .. }
        | Finding::More { .. }
        | Finding::Line { .. }
        | Finding::Drawing { .. } => Kind::Table,
        Finding::Digest(_) => Kind::Digest,
        Finding::Claim(_) => Kind::Claim,
        Finding::Slower(_) => Kind::Slower,
    }
}

fn is_reordering(finding: &Finding) -> bool {
    let Finding::Row { file, difference } = finding else {
        return false;
    };
    is_of_cells(file) && *difference == Difference::RowOrder
}

fn is_of_cells(file: &str) -> bool {
    file == super::CELLS || file == super::TURNS
}

/// What of the experiment's file a finding is about.
fn topic_of(experiment: &Experiment, finding: &Finding) -> Topic {
    match finding {
        Finding::Row { file, difference } if is_of_cells(file) => match difference {
            Difference::Cell { row, .. } | Difference::RowGone(row) | Difference::RowNew(row) => {
                experiment.row_topic(&row.key)
            }
            _ => Topic::whole(),
        },
        Finding::More { file, .. } if is_of_cells(file) => experiment.row_topic(""),
        Finding::Row { .. } | Finding::More { .. } | Finding::Line { .. } => Topic::part("table"),
        Finding::Drawing { .. } => Topic::part("plot"),
        Finding::Claim(claim) => experiment.claim_topic(&claim.id),
        Finding::Slower(timing) => experiment.row_topic(&timing.row),
        Finding::Missing { .. } | Finding::Digest(_) | Finding::Unreadable { .. } => Topic::whole(),
    }
}

fn changes(attribution: &Attribution) -> Vec<Change> {
    let cells = attribution.changes.cells.iter().take(MOST_CELLS);
    let change = cells.map(|change| Change {
        at: change.at.clone(),
        was: used(&change.was),
        is: used(&change.is),
        usage: change.usage(),
        price: change.price(),
        percent: change.percent(),
        since: attribution
            .causes_of(change)
            .iter()
            .map(ToString::to_string)
            .collect(),
    });
    change.collect()
}

fn used(bill: &Bill) -> Used {
    Used {
        status: bill.status.clone(),
        turns: bill.turns,
        prompt_tokens: bill.prompt_tokens,
        completion_tokens: bill.completion_tokens,
        cost_usd: bill.cost.map(|cost| cost.to_string()),
    }
}

/// What is worth saying: times that did not fail the check, and inputs that changed no row.
fn notes(check: &Check) -> Vec<Note> {
    let timings = check.timings.iter().filter_map(|timing| {
        let kind = match timing.outcome {
            Outcome::Slower(_) => return None,
            Outcome::Faster(_) => NoteKind::Faster,
            Outcome::Same(_) => NoteKind::AsBefore,
            Outcome::Inconclusive(_) => NoteKind::Inconclusive,
        };
        let message = timing.to_string();
        Some(Note { kind, message })
    });
    let mut notes: Vec<Note> = timings.collect();
    let kind = if check.is_fresh {
        NoteKind::WithoutEffect
    } else {
        NoteKind::Outdated
    };
    if check.attribution.changes.is_empty() && check.findings.is_empty() {
        let inputs = check.attribution.inputs.iter().flatten();
        notes.extend(inputs.map(|input| Note {
            kind,
            message: input.to_string(),
        }));
    }
    notes
}
