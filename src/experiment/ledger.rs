//! What the events of a run tell, kept for its rows.

use std::time::Duration;

use crate::event::{Event, Metering, Observer};
use crate::message::{FinishReason, Usage};
use crate::money::PicoUsd;

/// One turn, as the events told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnSeen {
    pub(super) number: u32,
    pub(super) usage: Usage,
    pub(super) metering: Metering,
    pub(super) cost: PicoUsd,
    pub(super) finish: Option<FinishReason>,
    pub(super) provider: Duration,
}

/// One execution of a tool, as the events told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolSeen {
    pub(super) call_id: String,
    /// How long it took; nothing where it was not done.
    pub(super) took: Option<Duration>,
}

/// Watches a run and keeps what rows need.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) turns: Vec<TurnSeen>,
    /// Tools by the steps in which they ran: one, or several at the same time.
    pub(super) tools: Vec<Vec<ToolSeen>>,
    pub(super) progress: Vec<Duration>,
    /// Attempts that repeated a body.
    pub(super) retries: u32,
    /// Tool results that were left out of what is sent.
    pub(super) left_out: u32,
    /// Tokens of asking for each summary.
    pub(super) summaries: Vec<Usage>,
}

impl Observer for Ledger {
    fn observe(&mut self, _run_id: &str, at: Duration, event: &Event) {
        match event {
            &Event::Turn {
                turn,
                usage,
                metering,
                cost,
                finish,
                provider,
            } => {
                self.turns.push(TurnSeen {
                    number: turn,
                    usage,
                    metering,
                    cost,
                    finish,
                    provider,
                });
            }
            Event::Attempt { attempt, .. } => self.retries += u32::from(attempt.number > 1),
            Event::ToolStart { call_id, .. } => self.started(call_id),
            Event::ToolResult { took, .. } => self.done(*took),
            Event::ToolProgress { .. } => self.progress.push(at),
            Event::ContextEdited { results, .. } => self.left_out += results,
            Event::Summary { usage, .. } => self.summaries.push(*usage),
            _ => {}
        }
    }
}

impl Ledger {
    /// A tool that starts before those of its step are done runs at the same time.
    fn started(&mut self, call_id: &str) {
        let tool = ToolSeen {
            call_id: call_id.to_owned(),
            took: None,
        };
        match self.tools.last_mut() {
            Some(step) if step.iter().any(|tool| tool.took.is_none()) => step.push(tool),
            _ => self.tools.push(vec![tool]),
        }
    }

    /// Results come in the order of the starts; one without a start is of a call whose tool did
    /// not run.
    fn done(&mut self, took: Duration) {
        let step = self.tools.last_mut().into_iter().flatten();
        if let Some(tool) = step.into_iter().find(|tool| tool.took.is_none()) {
            tool.took = Some(took);
        }
    }

    /// What the tools took, each for itself.
    pub(super) fn tool_time(&self) -> Duration {
        let tools = self.tools.iter().flatten();
        tools.filter_map(|tool| tool.took).sum()
    }
}
