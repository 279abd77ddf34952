//! Two schemas that must both hold, as one, as far as that can be said in one.

use serde_json::{Map, Value, json};

/// `part` and `whole` as one schema.
pub(super) fn merge(
    part: Option<Map<String, Value>>,
    whole: Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = part.unwrap_or_default();
    for (key, value) in whole {
        let both = match merged.get(&key) {
            Some(other) => together(&key, other, value),
            None => value,
        };
        merged.insert(key, both);
    }
    merged
}

/// What a keyword says where two schemas have it.
fn together(key: &str, one: &Value, other: Value) -> Value {
    match key {
        "properties" | "patternProperties" | "$defs" | "definitions" => named(one, other),
        "required" | "allOf" => list(one, other),
        "enum" => common(one, other),
        "type" => narrower(one, other),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            larger(one, other)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            if larger(one, other.clone()) == other {
                one.clone()
            } else {
                other
            }
        }
        "additionalProperties" if *one == Value::Bool(false) => one.clone(),
        // What is left, such as a second list of alternatives, the check has to settle.
        _ => other,
    }
}

/// The schemas of names; both hold for a name that comes twice.
fn named(one: &Value, other: Value) -> Value {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        return one.clone();
    };
    let mut all = one.clone();
    for (name, schema) in other {
        let schema = match all.get(&name) {
            Some(same) if *same == schema => schema,
            Some(first) => json!({ "allOf": [first, schema] }),
            None => schema,
        };
        all.insert(name, schema);
    }
    Value::Object(all)
}

fn list(one: &Value, other: Value) -> Value {
    let (Value::Array(one), Value::Array(other)) = (one, other) else {
        return one.clone();
    };
    Value::Array(one.iter().cloned().chain(other).collect())
}

fn common(one: &Value, other: Value) -> Value {
    let (Value::Array(one), Value::Array(other)) = (one, other) else {
        return one.clone();
    };
    Value::Array(
        other
            .into_iter()
            .filter(|value| one.contains(value))
            .collect(),
    )
}

/// A type and a list of types: what is in both; an integer is also a number.
fn narrower(one: &Value, other: Value) -> Value {
    let names = |types: &Value| match types {
        Value::Array(several) => several.clone(),
        single => vec![single.clone()],
    };
    let (first, second) = (names(one), names(&other));
    let holds = |types: &[Value], name: &Value| {
        types.contains(name) || (name == "integer" && types.contains(&json!("number")))
    };
    let mut both: Vec<_> = first
        .iter()
        .filter(|name| holds(&second, name))
        .cloned()
        .collect();
    for name in second {
        if holds(&first, &name) && !both.contains(&name) && !both.contains(&json!("integer")) {
            both.push(name);
        }
    }
    if both.is_empty() {
        other
    } else {
        Value::Array(both)
    }
}

fn larger(one: &Value, other: Value) -> Value {
    match (one.as_f64(), other.as_f64()) {
        (Some(first), Some(second)) if first > second => one.clone(),
        _ => other,
    }
}
