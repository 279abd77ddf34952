//! A provider's prompt cache: which tokens of successive requests are read from it, and which are
//! written to it.
//!
//! Nothing is cached here. A provider keeps what a request began with; a later request that begins
//! with the same tokens is billed less for them. The rules differ, and these are the parts in
//! which they do: how long a prompt must be, at which places it can be taken up again, how long
//! it is kept, and what reading and writing cost.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::price::{Price, Rates};
use crate::money::PicoUsd;

/// Where a kept prompt can be taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheUnit {
    /// At the end of every block of so many tokens, 1 at least.
    Blocks(u64),
    /// Where an earlier request ended, and nowhere between.
    Requests,
}

/// The rules of a prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTerms {
    /// Shorter prompts are not kept, and shorter beginnings are not read.
    pub min_tokens: u64,
    /// Where a kept prompt can be taken up again.
    pub unit: CacheUnit,
    /// How long after its last use a prompt is kept, in milliseconds.
    pub expires_ms: u64,
    /// What a token read costs, in hundredths of a token of input, where the price does not say.
    pub read_percent: u32,
    /// What a token written costs, in hundredths of a token of input, where the price does not
    /// say.
    pub write_percent: u32,
}

impl CacheTerms {
    /// What `OpenAI` documents: prompts of 1,024 tokens or more, blocks of 128, at least five
    /// minutes without use; writing costs what input costs.
    pub const OPENAI: Self = Self {
        min_tokens: 1_024,
        unit: CacheUnit::Blocks(128),
        expires_ms: 300_000,
        read_percent: 10,
        write_percent: 100,
    };

    /// What Anthropic documents of Claude Sonnet 4.5, with the one breakpoint that follows the
    /// conversation: five minutes from the last use, writing at one and a quarter.
    pub const ANTHROPIC: Self = Self {
        min_tokens: 1_024,
        unit: CacheUnit::Requests,
        expires_ms: 300_000,
        read_percent: 10,
        write_percent: 125,
    };

    /// The same kept for an hour, writing at twice the price.
    pub const ANTHROPIC_1H: Self = Self {
        expires_ms: 3_600_000,
        write_percent: 200,
        ..Self::ANTHROPIC
    };

    /// The terms that have a name.
    pub const NAMED: [(&'static str, Self); 3] = [
        ("openai", Self::OPENAI),
        ("anthropic", Self::ANTHROPIC),
        ("anthropic_1h", Self::ANTHROPIC_1H),
    ];

    /// The terms of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name)?;
        Some(found.1)
    }

    /// The name of these terms, where they have one.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        let found = Self::NAMED.iter().find(|(_, known)| known == self)?;
        Some(found.0)
    }

    /// `price` with a rate for tokens read and written, where it has none of its own. A price
    /// that has one for reading says what writing costs by having one for it or not.
    #[must_use]
    pub fn priced(&self, mut price: Price) -> Price {
        self.fill(&mut price.rates);
        for tier in &mut price.tiers {
            self.fill(&mut tier.rates);
        }
        price
    }

    fn fill(&self, rates: &mut Rates) {
        if rates.cached_read.is_some() {
            return;
        }
        let part = |percent: u32| {
            let hundredfold = i128::from(rates.input.pico()) * i128::from(percent);
            let pico = (hundredfold + 50).div_euclid(100);
            PicoUsd::from_pico(i64::try_from(pico).unwrap_or(i64::MAX))
        };
        (rates.cached_read, rates.cache_write) = (
            Some(part(self.read_percent)),
            Some(part(self.write_percent)),
        );
    }
}

/// The name, or every part.
impl fmt::Display for CacheTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.write_str(name);
        }
        write!(f, "min_tokens={}", self.min_tokens)?;
        if let CacheUnit::Blocks(tokens) = self.unit {
            write!(f, "/block_tokens={tokens}")?;
        }
        let (read, write) = (self.read_percent, self.write_percent);
        write!(f, "/expires_ms={}", self.expires_ms)?;
        write!(f, "/read_percent={read}/write_percent={write}")
    }
}

/// A text that is no terms of a cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no cache {0:?}: write openai, anthropic or anthropic_1h, or parts such as \
     min_tokens=1024/block_tokens=128/read_percent=50/write_percent=100"
)]
pub struct CacheTermsError(String);

impl FromStr for CacheTerms {
    type Err = CacheTermsError;

    /// A name, or parts; parts that are left out are those of a cache without a minimum that can
    /// be taken up where a request ended, and keeps for five minutes.
    fn from_str(text: &str) -> Result<Self, CacheTermsError> {
        if let Some(terms) = Self::named(text) {
            return Ok(terms);
        }
        let mut terms = Self {
            min_tokens: 0,
            unit: CacheUnit::Requests,
            write_percent: 100,
            ..Self::ANTHROPIC
        };
        let wrong = || CacheTermsError(text.to_owned());
        for part in text.split('/') {
            let (key, number) = part.split_once('=').ok_or_else(wrong)?;
            let number: u64 = number.parse().map_err(|_| wrong())?;
            let percent = || u32::try_from(number).map_err(|_| wrong());
            match key {
                "min_tokens" => terms.min_tokens = number,
                "block_tokens" if number > 0 => terms.unit = CacheUnit::Blocks(number),
                "expires_ms" => terms.expires_ms = number,
                "read_percent" => terms.read_percent = percent()?,
                "write_percent" => terms.write_percent = percent()?,
                _ => return Err(wrong()),
            }
        }
        Ok(terms)
    }
}

/// A request as a cache sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedRequest {
    /// Tokens that it has in common with the request before.
    pub common_tokens: u64,
    /// Its tokens, as far as a later request can have them in common with it.
    pub reach_tokens: u64,
    /// When it is made, on the run's clock.
    pub at: Duration,
}

/// What a cache did for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Tokens read from it.
    pub read: u64,
    /// Tokens written to it.
    pub written: u64,
}

/// What the requests of a run left in a cache.
///
/// Each request is compared with the one before it. That is enough as long as no request goes back
/// to what was edited out: then none has more in common with an older request than with the last.
/// Using a prompt counts as a use of every beginning of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Where the last request can be taken up, rising; with blocks the last place says all.
    ends: Vec<u64>,
    /// When it was made.
    used: Duration,
}

impl Cache {
    /// Whether no request left anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What is read for a request and written by it.
    pub fn request(&mut self, terms: &CacheTerms, request: CachedRequest) -> CacheUse {
        let CachedRequest {
            common_tokens,
            reach_tokens,
            at,
        } = request;
        let kept_until = self
            .used
            .saturating_add(Duration::from_millis(terms.expires_ms));
        if at > kept_until {
            self.ends.clear();
        }
        self.used = at;
        let is_long = |tokens: &u64| *tokens >= terms.min_tokens;
        let (read, end) = match terms.unit {
            CacheUnit::Blocks(tokens) => {
                let whole = |length: u64| length - length % tokens.max(1);
                let kept = self.ends.pop().unwrap_or(0);
                (whole(kept.min(common_tokens)), whole(reach_tokens))
            }
            CacheUnit::Requests => {
                self.ends.retain(|end| *end <= common_tokens);
                (self.ends.last().copied().unwrap_or(0), reach_tokens)
            }
        };
        let read = Some(read).filter(is_long).unwrap_or(0);
        let Some(end) = Some(end).filter(is_long) else {
            return CacheUse { read, written: 0 };
        };
        if self.ends.last() != Some(&end) {
            self.ends.push(end);
        }
        CacheUse {
            read,
            written: end.saturating_sub(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests as (common, reach, seconds), and what is read and written for each.
    fn play(terms: &CacheTerms, requests: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
        let mut cache = Cache::default();
        let uses = requests
            .iter()
            .map(|&(common_tokens, reach_tokens, seconds)| {
                let request = CachedRequest {
                    common_tokens,
                    reach_tokens,
                    at: Duration::from_secs(seconds),
                };
                let CacheUse { read, written } = cache.request(terms, request);
                (read, written)
            });
        uses.collect()
    }

    #[test]
    fn blocks_are_read_and_written_whole_and_short_prompts_are_not_kept() {
        let requests = [
            (0, 1_000, 0),
            (1_000, 1_100, 0),
            (1_100, 1_500, 0),
            (1_500, 1_700, 0),
        ];
        let uses = play(&CacheTerms::OPENAI, &requests);
        assert_eq!(uses, [(0, 0), (0, 1_024), (1_024, 384), (1_408, 256)]);
    }

    #[test]
    fn where_only_requests_can_be_taken_up_an_edit_gives_up_all_that_came_after_it() {
        let requests = [
            (0, 2_000, 0),
            (2_000, 3_000, 0),
            (3_000, 4_000, 0),
            (2_900, 3_500, 0),
        ];
        let whole = play(&CacheTerms::ANTHROPIC, &requests);
        assert_eq!(
            whole,
            [(0, 2_000), (2_000, 1_000), (3_000, 1_000), (2_000, 1_500)]
        );
        let blocks = play(&CacheTerms::OPENAI, &requests);
        assert_eq!(blocks.last(), Some(&(2_816, 640)));
    }

    #[test]
    fn a_prompt_is_kept_until_it_was_not_used_for_too_long() {
        let requests = [
            (0, 2_000, 0),
            (2_000, 3_000, 300),
            (3_000, 4_000, 600),
            (4_000, 5_000, 901),
        ];
        let uses = play(&CacheTerms::ANTHROPIC, &requests);
        assert_eq!(
            uses,
            [(0, 2_000), (2_000, 1_000), (3_000, 1_000), (0, 5_000)]
        );
        let hour = play(&CacheTerms::ANTHROPIC_1H, &requests);
        assert_eq!(hour.last(), Some(&(4_000, 1_000)));
    }

    #[test]
    fn terms_are_read_by_name_and_in_parts() {
        for (name, terms) in CacheTerms::NAMED {
            assert_eq!(name.parse(), Ok(terms));
        }
        let parts = "min_tokens=64/block_tokens=64/read_percent=50/write_percent=100";
        let terms: CacheTerms = parts.parse().unwrap();
        assert_eq!(terms.unit, CacheUnit::Blocks(64));
        assert_eq!(terms.to_string().parse(), Ok(terms));
        for wrong in [
            "",
            "none",
            "block_tokens=0",
            "min_tokens",
            "min=1",
            "min_tokens=-1",
        ] {
            assert!(wrong.parse::<CacheTerms>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_price_keeps_the_rate_that_it_has_and_gets_the_one_that_it_lacks() {
        let price = |cached_read| Price {
            name: "p".to_owned(),
            rates: Rates {
                cached_read,
                ..Rates::plain(
                    PicoUsd::from_pico(2_000_000),
                    PicoUsd::from_pico(12_000_000),
                )
            },
            tiers: Vec::new(),
            source: "s".to_owned(),
            date: "d".to_owned(),
        };
        let filled = CacheTerms::ANTHROPIC.priced(price(None)).rates;
        let pico = |usd: Option<PicoUsd>| usd.map(PicoUsd::pico);
        assert_eq!(pico(filled.cached_read), Some(200_000));
        assert_eq!(pico(filled.cache_write), Some(2_500_000));
        let own = CacheTerms::ANTHROPIC
            .priced(price(Some(PicoUsd::from_pico(7))))
            .rates;
        assert_eq!((pico(own.cached_read), own.cache_write), (Some(7), None));
    }
}
