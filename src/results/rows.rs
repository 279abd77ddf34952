//! A set of rows: named, typed columns and the cells under them.

use std::collections::BTreeSet;
use std::io;

use super::cell::{Cell, Kind, NotOfKind};

/// A column: its name, unit included, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name in the header of the CSV, such as `prompt_tokens`.
    pub name: String,
    /// What its cells are.
    pub kind: Kind,
}

impl Column {
    /// A column of that name and kind.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
        }
    }
}

/// Rows under typed columns. Every row is as wide as the header, and every cell is missing or of
/// its column's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSet {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// Why columns or cells do not make rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// A header without a column.
    #[error("there is no header: name at least one column")]
    NoColumns,
    /// A column without a name.
    #[error("column {0} of the header has no name")]
    UnnamedColumn(usize),
    /// Two columns of one name.
    #[error("two columns are called `{0}`: rename one")]
    DuplicateColumn(String),
    /// A row of the wrong width.
    #[error("cells in the row: {found}; columns: {expected}")]
    Width {
        /// How many columns there are.
        expected: usize,
        /// How many cells came.
        found: usize,
    },
    /// A cell that does not belong into its column.
    #[error("column `{column}`: {problem}")]
    Cell {
        /// The column.
        column: String,
        /// What was found there.
        problem: NotOfKind,
    },
}

/// A column that the rows do not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no column `{name}`{}; the columns are: {}",
    did_you_mean(suggestion.as_ref()), existing.join(", ")
)]
pub struct UnknownColumn {
    /// The name that was asked for.
    pub name: String,
    /// The columns that exist, in their order.
    pub existing: Vec<String>,
    /// The one that was probably meant.
    pub suggestion: Option<String>,
}

impl RowSet {
    /// No rows yet under these columns.
    ///
    /// # Errors
    /// [`RowsError`] if there is no column, or one without a name, or two of one name.
    pub fn new(columns: Vec<Column>) -> Result<Self, RowsError> {
        check_header(columns.iter().map(|column| column.name.as_str()))?;
        Ok(Self {
            columns,
            rows: Vec::new(),
        })
    }

    /// Adds a row at the end.
    ///
    /// # Errors
    /// [`RowsError`] if it is not as wide as the header or a cell is not of its column's kind.
    pub fn push(&mut self, cells: Vec<Cell>) -> Result<(), RowsError> {
        self.rows.push(admit_row(&self.columns, cells)?);
        Ok(())
    }

    /// The columns in their order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows in their order.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// How many rows there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where a column stands.
    ///
    /// # Errors
    /// [`UnknownColumn`] with the ones that exist.
    pub fn index_of(&self, name: &str) -> Result<usize, UnknownColumn> {
        let found = self.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| {
            let existing = self.columns.iter().map(|column| column.name.clone());
            let existing: Vec<String> = existing.collect();
            UnknownColumn {
                name: name.to_owned(),
                suggestion: closest(name, existing.iter().map(String::as_str)),
                existing,
            }
        })
    }

    /// The cells of a column, in row order.
    ///
    /// # Errors
    /// [`UnknownColumn`] with the ones that exist.
    pub fn cells(&self, name: &str) -> Result<impl Iterator<Item = &Cell>, UnknownColumn> {
        let index = self.index_of(name)?;
        Ok(self.rows.iter().filter_map(move |row| row.get(index)))
    }

    /// The rows as CSV: a header, LF at the end of each line, quotes only where needed.
    ///
    /// # Errors
    /// As writing to memory fails: never in practice.
    pub fn to_csv(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_csv(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes [`RowSet::to_csv`] to `out`.
    ///
    /// # Errors
    /// As `out` fails.
    pub fn write_csv(&self, out: impl io::Write) -> io::Result<()> {
        let mut csv = csv_writer(out);
        csv.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in &self.rows {
            csv.write_record(row.iter().map(Cell::to_string))?;
        }
        csv.flush()
    }
}

/// The one dialect of our CSV files.
pub(super) fn csv_writer<W: io::Write>(out: W) -> csv::Writer<W> {
    csv::WriterBuilder::new()
        .terminator(csv::Terminator::Any(b'\n'))
        .from_writer(out)
}

/// Checks that names make a header.
pub(super) fn check_header<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), RowsError> {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if name.is_empty() {
            return Err(RowsError::UnnamedColumn(index + 1));
        }
        if !seen.insert(name) {
            return Err(RowsError::DuplicateColumn(name.to_owned()));
        }
    }
    if seen.is_empty() {
        Err(RowsError::NoColumns)
    } else {
        Ok(())
    }
}

/// Checks a row against its columns and gives each cell its canonical form.
pub(super) fn admit_row(columns: &[Column], cells: Vec<Cell>) -> Result<Vec<Cell>, RowsError> {
    if cells.len() != columns.len() {
        return Err(RowsError::Width {
            expected: columns.len(),
            found: cells.len(),
        });
    }
    let admitted = columns.iter().zip(cells).map(|(column, cell)| {
        column.kind.admit(cell).map_err(|problem| RowsError::Cell {
            column: column.name.clone(),
            problem,
        })
    });
    admitted.collect()
}

/// The candidate that was probably meant by `name`.
pub(super) fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |candidate: &&str| strsim::damerau_levenshtein(name, candidate);
    let near = candidates.filter(|candidate| distance(candidate) <= 1 + name.len() / 4);
    near.min_by_key(distance).map(str::to_owned)
}

/// ` (did you mean …?)`, or nothing.
pub(super) fn did_you_mean(suggestion: Option<&String>) -> String {
    suggestion.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::PicoUsd;

    fn costs() -> RowSet {
        let columns = vec![
            Column::new("scenario", Kind::Text),
            Column::new("cost_usd", Kind::Usd),
        ];
        RowSet::new(columns).unwrap()
    }

    #[test]
    fn csv_has_a_header_lf_line_ends_and_empty_cells_for_what_is_missing() {
        let mut rows = costs();
        assert_eq!(rows.to_csv().unwrap(), b"scenario,cost_usd\n");
        let cost = PicoUsd::from_pico(10_780_000_000);
        rows.push(vec![Cell::from("a, \"b\""), Cell::Usd(cost)])
            .unwrap();
        rows.push(vec![Cell::from("x\ny"), Cell::Missing]).unwrap();
        assert_eq!(
            String::from_utf8(rows.to_csv().unwrap()).unwrap(),
            "scenario,cost_usd\n\"a, \"\"b\"\"\",0.010780\n\"x\ny\",\n"
        );
    }

    #[test]
    fn a_row_must_fit_its_columns() {
        let mut rows = costs();
        let narrow = rows.push(vec![Cell::Missing]);
        assert_eq!(
            narrow,
            Err(RowsError::Width {
                expected: 2,
                found: 1
            })
        );
        let wrong = rows.push(vec![Cell::from("plan"), Cell::from(true)]);
        assert_eq!(
            wrong.map_err(|error| error.to_string()),
            Err("column `cost_usd`: \"true\" is not an amount of dollars".to_owned())
        );
        assert!(rows.is_empty());
    }

    #[test]
    fn a_header_names_each_column_once() {
        let header = |names: &[&str]| {
            RowSet::new(
                names
                    .iter()
                    .map(|name| Column::new(*name, Kind::Text))
                    .collect(),
            )
            .err()
        };
        assert_eq!(header(&[]), Some(RowsError::NoColumns));
        assert_eq!(header(&["a", ""]), Some(RowsError::UnnamedColumn(2)));
        assert_eq!(
            header(&["a", "a"]),
            Some(RowsError::DuplicateColumn("a".to_owned()))
        );
    }

    #[test]
    fn an_unknown_column_comes_with_the_known_ones_and_a_guess() {
        let unknown = costs().index_of("cost_us").unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "no column `cost_us` (did you mean `cost_usd`?); the columns are: scenario, cost_usd"
        );
        assert_eq!(costs().index_of("turns").unwrap_err().suggestion, None);
    }
}
