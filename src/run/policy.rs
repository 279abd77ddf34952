//! What a harness decides: when to stop, what a tool error turns into, who may write.
//!
//! Every policy is a plain enum, because it is swept from experiment files and stored in the
//! state of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::PicoUsd;

/// What becomes of a tool's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum ToolErrors {
    /// It ends the run, `failed`.
    Fatal,
    /// The model reads that the tool failed, and not why.
    Generic,
    /// The model reads the tool's own words.
    #[default]
    Worded,
}

/// What becomes of an error on which the model cannot act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum PermanentErrors {
    /// It is treated like any other error.
    #[default]
    Return,
    /// It ends the run at once, `failed`, with the reason.
    Stop,
}

/// Which repeated calls are answered from the results so far instead of being executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum Dedupe {
    /// None.
    #[default]
    Off,
    /// Every tool's, by tool and arguments.
    All,
    /// Only those of tools that write nothing, by tool and arguments.
    ReadOnly,
    /// Those that carry the same `idempotency_key`, by tool and key.
    IdempotencyKey,
}

/// When the budget is compared with the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum BudgetCheck {
    /// Before each request, knowing the cost so far: overshoots by up to one turn.
    #[default]
    Before,
    /// After each reply, knowing only the cost before it: overshoots by up to two turns.
    After,
    /// A turn is admitted only if its prompt and `max_completion_tokens` fit: never overshoots.
    Reserve,
}

/// Whether a tool that needs approval asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum Approval {
    /// The run stops and hands the decision to a person.
    #[default]
    Ask,
    /// It was granted in advance.
    Granted,
}

/// What the transcript says of a rejected call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum VerdictWording {
    /// The verdict and its reason in words.
    #[default]
    Reason,
    /// An empty text.
    Empty,
}

/// What the stop signal reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum CancelReaches {
    /// The provider call and the running tool.
    #[default]
    Everything,
    /// The provider call: Stop waits for a running tool.
    ProviderOnly,
    /// Nothing: Stop does not stop.
    Nothing,
}

/// How the calls of one turn are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum ToolExecution {
    /// One after the other.
    #[default]
    Serial,
    /// Calls that only read and stand side by side run at the same time; every other call runs
    /// alone. What is said, done and billed is what it is one after the other.
    Parallel,
}

/// So that a run that does not use a choice is written down as it was before there was one.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// All policies of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What becomes of a tool's error.
    pub tool_errors: ToolErrors,
    /// What becomes of an error on which the model cannot act.
    pub permanent_errors: PermanentErrors,
    /// Which repeated calls are not executed.
    pub dedupe: Dedupe,
    /// Whether a tool that needs approval asks for it.
    pub approval: Approval,
    /// What the transcript says of a rejected call.
    pub verdict_wording: VerdictWording,
    /// What the stop signal reaches.
    pub cancel_reaches: CancelReaches,
    /// How the calls of one turn are executed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_execution: ToolExecution,
}

/// One condition that ends a run; a run has a list of them, checked in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StopCondition {
    /// So many turns were taken: `max_turns_exceeded`.
    MaxTurns {
        /// The cap.
        turns: u32,
    },
    /// So much was spent: `budget_exceeded`.
    MaxBudget {
        /// The budget.
        usd: PicoUsd,
        /// When it is compared with the cost.
        check: BudgetCheck,
    },
    /// So many tokens were used, prompts and completions together: `budget_exceeded`.
    MaxTokens {
        /// The most tokens.
        tokens: u64,
    },
    /// So much time has passed: `interrupted`.
    MaxWall {
        /// The most milliseconds.
        wall_ms: u64,
    },
    /// The same call was made so many times in a row: `interrupted`.
    RepeatedCall {
        /// How many times, 2 at least.
        times: u32,
    },
    /// A predicate of a library user, registered under this name: `interrupted`.
    Custom {
        /// The predicate's name.
        name: String,
    },
}
