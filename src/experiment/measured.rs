//! What was seen of one run, and the columns that come of it.
//!
//! The columns are one table: a name, a kind, when an experiment has it, and how it is read off.
//! A column is left out of an experiment that sets nothing that could give it a value.

use std::sync::Arc;
use std::time::Duration;

use rust_decimal::Decimal;

use super::ledger::{Ledger, TurnSeen};
use super::lever_columns::{LEVER_COLUMNS, LEVER_TURN_COLUMNS};
use super::samples::{SAMPLE_COLUMNS, Samples};
use super::settings::Settings;
use super::wire_columns::{WIRE_COLUMNS, WIRE_TURN_COLUMNS};
use crate::message::{FinishReason, to_json};
use crate::money::PicoUsd;
use crate::results::digest::short_digest;
use crate::results::{Cell as Printed, Kind, round_half_away};
use crate::run::{RunState, StopReason};
use crate::tools::Catalog;

/// A state that was read back from bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Restored {
    pub(super) turns: u32,
    pub(super) messages: usize,
    pub(super) cost: PicoUsd,
}

/// What was seen of one run.
#[derive(Debug)]
pub(super) struct Measured<'s> {
    pub(super) settings: &'s Settings,
    pub(super) state: RunState,
    pub(super) ledger: Ledger,
    /// The tools that the model had.
    pub(super) catalog: Arc<Catalog>,
    /// What the run's clock showed at the end.
    pub(super) wall: Duration,
    /// The files deleted, in order, repetitions included.
    pub(super) deleted: Vec<String>,
    /// The turn after which a person was first asked.
    pub(super) asked_at_turn: Option<u32>,
    pub(super) restored: Option<Restored>,
    /// The beginning of a digest of what would be sent next: the tools and the messages.
    pub(super) sent_digest: String,
    /// How long the run's bytes take without the run.
    pub(super) bare_socket: Option<Duration>,
    /// The times of many such runs.
    pub(super) samples: Option<Samples>,
}

impl Measured<'_> {
    /// Prompt tokens that an earlier turn had sent already.
    fn replayed_tokens(&self) -> u64 {
        let turns = &self.ledger.turns;
        let before_last = turns.len().saturating_sub(1);
        turns
            .iter()
            .take(before_last)
            .map(|turn| turn.usage.prompt_tokens)
            .sum()
    }

    /// What the run is billed, with its sub-agents; beside a real model these are scripted, and
    /// cost nobody anything.
    pub(super) fn bill(&self) -> PicoUsd {
        if self.settings.asks_endpoint() {
            self.state.cost
        } else {
            self.state.tree_cost()
        }
    }

    fn overshoot_usd(&self) -> Option<PicoUsd> {
        let budget = self.settings.max_budget_usd?.0;
        Some((self.state.cost - budget).max(PicoUsd::ZERO))
    }

    /// How many turns ended with more spent than the budget.
    fn overshoot_turns(&self) -> Option<u64> {
        let budget = self.settings.max_budget_usd?.0;
        let beyond = self.ledger.turns.iter().filter(|turn| turn.cost > budget);
        u64::try_from(beyond.count()).ok()
    }

    fn click_to_stop(&self) -> Option<Duration> {
        let click = Duration::from_millis(self.settings.stop_at_ms?);
        match self.state.interruption {
            Some(StopReason::Cancelled { .. }) => Some(self.wall.saturating_sub(click)),
            _ => None,
        }
    }

    /// The wall time that no reply took: what is left is tools, the harness and the wire. Not
    /// known of a real model, and of drawn latencies.
    fn harness_share(&self) -> Option<Duration> {
        if self.settings.asks_endpoint() || self.settings.latency.is_some() {
            return None;
        }
        let latency = Duration::from_millis(self.settings.latency_ms.unwrap_or(0));
        let replies = latency.saturating_mul(self.state.turns);
        Some(self.wall.saturating_sub(replies))
    }

    /// Which bytes were sent and said: the beginning of a digest of the tools and the transcript,
    /// so that a change of words that costs no token is seen too.
    fn transcript_digest(&self) -> String {
        let text = to_json(&(self.catalog.definitions(), &self.state.messages));
        short_digest(text.as_bytes())
    }

    /// The cell's measured columns, those that `has` says the experiment has.
    pub(super) fn cell_values(&self, presence: &Presence) -> Vec<Printed> {
        let columns = all_columns().filter(|column| presence.holds(column.when));
        columns.map(|column| (column.value)(self)).collect()
    }

    /// The measured columns of every turn.
    pub(super) fn turn_values(
        &self,
        presence: &Presence,
    ) -> impl Iterator<Item = Vec<Printed>> + '_ {
        let columns: Vec<&TurnColumn> = presence.turns().collect();
        let of_turn = move |turn| columns.iter().map(|column| (column.value)(turn)).collect();
        self.ledger.turns.iter().map(of_turn)
    }
}

/// When an experiment has a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Always,
    /// Some cell sets one of these.
    Sets(&'static [&'static str]),
    /// The experiment has sub-agents.
    SubAgents,
    /// Time is virtual, so that every run can be repeated exactly.
    VirtualClock,
    /// The machine's clock runs.
    RealClock,
}

/// What decides which columns an experiment has.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    mentioned: Vec<&'static str>,
    sub_agents: bool,
    real_clock: bool,
}

impl Presence {
    /// What holds if some cell sets the settings that `is_set` knows.
    pub(super) fn of(is_set: &dyn Fn(&str) -> bool, sub_agents: bool, real_clock: bool) -> Self {
        let cells = all_columns().map(|column| column.when);
        let turns = all_turn_columns().map(|column| column.when);
        let named = cells.chain(turns).flat_map(|when| match when {
            When::Sets(settings) => settings,
            _ => &[],
        });
        let mentioned = named.copied().filter(|setting| is_set(setting)).collect();
        Self {
            mentioned,
            sub_agents,
            real_clock,
        }
    }

    fn holds(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Sets(settings) => settings.iter().any(|name| self.mentioned.contains(name)),
            When::SubAgents => self.sub_agents,
            When::VirtualClock => !self.real_clock,
            When::RealClock => self.real_clock,
        }
    }

    /// Names and kinds of the measured columns of a cell.
    pub(super) fn cell_columns(&self) -> Vec<(&'static str, Kind)> {
        let columns = all_columns().filter(|column| self.holds(column.when));
        columns.map(|column| (column.name, column.kind)).collect()
    }

    /// Names and kinds of the measured columns of a turn.
    pub(super) fn turn_columns(&self) -> Vec<(&'static str, Kind)> {
        let columns = self.turns();
        columns.map(|column| (column.name, column.kind)).collect()
    }

    fn turns(&self) -> impl Iterator<Item = &'static TurnColumn> {
        all_turn_columns().filter(|column| self.holds(column.when))
    }
}

fn all_columns() -> impl Iterator<Item = &'static CellColumn> {
    let columns = CELL_COLUMNS.iter().chain(LEVER_COLUMNS);
    columns.chain(WIRE_COLUMNS).chain(SAMPLE_COLUMNS)
}

fn all_turn_columns() -> impl Iterator<Item = &'static TurnColumn> {
    TURN_COLUMNS
        .iter()
        .chain(LEVER_TURN_COLUMNS)
        .chain(WIRE_TURN_COLUMNS)
}

/// A measured column of a cell.
pub(super) struct CellColumn {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) when: When,
    pub(super) value: fn(&Measured<'_>) -> Printed,
}

const fn always(name: &'static str, kind: Kind, value: fn(&Measured<'_>) -> Printed) -> CellColumn {
    CellColumn {
        name,
        kind,
        when: When::Always,
        value,
    }
}

pub(super) const fn sets(
    settings: &'static [&'static str],
    name: &'static str,
    kind: Kind,
    value: fn(&Measured<'_>) -> Printed,
) -> CellColumn {
    CellColumn {
        name,
        kind,
        when: When::Sets(settings),
        value,
    }
}

const fn sub_agents(
    name: &'static str,
    kind: Kind,
    value: fn(&Measured<'_>) -> Printed,
) -> CellColumn {
    CellColumn {
        name,
        kind,
        when: When::SubAgents,
        value,
    }
}

/// What concerns writes: a file that sets one of these asks what was deleted.
const WRITES: &[&str] = &[
    "approval",
    "verdict",
    "dedupe",
    "idempotency_keys",
    "verdict_wording",
];

/// What concerns the time of tools.
const TOOL_TIME: &[&str] = &["tool_execution", "tool_latency"];

static CELL_COLUMNS: &[CellColumn] = &[
    always("status", Kind::Text, |m| m.state.status.as_str().into()),
    always("reason", Kind::Text, |m| {
        m.state.interruption.as_ref().map(StopReason::as_str).into()
    }),
    always("resumable", Kind::Text, |m| {
        if m.state.status.is_resumable() {
            "yes".into()
        } else {
            "no".into()
        }
    }),
    always("answer", Kind::Text, |m| m.state.output.clone().into()),
    always("error", Kind::Text, |m| m.state.error.clone().into()),
    always("turns", Kind::Count, |m| m.state.turns.into()),
    always("tool_runs", Kind::Count, |m| m.state.tool_runs.into()),
    always("messages", Kind::Count, |m| count(m.state.messages.len())),
    always("prompt_tokens", Kind::Tokens, |m| {
        m.state.usage.prompt_tokens.into()
    }),
    always("completion_tokens", Kind::Tokens, |m| {
        m.state.usage.completion_tokens.into()
    }),
    always("total_tokens", Kind::Tokens, |m| {
        m.state.usage.total_tokens().into()
    }),
    always("replayed_tokens", Kind::Tokens, |m| {
        m.replayed_tokens().into()
    }),
    always("replayed_percent", Kind::Percent, replayed_percent),
    always("cost_usd", Kind::Usd, |m| m.state.cost.into()),
    sets(
        &["max_budget_usd"],
        "budget_overshoot_usd",
        Kind::Usd,
        |m| m.overshoot_usd().into(),
    ),
    sets(
        &["max_budget_usd"],
        "budget_overshoot_turns",
        Kind::Count,
        |m| m.overshoot_turns().into(),
    ),
    always("wall_ms", Kind::Ms, |m| Printed::ms(m.wall)),
    sets(TOOL_TIME, "tool_ms", Kind::Ms, |m| {
        Printed::ms(m.ledger.tool_time())
    }),
    sets(WRITES, "deleted", Kind::Text, |m| {
        m.deleted.join(" ").into()
    }),
    sets(
        &["approval", "verdict"],
        "stopped_at_turn",
        Kind::Count,
        |m| m.asked_at_turn.into(),
    ),
    sets(
        &["restart_after_turn"],
        "restored_turns",
        Kind::Count,
        |m| m.restored.map(|restored| restored.turns).into(),
    ),
    sets(
        &["restart_after_turn"],
        "restored_messages",
        Kind::Count,
        |m| {
            m.restored
                .map_or(Printed::Missing, |restored| count(restored.messages))
        },
    ),
    sets(
        &["restart_after_turn"],
        "restored_cost_usd",
        Kind::Usd,
        |m| m.restored.map(|restored| restored.cost).into(),
    ),
    sets(
        &["latency", "tool_latency"],
        "latency_seed",
        Kind::Count,
        |m| {
            let Settings {
                latency,
                tool_latency,
                ..
            } = m.settings;
            let is_drawn = latency.is_some() || tool_latency.is_some();
            is_drawn.then_some(m.settings.seed).into()
        },
    ),
    sets(&["stop_at_ms"], "click_to_stop_ms", Kind::Ms, |m| {
        m.click_to_stop().map_or(Printed::Missing, Printed::ms)
    }),
    sets(
        &["stop_at_ms", "cancel_reaches"],
        "progress_ms_list",
        Kind::Text,
        |m| {
            let times = m
                .ledger
                .progress
                .iter()
                .map(|&at| Printed::ms(at).to_string());
            times.collect::<Vec<_>>().join(" ").into()
        },
    ),
    sub_agents("child_runs", Kind::Count, |m| m.state.children.runs.into()),
    sub_agents("child_turns", Kind::Count, |m| {
        m.state.children.turns.into()
    }),
    sub_agents("child_tool_runs", Kind::Count, |m| {
        m.state.children.tool_runs.into()
    }),
    sub_agents("child_prompt_tokens", Kind::Tokens, |m| {
        m.state.children.usage.prompt_tokens.into()
    }),
    sub_agents("child_completion_tokens", Kind::Tokens, |m| {
        m.state.children.usage.completion_tokens.into()
    }),
    sub_agents("child_cost_usd", Kind::Usd, |m| {
        m.state.children.cost.into()
    }),
    sub_agents("tree_cost_usd", Kind::Usd, |m| m.state.tree_cost().into()),
    CellColumn {
        name: "transcript_sha256",
        kind: Kind::Text,
        when: When::VirtualClock,
        value: |m| m.transcript_digest().into(),
    },
    CellColumn {
        name: "harness_share_ms",
        kind: Kind::Ms,
        when: When::RealClock,
        value: |m| m.harness_share().map_or(Printed::Missing, Printed::ms),
    },
];

/// A measured column of a turn.
pub(super) struct TurnColumn {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) when: When,
    pub(super) value: fn(&TurnSeen) -> Printed,
}

const fn of_turn(name: &'static str, kind: Kind, value: fn(&TurnSeen) -> Printed) -> TurnColumn {
    TurnColumn {
        name,
        kind,
        when: When::Always,
        value,
    }
}

static TURN_COLUMNS: &[TurnColumn] = &[
    of_turn("turn", Kind::Count, |turn| turn.number.into()),
    of_turn("prompt_tokens", Kind::Tokens, |turn| {
        turn.usage.prompt_tokens.into()
    }),
    of_turn("completion_tokens", Kind::Tokens, |turn| {
        turn.usage.completion_tokens.into()
    }),
    of_turn("total_tokens", Kind::Tokens, |turn| {
        turn.usage.total_tokens().into()
    }),
    of_turn("cost_usd", Kind::Usd, |turn| turn.cost.into()),
    of_turn("finish_reason", Kind::Text, |turn| {
        turn.finish.map(FinishReason::as_str).into()
    }),
    of_turn("provider_ms", Kind::Ms, |turn| Printed::ms(turn.provider)),
];

/// The share of the prompt tokens that an earlier turn had sent already, to one decimal.
fn replayed_percent(measured: &Measured<'_>) -> Printed {
    let all = Decimal::from(measured.state.usage.prompt_tokens);
    let hundredfold = Decimal::from(measured.replayed_tokens()) * Decimal::ONE_HUNDRED;
    let Some(percent) = hundredfold.checked_div(all) else {
        return Printed::Missing;
    };
    let mut percent = round_half_away(percent, 1);
    percent.rescale(1);
    Printed::from(percent)
}

pub(super) fn count(items: usize) -> Printed {
    u64::try_from(items).ok().into()
}
