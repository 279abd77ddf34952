//! The numbers of a translation, held to what is known.
//!
//! An [`Edition`] is read character by character: markup falls away, digits of every script are
//! found, and each number is looked up in a [`Ledger`] of claims, tables and declared constants.
//! What `3,431` means is decided there and not by the habits of a language. [`check`] then looks
//! for what no single number shows: program output that contradicts itself, and differences from
//! a reference that was checked before.

mod align;
mod characters;
mod constants;
mod edition;
mod html;
mod input;
mod ledger;
mod markdown;
mod names;
mod near;
mod neighbours;
mod numbering;
mod reading;
mod report;
mod scan;
mod segment;
mod show;
#[cfg(test)]
mod tests;
mod text;
mod unit;

pub use align::TooLong;
pub use constants::Constants;
pub use edition::{Edition, Locale, Number, Place, Standing};
pub use input::{InputError, MAX_BYTES, read_text};
pub use ledger::{Ledger, LedgerError, Origin, Quantity};
pub use near::Slip;
pub use report::{ClaimStatus, Quotation, Report, Status, Tally};
pub use text::{Aside, Markup};
pub use unit::Unit;

/// Why a number is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It is one slip away from a known quantity, and no known quantity itself.
    NearMiss(Slip),
    /// The numbers printed beside it belong to a run in which it is another.
    Neighbours,
    /// The reference has another number in its place.
    Reference,
}

/// What a number contradicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// How it was found.
    pub cause: Cause,
    /// The quantities that it should be one of, by name; empty where the reference has a number
    /// that is no quantity.
    pub ids: Vec<String>,
    /// What they are, as published or as the reference has it.
    pub expected: Vec<String>,
}

impl Contradiction {
    pub(crate) fn of(ledger: &Ledger, cause: Cause, quantities: &[usize]) -> Self {
        let mut named: Vec<(String, String)> = Vec::new();
        for quantity in quantities
            .iter()
            .filter_map(|index| ledger.quantities().get(*index))
        {
            let known = (quantity.id.clone(), quantity.text.clone());
            if !named.contains(&known) {
                named.push(known);
            }
        }
        let ids = named.iter().map(|(id, _)| id.clone()).collect();
        let mut expected: Vec<String> = named.into_iter().map(|(_, text)| text).collect();
        expected.dedup();
        Self {
            cause,
            ids,
            expected,
        }
    }

    pub(crate) fn near(ledger: &Ledger, slip: Slip, quantities: &[usize]) -> Self {
        Self::of(ledger, Cause::NearMiss(slip), quantities)
    }
}

/// Checks an edition, and compares it with a reference where there is one.
///
/// # Errors
/// [`TooLong`] if the two are too long to be aligned.
pub fn check(
    mut edition: Edition,
    reference: Option<&Edition>,
    ledger: &Ledger,
) -> Result<Report, TooLong> {
    neighbours::compare(&mut edition.numbers, ledger);
    if let Some(reference) = reference {
        align::compare(&mut edition.numbers, &reference.numbers, ledger)?;
    }
    Ok(Report::new(edition, ledger))
}
