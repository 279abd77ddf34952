//! What a token costs, from price lists that say where and when each price was read.
//!
//! Two lists ship: the price that the chapter computes with, and a table of models that are sold
//! today, taken from a public one. Neither passes through a float.

mod list;
mod price;

pub use list::{CHAPTER_PRICE, PriceList};
pub use price::{Price, Rates, Tier};
