//! What an agent adds of its own: to the first request, and to the time of every turn.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::check::Check;
use super::finding::{Evidence, Finding, Seen, Verdict};
use super::observation::Observation;
use super::render::{counted, shown_micros};
use crate::results::Cell;
use crate::results::stats::Sample;

/// What the first request weighs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstRequest {
    /// Tokens sent, the tools included.
    pub prompt_tokens: u64,
    /// The part of them that is tools.
    pub tools_tokens: u64,
    /// How many tools it declares.
    pub tools: usize,
    /// Whether it asks for a stream.
    pub streamed: bool,
}

impl fmt::Display for FirstRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            prompt_tokens,
            tools_tokens,
            tools,
            streamed,
        } = self;
        let tools = counted(*tools as u64, "tool");
        let delivery = if *streamed {
            "a stream"
        } else {
            "a whole reply"
        };
        write!(
            f,
            "its first request sends {prompt_tokens} tokens, {tools_tokens} of them for {tools}, and \
             asks for {delivery}"
        )
    }
}

/// What is found of the first request.
pub(super) fn first_request(seen: &[Observation]) -> Option<Finding> {
    let first = seen.iter().find(|seen| seen.asked().next().is_some())?;
    let (exchange, asked) = first.asked().next()?;
    let request = FirstRequest {
        prompt_tokens: asked.prompt_tokens(),
        tools_tokens: asked.tools_tokens,
        tools: asked.tools.unwrap_or(0),
        streamed: first.is_streamed(),
    };
    let evidence = Evidence::at(exchange.number, format!("of {}", first.check));
    Some(Finding::new(
        Seen::FirstRequest(request),
        Verdict::Fact,
        vec![evidence],
    ))
}

/// How long an agent takes from a reply to its next request, its tools included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overhead {
    /// The median, in microseconds; none where there were no two turns in a row.
    pub median_us: Option<u64>,
    /// Over how many turns.
    pub n: usize,
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.n;
        match self.median_us {
            Some(median) => {
                let median = shown_micros(median);
                write!(
                    f,
                    "its own time per turn, tools included: {median} (median, n = {n})"
                )
            }
            None => f.write_str("its own time per turn: no two turns in a row were seen"),
        }
    }
}

/// What is found of the time between a reply and the next request, where nothing was made to
/// fail.
pub(super) fn overhead(seen: &[Observation]) -> Finding {
    let smooth = seen.iter().filter(|seen| {
        let check = seen.check;
        check.fault().is_none() && check <= Check::ParallelCalls
    });
    let gaps: Vec<Duration> = smooth.flat_map(gaps).collect();
    let n = gaps.len();
    let overhead = Overhead {
        median_us: median_micros(&gaps),
        n,
    };
    let verdict = match overhead.median_us {
        Some(_) => Verdict::Fact,
        None => Verdict::Unclear,
    };
    Finding::new(Seen::Overhead(overhead), verdict, Vec::new())
}

fn gaps(seen: &Observation) -> Vec<Duration> {
    let replies: Vec<_> = seen.replies().collect();
    let pairs = replies.windows(2).filter_map(|pair| match pair {
        [one, next] => Some((one, next)),
        _ => None,
    });
    pairs
        .filter(|(one, next)| next.exchange.number == one.exchange.number + 1)
        .map(|(one, next)| next.exchange.started.saturating_sub(one.exchange.ended))
        .collect()
}

fn median_micros(spans: &[Duration]) -> Option<u64> {
    let micros = spans.iter().map(|span| {
        let micros = u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        f64::from(micros)
    });
    let median = Sample::new(micros.collect()).ok()?.median().ok()?;
    Cell::statistic(median, 0).to_string().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_its_n_and_none_of_nothing() {
        let spans = [1, 9, 3].map(Duration::from_millis);
        assert_eq!(median_micros(&spans), Some(3_000));
        assert_eq!(median_micros(&[]), None);
        let overhead = Overhead {
            median_us: Some(3_250),
            n: 3,
        };
        assert_eq!(
            overhead.to_string(),
            "its own time per turn, tools included: 3.250 ms (median, n = 3)"
        );
    }
}
