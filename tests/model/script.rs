//! What a random run is: what the model says turn by turn, the policies, the limits, the verdicts.

use loopmeter::message::{ToolCall, Usage};
use loopmeter::money::PicoUsd;
use loopmeter::run::policy::{
    Approval, BudgetCheck, CancelReaches, Dedupe, PermanentErrors, Policy, StopCondition,
    ToolErrors, ToolExecution, VerdictWording,
};

use crate::chance::Chance;

/// What comes back for one request.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Calls, perhaps with prose before them.
    Calls(Option<String>, Vec<ToolCall>),
    /// The answer.
    Prose(String),
    /// A reply without a choice.
    Nothing,
    /// No reply.
    Broken,
}

/// A whole run before it happens.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What is said, turn by turn; after the last, an answer.
    pub(crate) turns: Vec<(Said, Usage)>,
    pub(crate) policy: Policy,
    pub(crate) stop: Vec<StopCondition>,
    /// Whether a call is approved is read off its id, so that it is the same at every asking.
    pub(crate) salt: u64,
}

impl Plan {
    pub(crate) fn random(chance: &mut Chance) -> Self {
        let length = 1 + chance.below(7);
        let mut ids = Ids::default();
        let turns = (0..length).map(|_| (said(chance, &mut ids), usage(chance)));
        let turns = turns.collect();
        Self {
            turns,
            policy: policy(chance),
            stop: stop(chance),
            salt: chance.below(1 << 32),
        }
    }

    pub(crate) fn turn(&self, turn: usize) -> (Said, Usage) {
        let past_the_end = || {
            let usage = Usage {
                prompt_tokens: 10,
                completion_tokens: 1,
                ..Usage::default()
            };
            (Said::Prose("That is all.".to_owned()), usage)
        };
        self.turns.get(turn).cloned().unwrap_or_else(past_the_end)
    }

    pub(crate) fn approves(&self, call_id: &str) -> bool {
        let sum: u64 = call_id.bytes().map(u64::from).sum();
        (sum + self.salt).is_multiple_of(2)
    }
}

#[derive(Default)]
struct Ids(u64);

impl Ids {
    /// The next id, or now and then one that was given before.
    fn next(&mut self, chance: &mut Chance) -> String {
        if self.0 > 0 && chance.happens(1, 12) {
            return format!("c{}", 1 + chance.below(self.0));
        }
        self.0 += 1;
        format!("c{}", self.0)
    }
}

fn said(chance: &mut Chance, ids: &mut Ids) -> Said {
    match chance.below(20) {
        0 => Said::Nothing,
        1 => Said::Broken,
        2 => Said::Prose("Done.".to_owned()),
        3 => Said::Prose(String::new()),
        _ => {
            let prose = chance.happens(1, 4).then(|| "Let me see.".to_owned());
            let calls = (0..=chance.below(3)).map(|_| call(chance, ids)).collect();
            Said::Calls(prose, calls)
        }
    }
}

fn call(chance: &mut Chance, ids: &mut Ids) -> ToolCall {
    let n = chance.below(2);
    let (name, arguments) = match chance.below(16) {
        0 => ("absent", "{}".to_owned()),
        1 => ("look", r#"{"n":"#.to_owned()),
        2 => ("look", r#"{"n":"one"}"#.to_owned()),
        3 => ("look", r#"{"n":7}"#.to_owned()),
        4 => ("look", r#"{"n":13}"#.to_owned()),
        5 => ("write", r#"{"n":7}"#.to_owned()),
        6..=8 => ("look", format!(r#"{{"n":{n}}}"#)),
        9 | 10 => ("write", format!(r#"{{"n":{n}}}"#)),
        11 | 12 => ("ask", format!(r#"{{"n":{n}}}"#)),
        _ => ("keyed", format!(r#"{{"n":{n},"idempotency_key":"k{n}"}}"#)),
    };
    ToolCall {
        id: ids.next(chance),
        name: name.to_owned(),
        arguments,
    }
}

fn usage(chance: &mut Chance) -> Usage {
    Usage {
        prompt_tokens: chance.below(400),
        completion_tokens: chance.below(60),
        ..Usage::default()
    }
}

fn policy(chance: &mut Chance) -> Policy {
    use {Approval as A, CancelReaches as C, Dedupe as D, PermanentErrors as P};
    Policy {
        tool_errors: chance.one_of(&[
            ToolErrors::Fatal,
            ToolErrors::Generic,
            ToolErrors::Worded,
            ToolErrors::Worded,
        ]),
        permanent_errors: chance.one_of(&[P::Return, P::Stop]),
        dedupe: chance.one_of(&[D::Off, D::All, D::ReadOnly, D::IdempotencyKey]),
        approval: chance.one_of(&[A::Ask, A::Granted]),
        verdict_wording: chance.one_of(&[VerdictWording::Reason, VerdictWording::Empty]),
        cancel_reaches: chance.one_of(&[C::Everything, C::ProviderOnly, C::Nothing]),
        tool_execution: chance.one_of(&[ToolExecution::Serial, ToolExecution::Parallel]),
    }
}

fn stop(chance: &mut Chance) -> Vec<StopCondition> {
    let mut stop = Vec::new();
    for _ in 0..chance.below(4) {
        stop.push(match chance.below(4) {
            0 => StopCondition::MaxTurns {
                turns: u32::try_from(1 + chance.below(6)).unwrap(),
            },
            1 => StopCondition::MaxBudget {
                usd: PicoUsd::from_pico((1 + chance.below(4_000)).cast_signed() * 1_000_000),
                check: chance.one_of(&[BudgetCheck::Before, BudgetCheck::After]),
            },
            2 => StopCondition::MaxTokens {
                tokens: 1 + chance.below(1_500),
            },
            _ => StopCondition::RepeatedCall {
                times: u32::try_from(2 + chance.below(2)).unwrap(),
            },
        });
    }
    stop
}
