//! How often a failing request is tried, and after which waits.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::check::{Check, Failing};
use super::ending::Ending;
use super::finding::{Evidence, Finding, Seen, Verdict};
use super::observation::Observation;
use super::render::{all_as_ms, as_ms, counted, shown_span};
use crate::server::{Exchange, Outcome};

/// How often a failing request was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempts {
    /// How the endpoint failed.
    pub fault: String,
    /// How many attempts failed.
    pub failed: u32,
    /// How many attempts there were.
    pub attempts: Count,
    /// How long it waited before each attempt but the first.
    #[serde(rename = "waits_ms", serialize_with = "all_as_ms")]
    pub waits: Vec<Duration>,
    /// Whether one of them was answered.
    pub recovered: bool,
    /// How the agent ended.
    pub ending: Ending,
}

impl Attempts {
    /// Whether there were no attempts but those that were seen.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self.attempts, Count::Exactly(_))
    }
}

/// A number that is known, or that it is no smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// So many.
    Exactly(u32),
    /// So many were seen, and there might have been more.
    AtLeast(u32),
}

impl Count {
    /// The number that was seen.
    #[must_use]
    pub const fn seen(self) -> u32 {
        match self {
            Self::Exactly(count) | Self::AtLeast(count) => count,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => count.fmt(f),
            Self::AtLeast(count) => write!(f, "{count} or more"),
        }
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, failed, .. } = self;
        match self.attempts {
            _ if *failed == 0 => return write!(f, "no request met the fault ({fault})"),
            Count::Exactly(1) => write!(f, "{fault}: it does not try again, and {}", self.ending)?,
            Count::Exactly(times) => {
                write!(
                    f,
                    "{fault}: it gives up after {times} attempts, and {}",
                    self.ending
                )?;
            }
            Count::AtLeast(_) if self.recovered => {
                write!(
                    f,
                    "{fault}: it tries again and outlives {}",
                    counted(u64::from(*failed), "failure")
                )?;
            }
            Count::AtLeast(1) => write!(f, "{fault}: it keeps waiting, and {}", self.ending)?,
            Count::AtLeast(seen) => {
                write!(f, "{fault}: it {} after {seen} attempts", self.ending)?;
            }
        }
        let waits: Vec<String> = self.waits.iter().copied().map(shown_span).collect();
        if !waits.is_empty() {
            write!(f, " (waits: {})", waits.join(", "))?;
        }
        Ok(())
    }
}

/// Whether it waits as long as `Retry-After` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RetryWait {
    /// How long it was asked to wait.
    #[serde(rename = "asked_ms", serialize_with = "as_ms")]
    pub asked: Duration,
    /// The shortest of its waits; none where it does not try again.
    #[serde(rename = "shortest_ms", serialize_with = "some_as_ms")]
    pub shortest: Option<Duration>,
}

#[expect(clippy::ref_option, reason = "the signature is serde's")]
fn some_as_ms<S: serde::Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => as_ms(span, to),
        None => to.serialize_none(),
    }
}

/// Timers are not exact.
const TOLERANCE: Duration = Duration::from_millis(20);

impl RetryWait {
    /// Whether every wait was long enough; none where there was no wait.
    #[must_use]
    pub fn is_honoured(&self) -> Option<bool> {
        Some(self.shortest? + TOLERANCE >= self.asked)
    }
}

impl fmt::Display for RetryWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = shown_span(self.asked);
        match (self.shortest, self.is_honoured()) {
            (Some(wait), Some(true)) => {
                write!(
                    f,
                    "it honours Retry-After: asked for {asked}, it waits {} at least",
                    shown_span(wait)
                )
            }
            (Some(wait), _) => {
                write!(
                    f,
                    "it ignores Retry-After: asked for {asked}, it waits {} once",
                    shown_span(wait)
                )
            }
            (None, _) => write!(f, "Retry-After asks for {asked}, and it does not try again"),
        }
    }
}

/// What is found of a request that fails.
pub(super) fn findings(seen: &Observation, failing: Failing) -> Vec<Finding> {
    let (attempts, tries) = attempts(seen);
    let mut evidence = Vec::new();
    if let Some(first) = tries.first() {
        let text = format!("is the first attempt: {}", attempts.fault);
        evidence.push(Evidence::at(first.number, text));
    }
    if let [_, .., last] = tries.as_slice() {
        evidence.push(Evidence::at(last.number, "is the last attempt"));
    }
    if matches!(attempts.ending, Ending::Exception { .. }) {
        evidence.extend(seen.last_words.evidence());
    }
    let shortest = attempts.waits.iter().min().copied();
    let verdict = verdict(seen.check, &attempts);
    let mut findings = vec![Finding::new(Seen::Attempts(attempts), verdict, evidence)];
    if seen.check == Check::RateLimited {
        let wait = RetryWait {
            asked: Duration::from_secs(u64::from(failing.retry_after_seconds)),
            shortest,
        };
        let verdict = match wait.is_honoured() {
            Some(true) => Verdict::Good,
            Some(false) => Verdict::Bad,
            None => Verdict::NotApplicable,
        };
        findings.push(Finding::new(Seen::RetryAfter(wait), verdict, Vec::new()));
    }
    findings
}

fn attempts(seen: &Observation) -> (Attempts, Vec<&Exchange>) {
    let is_reply = |exchange: &Exchange| matches!(exchange.outcome, Outcome::Replied { .. });
    let asked = || seen.asked().map(|(exchange, _)| exchange);
    let failing = asked().take_while(|exchange| !is_reply(exchange)).count();
    let recovered = asked().any(is_reply);
    let tries: Vec<&Exchange> = asked().take(failing + usize::from(recovered)).collect();
    let waits = tries.windows(2).filter_map(|pair| match pair {
        [failed, next] => Some(next.started.saturating_sub(failed.ended)),
        _ => None,
    });
    let seen_tries = u32::try_from(tries.len()).unwrap_or(u32::MAX);
    let gave_up = !recovered && seen.ending.is_its_own();
    let attempts = Attempts {
        fault: fault_words(seen),
        failed: u32::try_from(failing).unwrap_or(u32::MAX),
        attempts: if gave_up {
            Count::Exactly(seen_tries)
        } else {
            Count::AtLeast(seen_tries)
        },
        waits: waits.collect(),
        recovered,
        ending: seen.ending.clone(),
    };
    (attempts, tries)
}

fn fault_words(seen: &Observation) -> String {
    let what = if seen.is_streamed() { "stream" } else { "body" };
    match seen.check {
        Check::RateLimited => "status 429".to_owned(),
        Check::ServerError => "status 500".to_owned(),
        Check::StalledReply => format!("a stalled {what}"),
        Check::CutReply => format!("a cut {what}"),
        _ => "a reply without a choice".to_owned(),
    }
}

/// Recovering is good, and so is to give up with an error after a second attempt; an error at
/// once is for the caller of the agent to handle where the reply, and not the endpoint, was bad.
fn verdict(check: Check, attempts: &Attempts) -> Verdict {
    let is_status = matches!(check, Check::RateLimited | Check::ServerError);
    match (&attempts.ending, attempts.attempts) {
        _ if attempts.failed == 0 => Verdict::Unclear,
        (Ending::Result, _) if attempts.recovered => Verdict::Good,
        (Ending::Exception { .. }, Count::Exactly(1)) if is_status => Verdict::Bad,
        (Ending::Exception { .. }, Count::Exactly(_)) if is_status => Verdict::Good,
        (Ending::Exception { .. }, _) => Verdict::Fact,
        (Ending::TimeUp, Count::AtLeast(2..)) => Verdict::Unclear,
        _ => Verdict::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(ending: Ending, attempts: Count, recovered: bool) -> Attempts {
        Attempts {
            fault: "status 500".to_owned(),
            failed: attempts.seen() - u32::from(recovered),
            attempts,
            waits: vec![Duration::from_millis(1_500)],
            recovered,
            ending,
        }
    }

    #[test]
    fn a_status_is_worth_a_second_attempt_and_no_silence() {
        let error = || Ending::Exception { code: 1 };
        for (ending, count, recovered, expected) in [
            (Ending::Result, Count::AtLeast(5), true, Verdict::Good),
            (error(), Count::Exactly(3), false, Verdict::Good),
            (error(), Count::Exactly(1), false, Verdict::Bad),
            (Ending::Silence, Count::Exactly(3), false, Verdict::Bad),
            (Ending::TimeUp, Count::AtLeast(1), false, Verdict::Bad),
            (Ending::TimeUp, Count::AtLeast(4), false, Verdict::Unclear),
        ] {
            let seen = attempts(ending, count, recovered);
            assert_eq!(verdict(Check::ServerError, &seen), expected, "{seen}");
        }
        let cut = attempts(error(), Count::Exactly(1), false);
        assert_eq!(verdict(Check::CutReply, &cut), Verdict::Fact);
    }

    #[test]
    fn a_wait_is_long_enough_or_not() {
        let wait = |ms| RetryWait {
            asked: Duration::from_secs(2),
            shortest: Some(Duration::from_millis(ms)),
        };
        assert_eq!(wait(1_999).is_honoured(), Some(true));
        assert_eq!(wait(1_500).is_honoured(), Some(false));
        assert_eq!(
            wait(1_500).to_string(),
            "it ignores Retry-After: asked for 2000 ms, it waits 1500 ms once"
        );
    }
}
