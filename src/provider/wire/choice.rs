//! What a request says of the calls that a reply may make.

use serde_json::{Map, Value};

/// Which of its tools a request lets the reply call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Any, or none.
    #[default]
    Free,
    /// None.
    None,
    /// This one.
    Named(String),
}

/// Whether a request lets a reply make several calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parallel {
    /// As many as it likes.
    #[default]
    Allowed,
    /// One at most.
    Forbidden,
}

impl ToolChoice {
    /// `tool_choice`; what it does not say in a way that is known leaves the choice free.
    pub(super) fn of(fields: &Map<String, Value>) -> Self {
        match fields.get("tool_choice") {
            Some(Value::String(word)) if word == "none" => Self::None,
            Some(choice) => match choice.pointer("/function/name").and_then(Value::as_str) {
                Some(name) => Self::Named(name.to_owned()),
                None => Self::Free,
            },
            None => Self::Free,
        }
    }
}

impl Parallel {
    /// `parallel_tool_calls`.
    pub(super) fn of(fields: &Map<String, Value>) -> Self {
        match fields.get("parallel_tool_calls") {
            Some(Value::Bool(false)) => Self::Forbidden,
            _ => Self::Allowed,
        }
    }
}
