//! The table of models: what each costs with each provider, and from which day on.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::day::Day;
use super::list::per_token;
use super::price::{Price, Rates, Tier};

/// The table that ships: a header and a model on each further line.
const SHIPPED: &str = include_str!("../../assets/prices/models.jsonl");

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The public table and its version.
    pub source: String,
    /// Where it is kept.
    pub url: String,
    /// Under which licence.
    pub licence: String,
    /// The day on which it was read.
    pub date: Day,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.source, self.url)
    }
}

/// Why a model of the table has no price here: a bill by the token would be a wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotBilled {
    /// Other prices at other hours of the day.
    ByTheHour,
    /// A fee for each request.
    PerRequest,
    /// Output of several prices, which a usage does not tell apart.
    KindsOfOutput,
    /// A price that is no whole number of pico-dollars per token.
    TooFine,
}

impl fmt::Display for NotBilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByTheHour => "its price depends on the hour of the day",
            Self::PerRequest => "it has a fee for each request",
            Self::KindsOfOutput => "parts of its output have other prices",
            Self::TooFine => "its price is no whole number of pico-dollars per token",
        })
    }
}

/// What a model costs from a day on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first day; none where the price held before all others.
    pub from: Option<Day>,
    /// What a token costs, where no tier says otherwise.
    pub rates: Rates,
    /// Other rates for long prompts, the shortest first.
    pub tiers: Vec<Tier>,
}

/// What the table says of a model's price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Prices, the earliest first; there is at least one, and it has no first day.
    Priced(Vec<Period>),
    /// None that would be right.
    Left(NotBilled),
}

/// A model, as one provider sells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Who sells it.
    pub provider: String,
    /// What it is called there.
    pub id: String,
    /// Other names by which the provider knows it.
    pub aliases: Vec<String>,
    /// Its price.
    pub listing: Listing,
}

impl Model {
    /// Its name among all: `provider/model`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Every name that means it among all: `provider/` before its name and each alias.
    #[must_use]
    pub fn full_names(&self) -> Vec<String> {
        let names = [&self.id].into_iter().chain(&self.aliases);
        names
            .map(|name| format!("{}/{name}", self.provider))
            .collect()
    }

    /// Whether the provider knows it by this name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// What holds on `day`.
    ///
    /// # Errors
    /// [`NotBilled`] where the table has no price that would be right.
    pub fn on(&self, day: Day) -> Result<&Period, NotBilled> {
        match &self.listing {
            Listing::Left(why) => Err(*why),
            Listing::Priced(periods) => {
                let begun = |period: &&Period| period.from.is_none_or(|from| from <= day);
                let last = periods.iter().rev().find(begun).or(periods.first());
                last.ok_or(NotBilled::TooFine)
            }
        }
    }
}

/// The models and their prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelTable {
    /// Where the table comes from.
    pub origin: Origin,
    /// The models, by provider and name.
    pub models: Vec<Model>,
}

/// A line of a table that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the table of models: {problem}")]
pub struct TableError {
    line: usize,
    problem: String,
}

impl ModelTable {
    /// The table that ships.
    ///
    /// # Errors
    /// [`TableError`] of the shipped table, which a test keeps free of any.
    pub fn shipped() -> Result<Self, TableError> {
        Self::parse(SHIPPED)
    }

    /// A table of lines of JSON: the origin first, then the models.
    ///
    /// # Errors
    /// [`TableError`] of the first line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = text.lines().zip(1..);
        let at = |line: usize| move |problem: String| TableError { line, problem };
        let (first, number) = lines
            .next()
            .ok_or_else(|| at(1)("there is no line".to_owned()))?;
        let origin = serde_json::from_str(first).map_err(|error| at(number)(error.to_string()))?;
        let models = lines.map(|(text, number)| {
            let line: Line =
                serde_json::from_str(text).map_err(|error| at(number)(error.to_string()))?;
            line.build().map_err(at(number))
        });
        let models = models.collect::<Result<_, _>>()?;
        Ok(Self { origin, models })
    }

    /// The price of `model` on a day, as the runs of that day are billed; on the table's own
    /// where none is given.
    ///
    /// # Errors
    /// [`NotBilled`] where the table has no price that would be right.
    pub fn price(&self, model: &Model, day: Option<Day>) -> Result<Price, NotBilled> {
        let period = model.on(day.unwrap_or(self.origin.date))?;
        let name = model.full_name();
        Ok(Price {
            name: day.map_or(name.clone(), |day| format!("{name}@{day}")),
            rates: period.rates,
            tiers: period.tiers.clone(),
            source: self.origin.to_string(),
            date: self.origin.date.to_string(),
        })
    }
}

/// A model as a line of the table has it: dollars per million tokens, as decimal texts.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) provider: String,
    pub(super) model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) not_billed: Option<NotBilled>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) prices: Vec<PeriodLine>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PeriodLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<Day>,
    pub(super) rates: RatesLine,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tiers: Vec<TierLine>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TierLine {
    pub(super) above_prompt_tokens: u64,
    pub(super) rates: RatesLine,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RatesLine {
    pub(super) input: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cached_read: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cache_write: Option<String>,
    pub(super) output: String,
}

impl RatesLine {
    pub(super) fn build(&self) -> Result<Rates, String> {
        let read = |text: &str| per_token(text).map_err(|error| error.to_string());
        Ok(Rates {
            input: read(&self.input)?,
            cached_read: self.cached_read.as_deref().map(read).transpose()?,
            cache_write: self.cache_write.as_deref().map(read).transpose()?,
            output: read(&self.output)?,
        })
    }
}

impl PeriodLine {
    fn build(&self) -> Result<Period, String> {
        let tiers = self.tiers.iter().map(|tier| {
            Ok(Tier {
                above_prompt_tokens: tier.above_prompt_tokens,
                rates: tier.rates.build()?,
            })
        });
        let tiers: Vec<Tier> = tiers.collect::<Result<_, String>>()?;
        if !tiers.is_sorted_by(|a, b| a.above_prompt_tokens < b.above_prompt_tokens) {
            return Err("the tiers do not rise".to_owned());
        }
        Ok(Period {
            from: self.from,
            rates: self.rates.build()?,
            tiers,
        })
    }
}

impl Line {
    fn build(self) -> Result<Model, String> {
        let periods = self.prices.iter().map(PeriodLine::build);
        let periods: Vec<Period> = periods.collect::<Result<_, _>>()?;
        let listing = match (self.not_billed, periods.first()) {
            (Some(why), None) => Listing::Left(why),
            (None, Some(Period { from: None, .. }))
                if periods.is_sorted_by(|a, b| a.from < b.from) =>
            {
                Listing::Priced(periods)
            }
            _ => return Err("prices from the first day on, in order, or a reason".to_owned()),
        };
        Ok(Model {
            provider: self.provider,
            id: self.model,
            aliases: self.aliases,
            listing,
        })
    }
}
