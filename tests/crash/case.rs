//! The runs that are cut off: what each does, and what its person says when asked.

use std::sync::Arc;

use loopmeter::pricing::{CHAPTER_PRICE, PriceList};
use loopmeter::provider::Scripted;
use loopmeter::run::policy::{Approval, Dedupe, Policy, StopCondition, ToolExecution};
use loopmeter::run::{RunSettings, RunState, SubAgent};
use loopmeter::scenario::Scenario;
use loopmeter::tools::Catalog;
use loopmeter::world;

/// The id of every run.
pub(crate) const ID: &str = "t";

/// What the person says of a call that waits for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approve,
    Reject,
}

/// One kind of run.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) provider: Scripted,
    pub(crate) catalog: Catalog,
    pub(crate) verdict: Verdict,
    policy: Policy,
    max_turns: u32,
}

impl Case {
    fn new(name: &'static str, scenario: &str, policy: Policy) -> Self {
        Self {
            name,
            provider: scripted(scenario),
            catalog: Catalog::chapter(),
            policy,
            verdict: Verdict::Approve,
            max_turns: 20,
        }
    }

    fn with(self, catalog: Catalog) -> Self {
        Self { catalog, ..self }
    }

    /// The run before it begins.
    pub(crate) fn state(&self) -> RunState {
        let settings = settings(self.policy, self.max_turns);
        RunState::new(ID, settings, world::SYSTEM, world::USER)
    }
}

/// All runs that are cut off.
pub(crate) fn all() -> Vec<Case> {
    let asks = Policy::default();
    let granted = Policy {
        approval: Approval::Granted,
        ..asks
    };
    let dedupe = |dedupe| Policy { dedupe, ..granted };
    let at_once = Policy {
        tool_execution: ToolExecution::Parallel,
        ..asks
    };
    let keyed = Catalog::chapter_with_idempotency_keys();
    vec![
        Case::new("reads", "plan", asks),
        Case::new("two calls at once", "parallel", asks),
        Case::new("two calls at the same time", "parallel", at_once),
        Case::new("recovers", "recover", asks),
        Case::new("approved", "destructive", asks),
        Case {
            verdict: Verdict::Reject,
            ..Case::new("rejected", "destructive", asks)
        },
        Case::new("writes twice", "delete-twice", granted),
        Case::new(
            "writes twice, deduplicated",
            "delete-twice",
            dedupe(Dedupe::All),
        ),
        Case::new("writes with two keys", "delete-twice-two-keys", granted).with(keyed.clone()),
        Case::new(
            "writes with one key",
            "delete-twice-same-key",
            dedupe(Dedupe::IdempotencyKey),
        )
        .with(keyed),
        Case::new("repeats", "repeat", dedupe(Dedupe::ReadOnly)),
        Case {
            max_turns: 4,
            ..Case::new("capped", "runaway", asks)
        },
        Case::new("a sub-agent reads", "delegate", asks).with(with_sub_agent("research")),
        Case::new("a sub-agent writes", "delegate", asks).with(with_sub_agent("destructive")),
    ]
}

fn scripted(scenario: &str) -> Scripted {
    Scripted::new(Scenario::builtin(scenario).unwrap().into())
}

fn settings(policy: Policy, turns: u32) -> RunSettings {
    let prices = PriceList::builtin().unwrap();
    RunSettings::new(prices.get(CHAPTER_PRICE).unwrap().clone())
        .with_policy(policy)
        .stop_when(StopCondition::MaxTurns { turns })
}

/// The chapter's tools, and one with a run of `scenario` behind it.
fn with_sub_agent(scenario: &str) -> Catalog {
    let granted = Policy {
        approval: Approval::Granted,
        ..Policy::default()
    };
    let child = SubAgent::new(
        ("research", "Investigates one question."),
        "You investigate one question.",
        Arc::new(scripted(scenario)),
        Arc::new(Catalog::chapter()),
        settings(granted, 6),
    );
    Catalog::chapter().with(Arc::new(child)).unwrap()
}
