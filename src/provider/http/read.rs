//! What was read of a reply, turned into a [`Reply`] whatever is missing from it.

use std::time::Duration;

use crate::event::{Metering, UsageSource};
use crate::message::{ToolCall, Usage};
use crate::provider::wire::{Completion, finish_reason};
use crate::provider::{Reply, Request};
use crate::scenario::{Said, turn_index};
use crate::tokens;

/// A reply as it was read, plain or streamed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// Prose and calls; absent where there was no choice.
    pub(super) said: Option<(Option<String>, Vec<ToolCall>)>,
    /// Why the model stopped, in the endpoint's word.
    pub(super) finish: Option<String>,
    /// What the endpoint reports, where it reports prompt and completion.
    pub(super) usage: Option<Usage>,
    /// Time to the first piece, where the reply came in pieces.
    pub(super) first_token: Option<Duration>,
}

impl From<Completion> for Read {
    fn from(completion: Completion) -> Self {
        let usage = completion.usage.and_then(|usage| usage.usage());
        let Some(choice) = completion.choices.into_iter().next() else {
            return Self {
                usage,
                ..Self::default()
            };
        };
        let Said {
            content,
            tool_calls,
        } = choice.message.into();
        Self {
            said: Some((content, tool_calls)),
            finish: choice.finish_reason,
            usage,
            first_token: None,
        }
    }
}

impl Read {
    /// The same with every text of the model's passed through `clean`.
    pub(super) fn cleaned(mut self, clean: impl Fn(String) -> String) -> Self {
        self.said = self.said.map(|(content, calls)| {
            let calls = calls.into_iter().map(|call| ToolCall {
                id: clean(call.id),
                name: clean(call.name),
                arguments: clean(call.arguments),
            });
            (content.map(&clean), calls.collect())
        });
        self
    }

    /// The reply to `request`. What the endpoint does not report is counted and billed as
    /// counted; a reason to stop that is not one of the five is none; calls without an id are
    /// given one.
    pub(super) fn into_reply(self, request: Request<'_>) -> Reply {
        let turn = turn_index(request.messages);
        let message = self.said.map(|said| transcribable(said, turn));
        let completion_tokens = message.as_ref().map_or(0, |said| {
            tokens::count_completion(said.content.as_deref(), &said.tool_calls)
        });
        let counted = Usage {
            prompt_tokens: request.prompt_tokens,
            completion_tokens,
            ..Usage::default()
        };
        let source = match self.usage {
            Some(_) => UsageSource::Reported,
            None => UsageSource::Counted,
        };
        Reply {
            message,
            finish: self.finish.as_deref().and_then(finish_reason),
            usage: self.usage.unwrap_or(counted),
            metering: Metering {
                counted,
                source,
                first_token: self.first_token,
            },
        }
    }
}

/// What was said, so that it can be sent back: every call has an id, and an empty prose, about
/// which streamed and plain replies disagree, stands only where there is no call beside it.
fn transcribable((content, mut tool_calls): (Option<String>, Vec<ToolCall>), turn: u32) -> Said {
    for (number, call) in tool_calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_{turn}_{number}");
        }
    }
    let content = match tool_calls.as_slice() {
        [] => Some(content.unwrap_or_default()),
        _ => content.filter(|text| !text.is_empty()),
    };
    Said {
        content,
        tool_calls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FinishReason, Message};

    fn reply(body: &str) -> Reply {
        let completion: Completion = serde_json::from_str(body).unwrap();
        let messages = [Message::User {
            content: "hi?".to_owned(),
        }];
        let request = Request {
            messages: &messages,
            tools: &[],
            prompt_tokens: 7,
            max_completion_tokens: None,
        };
        Read::from(completion).into_reply(request)
    }

    #[test]
    fn what_is_reported_is_billed_and_what_we_count_stands_beside_it() {
        let reply = reply(
            r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],
                "usage":{"prompt_tokens":30,"completion_tokens":4}}"#,
        );
        assert_eq!(
            (reply.usage.prompt_tokens, reply.usage.completion_tokens),
            (30, 4)
        );
        let counted = reply.metering.counted;
        assert_eq!((counted.prompt_tokens, counted.completion_tokens), (7, 2));
        assert_eq!(reply.metering.source, UsageSource::Reported);
        assert_eq!(reply.finish, Some(FinishReason::Stop));
    }

    #[test]
    fn without_a_usage_what_we_count_is_billed_and_marked_so() {
        let reply = reply(r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"eos"}]}"#);
        assert_eq!(
            (reply.usage.prompt_tokens, reply.usage.completion_tokens),
            (7, 2)
        );
        assert_eq!(reply.metering.source, UsageSource::Counted);
        assert_eq!(reply.finish, None);
    }

    #[test]
    fn a_choice_that_says_nothing_is_an_empty_prose() {
        for body in [
            r#"{"choices":[{"message":{"content":null}}]}"#,
            r#"{"choices":[{"message":{"content":""}}]}"#,
            r#"{"choices":[{}]}"#,
        ] {
            let said = reply(body).message.unwrap();
            assert_eq!(said.content.as_deref(), Some(""), "{body}");
        }
    }

    #[test]
    fn a_reply_without_a_choice_still_has_its_usage() {
        let reply = reply(r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#);
        assert_eq!(reply.message, None);
        assert_eq!(reply.usage.prompt_tokens, 3);
    }

    #[test]
    fn a_key_that_the_endpoint_repeats_is_in_no_part_of_what_was_said() {
        let completion: Completion = serde_json::from_str(
            r#"{"choices":[{"message":{"content":"a KEY","tool_calls":[
                {"id":"KEY","function":{"name":"f KEY","arguments":"{\"k\":\"KEY\"}"}}]}}]}"#,
        )
        .unwrap();
        let read = Read::from(completion).cleaned(|text| text.replace("KEY", "[secret]"));
        let said = format!("{:?}", read.said);
        assert_eq!(said.matches("[secret]").count(), 4, "{said}");
        assert!(!said.contains("KEY"), "{said}");
    }

    #[test]
    fn calls_without_an_id_are_given_one_and_empty_prose_beside_them_is_none() {
        let reply = reply(
            r#"{"choices":[{"message":{"content":"","tool_calls":[
                {"function":{"name":"f","arguments":"{}"}},
                {"id":"","function":{"name":"g","arguments":"{}"}}]}}]}"#,
        );
        let said = reply.message.unwrap();
        let ids: Vec<_> = said
            .tool_calls
            .iter()
            .map(|call| call.id.as_str())
            .collect();
        assert_eq!(ids, ["call_0_0", "call_0_1"]);
        assert_eq!(said.content, None);
    }
}
