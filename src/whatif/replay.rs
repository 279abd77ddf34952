//! Drives the step machine by what was recorded.

use std::time::Duration;

use serde_json::json;

use super::script::{Outcome, OutcomeKind, READS, Script, WRITES};
use super::sent::TurnUse;
use crate::event::Metering;
use crate::message::{Message, Usage};
use crate::money::PicoUsd;
use crate::provider::Reply;
use crate::run::context::ContextPolicy;
use crate::run::{Machine, Need, RunSettings, RunState, Status};
use crate::scenario::Said;
use crate::tools::{Access, Catalog, CatalogError, FnTool, ToolError};

/// What a run would have been, as far as the record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Turns taken.
    pub turns: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Their cost.
    pub cost: PicoUsd,
    /// Calls that were executed.
    pub tool_runs: u64,
    /// Whether a limit stopped it before the record ends.
    pub is_cut: bool,
    /// Whether a call was answered with another text than the recorded one: what the model would
    /// have made of it is not in the record.
    pub is_changed: bool,
}

/// The two tools that stand for all recorded ones.
pub(super) fn catalog() -> Result<Catalog, CatalogError> {
    let tool = |name, access| FnTool::new((name, ""), json!({}), access, |_| Ok(String::new()));
    let reads = tool(READS, Access::ReadOnly);
    let catalog = Catalog::default().with(std::sync::Arc::new(reads))?;
    catalog.with(std::sync::Arc::new(tool(WRITES, Access::Write)))
}

/// Replays a recorded conversation under these settings.
pub(super) fn replay(script: &Script, settings: RunSettings, catalog: &Catalog) -> Replayed {
    let (settings, uses) = uses(script, settings);
    let of_case: Vec<u64>;
    let prompts = match &uses {
        None => &script.prompts,
        Some(uses) => {
            of_case = uses.iter().map(|turn| turn.usage.prompt_tokens).collect();
            &of_case
        }
    };
    let state = RunState::new("", settings, "", "");
    let mut machine = Machine::new(state, catalog).with_prompts(prompts);
    let (mut summed_up, mut is_edited) = (0, false);
    loop {
        let need = machine.next(Duration::ZERO);
        let turn = usize::try_from(machine.state().turns).unwrap_or(usize::MAX);
        match need {
            Need::Reply { .. } => {
                let Some(step) = script.steps.get(turn) else {
                    break;
                };
                machine.on_request();
                let of_case = uses.as_ref().and_then(|uses| uses.get(turn));
                // A summary comes before its turn, once.
                if let Some(summary) = of_case.and_then(|turn| turn.summary)
                    && summed_up <= turn
                {
                    summed_up = turn + 1;
                    machine.on_summary(reply(None, summary), Duration::ZERO);
                    continue;
                }
                is_edited |= of_case.is_some_and(|turn| turn.is_edited);
                let usage = of_case.map_or(step.usage, |turn| turn.usage);
                machine.on_reply(reply(Some(step.said.clone()), usage), Duration::ZERO);
            }
            Need::Tool { call, .. } => {
                let Some(outcome) = outcome(script, &call.id) else {
                    break;
                };
                machine.on_tool_start(&call);
                machine.on_tool(&call, result(outcome), Duration::ZERO);
            }
            // The person goes on after the answer, as they did.
            Need::Nothing if machine.state().status == Status::Completed => {
                if turn >= script.steps.len() {
                    break;
                }
                machine.on_user(String::new());
            }
            // No case of a replay is one under which a summary is asked for.
            Need::Summary { .. } | Need::Nothing => break,
        }
        machine.take_events();
    }
    let mut replayed = summed(script, machine.state());
    replayed.is_changed |= is_edited;
    replayed
}

/// What each turn uses where other things are sent or cached than were, and the settings without
/// that: the machine has no texts to send. A record without texts is sent as it was.
fn uses(script: &Script, mut settings: RunSettings) -> (RunSettings, Option<Vec<TurnUse>>) {
    let context = std::mem::take(&mut settings.context);
    let cache = settings.cache.take();
    if context == ContextPolicy::Full && cache.is_none() {
        return (settings, None);
    }
    let sent = script.sent.as_ref();
    (settings, sent.map(|sent| sent.under(context, cache)))
}

fn reply(message: Option<Said>, usage: Usage) -> Reply {
    Reply {
        message,
        finish: None,
        usage,
        metering: Metering::reported(usage),
    }
}

/// What came of the call of that number.
fn outcome<'s>(script: &'s Script, id: &str) -> Option<&'s Outcome> {
    let number: usize = id.parse().ok()?;
    script.outcomes.get(number)?.as_ref()
}

fn result(outcome: &Outcome) -> Result<String, ToolError> {
    let text = outcome.text.clone();
    match outcome.kind {
        OutcomeKind::Fine => Ok(text),
        OutcomeKind::Failed => Err(ToolError::recoverable(text)),
        OutcomeKind::Permanent => Err(ToolError::permanent(text)),
    }
}

fn summed(script: &Script, state: &RunState) -> Replayed {
    let results = state.messages.iter().filter_map(|message| match message {
        Message::Tool {
            tool_call_id,
            content,
            ..
        } => Some((tool_call_id, content)),
        _ => None,
    });
    let is_other = |(id, content): (&String, &String)| {
        outcome(script, id).is_some_and(|outcome| {
            let told = content.strip_prefix("Error: ").unwrap_or(content);
            let failed = outcome.kind != OutcomeKind::Fine;
            told != outcome.text || failed != content.starts_with("Error: ")
        })
    };
    let is_stopped = !matches!(state.status, Status::Running | Status::Completed);
    let turns = usize::try_from(state.turns).unwrap_or(usize::MAX);
    let is_whole = turns >= script.steps.len() && results.clone().count() >= script.answered();
    Replayed {
        turns: u64::from(state.turns),
        usage: state.usage,
        cost: state.cost,
        tool_runs: u64::from(state.tool_runs),
        is_cut: is_stopped && !is_whole,
        is_changed: results.clone().any(is_other),
    }
}
