//! What is said in a run: messages, tool calls and tool definitions, in the key order in which
//! JavaScript's `JSON.stringify` prints them, because tokens are counted over that text.

use std::io;
use std::ops::AddAssign;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// One message of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Instructions to the model.
    System {
        /// The text.
        content: String,
    },
    /// What the person said.
    User {
        /// The text.
        content: String,
    },
    /// What the model said: prose, tool calls, or both.
    Assistant {
        /// The prose; `null` on a turn that only calls tools.
        content: Option<String>,
        /// The calls; no key at all on a prose turn.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The result of one tool call.
    Tool {
        /// The id of the call that this answers.
        tool_call_id: String,
        /// The tool's name.
        name: String,
        /// What the model reads.
        content: String,
    },
}

/// The model asks for one tool to be run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "WireCall")]
pub struct ToolCall {
    /// The call's id, chosen by the model.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, or what it took for JSON.
    pub arguments: String,
}

#[derive(Deserialize)]
struct WireCall {
    id: String,
    function: WireFunction,
}

#[derive(Serialize, Deserialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

impl From<WireCall> for ToolCall {
    fn from(call: WireCall) -> Self {
        let WireFunction { name, arguments } = call.function;
        Self {
            id: call.id,
            name,
            arguments,
        }
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }
        let mut call = serializer.serialize_struct("ToolCall", 3)?;
        call.serialize_field("id", &self.id)?;
        call.serialize_field("type", "function")?;
        let function = Function {
            name: &self.name,
            arguments: &self.arguments,
        };
        call.serialize_field("function", &function)?;
        call.end()
    }
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The name that calls use.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// The JSON Schema of the arguments, its keys in the order in which they are sent.
    pub parameters: Value,
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        let mut tool = serializer.serialize_struct("ToolDefinition", 2)?;
        tool.serialize_field("type", "function")?;
        let function = Function {
            name: &self.name,
            description: &self.description,
            parameters: &self.parameters,
        };
        tool.serialize_field("function", &function)?;
        tool.end()
    }
}

/// Why the model stopped writing, as chat completions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It reached `max_completion_tokens`.
    Length,
    /// It asked for tools.
    ToolCalls,
    /// The provider withheld the rest.
    ContentFilter,
    /// The deprecated form of `tool_calls`.
    FunctionCall,
}

impl FinishReason {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::FunctionCall => "function_call",
        }
    }
}

/// Tokens of one request and its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, the whole transcript and the tool definitions.
    pub prompt_tokens: u64,
    /// Tokens written by the model.
    pub completion_tokens: u64,
    /// The part of `prompt_tokens` that the provider had cached; none where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// The part of `prompt_tokens` that the provider put into its cache, none of it among
    /// `cached_tokens`; none where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The part of `completion_tokens` that was hidden reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Tokens sent and written.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        let add_known = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut self.prompt_tokens, other.prompt_tokens);
        add(&mut self.completion_tokens, other.completion_tokens);
        add_known(&mut self.cached_tokens, other.cached_tokens);
        add_known(&mut self.cache_write_tokens, other.cache_write_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
    }
}

/// Prints `value` as `JSON.stringify` does: compact, keys in their given order, non-ASCII raw,
/// numbers in JavaScript's spelling. A foreign `Serialize` that fails prints as an empty text.
#[must_use]
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    let mut out = Vec::with_capacity(128);
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, JsNumbers);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// `serde_json`'s compact form with JavaScript's numbers: every number is a double there.
struct JsNumbers;

/// The largest integer up to which every integer is a double (2⁵³).
const MAX_SAFE_INTEGER: u64 = 1 << 53;

impl serde_json::ser::Formatter for JsNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format(value).as_bytes())
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to a double is what JavaScript does"
    )]
    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > MAX_SAFE_INTEGER {
            return self.write_f64(writer, value as f64);
        }
        write!(writer, "{value}")
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to a double is what JavaScript does"
    )]
    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() > MAX_SAFE_INTEGER {
            return self.write_f64(writer, value as f64);
        }
        write!(writer, "{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    #[test]
    fn messages_print_in_wire_order_and_read_back() {
        let messages = vec![
            Message::System {
                content: "be brief".to_owned(),
            },
            Message::User {
                content: "\"ü\u{1}\u{7f}\n</s>?".to_owned(),
            },
            Message::Assistant {
                content: None,
                tool_calls: vec![call("c1", "read_file", r#"{"path":"a"}"#)],
            },
            Message::Tool {
                tool_call_id: "c1".to_owned(),
                name: "read_file".to_owned(),
                content: "x".to_owned(),
            },
            Message::Assistant {
                content: Some("done".to_owned()),
                tool_calls: vec![],
            },
        ];
        let json = to_json(&messages);
        assert_eq!(
            json,
            concat!(
                r#"[{"role":"system","content":"be brief"},"#,
                r#"{"role":"user","content":"\"ü\u0001"#,
                "\u{7f}",
                r#"\n</s>?"},"#,
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","#,
                r#""function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]},"#,
                r#"{"role":"tool","tool_call_id":"c1","name":"read_file","content":"x"},"#,
                r#"{"role":"assistant","content":"done"}]"#
            )
        );
        let back: Vec<Message> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, messages);
    }

    #[test]
    fn numbers_print_as_javascript_prints_them() {
        // The right-hand sides are what `JSON.stringify(JSON.parse(x))` prints in Node 20.
        for (source, printed) in [
            ("1.0", "1"),
            ("-0.0", "0"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("100000000000000000000", "100000000000000000000"),
            ("9007199254740993", "9007199254740992"),
            ("-9223372036854775808", "-9223372036854776000"),
            ("5e-324", "5e-324"),
            ("123456789.125", "123456789.125"),
        ] {
            let value: Value = serde_json::from_str(source).unwrap();
            assert_eq!(to_json(&value), printed, "{source}");
        }
    }
}
