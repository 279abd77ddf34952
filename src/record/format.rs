//! The formats that are read, and how a value gives its own away.

use serde_json::Value;

use super::value::at;

/// A format of recorded runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "kebab-case")
)]
pub enum Format {
    /// One conversation a line: `messages`, and whatever else
    Chat,
    /// One request and its response a line
    Pairs,
    /// The trace lines that loopmeter writes
    Trace,
    /// Session files of Claude Code
    ClaudeCode,
    /// Session files of the Codex CLI
    Codex,
    /// Trajectories of mini-swe-agent
    MiniSweAgent,
    /// Trajectories of SWE-agent
    SweAgent,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Chat,
        Self::Pairs,
        Self::Trace,
        Self::ClaudeCode,
        Self::Codex,
        Self::MiniSweAgent,
        Self::SweAgent,
    ];

    /// The format in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Pairs => "pairs",
            Self::Trace => "trace",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::MiniSweAgent => "mini-swe-agent",
            Self::SweAgent => "swe-agent",
        }
    }

    /// The format that this value of a file is in, if it shows.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let has = |path: &str| at(value, path).is_some();
        let is_array = |path: &str| at(value, path).is_some_and(Value::is_array);
        if has("runId") && has("type") {
            Some(Self::Trace)
        } else if is_array("history") || is_array("trajectory") {
            Some(Self::SweAgent)
        } else if has("info.model_stats") || has("trajectory_format") {
            Some(Self::MiniSweAgent)
        } else if has("request") || has("response") || has("choices") {
            Some(Self::Pairs)
        } else if super::chat::KEYS.iter().any(|key| is_array(key)) {
            Some(Self::Chat)
        } else if has("payload") && has("type") {
            Some(Self::Codex)
        } else if has("sessionId") || has("leafUuid") || has("snapshot") {
            Some(Self::ClaudeCode)
        } else {
            None
        }
    }
}
