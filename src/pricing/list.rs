//! A file of prices, and the one that ships with the chapter's price.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::{Document, Problems};
use crate::money::{MoneyError, PicoUsd};
use crate::pricing::{Price, Rates};

/// The price that the chapter computes with.
pub const CHAPTER_PRICE: &str = "chapter";

const BUILTIN: &str = include_str!("../../assets/prices.toml");
const TOKENS_PER_PRICE: i64 = 1_000_000;

/// Prices by name.
#[derive(Clone, Debug)]
pub struct PriceList {
    prices: Vec<Price>,
}

/// One entry of a price file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The name that experiments use.
    name: String,
    /// US dollars per million prompt tokens.
    #[expect(dead_code, reason = "read digit by digit from the source text instead")]
    input_usd_per_million: f64,
    /// US dollars per million completion tokens.
    #[expect(dead_code, reason = "read digit by digit from the source text instead")]
    output_usd_per_million: f64,
    /// Who published the price.
    source: String,
    /// When it was read there, `YYYY-MM-DD`.
    date: String,
}

/// A price file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    /// The prices.
    price: Vec<Entry>,
}

impl PriceList {
    /// The prices that loopmeter ships.
    ///
    /// # Errors
    /// [`Problems`] of the shipped file, which a test keeps free of any.
    pub fn builtin() -> Result<Self, Problems> {
        Self::from_document(&Document::parse("<embedded prices.toml>", BUILTIN)?)
    }

    /// The prices of a file.
    ///
    /// # Errors
    /// All [`Problems`] of the file.
    pub fn from_document(document: &Document) -> Result<Self, Problems> {
        let mended = document.mended::<PriceFile>();
        let file: PriceFile = mended.decode()?;
        let mut findings = mended.findings();
        let mut prices: Vec<Price> = Vec::new();
        for (at, entry) in file.price.into_iter().enumerate() {
            let pointer = |key: &str| format!("/price/{at}/{key}");
            let mut read = |key: &str| {
                let text = document.source_at(&pointer(key)).unwrap_or_default();
                per_token(text).unwrap_or_else(|problem| {
                    let help = "write plain decimal dollars per million tokens, such as 2.00";
                    findings.add(&pointer(key), &problem.to_string(), help);
                    PicoUsd::ZERO
                })
            };
            let input = read("input_usd_per_million");
            let output = read("output_usd_per_million");
            let Entry {
                name, source, date, ..
            } = entry;
            if prices.iter().any(|price| price.name == name) {
                let message = format!("price {name:?} is listed twice");
                findings.add(&pointer("name"), &message, "give each entry its own name");
            }
            prices.push(Price {
                name,
                rates: Rates::plain(input, output),
                tiers: Vec::new(),
                source,
                date,
            });
        }
        findings.finish()?;
        Ok(Self { prices })
    }

    /// Adds a price, unless one of its name is there.
    pub fn add(&mut self, price: Price) {
        if self.get(&price.name).is_none() {
            self.prices.push(price);
        }
    }

    /// The price called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Price> {
        self.prices.iter().find(|price| price.name == name)
    }

    /// All prices, in the order of the file.
    #[must_use]
    pub fn all(&self) -> &[Price] {
        &self.prices
    }
}

/// Why digits of dollars per million tokens are no price of a token.
#[derive(Debug, thiserror::Error)]
pub(super) enum PerTokenError {
    /// Not an amount of money.
    #[error(transparent)]
    Money(MoneyError),
    /// Below nothing.
    #[error("a price cannot be negative")]
    Negative,
    /// No whole number of pico-dollars, or more of them than can be counted.
    #[error("finer than a pico-dollar per token, or out of range")]
    TooFine,
}

/// The price of one token, from the digits of dollars per million tokens. What is no whole number
/// of pico-dollars is refused, not rounded.
pub(super) fn per_token(text: &str) -> Result<PicoUsd, PerTokenError> {
    let million: PicoUsd = text.parse().map_err(|error| match error {
        MoneyError::OutOfRange(_) => PerTokenError::TooFine,
        error @ MoneyError::NotADecimal(_) => PerTokenError::Money(error),
    })?;
    if million < PicoUsd::ZERO {
        return Err(PerTokenError::Negative);
    }
    if million.pico() % TOKENS_PER_PRICE != 0 {
        return Err(PerTokenError::TooFine);
    }
    Ok(PicoUsd::from_pico(million.pico() / TOKENS_PER_PRICE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    #[test]
    fn the_chapter_price_is_two_and_twelve_dollars_per_million() {
        let list = PriceList::builtin().unwrap();
        let price = list.get(CHAPTER_PRICE).unwrap();
        let usage = Usage {
            prompt_tokens: 815,
            completion_tokens: 70,
            ..Usage::default()
        };
        assert_eq!(price.cost(&usage).to_string(), "0.002470");
    }

    #[test]
    fn every_wrong_price_of_a_file_is_reported_where_it_stands() {
        let text = "[[price]]\nname = \"a\"\ninput_usd_per_million = -1.0\n\
                    output_usd_per_million = 0.0000001\nsource = \"s\"\ndate = \"d\"\n\
                    [[price]]\nname = \"a\"\ninput_usd_per_million = 1e3\n\
                    output_usd_per_million = 0.15\nsource = \"s\"\ndate = \"d\"\n";
        let document = Document::parse("prices.toml", text).unwrap();
        let problems = PriceList::from_document(&document).unwrap_err();
        let at: Vec<_> = problems.iter().map(|p| (p.line, p.column)).collect();
        assert_eq!(at, [(3, 25), (4, 26), (8, 8), (9, 25)]);
    }
}
