//! What happened in a run, as data: the small vocabulary that the trace, the rows and the
//! progress display all observe.

use std::time::Duration;

use crate::message::{FinishReason, Usage};
use crate::money::PicoUsd;

/// Whose numbers a turn is billed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageSource {
    /// The provider's: its reply says what it used.
    Reported,
    /// Ours: the reply does not say, so what was sent and received is counted.
    Counted,
}

/// What is known of a reply's tokens and of its beginning, beside what is billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metering {
    /// The tokens as this program counts them, whatever the provider says. Caching and hidden
    /// reasoning cannot be counted from outside, and are 0 here.
    pub counted: Usage,
    /// Whose numbers are billed.
    pub source: UsageSource,
    /// Time from sending the request to the first piece of prose, reasoning or a tool call;
    /// absent where the reply came in one piece.
    pub first_token: Option<Duration>,
}

impl Metering {
    /// Of a reply in one piece whose provider reports its usage, where we count `counted`.
    #[must_use]
    pub const fn reported(counted: Usage) -> Self {
        Self {
            counted,
            source: UsageSource::Reported,
            first_token: None,
        }
    }
}

/// How one attempt on the wire ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// A reply was read to its end.
    Answered,
    /// The endpoint refused.
    Refused {
        /// Its HTTP status.
        status: u16,
    },
    /// There was no connection.
    Unreachable,
    /// The connection broke before a reply began.
    Reset,
    /// Nothing came for longer than is waited.
    Stalled,
    /// The reply broke off.
    Cut,
    /// What came is no chat completion.
    Unreadable,
    /// The reply is larger than is read.
    TooLarge,
    /// Somebody pressed Stop.
    Aborted,
}

impl AttemptOutcome {
    /// The outcome in one word, as it stands in traces and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused { .. } => "refused",
            Self::Unreachable => "unreachable",
            Self::Reset => "reset",
            Self::Stalled => "stalled",
            Self::Cut => "cut",
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::Aborted => "aborted",
        }
    }

    /// The HTTP status of a refusal.
    #[must_use]
    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Refused { status } => Some(status),
            _ => None,
        }
    }
}

/// One attempt of a request on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// 1 for the first attempt of a request; any later one repeats its body and is a retry.
    pub number: u32,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// How long was waited before it was sent.
    pub waited: Duration,
    /// Time from sending it to its end.
    pub took: Duration,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was tried on the wire; a provider in process has no attempts.
    Attempt {
        /// The turn that it asks for, from 1.
        turn: u32,
        /// The attempt.
        attempt: Attempt,
    },
    /// The model replied.
    Turn {
        /// The turn's number, from 1.
        turn: u32,
        /// Tokens of this turn, as billed.
        usage: Usage,
        /// Whose numbers those are, and what we count.
        metering: Metering,
        /// The run's cost so far, this turn included.
        cost: PicoUsd,
        /// Why the model stopped writing; absent where the reply had no choice, or a reason that
        /// is not one of the five.
        finish: Option<FinishReason>,
        /// Time from the request to the whole reply.
        provider: Duration,
    },
    /// Some of what was sent before is sent no more.
    ContextEdited {
        /// The turn whose request is the first without it, from 1.
        turn: u32,
        /// How many tool results were left out for it.
        results: u32,
    },
    /// The model summed up what is sent no more.
    Summary {
        /// The turn whose request is the first with the summary, from 1.
        turn: u32,
        /// Tokens of asking for it, as billed.
        usage: Usage,
        /// The run's cost so far, this included.
        cost: PicoUsd,
        /// Time from the request to the whole summary.
        provider: Duration,
    },
    /// A tool's body is about to run.
    ToolStart {
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model wrote them.
        args: String,
        /// The call's id.
        call_id: String,
    },
    /// A running tool says how far it is.
    ToolProgress {
        /// The tool's name.
        tool_name: String,
        /// Words for a person.
        label: String,
    },
    /// A call was answered.
    ToolResult {
        /// The tool's name.
        tool_name: String,
        /// How long it took; zero for an answer without execution.
        took: Duration,
        /// Whether it succeeded.
        ok: bool,
    },
    /// A person has to decide about a call.
    ApprovalRequired {
        /// The tool's name.
        tool_name: String,
        /// The arguments as the model wrote them.
        args: String,
        /// The call's id.
        call_id: String,
    },
    /// The run took one of its exits.
    RunStopped {
        /// The exit's name, such as `completed`.
        status: &'static str,
        /// Why, in one word of the closed vocabulary; absent for `completed`.
        reason: Option<String>,
        /// Turns taken.
        turns: u32,
        /// The run's cost.
        cost: PicoUsd,
    },
}

/// Sees every event of a run as it happens.
pub trait Observer: Send {
    /// `event` happened in run `run_id` when its clock showed `at`.
    fn observe(&mut self, run_id: &str, at: Duration, event: &Event);
}

/// What became of a run's requests, told apart: a turn is a reply paid for, a request is one that
/// was meant, an attempt is one that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Turns taken.
    pub turns: u32,
    /// Attempts on the wire, each with its turn, in order.
    pub attempts: Vec<(u32, Attempt)>,
}

impl Ledger {
    /// Requests meant that reached the wire: first attempts. Each attempt beyond is a retry.
    #[must_use]
    pub fn requests(&self) -> usize {
        let first = |(_, attempt): &&(u32, Attempt)| attempt.number == 1;
        self.attempts.iter().filter(first).count()
    }

    /// Attempts that repeated a body.
    #[must_use]
    pub fn retries(&self) -> usize {
        self.attempts.len() - self.requests()
    }
}

impl Observer for Ledger {
    fn observe(&mut self, _run_id: &str, _at: Duration, event: &Event) {
        match event {
            Event::Turn { turn, .. } => self.turns = *turn,
            Event::Attempt { turn, attempt } => self.attempts.push((*turn, *attempt)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_tells_turns_requests_and_attempts_apart() {
        let mut ledger = Ledger::default();
        let mut see = |event: Event| ledger.observe("r", Duration::ZERO, &event);
        for (turn, number, outcome) in [
            (1, 1, AttemptOutcome::Answered),
            (2, 1, AttemptOutcome::Refused { status: 429 }),
            (2, 2, AttemptOutcome::Cut),
            (2, 3, AttemptOutcome::Aborted),
        ] {
            let attempt = Attempt {
                number,
                outcome,
                waited: Duration::ZERO,
                took: Duration::ZERO,
            };
            see(Event::Attempt { turn, attempt });
        }
        see(Event::Turn {
            turn: 1,
            usage: Usage::default(),
            metering: Metering::reported(Usage::default()),
            cost: PicoUsd::ZERO,
            finish: None,
            provider: Duration::ZERO,
        });
        assert_eq!(
            (ledger.turns, ledger.requests(), ledger.retries()),
            (1, 2, 2)
        );
    }
}
