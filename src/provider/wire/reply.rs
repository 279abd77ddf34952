//! Completions, whole and in chunks, their usage, and the list of models.

use serde::{Deserialize, Serialize};

use super::ErrorObject;
use super::lenient;
use crate::message::{FinishReason, ToolCall, Usage};
use crate::scenario::Said;

/// A whole reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The reply's id.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub id: String,
    /// Always `chat.completion`.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub object: String,
    /// When it was made, in seconds since 1970.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created: u64,
    /// The model's name.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub model: String,
    /// The alternatives; one, unless the endpoint failed.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub choices: Vec<Choice>,
    /// What is billed; absent where the endpoint does not say.
    #[serde(default, deserialize_with = "lenient::object")]
    pub usage: Option<WireUsage>,
    /// An error that came with the status of a success.
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<ErrorObject>,
}

/// One alternative of a whole reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Its number, from 0.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub index: u32,
    /// What the model said.
    #[serde(default, deserialize_with = "lenient::object")]
    pub message: ReplyMessage,
    /// Why it stopped; see [`finish_reason`].
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub finish_reason: Option<String>,
}

/// What the model said, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyMessage {
    /// Always `assistant`.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub role: String,
    /// The prose.
    #[serde(default, deserialize_with = "lenient::text")]
    pub content: Option<String>,
    /// The calls, each whole.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tool_calls: Vec<CallDelta>,
}

/// A piece of a streamed reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The reply's id, the same in all its chunks.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub id: String,
    /// Always `chat.completion.chunk`.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub object: String,
    /// When the reply was made, in seconds since 1970.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created: u64,
    /// The model's name.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub model: String,
    /// What is new; empty in the chunk that carries the usage.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub choices: Vec<ChunkChoice>,
    /// What is billed, in the last chunk only.
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub usage: Option<WireUsage>,
    /// An error after the stream had begun.
    #[serde(
        default,
        deserialize_with = "lenient::object",
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<ErrorObject>,
}

/// What is new of one alternative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkChoice {
    /// The alternative's number, from 0.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub index: u32,
    /// What is new.
    #[serde(default, deserialize_with = "lenient::object")]
    pub delta: Delta,
    /// Why the model stopped, in the last chunk that has a choice; see [`finish_reason`].
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub finish_reason: Option<String>,
}

/// New text, or new pieces of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// `assistant`, in the first chunk.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub role: Option<String>,
    /// More prose.
    #[serde(
        default,
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<String>,
    /// More reasoning, as some endpoints call it.
    #[serde(
        default,
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning_content: Option<String>,
    /// More reasoning, as other endpoints call it.
    #[serde(
        default,
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning: Option<String>,
    /// Pieces of calls.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tool_calls: Vec<CallDelta>,
}

impl Delta {
    /// Whether it holds something of the model's: prose, reasoning or a piece of a call. The
    /// chunk that only names the role does not.
    #[must_use]
    pub fn says_something(&self) -> bool {
        let says = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        says(&self.content)
            || says(&self.reasoning_content)
            || says(&self.reasoning)
            || !self.tool_calls.is_empty()
    }
}

/// A tool call: whole in a [`ReplyMessage`], a piece in a [`Delta`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDelta {
    /// Which of the message's calls it belongs to, from 0; only pieces have it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub index: Option<u32>,
    /// The call's id, in its first piece.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// Always `function`, in its first piece.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
    /// The name and the arguments, or more of them.
    #[serde(default, deserialize_with = "lenient::object")]
    pub function: FunctionDelta,
}

/// The name and the arguments of a call, or a piece of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionDelta {
    /// The tool's name.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// The arguments: JSON text, or what the model took for JSON.
    #[serde(
        default,
        deserialize_with = "lenient::json_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub arguments: Option<String>,
}

impl From<ToolCall> for CallDelta {
    fn from(call: ToolCall) -> Self {
        Self {
            index: None,
            id: Some(call.id),
            kind: Some("function".to_owned()),
            function: FunctionDelta {
                name: Some(call.name),
                arguments: Some(call.arguments),
            },
        }
    }
}

/// What is missing of a whole call becomes an empty text.
impl From<CallDelta> for ToolCall {
    fn from(call: CallDelta) -> Self {
        Self {
            id: call.id.unwrap_or_default(),
            name: call.function.name.unwrap_or_default(),
            arguments: call.function.arguments.unwrap_or_default(),
        }
    }
}

impl From<Said> for ReplyMessage {
    fn from(said: Said) -> Self {
        Self {
            role: "assistant".to_owned(),
            content: said.content,
            tool_calls: said.tool_calls.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ReplyMessage> for Said {
    fn from(message: ReplyMessage) -> Self {
        Self {
            content: message.content,
            tool_calls: message.tool_calls.into_iter().map(Into::into).collect(),
        }
    }
}

/// The word on the wire as a reason; none where it is a word that we do not know.
#[must_use]
pub fn finish_reason(word: &str) -> Option<FinishReason> {
    [
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::ContentFilter,
        FinishReason::FunctionCall,
    ]
    .into_iter()
    .find(|reason| reason.as_str() == word)
}

/// What is billed, as far as the endpoint says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireUsage {
    /// Tokens sent.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub prompt_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub completion_tokens: Option<u64>,
    /// Both.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub total_tokens: Option<u64>,
    /// Parts of what was sent.
    #[serde(default, deserialize_with = "lenient::object")]
    pub prompt_tokens_details: Option<PromptDetails>,
    /// Parts of what was written.
    #[serde(default, deserialize_with = "lenient::object")]
    pub completion_tokens_details: Option<CompletionDetails>,
}

/// Parts of what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDetails {
    /// What the provider had cached.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub cached_tokens: Option<u64>,
    /// What the provider put into its cache; no key where it does not say.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_write_tokens: Option<u64>,
}

/// Parts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionDetails {
    /// Hidden reasoning.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub reasoning_tokens: Option<u64>,
}

/// More tokens than any request can have: a figure above it is a mistake of the endpoint, and no
/// bill is made of it.
const MOST_TOKENS: u64 = 1_000_000_000_000;

impl WireUsage {
    /// The usage; none where the tokens sent or those written are missing or cannot be. Reasoning
    /// that the endpoint does not give is nothing; a part is never more than its whole.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let credible = |tokens: Option<u64>| tokens.filter(|tokens| *tokens <= MOST_TOKENS);
        let prompt_tokens = credible(self.prompt_tokens)?;
        let completion_tokens = credible(self.completion_tokens)?;
        let details = self.prompt_tokens_details.unwrap_or_default();
        let cached = details.cached_tokens.map(|part| part.min(prompt_tokens));
        let uncached = prompt_tokens - cached.unwrap_or(0);
        let cache_write = details.cache_write_tokens.map(|part| part.min(uncached));
        let reasoning = self
            .completion_tokens_details
            .and_then(|details| details.reasoning_tokens);
        Some(Usage {
            prompt_tokens,
            completion_tokens,
            cached_tokens: cached,
            cache_write_tokens: cache_write,
            reasoning_tokens: reasoning.unwrap_or(0).min(completion_tokens),
        })
    }
}

impl From<Usage> for WireUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: Some(usage.prompt_tokens),
            completion_tokens: Some(usage.completion_tokens),
            total_tokens: Some(usage.total_tokens()),
            prompt_tokens_details: Some(PromptDetails {
                cached_tokens: Some(usage.cached_tokens.unwrap_or(0)),
                cache_write_tokens: usage.cache_write_tokens,
            }),
            completion_tokens_details: Some(CompletionDetails {
                reasoning_tokens: Some(usage.reasoning_tokens),
            }),
        }
    }
}

/// The models of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    /// Always `list`.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub object: String,
    /// The models.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub data: Vec<Model>,
}

/// One model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// Its name in requests.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub id: String,
    /// Always `model`.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub object: String,
    /// When it was made, in seconds since 1970.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created: u64,
    /// Whose it is.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub owned_by: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::to_json;

    fn read(body: &str) -> Completion {
        serde_json::from_str(body).unwrap()
    }

    #[test]
    fn a_completion_prints_in_the_usual_order_and_reads_back() {
        let call = ToolCall {
            id: "c1".to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
        };
        let said = Said {
            content: None,
            tool_calls: vec![call],
        };
        let completion = Completion {
            id: "x".to_owned(),
            object: "chat.completion".to_owned(),
            created: 1,
            model: "m".to_owned(),
            choices: vec![Choice {
                index: 0,
                message: said.clone().into(),
                finish_reason: Some("tool_calls".to_owned()),
            }],
            usage: Some(Usage::default().into()),
            error: None,
        };
        let body = to_json(&completion);
        assert_eq!(
            body,
            concat!(
                r#"{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"#,
                r#""index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"#,
                r#""id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},"#,
                r#""finish_reason":"tool_calls"}],"usage":{"prompt_tokens":0,"#,
                r#""completion_tokens":0,"total_tokens":0,"prompt_tokens_details":{"#,
                r#""cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}"#
            )
        );
        let back = read(&body);
        assert_eq!(back, completion);
        assert_eq!(Said::from(back.choices[0].message.clone()), said);
    }

    #[test]
    fn a_usage_that_cannot_be_is_none_and_a_part_is_never_more_than_its_whole() {
        let usage = |text: &str| serde_json::from_str::<WireUsage>(text).unwrap().usage();
        for incredible in ["18446744073709551615", "1000000000001", "-5", "1e30", "0.5"] {
            let text = format!(r#"{{"prompt_tokens":{incredible},"completion_tokens":1}}"#);
            assert_eq!(usage(&text), None, "{incredible}");
            let text = format!(r#"{{"prompt_tokens":1,"completion_tokens":{incredible}}}"#);
            assert_eq!(usage(&text), None, "{incredible}");
        }
        let text = r#"{"prompt_tokens":5,"completion_tokens":2,
            "prompt_tokens_details":{"cached_tokens":9},
            "completion_tokens_details":{"reasoning_tokens":3}}"#;
        let usage = usage(text).unwrap();
        assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (Some(5), 2));
    }

    #[test]
    fn prose_in_parts_is_joined_and_arguments_as_an_object_are_printed() {
        let body = r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},"b",{"x":1}],
            "tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]},
            "finish_reason":"eos","odd":[1]}],"usage":null,"service_tier":"x"}"#;
        let completion = read(body);
        let choice = &completion.choices[0];
        let said = Said::from(choice.message.clone());
        assert_eq!(said.content.as_deref(), Some("ab"));
        assert_eq!(said.tool_calls[0].arguments, r#"{"b":1,"a":2}"#);
        assert_eq!(
            choice.finish_reason.as_deref().and_then(finish_reason),
            None
        );
        assert_eq!(completion.usage, None);
    }

    #[test]
    fn a_usage_with_a_part_missing_is_not_a_usage_of_zero() {
        let usage = |body: &str| {
            let usage: WireUsage = serde_json::from_str(body).unwrap();
            usage.usage().map(|usage| usage.prompt_tokens)
        };
        assert_eq!(
            usage(r#"{"prompt_tokens":3,"completion_tokens":1}"#),
            Some(3)
        );
        assert_eq!(
            usage(r#"{"prompt_tokens":3,"completion_tokens":null}"#),
            None
        );
        assert_eq!(
            usage(r#"{"prompt_tokens":"3","completion_tokens":1}"#),
            None
        );
    }

    #[test]
    fn only_a_delta_with_content_says_something() {
        let says = |body: &str| {
            let delta: Delta = serde_json::from_str(body).unwrap();
            delta.says_something()
        };
        assert!(!says(r#"{"role":"assistant","content":""}"#));
        assert!(!says(r#"{"role":"assistant","content":null}"#));
        assert!(says(r#"{"reasoning":"hm"}"#));
        assert!(says(
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#
        ));
    }
}
