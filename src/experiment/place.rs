//! Where in an experiment's file something stands that was found wrong with its results.

use super::Experiment;
use crate::document::child;
use crate::experiment::sweep::Shape;

/// The most cells among which one is looked for by its labels.
const MOST_SEARCHED: u64 = 10_000;

/// What of an experiment's file is meant, as a JSON pointer; where nothing stands at it, the
/// nearest table around it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic(pub(super) String);

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Topic {
    /// The experiment as a whole.
    #[must_use]
    pub fn whole() -> Self {
        Self("/title".to_owned())
    }

    /// A part of the file: `table`, `summary`.
    #[must_use]
    pub fn part(name: &str) -> Self {
        Self(child("", name))
    }
}

impl Experiment {
    /// Where a topic stands.
    #[must_use]
    pub fn place(&self, topic: &Topic) -> Place {
        let at = self.document.problem_with_key(&topic.0, "", None);
        Place {
            file: at.origin,
            line: at.line,
            column: at.column,
        }
    }

    /// The claim of this name.
    #[must_use]
    pub fn claim_topic(&self, id: &str) -> Topic {
        let mut claims = self.readout.claims.iter();
        let index = claims.position(|claim| claim.id == id);
        index.map_or_else(Topic::whole, |index| Topic(format!("/claim/{index}/id")))
    }

    /// What makes the cell of a row: the value of the last axis, or the case. A row is called by
    /// its labels, `max_turns=8 dedupe=all`, and perhaps by more after them.
    #[must_use]
    pub fn row_topic(&self, row: &str) -> Topic {
        let searched = self.sweep.len().min(MOST_SEARCHED);
        let found = (0..searched).find(|&index| {
            let rest = self.row_key(index).and_then(|key| row.strip_prefix(&key));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let pointer = found.and_then(|index| {
            let positions = self.sweep.positions(index)?;
            let at = positions.last()?;
            Some(match self.sweep.shape() {
                Shape::Single => return None,
                Shape::Cases(_) => format!("/case/{at}/name"),
                Shape::Product(axes) | Shape::Zip(axes) => {
                    format!("/axis/{}/values/{at}", axes.len().checked_sub(1)?)
                }
            })
        });
        let without = || match self.sweep.shape() {
            Shape::Single => Topic::whole(),
            Shape::Cases(_) => Topic::part("case"),
            Shape::Product(_) | Shape::Zip(_) => Topic::part("axis"),
        };
        pointer.map_or_else(without, Topic)
    }

    /// `label=value` for each label of a cell.
    fn row_key(&self, index: u64) -> Option<String> {
        let labels = self.sweep.labels();
        let values = self.sweep.labels_at(index)?;
        let pairs = labels.iter().zip(&values);
        let pairs: Vec<String> = pairs
            .map(|((label, _), value)| format!("{label}={value}"))
            .collect();
        Some(pairs.join(" "))
    }
}
