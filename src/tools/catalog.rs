//! The tools of a run, in the order in which the model sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::Value;

use super::words::shown;
use super::{
    Access, DeleteFile, ListFiles, ReadFile, Repeat, ScanArchive, Tool, ToolContext, ToolError,
    ToolFailure, arguments,
};
use crate::clock::BoxFuture;
use crate::message::ToolDefinition;
use crate::tokens;

/// An ordered list of tools with distinct names, their schemas compiled. Clones share the tools.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    definitions: Vec<ToolDefinition>,
    tokens: OnceLock<u64>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    schema: Arc<Validator>,
}

/// Why a list of tools is not a catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// Two tools have one name, so a call would not say which it means.
    #[error("two tools are named {0:?}: give each its own name")]
    Duplicate(String),
    /// A tool's parameters are not a JSON Schema.
    #[error("the parameters of tool {tool:?} are not a JSON Schema: {problem}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// What is wrong with the schema, and where in it.
        problem: String,
    },
    /// A name that no tool has.
    #[error("no tool is named {name:?}: the catalog has {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
}

impl Catalog {
    /// A catalog of `tools`, in that order.
    ///
    /// # Errors
    /// [`CatalogError`] for two tools of one name, and for parameters that are not a JSON Schema.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, CatalogError> {
        tools.into_iter().try_fold(Self::default(), Self::with)
    }

    /// The catalog with one more tool at its end.
    ///
    /// # Errors
    /// [`CatalogError`] for a name that is taken, and for parameters that are not a JSON Schema.
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Result<Self, CatalogError> {
        let definition = tool.definition().clone();
        if self.get(&definition.name).is_some() {
            return Err(CatalogError::Duplicate(definition.name));
        }
        let schema = Arc::new(compile(&definition)?);
        self.entries.push(Entry { tool, schema });
        self.definitions.push(definition);
        self.tokens = OnceLock::new();
        Ok(self)
    }

    /// The four tools of the chapter: `list_files`, `read_file`, `delete_file`, `scan_archive`.
    #[must_use]
    pub fn chapter() -> Self {
        Self::built_in(DeleteFile::default())
    }

    /// The four tools, with an `idempotency_key` among the arguments of `delete_file`. Whether
    /// two calls with one key are one deletion is for a run's dedupe to say; the tool itself sees to
    /// it that one call with a key is executed once, however often it is repeated after a crash.
    #[must_use]
    pub fn chapter_with_idempotency_keys() -> Self {
        Self::built_in(DeleteFile::with_idempotency_key())
    }

    /// The names are distinct and the schemas compile, which a test holds; so nothing is lost by
    /// not returning the error.
    fn built_in(delete_file: DeleteFile) -> Self {
        Self::new(vec![
            Arc::new(ListFiles::default()),
            Arc::new(ReadFile::default()),
            Arc::new(delete_file),
            Arc::new(ScanArchive::default()),
        ])
        .unwrap_or_default()
    }

    /// The catalog with other descriptions, by tool name; the tools without one keep theirs.
    ///
    /// # Errors
    /// [`CatalogError::Unknown`] for a name that no tool has.
    pub fn described(&self, descriptions: &BTreeMap<String, String>) -> Result<Self, CatalogError> {
        for name in descriptions.keys() {
            self.entry(name)?;
        }
        let mut described = Self {
            tokens: OnceLock::new(),
            ..self.clone()
        };
        for (entry, definition) in described.entries.iter_mut().zip(&mut described.definitions) {
            if let Some(description) = descriptions.get(&definition.name) {
                definition.description.clone_from(description);
                entry.tool = Arc::new(Described {
                    definition: definition.clone(),
                    tool: Arc::clone(&entry.tool),
                });
            }
        }
        Ok(described)
    }

    /// The tools of these names, in the order of `names`.
    ///
    /// # Errors
    /// [`CatalogError`] for a name that no tool has, and for one that comes twice.
    pub fn subset<S: AsRef<str>>(&self, names: &[S]) -> Result<Self, CatalogError> {
        let mut subset = Self::default();
        let mut seen = BTreeSet::new();
        for name in names.iter().map(AsRef::as_ref) {
            if !seen.insert(name) {
                return Err(CatalogError::Duplicate(name.to_owned()));
            }
            let entry = self.entry(name)?;
            subset.definitions.push(entry.tool.definition().clone());
            subset.entries.push(entry.clone());
        }
        Ok(subset)
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.find(name).map(|entry| &entry.tool)
    }

    /// The names, in catalog order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().map(|tool| tool.name.as_str())
    }

    /// The tools as the model sees them, in catalog order.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// What the definitions add to the prompt of every request, in tokens; nothing without tools,
    /// because a request without tools has no such key.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        if self.definitions.is_empty() {
            return 0;
        }
        *self
            .tokens
            .get_or_init(|| tokens::count_tools(&self.definitions))
    }

    /// Reads the arguments that a model wrote for `tool`. A blank text stands for `{}`, because
    /// some models write nothing where a tool takes nothing; of a repeated key the last one counts.
    ///
    /// # Errors
    /// A recoverable [`ToolError`] for an unknown tool, for text that is not JSON, and for JSON
    /// that is not of the tool's shape; it says what would be right, and never quotes more than a
    /// line of the text.
    pub fn parse_arguments(&self, tool: &str, text: &str) -> Result<Value, ToolError> {
        match self.find(tool) {
            Some(entry) => arguments::parse(tool, &entry.schema, text),
            None => Err(self.no_such_tool(tool)),
        }
    }

    fn no_such_tool(&self, name: &str) -> ToolError {
        let name = shown(name);
        let known: Vec<_> = self.names().collect();
        ToolError::recoverable(if known.is_empty() {
            format!("no such tool: {name}. There are no tools.")
        } else {
            format!("no such tool: {name}. The tools are {}.", known.join(", "))
        })
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        let position = self.names().position(|known| known == name)?;
        self.entries.get(position)
    }

    fn entry(&self, name: &str) -> Result<&Entry, CatalogError> {
        self.find(name).ok_or_else(|| CatalogError::Unknown {
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.definitions).finish()
    }
}

fn compile(definition: &ToolDefinition) -> Result<Validator, CatalogError> {
    jsonschema::validator_for(&definition.parameters).map_err(|error| {
        let path = error.instance_path().as_str();
        let place = if path.is_empty() { "/" } else { path };
        CatalogError::Schema {
            tool: definition.name.clone(),
            problem: format!("at {place}: {}", shown(&error.to_string())),
        }
    })
}

/// A tool under another description.
struct Described {
    definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Tool for Described {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        self.tool.access()
    }

    fn needs_approval(&self) -> bool {
        self.tool.needs_approval()
    }

    fn repeat(&self, arguments: &Value) -> Repeat {
        self.tool.repeat(arguments)
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        self.tool.run(arguments, context)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::definitions;

    struct Foreign(ToolDefinition);

    impl Foreign {
        fn tool(name: &str, parameters: Value) -> Arc<dyn Tool> {
            Arc::new(Self(ToolDefinition {
                name: name.to_owned(),
                description: String::new(),
                parameters,
            }))
        }
    }

    impl Tool for Foreign {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        fn access(&self) -> Access {
            Access::ReadOnly
        }

        fn run<'a>(
            &'a self,
            arguments: &'a Value,
            _: &'a ToolContext<'a>,
        ) -> BoxFuture<'a, Result<String, ToolFailure>> {
            Box::pin(std::future::ready(Ok(arguments.to_string())))
        }
    }

    #[test]
    fn the_chapters_catalog_has_its_four_tools_in_order() {
        for catalog in [Catalog::chapter(), Catalog::chapter_with_idempotency_keys()] {
            let names: Vec<_> = catalog.names().collect();
            assert_eq!(
                names,
                ["list_files", "read_file", "delete_file", "scan_archive"]
            );
            for (name, definition) in names.iter().zip(catalog.definitions()) {
                assert_eq!(catalog.get(name).unwrap().definition(), definition);
            }
        }
        assert_eq!(Catalog::chapter().definitions(), definitions::chapter());
    }

    #[test]
    fn only_delete_file_writes_and_only_it_asks() {
        let catalog = Catalog::chapter();
        for name in catalog.names() {
            let tool = catalog.get(name).unwrap();
            let writes = tool.access() == Access::Write;
            assert_eq!(writes, name == "delete_file", "{name}");
            assert_eq!(tool.needs_approval(), name == "delete_file", "{name}");
        }
    }

    #[test]
    fn only_delete_file_declares_an_idempotency_key_and_only_where_asked() {
        let declares = |catalog: &Catalog| -> Vec<String> {
            let has_key = |tool: &&ToolDefinition| {
                tool.parameters
                    .pointer("/properties/idempotency_key")
                    .is_some()
            };
            let tools = catalog.definitions().iter().filter(has_key);
            tools.map(|tool| tool.name.clone()).collect()
        };
        assert!(declares(&Catalog::chapter()).is_empty());
        let with_keys = Catalog::chapter_with_idempotency_keys();
        assert_eq!(declares(&with_keys), ["delete_file"]);
        let arguments = r#"{"path":"access.log","idempotency_key":"k1"}"#;
        assert!(with_keys.parse_arguments("delete_file", arguments).is_ok());
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        let twice = vec![
            Foreign::tool("add", json!({})),
            Foreign::tool("add", json!({})),
        ];
        let error = Catalog::new(twice).unwrap_err();
        assert_eq!(error, CatalogError::Duplicate("add".to_owned()));
        let names = ["read_file", "read_file"];
        assert!(Catalog::chapter().subset(&names).is_err());
    }

    #[test]
    fn parameters_that_are_no_schema_are_refused_with_their_place() {
        let odd = json!({"type": "object", "properties": {"n": {"type": "strnig"}}});
        let error = Catalog::new(vec![Foreign::tool("odd", odd)]).unwrap_err();
        let words = error.to_string();
        assert!(words.contains(r#""odd""#), "{words}");
        assert!(words.contains("/properties/n/type"), "{words}");
    }

    #[test]
    fn a_schema_that_points_at_the_network_is_refused() {
        let remote = json!({"$ref": "https://example.com/schema.json"});
        assert!(Catalog::new(vec![Foreign::tool("far", remote)]).is_err());
    }

    #[test]
    fn descriptions_can_be_swept_without_touching_anything_else() {
        let words = BTreeMap::from([("read_file".to_owned(), "Reads.".to_owned())]);
        let plain = Catalog::chapter();
        let swept = plain.described(&words).unwrap();
        let tool = swept.get("read_file").unwrap();
        assert_eq!(tool.definition().description, "Reads.");
        assert_eq!(tool.definition(), &swept.definitions()[1]);
        assert_eq!(swept.definitions()[0], plain.definitions()[0]);
        assert_eq!(
            swept.definitions()[1].parameters,
            plain.definitions()[1].parameters
        );
        assert!(swept.parse_arguments("read_file", "{}").is_err());

        let unknown = BTreeMap::from([("read_flie".to_owned(), String::new())]);
        let error = plain.described(&unknown).unwrap_err();
        assert!(error.to_string().contains("read_file"), "{error}");
    }

    #[test]
    fn a_subset_has_the_order_of_its_names() {
        let subset = Catalog::chapter()
            .subset(&["read_file", "list_files"])
            .unwrap();
        assert_eq!(
            subset.names().collect::<Vec<_>>(),
            ["read_file", "list_files"]
        );
        assert!(Catalog::chapter().subset(&["nothing"]).is_err());
        assert!(subset.get("delete_file").is_none());
    }

    #[test]
    fn an_unknown_tool_is_answered_with_the_ones_that_exist() {
        let error = Catalog::chapter()
            .parse_arguments("read", "{}")
            .unwrap_err();
        assert_eq!(
            error,
            ToolError::recoverable(
                "no such tool: read. The tools are list_files, read_file, delete_file, \
                 scan_archive."
            )
        );
        let hostile = Catalog::default()
            .parse_arguments(&"x\u{7}".repeat(9_999), "{}")
            .unwrap_err();
        assert!(hostile.message.len() < 2_000);
        assert!(!hostile.message.contains('\u{7}'));
    }
}
