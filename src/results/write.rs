//! CSV files written row by row, which appear under their name when they are complete.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::cell::Cell;
use super::rows::{Column, RowsError, admit_row, check_header, csv_writer};
use crate::files::{AtomicFile, Commit, WriteError, at};

/// A CSV file written row by row; it appears under its name when it is committed.
pub struct CsvFile {
    columns: Vec<Column>,
    csv: csv::Writer<AtomicFile>,
    path: PathBuf,
    /// Where a cell is printed before it is written: rows are many.
    text: String,
}

impl CsvFile {
    /// Begins a CSV file and writes its header.
    ///
    /// # Errors
    /// [`WriteError`] if the file cannot be begun or the columns do not make a header.
    pub fn create(path: &Path, columns: Vec<Column>) -> Result<Self, WriteError> {
        let names = columns.iter().map(|column| column.name.as_str());
        check_header(names.clone()).map_err(|error| at(path)(misfit(error)))?;
        let mut csv = csv_writer(AtomicFile::create(path)?);
        csv.write_record(names)
            .map_err(|error| at(path)(io::Error::from(error)))?;
        Ok(Self {
            columns,
            csv,
            path: path.to_owned(),
            text: String::new(),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`WriteError`] if the row does not fit the columns or cannot be written.
    pub fn append(&mut self, cells: Vec<Cell>) -> Result<(), WriteError> {
        let cells =
            admit_row(&self.columns, cells).map_err(|error| at(&self.path)(misfit(error)))?;
        self.write(&cells)
            .map_err(|error| at(&self.path)(io::Error::from(error)))
    }

    fn write(&mut self, cells: &[Cell]) -> csv::Result<()> {
        for cell in cells {
            self.text.clear();
            // Writing to a text does not fail.
            let _ = write!(self.text, "{cell}");
            self.csv.write_field(&self.text)?;
        }
        self.csv.write_record(None::<&[u8]>)
    }

    /// Puts the file into its place, durably.
    ///
    /// # Errors
    /// [`WriteError`]; what stood there before still stands.
    pub fn commit(self) -> Result<Commit, WriteError> {
        let path = self.path.clone();
        self.commit_as(&path)
    }

    /// Puts the file into another place than it was begun for, durably.
    ///
    /// # Errors
    /// [`WriteError`]; what stood there before still stands.
    pub fn commit_as(self, path: &Path) -> Result<Commit, WriteError> {
        let file = self.csv.into_inner();
        let file = file.map_err(|error| at(path)(io::Error::from(error.error().kind())))?;
        file.commit_as(path)
    }
}

/// Cells that do not make a row: a mistake of the program and not of the folder.
fn misfit(error: RowsError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::write_file;
    use crate::results::Kind;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    fn columns() -> Vec<Column> {
        vec![Column::new("turns", Kind::Count)]
    }

    #[test]
    fn a_streamed_file_appears_only_when_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/cells.csv");
        let mut file = CsvFile::create(&path, columns()).unwrap();
        file.append(vec![Cell::from(3_u32)]).unwrap();
        assert!(!path.exists());
        assert_eq!(file.commit().unwrap(), Commit::Written);
        assert_eq!(fs::read(&path).unwrap(), b"turns\n3\n");
        assert_eq!(names(&folder.path().join("new")), ["cells.csv"]);
    }
    #[test]
    fn a_dropped_file_leaves_nothing_and_the_old_one_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cells.csv");
        write_file(&path, b"old").unwrap();
        let mut file = CsvFile::create(&path, columns()).unwrap();
        file.append(vec![Cell::from(3_u32)]).unwrap();
        assert!(file.append(vec![Cell::from("three")]).is_err());
        drop(file);
        assert_eq!(names(folder.path()), ["cells.csv"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}
