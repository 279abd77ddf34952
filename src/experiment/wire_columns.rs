//! The columns of experiments that ask their model over a wire, or a real one: what was sent, how
//! long the first token took, and whose token counts are billed.

use std::time::Duration;

use regex::Regex;

use super::measured::{CellColumn, Measured, TurnColumn, When, sets};
use super::seam::Transport;
use super::settings::Settings;
use crate::results::stats::Sample;
use crate::results::{Cell as Printed, Kind};

/// What brings a wire into play.
const WIRE: &[&str] = &["transport", "provider"];

/// What lets a usage tell of a cache.
pub(super) const CACHES: &[&str] = &["price", "cache"];

pub(super) static WIRE_COLUMNS: &[CellColumn] = &[
    sets(WIRE, "requests", Kind::Count, |m| m.state.requests.into()),
    sets(WIRE, "attempts", Kind::Count, |m| {
        on_the_wire(m.settings, m.state.attempts)
    }),
    sets(WIRE, "retries", Kind::Count, |m| {
        on_the_wire(m.settings, m.ledger.retries)
    }),
    sets(CACHES, "cached_tokens", Kind::Tokens, |m| {
        m.state.usage.cached_tokens.into()
    }),
    sets(CACHES, "cache_write_tokens", Kind::Tokens, |m| {
        m.state.usage.cache_write_tokens.into()
    }),
    sets(WIRE, "median_ttft_ms", Kind::Ms, median_ttft),
    sets(WIRE, "counted_prompt_tokens", Kind::Tokens, |m| {
        m.state.counted.prompt_tokens.into()
    }),
    sets(WIRE, "counted_completion_tokens", Kind::Tokens, |m| {
        m.state.counted.completion_tokens.into()
    }),
    sets(
        WIRE,
        "billed_over_counted_prompt_tokens",
        Kind::Tokens,
        |m| over(m.state.usage.prompt_tokens, m.state.counted.prompt_tokens),
    ),
    sets(
        WIRE,
        "billed_over_counted_completion_tokens",
        Kind::Tokens,
        |m| {
            over(
                m.state.usage.completion_tokens,
                m.state.counted.completion_tokens,
            )
        },
    ),
    sets(&["provider"], "mean_turn_ms", Kind::Ms, |m| {
        m.wall
            .checked_div(m.state.turns)
            .map_or(Printed::Missing, Printed::ms)
    }),
    sets(&["expected_answer"], "right", Kind::Text, is_right),
    sets(&["compare_with"], "bare_socket_ms", Kind::Ms, |m| {
        m.bare_socket.map_or(Printed::Missing, Printed::ms)
    }),
];

pub(super) static WIRE_TURN_COLUMNS: &[TurnColumn] = &[
    TurnColumn {
        name: "ttft_ms",
        kind: Kind::Ms,
        when: When::Sets(WIRE),
        value: |turn| {
            turn.metering
                .first_token
                .map_or(Printed::Missing, Printed::ms)
        },
    },
    TurnColumn {
        name: "counted_prompt_tokens",
        kind: Kind::Tokens,
        when: When::Sets(WIRE),
        value: |turn| turn.metering.counted.prompt_tokens.into(),
    },
    TurnColumn {
        name: "counted_completion_tokens",
        kind: Kind::Tokens,
        when: When::Sets(WIRE),
        value: |turn| turn.metering.counted.completion_tokens.into(),
    },
];

/// What exists on a wire only is missing in process.
fn on_the_wire(settings: &Settings, count: u32) -> Printed {
    match settings.transport {
        Transport::InProcess => Printed::Missing,
        Transport::Http | Transport::HttpStream => count.into(),
    }
}

/// The median of the turns' times to the first token; missing unless all of them streamed.
fn median_ttft(measured: &Measured<'_>) -> Printed {
    let turns = measured.ledger.turns.iter();
    let times: Option<Vec<f64>> = turns
        .map(|turn| turn.metering.first_token.map(ms))
        .collect();
    let median = times.and_then(|times| Sample::new(times).ok()?.median().ok());
    median.map_or(Printed::Missing, |median| Printed::statistic(median, 3))
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// By how much the provider bills more than we count; less is negative.
fn over(billed: u64, counted: u64) -> Printed {
    Printed::Integer(i128::from(billed) - i128::from(counted))
}

/// Whether the answer matches what was expected; no answer does not.
fn is_right(measured: &Measured<'_>) -> Printed {
    let Some(expected) = &measured.settings.expected_answer else {
        return Printed::Missing;
    };
    // A text that is no regular expression was refused as the file was read.
    let Ok(expected) = Regex::new(expected) else {
        return Printed::Missing;
    };
    let answer = measured.state.output.as_deref();
    let right = answer.is_some_and(|answer| expected.is_match(answer));
    if right { "yes" } else { "no" }.into()
}
