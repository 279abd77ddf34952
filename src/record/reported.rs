//! What a record says that a run used.

use serde_json::Value;

use super::value::{at, count_at, dollars_at};
use crate::money::PicoUsd;

/// What a record reports of a turn or of a run; nothing where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Requests to the model.
    pub turns: Option<u64>,
    /// Tokens sent, cached ones among them.
    pub prompt_tokens: Option<u64>,
    /// Tokens written by the model.
    pub completion_tokens: Option<u64>,
    /// The part of the prompt tokens that was read from a cache.
    pub cached_tokens: Option<u64>,
    /// The part of the prompt tokens that was written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The part of the completion tokens that was hidden reasoning.
    pub reasoning_tokens: Option<u64>,
    /// What it cost.
    pub cost: Option<PicoUsd>,
}

impl Reported {
    /// Whether nothing is reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what another reports; what neither reports stays unsaid.
    pub fn add(&mut self, other: &Self) {
        fn sum(one: &mut Option<u64>, other: Option<u64>) {
            if let Some(other) = other {
                *one = Some(one.unwrap_or(0).saturating_add(other));
            }
        }
        sum(&mut self.turns, other.turns);
        sum(&mut self.prompt_tokens, other.prompt_tokens);
        sum(&mut self.completion_tokens, other.completion_tokens);
        sum(&mut self.cached_tokens, other.cached_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.reasoning_tokens, other.reasoning_tokens);
        if let Some(cost) = other.cost {
            self.cost = Some(self.cost.unwrap_or(PicoUsd::ZERO) + cost);
        }
    }

    /// What this reports, and where it says nothing what `other` does.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            turns: self.turns.or(other.turns),
            prompt_tokens: self.prompt_tokens.or(other.prompt_tokens),
            completion_tokens: self.completion_tokens.or(other.completion_tokens),
            cached_tokens: self.cached_tokens.or(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.or(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.or(other.reasoning_tokens),
            cost: self.cost.or(other.cost),
        }
    }

    /// A `usage` object of chat completions or responses: cached tokens are part of the input.
    pub(super) fn of_openai(usage: Option<&Value>) -> Self {
        let Some(usage) = usage else {
            return Self::default();
        };
        let count = |paths: [&str; 2]| paths.iter().find_map(|path| count_at(usage, path));
        let details = |one: &str, other: &str| {
            let path = |kind: &str, key: &str| format!("{kind}_tokens_details.{key}");
            count_at(usage, &path(one, other)).or_else(|| {
                let responses = if one == "prompt" { "input" } else { "output" };
                count_at(usage, &path(responses, other))
            })
        };
        Self {
            turns: None,
            prompt_tokens: count(["prompt_tokens", "input_tokens"]),
            completion_tokens: count(["completion_tokens", "output_tokens"]),
            cached_tokens: details("prompt", "cached_tokens"),
            cache_write_tokens: details("prompt", "cache_write_tokens"),
            reasoning_tokens: details("completion", "reasoning_tokens"),
            cost: dollars_at(usage, "cost"),
        }
    }

    /// A `usage` object as Anthropic's API writes it: cached tokens are beside the input.
    pub(super) fn of_anthropic(usage: Option<&Value>) -> Self {
        let Some(usage) = usage else {
            return Self::default();
        };
        let cached = count_at(usage, "cache_read_input_tokens");
        let written = count_at(usage, "cache_creation_input_tokens");
        let beside = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
        Self {
            prompt_tokens: count_at(usage, "input_tokens")
                .map(|input| input.saturating_add(beside)),
            completion_tokens: count_at(usage, "output_tokens"),
            cached_tokens: cached,
            cache_write_tokens: written,
            ..Self::default()
        }
    }

    /// A usage of a Codex session: cached tokens are part of the input.
    pub(super) fn of_codex(usage: Option<&Value>) -> Self {
        let Some(usage) = usage else {
            return Self::default();
        };
        Self {
            prompt_tokens: count_at(usage, "input_tokens"),
            completion_tokens: count_at(usage, "output_tokens"),
            cached_tokens: count_at(usage, "cached_input_tokens"),
            reasoning_tokens: count_at(usage, "reasoning_output_tokens"),
            ..Self::default()
        }
    }

    /// The `info.model_stats` of a trajectory.
    pub(super) fn of_model_stats(value: &Value) -> Self {
        let Some(stats) = at(value, "info.model_stats") else {
            return Self::default();
        };
        Self {
            turns: count_at(stats, "api_calls"),
            prompt_tokens: count_at(stats, "tokens_sent"),
            completion_tokens: count_at(stats, "tokens_received"),
            cost: dollars_at(stats, "instance_cost"),
            ..Self::default()
        }
    }
}
