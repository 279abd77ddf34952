//! Prices: by the name that was typed, in words, and as a list.

use std::fmt::Write as _;

use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output;
use crate::message::to_json;
use crate::money::PicoUsd;
use crate::pricing::{
    self, Day, Model, ModelTable, NotBilled, Price, PriceError, PriceList, Rates,
};

/// Tokens that a price is given for.
const MILLION: u64 = 1_000_000;

/// The price of that name.
pub(super) fn price(name: &str) -> Result<Price, Failure> {
    pricing::find(name).map_err(|error| Failure::wrong_input(&error))
}

/// `$2.5 in, $0.25 cached, $15 out per million tokens`, and what long prompts cost.
pub(super) fn in_words(price: &Price) -> String {
    let mut words = format!("{} per million tokens", rates_in_words(&price.rates));
    for tier in &price.tiers {
        let _ = write!(
            words,
            "; {} where a prompt has more than {} tokens",
            rates_in_words(&tier.rates),
            tier.above_prompt_tokens
        );
    }
    words
}

fn rates_in_words(rates: &Rates) -> String {
    let kinds = [
        (Some(rates.input), "in"),
        (rates.cached_read, "cached"),
        (rates.cache_write, "written to a cache"),
        (Some(rates.output), "out"),
    ];
    let known = kinds.into_iter().filter_map(|(price, kind)| {
        let million = price? * MILLION;
        Some(format!("${million} {kind}"))
    });
    known.collect::<Vec<_>>().join(", ")
}

/// Where a price comes from: `genai-prices 0.2.1 (…), 2026-11-30`.
pub(super) fn origin(price: &Price) -> String {
    format!("{}, {}", price.source, price.date)
}

/// Which prices are listed, and how.
pub(super) struct Listed<'a> {
    /// A part of a name; none for all.
    pub(super) pattern: Option<&'a str>,
    /// The day whose prices are meant; none for the day on which the table was read.
    pub(super) at: Option<Day>,
    /// Whether as JSON.
    pub(super) json: bool,
}

/// A price in JSON, with its unit in the keys: pico-dollars per token are micro-dollars per
/// million.
#[derive(Serialize)]
struct Shown {
    name: String,
    #[serde(flatten)]
    rates: ShownRates,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<ShownTier>,
    source: String,
    date: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    /// The first day of the price, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Day>,
}

#[derive(Serialize)]
struct ShownTier {
    above_prompt_tokens: u64,
    #[serde(flatten)]
    rates: ShownRates,
}

#[derive(Serialize)]
struct ShownRates {
    #[serde(rename = "input_pico_usd_per_token")]
    input: PicoUsd,
    #[serde(
        rename = "cached_read_pico_usd_per_token",
        skip_serializing_if = "Option::is_none"
    )]
    cached_read: Option<PicoUsd>,
    #[serde(
        rename = "cache_write_pico_usd_per_token",
        skip_serializing_if = "Option::is_none"
    )]
    cache_write: Option<PicoUsd>,
    #[serde(rename = "output_pico_usd_per_token")]
    output: PicoUsd,
}

impl From<&Rates> for ShownRates {
    fn from(rates: &Rates) -> Self {
        Self {
            input: rates.input,
            cached_read: rates.cached_read,
            cache_write: rates.cache_write,
            output: rates.output,
        }
    }
}

impl From<Price> for Shown {
    fn from(price: Price) -> Self {
        let tiers = price.tiers.iter().map(|tier| ShownTier {
            above_prompt_tokens: tier.above_prompt_tokens,
            rates: ShownRates::from(&tier.rates),
        });
        Self {
            rates: ShownRates::from(&price.rates),
            tiers: tiers.collect(),
            name: price.name,
            source: price.source,
            date: price.date,
            aliases: Vec::new(),
            from: None,
        }
    }
}

/// Lists prices.
pub(super) fn list(listed: &Listed<'_>) -> Result<Exit, Failure> {
    let own = PriceList::builtin()?;
    let table = ModelTable::shipped().map_err(|error| Failure::could_not_do(&error))?;
    let pattern = listed.pattern.map(str::to_lowercase);
    let meant = |name: &str| {
        let is_part = |pattern: &String| name.to_lowercase().contains(pattern);
        pattern.as_ref().is_none_or(is_part)
    };
    let own: Vec<&Price> = own
        .all()
        .iter()
        .filter(|price| meant(&price.name))
        .collect();
    let models: Vec<&Model> = table
        .models
        .iter()
        .filter(|model| model.full_names().iter().any(|name| meant(name)))
        .collect();
    if own.is_empty() && models.is_empty() {
        return Err(nothing(&table, listed.pattern.unwrap_or_default()));
    }
    if listed.json {
        let own = own.into_iter().cloned().map(Shown::from);
        let models = models
            .iter()
            .filter_map(|model| shown(&table, model, listed.at));
        output::line(to_json(&own.chain(models).collect::<Vec<_>>()))?;
        return Ok(Exit::Fine);
    }
    for price in own {
        let (name, words, origin) = (&price.name, in_words(price), origin(price));
        output::line(format_args!("{name:<24} {words}  {origin}"))?;
    }
    print_models(&table, &models, listed.at)?;
    Ok(Exit::Fine)
}

/// The error that names what was perhaps meant.
fn nothing(table: &ModelTable, pattern: &str) -> Failure {
    match table.model(pattern) {
        Err(error @ PriceError::Unknown { .. }) => Failure::wrong_input(&error),
        _ => Failure::WrongInput(format!("no price has {pattern:?} in its name")),
    }
}

fn shown(table: &ModelTable, model: &Model, at: Option<Day>) -> Option<Shown> {
    let day = at.unwrap_or(table.origin.date);
    Some(Shown {
        aliases: model.aliases.clone(),
        from: model.on(day).ok()?.from,
        ..Shown::from(table.price(model, at).ok()?)
    })
}

/// A row of the table of models.
type Row = [String; 5];

fn print_models(table: &ModelTable, models: &[&Model], at: Option<Day>) -> Result<(), Failure> {
    if models.is_empty() {
        return Ok(());
    }
    let rows = models.iter().flat_map(|model| rows(table, model, at));
    let header = ["model", "input", "cached", "cache write", "output"].map(str::to_owned);
    let rows: Vec<Row> = [header].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
    for [model, input, cached, write, output] in &rows {
        let line = format!(
            "{model:<0$}  {input:>1$}  {cached:>2$}  {write:>3$}  {output:>4$}",
            widths[0], widths[1], widths[2], widths[3], widths[4]
        );
        output::line(line.trim_end())?;
    }
    output::line(format_args!(
        "US dollars per million tokens on {}; {}, read on {}",
        at.unwrap_or(table.origin.date),
        table.origin,
        table.origin.date
    ))
}

/// The row of a model, and one for each tier.
fn rows(table: &ModelTable, model: &Model, at: Option<Day>) -> Vec<Row> {
    let name = model.full_name();
    let price = match table.price(model, at) {
        Ok(price) => price,
        Err(why) => return vec![not_billed(&name, why)],
    };
    let first = row(name, &price.rates);
    let tiers = price.tiers.iter().map(|tier| {
        let what = format!("  prompts of more than {} tokens", tier.above_prompt_tokens);
        row(what, &tier.rates)
    });
    [first].into_iter().chain(tiers).collect()
}

fn not_billed(name: &str, why: NotBilled) -> Row {
    let empty = String::new;
    let what = format!("{name} (not billed: {why})");
    [what, empty(), empty(), empty(), empty()]
}

fn row(what: String, rates: &Rates) -> Row {
    let million = |price: PicoUsd| (price * MILLION).to_shortest();
    let optional = |price: Option<PicoUsd>| price.map(million).unwrap_or_default();
    [
        what,
        million(rates.input),
        optional(rates.cached_read),
        optional(rates.cache_write),
        million(rates.output),
    ]
}
