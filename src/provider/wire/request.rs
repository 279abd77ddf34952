//! The request that our client sends.

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::message::to_json;
use crate::provider::Request;

/// How a reply travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// As one JSON object.
    #[default]
    Whole,
    /// As server-sent events, closed by `[DONE]`.
    Streamed,
    /// As server-sent events, the last chunk before `[DONE]` with the usage and no choice.
    StreamedWithUsage,
}

impl Delivery {
    /// Whether it comes in chunks.
    #[must_use]
    pub const fn is_streamed(self) -> bool {
        !matches!(self, Self::Whole)
    }
}

/// A request as it is sent. It has no `tools` key where no tool is on offer.
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The transcript, the tools and the cap on the reply.
    pub request: Request<'a>,
    /// How the reply should travel.
    pub delivery: Delivery,
}

impl ChatRequest<'_> {
    /// The body that is sent; retries send the same bytes.
    #[must_use]
    pub fn body(&self) -> String {
        to_json(self)
    }
}

impl Serialize for ChatRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct StreamOptions {
            include_usage: bool,
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", self.model)?;
        map.serialize_entry("messages", self.request.messages)?;
        if !self.request.tools.is_empty() {
            map.serialize_entry("tools", self.request.tools)?;
        }
        if let Some(most) = self.request.max_completion_tokens {
            map.serialize_entry("max_completion_tokens", &most)?;
        }
        if self.delivery.is_streamed() {
            map.serialize_entry("stream", &true)?;
        }
        if self.delivery == Delivery::StreamedWithUsage {
            let include_usage = true;
            map.serialize_entry("stream_options", &StreamOptions { include_usage })?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{Message, ToolDefinition};

    fn body(tools: &[ToolDefinition], most: Option<u64>, delivery: Delivery) -> String {
        let messages = [Message::User {
            content: "hi?".to_owned(),
        }];
        let request = Request {
            messages: &messages,
            tools,
            prompt_tokens: 0,
            max_completion_tokens: most,
        };
        let model = "scripted/plan";
        ChatRequest {
            model,
            request,
            delivery,
        }
        .body()
    }

    #[test]
    fn a_request_says_only_what_was_meant() {
        assert_eq!(
            body(&[], None, Delivery::Whole),
            r#"{"model":"scripted/plan","messages":[{"role":"user","content":"hi?"}]}"#
        );
    }

    #[test]
    fn a_streamed_request_asks_for_its_usage() {
        let tool = ToolDefinition {
            name: "f".to_owned(),
            description: "d".to_owned(),
            parameters: json!({"type": "object"}),
        };
        assert_eq!(
            body(&[tool], Some(9), Delivery::StreamedWithUsage),
            concat!(
                r#"{"model":"scripted/plan","messages":[{"role":"user","content":"hi?"}],"#,
                r#""tools":[{"type":"function","function":{"name":"f","description":"d","#,
                r#""parameters":{"type":"object"}}}],"max_completion_tokens":9,"#,
                r#""stream":true,"stream_options":{"include_usage":true}}"#
            )
        );
    }
}
