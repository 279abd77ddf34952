//! What the model reads about the tools: one definition per tool, and the catalog of the chapter.
//!
//! Every request sends these texts and pays for them. The published token counts hold for this
//! wording only, so a change of one word here moves every figure.

use serde_json::{Value, json};

use crate::message::ToolDefinition;

const LIST_FILES: &str = "List the names of all files.";
const READ_FILE: &str = "Read one file and return its whole text.";
const DELETE_FILE: &str = "Delete one file. This cannot be undone.";
const SCAN_ARCHIVE: &str = "Scan the archive of old files. This takes a few seconds.";
const IDEMPOTENCY_KEY: &str = "Names the operation that this call is part of. Send the same key \
     when you repeat a call, and a new key when you mean to do it once more.";

/// The names of the files; takes nothing.
#[must_use]
pub fn list_files() -> ToolDefinition {
    define("list_files", LIST_FILES, no_arguments())
}

/// The text of one file; takes its `path`.
#[must_use]
pub fn read_file() -> ToolDefinition {
    define("read_file", READ_FILE, one_path())
}

/// Deletes one file; takes its `path`.
#[must_use]
pub fn delete_file() -> ToolDefinition {
    define("delete_file", DELETE_FILE, one_path())
}

/// Goes through an archive, slowly; takes nothing.
#[must_use]
pub fn scan_archive() -> ToolDefinition {
    define("scan_archive", SCAN_ARCHIVE, no_arguments())
}

/// The four tools in the order in which every request of the chapter sends them.
#[must_use]
pub fn chapter() -> Vec<ToolDefinition> {
    vec![list_files(), read_file(), delete_file(), scan_archive()]
}

/// `definition` with one more argument, a required string `idempotency_key`, by which an executor
/// can tell a repeated call from a second operation.
///
/// Parameters that are not a JSON object take no arguments, and are returned as they are.
#[must_use]
pub fn with_idempotency_key(mut definition: ToolDefinition) -> ToolDefinition {
    let Some(schema) = definition.parameters.as_object_mut() else {
        return definition;
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        let key = json!({"type": "string", "description": IDEMPOTENCY_KEY});
        properties.insert("idempotency_key".to_owned(), key);
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        let key = json!("idempotency_key");
        if !required.contains(&key) {
            required.push(key);
        }
    }
    definition
}

fn define(name: &str, description: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
    }
}

fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}})
}

fn one_path() -> Value {
    json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::to_json;

    #[test]
    fn a_definition_prints_its_keys_in_wire_order() {
        assert_eq!(
            to_json(&read_file()),
            concat!(
                r#"{"type":"function","function":{"name":"read_file","#,
                r#""description":"Read one file and return its whole text.","#,
                r#""parameters":{"type":"object","properties":{"path":{"type":"string"}},"#,
                r#""required":["path"]}}}"#
            )
        );
    }

    #[test]
    fn the_catalog_keeps_its_order() {
        let names: Vec<String> = chapter().into_iter().map(|tool| tool.name).collect();
        assert_eq!(
            names,
            ["list_files", "read_file", "delete_file", "scan_archive"]
        );
    }

    #[test]
    fn an_idempotency_key_is_one_more_required_argument() {
        let keyed = with_idempotency_key(delete_file());
        assert_eq!(keyed.name, "delete_file");
        let schema = &keyed.parameters;
        assert_eq!(schema["required"], json!(["path", "idempotency_key"]));
        assert_eq!(schema["properties"]["path"], json!({"type": "string"}));
        assert_eq!(schema["properties"]["idempotency_key"]["type"], "string");
    }

    #[test]
    fn an_idempotency_key_can_be_the_only_argument() {
        let keyed = with_idempotency_key(list_files());
        assert_eq!(keyed.parameters["required"], json!(["idempotency_key"]));
        assert!(keyed.parameters["properties"]["idempotency_key"].is_object());
        assert_eq!(with_idempotency_key(keyed.clone()), keyed);
    }

    #[test]
    fn a_schema_that_takes_no_arguments_stays_as_it_is() {
        let odd = define("odd", "Does nothing.", json!(true));
        assert_eq!(with_idempotency_key(odd.clone()), odd);
    }
}
