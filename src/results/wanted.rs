//! Reading only those rows and columns of a file that somebody asks for, so that what is read of
//! millions of rows is as large as the question.

use std::collections::BTreeSet;
use std::path::Path;

use super::cell::Cell;
use super::filter::Filter;
use super::read::{ReadError, at, check_columns, from_csv, parse_cell};
use super::rows::{Column, RowSet};
use crate::files::open_to_read;

/// What is asked of rows: some columns, of the rows that some filter means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    columns: BTreeSet<String>,
    filters: Vec<Filter>,
}

impl Wanted {
    /// Asks for these columns of the rows that `filter` means, besides all else.
    pub fn add<'c>(&mut self, columns: impl IntoIterator<Item = &'c str>, filter: &'c Filter) {
        let conditions = filter.0.iter().map(|condition| condition.column.as_str());
        let columns = columns.into_iter().chain(conditions);
        self.columns.extend(columns.map(str::to_owned));
        self.filters.push(filter.clone());
    }

    /// For each filter, the conditions as places in a row and the text that has to be there.
    fn conditions(&self, columns: &[Column]) -> Vec<Vec<(usize, &str)>> {
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let filters = self.filters.iter();
        let conditions = filters.map(|filter| {
            let conditions = filter.0.iter();
            let placed = conditions.filter_map(|it| Some((place(&it.column)?, it.equals.as_str())));
            placed.collect()
        });
        conditions.collect()
    }
}

impl RowSet {
    /// Reads what is wanted of a CSV file whose header is exactly `columns`. Where no column is
    /// wanted, the first is read, so that rows can be counted.
    ///
    /// # Errors
    /// [`ReadError`] with the line and the column of the first thing that is wrong.
    pub fn read_wanted(
        path: &Path,
        columns: &[Column],
        wanted: &Wanted,
    ) -> Result<Self, ReadError> {
        let is_wanted = |column: &Column| wanted.columns.contains(&column.name);
        let any = columns.iter().any(is_wanted);
        let places: Vec<usize> = (0..columns.len())
            .filter(|&at| is_wanted(&columns[at]) || !any && at == 0)
            .collect();
        let kept: Vec<Column> = places.iter().map(|&at| columns[at].clone()).collect();
        let conditions = wanted.conditions(&kept);
        let name = path.display().to_string();
        let mut rows = Self::new(kept).map_err(|error| at(&name, Some(1))(error.into()))?;
        let means = |cells: &[Cell], all: &Vec<(usize, &str)>| {
            all.iter().all(|(place, equals)| cells[*place].is(equals))
        };
        each_row(path, (columns, &places), &mut |cells| {
            if conditions.iter().any(|all| means(&cells, all)) {
                rows.push(cells)
                    .map_err(|error| at(&name, None)(error.into()))?;
            }
            Ok::<(), ReadError>(())
        })?;
        Ok(rows)
    }
}

/// Reads a CSV file whose header is exactly `columns`, and hands out of each row the cells at
/// these places; no more than one row is in memory.
///
/// # Errors
/// [`ReadError`] with the line and the column of the first thing that is wrong, and what `take`
/// returns.
pub fn each_row<E: From<ReadError>>(
    path: &Path,
    (columns, places): (&[Column], &[usize]),
    take: &mut dyn FnMut(Vec<Cell>) -> Result<(), E>,
) -> Result<(), E> {
    let name = path.display().to_string();
    let file = open_to_read(path).map_err(|error| at(&name, None)(error.into()))?;
    let mut csv = csv::Reader::from_reader(file);
    let header = csv.headers().map_err(|error| from_csv(&name, error))?;
    check_columns(header, columns).map_err(at(&name, Some(1)))?;
    let mut record = csv::StringRecord::new();
    while csv
        .read_record(&mut record)
        .map_err(|error| from_csv(&name, error))?
    {
        let line = record.position().map(csv::Position::line);
        let cell = |&at: &usize| parse_cell(&columns[at], record.get(at).unwrap_or_default());
        let cells: Result<Vec<Cell>, _> = places.iter().map(cell).collect();
        take(cells.map_err(|error| at(&name, line)(error.into()))?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Condition, Kind};

    const CELLS: &str = "case,turns,cost_usd\na,1,0.5\nb,2,0.25\na,3,\n";

    fn read(wanted: &Wanted) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cells.csv");
        std::fs::write(&path, CELLS).unwrap();
        let columns = [
            Column::new("case", Kind::Text),
            Column::new("turns", Kind::Count),
            Column::new("cost_usd", Kind::Usd),
        ];
        let rows = RowSet::read_wanted(&path, &columns, wanted).unwrap();
        String::from_utf8(rows.to_csv().unwrap()).unwrap()
    }

    #[test]
    fn only_what_some_question_means_is_read() {
        let mut wanted = Wanted::default();
        wanted.add(["turns"], &Filter(vec![Condition::new("case", "b")]));
        assert_eq!(read(&wanted), "case,turns\nb,2\n");
        let both = [Condition::new("case", "a"), Condition::new("turns", "3")];
        wanted.add(["cost_usd"], &Filter(both.to_vec()));
        assert_eq!(read(&wanted), "case,turns,cost_usd\nb,2,0.250000\na,3,\n");
        wanted.add(["turns"], &Filter::default());
        assert_eq!(read(&wanted).lines().count(), 4);
    }

    #[test]
    fn rows_can_be_counted_without_any_column() {
        assert_eq!(read(&Wanted::default()), "case\n");
        let mut wanted = Wanted::default();
        wanted.add([], &Filter::default());
        assert_eq!(read(&wanted), "case\na\nb\na\n");
    }
}
