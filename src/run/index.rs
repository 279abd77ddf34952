//! What a transcript says of itself: its tokens, the calls that are outstanding, the repeats.
//!
//! Everything here follows from the messages. It is never stored, only rebuilt, so a resumed run
//! cannot disagree with its own transcript.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use crate::message::{Message, ToolCall, to_json};
use crate::tokens::RunningCount;

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCall {
    /// The call.
    pub call: ToolCall,
    /// Whether an earlier call of the run, answered or not, has the same id.
    pub reuses_id: bool,
}

/// A call that the model made several times in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The call.
    pub call: ToolCall,
    /// How many times in a row, this one included.
    pub times: u32,
}

/// The facts that follow from a transcript, kept up to date message by message.
#[derive(Clone, Debug, Default)]
pub struct TranscriptIndex {
    count: RunningCount,
    used_ids: BTreeSet<String>,
    pending: VecDeque<PendingCall>,
    last_signature: String,
    streak: u32,
    most_repeated: Option<Repeated>,
}

impl TranscriptIndex {
    /// The index of a whole transcript.
    #[must_use]
    pub fn of(messages: &[Message]) -> Self {
        let mut index = Self::default();
        for message in messages {
            index.push(message);
        }
        index
    }

    /// Takes in the next message.
    pub fn push(&mut self, message: &Message) {
        self.count.push(message);
        match message {
            Message::Assistant { tool_calls, .. } => self.push_calls(tool_calls),
            Message::Tool { tool_call_id, .. } => self.settle(tool_call_id),
            Message::System { .. } | Message::User { .. } => {}
        }
    }

    /// Tokens of the messages so far, without the tool definitions.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.count.tokens()
    }

    /// The first call of the last assistant message that has no result yet.
    #[must_use]
    pub fn first_pending(&self) -> Option<&PendingCall> {
        self.pending.front()
    }

    /// All calls of the last assistant message that have no result yet, in order.
    pub fn pending(&self) -> impl Iterator<Item = &PendingCall> {
        self.pending.iter()
    }

    /// The call of the last assistant message that stands in the longest row of equal calls.
    #[must_use]
    pub fn most_repeated(&self) -> Option<&Repeated> {
        self.most_repeated.as_ref()
    }

    fn push_calls(&mut self, calls: &[ToolCall]) {
        self.pending.clear();
        self.most_repeated = None;
        for call in calls {
            let reuses_id = !self.used_ids.insert(call.id.clone());
            self.pending.push_back(PendingCall {
                call: call.clone(),
                reuses_id,
            });
            let signature = signature(call);
            self.streak = if self.streak > 0 && signature == self.last_signature {
                self.streak.saturating_add(1)
            } else {
                1
            };
            self.last_signature = signature;
            if self
                .most_repeated
                .as_ref()
                .is_none_or(|most| most.times < self.streak)
            {
                self.most_repeated = Some(Repeated {
                    call: call.clone(),
                    times: self.streak,
                });
            }
        }
    }

    /// Results answer calls in order: a message that uses one id twice needs two results.
    fn settle(&mut self, id: &str) {
        if let Some(at) = self
            .pending
            .iter()
            .position(|pending| pending.call.id == id)
        {
            self.pending.remove(at);
        }
    }
}

/// What makes two calls the same call: the tool and its arguments, white space aside.
#[must_use]
pub fn signature(call: &ToolCall) -> String {
    let arguments = serde_json::from_str::<Value>(&call.arguments);
    let arguments = arguments.map_or_else(|_| call.arguments.clone(), |value| to_json(&value));
    format!("{}\n{arguments}", call.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: "read".to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    fn asks(calls: &[ToolCall]) -> Message {
        Message::Assistant {
            content: None,
            tool_calls: calls.to_vec(),
        }
    }

    fn result(id: &str) -> Message {
        let (tool_call_id, name) = (id.to_owned(), "read".to_owned());
        Message::Tool {
            tool_call_id,
            name,
            content: String::new(),
        }
    }

    fn pending_ids(messages: &[Message]) -> Vec<(String, bool)> {
        let index = TranscriptIndex::of(messages);
        index
            .pending
            .iter()
            .map(|p| (p.call.id.clone(), p.reuses_id))
            .collect()
    }

    #[test]
    fn calls_without_a_result_are_pending_in_order() {
        let messages = [
            asks(&[call("a", "{}"), call("b", "{}"), call("c", "{}")]),
            result("b"),
        ];
        assert_eq!(
            pending_ids(&messages),
            [("a".to_owned(), false), ("c".to_owned(), false)]
        );
    }

    #[test]
    fn an_id_used_again_is_seen_within_a_message_and_across_turns() {
        let twice = [asks(&[call("a", "{}"), call("a", "{}")]), result("a")];
        assert_eq!(pending_ids(&twice), [("a".to_owned(), true)]);
        let later = [
            asks(&[call("a", "{}")]),
            result("a"),
            asks(&[call("a", "{}")]),
        ];
        assert_eq!(pending_ids(&later), [("a".to_owned(), true)]);
    }

    #[test]
    fn equal_calls_in_a_row_are_counted_over_turns_and_white_space() {
        let messages = [
            asks(&[call("a", r#"{"p":1}"#)]),
            result("a"),
            asks(&[
                call("b", r#"{ "p": 1 }"#),
                call("c", r#"{"p":1}"#),
                call("d", r#"{"p":2}"#),
            ]),
        ];
        let index = TranscriptIndex::of(&messages);
        let most = index
            .most_repeated()
            .map(|most| (most.call.id.as_str(), most.times));
        assert_eq!(most, Some(("c", 3)));
    }
}
