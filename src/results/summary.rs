//! Repeated samples in one row: the median of each measurement, and how sure it is.

use std::collections::BTreeSet;

use super::cell::{Cell, Kind};
use super::decimal::parse_decimal;
use super::rows::{Column, RowSet, RowsError, UnknownColumn};
use super::stats::{Bootstrap, NoStatistic, Sample};

/// Decimals of a statistic.
const DECIMALS: u32 = 3;
/// Decimals of an amount of dollars.
const USD_DECIMALS: usize = 12;

/// The column that holds how many samples a row is of.
pub const N: &str = "n";

/// What is summarised, and over which rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummarySpec {
    /// Rows that agree in these columns are samples of one thing.
    pub labels: Vec<String>,
    /// Columns that are shown where all samples agree, and are empty where they do not.
    pub same: Vec<String>,
    /// Columns of which the median is taken.
    pub columns: Vec<String>,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// It speaks of a column that does not exist.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// Two of its columns have one name.
    #[error(transparent)]
    Rows(#[from] RowsError),
}

impl SummarySpec {
    /// The columns of the summary of such rows: labels, `n`, what is the same in all samples, and
    /// for each measurement `median_…`, `low_…` and `high_…`. A text of numbers such as
    /// `501.2 1002.9` has a median alone, number by number.
    ///
    /// # Errors
    /// [`SummaryError`]
    pub fn header(&self, rows: &RowSet) -> Result<RowSet, SummaryError> {
        let column = |name: &String| Ok(rows.columns()[rows.index_of(name)?].clone());
        let labels: Result<Vec<Column>, UnknownColumn> = self.labels.iter().map(column).collect();
        let same: Result<Vec<Column>, UnknownColumn> = self.same.iter().map(column).collect();
        let mut columns = labels?;
        columns.push(Column::new(N, Kind::Count));
        columns.extend(same?);
        for name in &self.columns {
            let kind = column(name)?.kind;
            let statistics: &[&str] = match kind {
                Kind::Text | Kind::Flag => &["median"],
                _ => &["median", "low", "high"],
            };
            let named = statistics
                .iter()
                .map(|of| Column::new(format!("{of}_{name}"), kind));
            columns.extend(named);
        }
        Ok(RowSet::new(columns)?)
    }

    /// One row for each combination of labels, in the order in which they first occur. A statistic
    /// is missing where a sample has no value, and an interval where the samples are too few.
    ///
    /// # Errors
    /// [`SummaryError`]
    pub fn of(&self, rows: &RowSet) -> Result<RowSet, SummaryError> {
        let mut summary = self.header(rows)?;
        let index_of = |names: &[String]| -> Result<Vec<usize>, UnknownColumn> {
            names.iter().map(|name| rows.index_of(name)).collect()
        };
        let (labels, same) = (index_of(&self.labels)?, index_of(&self.same)?);
        let measured = index_of(&self.columns)?;
        for group in groups(rows, &labels) {
            let first = group.first().copied().unwrap_or_default();
            let mut row: Vec<Cell> = labels.iter().map(|&at| first[at].clone()).collect();
            row.push(Cell::from(u64::try_from(group.len()).ok()));
            row.extend(same.iter().map(|&at| agreed(&group, at)));
            for &at in &measured {
                let kind = rows.columns()[at].kind;
                let cells: Vec<&Cell> = group.iter().map(|row| &row[at]).collect();
                row.extend(statistics(kind, &cells));
            }
            summary.push(row)?;
        }
        Ok(summary)
    }

    /// Lines that say how the numbers come about, and where samples are too few.
    #[must_use]
    pub fn notes(&self, summary: &RowSet) -> Vec<String> {
        let Bootstrap {
            seed,
            resamples,
            level,
        } = Bootstrap::default();
        let percent = level / 10;
        let mut notes = vec![format!(
            "`low_` and `high_`: {percent} % interval of the median, by bootstrap ({resamples} \
             draws, seed {seed})"
        )];
        let few = Self::too_few(summary).into_iter();
        notes.extend(few.map(|error| format!("no interval where {error}")));
        notes
    }

    /// Why there is no interval, for each number of samples that is too small for one.
    #[must_use]
    pub fn too_few(summary: &RowSet) -> Vec<NoStatistic> {
        let counts = summary.cells(N).into_iter().flatten();
        let counts: BTreeSet<usize> = counts
            .filter_map(|count| count.to_string().parse().ok())
            .collect();
        let few = counts.into_iter().filter_map(|n| {
            let sample = Sample::new(vec![0.0; n]).ok()?;
            sample.median_interval(Bootstrap::default()).err()
        });
        few.collect()
    }
}

/// The rows, those that agree in all labels together.
fn groups<'r>(rows: &'r RowSet, labels: &[usize]) -> Vec<Vec<&'r [Cell]>> {
    let key =
        |row: &[Cell]| -> Vec<String> { labels.iter().map(|&at| row[at].to_string()).collect() };
    let mut groups: Vec<(Vec<String>, Vec<&[Cell]>)> = Vec::new();
    for row in rows.rows() {
        let key = key(row);
        // Samples of one cell follow each other.
        match groups.last_mut() {
            Some((last, group)) if *last == key => group.push(row),
            _ => groups.push((key, vec![row])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn agreed(group: &[&[Cell]], at: usize) -> Cell {
    let mut cells = group.iter().map(|row| &row[at]);
    let first = cells.next().unwrap_or(&Cell::Missing);
    if cells.all(|cell| cell == first) {
        first.clone()
    } else {
        Cell::Missing
    }
}

fn statistics(kind: Kind, cells: &[&Cell]) -> Vec<Cell> {
    if matches!(kind, Kind::Text | Kind::Flag) {
        return vec![median_list(cells).unwrap_or(Cell::Missing)];
    }
    let values: Option<Vec<f64>> = cells.iter().map(|cell| cell.to_f64()).collect();
    let Some(sample) = values.and_then(|values| Sample::new(values).ok()) else {
        return vec![Cell::Missing; 3];
    };
    let interval = sample.median_interval(Bootstrap::default()).ok();
    let (low, high) = interval.map(|bounds| (bounds.low, bounds.high)).unzip();
    let shown = [sample.median().ok(), low, high];
    shown.map(|value| printed(kind, value)).to_vec()
}

fn printed(kind: Kind, value: Option<f64>) -> Cell {
    let Some(value) = value else {
        return Cell::Missing;
    };
    match kind {
        Kind::Usd => kind
            .parse(&format!("{value:.USD_DECIMALS$}"))
            .unwrap_or(Cell::Missing),
        _ => Cell::statistic(value, DECIMALS),
    }
}

/// The medians of the first numbers, the second numbers and so on; none where the texts are not
/// lists of equally many numbers.
fn median_list(cells: &[&Cell]) -> Option<Cell> {
    let lists: Option<Vec<Vec<f64>>> = cells.iter().map(|cell| numbers(cell)).collect();
    let lists = lists?;
    let length = lists.first()?.len();
    if lists.iter().any(|list| list.len() != length) {
        return None;
    }
    let median = |place: usize| {
        let column = lists.iter().filter_map(|list| list.get(place).copied());
        let median = Sample::new(column.collect()).ok()?.median().ok()?;
        Some(Cell::statistic(median, DECIMALS).to_string())
    };
    let medians: Option<Vec<String>> = (0..length).map(median).collect();
    Some(Cell::from(medians?.join(" ")))
}

fn numbers(cell: &Cell) -> Option<Vec<f64>> {
    let Cell::Text(text) = cell else {
        return None;
    };
    let number = |text: &str| Cell::number(parse_decimal(text)?).to_f64();
    text.split(' ').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Schema;

    fn spec(columns: &[&str]) -> SummarySpec {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        SummarySpec {
            labels: owned(&["case"]),
            same: owned(&["turns"]),
            columns: owned(columns),
        }
    }

    fn rows(samples: &[&str]) -> RowSet {
        let text = format!(
            "case,turns,wall_ms,steps_list,cost_usd\n{}\n",
            samples.join("\n")
        );
        RowSet::from_reader("cells.csv", text.as_bytes(), Schema::ByName).unwrap()
    }

    fn csv(columns: &[&str], samples: &[&str]) -> String {
        let summary = spec(columns).of(&rows(samples)).unwrap();
        String::from_utf8(summary.to_csv().unwrap()).unwrap()
    }

    #[test]
    fn samples_of_a_cell_become_its_median_with_an_interval_where_there_are_enough() {
        let wall = |ms: &str| format!("a,3,{ms},,0.001");
        let six: Vec<String> = ["9", "1.5", "2", "2.5", "3", "2.25"].map(wall).to_vec();
        let six: Vec<&str> = six.iter().map(String::as_str).collect();
        let few = ["b,3,1,,", "b,4,2,,"];
        assert_eq!(
            csv(&["wall_ms"], &[&six[..], &few].concat()),
            "case,n,turns,median_wall_ms,low_wall_ms,high_wall_ms\n\
             a,6,3,2.375,1.750,6.000\n\
             b,2,,1.500,,\n"
        );
    }

    #[test]
    fn a_sample_without_a_value_leaves_no_statistic() {
        assert_eq!(
            csv(&["wall_ms"], &["a,3,1,,", "a,3,,,"]),
            "case,n,turns,median_wall_ms,low_wall_ms,high_wall_ms\na,2,3,,,\n"
        );
    }

    #[test]
    fn lists_are_taken_number_by_number_and_money_stays_money() {
        assert_eq!(
            csv(
                &["steps_list", "cost_usd"],
                &[
                    "a,3,1,1 10,0.001",
                    "a,3,1,2 30,0.002",
                    "b,3,1,1 2,",
                    "b,3,1,1,"
                ]
            ),
            "case,n,turns,median_steps_list,median_cost_usd,low_cost_usd,high_cost_usd\n\
             a,2,3,1.500 20.000,0.001500,,\n\
             b,2,3,,,,\n"
        );
    }

    #[test]
    fn the_notes_say_how_many_samples_an_interval_needs() {
        let summary = spec(&["wall_ms"])
            .of(&rows(&["a,3,1,,", "b,3,1,,"]))
            .unwrap();
        let notes = spec(&["wall_ms"]).notes(&summary);
        assert_eq!(
            notes[1..],
            ["no interval where n = 1 is too small: 6 measurements are needed"]
        );
    }

    #[test]
    fn an_unknown_column_is_refused() {
        let error = spec(&["wal_ms"]).header(&rows(&[])).unwrap_err();
        assert!(
            error.to_string().contains("did you mean `wall_ms`?"),
            "{error}"
        );
    }
}
