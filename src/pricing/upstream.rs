//! The table of models, made of the data of the `genai-prices` package.
//!
//! That data is JSON with decimal numbers. Their digits are taken as they stand; what they mean is
//! decided here once, so that nobody has to know the other format, and the result is committed, so
//! that no newer package changes a bill unseen.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::day::Day;
use super::list::{PerTokenError, per_token};
use super::models::{Line, NotBilled, Origin, PeriodLine, RatesLine, TierLine};
use crate::message::to_json;

/// A table that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The table's text: the origin and a model on each further line.
    pub text: String,
    /// Models with a price.
    pub priced: usize,
    /// Models that are listed without one, by the reason.
    pub left: BTreeMap<String, usize>,
    /// Models that are not sold by the token, which the table does not list.
    pub other: usize,
}

/// Why the data makes no table.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not in the package's format.
    #[error("not the data of genai-prices: {0}")]
    Format(#[from] serde_json::Error),
    /// A model's prices are in an order that says something else than dates do.
    #[error("{0}: the prices are not in the order of their first days")]
    Order(String),
    /// A model's price is no decimal number.
    #[error("{model}: {problem}")]
    Number {
        /// The model's full name.
        model: String,
        /// What is wrong.
        problem: String,
    },
}

/// Makes the table of the data that `origin` names.
///
/// # Errors
/// [`ImportError`] where the data is not what it was when this was written.
pub fn import(data: &str, origin: &Origin) -> Result<Imported, ImportError> {
    let providers: Vec<Provider<'_>> = serde_json::from_str(data)?;
    let mut table = Imported {
        text: to_json(origin) + "\n",
        priced: 0,
        left: BTreeMap::new(),
        other: 0,
    };
    for provider in &providers {
        for model in &provider.models {
            let Some(line) = model.line(&provider.id)? else {
                table.other += 1;
                continue;
            };
            match line.not_billed {
                Some(why) => *table.left.entry(why.to_string()).or_default() += 1,
                None => table.priced += 1,
            }
            table.text += &(to_json(&line) + "\n");
        }
    }
    Ok(table)
}

#[derive(Deserialize)]
struct Provider<'a> {
    id: String,
    #[serde(borrow)]
    models: Vec<Model<'a>>,
}

#[derive(Deserialize)]
struct Model<'a> {
    id: String,
    #[serde(rename = "match")]
    matches: Match,
    #[serde(borrow)]
    prices: Prices<'a>,
}

/// How the package recognises a model; only whole names are taken.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Match {
    Or(Vec<Match>),
    And(IgnoredAny),
    Equals(String),
    StartsWith(IgnoredAny),
    EndsWith(IgnoredAny),
    Contains(IgnoredAny),
    Regex(IgnoredAny),
}

impl Match {
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Or(all) => all.iter().flat_map(Self::names).collect(),
            Self::Equals(name) => vec![name],
            Self::And(_)
            | Self::StartsWith(_)
            | Self::EndsWith(_)
            | Self::Contains(_)
            | Self::Regex(_) => Vec::new(),
        }
    }
}

/// Prices by their key, such as `input_mtok`.
type Keyed<'a> = BTreeMap<String, &'a RawValue>;

/// One set of prices, or several of which the last whose condition holds is meant.
struct Prices<'a>(Vec<Conditional<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Prices<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let raw: &'a RawValue = Deserialize::deserialize(deserializer)?;
        let read = if raw.get().starts_with('[') {
            serde_json::from_str(raw.get())
        } else {
            serde_json::from_str(raw.get()).map(|prices| {
                vec![Conditional {
                    constraint: None,
                    prices,
                }]
            })
        };
        read.map(Self).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
struct Conditional<'a> {
    constraint: Option<Constraint>,
    #[serde(borrow)]
    prices: Keyed<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Constraint {
    From {
        start_date: Day,
    },
    Hours {
        #[serde(rename = "start_time")]
        _start: IgnoredAny,
        #[serde(rename = "end_time")]
        _end: IgnoredAny,
    },
}

/// The price of one kind of token where it depends on the length of the prompt.
#[derive(Deserialize)]
struct Tiered<'a> {
    #[serde(borrow)]
    base: &'a RawValue,
    #[serde(borrow)]
    tiers: Vec<Above<'a>>,
}

#[derive(Deserialize)]
struct Above<'a> {
    start: u64,
    #[serde(borrow)]
    price: &'a RawValue,
}

/// The digits of a price: what it is for short prompts, and what above which length.
struct Digits<'a> {
    base: &'a str,
    above: Vec<(u64, &'a str)>,
}

impl<'a> Digits<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        if !raw.get().starts_with('{') {
            let (base, above) = (raw.get(), Vec::new());
            return Ok(Self { base, above });
        }
        let tiered: Tiered<'a> = serde_json::from_str(raw.get())?;
        let above = tiered.tiers.iter();
        Ok(Self {
            base: tiered.base.get(),
            above: above.map(|tier| (tier.start, tier.price.get())).collect(),
        })
    }

    /// What holds for prompts of more than `above` tokens, and of no more than the next length.
    fn above(&self, above: u64) -> &'a str {
        let reached = self.above.iter().rev().find(|(start, _)| *start <= above);
        reached.map_or(self.base, |(_, price)| price)
    }
}

/// The kinds of tokens of a bill: input, read from a cache, written to one, output.
struct Kinds<'a> {
    input: Digits<'a>,
    cached_read: Option<Digits<'a>>,
    cache_write: Option<Digits<'a>>,
    output: Digits<'a>,
}

impl<'a> Kinds<'a> {
    /// None where the model does not have a price for input and one for output.
    fn read(keyed: &Keyed<'a>) -> Result<Option<Self>, serde_json::Error> {
        let kind = |key: &str| keyed.get(key).copied().map(Digits::read).transpose();
        let (Some(input), Some(output)) = (kind("input_mtok")?, kind("output_mtok")?) else {
            return Ok(None);
        };
        Ok(Some(Self {
            input,
            cached_read: kind("cache_read_mtok")?,
            cache_write: kind("cache_write_mtok")?,
            output,
        }))
    }

    fn rates(&self, digits: impl Fn(&Digits<'a>) -> &'a str) -> RatesLine {
        let text = |kind: &Digits<'a>| digits(kind).to_owned();
        RatesLine {
            input: text(&self.input),
            cached_read: self.cached_read.as_ref().map(text),
            cache_write: self.cache_write.as_ref().map(text),
            output: text(&self.output),
        }
    }

    fn period(&self, from: Option<Day>) -> PeriodLine {
        let optional = [&self.cached_read, &self.cache_write];
        let kinds = [&self.input, &self.output];
        let kinds = kinds.into_iter().chain(optional.into_iter().flatten());
        let starts = kinds.flat_map(|kind| kind.above.iter().map(|(start, _)| *start));
        let tiers = starts.collect::<BTreeSet<u64>>().into_iter();
        PeriodLine {
            from,
            rates: self.rates(|kind| kind.base),
            tiers: tiers
                .map(|start| TierLine {
                    above_prompt_tokens: start,
                    rates: self.rates(|kind| kind.above(start)),
                })
                .collect(),
        }
    }
}

impl Model<'_> {
    /// Its line of the table; none where it is not sold by the token.
    fn line(&self, provider: &str) -> Result<Option<Line>, ImportError> {
        let mut line = Line {
            provider: provider.to_owned(),
            model: self.id.clone(),
            aliases: self.aliases(),
            ..Line::default()
        };
        line.not_billed = self.not_billed();
        for Conditional { constraint, prices } in &self.prices.0 {
            let Some(kinds) = Kinds::read(prices)? else {
                return Ok(None);
            };
            let from = match constraint {
                Some(Constraint::From { start_date }) => Some(*start_date),
                Some(Constraint::Hours { .. }) | None => None,
            };
            line.prices.push(kinds.period(from));
        }
        if line.not_billed.is_none() {
            line.not_billed = too_fine(&line)?;
        }
        if line.not_billed.is_some() {
            line.prices.clear();
        }
        let first_days: Vec<_> = line.prices.iter().map(|period| period.from).collect();
        if !first_days.is_sorted_by(|a, b| a < b) || first_days.first().is_some_and(Option::is_some)
        {
            return Err(ImportError::Order(format!("{provider}/{}", self.id)));
        }
        Ok(Some(line))
    }

    fn aliases(&self) -> Vec<String> {
        let names: BTreeSet<&str> = self.matches.names().into_iter().collect();
        let others = names.into_iter().filter(|name| *name != self.id);
        others.map(str::to_owned).collect()
    }

    fn not_billed(&self) -> Option<NotBilled> {
        let all = &self.prices.0;
        let by_the_hour =
            |one: &Conditional<'_>| matches!(one.constraint, Some(Constraint::Hours { .. }));
        let has = |key: &str| all.iter().any(|one| one.prices.contains_key(key));
        if all.iter().any(by_the_hour) {
            Some(NotBilled::ByTheHour)
        } else if has("requests_kcount") {
            Some(NotBilled::PerRequest)
        } else if has("output_reasoning_mtok") || has("output_citation_mtok") {
            Some(NotBilled::KindsOfOutput)
        } else {
            None
        }
    }
}

/// Whether a price is finer than pico-dollars; an error where it is no decimal number at all.
fn too_fine(line: &Line) -> Result<Option<NotBilled>, ImportError> {
    let all = line.prices.iter().flat_map(|period| {
        let tiers = period.tiers.iter().map(|tier| &tier.rates);
        tiers.chain([&period.rates])
    });
    let texts = all.flat_map(|rates| {
        let optional = [&rates.cached_read, &rates.cache_write];
        let texts = [&rates.input, &rates.output];
        texts.into_iter().chain(optional.into_iter().flatten())
    });
    for text in texts {
        match per_token(text) {
            Ok(_) => {}
            Err(PerTokenError::TooFine) => return Ok(Some(NotBilled::TooFine)),
            Err(problem) => {
                return Err(ImportError::Number {
                    model: format!("{}/{}", line.provider, line.model),
                    problem: problem.to_string(),
                });
            }
        }
    }
    Ok(None)
}
