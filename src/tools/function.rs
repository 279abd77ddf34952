//! A tool made of a function: the short way to put a tool of one's own into a catalog.

use serde_json::Value;

use crate::clock::BoxFuture;
use crate::message::ToolDefinition;
use crate::tools::{Access, Tool, ToolContext, ToolError, ToolFailure};

type Body = dyn Fn(&Value) -> Result<String, ToolError> + Send + Sync;

/// A tool whose body is a function of the arguments.
pub struct FnTool {
    definition: ToolDefinition,
    access: Access,
    body: Box<Body>,
}

impl FnTool {
    /// A tool called `name`, described to the model by `description`, whose arguments have the
    /// shape of the JSON Schema `parameters`.
    #[must_use]
    pub fn new(
        (name, description): (&str, &str),
        parameters: Value,
        access: Access,
        body: impl Fn(&Value) -> Result<String, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        let definition = ToolDefinition {
            name,
            description,
            parameters,
        };
        Self {
            definition,
            access,
            body: Box::new(body),
        }
    }
}

impl Tool for FnTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        self.access
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        _context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move { (self.body)(arguments).map_err(ToolFailure::Error) })
    }
}
