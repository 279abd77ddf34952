//! Reading rows for a plot: every cell with its turns, and values of the kind that is meant.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::PlotError;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::money::PicoUsd;
use crate::results::{Cell, RowSet};

/// The column that tells samples of one cell apart.
const SAMPLE: &str = "sample";

/// A row under its columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'r> {
    rows: &'r RowSet,
    cells: &'r [Cell],
}

impl<'r> Row<'r> {
    /// Every row of a set.
    pub(super) fn all(rows: &'r RowSet) -> impl Iterator<Item = Self> {
        let cells = rows.rows().iter();
        cells.map(move |cells| Self { rows, cells })
    }

    /// A value.
    pub(super) fn cell(&self, column: &str) -> Result<&'r Cell, PlotError> {
        let index = self.rows.index_of(column)?;
        Ok(self.cells.get(index).unwrap_or(&Cell::Missing))
    }

    /// A whole number, such as one of tokens.
    pub(super) fn count(&self, column: &str) -> Result<u64, PlotError> {
        let cell = self.cell(column)?;
        let whole = match cell {
            Cell::Integer(whole) => u64::try_from(*whole).ok(),
            _ => None,
        };
        whole.ok_or_else(|| refuse(column, cell))
    }

    /// An amount of money.
    pub(super) fn usd(&self, column: &str) -> Result<PicoUsd, PlotError> {
        let cell = self.cell(column)?;
        match cell {
            Cell::Usd(amount) => Ok(*amount),
            _ => Err(refuse(column, cell)),
        }
    }

    /// A number.
    pub(super) fn number(&self, column: &str) -> Result<Decimal, PlotError> {
        let cell = self.cell(column)?;
        cell.to_decimal().ok_or_else(|| refuse(column, cell))
    }

    /// Words; empty where there are none.
    pub(super) fn words(&self, column: &str) -> Result<String, PlotError> {
        Ok(self.cell(column)?.to_string())
    }
}

fn refuse(column: &str, cell: &Cell) -> PlotError {
    PlotError::Value {
        column: column.to_owned(),
        value: cell.to_string(),
    }
}

/// A cell of an experiment and its turns.
#[derive(Clone, Debug)]
pub(super) struct Run<'r> {
    pub(super) cell: Row<'r>,
    pub(super) turns: Vec<Row<'r>>,
}

/// Every cell with its turns, in the order of the rows.
pub(super) fn runs<'r>(
    experiment: &Experiment,
    measured: &'r Measured,
) -> Result<Vec<Run<'r>>, PlotError> {
    let labels = experiment.sweep().labels().into_iter();
    let mut key: Vec<&str> = labels.map(|(name, _)| name).collect();
    if measured.turns.index_of(SAMPLE).is_ok() {
        key.push(SAMPLE);
    }
    let of = |row: &Row<'r>| -> Result<Vec<&'r Cell>, PlotError> {
        key.iter().map(|column| row.cell(column)).collect()
    };
    let mut turns = Row::all(&measured.turns).peekable();
    let mut runs = Vec::new();
    for cell in Row::all(&measured.cells) {
        let own = of(&cell)?;
        let mut run = Run {
            cell,
            turns: Vec::new(),
        };
        while let Some(turn) = turns.peek().copied() {
            if of(&turn)? != own {
                break;
            }
            run.turns.push(turn);
            turns.next();
        }
        runs.push(run);
    }
    Ok(runs)
}

/// A number to draw at; what is printed is the number itself.
pub(super) fn value(number: Decimal) -> f64 {
    number.to_f64().unwrap_or(0.0)
}

/// A count to draw at.
pub(super) fn size(count: u64) -> f64 {
    value(Decimal::from(count))
}

/// Dollars to draw at.
pub(super) fn dollars(amount: PicoUsd) -> f64 {
    value(Decimal::from(amount.pico())) / 1e12
}
