//! What readers see of the rows, in their language: tables, plots, and the words and numbers for
//! everything else that is shown; and whether a translation quotes the rows' numbers right
//! ([`prose`]).
//!
//! A [`Locale`] is one file of `locales/`: how its readers write numbers, and every string that
//! a table, plot or page shows.

mod csv;
mod file;
mod html;
mod latex;
mod locale;
mod message;
mod number;
mod page;
pub mod plot;
pub mod prose;
mod table;
mod wording;

pub use locale::{Locale, LocaleError};
pub use message::{Args, Variant};
pub use number::{Digits, NumberStyle};
pub use page::{Report, ReportError};
pub use table::{ExperimentTable, Format};
