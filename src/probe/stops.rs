//! Whether a runaway is stopped, what it costs, and what a hundred turns of it cost.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::ending::Ending;
use super::finding::{Evidence, Finding, Seen, Verdict};
use super::observation::{Observation, Replied};
use super::render::{as_ms, counted, shown_span};
use crate::message::Usage;
use crate::money::PicoUsd;
use crate::pricing::Price;
use crate::results::fit::{Fit, NoFit};

/// What came of a model that calls tools for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stops {
    /// What ended it.
    pub stop: Stop,
    /// Turns until then.
    pub turns: u32,
    /// Requests until then.
    pub requests: u64,
    /// Tokens sent until then.
    pub prompt_tokens: u64,
    /// Tokens written until then.
    pub completion_tokens: u64,
    /// What they cost, in pico-dollars.
    #[serde(rename = "cost_pico_usd")]
    pub cost: PicoUsd,
    /// How long it took.
    #[serde(rename = "wall_ms", serialize_with = "as_ms")]
    pub wall: Duration,
}

/// What ended a runaway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The agent itself.
    Itself,
    /// We, after so many requests.
    RequestLimit,
    /// We, when its time was up.
    TimeUp,
}

impl fmt::Display for Stops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = counted(u64::from(self.turns), "turn");
        let requests = counted(self.requests, "request");
        match self.stop {
            Stop::Itself => write!(f, "it stops a runaway after {turns}")?,
            Stop::RequestLimit => {
                write!(f, "it does not stop a runaway: ended by us after {turns}")?;
            }
            Stop::TimeUp => write!(
                f,
                "it does not stop a runaway: ended by us after {} and {turns}",
                shown_span(self.wall)
            )?,
        }
        let (sent, written, cost) = (self.prompt_tokens, self.completion_tokens, self.cost);
        write!(f, " ({requests}, {sent} + {written} tokens, ${cost})")
    }
}

/// What a runaway costs at a hundred turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hundred {
    /// Turns that were seen, which the estimate is made from.
    pub n: u32,
    /// How it is known.
    pub estimate: Estimate,
}

/// How the cost of a hundred turns is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Estimate {
    /// A hundred turns were seen.
    Measured {
        /// What they cost, in pico-dollars.
        #[serde(rename = "cost_pico_usd")]
        cost: PicoUsd,
    },
    /// From a fit of a + bN + cN² over the tokens sent and one over the tokens written.
    Fitted {
        /// What they would cost, in pico-dollars.
        #[serde(rename = "cost_pico_usd")]
        cost: PicoUsd,
        /// Tokens sent in a hundred turns.
        prompt_tokens: u64,
        /// Tokens written in a hundred turns.
        completion_tokens: u64,
        /// The fit of the tokens sent, as it is printed.
        prompt_fit: String,
    },
    /// It cannot be told.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Estimate {
    /// The cost, where it is known.
    #[must_use]
    pub const fn cost(&self) -> Option<PicoUsd> {
        match self {
            Self::Measured { cost } | Self::Fitted { cost, .. } => Some(*cost),
            Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for Hundred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.estimate {
            Estimate::Measured { cost } => write!(f, "{HUNDRED} turns cost ${cost}, as seen"),
            Estimate::Fitted {
                cost, prompt_fit, ..
            } => write!(
                f,
                "{HUNDRED} turns would cost ${cost} (tokens sent after N turns: {prompt_fit})"
            ),
            Estimate::Unknown { why } => write!(f, "what {HUNDRED} turns would cost: {why}"),
        }
    }
}

const HUNDRED: u32 = 100;

/// What is found of a runaway.
pub(super) fn findings(seen: &Observation, price: &Price) -> Vec<Finding> {
    if seen.has_no_tools() {
        return vec![Finding::new(
            Seen::NoTools,
            Verdict::NotApplicable,
            Vec::new(),
        )];
    }
    let usage = seen.usage();
    let stop = match seen.ending {
        Ending::TimeUp => Stop::TimeUp,
        Ending::RequestLimit | Ending::Stopped => Stop::RequestLimit,
        _ => Stop::Itself,
    };
    let verdict = match stop {
        Stop::Itself => Verdict::Good,
        Stop::RequestLimit | Stop::TimeUp => Verdict::Bad,
    };
    let last = seen.replies().last().map(|reply| {
        let sent = reply.usage.prompt_tokens;
        Evidence::at(
            reply.exchange.number,
            format!("is the last turn, with {sent} tokens sent"),
        )
    });
    let stops = Seen::Stops(Stops {
        stop,
        turns: seen.turns(),
        requests: seen.requests(),
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
        cost: seen.cost(price),
        wall: seen.wall,
    });
    let hundred = hundred(seen, price);
    let verdict_of_hundred = match hundred.estimate {
        Estimate::Unknown { .. } => Verdict::Unclear,
        Estimate::Measured { .. } | Estimate::Fitted { .. } => Verdict::Fact,
    };
    vec![
        Finding::new(stops, verdict, last.into_iter().collect()),
        Finding::new(Seen::HundredTurns(hundred), verdict_of_hundred, Vec::new()),
    ]
}

fn hundred(seen: &Observation, price: &Price) -> Hundred {
    let mut sum = Usage::default();
    let sums: Vec<Usage> = seen
        .replies()
        .map(|reply| {
            sum += reply.usage;
            sum
        })
        .collect();
    let estimate = match sums.get(HUNDRED as usize - 1) {
        Some(_) => {
            let turns = seen.replies().take(HUNDRED as usize);
            let cost = turns.map(|reply| price.cost(&reply.usage)).sum();
            Estimate::Measured { cost }
        }
        None => fitted(&sums[..alike(seen)], price).unwrap_or_else(|why| Estimate::Unknown {
            why: why.to_string(),
        }),
    };
    Hundred {
        n: seen.turns(),
        estimate,
    }
}

/// How many turns, from the first on, had the tools of the first. An agent that has had enough may
/// ask once more without tools, which says nothing of what its turns cost.
fn alike(seen: &Observation) -> usize {
    let tools = |reply: &Replied<'_>| reply.asked.tools_tokens;
    let first = seen.replies().next().map(|reply| tools(&reply));
    seen.replies()
        .take_while(|reply| Some(tools(reply)) == first)
        .count()
}

fn fitted(sums: &[Usage], price: &Price) -> Result<Estimate, NoFit> {
    let fit = |tokens: fn(&Usage) -> u64| {
        let points = (1_u32..).zip(sums).map(|(turn, usage)| {
            let tokens = u32::try_from(tokens(usage)).unwrap_or(u32::MAX);
            (f64::from(turn), f64::from(tokens))
        });
        Fit::of(&points.collect::<Vec<_>>())
    };
    let prompt = fit(|usage| usage.prompt_tokens)?;
    let completion = fit(|usage| usage.completion_tokens)?;
    // A turn is billed by its own length: what the curves rise by from one turn to the next.
    let (mut usage, mut cost) = (Usage::default(), PicoUsd::ZERO);
    for turn in 1..=HUNDRED {
        let prompt_tokens = at_turn(&prompt, turn)?;
        let completion_tokens = at_turn(&completion, turn)?;
        cost += price.cost(&Usage {
            prompt_tokens: prompt_tokens.saturating_sub(usage.prompt_tokens),
            completion_tokens: completion_tokens.saturating_sub(usage.completion_tokens),
            ..Usage::default()
        });
        (usage.prompt_tokens, usage.completion_tokens) = (prompt_tokens, completion_tokens);
    }
    Ok(Estimate::Fitted {
        cost,
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
        prompt_fit: prompt.to_string(),
    })
}

/// The fit's value at so many turns as a whole number of tokens.
fn at_turn(fit: &Fit, turn: u32) -> Result<u64, NoFit> {
    let n = f64::from(turn);
    let value = (fit.a + fit.b * n + fit.c * n * n).max(0.0);
    format!("{value:.0}").parse().map_err(|_| NoFit::NotFinite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::{CHAPTER_PRICE, PriceList};

    fn sums(turns: u64) -> Vec<Usage> {
        let sum = |n: u64| Usage {
            prompt_tokens: 173 * n + 32 * n * n - 1,
            completion_tokens: 23 * n,
            ..Usage::default()
        };
        (1..=turns).map(sum).collect()
    }

    fn price() -> Price {
        let list = PriceList::builtin().unwrap();
        list.get(CHAPTER_PRICE).unwrap().clone()
    }

    #[test]
    fn a_quadratic_bill_is_carried_on_to_a_hundred_turns() {
        let Estimate::Fitted {
            prompt_tokens,
            completion_tokens,
            prompt_fit,
            ..
        } = fitted(&sums(8), &price()).unwrap()
        else {
            panic!("it was fitted");
        };
        assert_eq!((prompt_tokens, completion_tokens), (337_299, 2_300));
        assert!(prompt_fit.ends_with("R² = 1.000000, n = 8"), "{prompt_fit}");
    }

    #[test]
    fn too_few_turns_make_no_estimate() {
        assert_eq!(fitted(&sums(3), &price()), Err(NoFit::TooFew { found: 3 }));
    }
}
