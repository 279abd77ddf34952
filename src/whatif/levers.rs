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
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug)]
enum Recorded {
    /// The runs with this, against the runs as they were.
    Alone(Setting),
    /// The runs with this policy and a prompt cache, against the runs with the cache.
    OnCache(ContextPolicy),
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
/// The one that leaves out old results.
const ELIDE: ContextPolicy = ContextPolicy::ElideOlder(5);
/// The one that sums up.
const SUMMARISE: ContextPolicy = ContextPolicy::Summarise {
    above_tokens: 6_000,
    keep_turns: 3,
    summary_tokens: 300,
};

const FORGETS: &str = "what is left out cannot be looked up: `left-out` loses its answer";
const SUMS_UP: &str = "a summary keeps what its writer took to matter, and costs a call";

/// All levers, in the order of the table.
const LEVERS: [Lever; 14] = [
    Lever {
        name: "prompt cache, blocks (OpenAI)",
        claim: "caching.openai.40_turns.cost_percent",
        recorded: Recorded::Alone(Setting::Cache(CacheTerms::OPENAI)),
        risk: "nothing is read below the minimum, or after a pause; no answer changes",
    },
    Lever {
        name: "prompt cache, breakpoints (Anthropic)",
        claim: "caching.anthropic.40_turns.cost_percent",
        recorded: Recorded::Alone(Setting::Cache(CacheTerms::ANTHROPIC)),
        risk: "a run of one or two turns pays for writing what nobody reads",
    },
    Lever {
        name: "the last three results, no cache",
        claim: "context.none.last_results.cost_percent",
        recorded: Recorded::Alone(Setting::Context(LAST)),
        risk: FORGETS,
    },
    Lever {
        name: "the last three results, on top of the Anthropic cache",
        claim: "context.anthropic.last_results.cost_percent",
        recorded: Recorded::OnCache(LAST),
        risk: "every turn edits the cached beginning, which is then written again",
    },
    Lever {
        name: "no result five turns old, no cache",
        claim: "context.none.elide_older.cost_percent",
        recorded: Recorded::Alone(Setting::Context(ELIDE)),
        risk: FORGETS,
    },
    Lever {
        name: "no result five turns old, on top of the Anthropic cache",
        claim: "context.anthropic.elide_older.cost_percent",
        recorded: Recorded::OnCache(ELIDE),
        risk: "dearer than leaving the history alone, as long as anybody measured",
    },
    Lever {
        name: "summaries, no cache",
        claim: "context.none.summarise.cost_percent",
        recorded: Recorded::Alone(Setting::Context(SUMMARISE)),
        risk: SUMS_UP,
    },
    Lever {
        name: "summaries, on top of the Anthropic cache",
        claim: "context.anthropic.summarise.cost_percent",
        recorded: Recorded::OnCache(SUMMARISE),
        risk: "pays only in runs that go on for long after the summary",
    },
    Lever {
        name: "4 tools instead of 200",
        claim: "tools.200_to_4.cost_percent",
        recorded: Recorded::WithoutTools,
        risk: "a tool that is not offered is not called",
    },
    Lever {
        name: "a system prompt without a hundred rules",
        claim: "tools.rules_left_out.cost_percent",
        recorded: Recorded::Never,
        risk: "a rule that is not sent is not kept",
    },
    Lever {
        name: "a sub-agent instead of reading inline",
        claim: "delegation.20_turns.cost_percent",
        recorded: Recorded::Never,
        risk: "the parent knows the answer and not its grounds; dearer in short runs",
    },
    Lever {
        name: "eight calls in one turn",
        claim: "parallel.by_8.cost_percent",
        recorded: Recorded::Never,
        risk: "no call can use the result of another",
    },
    Lever {
        name: "stop at a permanent error",
        claim: "brakes.denied.cost_percent",
        recorded: Recorded::Alone(Setting::PermanentErrorStop),
        risk: "an error that was not permanent ends the run",
    },
    Lever {
        name: "stop at the third equal call in a row",
        claim: "brakes.runaway.cost_percent",
        recorded: Recorded::Alone(Setting::RepeatedCall(3)),
        risk: "polling looks the same",
    },
];

/// All levers, in the order of the table.
#[must_use]
pub const fn levers() -> &'static [Lever] {
    &LEVERS
}

/// The context policies that recorded runs are replayed under, as settings write them.
#[must_use]
pub fn lever_policies() -> String {
    [LAST, ELIDE, SUMMARISE]
        .map(|policy| format!("`{policy}`"))
        .join(", ")
}

/// The cases that recorded runs are replayed in for the table.
#[must_use]
pub fn lever_cases(levers: &[Lever]) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (from, to) in levers.iter().filter_map(|lever| lever.recorded.cases()) {
        for case in [from, to] {
            if !case.settings().is_empty() && !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    cases
}

impl Recorded {
    /// What is compared: the first case is what the second one is held against.
    fn cases(&self) -> Option<(Case, Case)> {
        let cache = Setting::Cache(CacheTerms::ANTHROPIC);
        let (from, to) = match *self {
            Self::Alone(setting) => (Vec::new(), vec![setting]),
            Self::OnCache(policy) => (vec![cache], vec![cache, Setting::Context(policy)]),
            Self::WithoutTools | Self::Never => return None,
        };
        Some((Case::of(from), Case::of(to)))
    }
}

impl Lever {
    /// Whether the model reads something else, and may say something else then.
    fn may_change_answers(&self) -> bool {
        match self.recorded {
            Recorded::Alone(setting) => matches!(setting, Setting::Context(_)),
            Recorded::OnCache(_) | Recorded::WithoutTools | Recorded::Never => true,
        }
    }

    /// What it does to the recorded runs of a report of [`lever_cases`]; none where that cannot
    /// be known.
    #[must_use]
    pub fn on_records(&self, report: &Report, price: &Price) -> Option<OnRecords> {
        let before_all = &report.recorded;
        let tally = |case: &Case| {
            if case.settings().is_empty() {
                return Some(before_all);
            }
            let found = report.cases.iter().find(|(known, _)| known == case);
            found.map(|(_, tally)| tally)
        };
        let (from, to, lost) = match self.recorded {
            Recorded::Never => return None,
            Recorded::WithoutTools if report.tools_tokens == 0 => return None,
            Recorded::WithoutTools => {
                let tools = price.cost(&Usage {
                    prompt_tokens: report.tools_tokens,
                    ..Usage::default()
                });
                (before_all.cost, before_all.cost - tools, 0)
            }
            Recorded::Alone(_) | Recorded::OnCache(_) => {
                let (from, to) = self.recorded.cases()?;
                let (from, to) = (tally(&from)?, tally(&to)?);
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
