//! What differs between what is committed and what a fresh run gives.

use std::collections::BTreeMap;
use std::fmt;

use super::cell::Cell;
use super::read::{ReadError, Schema};
use super::rows::RowSet;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A cell has another value.
    Cell {
        /// The row it is in.
        row: RowName,
        /// The column it is in.
        column: String,
        /// What is committed; empty if missing.
        was: String,
        /// What the fresh run gives; empty if missing.
        is: String,
    },
    /// A committed row that the fresh run does not give.
    RowGone(RowName),
    /// A row of the fresh run that is not committed.
    RowNew(RowName),
    /// A committed column that the fresh run does not give.
    ColumnGone(String),
    /// A column of the fresh run that is not committed.
    ColumnNew(String),
    /// The same columns in another order.
    ColumnOrder,
    /// The same rows in another order.
    RowOrder,
    /// The same cells, written differently.
    Form(LineDifference),
}

/// Which row: its number from 1, in the file that has it (the committed one if both do), and the
/// values that identify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowName {
    /// The row's number, the header not counted.
    pub number: usize,
    /// `column=value` for each key column; empty without keys.
    pub key: String,
}

/// Everything that differs, bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The first differences, up to the limit that was asked for.
    pub differences: Vec<Difference>,
    /// How many there are in all.
    pub total: usize,
}

/// The first line in which two texts differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineDifference {
    /// The line, from 1.
    pub line: usize,
    /// The committed line; `None` if that text ends before it.
    pub was: Option<String>,
    /// The fresh line; `None` if that text ends before it.
    pub is: Option<String>,
}

impl Comparison {
    /// Whether nothing differs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    fn note(&mut self, limit: usize, difference: Difference) {
        self.total += 1;
        if self.differences.len() < limit {
            self.differences.push(difference);
        }
    }
}

/// Compares rows by what is printed. Rows are paired by the values of the `key` columns where
/// these identify each row on both sides, and by position otherwise.
#[must_use]
pub fn rows(committed: &RowSet, fresh: &RowSet, key: &[&str], limit: usize) -> Comparison {
    let mut comparison = Comparison::default();
    let columns = shared_columns(committed, fresh, |difference| {
        comparison.note(limit, difference);
    });
    let (was, is) = (Keyed::new(committed, key), Keyed::new(fresh, key));
    let by_key = was.identifies() && is.identifies();
    let mut previous = None;
    for (at, row) in committed.rows().iter().enumerate() {
        let partner = if by_key {
            is.find(was.key(at))
        } else {
            Some(at)
        };
        let Some((partner, fresh_row)) = partner.and_then(|at| Some((at, fresh.rows().get(at)?)))
        else {
            comparison.note(limit, Difference::RowGone(was.name(at)));
            continue;
        };
        if previous.replace(partner) > Some(partner) {
            comparison.note(limit, Difference::RowOrder);
        }
        for &(column, mine, theirs) in &columns {
            let (was_text, is_text) = (text(row, mine), text(fresh_row, theirs));
            if was_text != is_text {
                let difference = Difference::Cell {
                    row: was.name(at),
                    column: column.to_owned(),
                    was: was_text,
                    is: is_text,
                };
                comparison.note(limit, difference);
            }
        }
    }
    for at in 0..fresh.len() {
        let is_new = if by_key {
            was.find(is.key(at)).is_none()
        } else {
            at >= committed.len()
        };
        if is_new {
            comparison.note(limit, Difference::RowNew(is.name(at)));
        }
    }
    comparison
}

/// Compares CSV files as they are: by cells, and then by bytes.
///
/// # Errors
/// [`ReadError`] if the committed file is no CSV; `name` is what the error calls it.
pub fn csv(
    name: &str,
    committed: &[u8],
    fresh: &RowSet,
    key: &[&str],
    limit: usize,
) -> Result<Comparison, ReadError> {
    let was = RowSet::from_reader(name, committed, Schema::AllText)?;
    let mut comparison = rows(&was, fresh, key, limit);
    let fresh = fresh.to_csv().map_err(|error| ReadError {
        name: name.to_owned(),
        line: None,
        problem: Box::new(error.into()),
    })?;
    if comparison.is_empty() && committed != fresh {
        // The bytes are UTF-8 on both sides: one was read as text, the other was made from it.
        let as_text = String::from_utf8_lossy;
        if let Some(line) = text_lines(&as_text(committed), &as_text(&fresh)) {
            comparison.note(limit, Difference::Form(line));
        }
    }
    Ok(comparison)
}

/// The first line in which two texts differ, line ends included; `None` if they are equal.
#[must_use]
pub fn text_lines(committed: &str, fresh: &str) -> Option<LineDifference> {
    if committed == fresh {
        return None;
    }
    let (mut was, mut is) = (committed.split('\n'), fresh.split('\n'));
    let mut line = 0;
    loop {
        line += 1;
        let (was, is) = (was.next(), is.next());
        // Unequal texts differ in a line before both end.
        if was != is || was.is_none() {
            let (was, is) = (was.map(str::to_owned), is.map(str::to_owned));
            return Some(LineDifference { line, was, is });
        }
    }
}

/// The columns of both sides with their two places; notes the others.
fn shared_columns<'a>(
    committed: &'a RowSet,
    fresh: &RowSet,
    mut note: impl FnMut(Difference),
) -> Vec<(&'a str, usize, usize)> {
    let mut shared = Vec::new();
    for (mine, column) in committed.columns().iter().enumerate() {
        match fresh.index_of(&column.name) {
            Ok(theirs) => shared.push((column.name.as_str(), mine, theirs)),
            Err(_) => note(Difference::ColumnGone(column.name.clone())),
        }
    }
    for column in fresh.columns() {
        if committed.index_of(&column.name).is_err() {
            note(Difference::ColumnNew(column.name.clone()));
        }
    }
    if !shared.is_sorted_by_key(|(_, _, theirs)| *theirs) {
        note(Difference::ColumnOrder);
    }
    shared
}

fn text(row: &[Cell], index: usize) -> String {
    row.get(index).map(Cell::to_string).unwrap_or_default()
}

/// Rows with the values that identify each.
struct Keyed {
    columns: Vec<String>,
    keys: Vec<Vec<String>>,
    places: BTreeMap<Vec<String>, usize>,
}

impl Keyed {
    /// Without keys at all if one of the columns is not there.
    fn new(rows: &RowSet, key: &[&str]) -> Self {
        let indices: Result<Vec<usize>, _> = key.iter().map(|name| rows.index_of(name)).collect();
        let indices = indices.unwrap_or_default();
        let key_of = |row: &Vec<Cell>| indices.iter().map(|index| text(row, *index)).collect();
        let keys: Vec<Vec<String>> = rows.rows().iter().map(key_of).collect();
        let name_of = |index: &usize| rows.columns().get(*index).map(|column| column.name.clone());
        Self {
            columns: indices.iter().filter_map(name_of).collect(),
            places: keys
                .iter()
                .cloned()
                .enumerate()
                .map(|(at, key)| (key, at))
                .collect(),
            keys,
        }
    }

    fn identifies(&self) -> bool {
        !self.columns.is_empty() && self.places.len() == self.keys.len()
    }

    fn key(&self, at: usize) -> &[String] {
        self.keys.get(at).map_or(&[], Vec::as_slice)
    }

    fn find(&self, key: &[String]) -> Option<usize> {
        self.places.get(key).copied()
    }

    fn name(&self, at: usize) -> RowName {
        let pairs = self.columns.iter().zip(self.key(at));
        let key: Vec<String> = pairs
            .map(|(column, value)| format!("{column}={value}"))
            .collect();
        RowName {
            number: at + 1,
            key: key.join(" "),
        }
    }
}

/// `row 3 (cell=2 turn=1)`.
impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.number)?;
        if self.key.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.key)
        }
    }
}

/// One line: where, what was, what is.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell {
                row,
                column,
                was,
                is,
            } => {
                write!(
                    f,
                    "{row}, column `{column}`: was {}, is {}",
                    or_missing(was),
                    or_missing(is)
                )
            }
            Self::RowGone(row) => write!(f, "{row}: is gone"),
            Self::RowNew(row) => write!(f, "{row}: is new"),
            Self::ColumnGone(column) => write!(f, "column `{column}`: is gone"),
            Self::ColumnNew(column) => write!(f, "column `{column}`: is new"),
            Self::ColumnOrder => f.write_str("the columns are in another order"),
            Self::RowOrder => f.write_str("the rows are in another order"),
            Self::Form(line) => write!(f, "the same cells are written differently: {line}"),
        }
    }
}

/// `line 3: was "a", is "b"`.
impl fmt::Display for LineDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |line: &Option<String>| {
            line.as_ref()
                .map_or_else(|| "the end".to_owned(), |line| format!("{line:?}"))
        };
        write!(
            f,
            "line {}: was {}, is {}",
            self.line,
            quoted(&self.was),
            quoted(&self.is)
        )
    }
}

fn or_missing(text: &str) -> &str {
    if text.is_empty() { "(missing)" } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::{Column, Kind};

    const WAS: &str = "cell,turn,cost_usd\n0,1,0.010780\n0,2,0.020000\n1,1,\n";

    fn set(csv: &str) -> RowSet {
        RowSet::from_reader("x", csv.as_bytes(), Schema::ByName).unwrap()
    }

    fn differences(fresh: &str, key: &[&str]) -> Vec<String> {
        let comparison = csv("x", WAS.as_bytes(), &set(fresh), key, 9).unwrap();
        comparison
            .differences
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn one_changed_digit_is_named_with_its_cell() {
        let fresh = WAS.replace("0.010780", "0.010781");
        assert_eq!(
            differences(&fresh, &["cell", "turn"]),
            ["row 1 (cell=0 turn=1), column `cost_usd`: was 0.010780, is 0.010781"]
        );
        assert_eq!(
            differences(&fresh, &[]),
            ["row 1, column `cost_usd`: was 0.010780, is 0.010781"]
        );
    }

    #[test]
    fn missing_is_not_zero() {
        assert_eq!(
            differences(&WAS.replace("1,1,\n", "1,1,0.000000\n"), &[]),
            ["row 3, column `cost_usd`: was (missing), is 0.000000"]
        );
    }

    #[test]
    fn an_inserted_row_is_one_difference_where_keys_identify_rows() {
        let fresh = WAS.replace("1,1,\n", "0,3,0.030000\n1,1,\n");
        assert_eq!(
            differences(&fresh, &["cell", "turn"]),
            ["row 3 (cell=0 turn=3): is new"]
        );
        // The cell alone identifies no row, so rows are paired by position.
        assert_eq!(differences(&fresh, &["cell"]).len(), 4);
        assert_eq!(
            differences(
                "cell,turn,cost_usd\n0,1,0.010780\n1,1,\n",
                &["cell", "turn"]
            ),
            ["row 2 (cell=0 turn=2): is gone"]
        );
    }

    #[test]
    fn columns_and_orders_are_compared_too() {
        assert_eq!(
            differences("cell,turn,a\n0,1,\n0,2,\n1,1,\n", &[]),
            ["column `cost_usd`: is gone", "column `a`: is new"]
        );
        assert_eq!(
            differences(
                "turn,cell,cost_usd\n1,0,0.010780\n2,0,0.020000\n1,1,\n",
                &[]
            ),
            ["the columns are in another order"]
        );
        assert_eq!(
            differences(
                "cell,turn,cost_usd\n0,2,0.020000\n0,1,0.010780\n1,1,\n",
                &["cell", "turn"]
            ),
            ["the rows are in another order"]
        );
    }

    #[test]
    fn the_same_cells_written_differently_are_a_difference() {
        let committed = WAS.replace('\n', "\r\n");
        let comparison = csv("x", committed.as_bytes(), &set(WAS), &[], 9).unwrap();
        assert_eq!(
            comparison.differences[0].to_string(),
            "the same cells are written differently: \
             line 1: was \"cell,turn,cost_usd\\r\", is \"cell,turn,cost_usd\""
        );
        assert!(csv("x", b"", &set(WAS), &[], 9).is_err());
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let fresh = "cell,turn,cost_usd\n9,9,9.000000\n9,9,9.000000\n9,9,9.000000\n";
        let comparison = rows(&set(WAS), &set(fresh), &[], 2);
        assert_eq!((comparison.differences.len(), comparison.total), (2, 9));
    }

    #[test]
    fn texts_differ_in_their_first_unequal_line() {
        assert_eq!(text_lines("a\nb\n", "a\nb\n"), None);
        let say = |was, is| text_lines(was, is).map(|line| line.to_string());
        assert_eq!(
            say("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2: was \"b\", is \"c\"")
        );
        assert_eq!(
            say("a\n", "a").as_deref(),
            Some("line 2: was \"\", is the end")
        );
    }

    proptest! {
        #[test]
        fn nothing_differs_from_itself(
            cells in proptest::collection::vec("[a-c,\"\n]{0,3}", 0..9),
        ) {
            let mut set = RowSet::new(vec![Column::new("a", Kind::Text)]).unwrap();
            for cell in cells {
                set.push(vec![Cell::Text(cell)]).unwrap();
            }
            let bytes = set.to_csv().unwrap();
            for key in [&[][..], &["a"], &["b"]] {
                prop_assert!(rows(&set, &set, key, 9).is_empty());
                prop_assert!(csv("x", &bytes, &set, key, 9).unwrap().is_empty());
            }
        }

        #[test]
        fn texts_are_equal_or_differ_in_a_line(was in "[ab\n]{0,6}", is in "[ab\n]{0,6}") {
            match text_lines(&was, &is) {
                None => prop_assert_eq!(was, is),
                Some(found) => prop_assert_ne!(found.was, found.is),
            }
        }
    }
}
