//! What becomes of a call that is made twice, and of calls that are made at once.

use std::fmt;

use serde::Serialize;

use super::ending::Ending;
use super::finding::{Evidence, Finding, Seen, Verdict, quote};
use super::observation::{Observation, Replied};
use crate::server::{Asked, Channel};

/// What became of a call that the model made twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// Whether the second was answered.
    pub answered: bool,
    /// Whether both were answered with the same text; none where one was not answered.
    pub same_text: Option<bool>,
    /// How often the tool was started; none where the agent writes no tool log.
    pub executed: Option<u32>,
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.answered, self.same_text) {
            (false, _) => "the second of two identical calls is not answered",
            (true, Some(true)) => {
                "the second of two identical calls is answered with the same text"
            }
            (true, _) => "the second of two identical calls is answered with another text",
        })?;
        match self.executed {
            Some(1) => f.write_str("; the tool ran once"),
            Some(times) => write!(f, "; the tool ran {times} times"),
            None => {
                f.write_str("; how often the tool ran cannot be seen, as it writes no tool log")
            }
        }
    }
}

/// What is found of a repeated call.
pub(super) fn repeats(seen: &Observation) -> Finding {
    if seen.has_no_tools() {
        return Finding::new(Seen::NoTools, Verdict::NotApplicable, Vec::new());
    }
    let calls: Vec<_> = seen
        .replies()
        .take(2)
        .filter_map(|reply| Some((reply, reply.calls.first()?)))
        .collect();
    let heard: Vec<_> = calls
        .iter()
        .map(|(reply, call)| seen.heard(reply, call))
        .collect();
    let both = match heard.as_slice() {
        [Some(first), Some(second)] => Some((first, second)),
        _ => None,
    };
    let tool = calls.first().map(|(_, call)| call.name.as_str());
    let started = seen
        .tool_starts
        .iter()
        .filter(|start| Some(start.tool.as_str()) == tool);
    let started = u32::try_from(started.count()).unwrap_or(u32::MAX);
    let repeats = Repeats {
        answered: both.is_some(),
        same_text: both.map(|(first, second)| first.text == second.text),
        executed: (started > 0).then_some(started),
    };
    let verdict = match (repeats.answered, repeats.executed) {
        (false, _) => Verdict::Bad,
        (true, Some(1)) => Verdict::Good,
        (true, _) => Verdict::Fact,
    };
    let told = heard
        .iter()
        .flatten()
        .map(|heard| Evidence::at(heard.exchange, format!("tells {}", quote(&heard.text))));
    Finding::new(Seen::Repeats(repeats), verdict, told.collect())
}

/// How calls that were made at once are answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parallel {
    /// How many there were.
    pub calls: usize,
    /// How many of them the next request answers.
    pub answered: usize,
    /// In which order.
    pub order: Order,
    /// Whether the agent ended with an error before another request.
    pub crashed: bool,
}

/// In which order parallel calls are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they were made.
    AsMade,
    /// Otherwise.
    Another,
    /// It cannot be told, as the answers do not name their calls.
    Untold,
}

impl fmt::Display for Parallel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            calls, answered, ..
        } = self;
        if self.crashed {
            return write!(
                f,
                "it ends with an error at {calls} parallel calls, perhaps because one of them fails"
            );
        }
        if self.order == Order::Untold {
            return f
                .write_str("parallel calls are answered, if at all, as text that names no call");
        }
        write!(
            f,
            "{answered} of {calls} parallel calls are answered in one request"
        )?;
        f.write_str(match self.order {
            Order::AsMade if *answered > 0 => ", in the order of the calls",
            Order::Another => ", in another order than the calls",
            Order::AsMade | Order::Untold => "",
        })
    }
}

/// What is found of parallel calls.
pub(super) fn parallel(seen: &Observation) -> Finding {
    if seen.has_no_tools() {
        return Finding::new(Seen::NoTools, Verdict::NotApplicable, Vec::new());
    }
    let Some(reply) = seen.replies().find(|reply| reply.calls.len() > 1) else {
        let none = Parallel {
            calls: 0,
            answered: 0,
            order: Order::Untold,
            crashed: false,
        };
        return Finding::new(Seen::Parallel(none), Verdict::Unclear, Vec::new());
    };
    let next = seen.next(&reply);
    let parallel = match next {
        Some((_, asked)) => answered(&reply, asked),
        None => unanswered(&reply, &seen.ending),
    };
    let verdict = match (parallel.answered == parallel.calls, parallel.order) {
        _ if parallel.crashed => Verdict::Unclear,
        (_, Order::Untold) => Verdict::Unclear,
        (true, Order::AsMade) => Verdict::Good,
        (false, _) | (_, Order::Another) => Verdict::Bad,
    };
    let calls: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
    let mut evidence = vec![Evidence::at(
        reply.exchange.number,
        format!("calls {}", quote(&calls.join(", "))),
    )];
    let told = next.into_iter().flat_map(|(exchange, asked)| {
        let results = asked.results.iter();
        results.map(|result| {
            let of = result.call_id.as_deref().unwrap_or("no call");
            Evidence::at(
                exchange.number,
                format!("answers {of}: {}", quote(&result.text)),
            )
        })
    });
    evidence.extend(told);
    if parallel.crashed {
        evidence.extend(seen.last_words.evidence());
    }
    Finding::new(Seen::Parallel(parallel), verdict, evidence)
}

fn unanswered(reply: &Replied<'_>, ending: &Ending) -> Parallel {
    Parallel {
        calls: reply.calls.len(),
        answered: 0,
        order: Order::AsMade,
        crashed: matches!(ending, Ending::Exception { .. } | Ending::Killed { .. }),
    }
}

fn answered(reply: &Replied<'_>, asked: &Asked) -> Parallel {
    let place = |id: &str| reply.calls.iter().position(|call| call.id == id);
    let places: Vec<usize> = asked
        .results
        .iter()
        .filter(|result| result.channel == Channel::Tool)
        .filter_map(|result| place(result.call_id.as_deref()?))
        .collect();
    let is_spoken = asked
        .results
        .iter()
        .any(|result| result.channel == Channel::User);
    let order = if places.is_empty() && is_spoken {
        Order::Untold
    } else if places.is_sorted() {
        Order::AsMade
    } else {
        Order::Another
    };
    let mut distinct = places;
    distinct.sort_unstable();
    distinct.dedup();
    Parallel {
        calls: reply.calls.len(),
        answered: distinct.len(),
        order,
        crashed: false,
    }
}
