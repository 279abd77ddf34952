//! A value that a schema takes, for the place of one that it does not take.

use serde_json::{Map, Value};

/// How far the parts of a schema are followed into each other.
const MAX_DEPTH: usize = 16;

/// Stands for a text that nobody wrote; no text of a file is likely to hold it.
const NO_TEXT: &str = "\u{FFFD}";

/// The plainest value that `schema`, a part of `root`, takes; `null` where anything goes.
pub(super) fn stand_in(root: &Value, schema: &Value) -> Value {
    plainest(root, schema, MAX_DEPTH)
}

fn plainest(root: &Value, schema: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Null;
    };
    let part = |key: &str| schema.get(key);
    if let Some(named) = part("$ref").and_then(Value::as_str) {
        let named = named.strip_prefix('#').and_then(|at| root.pointer(at));
        return named.map_or(Value::Null, |schema| plainest(root, schema, depth));
    }
    if let Some(only) = part("const") {
        return only.clone();
    }
    if let Some(first) = part("enum").and_then(|all| all.get(0)) {
        return first.clone();
    }
    let forms = part("anyOf").or_else(|| part("oneOf"));
    if let Some(first) = forms.and_then(|forms| forms.get(0)) {
        return plainest(root, first, depth);
    }
    let least = |key: &str| usize::try_from(part(key)?.as_u64()?).ok();
    match first_type(schema) {
        "string" => Value::from(NO_TEXT.repeat(least("minLength").unwrap_or(1).max(1))),
        "integer" | "number" => part("minimum").cloned().unwrap_or_else(|| Value::from(0)),
        "boolean" => Value::Bool(false),
        "array" => {
            let entry = part("items").map_or(Value::Null, |item| plainest(root, item, depth));
            Value::Array(vec![entry; least("minItems").unwrap_or(0)])
        }
        "object" => Value::Object(required(root, schema, depth)),
        _ => Value::Null,
    }
}

fn first_type(schema: &Value) -> &str {
    let types = schema.get("type");
    let several = types.and_then(Value::as_array).into_iter().flatten();
    types
        .into_iter()
        .chain(several)
        .find_map(Value::as_str)
        .unwrap_or_default()
}

fn required(root: &Value, schema: &Value, depth: usize) -> Map<String, Value> {
    let keys = schema.get("required").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    keys.map(|key| {
        let property = schema.get("properties").and_then(|all| all.get(key));
        let value = property.map_or(Value::Null, |schema| plainest(root, schema, depth));
        (key.to_owned(), value)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stand_in_is_the_plainest_value_that_fits() {
        let root = json!({ "$defs": {
            "leaf": { "enum": ["green", "ripe"] },
            "loop": { "type": "object", "required": ["on"],
                      "properties": { "on": { "$ref": "#/$defs/loop" } } },
        } });
        for (schema, expected) in [
            (
                json!({ "type": "string", "minLength": 2 }),
                json!("\u{FFFD}\u{FFFD}"),
            ),
            (
                json!({ "type": ["integer", "null"], "minimum": 3 }),
                json!(3),
            ),
            (json!({ "type": "boolean" }), json!(false)),
            (
                json!({ "anyOf": [{ "$ref": "#/$defs/leaf" }, { "type": "null" }] }),
                json!("green"),
            ),
            (
                json!({ "oneOf": [{ "const": 7 }, { "const": 8 }] }),
                json!(7),
            ),
            (
                json!({ "type": "array", "minItems": 2, "items": { "type": "number" } }),
                json!([0, 0]),
            ),
            (
                json!({ "type": "object", "required": ["a"],
                        "properties": { "a": { "type": "array" }, "b": { "type": "number" } } }),
                json!({ "a": [] }),
            ),
            (json!(true), Value::Null),
        ] {
            assert_eq!(stand_in(&root, &schema), expected, "{schema}");
        }
        let endless = stand_in(&root, &json!({ "$ref": "#/$defs/loop" }));
        assert!(endless.is_object());
    }
}
