//! A tool made of a function: the short way to put a tool of one's own into a catalog.

use serde_json::Value;

use crate::clock::BoxFuture;
use crate::message::ToolDefinition;
use crate::tools::{
    Access, Repeat, Tool, ToolContext, ToolError, ToolFailure, has_idempotency_key,
};

type Body = dyn Fn(&Value) -> Result<String, ToolError> + Send + Sync;

/// A tool whose body is a function of the arguments.
pub struct FnTool {
    definition: ToolDefinition,
    access: Access,
    knows_keys: bool,
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
            knows_keys: false,
            body: Box::new(body),
        }
    }

    /// The same, whose body executes an `idempotency_key` once however often it is called with it:
    /// a call that carries one may be repeated after a crash.
    #[must_use]
    pub fn that_knows_idempotency_keys(mut self) -> Self {
        self.knows_keys = true;
        self
    }
}

impl Tool for FnTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        self.access
    }

    fn repeat(&self, arguments: &Value) -> Repeat {
        let keyed = self.knows_keys && has_idempotency_key(arguments);
        if keyed || self.access == Access::ReadOnly {
            Repeat::Harmless
        } else {
            Repeat::Unsafe
        }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        _context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move { (self.body)(arguments).map_err(ToolFailure::Error) })
    }
}
