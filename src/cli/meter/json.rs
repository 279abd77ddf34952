//! The bill as JSON: plain integers, milliseconds and dollars as decimal numbers, stable keys.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::Bill;
use crate::message::to_json;
use crate::meter::{Failed, Failure, Turn};
use crate::results::Cell;
use crate::server::{Channel, SeenResult};

type Number = Option<Box<RawValue>>;

#[derive(Serialize)]
struct Shown {
    command: Vec<String>,
    scenario: String,
    price: String,
    price_source: String,
    price_date: String,
    ended: &'static str,
    exit_code: Option<i32>,
    last_error: Option<String>,
    turns: usize,
    requests: u64,
    attempts: u64,
    retries: u64,
    refused: u64,
    first_prompt_tokens: Option<u64>,
    tools_tokens: Option<u64>,
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    replayed_tokens: u64,
    replayed_percent: Number,
    cost_usd: Number,
    tool_calls: u64,
    repeated_calls: u64,
    time: Times,
    by_turn: Vec<ShownTurn>,
    failures: Vec<ShownFailure>,
    oddities: Vec<ShownOddity>,
    forgotten_exchanges: u64,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the keys say their unit")]
struct Times {
    wall_ms: Number,
    start_ms: Number,
    provider_ms: Number,
    retry_wait_ms: Number,
    harness_ms: Number,
    close_ms: Number,
    harness_per_turn_ms: Number,
}

#[derive(Serialize)]
struct ShownTurn {
    turn: u32,
    attempts: u32,
    messages: usize,
    messages_tokens: u64,
    tools_tokens: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    cost_usd: Number,
    finish_reason: &'static str,
    called: Vec<String>,
    told: Vec<Told>,
    provider_ms: Number,
    before_ms: Number,
}

#[derive(Serialize)]
struct Told {
    channel: &'static str,
    call_id: Option<String>,
    text: String,
}

#[derive(Serialize)]
struct ShownFailure {
    exchange: u64,
    kind: &'static str,
    status: Option<u16>,
    message: Option<String>,
}

#[derive(Serialize)]
struct ShownOddity {
    exchange: u64,
    kind: &'static str,
    message: String,
}

/// The bill as one JSON object.
pub(super) fn of(bill: &Bill<'_>) -> String {
    let invoice = bill.invoice;
    let time = &invoice.time;
    to_json(&Shown {
        command: bill.command(),
        scenario: bill.args.scenario.clone(),
        price: bill.price.name.clone(),
        price_source: bill.price.source.clone(),
        price_date: bill.price.date.clone(),
        ended: invoice.ended.as_str(),
        exit_code: invoice.exit_code,
        last_error: invoice.last_error.clone(),
        turns: invoice.turns.len(),
        requests: invoice.requests,
        attempts: invoice.attempts,
        retries: invoice.retries(),
        refused: invoice.refused(),
        first_prompt_tokens: invoice.first().map(Turn::sent_tokens),
        tools_tokens: invoice.first().map(|turn| turn.tools_tokens),
        prompt_tokens: invoice.usage.prompt_tokens,
        completion_tokens: invoice.usage.completion_tokens,
        total_tokens: invoice.usage.total_tokens(),
        replayed_tokens: invoice.replayed_tokens,
        replayed_percent: number(invoice.replayed_percent()),
        cost_usd: number(Some(invoice.cost)),
        tool_calls: invoice.tool_calls,
        repeated_calls: invoice.repeated_calls,
        time: Times {
            wall_ms: ms(time.wall()),
            start_ms: ms(time.start),
            provider_ms: ms(time.provider),
            retry_wait_ms: ms(time.waiting),
            harness_ms: ms(time.harness),
            close_ms: ms(time.close),
            harness_per_turn_ms: time.harness_per_gap().and_then(ms),
        },
        by_turn: invoice.turns.iter().map(turn).collect(),
        failures: invoice.failures.iter().map(failure).collect(),
        oddities: oddities(bill),
        forgotten_exchanges: invoice.forgotten,
    })
}

fn turn(turn: &Turn) -> ShownTurn {
    ShownTurn {
        turn: turn.number,
        attempts: turn.attempts,
        messages: turn.messages,
        messages_tokens: turn.messages_tokens,
        tools_tokens: turn.tools_tokens,
        prompt_tokens: turn.usage.prompt_tokens,
        completion_tokens: turn.usage.completion_tokens,
        cost_usd: number(Some(turn.cost)),
        finish_reason: turn.finish.as_str(),
        called: turn.calls.clone(),
        told: turn.told.iter().map(told).collect(),
        provider_ms: ms(turn.provider),
        before_ms: ms(turn.before),
    }
}

fn told(result: &SeenResult) -> Told {
    Told {
        channel: match result.channel {
            Channel::Tool => "tool",
            Channel::User => "user",
        },
        call_id: result.call_id.clone(),
        text: result.text.clone(),
    }
}

fn failure(failed: &Failed) -> ShownFailure {
    let (kind, status, message) = match &failed.why {
        Failure::Fault(kind) => (kind.as_str(), kind.status(), None),
        Failure::Refused(status, why) => ("refused", Some(*status), Some(why.clone())),
        Failure::Aborted => ("aborted", None, None),
    };
    ShownFailure {
        exchange: failed.exchange,
        kind,
        status,
        message,
    }
}

fn oddities(bill: &Bill<'_>) -> Vec<ShownOddity> {
    let shown = bill
        .invoice
        .oddities
        .iter()
        .map(|(exchange, oddity)| ShownOddity {
            exchange: *exchange,
            kind: oddity.as_str(),
            message: oddity.to_string(),
        });
    shown.collect()
}

/// A number in its own digits, not by way of a float.
fn number(value: Option<impl std::fmt::Display>) -> Number {
    RawValue::from_string(value?.to_string()).ok()
}

fn ms(span: Duration) -> Number {
    number(Some(Cell::ms(span)))
}
