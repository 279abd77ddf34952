//! Comparing times that were measured again with those that are committed.
//!
//! Each `*_ms` column of each cell is compared as two samples. All comparisons of an experiment
//! are judged together, so that a check of it cries wolf at most once in a hundred times; and what
//! moved by less than a twentieth is not worth a cry.

use std::fmt;

use super::{LabError, Measured};
use crate::experiment::Experiment;
use crate::results::shift::{NoShift, Shift, holm};
use crate::results::stats::{Bootstrap, Sample};
use crate::results::{Cell, Column, Kind, RowSet, RowsError};

/// How often a check of an experiment on which nothing changed may find that something did.
pub const FALSE_ALARMS: f64 = 0.01;
/// The least effect that is told: a twentieth, up or down.
pub const LEAST_RATIO: f64 = 1.05;
/// The columns that say what a measurement was made on.
const MACHINE: [&str; 3] = ["cpu_model", "cores", "os"];
/// The column that counts the samples of a cell.
const SAMPLE: &str = "sample";

/// One timed column of one cell, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The cell: `transport=http`.
    pub row: String,
    /// The column.
    pub column: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a time.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is longer.
    Slower(Shift),
    /// It is shorter.
    Faster(Shift),
    /// It moved by less than a twentieth.
    Same(Shift),
    /// The measurements do not say.
    Inconclusive(Doubt),
}

/// Why measurements do not say whether something changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// They spread too much for how many they are.
    Spread(Shift),
    /// There is no such statistic.
    None(NoShift),
    /// They come from two machines.
    Machines {
        /// The one of the committed rows.
        was: String,
        /// This one.
        is: String,
    },
}

/// Compares all timed columns of the cells.
pub(super) fn timings(
    experiment: &Experiment,
    committed: &Measured,
    fresh: &Measured,
) -> Vec<Timing> {
    let (was, is) = (&committed.cells, &fresh.cells);
    let machines = (machine(was), machine(is));
    if machines.0 != machines.1 {
        let (was, is) = machines;
        return vec![Timing {
            row: String::new(),
            column: "*_ms".to_owned(),
            outcome: Outcome::Inconclusive(Doubt::Machines { was, is }),
        }];
    }
    let labels = experiment.sweep().labels();
    let labels: Vec<&str> = labels.into_iter().map(|(name, _)| name).collect();
    let timed = is
        .columns()
        .iter()
        .filter(|column| column.kind == Kind::Ms && !labels.contains(&&*column.name));
    let mut compared = Vec::new();
    for column in timed {
        let before = samples(was, &labels, &column.name);
        for (row, now) in samples(is, &labels, &column.name) {
            let Some((_, before)) = before.iter().find(|(name, _)| *name == row) else {
                continue;
            };
            if before.is_empty() || now.is_empty() {
                continue;
            }
            compared.push((
                row,
                column.name.clone(),
                shift(before, &now, Bootstrap::default()),
            ));
        }
    }
    judged(compared)
}

/// The rows without times, and without what says where they were taken.
pub(super) fn counted(measured: &Measured) -> Result<Measured, LabError> {
    let is_counted = |column: &Column| {
        let of_time = column.kind == Kind::Ms || column.name.contains("_ms_");
        !of_time && column.name != "n" && !MACHINE.contains(&&*column.name)
    };
    Ok(Measured {
        cells: only(&measured.cells, is_counted)?,
        turns: only(&measured.turns, is_counted)?,
    })
}

fn only(rows: &RowSet, is_kept: impl Fn(&Column) -> bool) -> Result<RowSet, RowsError> {
    let columns = rows.columns();
    let kept: Vec<bool> = columns.iter().map(is_kept).collect();
    let pick = |row: &[Cell]| -> Vec<Cell> {
        let cells = row.iter().zip(&kept).filter(|(_, is_kept)| **is_kept);
        cells.map(|(cell, _)| cell.clone()).collect()
    };
    let columns = columns.iter().zip(&kept).filter(|(_, is_kept)| **is_kept);
    let mut picked = RowSet::new(columns.map(|(column, _)| column.clone()).collect())?;
    for row in rows.rows() {
        picked.push(pick(row))?;
    }
    Ok(picked)
}

/// The rows of those samples that both sides have: how many there are is nothing that was counted.
pub(super) fn in_both(was: &Measured, is: &Measured) -> Result<(Measured, Measured), LabError> {
    let most = samples_of(&was.cells).min(samples_of(&is.cells));
    Ok((up_to(was, most)?, up_to(is, most)?))
}

fn samples_of(cells: &RowSet) -> u64 {
    let samples = cells.cells(SAMPLE).into_iter().flatten();
    samples.filter_map(number).max().unwrap_or(0)
}

fn up_to(measured: &Measured, most: u64) -> Result<Measured, LabError> {
    let first = |rows: &RowSet| -> Result<RowSet, RowsError> {
        let mut kept = RowSet::new(rows.columns().to_vec())?;
        let at = rows.index_of(SAMPLE).ok();
        for row in rows.rows() {
            let sample = at.and_then(|at| row.get(at)).and_then(number);
            if sample.is_none_or(|sample| sample <= most) {
                kept.push(row.clone())?;
            }
        }
        Ok(kept)
    };
    Ok(Measured {
        cells: first(&measured.cells)?,
        turns: first(&measured.turns)?,
    })
}

fn number(cell: &Cell) -> Option<u64> {
    cell.to_string().parse().ok()
}

/// A cell, a column, and how its times moved.
type Compared = (String, String, Result<Shift, NoShift>);

/// What becomes of all comparisons of one experiment, judged together.
pub(super) fn judged(compared: Vec<Compared>) -> Vec<Timing> {
    let ps: Vec<f64> = compared
        .iter()
        .filter_map(|(_, _, shift)| shift.as_ref().ok().map(|shift| shift.p))
        .collect();
    let mut adjusted = holm(&ps).into_iter();
    let timing = |(row, column, shift): Compared| Timing {
        row,
        column,
        outcome: match shift {
            Ok(shift) => Outcome::of(shift, adjusted.next().unwrap_or(1.0)),
            Err(none) => Outcome::Inconclusive(Doubt::None(none)),
        },
    };
    compared.into_iter().map(timing).collect()
}

impl Outcome {
    /// What follows from a shift whose p, among all comparisons, is `p`.
    fn of(shift: Shift, p: f64) -> Self {
        let is_certain = p <= FALSE_ALARMS;
        let (least, most) = (1.0 / LEAST_RATIO, LEAST_RATIO);
        if is_certain && shift.ratio >= most {
            Self::Slower(shift)
        } else if is_certain && shift.ratio <= least {
            Self::Faster(shift)
        } else if shift.low > least && shift.high < most {
            Self::Same(shift)
        } else {
            Self::Inconclusive(Doubt::Spread(shift))
        }
    }
}

fn shift(was: &[f64], is: &[f64], bootstrap: Bootstrap) -> Result<Shift, NoShift> {
    let (was, is) = (Sample::new(was.to_vec())?, Sample::new(is.to_vec())?);
    Shift::between(&was, &is, bootstrap)
}

/// The measurements of a column, by cell, those that are missing left out.
fn samples(rows: &RowSet, labels: &[&str], column: &str) -> Vec<(String, Vec<f64>)> {
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    let Ok(at) = rows.index_of(column) else {
        return found;
    };
    for row in rows.rows() {
        let value = row.get(at).and_then(Cell::to_f64);
        let name = called(rows, row, labels);
        // Samples of one cell follow each other.
        match found.last_mut() {
            Some((last, values)) if *last == name => values.extend(value),
            _ => found.push((name, value.into_iter().collect())),
        }
    }
    found
}

fn called(rows: &RowSet, row: &[Cell], labels: &[&str]) -> String {
    let pairs = labels.iter().filter_map(|label| {
        let at = rows.index_of(label).ok()?;
        Some(format!("{label}={}", row.get(at)?))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

fn machine(rows: &RowSet) -> String {
    let first = rows.rows().first().map_or(&[][..], Vec::as_slice);
    let said = MACHINE.iter().filter_map(|column| {
        let at = rows.index_of(column).ok()?;
        Some(first.get(at)?.to_string())
    });
    said.collect::<Vec<_>>().join(", ")
}

/// The cell, the column, and what became of it.
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = if self.row.is_empty() { "" } else { ", " };
        write!(f, "{}{comma}`{}`: {}", self.row, self.column, self.outcome)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slower(shift) => write!(f, "slower, {}", Effect(shift)),
            Self::Faster(shift) => write!(f, "faster, {}", Effect(shift)),
            Self::Same(shift) => write!(f, "as before, {}", Effect(shift)),
            Self::Inconclusive(doubt) => write!(f, "inconclusive, {doubt}"),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spread(shift) => write!(f, "{}", Effect(shift)),
            Self::None(none) => write!(f, "{none}"),
            Self::Machines { was, is } => {
                write!(
                    f,
                    "measured on another machine ({was}) than this one ({is})"
                )
            }
        }
    }
}

/// `the median is 1.103 times what it was (95 %: 1.071 to 1.139; n = 30 and 30)`.
struct Effect<'s>(&'s Shift);

impl fmt::Display for Effect<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shift {
            n: (was, is),
            ratio,
            low,
            high,
            ..
        } = self.0;
        write!(
            f,
            "the median is {ratio:.3} times what it was (95 %: {low:.3} to {high:.3}; \
             n = {was} and {is})"
        )
    }
}

#[cfg(test)]
mod tests;
