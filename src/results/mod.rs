//! Rows: typed tables with units in their column names, and everything that reads them.
//!
//! Whoever measures makes a [`RowSet`]; a table, a fit, a claim and a comparison read one and
//! know nothing of where it came from.

mod cell;
pub mod claims;
pub mod compare;
mod decimal;
pub mod digest;
mod evaluate;
mod figures;
mod filter;
pub mod fit;
mod markdown;
mod read;
mod rows;
pub mod shift;
mod shown;
pub mod stats;
pub mod summary;
mod table;
mod wanted;
mod write;

pub use cell::{Cell, Kind, NotOfKind};
pub use decimal::{parse_decimal, round_half_away};
pub use figures::{Amount, Figure, Figures, ShownSign, Sign, Unit};
pub use filter::{Condition, Filter, FilterError};
pub use markdown::{escape, visible};
pub use read::{ReadError, ReadProblem, Schema};
pub use rows::{Column, RowSet, RowsError, UnknownColumn};
pub use shown::{Align, Clocked, Direction, Shown, Wording, Words};
pub use table::{Show, Table, TableColumn, TableError, TableSpec};
pub use wanted::{Wanted, each_row};
pub use write::CsvFile;

pub use crate::files::{AtomicFile, Commit, WriteError, WriteProblem, write_file};
