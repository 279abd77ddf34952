//! A price by the name that somebody types.

use super::day::Day;
use super::list::PriceList;
use super::models::{Model, ModelTable, NotBilled, TableError};
use super::price::Price;
use crate::document::Problems;

/// Providers that sell their own models: the ones meant where a bare name has several sellers.
const MAKERS: &[&str] = &[
    "anthropic",
    "arcee",
    "cohere",
    "deepseek",
    "google",
    "meta",
    "minimax",
    "mistral",
    "moonshotai",
    "openai",
    "perplexity",
    "x-ai",
    "zai",
];

/// How many names are suggested for one that is unknown.
const SUGGESTIONS: usize = 3;

/// How alike a name must be to be suggested, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Why a name has no price.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// No model is called so.
    #[error("no price {name:?}; {}", self.help())]
    Unknown {
        /// The name.
        name: String,
        /// Names that were perhaps meant, the closest first.
        near: Vec<String>,
    },
    /// Several providers sell it, and its maker is not among them.
    #[error("several providers sell {name:?}: write one of {}", .sellers.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// Its full names.
        sellers: Vec<String>,
    },
    /// The table lists it without a price that would be right.
    #[error("{name} is not billed here: {why}")]
    NotBilled {
        /// The model's full name.
        name: String,
        /// Why.
        why: NotBilled,
    },
    /// The shipped list cannot be read.
    #[error("{0}")]
    List(Problems),
    /// The shipped table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl PriceError {
    /// What to do about it, for those that have said already which name it is.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { near, .. } => format!(
                "{}`loopmeter list prices PATTERN` lists what there is",
                did_you_mean(near)
            ),
            Self::Ambiguous { sellers, .. } => {
                format!(
                    "several providers sell it: write one of {}",
                    sellers.join(", ")
                )
            }
            Self::NotBilled { why, .. } => format!("{why}: name another model"),
            Self::List(_) | Self::Table(_) => self.to_string(),
        }
    }
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        names => format!("did you mean {}? ", names.join(", ")),
    }
}

/// The price that `name` means: an entry of the short list such as `chapter`, a model as
/// `provider/model`, or a model's bare name where one provider sells it or its maker does. A name
/// that ends in `@YYYY-MM-DD` means the price of that day.
///
/// # Errors
/// [`PriceError`] for a name that means none, or more than one.
pub fn find(name: &str) -> Result<Price, PriceError> {
    let list = PriceList::builtin().map_err(PriceError::List)?;
    match list.get(name) {
        Some(price) => Ok(price.clone()),
        None => ModelTable::shipped()?
            .find(name)
            .map_err(|error| match error {
                PriceError::Unknown { name, near } => {
                    let listed = list.all().iter().map(|price| price.name.clone());
                    let alike = listed.filter(|other| alike(&name, other) >= ALIKE);
                    let near = alike.chain(near).take(SUGGESTIONS).collect();
                    PriceError::Unknown { name, near }
                }
                other => other,
            }),
    }
}

/// How alike two names are, from 0 to 1.
fn alike(name: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(name, &other.to_lowercase())
}

impl ModelTable {
    /// The price of the model that `name` means, of the day that it ends in or of the table's.
    ///
    /// # Errors
    /// [`PriceError`] for a name that means none, or more than one.
    pub fn find(&self, name: &str) -> Result<Price, PriceError> {
        let dated = name
            .rsplit_once('@')
            .and_then(|(model, day)| Some((model, day.parse().ok()?)));
        let (model, day): (&str, Option<Day>) =
            dated.map_or((name, None), |(model, day)| (model, Some(day)));
        let model = self.model(model)?;
        self.price(model, day).map_err(|why| PriceError::NotBilled {
            name: model.full_name(),
            why,
        })
    }

    /// The model that `name` means.
    ///
    /// # Errors
    /// [`PriceError::Unknown`] and [`PriceError::Ambiguous`].
    pub fn model(&self, name: &str) -> Result<&Model, PriceError> {
        if let Some(model) = self.of_provider(name) {
            return Ok(model);
        }
        let sellers: Vec<&Model> = self
            .models
            .iter()
            .filter(|model| model.is_called(name))
            .collect();
        let makers = sellers
            .iter()
            .filter(|model| MAKERS.contains(&model.provider.as_str()));
        match (
            sellers.as_slice(),
            makers.copied().collect::<Vec<_>>().as_slice(),
        ) {
            ([], _) => Err(PriceError::Unknown {
                name: name.to_owned(),
                near: self.near(name),
            }),
            ([only], _) | (_, [only]) => Ok(only),
            (several, _) => Err(PriceError::Ambiguous {
                name: name.to_owned(),
                sellers: several.iter().map(|model| model.full_name()).collect(),
            }),
        }
    }

    /// The model of a name that begins with a provider; its own name counts before its aliases.
    fn of_provider(&self, name: &str) -> Option<&Model> {
        let (provider, id) = name.split_once('/')?;
        let sold = || {
            self.models
                .iter()
                .filter(|model| model.provider == provider)
        };
        let named = sold().find(|model| model.id == id);
        named.or_else(|| sold().find(|model| model.is_called(id)))
    }

    /// Full names like `name`, the closest first, the makers' before others that are as close.
    fn near(&self, name: &str) -> Vec<String> {
        let name = name.to_lowercase();
        let bare = name.split_once('/').map_or(name.as_str(), |(_, bare)| bare);
        let score = |model: &Model| {
            let closest = |other: &str| alike(&name, other).max(alike(bare, other));
            let full = closest(&model.full_name());
            let names = model.aliases.iter().chain([&model.id]);
            names.map(|other| closest(other)).fold(full, f64::max)
        };
        let is_other = |model: &Model| !MAKERS.contains(&model.provider.as_str());
        let mut scored: Vec<(f64, &Model)> = self
            .models
            .iter()
            .map(|model| (score(model), model))
            .filter(|(score, _)| *score >= ALIKE)
            .collect();
        scored.sort_by(|(a, left), (b, right)| {
            b.total_cmp(a).then(is_other(left).cmp(&is_other(right)))
        });
        let best = scored.into_iter().take(SUGGESTIONS);
        best.map(|(_, model)| model.full_name()).collect()
    }
}
