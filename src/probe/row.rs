//! A report in one row of a table.

use super::attempts::{Attempts, Count};
use super::calls::Order;
use super::check::Check;
use super::finding::Seen;
use super::report::Report;
use crate::money::PicoUsd;
use crate::results::{Cell, Column, Kind};

/// What a report says of an agent, in one row. What was not seen is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeRow {
    /// What the agent is called.
    pub agent: String,
    /// Whether it asks for streams.
    pub streamed: Option<bool>,
    /// Tokens of its first request.
    pub first_request_tokens: Option<u64>,
    /// The part of them that is tools.
    pub tools_tokens: Option<u64>,
    /// Turns with a well-behaved model.
    pub turns: Option<u32>,
    /// Calls that the well-behaved model made.
    pub calls: Option<u64>,
    /// Tools that were started for them; none where the agent writes no tool log.
    pub executions: Option<u64>,
    /// What that cost.
    pub cost: Option<PicoUsd>,
    /// Turns of a runaway.
    pub runaway_turns: Option<u32>,
    /// How a runaway ends.
    pub runaway_ending: Option<&'static str>,
    /// What a runaway cost until then.
    pub runaway_cost: Option<PicoUsd>,
    /// What a hundred turns of it cost.
    pub hundred_turns: Option<PicoUsd>,
    /// How often a tool ran of which the model made the same call twice.
    pub repeat_executions: Option<u32>,
    /// How many of the parallel calls one request answers; none where that cannot be told.
    pub parallel_answered: Option<u64>,
    /// How many parallel calls there were.
    pub parallel_calls: Option<u64>,
    /// What the model is told of a tool that does not exist.
    pub unknown_tool: Option<&'static str>,
    /// What it is told of arguments that are not JSON.
    pub malformed_arguments: Option<&'static str>,
    /// What it is told when a tool fails.
    pub told_why: Option<&'static str>,
    /// Requests for one call that fails with 429.
    pub requests_429: Option<Count>,
    /// Whether `Retry-After` is honoured.
    pub honours_retry_after: Option<bool>,
    /// Requests for one call that fails with 500.
    pub requests_500: Option<Count>,
    /// How it ends after a stalled reply.
    pub stalled_ending: Option<&'static str>,
    /// How it ends after a reply that breaks off.
    pub cut_ending: Option<&'static str>,
    /// How it ends after a reply without a choice.
    pub empty_ending: Option<&'static str>,
    /// Its own time per turn, the median, in microseconds.
    pub overhead_us: Option<u64>,
    /// Over how many turns.
    pub overhead_n: Option<u64>,
}

impl ProbeRow {
    /// The row of an agent called `agent`.
    #[must_use]
    pub fn new(agent: &str, report: &Report) -> Self {
        let well = report.check(Check::WellBehaved);
        let ending = |check| Some(report.check(check)?.ending()?.as_str());
        let mut row = Self {
            agent: agent.to_owned(),
            turns: well.map(|check| check.turns),
            calls: well.map(|check| check.calls),
            executions: well.and_then(|check| check.executions),
            cost: well.map(|check| check.cost),
            runaway_ending: ending(Check::Runaway),
            stalled_ending: ending(Check::StalledReply),
            cut_ending: ending(Check::CutReply),
            empty_ending: ending(Check::EmptyReply),
            ..Self::default()
        };
        for finding in &report.overall {
            row.take_overall(&finding.seen);
        }
        for check in &report.checks {
            for finding in &check.findings {
                row.take(check.check, &finding.seen);
            }
        }
        row
    }

    fn take_overall(&mut self, seen: &Seen) {
        match seen {
            Seen::FirstRequest(first) => {
                self.streamed = Some(first.streamed);
                self.first_request_tokens = Some(first.prompt_tokens);
                self.tools_tokens = Some(first.tools_tokens);
            }
            Seen::Overhead(overhead) => {
                self.overhead_us = overhead.median_us;
                self.overhead_n = Some(overhead.n as u64);
            }
            _ => {}
        }
    }

    fn take(&mut self, check: Check, seen: &Seen) {
        match seen {
            Seen::Stops(stops) => {
                self.runaway_turns = Some(stops.turns);
                self.runaway_cost = Some(stops.cost);
            }
            Seen::HundredTurns(hundred) => self.hundred_turns = hundred.estimate.cost(),
            Seen::Repeats(repeats) => self.repeat_executions = repeats.executed,
            Seen::Parallel(parallel) => {
                let is_told = parallel.order != Order::Untold && !parallel.crashed;
                self.parallel_answered = is_told.then_some(parallel.answered as u64);
                self.parallel_calls = Some(parallel.calls as u64);
            }
            Seen::ToldWhy(why) => {
                let told = Some(why.told.as_str());
                match check {
                    Check::UnknownTool => self.unknown_tool = told,
                    Check::MalformedArguments => self.malformed_arguments = told,
                    _ => self.told_why = told,
                }
            }
            Seen::RetryAfter(wait) => self.honours_retry_after = wait.is_honoured(),
            Seen::Attempts(attempts) => self.take_attempts(check, attempts),
            _ => {}
        }
    }

    const fn take_attempts(&mut self, check: Check, attempts: &Attempts) {
        match check {
            Check::RateLimited => self.requests_429 = Some(attempts.attempts),
            Check::ServerError => self.requests_500 = Some(attempts.attempts),
            _ => {}
        }
    }

    /// The columns of every row.
    #[must_use]
    pub fn columns() -> Vec<Column> {
        Self::default()
            .named()
            .into_iter()
            .map(|(name, kind, _)| Column::new(name, kind))
            .collect()
    }

    /// The row's cells, one under each of the [`ProbeRow::columns`].
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let named = self.named().into_iter();
        named.map(|(_, _, cell)| cell).collect()
    }

    fn named(&self) -> Vec<(&'static str, Kind, Cell)> {
        use Kind::{Count as Number, Flag, Ms, Text, Tokens, Usd};
        let seen = |count: Option<Count>| Cell::from(count.map(Count::seen));
        let is_all = |count: Option<Count>| {
            Cell::from(count.map(|count| matches!(count, Count::Exactly(_))))
        };
        let overhead = self.overhead_us.map(std::time::Duration::from_micros);
        vec![
            ("agent", Text, Cell::from(self.agent.as_str())),
            ("streamed", Flag, self.streamed.into()),
            (
                "first_request_tokens",
                Tokens,
                self.first_request_tokens.into(),
            ),
            ("tools_tokens", Tokens, self.tools_tokens.into()),
            ("turns", Number, self.turns.into()),
            ("calls", Number, self.calls.into()),
            ("executions", Number, self.executions.into()),
            ("cost_usd", Usd, self.cost.into()),
            ("runaway_turns", Number, self.runaway_turns.into()),
            ("runaway_ending", Text, self.runaway_ending.into()),
            ("runaway_cost_usd", Usd, self.runaway_cost.into()),
            ("hundred_turns_usd", Usd, self.hundred_turns.into()),
            ("repeat_executions", Number, self.repeat_executions.into()),
            ("parallel_answered", Number, self.parallel_answered.into()),
            ("parallel_calls", Number, self.parallel_calls.into()),
            ("unknown_tool", Text, self.unknown_tool.into()),
            ("malformed_arguments", Text, self.malformed_arguments.into()),
            ("told_why", Text, self.told_why.into()),
            ("requests_429", Number, seen(self.requests_429)),
            ("requests_429_are_all", Flag, is_all(self.requests_429)),
            ("honours_retry_after", Flag, self.honours_retry_after.into()),
            ("requests_500", Number, seen(self.requests_500)),
            ("requests_500_are_all", Flag, is_all(self.requests_500)),
            ("stalled_ending", Text, self.stalled_ending.into()),
            ("cut_ending", Text, self.cut_ending.into()),
            ("empty_ending", Text, self.empty_ending.into()),
            ("overhead_ms", Ms, overhead.map_or(Cell::Missing, Cell::ms)),
            ("overhead_n", Number, self.overhead_n.into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::RowSet;

    #[test]
    fn a_row_fits_its_columns_and_what_is_missing_is_empty() {
        let row = ProbeRow {
            agent: "mine".to_owned(),
            requests_429: Some(Count::AtLeast(5)),
            overhead_us: Some(3_250),
            ..ProbeRow::default()
        };
        let mut rows = RowSet::new(ProbeRow::columns()).unwrap();
        rows.push(row.cells()).unwrap();
        let csv = String::from_utf8(rows.to_csv().unwrap()).unwrap();
        let line = csv.lines().nth(1).unwrap();
        assert_eq!(line, "mine,,,,,,,,,,,,,,,,,,5,false,,,,,,,3.25,");
    }
}
