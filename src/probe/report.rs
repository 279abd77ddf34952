//! The report card: all findings, check by check.

use std::time::Duration;

use serde::Serialize;

use super::check::{Check, Failing};
use super::ending::Ending;
use super::finding::{Finding, Seen, Verdict};
use super::observation::Observation;
use super::render::as_ms;
use super::{attempts, burden, calls, stops, told};
use crate::money::PicoUsd;
use crate::pricing::Price;
use crate::scenario::GivenCalls;

/// What was found of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How it was found.
    pub setting: Setting,
    /// What holds over all checks.
    pub overall: Vec<Finding>,
    /// The checks that were run, in order.
    pub checks: Vec<CheckReport>,
    /// The checks for which no time was left.
    pub not_run: Vec<Check>,
}

/// How a report was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The command, as it was typed.
    pub command: Vec<String>,
    /// What a token costs.
    pub price: Price,
    /// After how many requests a run is ended.
    pub requests_limit: u64,
    /// After how long it is ended.
    #[serde(rename = "time_limit_ms", serialize_with = "as_ms")]
    pub time_limit: Duration,
    /// How the endpoint fails where a status is the fault.
    pub failing: Failing,
}

/// What was found in one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The check.
    pub check: Check,
    /// Turns taken.
    pub turns: u32,
    /// Requests on the wire.
    pub requests: u64,
    /// Tool calls that the model made.
    pub calls: u64,
    /// Tools that were started; none where the agent writes no tool log.
    pub executions: Option<u64>,
    /// What was billed, in pico-dollars.
    #[serde(rename = "cost_pico_usd")]
    pub cost: PicoUsd,
    /// How long it took.
    #[serde(rename = "wall_ms", serialize_with = "as_ms")]
    pub wall: Duration,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(
        setting: Setting,
        seen: &[Observation],
        not_run: Vec<Check>,
        given: Option<&GivenCalls>,
    ) -> Self {
        let overall = burden::first_request(seen)
            .into_iter()
            .chain([burden::overhead(seen)]);
        let check = |seen| CheckReport::new(seen, &setting, given);
        Self {
            overall: overall.collect(),
            checks: seen.iter().map(check).collect(),
            not_run,
            setting,
        }
    }

    /// What was found in a check, if it was run.
    #[must_use]
    pub fn check(&self, check: Check) -> Option<&CheckReport> {
        self.checks.iter().find(|report| report.check == check)
    }

    /// All findings: the overall ones, then check by check.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_checks = self.checks.iter().flat_map(|check| &check.findings);
        self.overall.iter().chain(of_checks)
    }

    /// How many findings have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        let all = self.findings();
        all.filter(|finding| finding.verdict == verdict).count()
    }
}

impl CheckReport {
    fn new(seen: &Observation, setting: &Setting, given: Option<&GivenCalls>) -> Self {
        let price = &setting.price;
        let mut findings = match seen.check {
            Check::WellBehaved => Vec::new(),
            Check::Runaway => stops::findings(seen, price),
            Check::RepeatedCall => vec![calls::repeats(seen)],
            Check::ParallelCalls => vec![calls::parallel(seen)],
            Check::UnknownTool | Check::MalformedArguments => vec![told::finding(seen, true)],
            Check::FailingTool => vec![told::finding(seen, given.is_some())],
            Check::RateLimited
            | Check::ServerError
            | Check::StalledReply
            | Check::CutReply
            | Check::EmptyReply => attempts::findings(seen, setting.failing),
        };
        findings.push(ends(seen));
        let started = seen.tool_starts.len() as u64;
        Self {
            check: seen.check,
            turns: seen.turns(),
            requests: seen.requests(),
            calls: seen.replies().map(|reply| reply.calls.len() as u64).sum(),
            executions: (started > 0).then_some(started),
            cost: seen.cost(price),
            wall: seen.wall,
            findings,
        }
    }

    /// How the agent ended.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.findings
            .iter()
            .find_map(|finding| match &finding.seen {
                Seen::Ends { ending } => Some(ending),
                _ => None,
            })
    }
}

fn ends(seen: &Observation) -> Finding {
    let verdict = match (seen.check, &seen.ending) {
        (_, Ending::Result) => Verdict::Good,
        (Check::WellBehaved, _) => Verdict::Bad,
        (_, Ending::Exception { .. } | Ending::PartialResult) => Verdict::Fact,
        _ => Verdict::Bad,
    };
    let ending = seen.ending.clone();
    Finding::new(Seen::Ends { ending }, verdict, Vec::new())
}
