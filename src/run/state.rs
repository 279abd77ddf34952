//! What a run *is*: a plain value that can be written down, killed and picked up again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Usage};
use crate::money::PicoUsd;
use crate::pricing::{Cache, CacheTerms, Price};
use crate::run::context::{ContextPolicy, Summary};
use crate::run::policy::{Policy, StopCondition, is_default};
use crate::tools::Bill;

/// Where a run stands: still going, or out by one of the five exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum Status {
    /// It can go on.
    Running,
    /// The model answered in prose.
    Completed,
    /// It ended on an error; there is nothing to resume.
    Failed,
    /// It reached the turn cap.
    MaxTurnsExceeded,
    /// It spent its budget of money or tokens.
    BudgetExceeded,
    /// Somebody or something asked for a pause: a person, an approval, a limit.
    Interrupted,
}

impl Status {
    /// The five exits.
    pub const EXITS: [Self; 5] = [
        Self::Completed,
        Self::Failed,
        Self::MaxTurnsExceeded,
        Self::BudgetExceeded,
        Self::Interrupted,
    ];

    /// The status in one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::MaxTurnsExceeded => "max_turns_exceeded",
            Self::BudgetExceeded => "budget_exceeded",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the run can be taken up again, under other limits or with a verdict.
    #[must_use]
    pub const fn is_resumable(self) -> bool {
        !matches!(self, Self::Completed | Self::Failed)
    }
}

/// Why a run stopped, as data. `completed` has no reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum StopReason {
    /// A person has to decide about a call.
    Approval {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        tool_name: String,
        /// The arguments.
        args: Value,
    },
    /// The turn cap was reached.
    MaxTurns,
    /// The money was spent.
    MaxBudget,
    /// The tokens were spent.
    MaxTokens,
    /// The time was up.
    MaxWall,
    /// Somebody pressed Stop.
    Cancelled {
        /// What they gave as the reason.
        reason: String,
    },
    /// The model made the same call over and over.
    RepeatedCall {
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model wrote them.
        args: String,
        /// How many times in a row.
        k: u32,
    },
    /// A condition of a library user held.
    Custom {
        /// The condition's name.
        name: String,
    },
    /// A tool failed and tool errors are fatal.
    ToolError,
    /// A tool failed for a reason on which the model cannot act.
    PermanentError,
    /// The provider failed, or its reply could not be used.
    ProviderError,
    /// A tool that writes was started, and nobody knows whether it wrote.
    UnknownOutcome {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        tool_name: String,
        /// The arguments.
        args: Value,
    },
}

impl StopReason {
    /// The reason in one word, as it stands in traces and rows.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approval",
            Self::MaxTurns => "max_turns",
            Self::MaxBudget => "max_budget",
            Self::MaxTokens => "max_tokens",
            Self::MaxWall => "max_wall",
            Self::Cancelled { .. } => "cancelled",
            Self::RepeatedCall { .. } => "repeated_call",
            Self::Custom { .. } => "custom",
            Self::ToolError => "tool_error",
            Self::PermanentError => "permanent_error",
            Self::ProviderError => "provider_error",
            Self::UnknownOutcome { .. } => "unknown_outcome",
        }
    }

    /// The exit that the reason leads to.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::MaxTurns => Status::MaxTurnsExceeded,
            Self::MaxBudget | Self::MaxTokens => Status::BudgetExceeded,
            Self::ToolError | Self::PermanentError | Self::ProviderError => Status::Failed,
            Self::Approval { .. }
            | Self::MaxWall
            | Self::Cancelled { .. }
            | Self::RepeatedCall { .. }
            | Self::Custom { .. }
            | Self::UnknownOutcome { .. } => Status::Interrupted,
        }
    }
}

/// What a run was told to obey; stored with it, so that resuming needs nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// What a token costs.
    pub price: Price,
    /// What ends the run, in the order of checking.
    pub stop: Vec<StopCondition>,
    /// The policies.
    pub policy: Policy,
    /// The most tokens that one reply may have, where the provider is told one.
    pub max_completion_tokens: Option<u64>,
    /// What of the transcript is sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub context: ContextPolicy,
    /// How the provider caches prompts, where it does and does not say what it had cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheTerms>,
}

impl RunSettings {
    /// The default policies at `price`, with no limit at all.
    #[must_use]
    pub fn new(price: Price) -> Self {
        Self {
            price,
            stop: Vec::new(),
            policy: Policy::default(),
            max_completion_tokens: None,
            context: ContextPolicy::default(),
            cache: None,
        }
    }

    /// The same with one more stop condition.
    #[must_use]
    pub fn stop_when(mut self, condition: StopCondition) -> Self {
        self.stop.push(condition);
        self
    }

    /// The same with so much of the transcript sent.
    #[must_use]
    pub const fn with_context(mut self, context: ContextPolicy) -> Self {
        self.context = context;
        self
    }

    /// The same with a provider that caches prompts; the price gets rates for that where it has
    /// none.
    #[must_use]
    pub fn with_cache(mut self, terms: CacheTerms) -> Self {
        self.price = terms.priced(self.price);
        self.cache = Some(terms);
        self
    }

    /// The same with other policies.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The name that every trace line carries.
    pub run_id: String,
    /// What the run obeys.
    pub settings: RunSettings,
    /// Where it stands.
    pub status: Status,
    /// Why it stopped, where it did for a reason.
    pub interruption: Option<StopReason>,
    /// What went wrong, in words, where something did.
    pub error: Option<String>,
    /// The answer, once completed.
    pub output: Option<String>,
    /// Turns taken: replies paid for.
    pub turns: u32,
    /// Requests meant: how often the model was asked, whatever came of it.
    #[serde(default)]
    pub requests: u32,
    /// Attempts on the wire, retries included; 0 in process, where there is no wire.
    #[serde(default)]
    pub attempts: u32,
    /// Calls whose tool body started, failures included.
    pub tool_runs: u32,
    /// Tokens of all turns, as billed.
    pub usage: Usage,
    /// Tokens of all turns as this program counts them, whatever the provider says.
    #[serde(default)]
    pub counted: Usage,
    /// Cost of all turns; a sub-agent's is in `children`.
    pub cost: PicoUsd,
    /// What `cost` was before the last reply.
    pub cost_before_reply: PicoUsd,
    /// What sub-agents used.
    pub children: Bill,
    /// Time spent so far, by the run's clock.
    pub elapsed: Duration,
    /// Calls that a person approved and that have no result yet, by id.
    pub approved: Vec<String>,
    /// The call whose tool was started and has not been answered, by id. It is saved before the
    /// tool runs; so a run that is taken up knows what was not started (no result, not here), what
    /// was started and may have written (here), and what is done (its result is in the transcript).
    /// Calls that run at the same time only read, and are never here: they are simply run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<String>,
    /// Results that repeated calls are answered from, by signature; empty with dedupe off.
    pub remembered: BTreeMap<String, String>,
    /// What the provider has cached of the run, where the settings say that it does.
    #[serde(default, skip_serializing_if = "Cache::is_empty")]
    pub cache: Cache,
    /// The summaries that stand in for turns in what is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Summary>,
    /// The transcript, all of it, whatever is sent.
    pub messages: Vec<Message>,
}

impl RunState {
    /// A run that has not begun: `system` instructions (none where empty) and a `user` message.
    #[must_use]
    pub fn new(run_id: &str, settings: RunSettings, system: &str, user: &str) -> Self {
        let system = (!system.is_empty()).then(|| Message::System {
            content: system.to_owned(),
        });
        let user = Message::User {
            content: user.to_owned(),
        };
        Self {
            run_id: run_id.to_owned(),
            settings,
            status: Status::Running,
            interruption: None,
            error: None,
            output: None,
            turns: 0,
            requests: 0,
            attempts: 0,
            tool_runs: 0,
            usage: Usage::default(),
            counted: Usage::default(),
            cost: PicoUsd::ZERO,
            cost_before_reply: PicoUsd::ZERO,
            children: Bill::default(),
            elapsed: Duration::ZERO,
            approved: Vec::new(),
            in_flight: None,
            remembered: BTreeMap::new(),
            cache: Cache::default(),
            summaries: Vec::new(),
            messages: system.into_iter().chain([user]).collect(),
        }
    }

    /// The run's cost and that of every sub-agent below it.
    #[must_use]
    pub fn tree_cost(&self) -> PicoUsd {
        self.cost + self.children.cost
    }
}
