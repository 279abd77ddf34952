//! Tools: what a model can call, the world that the calls act on, and the errors they answer with.
//!
//! A [`Catalog`] holds the tools of a run and checks the arguments that a model wrote; a [`Tool`]
//! acts on a [`Workspace`] through its [`ToolContext`]. Whether a call is made at all (approval,
//! dedupe, limits) is the run's affair: this module knows of no run.

mod archive;
mod arguments;
mod catalog;
mod context;
pub mod definitions;
mod error;
mod files;
mod filler;
mod function;
mod words;
mod workspace;

use serde_json::Value;

pub use archive::ScanArchive;
pub use catalog::{Catalog, CatalogError};
pub use context::{Bill, ToolContext};
pub use error::{ErrorKind, ToolError, ToolFailure};
pub use files::{DeleteFile, ListFiles, ReadFile};
pub use filler::filler_tools;
pub use function::FnTool;
pub use workspace::{
    Action, FileError, FileProblem, JournalEntry, Template, Workspace, WorkspaceError,
    WorkspaceProblem,
};

use crate::clock::BoxFuture;
use crate::message::ToolDefinition;

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing: running it again is harmless.
    ReadOnly,
    /// It changes something: running it twice may differ from running it once.
    Write,
}

/// Whether a call may be executed once more, when a crash hides whether it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It may: nothing is written, or the tool itself sees that it was executed before.
    Harmless,
    /// It may not: what is written could be written twice.
    Unsafe,
}

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// The tool as the model sees it.
    fn definition(&self) -> &ToolDefinition;

    /// What the tool does to the world.
    fn access(&self) -> Access;

    /// Whether a person has to agree before a call is executed.
    fn needs_approval(&self) -> bool {
        false
    }

    /// Whether a call with these arguments may be executed again when nobody knows whether it was
    /// executed. By default what reads may and what writes may not. A tool that writes and that
    /// recognises a repetition, by an idempotency key or by [`ToolContext::operation`], says
    /// [`Repeat::Harmless`].
    fn repeat(&self, arguments: &Value) -> Repeat {
        let _ = arguments;
        match self.access() {
            Access::ReadOnly => Repeat::Harmless,
            Access::Write => Repeat::Unsafe,
        }
    }

    /// Executes one call and returns what the model reads. `arguments` is an object of the shape
    /// that the definition's schema asks for, if it came through [`Catalog::parse_arguments`].
    ///
    /// # Errors
    /// [`ToolFailure::Error`] where the tool failed, [`ToolFailure::Stopped`] where the stop
    /// signal ended it.
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>>;
}

/// Whether a call says which operation it is.
fn has_idempotency_key(arguments: &Value) -> bool {
    let key = arguments.get("idempotency_key").and_then(Value::as_str);
    key.is_some_and(|key| !key.is_empty())
}
