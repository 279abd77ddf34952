//! How a tool fails: errors are data with a kind, and being stopped is not an error.

use serde::{Deserialize, Serialize};

use crate::clock::Stopped;

/// Whether the model can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Another call can succeed: a wrong name, a wrong shape.
    Recoverable,
    /// No call of the model's can succeed: a permission, a broken disk.
    Permanent,
}

/// What went wrong in a tool, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ToolError {
    /// Whether the model can do something about it.
    pub kind: ErrorKind,
    /// What happened and, where the model can act, what to do.
    pub message: String,
}

impl ToolError {
    /// An error that the model can act on.
    #[must_use]
    pub fn recoverable(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Recoverable,
            message: message.into(),
        }
    }

    /// An error that the model cannot act on.
    #[must_use]
    pub fn permanent(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Permanent,
            message: message.into(),
        }
    }
}

/// Why a tool's body ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolFailure {
    /// The tool failed.
    #[error(transparent)]
    Error(#[from] ToolError),
    /// Somebody pressed Stop while it ran.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_stored_with_their_kind() {
        let error = ToolError::permanent("permission denied: /etc/shadow");
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(
            json,
            r#"{"kind":"permanent","message":"permission denied: /etc/shadow"}"#
        );
        assert_eq!(serde_json::from_str::<ToolError>(&json).unwrap(), error);
        assert_eq!(error.to_string(), "permission denied: /etc/shadow");
    }
}
