//! What changed and why: the rows that differ, and the inputs that do.

use std::fmt;
use std::path::Path;

use super::bill::{CellChange, Changes};
use super::{CELLS, INPUTS, LabError, committed_bytes};
use crate::experiment::{Experiment, InputChange, Inputs, Reach};
use crate::results::{RowSet, Schema};

/// How many causes one sentence names.
const MOST_NAMED: usize = 3;

/// What is different, and the inputs that are.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    /// The cells that say something else.
    pub changes: Changes,
    /// The inputs that differ; none where what they were is not known.
    pub inputs: Option<Vec<InputChange>>,
}

/// Why a cell says something else.
#[derive(Clone, Copy, Debug)]
pub enum Why<'a> {
    /// These inputs are others; at least one.
    Inputs(&'a [&'a InputChange]),
    /// All inputs are the same.
    Program,
    /// Nobody knows what the inputs were.
    Unknown,
}

impl Attribution {
    /// Compares the rows and the inputs in `folder` with those of now. What cannot be read there
    /// is told by others, and is no change here.
    ///
    /// # Errors
    /// [`LabError`] where a file that is there cannot be read.
    pub(super) fn of(
        folder: &Path,
        experiment: &Experiment,
        (fresh, key, labels): (&RowSet, &[&str], &[&str]),
    ) -> Result<Self, LabError> {
        let bytes = committed_bytes(folder, CELLS)?.unwrap_or_default();
        let committed = RowSet::from_reader(CELLS, bytes.as_slice(), Schema::AllText).ok();
        let changes = committed
            .map(|rows| Changes::between(&rows, fresh, key, labels))
            .unwrap_or_default();
        Ok(Self {
            changes,
            inputs: changed_inputs(folder, experiment)?,
        })
    }

    /// The inputs that can be the reason why a cell says something else.
    #[must_use]
    pub fn causes_of(&self, change: &CellChange) -> Vec<&InputChange> {
        self.causes_at(&change.row)
    }

    /// The inputs that can be the reason why a row says something else, given its labels.
    #[must_use]
    pub(super) fn causes_at(&self, row: &str) -> Vec<&InputChange> {
        let case = row.strip_prefix("case=").unwrap_or_default();
        let inputs = self.inputs.iter().flatten();
        inputs.filter(|input| input.concerns(case)).collect()
    }

    /// The inputs that decide which cells there are.
    #[must_use]
    pub fn causes_of_cells(&self) -> Vec<&InputChange> {
        self.reaching(&[Reach::Cells, Reach::Case])
    }

    /// The inputs that decide what is read from the rows.
    #[must_use]
    pub fn causes_of_readout(&self) -> Vec<&InputChange> {
        self.reaching(&[Reach::Readout])
    }

    fn reaching(&self, reach: &[Reach]) -> Vec<&InputChange> {
        let inputs = self.inputs.iter().flatten();
        inputs
            .filter(|input| reach.contains(&input.reach()))
            .collect()
    }

    /// What is known of the reason, once the inputs that can be it were found.
    #[must_use]
    pub fn why<'a>(&self, causes: &'a [&'a InputChange]) -> Why<'a> {
        match (&self.inputs, causes) {
            (None, _) => Why::Unknown,
            (Some(_), []) => Why::Program,
            (Some(_), causes) => Why::Inputs(causes),
        }
    }

    /// Sentences about an experiment called `name`: the costliest of its cells, and rows that came
    /// or went.
    #[must_use]
    pub fn summary(&self, name: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(change) = self.changes.costliest() {
            let causes = self.causes_of(change);
            let at = match change.at.as_str() {
                "" => String::new(),
                at => format!(" at {at}"),
            };
            let more = match self.changes.total {
                0 | 1 => String::new(),
                2 => " (and 1 more cell)".to_owned(),
                all => format!(" (and {} more cells)", all - 1),
            };
            let (usage, price) = (change.usage(), change.price());
            let why = self.why(&causes);
            let semicolon = if price.is_empty() { "" } else { "; " };
            sentences.push(format!(
                "`{name}`{at}{more}: {usage}{why}{semicolon}{price}"
            ));
        }
        let (new, gone) = (self.changes.new, self.changes.gone);
        if new + gone > 0 {
            let causes = self.causes_of_cells();
            let why = self.why(&causes);
            let rows = [(new, "new"), (gone, "gone")].into_iter();
            let rows = rows.filter_map(|(number, how)| match number {
                0 => None,
                1 => Some(format!("1 row is {how}")),
                more => Some(format!("{more} rows are {how}")),
            });
            let rows = rows.collect::<Vec<_>>().join(", ");
            sentences.push(format!("`{name}`: {rows}{why}"));
        }
        sentences
    }
}

/// The inputs that differ from the committed ones; none where those are not known.
pub(super) fn changed_inputs(
    folder: &Path,
    experiment: &Experiment,
) -> Result<Option<Vec<InputChange>>, LabError> {
    let bytes = committed_bytes(folder, INPUTS)?;
    let committed = bytes.and_then(|bytes| Inputs::parse(&bytes).ok());
    Ok(committed.map(|inputs| inputs.changes_to(&experiment.inputs())))
}

/// The end of a sentence: " since the scenario changed".
impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = match self {
            Self::Inputs(causes) => causes,
            Self::Program => {
                return f.write_str(
                    " with the same inputs, so the program changed, or the committed file did",
                );
            }
            Self::Unknown => {
                return write!(
                    f,
                    " for no known reason, as there is no {INPUTS} to compare"
                );
            }
        };
        let named: Vec<String> = causes
            .iter()
            .take(MOST_NAMED)
            .map(ToString::to_string)
            .collect();
        write!(f, " since {}", named.join(" and "))?;
        match causes.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            1 => f.write_str(" and 1 more input differs"),
            more => write!(f, " and {more} more inputs differ"),
        }
    }
}
