//! The step machine: says what a run needs next, and is told what came of it.
//!
//! It does no I/O, reads no clock, awaits nothing and fails on nothing that a model can write.
//! Time enters as a value. Running, resuming and replaying are the same code path, because what
//! is outstanding is read off the transcript.

mod asking;
mod calls;
mod decide;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::event::Event;
use crate::message::{Message, ToolCall};

use crate::provider::Reply;
use crate::run::index::TranscriptIndex;
use crate::run::policy::{BudgetCheck, StopCondition};
use crate::run::sending::Sending;
use crate::run::state::{RunState, Status, StopReason};
use crate::scenario::Said;
use crate::tools::{Bill, Catalog, ToolError};

pub use decide::{DecisionError, RESULT_UNKNOWN, declined};

/// What the model reads of a failed tool under [`ToolErrors::Generic`](crate::run::policy::ToolErrors::Generic).
pub const GENERIC_TOOL_ERROR: &str = "Error: the tool failed.";

/// What the model reads of a failed tool under [`ToolErrors::Worded`](crate::run::policy::ToolErrors::Worded).
#[must_use]
pub fn worded(error: &str) -> String {
    format!("Error: {error}")
}

/// A stop condition of a library user: true ends the run.
pub type CustomStop<'a> = &'a (dyn Fn(&RunState) -> bool + Send + Sync);

/// What a run needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// A reply of the model to the transcript as it stands.
    Reply {
        /// Tokens of the request, the tool definitions included.
        prompt_tokens: u64,
    },
    /// A summary of what is sent, to send instead of it.
    Summary {
        /// Tokens of the request, the tool definitions included.
        prompt_tokens: u64,
        /// The most tokens that the summary may have.
        most_tokens: u64,
    },
    /// The execution of one tool call.
    Tool {
        /// The call.
        call: ToolCall,
        /// Its arguments, of the shape that the tool declares.
        arguments: Value,
        /// The calls behind it that may be run at the same time, in the order of the turn: they
        /// only read, and so does it. None unless the policy is
        /// [`ToolExecution::Parallel`](crate::run::policy::ToolExecution::Parallel); whoever runs
        /// one call at a time leaves them, and is asked for them next.
        beside: Vec<(ToolCall, Value)>,
    },
    /// Nothing: the run has taken one of its exits.
    Nothing,
}

/// A run being run.
pub struct Machine<'a> {
    state: RunState,
    index: TranscriptIndex,
    /// What is sent, where that is not simply the transcript.
    sending: Option<Sending>,
    catalog: &'a Catalog,
    tools_tokens: u64,
    /// The tokens of each turn's request, where they were counted before.
    prompts: &'a [u64],
    custom: BTreeMap<String, CustomStop<'a>>,
    events: Vec<Event>,
}

impl<'a> Machine<'a> {
    /// A machine over `state`, new or restored, with the tools of `catalog`.
    #[must_use]
    pub fn new(state: RunState, catalog: &'a Catalog) -> Self {
        let index = TranscriptIndex::of(&state.messages);
        let tools_tokens = catalog.tokens();
        let sending = Sending::of(&state);
        Self {
            state,
            index,
            sending,
            catalog,
            tools_tokens,
            prompts: &[],
            custom: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Registers the predicate that [`StopCondition::Custom`] of this name stands for.
    #[must_use]
    pub fn with_custom_stop(mut self, name: &str, holds: CustomStop<'a>) -> Self {
        self.custom.insert(name.to_owned(), holds);
        self
    }

    /// The run as it stands.
    #[must_use]
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The run as it stands, the machine being done with it.
    #[must_use]
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// What happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// What the run needs next, its clock showing `now`.
    pub fn next(&mut self, now: Duration) -> Need {
        self.state.elapsed = now;
        while self.state.status == Status::Running {
            if let Some(reason) = self.due_stop() {
                self.stop(reason, None);
                break;
            }
            let Some(pending) = self.index.first_pending().cloned() else {
                let (need, worst) = self.model_need();
                if self.would_overspend(worst) {
                    self.stop(StopReason::MaxBudget, None);
                    break;
                }
                return need;
            };
            if let Some(need) = self.settle(pending) {
                return need;
            }
        }
        Need::Nothing
    }

    /// The person says something more after an answer: the conversation goes on.
    #[cfg(feature = "cli")]
    pub(crate) fn on_user(&mut self, content: String) {
        self.push(Message::User { content });
        if self.state.status == Status::Completed {
            self.state.status = Status::Running;
            self.state.output = None;
        }
    }

    /// The model is about to be asked.
    pub fn on_request(&mut self) {
        self.state.requests = self.state.requests.saturating_add(1);
    }

    /// The request that was last asked took so many attempts on the wire.
    pub fn on_attempts(&mut self, attempts: u32) {
        self.state.attempts = self.state.attempts.saturating_add(attempts);
    }

    /// The model replied, `took` after the request.
    ///
    /// The cost enters the state before anything else is done with the reply.
    pub fn on_reply(&mut self, reply: Reply, took: Duration) {
        let Reply {
            message,
            finish,
            usage,
            metering,
        } = reply;
        let usage = self.with_cache(usage);
        let state = &mut self.state;
        state.turns = state.turns.saturating_add(1);
        state.usage += usage;
        state.counted += metering.counted;
        state.cost_before_reply = state.cost;
        state.cost += state.settings.price.cost(&usage);
        let (turn, cost) = (state.turns, state.cost);
        self.events.push(Event::Turn {
            turn,
            usage,
            metering,
            cost,
            finish,
            provider: took,
        });
        let Some(said) = message else {
            let error = "the reply has no choices".to_owned();
            return self.stop(StopReason::ProviderError, Some(error));
        };
        let answer = said
            .tool_calls
            .is_empty()
            .then(|| said.content.clone().unwrap_or_default());
        let Said {
            content,
            tool_calls,
        } = said;
        self.push(Message::Assistant {
            content,
            tool_calls,
        });
        if let Some(answer) = answer {
            self.state.output = Some(answer);
            self.finish(Status::Completed, None);
        }
    }

    /// The provider failed for good.
    pub fn on_provider_error(&mut self, error: String) {
        self.state.in_flight = None;
        self.stop(StopReason::ProviderError, Some(error));
    }

    /// The body of `call`'s tool is about to run. Whoever keeps the run saves it between this and
    /// the tool, so that a crash in the tool is known for what it is.
    pub fn on_tool_start(&mut self, call: &ToolCall) {
        self.state.in_flight = Some(call.id.clone());
        self.start(call);
    }

    /// The bodies of the tools of `calls` are about to run at the same time. They only read, so a
    /// crash in them leaves nothing to ask about, and nothing is said to be in flight.
    pub fn on_reads_start<'c>(&mut self, calls: impl IntoIterator<Item = &'c ToolCall>) {
        for call in calls {
            self.start(call);
        }
    }

    fn start(&mut self, call: &ToolCall) {
        self.state.tool_runs = self.state.tool_runs.saturating_add(1);
        self.events.push(Event::ToolStart {
            tool_name: call.name.clone(),
            args: call.arguments.clone(),
            call_id: call.id.clone(),
        });
    }

    /// The body of `call`'s tool ran for `took`.
    pub fn on_tool(&mut self, call: &ToolCall, result: Result<String, ToolError>, took: Duration) {
        if let (Ok(text), Some(key)) = (&result, self.dedupe_key(call)) {
            self.state.remembered.insert(key, text.clone());
        }
        self.answer(call, result, took);
    }

    /// A sub-agent behind a tool used this much.
    pub fn on_bill(&mut self, bill: Bill) {
        self.state.children += bill;
    }

    /// Somebody pressed Stop, and it reached the run. A tool that it ended may have done a part of
    /// its work, so the call stays in flight.
    pub fn on_cancelled(&mut self, reason: String) {
        self.stop(StopReason::Cancelled { reason }, None);
    }

    /// The first stop condition that holds, in the order of the list.
    fn due_stop(&self) -> Option<StopReason> {
        self.state
            .settings
            .stop
            .iter()
            .find_map(|condition| self.due(condition))
    }

    fn due(&self, condition: &StopCondition) -> Option<StopReason> {
        let state = &self.state;
        match condition {
            StopCondition::MaxTurns { turns } => {
                (state.turns >= *turns).then_some(StopReason::MaxTurns)
            }
            StopCondition::MaxBudget { usd, check } => {
                let known = match check {
                    BudgetCheck::Before | BudgetCheck::Reserve => state.cost,
                    BudgetCheck::After => state.cost_before_reply,
                };
                (known >= *usd).then_some(StopReason::MaxBudget)
            }
            StopCondition::MaxTokens { tokens } => {
                (state.usage.total_tokens() >= *tokens).then_some(StopReason::MaxTokens)
            }
            StopCondition::MaxWall { wall_ms } => {
                (state.elapsed >= Duration::from_millis(*wall_ms)).then_some(StopReason::MaxWall)
            }
            StopCondition::RepeatedCall { times } => {
                let repeated = self.index.most_repeated()?;
                (repeated.times >= *times).then(|| StopReason::RepeatedCall {
                    tool_name: repeated.call.name.clone(),
                    args: repeated.call.arguments.clone(),
                    k: repeated.times,
                })
            }
            StopCondition::Custom { name } => {
                let holds = self.custom.get(name)?;
                holds(state).then(|| StopReason::Custom { name: name.clone() })
            }
        }
    }

    fn push(&mut self, message: Message) {
        self.index.push(&message);
        if let Some(sending) = &mut self.sending {
            sending.push(&message);
        }
        self.state.messages.push(message);
    }

    fn stop(&mut self, reason: StopReason, error: Option<String>) {
        self.state.error = error;
        self.finish(reason.status(), Some(reason));
    }

    fn finish(&mut self, status: Status, reason: Option<StopReason>) {
        self.events.push(Event::RunStopped {
            status: status.as_str(),
            reason: reason.as_ref().map(|reason| reason.as_str().to_owned()),
            turns: self.state.turns,
            cost: self.state.cost,
        });
        self.state.status = status;
        self.state.interruption = reason;
    }
}
