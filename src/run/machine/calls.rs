//! What becomes of the calls of a turn: each is decided in order, by the policies and by what the
//! transcript has so far.
//!
//! Under [`ToolExecution::Parallel`] the next call is handed out together with calls behind it.
//! That must change nothing but the time, so a call comes along only if it would be run whatever
//! the calls before it answer:
//!
//! - it and every call before it in the group only read, may be repeated and ask nobody;
//! - the calls stand side by side: one that is answered without its tool, or that asks, ends the
//!   group, and so does one that could be answered from the result of a call in it;
//! - no result can end the run: an error does not (`tool_errors` other than `fatal`, and
//!   `permanent_errors` other than `stop`), and no predicate of a library user looks at the run.
//!
//! Limits of turns, money, tokens and repetitions were looked at before the first of them, and no
//! result changes what they say. A limit on the time is looked at before a group, as it is before
//! a call.

use std::time::Duration;

use serde_json::Value;

use super::{GENERIC_TOOL_ERROR, Machine, Need, worded};
use crate::event::Event;
use crate::message::{Message, ToolCall};
use crate::run::index::{PendingCall, signature};
use crate::run::policy::{
    Approval, Dedupe, PermanentErrors, StopCondition, ToolErrors, ToolExecution,
};
use crate::run::state::StopReason;
use crate::tools::{Access, ErrorKind, Repeat, ToolError};

/// What becomes of a call.
enum Decision {
    /// It is answered without its tool.
    Answer(Result<String, ToolError>),
    /// A person is asked about it.
    Ask(Value),
    /// Its tool was started before, and nobody knows what came of that.
    Unknown(Value),
    /// Its tool runs.
    Run(Value),
}

impl Machine<'_> {
    /// Answers the pending call without running anything, or says what it needs.
    pub(super) fn settle(&mut self, pending: PendingCall) -> Option<Need> {
        let decision = self.decide(&pending);
        let call = pending.call;
        match decision {
            Decision::Answer(result) => self.answer(&call, result, Duration::ZERO),
            Decision::Ask(args) => self.ask_person(&call, args),
            Decision::Unknown(args) => {
                let (call_id, tool_name) = (call.id, call.name);
                let reason = StopReason::UnknownOutcome {
                    call_id,
                    tool_name,
                    args,
                };
                self.stop(reason, None);
            }
            Decision::Run(arguments) => {
                let beside = self.beside(&call, &arguments);
                return Some(Need::Tool {
                    call,
                    arguments,
                    beside,
                });
            }
        }
        None
    }

    /// What becomes of `pending`, as far as the results so far tell.
    fn decide(&self, pending: &PendingCall) -> Decision {
        let PendingCall { call, reuses_id } = pending;
        if *reuses_id {
            let message = format!(
                "call id {:?} was used before; the call was not executed. Give every call its own id.",
                shorten(&call.id)
            );
            return Decision::Answer(Err(ToolError::recoverable(message)));
        }
        let arguments = self.catalog.parse_arguments(&call.name, &call.arguments);
        if self.state.in_flight.as_ref() == Some(&call.id) {
            return self.decide_started(call, arguments);
        }
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return Decision::Answer(Err(error)),
        };
        let remembered = self
            .dedupe_key(call)
            .and_then(|key| self.state.remembered.get(&key));
        if let Some(text) = remembered {
            return Decision::Answer(Ok(text.clone()));
        }
        if self.needs_approval(call) {
            return Decision::Ask(arguments);
        }
        Decision::Run(arguments)
    }

    /// A call that was started and never answered: run again only where that does no harm.
    fn decide_started(&self, call: &ToolCall, arguments: Result<Value, ToolError>) -> Decision {
        match (self.catalog.get(&call.name), arguments) {
            (Some(tool), Ok(arguments)) if tool.repeat(&arguments) == Repeat::Harmless => {
                Decision::Run(arguments)
            }
            (_, Ok(arguments)) => Decision::Unknown(arguments),
            // The tools are others than those that the run was started with.
            (_, Err(_)) => Decision::Unknown(Value::String(call.arguments.clone())),
        }
    }

    /// The calls behind `first`, the first that is pending, that run at the same time.
    fn beside(&self, first: &ToolCall, arguments: &Value) -> Vec<(ToolCall, Value)> {
        let parallel = self.state.settings.policy.tool_execution == ToolExecution::Parallel;
        if !parallel || self.a_result_can_end_it() || !self.only_reads(first, arguments) {
            return Vec::new();
        }
        let mut keys: Vec<String> = self.dedupe_key(first).into_iter().collect();
        let mut beside = Vec::new();
        for pending in self.index.pending().skip(1) {
            let Decision::Run(arguments) = self.decide(pending) else {
                break;
            };
            let key = self.dedupe_key(&pending.call);
            let is_repeated = key.as_ref().is_some_and(|key| keys.contains(key));
            if is_repeated || !self.only_reads(&pending.call, &arguments) {
                break;
            }
            keys.extend(key);
            beside.push((pending.call.clone(), arguments));
        }
        beside
    }

    /// Whether the run may be over after a result, so that the call behind it is never made.
    fn a_result_can_end_it(&self) -> bool {
        let settings = &self.state.settings;
        let policy = settings.policy;
        let mut stop = settings.stop.iter();
        policy.tool_errors == ToolErrors::Fatal
            || policy.permanent_errors == PermanentErrors::Stop
            || stop.any(|condition| matches!(condition, StopCondition::Custom { .. }))
    }

    /// Whether a call can be started, forgotten in a crash and started again, and nobody minds.
    fn only_reads(&self, call: &ToolCall, arguments: &Value) -> bool {
        self.catalog.get(&call.name).is_some_and(|tool| {
            tool.access() == Access::ReadOnly
                && tool.repeat(arguments) == Repeat::Harmless
                && !tool.needs_approval()
        })
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
    pub(super) fn dedupe_key(&self, call: &ToolCall) -> Option<String> {
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
    pub(super) fn answer(
        &mut self,
        call: &ToolCall,
        result: Result<String, ToolError>,
        took: Duration,
    ) {
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
}

/// The first 80 characters, so that a hostile id cannot flood the transcript.
fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}
