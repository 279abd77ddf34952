//! Evaluating claims: exact decimals from the cells to the verdict.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::cell::Cell;
use super::claims::{
    Claim, ClaimError, ClaimOutcome, Computation, Pick, RowSources, RowsRef, Rule, Verdict,
};
use super::decimal::{parse_decimal, round_half_away};
use super::filter::FilterError;
use super::fit::{Fit, NoFit};
use super::rows::RowSet;
use super::table::percent_over;

/// Looks up a numeric setting of an experiment by its dotted path.
pub type Settings<'a> = dyn Fn(&str) -> Option<Decimal> + 'a;

/// Evaluates every claim, in order. A claim that cannot be computed is an outcome and not an
/// error, so that one bad claim hides no other.
#[must_use]
pub fn evaluate(
    claims: &[Claim],
    sources: RowSources<'_>,
    settings: &Settings<'_>,
) -> Vec<ClaimOutcome> {
    let outcomes = claims.iter().map(|claim| {
        let (measured, verdict) = match compute(&claim.computed, sources, settings) {
            _ if claim.computed == Computation::External => (None, Verdict::External),
            Ok(values) => {
                let verdict = if holds(claim, &values) {
                    Verdict::Held
                } else {
                    Verdict::NotHeld
                };
                (Some(values), verdict)
            }
            Err(error) => (None, Verdict::Broken(error)),
        };
        ClaimOutcome {
            id: claim.id.clone(),
            published: claim.published.clone(),
            decimals: claim.decimals,
            measured,
            verdict,
        }
    });
    outcomes.collect()
}

/// Whether the rule holds for every value: a limit for as many as there are, another rule for each
/// with its published one.
fn holds(claim: &Claim, measured: &[Decimal]) -> bool {
    let published = &claim.published.values;
    let each = |holds: &dyn Fn(Decimal, Decimal) -> bool| {
        let mut pairs = measured.iter().zip(published);
        measured.len() == published.len()
            && pairs.all(|(measured, published)| holds(*measured, *published))
    };
    match claim.rule {
        Rule::Exact => each(&|measured, published| match claim.decimals {
            Some(decimals) => round_half_away(measured, decimals) == published,
            None => measured == published,
        }),
        Rule::Below => each(&|measured, published| measured < published),
        Rule::WithinPercent(percent) => {
            each(&|measured, published| is_within(percent, measured, published))
        }
        Rule::AtMost(limit) => !measured.is_empty() && measured.iter().all(|one| *one <= limit),
    }
}

fn is_within(percent: Decimal, measured: Decimal, published: Decimal) -> bool {
    let away = measured.checked_sub(published).map(|away| away.abs());
    let away = away.and_then(|away| away.checked_mul(Decimal::ONE_HUNDRED));
    let allowed = published.abs().checked_mul(percent);
    away.zip(allowed)
        .is_some_and(|(away, allowed)| away <= allowed)
}

fn compute(
    computation: &Computation,
    sources: RowSources<'_>,
    settings: &Settings<'_>,
) -> Result<Vec<Decimal>, ClaimError> {
    let value = match computation {
        Computation::Cells(pick) => return sources.numbers(pick),
        Computation::External => return Ok(Vec::new()),
        Computation::Cell(pick) => sources.number(pick)?,
        Computation::Count { rows, filter } => {
            let picked = filter.pick(sources.rows(*rows)?);
            let rows = *rows;
            count(
                picked
                    .map_err(|problem| ClaimError::Column { rows, problem })?
                    .len(),
            )
        }
        Computation::Fit {
            x,
            y,
            coefficient,
            filter,
        } => {
            let fit = Fit::of_picked(sources.cells, (x, y), filter)?;
            fit.coefficient(*coefficient)
                .ok_or(ClaimError::Fit(NoFit::NotFinite))?
        }
        Computation::CountDistinct(pick) => {
            let cells = sources.cells(pick)?;
            let present = cells.iter().filter(|cell| ***cell != Cell::Missing);
            count(
                present
                    .map(ToString::to_string)
                    .collect::<BTreeSet<_>>()
                    .len(),
            )
        }
        Computation::Sum(pick) => {
            let numbers = sources.numbers(pick)?;
            let sum = numbers
                .into_iter()
                .try_fold(Decimal::ZERO, Decimal::checked_add);
            sum.ok_or(ClaimError::TooLarge)?
        }
        Computation::Setting { path } => {
            settings(path).ok_or_else(|| ClaimError::NoSetting(path.clone()))?
        }
        Computation::Ratio { of, to } => divide(
            sources.number(of)?,
            sources.number(to)?,
            Decimal::checked_div,
        )?,
        Computation::Difference { of, less } => {
            let difference = sources.number(of)?.checked_sub(sources.number(less)?);
            difference.ok_or(ClaimError::TooLarge)?
        }
        Computation::PercentChange { from, to } => {
            divide(sources.number(to)?, sources.number(from)?, percent_over)?
        }
    };
    Ok(vec![value])
}

fn divide(
    value: Decimal,
    by: Decimal,
    operation: impl Fn(Decimal, Decimal) -> Option<Decimal>,
) -> Result<Decimal, ClaimError> {
    if by.is_zero() {
        return Err(ClaimError::DivisionByZero);
    }
    operation(value, by).ok_or(ClaimError::TooLarge)
}

fn count(number: usize) -> Decimal {
    Decimal::from(number)
}

impl<'a> RowSources<'a> {
    fn rows(self, rows: RowsRef) -> Result<&'a RowSet, ClaimError> {
        match rows {
            RowsRef::Cells => Ok(self.cells),
            RowsRef::Turns => self.turns.ok_or(ClaimError::NoTurns),
            RowsRef::Summary => self.summary.ok_or(ClaimError::NoSummary),
        }
    }

    /// The cells that are meant, one at least.
    fn cells(self, pick: &Pick) -> Result<Vec<&'a Cell>, ClaimError> {
        let rows = pick.rows;
        let set = self.rows(rows)?;
        let unknown = |problem| ClaimError::Column { rows, problem };
        let index = set.index_of(&pick.column).map_err(unknown)?;
        let picked = pick
            .filter
            .pick_some(set)
            .map_err(|problem| match problem {
                FilterError::Column(problem) => unknown(problem),
                problem => ClaimError::NoRow { rows, problem },
            })?;
        Ok(picked
            .into_iter()
            .filter_map(|row| row.get(index))
            .collect())
    }

    /// The numbers that are meant; a cell of numbers with spaces between them is as many.
    fn numbers(self, pick: &Pick) -> Result<Vec<Decimal>, ClaimError> {
        let cells = self.cells(pick)?;
        let numbers: Result<Vec<Vec<Decimal>>, ClaimError> = cells
            .into_iter()
            .map(|cell| match listed(cell) {
                Some(numbers) => Ok(numbers),
                None => number_of(cell, pick).map(|number| vec![number]),
            })
            .collect();
        Ok(numbers?.concat())
    }

    fn number(self, pick: &Pick) -> Result<Decimal, ClaimError> {
        match self.cells(pick)?.as_slice() {
            [cell] => number_of(cell, pick),
            cells => Err(ClaimError::ManyRows {
                rows: pick.rows,
                found: cells.len(),
            }),
        }
    }
}

/// The numbers of a text such as `500 1000`.
fn listed(cell: &Cell) -> Option<Vec<Decimal>> {
    match cell {
        Cell::Text(text) => text.split(' ').map(parse_decimal).collect(),
        _ => None,
    }
}

fn number_of(cell: &Cell, pick: &Pick) -> Result<Decimal, ClaimError> {
    let found = match (cell, cell.to_decimal()) {
        (_, Some(value)) => return Ok(value),
        (Cell::Integer(_), None) => return Err(ClaimError::TooLarge),
        (Cell::Missing, None) => "no value".to_owned(),
        (cell, None) => format!("{:?}", cell.to_string()),
    };
    Err(ClaimError::NotANumber {
        rows: pick.rows,
        column: pick.column.clone(),
        found,
    })
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
