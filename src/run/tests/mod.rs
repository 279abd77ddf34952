//! What a run does, fact by fact, over the chapter's scenarios.

mod context;
mod limits;
mod parallel;
mod started;
mod writes;

use std::time::Duration;

use super::policy::{
    Approval, BudgetCheck, CancelReaches, Dedupe, PermanentErrors, Policy, StopCondition,
    ToolErrors, ToolExecution, VerdictWording,
};
use super::*;
use crate::clock::{Clock, Signal, VirtualClock};
use crate::event::{Event, Metering, Observer};
use crate::message::{FinishReason, Message, ToolCall, Usage};
use crate::money::PicoUsd;
use crate::pricing::{CHAPTER_PRICE, Price, PriceList};
use crate::provider::{Latency, Provider, Recorded, Reply, Scripted};
use crate::scenario::{Said, Scenario};
use crate::tools::{Catalog, Template, Workspace};
use crate::world;

fn price() -> Price {
    PriceList::builtin()
        .unwrap()
        .get(CHAPTER_PRICE)
        .unwrap()
        .clone()
}

fn usd(text: &str) -> PicoUsd {
    text.parse().unwrap()
}

fn scripted(scenario: &str) -> Scripted {
    Scripted::new(Scenario::builtin(scenario).unwrap().into())
}

fn settings(policy: Policy, stop: &[StopCondition]) -> RunSettings {
    RunSettings {
        stop: stop.to_vec(),
        ..RunSettings::new(price()).with_policy(policy)
    }
}

/// A run and everything around it that a test may look at afterwards.
struct Bench {
    catalog: Catalog,
    workspace: Workspace,
    clock: VirtualClock,
    signal: Signal,
    events: Recorder,
}

#[derive(Default)]
struct Recorder(Vec<(Duration, Event)>);

impl Observer for Recorder {
    fn observe(&mut self, _run_id: &str, at: Duration, event: &Event) {
        self.0.push((at, event.clone()));
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            catalog: Catalog::chapter(),
            workspace: Workspace::in_memory(&Template::chapter()),
            clock: VirtualClock::new(),
            signal: Signal::new(),
            events: Recorder::default(),
        }
    }
}

impl Bench {
    fn drive(
        &mut self,
        provider: &dyn Provider,
        state: RunState,
        begin: impl FnOnce(&mut Machine<'_>),
    ) -> RunState {
        let mut machine = Machine::new(state, &self.catalog);
        begin(&mut machine);
        let harness = Harness {
            provider,
            catalog: &self.catalog,
            workspace: &self.workspace,
            clock: &self.clock,
            signal: &self.signal,
        };
        let mut watchers = Watchers::none().observed_by(&mut self.events);
        pollster::block_on(drive(&mut machine, harness, &mut watchers)).unwrap();
        drop(watchers);
        machine.into_state()
    }

    fn run(&mut self, provider: &dyn Provider, settings: RunSettings) -> RunState {
        let state = RunState::new("t", settings, world::SYSTEM, world::USER);
        self.drive(provider, state, |_| ())
    }

    fn deleted(&self) -> Vec<String> {
        self.workspace
            .journal()
            .unwrap()
            .into_iter()
            .map(|entry| entry.path)
            .collect()
    }
}

fn run(scenario: &str, policy: Policy, stop: &[StopCondition]) -> RunState {
    Bench::default().run(&scripted(scenario), settings(policy, stop))
}

fn cap(turns: u32) -> [StopCondition; 1] {
    [StopCondition::MaxTurns { turns }]
}

fn budget(dollars: &str, check: BudgetCheck) -> [StopCondition; 1] {
    [StopCondition::MaxBudget {
        usd: usd(dollars),
        check,
    }]
}

fn facts(run: &RunState) -> (Status, u32, u32, u64, String) {
    (
        run.status,
        run.turns,
        run.tool_runs,
        run.usage.prompt_tokens,
        run.cost.to_string(),
    )
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn reply(content: Option<&str>, calls: &[ToolCall]) -> Reply {
    let content = content.map(str::to_owned);
    Reply {
        message: Some(Said {
            content,
            tool_calls: calls.to_vec(),
        }),
        finish: Some(FinishReason::ToolCalls),
        usage: Usage {
            prompt_tokens: 100,
            completion_tokens: 10,
            ..Usage::default()
        },
        metering: Metering::reported(Usage::default()),
    }
}

fn results(run: &RunState) -> Vec<&str> {
    run.messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect()
}
