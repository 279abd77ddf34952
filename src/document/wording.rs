//! How a mismatch reads.

use jsonschema::JsonType;
use serde_json::Value;

/// A message and what to do.
pub(super) type Words = (String, Option<String>);

/// The candidate that a misspelt `word` most likely means, if any is close enough.
pub(super) fn nearest<'c, C: AsRef<str>>(word: &str, candidates: &'c [C]) -> Option<&'c str> {
    candidates
        .iter()
        .rev() // of equals, `max_by` takes the last
        .map(|candidate| {
            let candidate = candidate.as_ref();
            (strsim::jaro_winkler(word, candidate), candidate)
        })
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

fn list<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`{}`", w.as_ref())).collect();
    quoted.join(", ")
}

/// What to say of an unknown `word`: `did you mean …?` if one of `all` is close, and then all of
/// them after `what` they are. Nothing if there are none.
#[must_use]
pub fn suggest<S: AsRef<str>>(word: &str, what: &str, all: &[S]) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let everything = format!("{what}: {}", list(all));
    Some(match nearest(word, all) {
        Some(near) => format!("did you mean `{near}`? {everything}"),
        None => everything,
    })
}

pub(super) fn unknown_key(key: &str, known: &[String]) -> Words {
    let message = format!("unknown key `{key}`");
    (message, suggest(key, "known keys here", known))
}

/// `schema` is that of the table in which the key is missing.
pub(super) fn missing_key(property: &Value, schema: Option<&Value>) -> Words {
    let key = property.as_str().unwrap_or_default();
    let description = schema
        .and_then(|schema| {
            schema
                .get("properties")?
                .get(key)?
                .get("description")?
                .as_str()
        })
        .and_then(|description| description.lines().next());
    let help = match description {
        Some(description) => format!("add `{key}`: {description}"),
        None => format!("add `{key}`"),
    };
    (format!("missing key `{key}`"), Some(help))
}

pub(super) fn too_short(least: u64, of_what: &str) -> Words {
    let message = match least {
        1 => "must not be empty".to_owned(),
        _ => format!("must have {least} {of_what} or more"),
    };
    (message, None)
}

/// `a whole number or a text`.
pub(super) fn expected_types(types: &[JsonType]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in types.iter().map(|one| type_name(*one)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" or ")
}

fn type_name(one: JsonType) -> &'static str {
    match one {
        JsonType::Null => "nothing",
        JsonType::Boolean => "`true` or `false`",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a text in quotes",
        JsonType::Array => "a list",
        JsonType::Object => "a table",
    }
}

/// What stands there instead.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(bool) => format!("`{bool}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}

/// What to do about a value whose quotes are too many or too few.
pub(super) fn unquoted(value: &Value, expected: &[JsonType]) -> Option<String> {
    let wants = |one| expected.contains(&one);
    match value {
        Value::String(text) => {
            let right = (wants(JsonType::Integer) && text.parse::<i64>().is_ok())
                || (wants(JsonType::Number) && text.parse::<f64>().is_ok_and(f64::is_finite))
                || (wants(JsonType::Boolean) && text.parse::<bool>().is_ok());
            right.then(|| format!("write {text} without quotes"))
        }
        Value::Number(_) | Value::Bool(_) if wants(JsonType::String) => {
            Some(format!("write \"{value}\""))
        }
        _ if wants(JsonType::Array) => Some("put it in square brackets".to_owned()),
        _ => None,
    }
}

/// The values that a place takes.
#[derive(Debug, Default)]
pub(super) struct Options(Vec<String>);

impl Options {
    pub(super) fn of<'v>(values: impl IntoIterator<Item = &'v Value>) -> Self {
        let spelt = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let usable = values.into_iter().filter(|value| !value.is_null());
        Self(usable.map(spelt).collect())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn listed(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("one of: {}", list(&self.0)))
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// The one that a misspelt `value` most likely means.
    pub(super) fn meant(&self, value: &Value) -> Option<&str> {
        nearest(value.as_str()?, &self.0)
    }

    pub(super) fn unknown_value(&self, value: &Value) -> Words {
        let spelt = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let message = format!("unknown value `{spelt}`");
        (message, suggest(&spelt, "one of", &self.0))
    }
}

impl FromIterator<Options> for Options {
    fn from_iter<I: IntoIterator<Item = Options>>(each: I) -> Self {
        Self(each.into_iter().flat_map(|options| options.0).collect())
    }
}
