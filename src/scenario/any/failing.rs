//! Calls that are allowed by a tool's schema and yet likely to fail.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Map, Value, json};

use super::{DeclaredTool, schema};
use crate::message::to_json;

/// Calls of a tool that are known to fail, one a turn, followed by the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenCalls {
    /// The tool's name.
    pub tool: String,
    /// The arguments of each call, as they are sent.
    pub arguments: Vec<String>,
}

/// How often a call that fails is made, each time with other arguments.
pub(super) const FAILURES: u32 = 2;

/// First words of names of tools that only look at something.
const LOOKING: [&str; 12] = [
    "read", "get", "open", "load", "fetch", "show", "view", "cat", "find", "look", "describe",
    "list",
];
/// Words in names of tools that change something: they are left alone.
const CHANGING: [&str; 20] = [
    "delete", "remove", "drop", "write", "create", "update", "insert", "send", "post", "put",
    "move", "rename", "edit", "patch", "run", "exec", "shell", "bash", "pay", "kill",
];
/// Words in names of arguments that name a thing which may not exist, the surest first.
const NAMING: [&str; 12] = [
    "path", "file", "dir", "folder", "uri", "url", "id", "key", "name", "table", "resource", "ref",
];

/// The call that most likely fails, of those that the tools allow and that change nothing: one
/// that names a thing which does not exist. None where no tool names things.
pub(super) fn likely(
    tools: &[&DeclaredTool<'_>],
    turn: u32,
    seed: u64,
) -> Option<(String, String)> {
    let mut best: Option<(u32, &str, String)> = None;
    for tool in tools {
        let Some((rank, arguments)) = likely_arguments(tool, turn, seed) else {
            continue;
        };
        if best.as_ref().is_none_or(|(most, ..)| rank > *most) {
            best = Some((rank, tool.name, arguments));
        }
    }
    best.map(|(_, tool, arguments)| (tool.to_owned(), arguments))
}

/// Arguments that name what does not exist, and how promising they are.
fn likely_arguments(tool: &DeclaredTool<'_>, turn: u32, seed: u64) -> Option<(u32, String)> {
    let named = words(tool.name);
    if named.iter().any(|word| CHANGING.contains(&word.as_str())) {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let made = schema::arguments(tool.parameters, &mut rng).value;
    let Value::Object(made) = made else {
        return None;
    };
    let properties = tool.parameters.get("properties")?.as_object()?;
    let looks = named
        .first()
        .is_some_and(|word| LOOKING.contains(&word.as_str()));
    let ranked = properties.keys().map(|key| {
        let words = words(key);
        let place = NAMING
            .iter()
            .position(|part| words.iter().any(|word| word == part));
        let surety = place.map_or(0, |place| NAMING.len() - place);
        let rank = 2 * u32::try_from(surety).unwrap_or(0) + u32::from(looks);
        (rank, key)
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    ranked.into_iter().find_map(|(rank, key)| {
        let arguments = with_absent(&made, key, turn);
        arguments
            .into_iter()
            .find(|value| schema::allows(tool.parameters, value))
            .map(|value| (rank, to_json(&value)))
    })
}

/// The arguments with `key` naming something absent: as a text, or as a number.
fn with_absent(made: &Map<String, Value>, key: &str, turn: u32) -> Vec<Value> {
    let absent = [
        json!(absent_name(turn)),
        json!(format!("/{}", absent_name(turn))),
        json!(format!("http://127.0.0.1:9/{}", absent_name(turn))),
        json!(987_654_321 + turn),
    ];
    let put = |value: Value| {
        let mut arguments = made.clone();
        arguments.insert(key.to_owned(), value);
        Value::Object(arguments)
    };
    absent.map(put).into()
}

/// A name that nothing has, another one each turn.
fn absent_name(turn: u32) -> String {
    format!("loopmeter-absent-{}", turn + 1)
}

/// The words of an identifier in lower case, such as `file` and `path` of `file_path` and of
/// `filePath`.
fn words(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && was_lower {
            spaced.push(' ');
        }
        was_lower = letter.is_lowercase();
        spaced.extend(letter.to_lowercase());
    }
    let words = spaced.split(|c: char| !c.is_alphanumeric());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(tools: &[(&str, Value)]) -> Option<(String, String)> {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, parameters)| DeclaredTool { name, parameters })
            .collect();
        likely(&tools.iter().collect::<Vec<_>>(), 0, 0)
    }

    fn one(key: &str, schema: &Value) -> Value {
        json!({"type": "object", "properties": {key: schema}, "required": [key]})
    }

    #[test]
    fn a_tool_that_reads_is_asked_for_what_does_not_exist() {
        let text = json!({"type": "string"});
        let (tool, arguments) = called(&[
            ("list_files", json!({"type": "object", "properties": {}})),
            ("search", one("query", &text)),
            ("read_file", one("path", &text)),
        ])
        .unwrap();
        assert_eq!(tool, "read_file");
        assert_eq!(arguments, r#"{"path":"loopmeter-absent-1"}"#);
    }

    #[test]
    fn a_tool_that_changes_something_is_left_alone() {
        let text = json!({"type": "string"});
        assert_eq!(called(&[("delete_file", one("path", &text))]), None);
        assert_eq!(called(&[("fileDelete", one("filePath", &text))]), None);
        assert_eq!(called(&[("now", json!({"type": "object"}))]), None);
        assert_eq!(called(&[]), None);
    }

    #[test]
    fn arguments_stay_within_the_schema() {
        let (_, arguments) =
            called(&[("get_user", one("user_id", &json!({"type": "integer"})))]).unwrap();
        assert_eq!(arguments, r#"{"user_id":987654321}"#);
        let closed = json!({"enum": ["a", "b"]});
        assert_eq!(called(&[("get_user", one("user_id", &closed))]), None);
    }
}
