//! The settings of a run: the closed set that an experiment fixes and sweeps.
//!
//! What a file says and what a cell runs with are the same type: a cell's settings are the file's,
//! with the cell's values written over them. The doc comments are what editors show.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::harness::{EnvValue, FaultLine};
use super::seam::{CompareWith, ModelSource, Transport};
use crate::money::PicoUsd;
use crate::pricing::{CacheTerms, CacheUnit};
use crate::run::context::ContextPolicy;
use crate::run::policy::{
    Approval, BudgetCheck, CancelReaches, Dedupe, PermanentErrors, Policy, StopCondition,
    ToolErrors, ToolExecution, VerdictWording,
};

/// The settings of one cell. Every key is optional; every key can be an axis.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Who plays the model. Default: the `scripted` one.
    pub provider: ModelSource,
    /// How the model is reached; over HTTP needs `clock = "real"`. Default: `in_process`.
    pub transport: Transport,
    /// The scripted model: the name of a scenario, or the path of a scenario file from this file.
    pub scenario: Option<String>,
    /// The system prompt. Default: the one that the built-in scenarios share.
    pub system: Option<String>,
    /// The user's message. Default: the one that the built-in scenarios share.
    pub user: Option<String>,
    /// A folder, from this file, of which every run gets a fresh copy. Default: three small logs.
    pub workspace: Option<String>,
    /// The names of the tools that the model may call. Default: the four built-in tools and every
    /// `[[subagent]]` of this file.
    pub tools: Option<Vec<String>>,
    /// Whether write tools declare an `idempotency_key` argument. Default: `absent`.
    pub idempotency_keys: IdempotencyKeys,
    /// Other words for a tool's description, by the tool's name.
    pub descriptions: BTreeMap<String, String>,
    /// What bills the run: an entry of `loopmeter list prices`, such as `openai/gpt-5`, in full;
    /// `@YYYY-MM-DD` behind it means the price of that day. Default: `chapter`.
    pub price: Option<String>,
    /// How the provider caches prompts; prices without a rate for cached tokens get one from it.
    /// Default: `none`.
    pub cache: CacheSetting,
    /// What of the transcript is sent: `full`, `last_results=K`, `elide_older=TURNS` or
    /// `summarise_above=TOKENS,keep_turns=K,summary_tokens=N`. Default: `full`.
    #[schemars(
        with = "String",
        regex(
            pattern = r"^(full|(last_results|elide_older)=[0-9]+|summarise_above=[0-9]+,keep_turns=[0-9]+,summary_tokens=[0-9]+)$"
        )
    )]
    pub context: ContextPolicy,
    /// How many made-up tools are offered beside the others; nobody calls them. Default: 0.
    #[schemars(range(max = 200))]
    pub filler_tools: u32,
    /// How many made-up rules stand at the end of the system prompt. Default: 0.
    #[schemars(range(max = 1000))]
    pub filler_rules: u32,
    /// Stops before the turn after this many, `max_turns_exceeded`. Default: no cap.
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// Stops when so many dollars are spent, `budget_exceeded`. Default: no budget.
    pub max_budget_usd: Option<Dollars>,
    /// When the budget is compared with the cost. Default: `before` each request.
    pub budget_check: BudgetCheck,
    /// Stops when so many tokens are used, prompts and completions together, `budget_exceeded`.
    /// Default: no limit.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Stops after so many milliseconds, `interrupted`. Default: no limit.
    #[schemars(range(min = 1))]
    pub max_wall_ms: Option<u64>,
    /// Stops when the same call is made so many times in a row, `interrupted`. Default: never.
    #[schemars(range(min = 2))]
    pub repeated_call: Option<u32>,
    /// The most tokens of one reply; `budget_check = "reserve"` needs it. Default: no limit.
    #[schemars(range(min = 1))]
    pub max_completion_tokens: Option<u32>,
    /// What becomes of a tool's error. Default: `worded`.
    pub tool_errors: ToolErrors,
    /// What becomes of an error on which the model cannot act. Default: `return`.
    pub permanent_errors: PermanentErrors,
    /// Which repeated calls are answered without running the tool. Default: `off`.
    pub dedupe: Dedupe,
    /// Whether a tool that needs approval asks for it. Default: `ask`.
    pub approval: Approval,
    /// What a person decides about each call that asks. Default: `none`, the run stays stopped.
    pub verdict: Verdict,
    /// Why calls are rejected. Default: a short sentence.
    pub verdict_reason: String,
    /// What the transcript says of a rejected call. Default: the `reason`.
    pub verdict_wording: VerdictWording,
    /// What the stop signal reaches. Default: `everything`.
    pub cancel_reaches: CancelReaches,
    /// How the calls of one turn are executed: one after the other, or those that only read and
    /// stand side by side at the same time. Default: `serial`.
    pub tool_execution: ToolExecution,
    /// How long each tool takes beside what it does, but for sub-agents: a distribution such as
    /// `200ms`, `log_normal(400ms,0.8)`, `gamma(500ms,1)` or `empirical(100ms,900ms)`, drawn once
    /// for each call. Default: no time.
    pub tool_latency: Option<String>,
    /// When somebody presses Stop, in milliseconds from the start. Default: nobody does.
    pub stop_at_ms: Option<u64>,
    /// What they give as the reason. Default: `user pressed Stop`.
    pub stop_reason: String,
    /// How long every reply takes, in milliseconds. Default: 0. Not with `latency`.
    pub latency_ms: Option<u64>,
    /// How long replies take, drawn from distributions: a line such as
    /// `ttft=log_normal(800ms,0.5),per_token=20ms`, or a table. Not with `latency_ms`.
    pub latency: Option<Latency>,
    /// The seed of everything that is drawn. Default: 0.
    pub seed: u64,
    /// How many runs of the cell are simulated, each with draws of its own, for columns such as
    /// `p95_wall_ms`; in virtual time. Default: one, and no such columns.
    #[schemars(range(min = 1, max = 100_000))]
    pub samples: Option<u32>,
    /// When the user sees the answer: `first_word_ms`. Default: `whole`, when it is complete.
    pub answer_shown: AnswerShown,
    /// What is measured beside every run over HTTP. Default: nothing.
    pub compare_with: Option<CompareWith>,
    /// A regular expression that a right answer matches: gives the column `right`.
    pub expected_answer: Option<String>,
    /// After this turn and its tools the state is written to bytes, everything else is dropped,
    /// and a new run continues from the bytes. Default: never.
    #[schemars(range(min = 1))]
    pub restart_after_turn: Option<u32>,
    /// Variables of a command's environment, on top of those under `[harness]`. An axis can be one
    /// of them: `env.NAME`. A case's variables are written over these one by one.
    pub env: BTreeMap<String, EnvValue>,
    /// Arguments of a command, after those under `[harness]`.
    pub args: Vec<String>,
    /// How the endpoint fails a command, such as `"turn=1,first=2,kind=429"`. Default: it does not.
    pub faults: Vec<FaultLine>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: ModelSource::default(),
            transport: Transport::default(),
            scenario: None,
            system: None,
            user: None,
            workspace: None,
            tools: None,
            idempotency_keys: IdempotencyKeys::default(),
            descriptions: BTreeMap::new(),
            price: None,
            cache: CacheSetting::default(),
            context: ContextPolicy::default(),
            filler_tools: 0,
            filler_rules: 0,
            max_turns: None,
            max_budget_usd: None,
            budget_check: BudgetCheck::default(),
            max_tokens: None,
            max_wall_ms: None,
            repeated_call: None,
            max_completion_tokens: None,
            tool_errors: ToolErrors::default(),
            permanent_errors: PermanentErrors::default(),
            dedupe: Dedupe::default(),
            approval: Approval::default(),
            verdict: Verdict::default(),
            verdict_reason: "this file is still needed".to_owned(),
            verdict_wording: VerdictWording::default(),
            cancel_reaches: CancelReaches::default(),
            tool_execution: ToolExecution::default(),
            tool_latency: None,
            stop_at_ms: None,
            stop_reason: "user pressed Stop".to_owned(),
            latency_ms: None,
            latency: None,
            seed: 0,
            samples: None,
            answer_shown: AnswerShown::default(),
            compare_with: None,
            expected_answer: None,
            restart_after_turn: None,
            env: BTreeMap::new(),
            args: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether a real model is asked.
    #[must_use]
    pub fn asks_endpoint(&self) -> bool {
        self.provider == ModelSource::Endpoint
    }

    /// The policies among the settings.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            tool_errors: self.tool_errors,
            permanent_errors: self.permanent_errors,
            dedupe: self.dedupe,
            approval: self.approval,
            verdict_wording: self.verdict_wording,
            cancel_reaches: self.cancel_reaches,
            tool_execution: self.tool_execution,
        }
    }

    /// The conditions that stop a run, in the order in which they are looked at.
    #[must_use]
    pub fn stop_conditions(&self) -> Vec<StopCondition> {
        let turns = self
            .max_turns
            .map(|turns| StopCondition::MaxTurns { turns });
        let budget = self.max_budget_usd.map(|dollars| StopCondition::MaxBudget {
            usd: dollars.0,
            check: self.budget_check,
        });
        let tokens = self
            .max_tokens
            .map(|tokens| StopCondition::MaxTokens { tokens });
        let wall = self
            .max_wall_ms
            .map(|wall_ms| StopCondition::MaxWall { wall_ms });
        let repeated = self
            .repeated_call
            .map(|times| StopCondition::RepeatedCall { times });
        [turns, budget, tokens, wall, repeated]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// How the provider of a run caches prompts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CacheSetting {
    /// By the terms of that name.
    Named(CacheName),
    /// By terms of its own.
    Own(OwnTerms),
}

/// Terms that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheName {
    /// It does not.
    None,
    /// As `OpenAI` documents it.
    Openai,
    /// As Anthropic documents it, kept for five minutes.
    Anthropic,
    /// As Anthropic documents it, kept for an hour.
    #[serde(rename = "anthropic_1h")]
    AnthropicHour,
}

/// Terms of a prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnTerms {
    /// Shorter prompts are not kept.
    pub min_tokens: u64,
    /// A kept prompt can be taken up at the end of every block of so many tokens. Default: only
    /// where an earlier request ended.
    #[schemars(range(min = 1))]
    pub block_tokens: Option<u64>,
    /// How long after its last use a prompt is kept.
    pub expires_ms: u64,
    /// What a token read costs, in hundredths of a token of input. Default: 10.
    #[serde(default = "a_tenth")]
    pub read_percent: u32,
    /// What a token written costs, in hundredths of a token of input. Default: 100.
    #[serde(default = "as_much")]
    pub write_percent: u32,
}

fn a_tenth() -> u32 {
    10
}

fn as_much() -> u32 {
    100
}

impl Default for CacheSetting {
    fn default() -> Self {
        Self::Named(CacheName::None)
    }
}

impl CacheSetting {
    /// The terms; none where nothing is cached.
    #[must_use]
    pub fn terms(&self) -> Option<CacheTerms> {
        match self {
            Self::Named(CacheName::None) => None,
            Self::Named(CacheName::Openai) => Some(CacheTerms::OPENAI),
            Self::Named(CacheName::Anthropic) => Some(CacheTerms::ANTHROPIC),
            Self::Named(CacheName::AnthropicHour) => Some(CacheTerms::ANTHROPIC_1H),
            Self::Own(own) => Some(CacheTerms {
                min_tokens: own.min_tokens,
                unit: own
                    .block_tokens
                    .map_or(CacheUnit::Requests, CacheUnit::Blocks),
                expires_ms: own.expires_ms,
                read_percent: own.read_percent,
                write_percent: own.write_percent,
            }),
        }
    }
}

/// Whether write tools declare an `idempotency_key` argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdempotencyKeys {
    /// They do not.
    #[default]
    Absent,
    /// They do: calls with one key are one operation.
    Declared,
}

/// What a person decides about a call that asks for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing: the run stays stopped.
    #[default]
    None,
    /// The call may run.
    Approve,
    /// The call may not run.
    Reject,
}

/// When the user sees the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerShown {
    /// When it is complete.
    #[default]
    Whole,
    /// While it is written: its first token is seen as soon as it is there.
    Streamed,
}

/// How long replies take.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Latency {
    /// A line such as `ttft=log_normal(800ms,0.5),per_token=gamma(20ms,4)`, as `loopmeter fit`
    /// prints it and `loopmeter serve --latency` reads it.
    Line(String),
    /// The time of whole replies, as a table.
    Table(LatencyTable),
}

impl JsonSchema for Latency {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Latency".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "object"],
            "if": { "type": "object" },
            "then": generator.subschema_for::<LatencyTable>()
        })
    }
}

/// How long whole replies take.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyTable {
    /// The shape of the distribution.
    pub distribution: Distribution,
    /// The median, in milliseconds.
    #[schemars(range(min = 0))]
    pub median_ms: f64,
    /// The spread of a `log_normal`: the standard deviation of the logarithm. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub sigma: f64,
}

/// The shape of a latency distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the median.
    Constant,
    /// Log-normal: mostly near the median, now and then much longer.
    LogNormal,
}

/// Dollars as a file writes them: decimal text, never a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(pub PicoUsd);

impl<'de> Deserialize<'de> for Dollars {
    /// Reads the number's source text, which reading the file puts in the number's place.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Dollars {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}
