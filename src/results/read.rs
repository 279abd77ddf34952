//! Reading rows back from CSV, with the place of whatever is wrong.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use super::cell::{Cell, Kind};
use super::decimal::parse_decimal;
use super::rows::{Column, RowSet, RowsError, check_header};
use crate::files::open_to_read;

/// How the kinds of the columns are known.
#[derive(Clone, Copy, Debug)]
pub enum Schema<'a> {
    /// By the unit in the name; without one, by content: whole numbers, flags, decimals, or else
    /// words.
    ByName,
    /// The header must be exactly these columns.
    Given(&'a [Column]),
    /// Every cell is taken as the text that it is, to compare files letter by letter.
    AllText,
}

/// A CSV file that cannot be read as rows: where, and what is wrong there.
#[derive(Debug)]
pub struct ReadError {
    /// The file, as the caller named it.
    pub name: String,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Box<ReadProblem>,
}

/// What is wrong with a CSV file.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// It cannot be read at all.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is not UTF-8.
    #[error("not UTF-8 in cell {0} of the row: save the file as UTF-8")]
    NotUtf8(usize),
    /// Its cells do not make rows.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Its header is another one.
    #[error("the header is `{found}` and should be `{expected}`")]
    Header {
        /// The columns that were expected.
        expected: String,
        /// The columns that are there.
        found: String,
    },
}

/// `file:line: what`, as a compiler prints it.
impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ReadError {}

impl RowSet {
    /// Reads a CSV file.
    ///
    /// # Errors
    /// [`ReadError`] with the line and the column of the first thing that is wrong.
    pub fn read_csv(path: &Path, schema: Schema<'_>) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        match open_to_read(path) {
            Ok(file) => Self::from_reader(&name, file, schema),
            Err(error) => Err(at(&name, None)(error.into())),
        }
    }

    /// Reads CSV from anything; `name` is what errors call it.
    ///
    /// # Errors
    /// [`ReadError`] with the line and the column of the first thing that is wrong.
    pub fn from_reader(
        name: &str,
        reader: impl Read,
        schema: Schema<'_>,
    ) -> Result<Self, ReadError> {
        let texts = Texts::read(name, reader)?;
        let columns = texts.columns(schema).map_err(at(name, Some(1)))?;
        let mut rows = Self::new(columns).map_err(|error| at(name, Some(1))(error.into()))?;
        for (line, record) in &texts.records {
            let cells = parse_row(rows.columns(), record);
            cells
                .and_then(|cells| rows.push(cells))
                .map_err(|error| at(name, Some(*line))(error.into()))?;
        }
        Ok(rows)
    }
}

pub(super) fn at(name: &str, line: Option<u64>) -> impl FnOnce(ReadProblem) -> ReadError {
    let name = name.to_owned();
    move |problem| ReadError {
        name,
        line,
        problem: Box::new(problem),
    }
}

/// Checks that a header is exactly these columns.
pub(super) fn check_columns(
    header: &csv::StringRecord,
    columns: &[Column],
) -> Result<(), ReadProblem> {
    let expected = columns.iter().map(|column| column.name.as_str());
    if header.iter().eq(expected.clone()) {
        return Ok(());
    }
    Err(ReadProblem::Header {
        expected: expected.collect::<Vec<_>>().join(","),
        found: header.iter().collect::<Vec<_>>().join(","),
    })
}

fn parse_row(columns: &[Column], record: &csv::StringRecord) -> Result<Vec<Cell>, RowsError> {
    let cells = columns.iter().zip(record);
    cells
        .map(|(column, text)| parse_cell(column, text))
        .collect()
}

pub(super) fn parse_cell(column: &Column, text: &str) -> Result<Cell, RowsError> {
    let cell = column.kind.parse(text);
    cell.map_err(|problem| RowsError::Cell {
        column: column.name.clone(),
        problem,
    })
}

/// A CSV file before its cells have kinds.
struct Texts {
    header: csv::StringRecord,
    records: Vec<(u64, csv::StringRecord)>,
}

impl Texts {
    fn read(name: &str, reader: impl Read) -> Result<Self, ReadError> {
        let mut csv = csv::Reader::from_reader(reader);
        let header = csv
            .headers()
            .map_err(|error| from_csv(name, error))?
            .clone();
        // A missing header is told before the rows under it are.
        check_header(header.iter()).map_err(|error| at(name, Some(1))(error.into()))?;
        let mut records = Vec::new();
        for record in csv.records() {
            let record = record.map_err(|error| from_csv(name, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            records.push((line, record));
        }
        Ok(Self { header, records })
    }

    fn columns(&self, schema: Schema<'_>) -> Result<Vec<Column>, ReadProblem> {
        if let Schema::Given(columns) = schema {
            check_columns(&self.header, columns)?;
            return Ok(columns.to_vec());
        }
        let named = self.header.iter().enumerate().map(|(index, name)| {
            let kind = match schema {
                Schema::AllText => Kind::Text,
                _ => Kind::of_name(name).unwrap_or_else(|| self.kind_by_content(index)),
            };
            Column::new(name, kind)
        });
        Ok(named.collect())
    }

    fn kind_by_content(&self, index: usize) -> Kind {
        let cells = self
            .records
            .iter()
            .filter_map(|(_, record)| record.get(index));
        let texts: Vec<&str> = cells.filter(|text| !text.is_empty()).collect();
        let all = |is: fn(&str) -> bool| !texts.is_empty() && texts.iter().all(|text| is(text));
        if all(is_canonical_integer) {
            Kind::Count
        } else if all(|text| text.parse::<bool>().is_ok()) {
            Kind::Flag
        } else if all(is_canonical_decimal) {
            Kind::Number
        } else {
            Kind::Text
        }
    }
}

/// `007` is a name and not a number: only what a number prints as is taken for one.
fn is_canonical_integer(text: &str) -> bool {
    text.parse::<i128>()
        .is_ok_and(|number| number.to_string() == text)
}

fn is_canonical_decimal(text: &str) -> bool {
    parse_decimal(text).is_some_and(|number| number.to_string() == text)
}

pub(super) fn from_csv(name: &str, error: csv::Error) -> ReadError {
    let line = error.position().map(csv::Position::line);
    let problem = match error.into_kind() {
        csv::ErrorKind::Io(error) => ReadProblem::Io(error),
        csv::ErrorKind::Utf8 { err, .. } => ReadProblem::NotUtf8(err.field() + 1),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => ReadProblem::Rows(RowsError::Width {
            expected: usize::try_from(expected_len).unwrap_or(usize::MAX),
            found: usize::try_from(len).unwrap_or(usize::MAX),
        }),
        // Seeking and serde are not used here, so no other kind comes.
        other => ReadProblem::Io(io::Error::other(format!("{other:?}"))),
    };
    at(name, line)(problem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;
    use crate::money::PicoUsd;

    fn read(csv: &str) -> Result<RowSet, String> {
        RowSet::from_reader("cells.csv", csv.as_bytes(), Schema::ByName).map_err(|e| e.to_string())
    }

    #[test]
    fn kinds_come_from_the_unit_or_else_from_the_content() {
        let rows = read(
            "scenario,turns,a_tokens,cost_usd,wall_ms,r_ratio,x_percent,ok,heat,code,none\n\
             plan,3,815,0.002470,1.5,3.7,75,true,0.5,007,\n\
             ,4,,,,,,,,8,\n",
        )
        .unwrap();
        let kinds: Vec<Kind> = rows.columns().iter().map(|column| column.kind).collect();
        assert_eq!(
            kinds,
            [
                Kind::Text,
                Kind::Count,
                Kind::Tokens,
                Kind::Usd,
                Kind::Ms,
                Kind::Ratio,
                Kind::Percent,
                Kind::Flag,
                Kind::Number,
                Kind::Text,
                Kind::Text
            ]
        );
        assert_eq!(
            rows.rows()[0][3],
            Cell::Usd(PicoUsd::from_pico(2_470_000_000))
        );
        assert_eq!(rows.rows()[1][2], Cell::Missing);
    }

    #[test]
    fn errors_name_file_line_and_column() {
        assert_eq!(
            read("a,cost_usd\nx,0.1\ny,O.2\n").unwrap_err(),
            "cells.csv:3: column `cost_usd`: \"O.2\" is not an amount of dollars"
        );
        assert_eq!(
            read("a,b\n1\n").unwrap_err(),
            "cells.csv:2: cells in the row: 1; columns: 2"
        );
        assert_eq!(
            read("").unwrap_err(),
            "cells.csv:1: there is no header: name at least one column"
        );
        assert_eq!(
            read("a,a\n").unwrap_err(),
            "cells.csv:1: two columns are called `a`: rename one"
        );
        let bytes: &[u8] = b"a,b\nok,\xff\n";
        let error = RowSet::from_reader("x.csv", bytes, Schema::ByName).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.csv:2: not UTF-8 in cell 2 of the row: save the file as UTF-8"
        );
        assert!(RowSet::read_csv(Path::new("/nowhere/cells.csv"), Schema::ByName).is_err());
    }

    #[test]
    fn a_given_schema_wants_its_own_header() {
        let columns = [Column::new("a", Kind::Text), Column::new("b", Kind::Count)];
        let error =
            RowSet::from_reader("x.csv", "b,a\n".as_bytes(), Schema::Given(&columns)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.csv:1: the header is `b,a` and should be `a,b`"
        );
    }

    fn cell(kind: Kind) -> BoxedStrategy<Cell> {
        let value = match kind {
            Kind::Usd => any::<i64>()
                .prop_map(|pico| Cell::Usd(PicoUsd::from_pico(pico)))
                .boxed(),
            Kind::Flag => any::<bool>().prop_map(Cell::Flag).boxed(),
            Kind::Text => "[a-z0-9 ,\"'\n\r;|éж漢😀\\\\]{0,8}"
                .prop_map(Cell::Text)
                .boxed(),
            _ => prop_oneof![
                any::<i64>().prop_map(Cell::from),
                (any::<i64>(), 0_u32..12).prop_map(|(m, scale)| Cell::from(Decimal::new(m, scale))),
            ]
            .boxed(),
        };
        prop_oneof![4 => value, 1 => Just(Cell::Missing)].boxed()
    }

    fn columns() -> impl Strategy<Value = Vec<Column>> {
        let kinds = prop_oneof![
            Just((Kind::Count, "")),
            Just((Kind::Number, "")),
            Just((Kind::Text, "")),
            Just((Kind::Flag, "")),
            Just((Kind::Usd, "_usd")),
            Just((Kind::Ms, "_ms")),
            Just((Kind::Tokens, "_tokens")),
            Just((Kind::Ratio, "_ratio")),
            Just((Kind::Percent, "_percent")),
        ];
        proptest::collection::vec(kinds, 1..6).prop_map(|kinds| {
            let named = kinds.into_iter().enumerate();
            named
                .map(|(i, (kind, unit))| Column::new(format!("c{i}{unit}"), kind))
                .collect()
        })
    }

    /// Any rows at all.
    fn row_sets() -> impl Strategy<Value = RowSet> {
        columns().prop_flat_map(|columns| {
            let row: Vec<_> = columns.iter().map(|column| cell(column.kind)).collect();
            proptest::collection::vec(row, 0..6).prop_map(move |rows| {
                let mut set = RowSet::new(columns.clone()).unwrap();
                for row in rows {
                    set.push(row).unwrap();
                }
                set
            })
        })
    }

    proptest! {
        #[test]
        fn rows_survive_csv_under_their_own_schema(rows in row_sets()) {
            let csv = rows.to_csv().unwrap();
            let back = RowSet::from_reader("x", &*csv, Schema::Given(rows.columns())).unwrap();
            prop_assert_eq!(back, rows);
        }

        #[test]
        fn bytes_survive_reading_under_any_schema(rows in row_sets()) {
            let csv = rows.to_csv().unwrap();
            for schema in [Schema::ByName, Schema::AllText] {
                let back = RowSet::from_reader("x", &*csv, schema).unwrap();
                prop_assert_eq!(back.to_csv().unwrap(), csv.clone());
            }
        }

        #[test]
        fn no_bytes_make_the_reader_fail_without_saying_where(bytes in any::<Vec<u8>>()) {
            if let Err(error) = RowSet::from_reader("x", &*bytes, Schema::ByName) {
                prop_assert!(error.line.is_some(), "{}", error);
            }
        }
    }
}
