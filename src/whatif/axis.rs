//! What is varied: the limits and policies that recorded runs are replayed under.

use std::fmt;

use crate::money::PicoUsd;
use crate::pricing::CacheTerms;
use crate::run::RunSettings;
use crate::run::context::ContextPolicy;
use crate::run::policy::{BudgetCheck, Dedupe, PermanentErrors, StopCondition};

/// Something that can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// The most turns.
    MaxTurns,
    /// The most dollars.
    Budget,
    /// The most tokens, prompts and completions together.
    TotalTokens,
    /// After how many equal calls in a row a run is stopped.
    RepeatedCall,
    /// Which repeated calls are answered without being executed.
    Dedupe,
    /// What becomes of an error on which the model cannot act.
    PermanentErrors,
    /// How the provider caches prompts.
    Cache,
    /// What of the transcript is sent.
    Context,
}

impl Axis {
    /// All axes, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::MaxTurns,
        Self::Budget,
        Self::TotalTokens,
        Self::RepeatedCall,
        Self::Dedupe,
        Self::PermanentErrors,
        Self::Cache,
        Self::Context,
    ];

    /// The axis as columns and keys name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget_usd",
            Self::TotalTokens => "total_tokens",
            Self::RepeatedCall => "repeated_call_stop",
            Self::Dedupe => "dedupe",
            Self::PermanentErrors => "permanent_errors",
            Self::Cache => "cache",
            Self::Context => "context",
        }
    }

    /// Whether more or less of it changes what a run costs, and so has a frontier.
    #[must_use]
    pub const fn is_limit(self) -> bool {
        match self {
            Self::MaxTurns | Self::Budget | Self::TotalTokens | Self::RepeatedCall => true,
            Self::Dedupe | Self::PermanentErrors | Self::Cache | Self::Context => false,
        }
    }

    /// The axis in words, for a sentence or a picture.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::MaxTurns => "turn cap",
            Self::Budget => "budget",
            Self::TotalTokens => "token limit",
            Self::RepeatedCall => "repeated-call stop",
            Self::Dedupe => "dedupe",
            Self::PermanentErrors => "permanent-error stop",
            Self::Cache => "prompt cache",
            Self::Context => "context policy",
        }
    }
}

/// One point of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// So many turns.
    MaxTurns(u32),
    /// So many dollars, compared with the cost at that moment.
    Budget(PicoUsd, BudgetCheck),
    /// So many tokens.
    TotalTokens(u64),
    /// So many equal calls in a row.
    RepeatedCall(u32),
    /// These repeated calls.
    Dedupe(Dedupe),
    /// A permanent error ends the run.
    PermanentErrorStop,
    /// The provider caches prompts by these terms.
    Cache(CacheTerms),
    /// So much of the transcript is sent.
    Context(ContextPolicy),
}

impl Setting {
    /// What is varied.
    #[must_use]
    pub const fn axis(&self) -> Axis {
        match self {
            Self::MaxTurns(_) => Axis::MaxTurns,
            Self::Budget(..) => Axis::Budget,
            Self::TotalTokens(_) => Axis::TotalTokens,
            Self::RepeatedCall(_) => Axis::RepeatedCall,
            Self::Dedupe(_) => Axis::Dedupe,
            Self::PermanentErrorStop => Axis::PermanentErrors,
            Self::Cache(_) => Axis::Cache,
            Self::Context(_) => Axis::Context,
        }
    }

    /// The point as a cell of a table.
    #[must_use]
    pub fn value(&self) -> String {
        match self {
            Self::MaxTurns(number) | Self::RepeatedCall(number) => number.to_string(),
            Self::Budget(usd, _) => usd.to_string(),
            Self::TotalTokens(tokens) => tokens.to_string(),
            Self::Dedupe(dedupe) => match dedupe {
                Dedupe::Off => "off",
                Dedupe::All => "all",
                Dedupe::ReadOnly => "read_only",
                Dedupe::IdempotencyKey => "idempotency_key",
            }
            .to_owned(),
            Self::PermanentErrorStop => "stop".to_owned(),
            Self::Cache(terms) => terms.to_string(),
            Self::Context(policy) => policy.to_string(),
        }
    }

    /// The point in words, for a sentence or a picture.
    #[must_use]
    pub fn words(&self) -> String {
        let what = self.axis().words();
        match self {
            Self::Budget(usd, _) => format!("{what} ${}", usd.to_shortest()),
            _ => format!("{what} {}", self.value()),
        }
    }

    /// The settings of a run with this one.
    fn apply(&self, mut settings: RunSettings) -> RunSettings {
        let stop = match *self {
            Self::MaxTurns(turns) => StopCondition::MaxTurns { turns },
            Self::Budget(usd, check) => StopCondition::MaxBudget { usd, check },
            Self::TotalTokens(tokens) => StopCondition::MaxTokens { tokens },
            Self::RepeatedCall(times) => StopCondition::RepeatedCall { times },
            Self::Dedupe(dedupe) => {
                settings.policy.dedupe = dedupe;
                return settings;
            }
            Self::PermanentErrorStop => {
                settings.policy.permanent_errors = PermanentErrors::Stop;
                return settings;
            }
            Self::Cache(terms) => return settings.with_cache(terms),
            Self::Context(policy) => return settings.with_context(policy),
        };
        settings.stop_when(stop)
    }
}

/// Settings that hold together; none for the run as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case(Vec<Setting>);

impl Case {
    /// Settings that hold together.
    #[must_use]
    pub const fn of(settings: Vec<Setting>) -> Self {
        Self(settings)
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &[Setting] {
        &self.0
    }

    /// What is varied in it.
    #[must_use]
    pub fn axes(&self) -> Vec<Axis> {
        self.0.iter().map(Setting::axis).collect()
    }

    /// The settings of a run in this case.
    pub(super) fn apply(&self, settings: RunSettings) -> RunSettings {
        let apply = |settings, setting: &Setting| setting.apply(settings);
        self.0.iter().fold(settings, apply)
    }
}

/// `max_turns=12`, or several of those.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |setting: &Setting| format!("{}={}", setting.axis().as_str(), setting.value());
        let names: Vec<String> = self.0.iter().map(name).collect();
        f.write_str(&names.join(" "))
    }
}

/// The cases of a sweep: every point of every axis by itself, or every combination of them. A
/// point that is named twice is one.
#[must_use]
pub fn cases(axes: &[Vec<Setting>], crossed: bool) -> Vec<Case> {
    let axes: Vec<Vec<Setting>> = axes.iter().map(|axis| once_each(axis)).collect();
    let axes = axes.iter().filter(|axis| !axis.is_empty());
    if !crossed {
        return axes.flatten().map(|setting| Case(vec![*setting])).collect();
    }
    let mut cases = vec![Case::default()];
    for axis in axes {
        let with = |case: &Case, setting: &Setting| Case([&case.0[..], &[*setting]].concat());
        let crossed = cases
            .iter()
            .map(|case| axis.iter().map(|one| with(case, one)));
        cases = crossed.flatten().collect();
    }
    cases.retain(|case| !case.0.is_empty());
    cases
}

fn once_each(axis: &[Setting]) -> Vec<Setting> {
    let mut points = Vec::with_capacity(axis.len());
    for point in axis {
        if !points.contains(point) {
            points.push(*point);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_swept_one_by_one_or_crossed() {
        let axes = [
            vec![5, 6, 5].into_iter().map(Setting::MaxTurns).collect(),
            Vec::new(),
            vec![Setting::Dedupe(Dedupe::All), Setting::Dedupe(Dedupe::Off)],
        ];
        let names = |crossed| -> Vec<String> {
            let cases = cases(&axes, crossed);
            cases.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            names(false),
            ["max_turns=5", "max_turns=6", "dedupe=all", "dedupe=off"]
        );
        assert_eq!(
            names(true),
            [
                "max_turns=5 dedupe=all",
                "max_turns=5 dedupe=off",
                "max_turns=6 dedupe=all",
                "max_turns=6 dedupe=off"
            ]
        );
        assert!(cases(&[], true).is_empty());
    }
}
