//! A request that somebody else's client sent.

use serde_json::{Map, Value};

use super::choice::{Parallel, ToolChoice};
use super::lenient::text_of;
use super::request::Delivery;
use super::values::{MOST_VALUES, has_too_many};
use crate::message::to_json;

/// A request, with messages and tools as they were received, their keys in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// The model's name.
    pub model: String,
    /// The messages; each is an object with a role.
    pub messages: Vec<Value>,
    /// The tools; none where the request has no such key, or `null` in it.
    pub tools: Option<Vec<Value>>,
    /// The most tokens that the reply may have.
    pub max_completion_tokens: Option<u64>,
    /// Which tools the reply may call.
    pub choice: ToolChoice,
    /// How many calls a reply may make.
    pub parallel: Parallel,
    /// How the reply should travel.
    pub delivery: Delivery,
    /// Parameters that chat completions do not have, in the order received.
    pub unknown: Vec<String>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The body is not JSON.
    #[error("the body is not JSON: {reason}")]
    NotJson {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// The body holds more values than anybody means.
    #[error("the body holds more than {MOST_VALUES} JSON values")]
    TooManyValues,
    /// The body is JSON and not an object.
    #[error("the body must be a JSON object, not {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// A parameter is missing.
    #[error("missing required parameter: '{param}'")]
    Missing {
        /// Which.
        param: String,
    },
    /// A parameter has a value of the wrong type.
    #[error("invalid type for '{param}': expected {expected}, got {found}")]
    WrongType {
        /// Which.
        param: String,
        /// The type that it must have.
        expected: &'static str,
        /// The type that it has.
        found: &'static str,
    },
    /// A parameter has the right type and a value that cannot be.
    #[error("invalid value for '{param}': {why}")]
    WrongValue {
        /// Which.
        param: String,
        /// What would be right.
        why: String,
    },
}

impl RequestError {
    /// The parameter that is to blame.
    #[must_use]
    pub fn param(&self) -> Option<&str> {
        match self {
            Self::NotJson { .. } | Self::TooManyValues | Self::NotAnObject { .. } => None,
            Self::Missing { param }
            | Self::WrongType { param, .. }
            | Self::WrongValue { param, .. } => Some(param),
        }
    }

    /// The error in one word, as error objects have it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "invalid_json",
            Self::NotAnObject { .. } | Self::WrongType { .. } => "invalid_type",
            Self::Missing { .. } => "missing_required_parameter",
            Self::TooManyValues | Self::WrongValue { .. } => "invalid_value",
        }
    }
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Instructions; `developer` is a newer word for it.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool; `function` is an older word for it.
    Tool,
}

/// A message as it was received, read as far as its meaning goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage<'a> {
    /// Who it is from.
    pub role: Role,
    /// Its text, parts joined.
    pub text: Option<String>,
    /// The id of the call that it answers.
    pub tool_call_id: Option<&'a str>,
    /// The calls that it makes.
    pub calls: Vec<ReceivedCall<'a>>,
}

/// A call that a received message makes; what it lacks is an empty text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedCall<'a> {
    /// Its id.
    pub id: &'a str,
    /// The tool's name.
    pub name: &'a str,
    /// The arguments as a text.
    pub arguments: &'a str,
}

impl Incoming {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing that is wrong in it.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        if has_too_many(body) {
            return Err(RequestError::TooManyValues);
        }
        let value: Value = serde_json::from_slice(body).map_err(|error| RequestError::NotJson {
            reason: error.to_string(),
        })?;
        let Value::Object(mut fields) = value else {
            let found = type_of(&value);
            return Err(RequestError::NotAnObject { found });
        };
        let model = match fields.get("model") {
            Some(Value::String(model)) => model.clone(),
            other => return Err(missing_or("model", Kind::Text, other)),
        };
        let unknown = check_parameters(&fields)?;
        let messages = list(&mut fields, "messages")?.ok_or_else(|| RequestError::Missing {
            param: "messages".to_owned(),
        })?;
        if messages.is_empty() {
            return Err(wrong_value("messages", "at least one message is needed"));
        }
        for (index, message) in messages.iter().enumerate() {
            check_message(message, &format!("messages[{index}]"))?;
        }
        let tools = list(&mut fields, "tools")?;
        for (index, tool) in tools.iter().flatten().enumerate() {
            expect(tool, Kind::Object, &format!("tools[{index}]"))?;
        }
        Ok(Self {
            model,
            messages,
            tools,
            max_completion_tokens: cap(&fields)?,
            choice: ToolChoice::of(&fields),
            parallel: Parallel::of(&fields),
            delivery: delivery(&fields)?,
            unknown,
        })
    }

    /// The messages by their meaning.
    pub fn received(&self) -> impl Iterator<Item = ReceivedMessage<'_>> {
        self.messages.iter().filter_map(read_message)
    }

    /// The kinds of content, such as `image_url`, that are no text and are counted as one all the
    /// same, each once.
    #[must_use]
    pub fn media(&self) -> Vec<&str> {
        let contents = self
            .messages
            .iter()
            .filter_map(|message| message.get("content"));
        let parts = contents.filter_map(Value::as_array).flatten();
        let kinds = parts.filter_map(|part| part.get("type")?.as_str());
        let mut media: Vec<_> = kinds
            .filter(|kind| !matches!(*kind, "text" | "refusal"))
            .collect();
        media.sort_unstable();
        media.dedup();
        media
    }

    /// The names and schemas of the functions that the request declares.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.tools.iter().flatten().filter_map(|tool| {
            let function = tool.get("function")?;
            let name = function.get("name")?.as_str()?;
            Some((name, function.get("parameters").unwrap_or(&Value::Null)))
        })
    }

    /// The JSON texts over which the messages are counted, one each.
    pub fn message_texts(&self) -> impl Iterator<Item = String> {
        self.messages.iter().map(to_json)
    }

    /// The JSON text over which the tools are counted.
    #[must_use]
    pub fn tools_text(&self) -> Option<String> {
        self.tools.as_ref().map(to_json)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    Bool,
    Integer,
    List,
    Number,
    Object,
    Text,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Bool => "a boolean",
            Self::Integer => "an integer",
            Self::List => "an array",
            Self::Number => "a number",
            Self::Object => "an object",
            Self::Text => "a string",
        }
    }

    fn has(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Bool => value.is_boolean(),
            Self::Integer => value.is_u64() || value.is_i64(),
            Self::List => value.is_array(),
            Self::Number => value.is_number(),
            Self::Object => value.is_object(),
            Self::Text => value.is_string(),
        }
    }
}

/// The parameters of chat completions; `null` is allowed for each, and means that it is absent.
const PARAMETERS: &[(&str, Kind)] = &[
    ("audio", Kind::Object),
    ("frequency_penalty", Kind::Number),
    ("function_call", Kind::Any),
    ("functions", Kind::List),
    ("logit_bias", Kind::Object),
    ("logprobs", Kind::Bool),
    ("max_completion_tokens", Kind::Integer),
    ("max_tokens", Kind::Integer),
    ("messages", Kind::List),
    ("metadata", Kind::Object),
    ("modalities", Kind::List),
    ("model", Kind::Text),
    ("n", Kind::Integer),
    ("parallel_tool_calls", Kind::Bool),
    ("prediction", Kind::Object),
    ("presence_penalty", Kind::Number),
    ("prompt_cache_key", Kind::Text),
    ("prompt_cache_retention", Kind::Text),
    ("reasoning_effort", Kind::Text),
    ("response_format", Kind::Object),
    ("safety_identifier", Kind::Text),
    ("seed", Kind::Integer),
    ("service_tier", Kind::Text),
    ("stop", Kind::Any),
    ("store", Kind::Bool),
    ("stream", Kind::Bool),
    ("stream_options", Kind::Object),
    ("temperature", Kind::Number),
    ("tool_choice", Kind::Any),
    ("tools", Kind::List),
    ("top_logprobs", Kind::Integer),
    ("top_p", Kind::Number),
    ("user", Kind::Text),
    ("verbosity", Kind::Text),
    ("web_search_options", Kind::Object),
];

/// Checks the types of the parameters that there are, and gives the names of those that chat
/// completions do not have.
fn check_parameters(fields: &Map<String, Value>) -> Result<Vec<String>, RequestError> {
    let mut unknown = Vec::new();
    for (name, value) in fields {
        match PARAMETERS.binary_search_by(|(known, _)| known.cmp(&name.as_str())) {
            Ok(_) if value.is_null() => {}
            Ok(at) => expect(value, PARAMETERS[at].1, name)?,
            Err(_) => unknown.push(name.clone()),
        }
    }
    if fields.get("n").is_some_and(|n| !n.is_null() && *n != 1) {
        return Err(wrong_value(
            "n",
            "only one choice is given, so it must be 1",
        ));
    }
    Ok(unknown)
}

fn check_message(message: &Value, at: &str) -> Result<(), RequestError> {
    expect(message, Kind::Object, at)?;
    let role = format!("{at}.role");
    match message.get("role") {
        Some(Value::String(word)) if role_of(word).is_some() => {}
        Some(Value::String(_)) => {
            let why = "must be system, developer, user, assistant, tool or function";
            return Err(wrong_value(&role, why));
        }
        other => return Err(missing_or(&role, Kind::Text, other)),
    }
    if let Some(content) = message.get("content").filter(|content| !content.is_null())
        && !content.is_array()
    {
        expect(content, Kind::Text, &format!("{at}.content"))?;
    }
    for (key, kind) in [("tool_call_id", Kind::Text), ("tool_calls", Kind::List)] {
        if let Some(value) = message.get(key).filter(|value| !value.is_null()) {
            expect(value, kind, &format!("{at}.{key}"))?;
        }
    }
    Ok(())
}

fn read_message(message: &Value) -> Option<ReceivedMessage<'_>> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    Some(ReceivedMessage {
        role: role_of(message.get("role")?.as_str()?)?,
        text: message.get("content").and_then(text_of),
        tool_call_id: message.get("tool_call_id").and_then(Value::as_str),
        calls: calls.into_iter().flatten().map(read_call).collect(),
    })
}

fn read_call(call: &Value) -> ReceivedCall<'_> {
    let text = |pointer| {
        call.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    ReceivedCall {
        id: text("/id"),
        name: text("/function/name"),
        arguments: text("/function/arguments"),
    }
}

fn role_of(word: &str) -> Option<Role> {
    match word {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    }
}

/// The cap on the reply; `max_tokens` is an older word for it.
fn cap(fields: &Map<String, Value>) -> Result<Option<u64>, RequestError> {
    for param in ["max_completion_tokens", "max_tokens"] {
        if let Some(most) = fields.get(param).filter(|most| !most.is_null()) {
            let positive = most.as_u64().filter(|most| *most > 0);
            let error = || wrong_value(param, "must be 1 or more");
            return positive.ok_or_else(error).map(Some);
        }
    }
    Ok(None)
}

fn delivery(fields: &Map<String, Value>) -> Result<Delivery, RequestError> {
    let streamed = fields.get("stream").and_then(Value::as_bool) == Some(true);
    let options = fields.get("stream_options").filter(|o| !o.is_null());
    let include_usage = match options.and_then(|options| options.get("include_usage")) {
        None | Some(Value::Null) => false,
        Some(flag) => {
            expect(flag, Kind::Bool, "stream_options.include_usage")?;
            *flag == Value::Bool(true)
        }
    };
    match (streamed, include_usage) {
        (true, true) => Ok(Delivery::StreamedWithUsage),
        (true, false) => Ok(Delivery::Streamed),
        (false, _) if options.is_some() => Err(wrong_value(
            "stream_options",
            "only allowed where 'stream' is true",
        )),
        (false, _) => Ok(Delivery::Whole),
    }
}

/// The list under `param`, taken out; its type was checked.
fn list(fields: &mut Map<String, Value>, param: &str) -> Result<Option<Vec<Value>>, RequestError> {
    match fields.get_mut(param).map(Value::take) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(other) => Err(wrong_type(param, Kind::List, &other)),
    }
}

fn expect(value: &Value, kind: Kind, param: &str) -> Result<(), RequestError> {
    if kind.has(value) {
        return Ok(());
    }
    Err(wrong_type(param, kind, value))
}

fn wrong_type(param: &str, kind: Kind, value: &Value) -> RequestError {
    RequestError::WrongType {
        param: param.to_owned(),
        expected: kind.name(),
        found: type_of(value),
    }
}

fn missing_or(param: &str, kind: Kind, value: Option<&Value>) -> RequestError {
    match value {
        None | Some(Value::Null) => RequestError::Missing {
            param: param.to_owned(),
        },
        Some(value) => wrong_type(param, kind, value),
    }
}

fn wrong_value(param: &str, why: &str) -> RequestError {
    RequestError::WrongValue {
        param: param.to_owned(),
        why: why.to_owned(),
    }
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
