//! Small questions to a JSON value of somebody else's shape.

use serde_json::Value;

use crate::message::to_json;
use crate::money::PicoUsd;

/// What stands at a dotted path, `null` being nothing.
pub(super) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut keys = path.split('.');
    let found = keys.try_fold(value, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

/// The text at a path.
pub(super) fn text_at<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    at(value, path)?.as_str()
}

/// The whole number at a path.
pub(super) fn count_at(value: &Value, path: &str) -> Option<u64> {
    at(value, path)?.as_u64()
}

/// The amount of dollars at a path, to the pico-dollar.
///
/// Records hold money as JSON numbers that were floats; what is finer than a pico-dollar is the
/// float's own noise.
pub(super) fn dollars_at(value: &Value, path: &str) -> Option<PicoUsd> {
    let dollars = at(value, path)?.as_f64()?;
    format!("{dollars:.12}").parse().ok()
}

/// Takes the value of a key out of an object; `null` and other shapes have none.
pub(super) fn take(value: &mut Value, key: &str) -> Option<Value> {
    let found = value.get_mut(key)?.take();
    (!found.is_null()).then_some(found)
}

/// Takes the elements of an array out of an object; none where there is no array.
pub(super) fn take_array(value: &mut Value, key: &str) -> Vec<Value> {
    match take(value, key) {
        Some(Value::Array(elements)) => elements,
        _ => Vec::new(),
    }
}

/// A text as it is, and anything else as compact JSON.
pub(super) fn into_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => to_json(&other),
    }
}

/// A name that may be written as a text or as a number.
pub(super) fn name_at(value: &Value, path: &str) -> Option<String> {
    match at(value, path)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The first of these keys that names something.
pub(super) fn first_name(value: &Value, paths: &[&str]) -> Option<String> {
    paths.iter().find_map(|path| name_at(value, path))
}
