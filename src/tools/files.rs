//! The tools that act on the files of the workspace.

use serde_json::Value;

use super::{
    Access, FileError, Repeat, Tool, ToolContext, ToolError, ToolFailure, Workspace, definitions,
    has_idempotency_key,
};
use crate::clock::BoxFuture;
use crate::message::{ToolDefinition, to_json};

/// Lists the files of the workspace as a JSON array of names, in the order of their bytes.
#[derive(Clone, Debug)]
pub struct ListFiles {
    definition: ToolDefinition,
}

/// Reads a text file.
#[derive(Clone, Debug)]
pub struct ReadFile {
    definition: ToolDefinition,
}

/// Deletes a file, and journals that it did. A name that was deleted before is deleted again:
/// the call succeeds and is journalled a second time.
#[derive(Clone, Debug)]
pub struct DeleteFile {
    definition: ToolDefinition,
}

impl Default for ListFiles {
    fn default() -> Self {
        Self {
            definition: definitions::list_files(),
        }
    }
}

impl Default for ReadFile {
    fn default() -> Self {
        Self {
            definition: definitions::read_file(),
        }
    }
}

impl Default for DeleteFile {
    fn default() -> Self {
        Self {
            definition: definitions::delete_file(),
        }
    }
}

impl DeleteFile {
    /// The tool with an `idempotency_key` among its arguments.
    #[must_use]
    pub fn with_idempotency_key() -> Self {
        Self {
            definition: definitions::with_idempotency_key(definitions::delete_file()),
        }
    }
}

impl Tool for ListFiles {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn run<'a>(
        &'a self,
        _: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async { Ok(to_json(&context.workspace.list()?)) })
    }
}

impl Tool for ReadFile {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async { at_path(arguments, context, Workspace::read) })
    }
}

impl Tool for DeleteFile {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn needs_approval(&self) -> bool {
        true
    }

    /// With a key, the journal is asked first whether this very call was executed before.
    fn repeat(&self, arguments: &Value) -> Repeat {
        if has_idempotency_key(arguments) {
            Repeat::Harmless
        } else {
            Repeat::Unsafe
        }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async {
            let operation = context.operation();
            let executed = match operation.filter(|_| has_idempotency_key(arguments)) {
                Some(operation) => context.workspace.executed(operation)?,
                None => None,
            };
            let name = match executed {
                Some(entry) => entry.path,
                None => at_path(arguments, context, |workspace, path| {
                    workspace.delete_as(path, operation)
                })?,
            };
            Ok(format!("deleted {name}"))
        })
    }
}

/// Applies `action` to the file that the argument `path` names.
fn at_path(
    arguments: &Value,
    context: &ToolContext<'_>,
    action: impl Fn(&Workspace, &str) -> Result<String, FileError>,
) -> Result<String, ToolFailure> {
    let path = arguments.get("path").and_then(Value::as_str);
    let path = path.ok_or_else(|| ToolError::recoverable("path must be a string: a file name"))?;
    Ok(action(context.workspace, path)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::{Signal, VirtualClock};
    use crate::tools::{Action, ErrorKind, JournalEntry, Template};

    fn call(
        tool: &dyn Tool,
        arguments: &Value,
        workspace: &Workspace,
    ) -> Result<String, ToolError> {
        let (clock, signal) = (VirtualClock::new(), Signal::new());
        let context = ToolContext::new(&clock, &signal, workspace, &|_| {});
        match pollster::block_on(tool.run(arguments, &context)) {
            Ok(text) => Ok(text),
            Err(ToolFailure::Error(error)) => Err(error),
            Err(ToolFailure::Stopped(stopped)) => panic!("{stopped}"),
        }
    }

    /// The same test over both kinds of workspace.
    fn over_both(test: impl Fn(&Workspace)) {
        test(&Workspace::in_memory(&Template::chapter()));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("world");
        test(&Workspace::create_folder(&path, &Template::chapter()).unwrap());
    }

    #[test]
    fn the_three_files_are_listed_as_a_json_array() {
        over_both(|workspace| {
            assert_eq!(
                call(&ListFiles::default(), &json!({}), workspace).unwrap(),
                r#"["access.log","errors.log","notes.txt"]"#
            );
        });
    }

    #[test]
    fn errors_log_mentions_the_timeout_and_is_the_largest() {
        over_both(|workspace| {
            let read = |name| call(&ReadFile::default(), &json!({"path": name}), workspace);
            let errors = read("errors.log").unwrap();
            assert!(errors.contains("worker 7"), "{errors}");
            assert!(errors.contains("30000 ms"), "{errors}");
            assert!(read("notes.txt").unwrap().len() < errors.len());
            assert!(read("access.log").unwrap().len() < errors.len());
        });
    }

    #[test]
    fn a_missing_file_is_recoverable_and_one_outside_is_not() {
        over_both(|workspace| {
            let tools: [&dyn Tool; 2] = [&ReadFile::default(), &DeleteFile::default()];
            for tool in tools {
                assert_eq!(
                    call(tool, &json!({"path": "timeout.log"}), workspace),
                    Err(ToolError::recoverable(
                        "no such file: timeout.log. Call list_files to see what exists."
                    ))
                );
                assert_eq!(
                    call(tool, &json!({"path": "/etc/shadow"}), workspace),
                    Err(ToolError::permanent("permission denied: /etc/shadow"))
                );
            }
            assert_eq!(workspace.journal().unwrap(), []);
        });
    }

    #[test]
    fn every_deletion_is_journalled_also_a_second_one_of_the_same_name() {
        over_both(|workspace| {
            let delete = DeleteFile::default();
            for _ in 0..2 {
                let deleted = call(&delete, &json!({"path": "./access.log"}), workspace);
                assert_eq!(deleted.unwrap(), "deleted access.log");
            }
            let entry = JournalEntry {
                action: Action::Deleted,
                path: "access.log".to_owned(),
                operation: None,
            };
            assert_eq!(workspace.journal().unwrap(), [entry.clone(), entry]);
            assert_eq!(
                call(&ListFiles::default(), &json!({}), workspace).unwrap(),
                r#"["errors.log","notes.txt"]"#
            );
            let read = call(
                &ReadFile::default(),
                &json!({"path": "access.log"}),
                workspace,
            );
            assert_eq!(read.unwrap_err().kind, ErrorKind::Recoverable);
        });
    }

    #[test]
    fn arguments_that_nobody_checked_are_an_error_and_no_panic() {
        over_both(|workspace| {
            for arguments in [json!(null), json!({}), json!({"path": 7}), json!([])] {
                let error = call(&ReadFile::default(), &arguments, workspace).unwrap_err();
                assert_eq!(error.kind, ErrorKind::Recoverable);
            }
        });
    }
}
