//! Reading fields that other programs wrote.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::message::to_json;

/// A field that counts as absent where it is `null` or of another type.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A field that counts as absent where it is no object. Where a list is given for it, its items
/// would be taken for the fields in their order.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    if !value.is_object() {
        return Ok(T::default());
    }
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A text that may come as a list of parts.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(text_of(&Value::deserialize(deserializer)?))
}

/// A text that may come as a number, such as an error's code.
pub(super) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(word) => Some(word),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// A JSON text that may come as the value itself, such as a call's arguments.
pub(super) fn json_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        Value::Null => None,
        value => Some(to_json(&value)),
    })
}

/// The text of a `content`: a string, or the texts of its parts one after the other.
pub(super) fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(part_text).collect()),
        _ => None,
    }
}

fn part_text(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| {
        ["text", "refusal"]
            .iter()
            .find_map(|key| part.get(key)?.as_str())
    })
}
