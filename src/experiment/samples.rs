//! Many simulated runs of one cell: how their times are distributed.
//!
//! What a scripted run says does not depend on how long its replies and tools take. So a cell is
//! run once, and these times are drawn again for each sample: the draws that a run of its own
//! would have made. Where time decides what happens, every sample is a run of its own.

use std::time::Duration;

use rayon::prelude::*;

use super::ledger::ToolSeen;
use super::live::CellRunError;
use super::measured::{CellColumn, Measured, sets};
use super::pace::pace_of;
use super::resources::ResourceError;
use super::settings::{AnswerShown, Settings};
use super::slow::tool_latency;
use crate::provider::{Latency, Pace};
use crate::results::stats::{NoStatistic, Sample, Thousandths};
use crate::results::{Cell as Printed, Kind};
use crate::run::Status;
use crate::scenario::Draw;

/// Decimals of a time in milliseconds.
const DECIMALS: u32 = 3;
/// Decimals of a share in percent.
const PERCENT_DECIMALS: u32 = 1;
/// Beyond this quantile of all calls, a call is slow.
const SLOW: Thousandths = 950;

/// The times of all samples of a cell, in milliseconds.
#[derive(Debug)]
pub(super) struct Samples {
    wall: Sample,
    /// Of each sample, the call that took longest.
    slowest_call: Sample,
    /// Every call of every sample.
    call: Sample,
    /// When the first word of the answer was seen; absent where a sample has no answer.
    first_word: Option<Sample>,
    /// How many samples have a call that is slower than 95 % of all calls.
    with_slow_call: Option<usize>,
}

/// The times of one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Times {
    wall: Duration,
    calls: Vec<Duration>,
    first_word: Option<Duration>,
}

/// What tells the draws of one sample from those of the others: the sample's number with its bits
/// mixed (the finaliser of `SplitMix64`), which leaves 0 as it is. The first sample is the cell's
/// own run.
fn mark_of(sample: u32) -> u64 {
    let mut bits = u64::from(sample).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Samples {
    /// The times of `count` samples of the cell that `first` is the run of; `run` runs it under
    /// other settings.
    ///
    /// # Errors
    /// [`CellRunError`] where a sample cannot be run.
    pub(super) fn of(
        first: &Measured<'_>,
        count: u32,
        run: impl Fn(&Settings) -> Result<Times, CellRunError> + Sync,
    ) -> Result<Self, CellRunError> {
        let samples = (0..count).into_par_iter().map(mark_of);
        let times: Vec<Times> = if time_decides(first) {
            let again = |mark| {
                let settings = Settings {
                    seed: first.settings.seed ^ mark,
                    ..first.settings.clone()
                };
                run(&settings)
            };
            samples.map(again).collect::<Result<_, _>>()?
        } else {
            let drawn = Drawn::of(first.settings)?;
            let script = Script::of(first, &drawn);
            samples.map(|mark| script.drawn(&drawn, mark)).collect()
        };
        Ok(Self::summed(&times)?)
    }

    fn summed(times: &[Times]) -> Result<Self, NoStatistic> {
        let slowest = |times: &Times| times.calls.iter().max().copied().unwrap_or_default();
        let slowest: Vec<f64> = times.iter().map(|one| millis(slowest(one))).collect();
        let calls = times.iter().flat_map(|times| &times.calls);
        let call = Sample::new(calls.copied().map(millis).collect())?;
        let first_word = times.iter().map(|times| times.first_word.map(millis));
        let first_word: Option<Vec<f64>> = first_word.collect();
        let with_slow_call = call.quantile(SLOW).ok().map(|slow| {
            let beyond = slowest.iter().filter(|time| **time > slow);
            beyond.count()
        });
        Ok(Self {
            wall: Sample::new(times.iter().map(|times| millis(times.wall)).collect())?,
            slowest_call: Sample::new(slowest)?,
            call,
            first_word: first_word.map(Sample::new).transpose()?,
            with_slow_call,
        })
    }
}

/// Whether a run of the cell may go otherwise where its replies take another time. A sub-agent's
/// replies are drawn inside a tool, where nobody sees them.
fn time_decides(run: &Measured<'_>) -> bool {
    let settings = run.settings;
    settings.max_wall_ms.is_some() || settings.stop_at_ms.is_some() || run.state.children.runs > 0
}

impl Times {
    /// The times of a run.
    ///
    /// # Errors
    /// [`CellRunError`] where its pace cannot be read.
    pub(super) fn of(run: &Measured<'_>) -> Result<Self, CellRunError> {
        let drawn = Drawn::of(run.settings)?;
        let script = Script::of(run, &drawn);
        let calls = run.ledger.turns.iter().map(|turn| turn.provider);
        Ok(Self {
            wall: run.wall,
            calls: calls.collect(),
            first_word: script.first_word(run.wall, &drawn, 0),
        })
    }
}

/// What the times of a cell are drawn from.
struct Drawn {
    replies: Pace,
    tools: Latency,
}

impl Drawn {
    fn of(settings: &Settings) -> Result<Self, ResourceError> {
        Ok(Self {
            replies: pace_of(settings)?,
            tools: tool_latency(settings)?,
        })
    }
}

/// What of a run decides how long it takes, but for the draws.
struct Script {
    /// Number and completion tokens of each turn.
    turns: Vec<(u32, u64)>,
    /// Tools by the steps in which they ran: the call, and what its tool took besides the draw.
    tools: Vec<Vec<(String, Duration)>>,
    /// What neither a reply nor a tool took.
    beside: Duration,
    is_answered: bool,
    shown: AnswerShown,
}

impl Script {
    fn of(run: &Measured<'_>, drawn: &Drawn) -> Self {
        let turns = run.ledger.turns.iter();
        let replies: Duration = run.ledger.turns.iter().map(|turn| turn.provider).sum();
        let steps = run.ledger.tools.iter();
        let longest = |step: &Vec<ToolSeen>| step.iter().filter_map(|tool| tool.took).max();
        let tools: Duration = steps.clone().filter_map(longest).sum();
        let own = |tool: &ToolSeen| {
            let took = tool.took.unwrap_or_default();
            let own = took.saturating_sub(drawn.tools.of_call(&tool.call_id, 0));
            (tool.call_id.clone(), own)
        };
        Self {
            turns: turns
                .map(|turn| (turn.number, turn.usage.completion_tokens))
                .collect(),
            tools: steps.map(|step| step.iter().map(own).collect()).collect(),
            beside: run.wall.saturating_sub(replies).saturating_sub(tools),
            is_answered: run.state.status == Status::Completed,
            shown: run.settings.answer_shown,
        }
    }

    /// The times of the sample that `mark` tells from others.
    fn drawn(&self, from: &Drawn, mark: u64) -> Times {
        let call = |&(number, tokens): &(u32, u64)| {
            let draw = draw(number, mark);
            let writing = from.replies.writing(draw, tokens);
            from.replies.ttft(draw).saturating_add(writing)
        };
        let calls: Vec<Duration> = self.turns.iter().map(call).collect();
        let tool = |(id, own): &(String, Duration)| from.tools.of_call(id, mark) + *own;
        let steps = self.tools.iter();
        let tools: Duration = steps.filter_map(|step| step.iter().map(tool).max()).sum();
        let wall = calls.iter().sum::<Duration>().saturating_add(tools);
        let wall = wall.saturating_add(self.beside);
        Times {
            wall,
            first_word: self.first_word(wall, from, mark),
            calls,
        }
    }

    /// When the first word of the answer is seen in a run that takes `wall`.
    fn first_word(&self, wall: Duration, from: &Drawn, mark: u64) -> Option<Duration> {
        let &(number, tokens) = self.turns.last().filter(|_| self.is_answered)?;
        Some(match self.shown {
            AnswerShown::Whole => wall,
            AnswerShown::Streamed => {
                wall.saturating_sub(from.replies.writing(draw(number, mark), tokens))
            }
        })
    }
}

/// The draw of the turn with this number.
fn draw(number: u32, mark: u64) -> Draw {
    Draw {
        turn: number.saturating_sub(1),
        request: mark,
    }
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// What brings samples into play.
const SAMPLES: &[&str] = &["samples"];

pub(super) static SAMPLE_COLUMNS: &[CellColumn] = &[
    sets(SAMPLES, "n", Kind::Count, |m| {
        let samples = m.samples.as_ref();
        samples.map(|samples| count(samples.wall.n())).into()
    }),
    quantile("p50_wall_ms", |m| at(m, |s| Some(&s.wall), 500)),
    quantile("p95_wall_ms", |m| at(m, |s| Some(&s.wall), 950)),
    quantile("p99_wall_ms", |m| at(m, |s| Some(&s.wall), 990)),
    quantile("p50_call_ms", |m| at(m, |s| Some(&s.call), 500)),
    quantile("p95_call_ms", |m| at(m, |s| Some(&s.call), 950)),
    quantile("p99_call_ms", |m| at(m, |s| Some(&s.call), 990)),
    quantile("p50_slowest_call_ms", |m| {
        at(m, |s| Some(&s.slowest_call), 500)
    }),
    quantile("p95_slowest_call_ms", |m| {
        at(m, |s| Some(&s.slowest_call), 950)
    }),
    quantile("p50_first_word_ms", |m| {
        at(m, |s| s.first_word.as_ref(), 500)
    }),
    quantile("p95_first_word_ms", |m| {
        at(m, |s| s.first_word.as_ref(), 950)
    }),
    quantile("p99_first_word_ms", |m| {
        at(m, |s| s.first_word.as_ref(), 990)
    }),
    sets(SAMPLES, "slow_call_percent", Kind::Percent, slow_share),
];

const fn quantile(name: &'static str, value: fn(&Measured<'_>) -> Printed) -> CellColumn {
    sets(SAMPLES, name, Kind::Ms, value)
}

/// A quantile of the samples; missing where they are too few for it.
fn at(measured: &Measured<'_>, of: fn(&Samples) -> Option<&Sample>, place: Thousandths) -> Printed {
    let samples = measured.samples.as_ref().and_then(of);
    let value = samples.and_then(|sample| sample.quantile(place).ok());
    value.map_or(Printed::Missing, |value| {
        Printed::statistic(value, DECIMALS)
    })
}

/// The share of the samples with a call that is slower than 95 % of all calls.
fn slow_share(measured: &Measured<'_>) -> Printed {
    let share = measured.samples.as_ref().and_then(|samples| {
        let slow = as_f64(samples.with_slow_call?);
        Some(100.0 * slow / as_f64(samples.wall.n()))
    });
    share.map_or(Printed::Missing, |share| {
        Printed::statistic(share, PERCENT_DECIMALS)
    })
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "at most 100,000 samples")]
fn as_f64(items: usize) -> f64 {
    items as f64
}

#[cfg(test)]
mod tests;
