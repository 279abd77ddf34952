//! What must hold of the settings of every cell and no schema can say.
//!
//! Each rule looks at a few settings, so it is tried on cells in which those take all their
//! combinations, and not on every cell of a large sweep.

use std::collections::BTreeSet;

use super::doubt;
use super::format::ExperimentFile;
use super::harness::Harness;
use super::input::pointer_of;
use super::pace::pace_of;
use super::settings::Settings;
use super::slow::tool_latency;
use super::sweep::Sweep;
use super::wire_rules;
use crate::clock::ClockKind;
use crate::document::Findings;
use crate::run::policy::BudgetCheck;

/// The most combinations on which one rule is tried.
const MOST_TRIED: usize = 10_000;

/// A rule: the settings that it looks at, the one that it blames, and what it says.
pub(super) struct Rule {
    pub(super) looks_at: &'static [&'static str],
    pub(super) blames: &'static str,
    pub(super) broken: fn(&Settings) -> Option<String>,
    pub(super) help: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        looks_at: &["scenario", "provider"],
        blames: "scenario",
        broken: |settings| {
            (settings.scenario.is_none() && !settings.asks_endpoint())
                .then(|| "no scenario: nobody plays the model".to_owned())
        },
        help: "set `scenario` under `[settings]`, in every case, or as an axis",
    },
    Rule {
        looks_at: &["budget_check", "max_completion_tokens"],
        blames: "budget_check",
        broken: |settings| {
            let unknown = settings.max_completion_tokens.is_none();
            (settings.budget_check == BudgetCheck::Reserve && unknown)
                .then(|| "`reserve` does not know the most that a reply can cost".to_owned())
        },
        help: "set `max_completion_tokens`",
    },
    Rule {
        looks_at: &["latency", "latency_ms"],
        blames: "latency",
        broken: |settings| {
            (settings.latency.is_some() && settings.latency_ms.is_some())
                .then(|| "`latency` beside `latency_ms`".to_owned())
        },
        help: "keep one of the two",
    },
    Rule {
        looks_at: &["latency", "latency_ms"],
        blames: "latency",
        broken: |settings| pace_of(settings).err().map(|error| error.to_string()),
        help: "write a plausible number of milliseconds",
    },
    Rule {
        looks_at: &["tool_latency"],
        blames: "tool_latency",
        broken: |settings| tool_latency(settings).err().map(|error| error.to_string()),
        help: "write for example `200ms`, `log_normal(400ms,0.8)` or `gamma(500ms,1)`",
    },
    Rule {
        looks_at: &["samples", "latency", "tool_latency"],
        blames: "samples",
        broken: |settings| {
            let is_drawn = settings.latency.is_some() || settings.tool_latency.is_some();
            let alike = settings.samples.is_some_and(|n| n > 1) && !is_drawn;
            alike.then(|| "samples of a run in which nothing is drawn: all are the same".to_owned())
        },
        help: "set `latency` or `tool_latency`, or leave `samples` out",
    },
];

/// Rules of the loop of this program alone.
const OF_THE_LOOP: &[Rule] = &[Rule {
    looks_at: &["max_turns", "max_budget_usd", "max_tokens"],
    blames: "max_turns",
    broken: |settings| {
        let unlimited = settings.max_turns.is_none()
            && settings.max_budget_usd.is_none()
            && settings.max_tokens.is_none();
        unlimited.then(|| "no limit: a model that never answers would never stop".to_owned())
    },
    help: "set `max_turns`, `max_budget_usd` or `max_tokens`",
}];

/// Rules of the real clock alone.
const ON_REAL_CLOCK: &[Rule] = &[Rule {
    looks_at: &["samples"],
    blames: "samples",
    broken: |settings| {
        let simulated = settings.samples.is_some();
        simulated.then(|| "samples on the real clock, which simulates nothing".to_owned())
    },
    help: "measure with `repeat`, or leave `clock` out",
}];

/// Reports every rule that a cell breaks, once for each place that is to blame. A cell is left
/// out where it is in doubt what the rule looks at.
pub(super) fn check(
    findings: &mut Findings<'_>,
    file: &ExperimentFile,
    (harness, sweep): (&Harness, &Sweep),
) {
    let clock = harness.clock(file.clock);
    let is_virtual = clock == ClockKind::Virtual && findings.is_certain("/clock");
    if file.repeat > 1 && is_virtual {
        let help =
            "set `clock = \"real\"`, or `samples` instead of `repeat` for draws of their own";
        findings.add(
            "/repeat",
            "on the virtual clock every repetition is the same",
            help,
        );
    }
    let of_the_loop = match harness {
        Harness::InProcess => OF_THE_LOOP,
        Harness::Command(_) => &[],
    };
    let of_the_wire = match harness {
        Harness::InProcess => wire_rules::RULES,
        Harness::Command(_) => &[],
    };
    let of_clock = match clock {
        _ if is_virtual => wire_rules::ON_VIRTUAL_CLOCK,
        ClockKind::Real if findings.is_certain("/clock") => ON_REAL_CLOCK,
        _ => &[],
    };
    let all = RULES.iter().chain(of_the_loop);
    for rule in all.chain(of_the_wire).chain(of_clock) {
        let mut blamed = BTreeSet::new();
        for index in sweep.representatives(rule.looks_at, MOST_TRIED) {
            let is_settled =
                |setting: &&str| doubt::is_settled(findings, (file, sweep), index, setting);
            let Some(cell) = sweep
                .cell(index)
                .ok()
                .filter(|_| rule.looks_at.iter().all(is_settled))
            else {
                continue;
            };
            let pointer = pointer_of(sweep, index, rule.blames);
            if let Some(message) = (rule.broken)(&cell.settings)
                && blamed.insert(pointer.clone())
            {
                findings.add(&pointer, &message, rule.help);
            }
        }
    }
}
