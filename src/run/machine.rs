//! The step machine: says what a run needs next, and is told what came of it.
//!
//! It does no I/O, reads no clock, awaits nothing and fails on nothing that a model can write.
//! Time enters as a value. Running, resuming and replaying are the same code path, because what
//! is outstanding is read off the transcript.

mod asking;
mod decide;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::event::Event;
use crate::message::{Message, ToolCall};

use crate::provider::Reply;
use crate::run::index::{PendingCall, TranscriptIndex, signature};
use crate::run::policy::{
    Approval, BudgetCheck, Dedupe, PermanentErrors, StopCondition, ToolErrors,
};
use crate::run::sending::Sending;
use crate::run::state::{RunState, Status, StopReason};
use crate::scenario::Said;
use crate::tools::{Access, Bill, Catalog, ErrorKind, Repeat, ToolError};

pub use decide::{DecisionError, RESULT_UNKNOWN, declined};

/// What the model reads of a failed tool under [`ToolErrors::Generic`].
pub const GENERIC_TOOL_ERROR: &str = "Error: the tool failed.";

/// What the model reads of a failed tool under [`ToolErrors::Worded`].
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
        self.state.tool_runs = self.state.tool_runs.saturating_add(1);
        self.state.in_flight = Some(call.id.clone());
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

    /// Answers the pending call without running anything, or says what it needs.
    fn settle(&mut self, pending: PendingCall) -> Option<Need> {
        let PendingCall { call, reuses_id } = pending;
        if reuses_id {
            let message = format!(
                "call id {:?} was used before; the call was not executed. Give every call its own id.",
                shorten(&call.id)
            );
            self.answer(&call, Err(ToolError::recoverable(message)), Duration::ZERO);
            return None;
        }
        let arguments = self.catalog.parse_arguments(&call.name, &call.arguments);
        if self.state.in_flight.as_ref() == Some(&call.id) {
            return self.take_up_started(call, arguments);
        }
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => {
                self.answer(&call, Err(error), Duration::ZERO);
                return None;
            }
        };
        let remembered = self
            .dedupe_key(&call)
            .and_then(|key| self.state.remembered.get(&key));
        if let Some(text) = remembered.cloned() {
            self.answer(&call, Ok(text), Duration::ZERO);
            return None;
        }
        if self.needs_approval(&call) {
            self.ask_person(&call, arguments);
            return None;
        }
        Some(Need::Tool { call, arguments })
    }

    /// A call that was started and never answered: run again only where that does no harm.
    fn take_up_started(
        &mut self,
        call: ToolCall,
        arguments: Result<Value, ToolError>,
    ) -> Option<Need> {
        let tool = self.catalog.get(&call.name);
        let (call_id, tool_name) = (call.id.clone(), call.name.clone());
        let args = match (tool, arguments) {
            (Some(tool), Ok(arguments)) if tool.repeat(&arguments) == Repeat::Harmless => {
                return Some(Need::Tool { call, arguments });
            }
            (_, Ok(arguments)) => arguments,
            // The tools are others than those that the run was started with.
            (_, Err(_)) => Value::String(call.arguments),
        };
        self.stop(
            StopReason::UnknownOutcome {
                call_id,
                tool_name,
                args,
            },
            None,
        );
        None
    }

    fn needs_approval(&self, call: &ToolCall) -> bool {
        match self.state.settings.policy.approval {
            Approval::Granted => false,
            Approval::Ask => {
                self.catalog
                    .get(&call.name)
                    .is_some_and(|tool| tool.needs_approval())
                    && !self.state.approved.contains(&call.id)
            }
        }
    }

    fn ask_person(&mut self, call: &ToolCall, args: Value) {
        self.events.push(Event::ApprovalRequired {
            tool_name: call.name.clone(),
            args: call.arguments.clone(),
            call_id: call.id.clone(),
        });
        let (call_id, tool_name) = (call.id.clone(), call.name.clone());
        self.stop(
            StopReason::Approval {
                call_id,
                tool_name,
                args,
            },
            None,
        );
    }

    /// What a repeated call is recognised by, where the dedupe policy covers this one.
    fn dedupe_key(&self, call: &ToolCall) -> Option<String> {
        match self.state.settings.policy.dedupe {
            Dedupe::Off => None,
            Dedupe::All => Some(signature(call)),
            Dedupe::ReadOnly => {
                let tool = self.catalog.get(&call.name)?;
                (tool.access() == Access::ReadOnly).then(|| signature(call))
            }
            Dedupe::IdempotencyKey => {
                let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
                let key = arguments.get("idempotency_key")?.as_str()?;
                Some(format!("{}\n{key}", call.name))
            }
        }
    }

    /// Writes the outcome of a call into the transcript, or ends the run over it.
    fn answer(&mut self, call: &ToolCall, result: Result<String, ToolError>, took: Duration) {
        let (tool_name, ok) = (call.name.clone(), result.is_ok());
        self.state.in_flight = None;
        self.state.approved.retain(|id| *id != call.id);
        self.events.push(Event::ToolResult {
            tool_name,
            took,
            ok,
        });
        let policy = self.state.settings.policy;
        let content = match result {
            Ok(text) => text,
            Err(error) => {
                let permanent = error.kind == ErrorKind::Permanent;
                if permanent && policy.permanent_errors == PermanentErrors::Stop {
                    return self.stop(StopReason::PermanentError, Some(error.message));
                }
                match policy.tool_errors {
                    ToolErrors::Fatal => {
                        return self.stop(StopReason::ToolError, Some(error.message));
                    }
                    ToolErrors::Generic => GENERIC_TOOL_ERROR.to_owned(),
                    ToolErrors::Worded => worded(&error.message),
                }
            }
        };
        let (tool_call_id, name) = (call.id.clone(), call.name.clone());
        self.push(Message::Tool {
            tool_call_id,
            name,
            content,
        });
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

/// The first 80 characters, so that a hostile id cannot flood the transcript.
fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}
