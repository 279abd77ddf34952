//! The model: what a run is, in one loop, straight through.

use std::collections::{BTreeMap, BTreeSet};

use loopmeter::message::{Message, ToolCall, Usage};
use loopmeter::run::policy::{
    Approval, BudgetCheck, Dedupe, PermanentErrors, StopCondition, ToolErrors, VerdictWording,
};
use loopmeter::run::{GENERIC_TOOL_ERROR, Status};
use loopmeter::tools::{Catalog, ErrorKind, ToolError};
use serde_json::Value;

use crate::play::ID;
use crate::script::{Plan, Said};
use crate::tools;

/// What a run comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) status: Status,
    pub(crate) reason: Option<&'static str>,
    pub(crate) turns: u32,
    /// In pico-dollars.
    pub(crate) cost: i64,
    pub(crate) output: Option<String>,
    pub(crate) messages: Vec<Message>,
    /// The operations that wrote, in order.
    pub(crate) writes: Vec<String>,
}

/// Two dollars and twelve dollars for a million tokens.
pub(crate) fn cost(usage: &Usage) -> i64 {
    usage.prompt_tokens.cast_signed() * 2_000_000
        + usage.completion_tokens.cast_signed() * 12_000_000
}

struct Model<'a> {
    plan: &'a Plan,
    catalog: &'a Catalog,
    is: Expected,
    cost_before: i64,
    tokens: u64,
    used_ids: BTreeSet<String>,
    remembered: BTreeMap<String, String>,
    streak: Vec<(String, u32)>,
    most: u32,
}

/// The exit that a step leads to, if it leads to one.
type Exit = Option<(Status, &'static str)>;

pub(crate) fn play(plan: &Plan, catalog: &Catalog) -> Expected {
    let mut model = Model {
        plan,
        catalog,
        is: Expected {
            status: Status::Running,
            reason: None,
            turns: 0,
            cost: 0,
            output: None,
            messages: crate::play::beginning(plan).messages,
            writes: Vec::new(),
        },
        cost_before: 0,
        tokens: 0,
        used_ids: BTreeSet::new(),
        remembered: BTreeMap::new(),
        streak: Vec::new(),
        most: 0,
    };
    loop {
        if let Some((status, reason)) = model.turn() {
            model.is.status = status;
            model.is.reason = (status != Status::Completed).then_some(reason);
            return model.is;
        }
    }
}

impl Model<'_> {
    fn turn(&mut self) -> Exit {
        if let Some(exit) = self.limit() {
            return Some(exit);
        }
        let turn = usize::try_from(self.is.turns).unwrap();
        let (said, usage) = self.plan.turn(turn);
        if matches!(said, Said::Broken) {
            return Some((Status::Failed, "provider_error"));
        }
        self.is.turns += 1;
        self.cost_before = self.is.cost;
        self.is.cost += cost(&usage);
        self.tokens += usage.prompt_tokens + usage.completion_tokens;
        let (content, tool_calls) = match said {
            Said::Calls(content, calls) => (content, calls),
            Said::Prose(text) => (Some(text), Vec::new()),
            Said::Nothing | Said::Broken => return Some((Status::Failed, "provider_error")),
        };
        self.is.messages.push(Message::Assistant {
            content: content.clone(),
            tool_calls: tool_calls.clone(),
        });
        if tool_calls.is_empty() {
            self.is.output = content;
            return Some((Status::Completed, "answered"));
        }
        self.count_repetitions(&tool_calls);
        if let Some(exit) = self.limit() {
            return Some(exit);
        }
        // A message that uses an id twice uses it for the second time in its second call.
        let first: Vec<_> = tool_calls
            .iter()
            .map(|call| self.used_ids.insert(call.id.clone()))
            .collect();
        let mut calls = tool_calls.iter().zip(first);
        calls.find_map(|(call, first)| self.call(call, first))
    }

    fn count_repetitions(&mut self, calls: &[ToolCall]) {
        self.most = 0;
        for call in calls {
            let signature = format!("{}\n{}", call.name, call.arguments);
            let times = match self.streak.last() {
                Some((last, times)) if *last == signature => times + 1,
                _ => 1,
            };
            self.streak.push((signature, times));
            self.most = self.most.max(times);
        }
    }

    fn limit(&self) -> Exit {
        self.plan.stop.iter().find_map(|condition| match condition {
            StopCondition::MaxTurns { turns } => {
                (self.is.turns >= *turns).then_some((Status::MaxTurnsExceeded, "max_turns"))
            }
            StopCondition::MaxBudget { usd, check } => {
                let known = match check {
                    BudgetCheck::After => self.cost_before,
                    BudgetCheck::Before | BudgetCheck::Reserve => self.is.cost,
                };
                (known >= usd.pico()).then_some((Status::BudgetExceeded, "max_budget"))
            }
            StopCondition::MaxTokens { tokens } => {
                (self.tokens >= *tokens).then_some((Status::BudgetExceeded, "max_tokens"))
            }
            StopCondition::RepeatedCall { times } => {
                (self.most >= *times).then_some((Status::Interrupted, "repeated_call"))
            }
            StopCondition::MaxWall { .. } | StopCondition::Custom { .. } => None,
        })
    }

    fn call(&mut self, call: &ToolCall, first: bool) -> Exit {
        if !first {
            let id = &call.id;
            let words = format!(
                "call id {id:?} was used before; the call was not executed. Give every call its own id."
            );
            return self.answer(call, Err(ToolError::recoverable(words)));
        }
        let arguments = match self.catalog.parse_arguments(&call.name, &call.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return self.answer(call, Err(error)),
        };
        let key = self.key(call, &arguments);
        if let Some(text) = key.as_ref().and_then(|key| self.remembered.get(key)) {
            let text = text.clone();
            return self.answer(call, Ok(text));
        }
        let policy = self.plan.policy;
        let asks = call.name == "ask" && policy.approval == Approval::Ask;
        if asks && !self.plan.approves(&call.id) {
            let text = match policy.verdict_wording {
                VerdictWording::Reason => "The user declined this call: not now",
                VerdictWording::Empty => "",
            };
            self.say(call, text.to_owned());
            return None;
        }
        let result = tools::result(&call.name, &arguments["n"]);
        if let Ok(text) = &result {
            if call.name != "look" {
                self.is.writes.push(format!("{ID}/{}", call.id));
            }
            if let Some(key) = key {
                self.remembered.insert(key, text.clone());
            }
        }
        self.answer(call, result)
    }

    /// What a repetition is known by, where the policy looks for one.
    fn key(&self, call: &ToolCall, arguments: &Value) -> Option<String> {
        let whole = format!("{}\n{}", call.name, call.arguments);
        match self.plan.policy.dedupe {
            Dedupe::Off => None,
            Dedupe::All => Some(whole),
            Dedupe::ReadOnly => (call.name == "look").then_some(whole),
            Dedupe::IdempotencyKey => {
                let key = arguments["idempotency_key"].as_str()?;
                Some(format!("{}\n{key}", call.name))
            }
        }
    }

    fn answer(&mut self, call: &ToolCall, result: Result<String, ToolError>) -> Exit {
        let policy = self.plan.policy;
        let text = match result {
            Ok(text) => text,
            Err(error) => {
                let permanent = error.kind == ErrorKind::Permanent;
                if permanent && policy.permanent_errors == PermanentErrors::Stop {
                    return Some((Status::Failed, "permanent_error"));
                }
                match policy.tool_errors {
                    ToolErrors::Fatal => return Some((Status::Failed, "tool_error")),
                    ToolErrors::Generic => GENERIC_TOOL_ERROR.to_owned(),
                    ToolErrors::Worded => format!("Error: {}", error.message),
                }
            }
        };
        self.say(call, text);
        None
    }

    fn say(&mut self, call: &ToolCall, content: String) {
        self.is.messages.push(Message::Tool {
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            content,
        });
    }
}
