//! Exchanges for the tests of this module.

use std::sync::Arc;
use std::time::Duration;

use super::{CommandEnd, Metered, Ran, Tail};
use crate::message::{FinishReason, ToolCall, Usage};
use crate::provider::wire::Delivery;
use crate::scenario::Said;
use crate::server::{Asked, Exchange, Outcome, Turns};

/// What the model says in a test.
pub(super) struct Reply(Said);

impl Reply {
    pub(super) fn calling(calls: &[(&str, &str)]) -> Self {
        let calls = calls.iter().map(|(name, arguments)| ToolCall {
            id: "c".to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        });
        Self(Said {
            content: None,
            tool_calls: calls.collect(),
        })
    }

    /// The exchange with that number, a millisecond long.
    pub(super) fn exchange(self, number: u64) -> Exchange {
        let started = Duration::from_millis(2 * number);
        Exchange {
            number,
            run: None,
            started,
            ended: started + Duration::from_millis(1),
            asked: Some(asked(number)),
            outcome: Outcome::Replied {
                said: self.0,
                finish: FinishReason::Stop,
                usage: Usage {
                    prompt_tokens: 120,
                    completion_tokens: 10,
                    ..Usage::default()
                },
            },
        }
    }
}

fn asked(number: u64) -> Asked {
    Asked {
        model: "m".to_owned(),
        scenario: "s".to_owned(),
        delivery: Delivery::Whole,
        body: u128::from(number).into(),
        attempt: 1,
        turns: Turns {
            conversation: 0,
            ids: None,
            path: None,
        },
        turn: 0,
        messages: 2,
        messages_kept: 2,
        tools: Some(1),
        messages_tokens: 100,
        tools_tokens: 20,
        results: Vec::new(),
        oddities: Vec::new(),
    }
}

/// A request that was answered with prose, between two moments in milliseconds.
pub(super) fn answered(started: u64, ended: u64) -> Exchange {
    let prose = Said {
        content: Some("done".to_owned()),
        tool_calls: Vec::new(),
    };
    Exchange {
        started: Duration::from_millis(started),
        ended: Duration::from_millis(ended),
        ..Reply(prose).exchange(started)
    }
}

/// The same as a second attempt.
pub(super) fn retried(started: u64, ended: u64) -> Exchange {
    let mut exchange = answered(started, ended);
    if let Some(asked) = &mut exchange.asked {
        asked.attempt = 2;
    }
    exchange
}

/// A command that made these exchanges in 100 ms.
pub(super) fn metered(exchanges: Vec<Exchange>, end: CommandEnd) -> Metered {
    Metered {
        ran: Ran {
            end,
            started: Duration::ZERO,
            ended: Duration::from_millis(100),
            stdout: Tail::default(),
            stderr: Tail::default(),
        },
        exchanges: exchanges.into_iter().map(Arc::new).collect(),
        forgotten: 0,
    }
}
