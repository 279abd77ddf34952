//! The levers: what makes a bill smaller, what each was measured to save, and what it risks.

use super::axis::{Case, Setting};
use super::row::ratio_percent;
use super::sweep::Report;
use super::tally::Tally;
use crate::message::Usage;
use crate::money::PicoUsd;
use crate::pricing::{CacheTerms, Price};
use crate::results::Cell;
use crate::run::context::ContextPolicy;

/// Something that makes a bill smaller.
#[derive(Clone, Debug)]
pub struct Lever {
    /// What it is.
    pub name: &'static str,
    /// The claim that says by how many percent it changes the bill of scripted runs.
    pub claim: &'static str,
    /// What it may cost besides.
    pub risk: &'static str,
    recorded: Recorded,
}

/// How a lever is tried on recorded runs.
#[derive(Clone, Debug)]
enum Recorded {
    /// The runs with the second settings, against the runs with the first.
    With(Vec<Setting>, Vec<Setting>),
    /// Without the definitions of tools: the most that a shorter list could save.
    WithoutTools,
    /// Not at all: the model would have said something else.
    Never,
}

/// What a lever does to recorded runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnRecords {
    /// By how many percent the bill changes.
    pub cost_percent: Cell,
    /// Successes that are cut off, of how many; none where no record says which runs were such,
    /// and where the model would have read something else, so that nobody knows.
    pub successes_lost: Option<(u64, u64)>,
    /// Whether it is the most that the lever could save, and not what it saves.
    pub is_bound: bool,
}

/// The policy of the table that leaves results out.
const LAST: ContextPolicy = ContextPolicy::LastResults(3);
/// The one that sums up.
const SUMMARISE: ContextPolicy = ContextPolicy::Summarise {
    above_tokens: 6_000,
    keep_turns: 3,
    summary_tokens: 300,
};

const FORGETS: &str = "what is left out cannot be looked up: `left-out` loses its answer";
const SUMS_UP: &str = "a summary keeps what its writer took to matter, and costs a call";

/// All levers, in the order of the table.
#[must_use]
pub fn levers() -> Vec<Lever> {
    let cache = |terms| vec![Setting::Cache(terms)];
    let context = |policy| vec![Setting::Context(policy)];
    let both = |policy| {
        vec![
            Setting::Cache(CacheTerms::ANTHROPIC),
            Setting::Context(policy),
        ]
    };
    let alone = |settings| Recorded::With(Vec::new(), settings);
    let on_top = |policy| Recorded::With(cache(CacheTerms::ANTHROPIC), both(policy));
    let lever = |name, claim, recorded, risk| Lever {
        name,
        claim,
        risk,
        recorded,
    };
    vec![
        lever(
            "prompt cache, blocks (OpenAI)",
            "caching.openai.40_turns.cost_percent",
            alone(cache(CacheTerms::OPENAI)),
            "nothing is read below the minimum, or after a pause; no answer changes",
        ),
        lever(
            "prompt cache, breakpoints (Anthropic)",
            "caching.anthropic.40_turns.cost_percent",
            alone(cache(CacheTerms::ANTHROPIC)),
            "a run of one or two turns pays for writing what nobody reads",
        ),
        lever(
            "the last three results, no cache",
            "context.none.last_results.cost_percent",
            alone(context(LAST)),
            FORGETS,
        ),
        lever(
            "the last three results, on top of the Anthropic cache",
            "context.anthropic.last_results.cost_percent",
            on_top(LAST),
            "every turn edits the cached beginning, which is then written again",
        ),
        lever(
            "summaries, no cache",
            "context.none.summarise.cost_percent",
            alone(context(SUMMARISE)),
            SUMS_UP,
        ),
        lever(
            "summaries, on top of the Anthropic cache",
            "context.anthropic.summarise.cost_percent",
            on_top(SUMMARISE),
            "pays only in runs that go on for long after the summary",
        ),
        lever(
            "4 tools instead of 200",
            "tools.200_to_4.cost_percent",
            Recorded::WithoutTools,
            "a tool that is not offered is not called",
        ),
        lever(
            "a sub-agent instead of reading inline",
            "delegation.20_turns.cost_percent",
            Recorded::Never,
            "the parent knows the answer and not its grounds; dearer in short runs",
        ),
        lever(
            "eight calls in one turn",
            "parallel.by_8.cost_percent",
            Recorded::Never,
            "no call can use the result of another",
        ),
        lever(
            "stop at a permanent error",
            "brakes.denied.cost_percent",
            alone(vec![Setting::PermanentErrorStop]),
            "an error that was not permanent ends the run",
        ),
        lever(
            "stop at the third equal call in a row",
            "brakes.runaway.cost_percent",
            alone(vec![Setting::RepeatedCall(3)]),
            "polling looks the same",
        ),
    ]
}

/// The cases that recorded runs are replayed in for the table.
#[must_use]
pub fn lever_cases(levers: &[Lever]) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for lever in levers {
        if let Recorded::With(from, to) = &lever.recorded {
            for settings in [from, to] {
                let case = Case::of(settings.clone());
                if !settings.is_empty() && !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
    }
    cases
}

impl Lever {
    /// Whether the model reads something else, and may say something else then.
    fn may_change_answers(&self) -> bool {
        match &self.recorded {
            Recorded::With(_, to) => to
                .iter()
                .any(|setting| matches!(setting, Setting::Context(_))),
            Recorded::WithoutTools | Recorded::Never => true,
        }
    }

    /// What it does to the recorded runs of a report of [`lever_cases`]; none where that cannot
    /// be known.
    #[must_use]
    pub fn on_records(&self, report: &Report, price: &Price) -> Option<OnRecords> {
        let before_all = &report.recorded;
        let tally = |settings: &Vec<Setting>| {
            if settings.is_empty() {
                return Some(before_all);
            }
            let case = Case::of(settings.clone());
            let found = report.cases.iter().find(|(known, _)| *known == case);
            found.map(|(_, tally)| tally)
        };
        let (from, to, lost) = match &self.recorded {
            Recorded::Never => return None,
            Recorded::WithoutTools if report.tools_tokens == 0 => return None,
            Recorded::WithoutTools => {
                let tools = price.cost(&Usage {
                    prompt_tokens: report.tools_tokens,
                    ..Usage::default()
                });
                (before_all.cost, before_all.cost - tools, 0)
            }
            Recorded::With(from, to) => {
                let (from, to) = (tally(from)?, tally(to)?);
                (from.cost, to.cost, to.successes_lost())
            }
        };
        let Tally {
            marked, successes, ..
        } = *before_all;
        Some(OnRecords {
            cost_percent: change(from, to),
            successes_lost: (marked > 0 && !self.may_change_answers()).then_some((lost, successes)),
            is_bound: matches!(self.recorded, Recorded::WithoutTools),
        })
    }
}

fn change(from: PicoUsd, to: PicoUsd) -> Cell {
    ratio_percent((to - from).pico(), from.pico())
}
