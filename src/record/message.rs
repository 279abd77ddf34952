//! Messages of all shapes that records have them in, read into the one that is counted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::value::{at, into_text, take, take_array, text_at};
use crate::message::{ToolCall, to_json};

/// Something that is wrong with a piece of a file, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) String);

impl From<&str> for Wrong {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// Something in a record that had to be read in some way or other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oddity {
    /// A message of a role that chat completions do not have: counted as text of the user.
    UnknownRole,
    /// A picture, sound or file in a message: not counted, whatever it cost.
    Attachment,
    /// Reasoning that the model did not say: not part of the transcript, and not counted.
    Reasoning,
    /// A call whose result stands in text of the user.
    ResultAsUserText,
    /// A reply that the agent's program made up: no request, and no turn.
    Synthetic,
    /// The agent replaced its own history: what was sent afterwards is not in the record.
    Compacted,
    /// An escape that stands for half a character: read as U+FFFD.
    HalfCharacter,
}

impl Oddity {
    /// What was seen and what was made of it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownRole => "messages of unknown roles, counted as text of the user",
            Self::Attachment => "pictures, sounds or files, not counted",
            Self::Reasoning => "pieces of hidden reasoning, not counted",
            Self::ResultAsUserText => "calls answered in text of the user",
            Self::Synthetic => "replies that no model made, not counted",
            Self::Compacted => "histories replaced by the agent, counted as if they had not been",
            Self::HalfCharacter => "halves of characters (lone surrogates), read as U+FFFD",
        }
    }

    /// The oddity in one word, for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::UnknownRole => "unknown_roles",
            Self::Attachment => "attachments",
            Self::Reasoning => "reasoning",
            Self::ResultAsUserText => "results_as_user_text",
            Self::Synthetic => "synthetic_replies",
            Self::Compacted => "compacted",
            Self::HalfCharacter => "lone_surrogates",
        }
    }
}

/// How often each oddity was met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oddities(BTreeMap<Oddity, u64>);

impl Oddities {
    /// One more.
    pub(super) fn see(&mut self, oddity: Oddity) {
        *self.0.entry(oddity).or_default() += 1;
    }

    /// Takes in those of another.
    pub fn add(&mut self, other: &Self) {
        for (oddity, number) in &other.0 {
            *self.0.entry(*oddity).or_default() += number;
        }
    }

    /// Those that were met, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Oddity, u64)> {
        self.0.iter().map(|(oddity, number)| (*oddity, *number))
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallResult {
    pub(super) id: String,
    /// The tool, where the record repeats it.
    pub(super) name: Option<String>,
    pub(super) text: String,
    /// Whether it is marked as a failure.
    pub(super) failed: bool,
}

/// A message, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) role: Role,
    pub(super) text: Option<String>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) results: Vec<CallResult>,
}

/// Reads a message.
pub(super) fn read(mut message: Value, oddities: &mut Oddities) -> Result<Read, Wrong> {
    if !message.is_object() {
        return Err("a message is not an object".into());
    }
    let role = match text_at(&message, "role") {
        Some("system" | "developer") => Role::System,
        Some("user" | "human") => Role::User,
        Some("assistant" | "ai" | "model") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        Some(_) => {
            oddities.see(Oddity::UnknownRole);
            Role::User
        }
        None => return Err("a message has no `role`".into()),
    };
    let mut parts = Parts::default();
    if let Some(content) = take(&mut message, "content") {
        parts.read(content, oddities);
    }
    let mut read = Read {
        role,
        text: parts.text,
        calls: parts.calls,
        results: parts.results,
    };
    match role {
        Role::Assistant => read.calls.extend(calls(&mut message)?),
        Role::Tool if read.results.is_empty() => {
            let id = text_at(&message, "tool_call_id")
                .or_else(|| at(&message, "tool_call_ids")?.get(0)?.as_str());
            read.results.push(CallResult {
                id: id.unwrap_or_default().to_owned(),
                name: text_at(&message, "name").map(str::to_owned),
                text: read.text.take().unwrap_or_default(),
                failed: false,
            });
        }
        Role::Tool | Role::System | Role::User => {}
    }
    Ok(read)
}

/// What a content consists of.
#[derive(Debug, Default)]
struct Parts {
    text: Option<String>,
    calls: Vec<ToolCall>,
    results: Vec<CallResult>,
}

impl Parts {
    fn read(&mut self, content: Value, oddities: &mut Oddities) {
        match content {
            Value::String(text) => self.say(&text),
            Value::Array(parts) => {
                for part in parts {
                    self.read_part(part, oddities);
                }
            }
            other => self.say(&into_text(other)),
        }
    }

    /// Texts of one message stand below each other.
    fn say(&mut self, text: &str) {
        match &mut self.text {
            Some(so_far) => {
                so_far.push('\n');
                so_far.push_str(text);
            }
            None => self.text = Some(text.to_owned()),
        }
    }

    fn read_part(&mut self, mut part: Value, oddities: &mut Oddities) {
        if let Value::String(text) = part {
            return self.say(&text);
        }
        let kind = text_at(&part, "type").unwrap_or("text").to_owned();
        match kind.as_str() {
            "thinking" | "redacted_thinking" | "reasoning" => oddities.see(Oddity::Reasoning),
            "tool_use" => self.calls.push(ToolCall {
                id: text_at(&part, "id").unwrap_or_default().to_owned(),
                name: text_at(&part, "name").unwrap_or_default().to_owned(),
                arguments: to_json(&take(&mut part, "input").unwrap_or_default()),
            }),
            "tool_result" => {
                let mut inside = Self::default();
                if let Some(content) = take(&mut part, "content") {
                    inside.read(content, oddities);
                }
                self.results.push(CallResult {
                    id: text_at(&part, "tool_use_id").unwrap_or_default().to_owned(),
                    name: None,
                    text: inside.text.unwrap_or_default(),
                    failed: at(&part, "is_error").and_then(Value::as_bool) == Some(true),
                });
            }
            _ => match ["text", "refusal"]
                .iter()
                .find_map(|key| take(&mut part, key))
            {
                Some(text) => self.say(&into_text(text)),
                None => oddities.see(Oddity::Attachment),
            },
        }
    }
}

/// The calls of a reply, in the present form or the deprecated one.
fn calls(message: &mut Value) -> Result<Vec<ToolCall>, Wrong> {
    let listed = take_array(message, "tool_calls");
    let mut calls: Vec<ToolCall> = listed.into_iter().map(call).collect::<Result<_, _>>()?;
    if let Some(function) = take(message, "function_call") {
        calls.push(call(function)?);
    }
    Ok(calls)
}

/// A call whose function may lie in an object of its own.
fn call(mut call: Value) -> Result<ToolCall, Wrong> {
    let id = ["id", "call_id"].iter().find_map(|key| text_at(&call, key));
    let id = id.unwrap_or_default().to_owned();
    let mut function = take(&mut call, "function").unwrap_or(call);
    let Some(name) = text_at(&function, "name").map(str::to_owned) else {
        return Err("a tool call names no function".into());
    };
    let arguments = take(&mut function, "arguments").map_or_else(String::new, into_text);
    Ok(ToolCall {
        id,
        name,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(message: Value) -> (Read, Oddities) {
        let mut oddities = Oddities::default();
        (read(message, &mut oddities).unwrap(), oddities)
    }

    #[test]
    fn the_texts_of_a_message_stand_below_each_other_and_pictures_are_not_counted() {
        let (read, oddities) = plain(json!({"role": "user", "content": [
            {"type": "text", "text": "What is"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "input_text", "text": "this?"},
        ]}));
        assert_eq!(read.text.as_deref(), Some("What is\nthis?"));
        assert_eq!(
            oddities.iter().collect::<Vec<_>>(),
            [(Oddity::Attachment, 1)]
        );
    }

    #[test]
    fn calls_are_read_in_their_present_their_flat_and_their_deprecated_form() {
        let (read, _) = plain(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{ }"}},
            {"id": "b", "name": "g", "arguments": {"x": 1}},
        ], "function_call": {"name": "h", "arguments": "{}"}}));
        let calls: Vec<_> = read
            .calls
            .iter()
            .map(|call| {
                (
                    call.id.as_str(),
                    call.name.as_str(),
                    call.arguments.as_str(),
                )
            })
            .collect();
        assert_eq!(
            calls,
            [("a", "f", "{ }"), ("b", "g", r#"{"x":1}"#), ("", "h", "{}")]
        );
        assert_eq!(read.text, None);
    }

    #[test]
    fn an_unknown_role_is_text_of_the_user_and_a_missing_one_is_wrong() {
        let (read, oddities) = plain(json!({"role": "environment", "content": "x"}));
        assert_eq!(read.role, Role::User);
        assert_eq!(
            oddities.iter().collect::<Vec<_>>(),
            [(Oddity::UnknownRole, 1)]
        );
        let mut oddities = Oddities::default();
        assert!(super::read(json!({"content": "x"}), &mut oddities).is_err());
        assert!(super::read(json!("x"), &mut oddities).is_err());
        let nameless = json!({"role": "assistant", "tool_calls": [{"id": "a"}]});
        assert!(super::read(nameless, &mut oddities).is_err());
    }
}
