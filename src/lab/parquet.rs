//! Rows as Parquet, for the engines that people query with.
//!
//! The files are made from the CSV files, which stay what is committed and checked. A column's
//! type follows from its kind, and so is the same whatever rows there are: counts and tokens are
//! 64-bit integers, dollars are decimals with twelve places and so exact, times, ratios and other
//! numbers are doubles, words are UTF-8. Missing is null.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::experiment::Experiment;
use crate::files::{AtomicFile, WriteError};
use crate::lab::{CELLS, LabError, TURNS};
use crate::results::{Cell, Column, Kind, ReadError, each_row};

/// How many rows are in memory, and in a row group.
const GROUP: usize = 65_536;
/// Places of an amount of dollars: whole pico-dollars.
const USD_SCALE: i32 = 12;
/// Digits of an amount of dollars.
const USD_PRECISION: i32 = 38;
/// Bytes of an amount of dollars.
const USD_BYTES: i32 = 16;

/// Why rows are not written as Parquet.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The columns of the rows cannot be told.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The rows cannot be encoded.
    #[error("{file}: rows cannot be written as Parquet: {source}")]
    Encode {
        /// The file.
        file: &'static str,
        /// Why.
        source: ParquetError,
    },
    /// A number does not fit its column's type.
    #[error("{file}: column `{column}`: {value} does not fit a 64-bit integer")]
    TooLarge {
        /// The file.
        file: &'static str,
        /// The column.
        column: String,
        /// The number.
        value: String,
    },
}

/// Writes the rows in the folder `from` as `cells.parquet` and `turns.parquet` into the folder
/// `to`; a file appears when it is whole.
///
/// # Errors
/// [`ExportError`]; the file at which it failed is then as it was.
pub fn export(experiment: &Experiment, from: &Path, to: &Path) -> Result<(), ExportError> {
    let files = [
        (CELLS, "cells.parquet", experiment.cell_columns()),
        (TURNS, "turns.parquet", experiment.turn_columns()),
    ];
    for (csv, name, columns) in files {
        let columns = columns
            .into_iter()
            .map(|column| typed(experiment, column))
            .collect();
        Export { name, columns }.write(&from.join(csv), &to.join(name))?;
    }
    Ok(())
}

/// A swept setting without a unit counts things, unless one of its values has decimals.
fn typed(experiment: &Experiment, column: Column) -> Column {
    let values = experiment.sweep().values_of(&column.name);
    let is_whole = |text: &str| text.parse::<i64>().is_ok();
    let mut values = values.iter().map(|value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    });
    match column.kind {
        Kind::Count if !values.all(|value| is_whole(&value)) => {
            Column::new(column.name, Kind::Number)
        }
        _ => column,
    }
}

/// One file and its columns.
struct Export {
    name: &'static str,
    columns: Vec<Column>,
}

type Writer = SerializedFileWriter<AtomicFile>;

impl Export {
    fn write(&self, csv: &Path, path: &Path) -> Result<(), ExportError> {
        let encode = |source| self.encoding(source);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let schema = self.schema().map_err(encode)?;
        let file = AtomicFile::create(path)?;
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))
            .map_err(encode)?;
        let places: Vec<usize> = (0..self.columns.len()).collect();
        let mut rows = Vec::new();
        each_row(csv, (&self.columns, &places), &mut |cells| {
            rows.push(cells);
            if rows.len() < GROUP {
                return Ok(());
            }
            self.group(&std::mem::take(&mut rows), &mut writer)
        })?;
        self.group(&rows, &mut writer)?;
        let mut file = writer.into_inner().map_err(encode)?;
        file.flush().map_err(|error| encode(error.into()))?;
        file.commit()?;
        Ok(())
    }

    fn schema(&self) -> Result<Arc<Type>, ParquetError> {
        let fields: Result<Vec<_>, _> = self.columns.iter().map(field).collect();
        let schema = Type::group_type_builder("row").with_fields(fields?);
        Ok(Arc::new(schema.build()?))
    }

    fn group(&self, rows: &[Vec<Cell>], writer: &mut Writer) -> Result<(), ExportError> {
        if rows.is_empty() {
            return Ok(());
        }
        let encode = |source| self.encoding(source);
        let mut group = writer.next_row_group().map_err(encode)?;
        for (at, column) in self.columns.iter().enumerate() {
            let Some(mut writer) = group.next_column().map_err(encode)? else {
                break;
            };
            let cells = rows.iter().filter_map(|row| row.get(at));
            self.column(column, cells, &mut writer)?;
            writer.close().map_err(encode)?;
        }
        group.close().map_err(encode)?;
        Ok(())
    }

    fn column<'c>(
        &self,
        column: &Column,
        cells: impl Iterator<Item = &'c Cell>,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ExportError> {
        let written = match column.kind {
            Kind::Count | Kind::Tokens => {
                let whole = cells.map(|cell| self.whole(column, cell));
                put::<Int64Type>(&whole.collect::<Result<Vec<_>, _>>()?, writer)
            }
            Kind::Usd => {
                put::<FixedLenByteArrayType>(&cells.map(dollars).collect::<Vec<_>>(), writer)
            }
            Kind::Ms | Kind::Ratio | Kind::Percent | Kind::Number => {
                put::<DoubleType>(&cells.map(Cell::to_f64).collect::<Vec<_>>(), writer)
            }
            Kind::Text => {
                let words = cells.map(|cell| match cell {
                    Cell::Missing => None,
                    cell => Some(ByteArray::from(cell.to_string().into_bytes())),
                });
                put::<ByteArrayType>(&words.collect::<Vec<_>>(), writer)
            }
            Kind::Flag => {
                let flags = cells.map(|cell| match cell {
                    Cell::Flag(flag) => Some(*flag),
                    _ => None,
                });
                put::<BoolType>(&flags.collect::<Vec<_>>(), writer)
            }
        };
        written.map_err(|source| self.encoding(source))
    }

    fn whole(&self, column: &Column, cell: &Cell) -> Result<Option<i64>, ExportError> {
        let too_large = || ExportError::TooLarge {
            file: self.name,
            column: column.name.clone(),
            value: cell.to_string(),
        };
        match cell {
            Cell::Missing => Ok(None),
            cell => cell.to_string().parse().map(Some).map_err(|_| too_large()),
        }
    }

    const fn encoding(&self, source: ParquetError) -> ExportError {
        ExportError::Encode {
            file: self.name,
            source,
        }
    }
}

/// The amount in whole pico-dollars, as the bytes of a decimal.
fn dollars(cell: &Cell) -> Option<FixedLenByteArray> {
    let Cell::Usd(amount) = cell else {
        return None;
    };
    let pico = i128::from(amount.pico()).to_be_bytes();
    Some(ByteArray::from(pico.to_vec()).into())
}

/// Writes the values that there are, and where there are none.
fn put<T: DataType>(
    values: &[Option<T::T>],
    writer: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let there: Vec<T::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    writer
        .typed::<T>()
        .write_batch(&there, Some(&levels), None)?;
    Ok(())
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let of = |physical| Type::primitive_type_builder(&column.name, physical);
    let field = match column.kind {
        Kind::Count | Kind::Tokens => of(Physical::INT64),
        Kind::Usd => of(Physical::FIXED_LEN_BYTE_ARRAY)
            .with_length(USD_BYTES)
            .with_precision(USD_PRECISION)
            .with_scale(USD_SCALE)
            .with_logical_type(Some(LogicalType::decimal(USD_SCALE, USD_PRECISION))),
        Kind::Ms | Kind::Ratio | Kind::Percent | Kind::Number => of(Physical::DOUBLE),
        Kind::Text => of(Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String)),
        Kind::Flag => of(Physical::BOOLEAN),
    };
    Ok(Arc::new(
        field.with_repetition(Repetition::OPTIONAL).build()?,
    ))
}
