//! Columns of what makes a bill smaller: caches, edits of what is sent, long lists of tools.

use super::measured::{CellColumn, Measured, TurnColumn, When, count, sets};
use crate::message::Message;
use crate::money::PicoUsd;
use crate::results::Kind;
use crate::tokens;

const CACHES: &[&str] = &["cache"];
const CONTEXTS: &[&str] = &["context"];
const FILLERS: &[&str] = &["filler_tools", "filler_rules"];

/// Of a cell.
pub(super) static LEVER_COLUMNS: &[CellColumn] = &[
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

/// The tokens of the system prompt's text.
fn system_tokens(measured: &Measured<'_>) -> u64 {
    match measured.state.messages.first() {
        Some(Message::System { content }) => tokens::count(content),
        _ => 0,
    }
}
