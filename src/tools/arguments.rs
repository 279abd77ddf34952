//! From the text that a model wrote as arguments to a JSON object of the tool's shape.

use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::ToolError;
use super::words::shown;

/// The most problems that one error names.
const MOST_PROBLEMS: usize = 3;

/// Reads `text` as the arguments of `tool`; blank text is `{}`.
pub(super) fn parse(tool: &str, schema: &Validator, text: &str) -> Result<Value, ToolError> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let problem = shown(&error.to_string());
        ToolError::recoverable(format!(
            "the arguments of {tool} are not JSON: {problem}. Send one JSON object."
        ))
    })?;
    if !value.is_object() {
        return Err(ToolError::recoverable(format!(
            "the arguments of {tool} must be a JSON object, not {}.",
            type_of(&value)
        )));
    }
    let problems = problems(schema, &value);
    if problems.is_empty() {
        return Ok(value);
    }
    Err(ToolError::recoverable(format!(
        "the arguments of {tool} do not fit its parameters: {}.",
        problems.join("; ")
    )))
}

/// The first few problems, in words; the values themselves are not repeated.
fn problems(schema: &Validator, value: &Value) -> Vec<String> {
    let mut errors = schema.iter_errors(value);
    let mut problems: Vec<_> = errors
        .by_ref()
        .take(MOST_PROBLEMS)
        .map(|error| problem(&error))
        .collect();
    if errors.next().is_some() {
        problems.push("and more".to_owned());
    }
    problems
}

fn problem(error: &ValidationError<'_>) -> String {
    let what = error.masked_with("the value").to_string();
    match error.instance_path().as_str().strip_prefix('/') {
        Some(place) => format!("{}: {}", shown(place), shown(&what)),
        None => shown(&what),
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
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::tools::ErrorKind;

    fn schema() -> Validator {
        jsonschema::validator_for(&json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "deep": {"type": "array", "items": {"type": "integer"}}},
            "required": ["path"],
            "additionalProperties": false,
        }))
        .unwrap()
    }

    fn refused(text: &str) -> String {
        let error = parse("read_file", &schema(), text).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Recoverable);
        error.message
    }

    #[test]
    fn arguments_of_the_right_shape_are_returned() {
        let value = parse("read_file", &schema(), " {\"path\": \"a\"}\n").unwrap();
        assert_eq!(value, json!({"path": "a"}));
    }

    #[test]
    fn blank_text_is_an_empty_object() {
        let anything = jsonschema::validator_for(&json!({"type": "object"})).unwrap();
        for text in ["", " \n\t"] {
            assert_eq!(parse("list_files", &anything, text), Ok(json!({})));
        }
    }

    #[test]
    fn text_that_is_not_json_is_answered_with_the_position() {
        assert_eq!(
            refused("{\n\"path\": nope}"),
            "the arguments of read_file are not JSON: expected ident at line 2 column 10. \
             Send one JSON object."
        );
        assert!(refused(r#"{"path":"a"} and more"#).contains("line 1 column 14"));
        assert!(refused(r#"{"path":"a"#).contains("EOF"));
    }

    #[test]
    fn json_that_is_not_an_object_is_named() {
        for (text, kind) in [
            ("null", "null"),
            ("[]", "an array"),
            ("\"{}\"", "a string"),
            ("1e3", "a number"),
            ("true", "a boolean"),
        ] {
            let words = format!("the arguments of read_file must be a JSON object, not {kind}.");
            assert_eq!(refused(text), words);
        }
    }

    #[test]
    fn a_wrong_shape_is_answered_with_what_is_wrong_and_where() {
        assert_eq!(
            refused("{}"),
            "the arguments of read_file do not fit its parameters: \
             \"path\" is a required property."
        );
        let words = refused(r#"{"path": 7}"#);
        assert!(words.contains("path: the value is not of type"), "{words}");
        let words = refused(r#"{"path": "a", "deep": [1, "secret"]}"#);
        assert!(words.contains("deep/1: "), "{words}");
        assert!(!words.contains("secret"), "{words}");
        let words = refused(r#"{"path": "a", "file": "b"}"#);
        assert!(words.contains("file"), "{words}");
        let words = refused(r#"{"path": "a", "deep": ["b", "c", "d", "e"]}"#);
        assert!(words.ends_with("; and more."), "{words}");
        assert_eq!(words.matches("deep/").count(), MOST_PROBLEMS);
    }

    #[test]
    fn hostile_text_is_neither_followed_nor_repeated() {
        let deep = "[".repeat(100_000);
        assert!(refused(&deep).contains("recursion limit"));
        let long_key = format!(r#"{{"path": "a", "{}": 1}}"#, "k".repeat(1_000_000));
        assert!(refused(&long_key).len() < 1_000);
        let long_word = format!(r#"{{"path": {}"#, "x".repeat(1_000_000));
        assert!(refused(&long_word).len() < 1_000);
        let hidden = "{\"path\": \"a\", \"\\u001b[2J\": 1}";
        assert!(!refused(hidden).contains('\u{1b}'));
        let magic = r#"{"$serde_json::private::RawValue": 1}"#;
        assert!(!refused(magic).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_answered_in_bounded_words(text in ".{0,300}") {
            if let Err(error) = parse("read_file", &schema(), &text) {
                prop_assert!(error.message.len() < 8_000);
                prop_assert!(!error.message.contains(char::is_control));
            }
        }
    }
}
