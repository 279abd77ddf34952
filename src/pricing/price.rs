//! The price of a model, and what a request costs by it.

use serde::{Deserialize, Serialize};

use crate::message::Usage;
use crate::money::PicoUsd;

/// What one token of each kind costs.
///
/// A provider that does not price a kind apart bills it as input: tokens read from a cache where
/// there is no `cached_read`, tokens written to one where there is no `cache_write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// One prompt token that no cache had.
    pub input: PicoUsd,
    /// One prompt token that the provider had cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_read: Option<PicoUsd>,
    /// One prompt token that the provider put into its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<PicoUsd>,
    /// One completion token.
    pub output: PicoUsd,
}

impl Rates {
    /// Rates of a provider that prices no cache.
    #[must_use]
    pub const fn plain(input: PicoUsd, output: PicoUsd) -> Self {
        Self {
            input,
            cached_read: None,
            cache_write: None,
            output,
        }
    }

    /// What `usage` costs. Tokens read from a cache and tokens written to one are parts of the
    /// prompt tokens; what is left of the prompt is plain input. Parts that are larger than
    /// their whole are cut to it, the cached ones last.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> PicoUsd {
        let prompt = usage.prompt_tokens;
        let cached = usage.cached_tokens.unwrap_or(0).min(prompt);
        let written = usage.cache_write_tokens.unwrap_or(0).min(prompt - cached);
        self.input * (prompt - cached - written)
            + self.cached_read.unwrap_or(self.input) * cached
            + self.cache_write.unwrap_or(self.input) * written
            + self.output * usage.completion_tokens
    }

    /// The most that one prompt token can cost.
    #[must_use]
    pub fn dearest_input(&self) -> PicoUsd {
        let others = [self.cached_read, self.cache_write];
        others.into_iter().flatten().fold(self.input, Ord::max)
    }
}

/// Other rates for requests whose prompt is long: they hold for the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// The rates hold for prompts of more tokens than this.
    pub above_prompt_tokens: u64,
    /// What a token costs then.
    #[serde(flatten)]
    pub rates: Rates,
}

/// What a model costs, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The entry's name.
    pub name: String,
    /// What a token costs, where no tier says otherwise.
    #[serde(flatten)]
    pub rates: Rates,
    /// Other rates for long prompts, the shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// Who published the price.
    pub source: String,
    /// When it was read there, `YYYY-MM-DD`.
    pub date: String,
}

impl Price {
    /// The rates of a request with so many prompt tokens.
    #[must_use]
    pub fn rates_at(&self, prompt_tokens: u64) -> &Rates {
        let reached = |tier: &&Tier| prompt_tokens > tier.above_prompt_tokens;
        let tier = self.tiers.iter().rev().find(reached);
        tier.map_or(&self.rates, |tier| &tier.rates)
    }

    /// What one request costs. Tiers go by the length of a request, so the cost of many is the
    /// sum of their costs and not the cost of their sum.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> PicoUsd {
        self.rates_at(usage.prompt_tokens).cost(usage)
    }

    /// The most that a request with up to so many prompt and completion tokens can cost, whatever
    /// a cache does.
    #[must_use]
    pub fn worst_cost(&self, prompt_tokens: u64, completion_tokens: u64) -> PicoUsd {
        let cost = |rates: &Rates, prompt: u64| {
            rates.dearest_input() * prompt + rates.output * completion_tokens
        };
        let mut worst = PicoUsd::ZERO;
        let mut rates = &self.rates;
        for tier in &self.tiers {
            // Where a tier is cheaper, the longest prompt below it can be the dearest.
            let longest = prompt_tokens.min(tier.above_prompt_tokens);
            worst = worst.max(cost(rates, longest));
            if prompt_tokens <= tier.above_prompt_tokens {
                return worst;
            }
            rates = &tier.rates;
        }
        worst.max(cost(rates, prompt_tokens))
    }

    /// Whether it has rates of its own for cached tokens, whatever the length of a prompt.
    #[must_use]
    pub fn has_cache_rates(&self) -> bool {
        self.rates.cached_read.is_some() || self.rates.cache_write.is_some()
    }

    /// The most that any one token can cost.
    #[must_use]
    pub fn dearest_token(&self) -> PicoUsd {
        let tiers = self.tiers.iter().map(|tier| &tier.rates);
        let all = tiers.chain([&self.rates]);
        let dearest = all.map(|rates| rates.dearest_input().max(rates.output));
        dearest.fold(PicoUsd::ZERO, Ord::max)
    }
}
