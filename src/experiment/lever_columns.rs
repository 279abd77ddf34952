//! Columns of what makes a bill smaller: caches, edits of what is sent, long lists of tools.

use super::measured::{CellColumn, Measured, TurnColumn, When, count, sets};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use crate::message::{Message, Usage};
use crate::money::PicoUsd;
use crate::results::{Cell as Printed, Kind, round_half_away};
use crate::tokens;

const CACHES: &[&str] = &["cache"];
const CONTEXTS: &[&str] = &["context"];
const FILLERS: &[&str] = &["filler_tools", "filler_rules"];

/// Of a cell.
pub(super) static LEVER_COLUMNS: &[CellColumn] = &[
    sets(&["cache"], "input_equivalent_tokens", Kind::Tokens, |m| {
        input_equivalent(m)
    }),
    sets(CONTEXTS, "results_left_out", Kind::Count, |m| {
        m.ledger.left_out.into()
    }),
    sets(CONTEXTS, "summaries", Kind::Count, |m| {
        count(m.state.summaries.len())
    }),
    sets(CONTEXTS, "summaries_usd", Kind::Usd, |m| {
        summaries_cost(m).into()
    }),
    sets(FILLERS, "tools_tokens", Kind::Tokens, |m| {
        m.catalog.tokens().into()
    }),
    sets(FILLERS, "system_tokens", Kind::Tokens, |m| {
        system_tokens(m).into()
    }),
    sets(CONTEXTS, "sent_sha256", Kind::Text, |m| {
        m.sent_digest.clone().into()
    }),
];

/// Of a turn.
pub(super) static LEVER_TURN_COLUMNS: &[TurnColumn] = &[
    TurnColumn {
        name: "cached_tokens",
        kind: Kind::Tokens,
        when: When::Sets(CACHES),
        value: |turn| turn.usage.cached_tokens.into(),
    },
    TurnColumn {
        name: "cache_write_tokens",
        kind: Kind::Tokens,
        when: When::Sets(CACHES),
        value: |turn| turn.usage.cache_write_tokens.into(),
    },
];

/// What asking for summaries cost.
fn summaries_cost(measured: &Measured<'_>) -> PicoUsd {
    let price = &measured.state.settings.price;
    let costs = measured.ledger.summaries.iter();
    costs.fold(PicoUsd::ZERO, |sum, usage| sum + price.cost(usage))
}

/// The prompt tokens that would cost as much without a cache: each counted by what it costs over
/// what a token of input costs.
fn input_equivalent(measured: &Measured<'_>) -> Printed {
    let price = &measured.state.settings.price;
    let turns = measured.ledger.turns.iter().map(|turn| &turn.usage);
    let mut sum = Decimal::ZERO;
    for usage in turns.chain(&measured.ledger.summaries) {
        let prompt = Usage {
            completion_tokens: 0,
            ..*usage
        };
        let input = Decimal::from(price.rates_at(usage.prompt_tokens).input.pico());
        let Some(tokens) = Decimal::from(price.cost(&prompt).pico()).checked_div(input) else {
            return Printed::Missing;
        };
        sum += tokens;
    }
    let whole = round_half_away(sum, 0).to_u64();
    whole.map_or(Printed::Missing, Printed::from)
}

/// The tokens of the system prompt's text.
fn system_tokens(measured: &Measured<'_>) -> u64 {
    match measured.state.messages.first() {
        Some(Message::System { content }) => tokens::count(content),
        _ => 0,
    }
}
