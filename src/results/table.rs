//! From rows to the table that a reader sees: chosen columns, and what they are compared with.

use rust_decimal::Decimal;

use super::cell::{Cell, Kind};
use super::figures::Sign;
use super::filter::Filter;
use super::rows::{Column, RowSet, RowsError, UnknownColumn};

/// Decimals of a computed ratio or percentage in `table.csv`.
const CSV_DECIMALS: u32 = 6;

/// What a column of a table shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// The value itself.
    #[default]
    Value,
    /// How many times the first row's value it is.
    TimesFirst,
    /// By how many percent it is over the first row's value.
    PercentOverFirst,
    /// By how much it is over the first row's value, in the column's own unit.
    MoreThanFirst,
    /// How many percent of the column's sum it is.
    ShareOfTotal,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// The column of the rows that it is made from.
    pub column: String,
    /// What stands above it.
    pub heading: String,
    /// What it shows of that column.
    pub show: Show,
}

/// A table as an experiment asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// One sentence above the table.
    pub caption: String,
    /// The columns from left to right.
    pub columns: Vec<TableColumn>,
    /// Which rows are shown; "the first row" is the first of these.
    pub filter: Filter,
}

/// A table with its values, not yet in anybody's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(super) caption: String,
    pub(super) headings: Vec<TableColumn>,
    /// Computed values with all their digits, so that they are rounded once.
    pub(super) rows: RowSet,
}

/// Why a table cannot be made from the rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It asks for a column that does not exist.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// It compares what is not a number.
    #[error("column `{0}` holds no numbers, so nothing can be computed from it: show its value")]
    NotANumber(String),
    /// Its columns make no table.
    #[error(transparent)]
    Rows(#[from] RowsError),
}

impl Table {
    /// Makes the table that `spec` asks for.
    ///
    /// # Errors
    /// [`TableError`] if a column does not exist, is compared without being a number, or is
    /// shown twice in the same way.
    pub fn build(spec: &TableSpec, rows: &RowSet) -> Result<Self, TableError> {
        let picked = spec.filter.pick(rows)?;
        let mut headings = Vec::new();
        let mut columns = Vec::new();
        let mut values = Vec::new();
        for wanted in &spec.columns {
            let index = rows.index_of(&wanted.column)?;
            let source = &rows.columns()[index];
            if wanted.show != Show::Value && !source.kind.is_number() {
                return Err(TableError::NotANumber(wanted.column.clone()));
            }
            let cells: Vec<&Cell> = picked.iter().map(|row| &row[index]).collect();
            columns.push(wanted.show.column(source));
            values.push(wanted.show.values(&cells));
            headings.push(wanted.clone());
        }
        let mut table = RowSet::new(columns)?;
        for row in 0..picked.len() {
            table.push(values.iter().map(|column| column[row].clone()).collect())?;
        }
        Ok(Self {
            caption: spec.caption.clone(),
            headings,
            rows: table,
        })
    }

    /// The rows of `table.csv`: computed values rounded to six decimals, a half away from zero.
    ///
    /// # Errors
    /// [`RowsError`]: never in practice, as the same rows were accepted before.
    pub fn to_rows(&self) -> Result<RowSet, RowsError> {
        let mut rounded = RowSet::new(self.rows.columns().to_vec())?;
        for row in self.rows.rows() {
            let cells = row
                .iter()
                .map(|cell| cell.clone().with_at_most(CSV_DECIMALS));
            rounded.push(cells.collect())?;
        }
        Ok(rounded)
    }
}

impl Show {
    /// The column of `table.csv` that shows `source` in this way; the unit comes last.
    fn column(self, source: &Column) -> Column {
        let Column { name, kind } = source;
        match self {
            Self::Value => source.clone(),
            Self::TimesFirst => Column::new(format!("{name}_over_first_ratio"), Kind::Ratio),
            Self::PercentOverFirst => {
                Column::new(format!("{name}_over_first_percent"), Kind::Percent)
            }
            Self::MoreThanFirst => Column::new(format!("more_{name}"), *kind),
            Self::ShareOfTotal => Column::new(format!("{name}_share_percent"), Kind::Percent),
        }
    }

    /// Whether its numbers are changes.
    #[must_use]
    pub const fn sign(self) -> Sign {
        match self {
            Self::Value | Self::TimesFirst | Self::ShareOfTotal => Sign::Amount,
            Self::PercentOverFirst | Self::MoreThanFirst => Sign::Change,
        }
    }

    /// What is shown; missing where the value, or what it is compared with, is missing or 0.
    fn values(self, cells: &[&Cell]) -> Vec<Cell> {
        let first = cells.first().copied().unwrap_or(&Cell::Missing);
        let total = || {
            let mut values = cells.iter().filter_map(|cell| cell.to_decimal());
            values.try_fold(Decimal::ZERO, Decimal::checked_add)
        };
        match self {
            Self::Value => cells.iter().map(|cell| (*cell).clone()).collect(),
            Self::TimesFirst => compute(cells, first.to_decimal(), Decimal::checked_div),
            Self::PercentOverFirst => compute(cells, first.to_decimal(), percent_over),
            Self::ShareOfTotal => compute(cells, total(), |value, total| {
                value.checked_div(total)?.checked_mul(Decimal::ONE_HUNDRED)
            }),
            Self::MoreThanFirst => cells.iter().map(|cell| difference(cell, first)).collect(),
        }
    }
}

fn compute(
    cells: &[&Cell],
    base: Option<Decimal>,
    operation: impl Fn(Decimal, Decimal) -> Option<Decimal>,
) -> Vec<Cell> {
    let value = |cell: &&Cell| operation(cell.to_decimal()?, base?).map(Cell::number);
    cells
        .iter()
        .map(|cell| value(cell).unwrap_or(Cell::Missing))
        .collect()
}

/// By how many percent `value` is over `base`; `None` where that has no answer.
pub(super) fn percent_over(value: Decimal, base: Decimal) -> Option<Decimal> {
    let more = value.checked_sub(base)?;
    more.checked_mul(Decimal::ONE_HUNDRED)?.checked_div(base)
}

fn difference(cell: &Cell, first: &Cell) -> Cell {
    if let (Cell::Usd(amount), Cell::Usd(first)) = (cell, first) {
        return Cell::Usd(*amount - *first);
    }
    let (value, first) = (cell.to_decimal(), first.to_decimal());
    let more = value
        .zip(first)
        .and_then(|(value, first)| value.checked_sub(first));
    more.map_or(Cell::Missing, Cell::number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Schema;

    const CELLS: &str = "max_turns,prompt_tokens,cost_usd,status\n\
        50,88649,0.191200,max_turns_exceeded\n\
        100,337299,0.702900,max_turns_exceeded\n\
        7,,,\n";

    fn table(columns: &[(&str, Show)]) -> Result<String, TableError> {
        let rows = RowSet::from_reader("x", CELLS.as_bytes(), Schema::ByName).unwrap();
        let columns = columns.iter().map(|(column, show)| TableColumn {
            column: (*column).to_owned(),
            heading: String::new(),
            show: *show,
        });
        let spec = TableSpec {
            caption: String::new(),
            columns: columns.collect(),
            filter: Filter::default(),
        };
        let csv = Table::build(&spec, &rows)?.to_rows()?.to_csv().unwrap();
        Ok(String::from_utf8(csv).unwrap())
    }

    #[test]
    fn values_are_raw_and_comparisons_carry_their_unit_in_the_name() {
        assert_eq!(
            table(&[
                ("max_turns", Show::Value),
                ("prompt_tokens", Show::TimesFirst),
                ("cost_usd", Show::PercentOverFirst),
                ("cost_usd", Show::MoreThanFirst),
            ])
            .unwrap(),
            "max_turns,prompt_tokens_over_first_ratio,cost_usd_over_first_percent,more_cost_usd\n\
             50,1,0,0.000000\n\
             100,3.804882,267.625523,0.511700\n\
             7,,,\n"
        );
    }

    #[test]
    fn shares_are_of_what_is_not_missing() {
        assert_eq!(
            table(&[("max_turns", Show::ShareOfTotal), ("cost_usd", Show::Value)]).unwrap(),
            "max_turns_share_percent,cost_usd\n\
             31.847134,0.191200\n63.694268,0.702900\n4.458599,\n"
        );
    }

    #[test]
    fn a_table_that_cannot_be_made_says_why() {
        let say = |column, show| table(&[(column, show)]).unwrap_err().to_string();
        assert!(say("prompt_token", Show::Value).contains("did you mean `prompt_tokens`?"));
        assert!(say("status", Show::TimesFirst).contains("holds no numbers"));
        assert_eq!(table(&[]), Err(TableError::Rows(RowsError::NoColumns)));
    }
}
