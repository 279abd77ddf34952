//! Which rows are meant: a list of columns and the values that they must have.

use super::cell::Cell;
use super::rows::{RowSet, UnknownColumn, closest, did_you_mean};

/// How many values an error lists at most.
const LISTED_VALUES: usize = 8;

/// A column must have a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// The value as CSV prints it; numbers are compared by value (`0.010` is `0.010000`), and
    /// an empty text means that the value is missing.
    pub equals: String,
}

impl Condition {
    /// The condition that `column` has the value `equals`.
    #[must_use]
    pub fn new(column: impl Into<String>, equals: impl Into<String>) -> Self {
        Self {
            column: column.into(),
            equals: equals.into(),
        }
    }
}

/// Conditions that must all hold; without any, every row is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(pub Vec<Condition>);

/// Why a filter picks nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It speaks of a column that does not exist.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// No row is left once this condition is applied after the ones before it.
    #[error(
        "no row has `{}` = {:?}{}; rows have: {}",
        condition.column, condition.equals, did_you_mean(suggestion.as_ref()), values.join(", ")
    )]
    NoRow {
        /// The first condition that leaves no row.
        condition: Condition,
        /// The first few values that the column does have in the rows left before it.
        values: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// There are no rows to pick from.
    #[error("there are no rows")]
    NoRows,
}

impl Filter {
    /// The condition that one column has one value.
    #[must_use]
    pub fn of(column: &str, equals: &str) -> Self {
        Self(vec![Condition::new(column, equals)])
    }

    /// The rows that are meant, in their order; possibly none.
    ///
    /// # Errors
    /// [`UnknownColumn`] if a condition speaks of a column that the rows do not have.
    pub fn pick<'a>(&self, rows: &'a RowSet) -> Result<Vec<&'a [Cell]>, UnknownColumn> {
        let mut picked: Vec<&[Cell]> = rows.rows().iter().map(Vec::as_slice).collect();
        for condition in &self.0 {
            let index = rows.index_of(&condition.column)?;
            picked.retain(|row| holds(condition, row, index));
        }
        Ok(picked)
    }

    /// The rows that are meant, of which there must be one at least.
    ///
    /// # Errors
    /// [`FilterError`] with the condition that leaves no row and the values that do occur.
    pub fn pick_some<'a>(&self, rows: &'a RowSet) -> Result<Vec<&'a [Cell]>, FilterError> {
        let picked = self.pick(rows)?;
        if !picked.is_empty() {
            return Ok(picked);
        }
        let mut before: Vec<&[Cell]> = rows.rows().iter().map(Vec::as_slice).collect();
        for condition in &self.0 {
            let index = rows.index_of(&condition.column)?;
            let left: Vec<&[Cell]> = before
                .iter()
                .copied()
                .filter(|row| holds(condition, row, index))
                .collect();
            if left.is_empty() && !before.is_empty() {
                return Err(no_row(condition, &before, index));
            }
            before = left;
        }
        Err(FilterError::NoRows)
    }
}

fn holds(condition: &Condition, row: &[Cell], index: usize) -> bool {
    row.get(index)
        .is_some_and(|cell| cell.is(&condition.equals))
}

fn no_row(condition: &Condition, before: &[&[Cell]], index: usize) -> FilterError {
    let mut values: Vec<String> = Vec::new();
    for cell in before.iter().filter_map(|row| row.get(index)) {
        let value = match cell {
            Cell::Missing => "(missing)".to_owned(),
            cell => cell.to_string(),
        };
        if !values.contains(&value) {
            values.push(value);
        }
        if values.len() == LISTED_VALUES {
            break;
        }
    }
    FilterError::NoRow {
        condition: condition.clone(),
        suggestion: closest(&condition.equals, values.iter().map(String::as_str)),
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Schema;

    fn rows() -> RowSet {
        let csv = "scenario,budget_usd,status\n\
             plan,0.010000,completed\nplan,0.020000,\nonce,,completed\n";
        RowSet::from_reader("cells.csv", csv.as_bytes(), Schema::ByName).unwrap()
    }

    fn count(filter: &[(&str, &str)]) -> usize {
        let conditions = filter
            .iter()
            .map(|(column, equals)| Condition::new(*column, *equals));
        Filter(conditions.collect()).pick(&rows()).unwrap().len()
    }

    #[test]
    fn all_conditions_must_hold_and_numbers_compare_by_value() {
        assert_eq!(count(&[]), 3);
        assert_eq!(count(&[("scenario", "plan")]), 2);
        assert_eq!(count(&[("scenario", "plan"), ("budget_usd", "0.010")]), 1);
        assert_eq!(count(&[("scenario", "once"), ("budget_usd", "0.010")]), 0);
        assert_eq!(count(&[("budget_usd", "")]), 1);
        assert_eq!(count(&[("budget_usd", "0")]), 0);
    }

    #[test]
    fn a_filter_that_picks_nothing_says_which_condition_and_what_there_is() {
        let say = |filter: Filter| filter.pick_some(&rows()).unwrap_err().to_string();
        assert_eq!(
            say(Filter::of("scenario", "plann")),
            "no row has `scenario` = \"plann\" (did you mean `plan`?); rows have: plan, once"
        );
        let narrow = vec![
            Condition::new("scenario", "plan"),
            Condition::new("status", "failed"),
        ];
        assert_eq!(
            say(Filter(narrow)),
            "no row has `status` = \"failed\"; rows have: completed, (missing)"
        );
        assert!(say(Filter::of("cap", "8")).starts_with("no column `cap`"));
    }
}
