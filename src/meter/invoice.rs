//! What a command cost and did, from the side of the model alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::command::{CommandEnd, Metered, Ran};
use super::time::{self, TimeSplit};
use crate::message::{FinishReason, Usage};
use crate::money::PicoUsd;
use crate::pricing::Price;
use crate::scenario::{FaultKind, Said, is_answering_tool};
use crate::server::{Exchange, Oddity, Outcome, SeenResult};

/// What a command cost and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoice {
    /// How the run ended.
    pub ended: Ended,
    /// The command's exit code, where it has one.
    pub exit_code: Option<i32>,
    /// The last line that the command printed to standard error, where it ended with a code that
    /// is not 0; cut.
    pub last_error: Option<String>,
    /// The replies, in the order of their requests.
    pub turns: Vec<Turn>,
    /// Requests that were meant: bodies that differ from every body before.
    pub requests: u64,
    /// Requests on the wire, those that repeat a body included.
    pub attempts: u64,
    /// Attempts that were not answered as they should be, each with its reason.
    pub failures: Vec<Failed>,
    /// What was billed in all.
    pub usage: Usage,
    /// What that costs.
    pub cost: PicoUsd,
    /// Prompt tokens that an earlier turn had sent already.
    pub replayed_tokens: u64,
    /// Tool calls that the model made.
    pub tool_calls: u64,
    /// How many of them repeat an earlier one, name and arguments.
    pub repeated_calls: u64,
    /// Where the time went.
    pub time: TimeSplit,
    /// What was odd, with the number of the exchange.
    pub oddities: Vec<(u64, Oddity)>,
    /// Exchanges that were not kept: more than zero, and all of this is of the later ones only.
    pub forgotten: u64,
}

/// One reply, and the request that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number, from 1.
    pub number: u32,
    /// How many attempts it took.
    pub attempts: u32,
    /// How many messages were sent.
    pub messages: usize,
    /// Tokens of the messages.
    pub messages_tokens: u64,
    /// Tokens of the tools.
    pub tools_tokens: u64,
    /// What was billed.
    pub usage: Usage,
    /// What everything so far costs.
    pub cost: PicoUsd,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// The tools that it called.
    pub calls: Vec<String>,
    /// What the model was told since the reply before.
    pub told: Vec<SeenResult>,
    /// How long the reply took.
    pub provider: Duration,
    /// How long its request came after what was answered before it.
    pub before: Duration,
}

impl Turn {
    /// Tokens of the messages and the tools, as they were counted.
    #[must_use]
    pub const fn sent_tokens(&self) -> u64 {
        self.messages_tokens.saturating_add(self.tools_tokens)
    }
}

/// An attempt that was not answered as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The number of the exchange.
    pub exchange: u64,
    /// What became of it instead.
    pub why: Failure,
}

/// What became of an attempt instead of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The endpoint failed as it was told to.
    Fault(FaultKind),
    /// The request was refused with this status and these words.
    Refused(u16, String),
    /// The client went away before the end of the reply.
    Aborted,
}

/// How a run ended, as far as the model's side and the command's end tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The last reply is prose, or a call of a tool that takes the answer, and the command ended
    /// of itself.
    Answered,
    /// The command ended of itself, and the last reply's tool calls were never reported on.
    ToolsPending,
    /// The last attempt failed, and the command ended of itself.
    RequestFailed,
    /// The command ended of itself and never asked.
    NeverCalled,
    /// The command was ended when its time was up.
    TimedOut,
    /// The command was ended when it had made all the requests that it may.
    TooManyRequests,
    /// A signal that is not ours ended the command.
    Signalled,
    /// The command was ended because we were told to stop.
    Stopped,
}

impl Ended {
    /// The word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ToolsPending => "tools_pending",
            Self::RequestFailed => "request_failed",
            Self::NeverCalled => "never_called",
            Self::TimedOut => "timed_out",
            Self::TooManyRequests => "too_many_requests",
            Self::Signalled => "signalled",
            Self::Stopped => "stopped",
        }
    }

    fn of(end: &CommandEnd, last: Option<&Exchange>) -> Self {
        match end {
            CommandEnd::TimedOut => Self::TimedOut,
            CommandEnd::TooManyRequests => Self::TooManyRequests,
            CommandEnd::Signalled(_) => Self::Signalled,
            CommandEnd::Stopped(_) => Self::Stopped,
            CommandEnd::Exited(_) => match last.map(|last| &last.outcome) {
                None => Self::NeverCalled,
                Some(Outcome::Replied { said, .. }) if is_answer(said) => Self::Answered,
                Some(Outcome::Replied { .. }) => Self::ToolsPending,
                Some(_) => Self::RequestFailed,
            },
        }
    }
}

/// Whether a reply is the model's last word: prose, or a call of a tool that takes the answer.
fn is_answer(said: &Said) -> bool {
    said.tool_calls
        .iter()
        .all(|call| is_answering_tool(&call.name))
}

impl Invoice {
    /// The invoice of a command, at these prices.
    #[must_use]
    pub fn of(metered: &Metered, price: &Price) -> Self {
        let mut exchanges = metered.exchanges.clone();
        exchanges.sort_by_key(|exchange| exchange.number);
        let Metered { ran, forgotten, .. } = metered;
        let wire = exchanges.iter().map(Arc::as_ref);
        let (time, gaps) = time::split(wire.clone(), (ran.started, ran.ended));
        let mut tally = Tally::new(price);
        for (exchange, gap) in wire.clone().zip(gaps) {
            tally.add(exchange, gap);
        }
        let understood = || wire.clone().filter_map(|exchange| exchange.asked.as_ref());
        Self {
            ended: Ended::of(&ran.end, wire.clone().next_back()),
            exit_code: exit_code(ran),
            last_error: last_error(ran),
            requests: count(understood().filter(|asked| asked.attempt == 1)),
            attempts: count(understood()),
            usage: tally.usage,
            cost: tally.cost,
            replayed_tokens: tally.replayed_tokens,
            tool_calls: tally.tool_calls,
            repeated_calls: tally.repeated_calls,
            time,
            turns: tally.turns,
            failures: tally.failures,
            oddities: tally.oddities,
            forgotten: *forgotten,
        }
    }

    /// The first reply's turn, whose prompt is what the framework sends before anything happened.
    #[must_use]
    pub fn first(&self) -> Option<&Turn> {
        self.turns.first()
    }

    /// Attempts that repeat a body.
    #[must_use]
    pub const fn retries(&self) -> u64 {
        self.attempts.saturating_sub(self.requests)
    }

    /// Requests that the endpoint could not take.
    #[must_use]
    pub fn refused(&self) -> u64 {
        let refused = |failed: &&Failed| matches!(failed.why, Failure::Refused(..));
        count(self.failures.iter().filter(refused))
    }
}

/// Exchanges as they are gone through.
struct Tally<'p> {
    price: &'p Price,
    turns: Vec<Turn>,
    failures: Vec<Failed>,
    oddities: Vec<(u64, Oddity)>,
    usage: Usage,
    /// What the turns so far cost, each by its own length.
    cost: PicoUsd,
    replayed_tokens: u64,
    tool_calls: u64,
    repeated_calls: u64,
    /// The calls so far, name and arguments.
    made: BTreeSet<(String, String)>,
    /// What the model is told by the request that is not answered yet.
    told: Vec<SeenResult>,
    /// The gap before its first attempt.
    before: Duration,
}

impl<'p> Tally<'p> {
    fn new(price: &'p Price) -> Self {
        Self {
            price,
            turns: Vec::new(),
            failures: Vec::new(),
            oddities: Vec::new(),
            usage: Usage::default(),
            cost: PicoUsd::ZERO,
            replayed_tokens: 0,
            tool_calls: 0,
            repeated_calls: 0,
            made: BTreeSet::new(),
            told: Vec::new(),
            before: Duration::ZERO,
        }
    }

    fn add(&mut self, exchange: &Exchange, gap: Duration) {
        let number = exchange.number;
        let asked = exchange.asked.as_ref();
        if asked.is_none_or(|asked| asked.attempt == 1) {
            self.before = gap;
        }
        if let Some(asked) = asked {
            let odd = asked.oddities.iter().cloned();
            self.oddities.extend(odd.map(|oddity| (number, oddity)));
            self.told.extend_from_slice(&asked.results);
        }
        let why = match &exchange.outcome {
            Outcome::Replied { .. } => return self.reply(exchange),
            Outcome::Faulted { kind } => Failure::Fault(*kind),
            Outcome::Refused { status, why } => Failure::Refused(*status, why.clone()),
            Outcome::Aborted => Failure::Aborted,
        };
        self.failures.push(Failed {
            exchange: number,
            why,
        });
    }

    fn reply(&mut self, exchange: &Exchange) {
        let Exchange {
            asked: Some(asked),
            outcome:
                Outcome::Replied {
                    said,
                    finish,
                    usage,
                },
            ..
        } = exchange
        else {
            return;
        };
        if let Some(before) = self.turns.last().filter(|_| asked.messages_kept > 0) {
            self.replayed_tokens += before.sent_tokens().min(asked.prompt_tokens());
        }
        self.usage += *usage;
        self.cost += self.price.cost(usage);
        for call in &said.tool_calls {
            self.tool_calls += 1;
            let new = self
                .made
                .insert((call.name.clone(), call.arguments.clone()));
            self.repeated_calls += u64::from(!new);
        }
        self.turns.push(Turn {
            number: u32::try_from(self.turns.len()).map_or(u32::MAX, |turns| turns + 1),
            attempts: asked.attempt,
            messages: asked.messages,
            messages_tokens: asked.messages_tokens,
            tools_tokens: asked.tools_tokens,
            usage: *usage,
            cost: self.cost,
            finish: *finish,
            calls: said
                .tool_calls
                .iter()
                .map(|call| call.name.clone())
                .collect(),
            told: std::mem::take(&mut self.told),
            provider: exchange.ended.saturating_sub(exchange.started),
            before: self.before,
        });
    }
}

const fn exit_code(ran: &Ran) -> Option<i32> {
    match ran.end {
        CommandEnd::Exited(code) => Some(code),
        _ => None,
    }
}

/// The longest line that is told of an error, in characters.
const MOST_OF_LINE: usize = 300;

/// The last line with something in it, of a command that failed by its own account: of standard
/// error, or of standard output where it said nothing there.
fn last_error(ran: &Ran) -> Option<String> {
    exit_code(ran).filter(|code| *code != 0)?;
    let last = [&ran.stderr, &ran.stdout].into_iter().find_map(|tail| {
        let text = tail.text();
        let mut lines = text.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    })?;
    Some(last.chars().take(MOST_OF_LINE).collect())
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::tests::{Reply, answered, metered, retried};
    use crate::pricing::PriceList;

    fn invoice(metered: &Metered) -> Invoice {
        let prices = PriceList::builtin().unwrap();
        Invoice::of(metered, prices.get("chapter").unwrap())
    }

    #[test]
    fn an_attempt_that_repeats_a_body_is_a_retry_and_no_request() {
        let mut failed = answered(2, 3);
        failed.outcome = Outcome::Faulted {
            kind: FaultKind::RateLimited,
        };
        let all = vec![answered(0, 1), failed, retried(9, 10)];
        let invoice = invoice(&metered(all, CommandEnd::Exited(0)));
        assert_eq!(
            (invoice.requests, invoice.attempts, invoice.retries()),
            (2, 3, 1)
        );
        assert_eq!(invoice.turns.len(), 2);
        assert_eq!(invoice.turns[1].attempts, 2);
        let why = Failure::Fault(FaultKind::RateLimited);
        assert_eq!(invoice.failures[0].why, why);
        // The gap is that before the request was first tried, not that between its attempts.
        assert_eq!(invoice.turns[1].before, Duration::from_millis(1));
    }

    #[test]
    fn the_cost_is_that_of_everything_billed_and_grows_turn_by_turn() {
        let all = vec![answered(0, 1), answered(2, 3)];
        let invoice = invoice(&metered(all, CommandEnd::Exited(0)));
        assert_eq!(invoice.usage.prompt_tokens, 240);
        assert_eq!(invoice.cost.to_string(), "0.000720");
        assert_eq!(invoice.turns[0].cost.to_string(), "0.000360");
        assert_eq!(invoice.turns[1].cost, invoice.cost);
        assert_eq!(invoice.replayed_tokens, 120);
    }

    #[test]
    fn a_request_that_keeps_no_message_replays_nothing() {
        let mut other = answered(2, 3);
        if let Some(asked) = &mut other.asked {
            asked.messages_kept = 0;
        }
        let invoice = invoice(&metered(vec![answered(0, 1), other], CommandEnd::Exited(0)));
        assert_eq!(invoice.replayed_tokens, 0);
    }

    #[test]
    fn a_call_is_repeated_when_name_and_arguments_are_the_same() {
        let call = |arguments| Reply::calling(&[("look", arguments)]);
        let all = vec![
            call("{}").exchange(1),
            call("{\"a\":1}").exchange(2),
            call("{}").exchange(3),
        ];
        let invoice = invoice(&metered(all, CommandEnd::Exited(0)));
        assert_eq!((invoice.tool_calls, invoice.repeated_calls), (3, 1));
        assert_eq!(invoice.ended, Ended::ToolsPending);
    }

    #[test]
    fn the_end_is_told_by_the_last_attempt_and_by_the_command() {
        let ended = |all, end| invoice(&metered(all, end)).ended;
        let exited = CommandEnd::Exited(1);
        assert_eq!(ended(vec![], exited.clone()), Ended::NeverCalled);
        assert_eq!(ended(vec![answered(0, 1)], exited.clone()), Ended::Answered);
        let by_tool = vec![Reply::calling(&[("final_answer", "{}")]).exchange(1)];
        assert_eq!(ended(by_tool, exited.clone()), Ended::Answered);
        let mut aborted = answered(2, 3);
        aborted.outcome = Outcome::Aborted;
        let all = vec![answered(0, 1), aborted];
        assert_eq!(ended(all.clone(), exited), Ended::RequestFailed);
        assert_eq!(ended(all, CommandEnd::TimedOut), Ended::TimedOut);
    }
}
