//! What a person decides about a run: a verdict on a call, a word on one whose outcome is unknown,
//! taking the run up again.

use std::time::Duration;

use super::Machine;
use crate::message::{Message, ToolCall};
use crate::run::policy::VerdictWording;
use crate::run::state::{Status, StopReason};

/// What the model reads of a call that a person settled as done without knowing its result.
pub const RESULT_UNKNOWN: &str = "The call was executed. Its result is not known.";

/// What the model reads of a declined call under [`VerdictWording::Reason`].
#[must_use]
pub fn declined(reason: &str) -> String {
    format!("The user declined this call: {reason}")
}

/// Why a verdict or a resumption is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    /// The run is over.
    #[error("the run is {0} and cannot be taken up again")]
    Over(&'static str),
    /// No call waits for a verdict.
    #[error("the run is {0} and waits for no approval")]
    NothingToDecide(&'static str),
    /// Another call waits for a verdict.
    #[error("call {asked} does not wait for a verdict; call {waiting} does")]
    OtherCall {
        /// The call that was named.
        asked: String,
        /// The call that waits.
        waiting: String,
    },
    /// The call was decided before, one way or the other.
    #[error("call {0} has its result already: it was executed, answered or declined before")]
    Answered(String),
    /// No call was started without being answered.
    #[error("the run is {0} and no call of it has an unknown outcome")]
    NothingToSettle(&'static str),
}

impl Machine<'_> {
    /// A person allows the waiting call.
    ///
    /// # Errors
    /// [`DecisionError`] where `call_id` does not wait for a verdict.
    pub fn approve(&mut self, call_id: &str) -> Result<(), DecisionError> {
        self.waiting(call_id)?;
        self.state.approved.push(call_id.to_owned());
        self.take_up()
    }

    /// A person declines the waiting call; what the model reads follows the wording policy.
    ///
    /// # Errors
    /// [`DecisionError`] where `call_id` does not wait for a verdict.
    pub fn reject(&mut self, call_id: &str, reason: &str) -> Result<(), DecisionError> {
        let tool_name = self.waiting(call_id)?;
        let content = match self.state.settings.policy.verdict_wording {
            VerdictWording::Reason => declined(reason),
            VerdictWording::Empty => String::new(),
        };
        self.push(Message::Tool {
            tool_call_id: call_id.to_owned(),
            name: tool_name,
            content,
        });
        self.take_up()
    }

    /// Takes up a run that stopped, or that was killed.
    ///
    /// # Errors
    /// [`DecisionError::Over`] where the run is completed or failed.
    pub fn take_up(&mut self) -> Result<(), DecisionError> {
        if !self.state.status.is_resumable() {
            return Err(DecisionError::Over(self.state.status.as_str()));
        }
        self.state.status = Status::Running;
        self.state.interruption = None;
        Ok(())
    }

    fn waiting(&self, call_id: &str) -> Result<String, DecisionError> {
        match &self.state.interruption {
            Some(StopReason::Approval {
                call_id: waiting,
                tool_name,
                ..
            }) => {
                if waiting == call_id {
                    return Ok(tool_name.clone());
                }
                let (asked, waiting) = (call_id.to_owned(), waiting.clone());
                Err(DecisionError::OtherCall { asked, waiting })
            }
            _ if self.is_answered(call_id) => Err(DecisionError::Answered(call_id.to_owned())),
            _ => Err(DecisionError::NothingToDecide(self.state.status.as_str())),
        }
    }

    /// The call that was started and not answered is to be run, again or not: a person has looked,
    /// or takes it upon themselves. It counts as approved.
    ///
    /// # Errors
    /// [`DecisionError`] where the outcome of `call_id` is not unknown.
    pub fn retry(&mut self, call_id: &str) -> Result<(), DecisionError> {
        self.unsettled(call_id)?;
        self.state.in_flight = None;
        if !self.is_approved(call_id) {
            self.state.approved.push(call_id.to_owned());
        }
        self.take_up()
    }

    /// The call that was started and not answered did its work: a person has looked. The model
    /// reads `result`, or [`RESULT_UNKNOWN`]; the call is not executed.
    ///
    /// # Errors
    /// [`DecisionError`] where the outcome of `call_id` is not unknown.
    pub fn done(&mut self, call_id: &str, result: Option<&str>) -> Result<(), DecisionError> {
        let call = self.unsettled(call_id)?;
        let text = result.unwrap_or(RESULT_UNKNOWN).to_owned();
        self.on_tool(&call, Ok(text), Duration::ZERO);
        self.take_up()
    }

    /// The call of that id, if it was started and never answered.
    fn unsettled(&self, call_id: &str) -> Result<ToolCall, DecisionError> {
        let status = self.state.status;
        if !status.is_resumable() {
            return Err(DecisionError::Over(status.as_str()));
        }
        let Some(waiting) = &self.state.in_flight else {
            return Err(if self.is_answered(call_id) {
                DecisionError::Answered(call_id.to_owned())
            } else {
                DecisionError::NothingToSettle(status.as_str())
            });
        };
        match self.index.first_pending() {
            Some(pending) if pending.call.id == call_id && waiting == call_id => {
                Ok(pending.call.clone())
            }
            _ => Err(DecisionError::OtherCall {
                asked: call_id.to_owned(),
                waiting: waiting.clone(),
            }),
        }
    }

    fn is_approved(&self, call_id: &str) -> bool {
        self.state.approved.iter().any(|id| id == call_id)
    }

    fn is_answered(&self, call_id: &str) -> bool {
        self.state.messages.iter().any(
            |message| matches!(message, Message::Tool { tool_call_id, .. } if tool_call_id == call_id),
        )
    }
}
