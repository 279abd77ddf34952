//! What a token costs, from price lists that say where and when each price was read.
//!
//! Two lists ship: a short one with the price that the chapter computes with, and a table of the
//! models that are sold today, taken from a public one by [`import`]. [`find`] knows both. No
//! price passes through a float.

mod cache;
mod day;
mod find;
mod list;
mod models;
mod price;
mod upstream;

pub use cache::{Cache, CacheTerms, CacheTermsError, CacheUnit, CacheUse, CachedRequest};
pub use day::{Day, NotADay};
pub use find::{PriceError, find};
pub use list::{CHAPTER_PRICE, PriceList};
pub use models::{Listing, Model, ModelTable, NotBilled, Origin, Period, TableError};
pub use price::{Price, Rates, Tier};
pub use upstream::{ImportError, Imported, import};

#[cfg(test)]
mod tests;
