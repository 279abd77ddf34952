//! Thresholds for an agent: what must hold of a report.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::check::Check;
use super::ending::Ending;
use super::finding::{Finding, Seen, Verdict};
use super::report::Report;
use super::stops::Stop;
use crate::document::suggest;
use crate::money::PicoUsd;

/// Something that must hold of an agent. It holds only where it was seen to hold: what could not
/// be told, or does not apply, does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// It ends a runaway of itself.
    Stops,
    /// It ends a runaway of itself, within so many turns.
    MaxTurns(u32),
    /// It ends a runaway of itself, before it costs more than this.
    MaxCost(PicoUsd),
    /// It tries no failing request more often than this: neither 429 nor 500.
    MaxAttempts(u32),
    /// It tries again after 429 and after 500.
    Retries,
    /// It waits as long as `Retry-After` says.
    HonoursRetryAfter,
    /// The model is told why a tool failed, in the tool's own words.
    ToldWhy,
    /// A call of a tool that does not exist is answered.
    AnswersUnknownTool,
    /// A call whose arguments are not JSON is answered.
    AnswersMalformedArguments,
    /// Parallel calls are all answered, in order, in one request.
    AnswersParallel,
    /// The second of two identical calls is answered, and the tool ran once.
    RunsRepeatsOnce,
    /// No check had to be ended because its time was up.
    NoHangs,
    /// Its own time per turn is at most so many milliseconds.
    MaxOverheadMs(u32),
    /// Its first request sends at most so many tokens.
    MaxFirstTokens(u64),
}

/// Why a text is no requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("requirement `{text}`: {why}\n  help: {help}")]
pub struct RequirementError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
    /// What to do.
    pub help: String,
}

/// The form of every requirement, in the order in which they are documented.
pub const FORMS: [&str; 14] = [
    "stops",
    "max-turns=N",
    "max-cost=USD",
    "max-attempts=N",
    "retries",
    "honours-retry-after",
    "told-why",
    "answers-unknown-tool",
    "answers-malformed-arguments",
    "answers-parallel",
    "runs-repeats-once",
    "no-hangs",
    "max-overhead-ms=N",
    "max-first-tokens=N",
];

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text, None),
        };
        let refuse = |why, help: &str| RequirementError {
            text: text.to_owned(),
            why,
            help: help.to_owned(),
        };
        let form = FORMS
            .into_iter()
            .find(|form| form.split('=').next() == Some(name));
        let Some(form) = form else {
            let names = FORMS.map(|form| form.split('=').next().unwrap_or(form).to_owned());
            let known = || format!("the requirements are {}", FORMS.join(", "));
            let help = suggest(name, "requirements", &names).unwrap_or_else(known);
            return Err(refuse("there is no such requirement", &help));
        };
        if form.contains('=') != value.is_some() {
            return Err(refuse(
                "it has a value or lacks one",
                &format!("write {form}"),
            ));
        }
        Self::of(name, value.unwrap_or_default()).ok_or_else(|| {
            refuse(
                "its value is not understood",
                &format!("write {form}, such as {name}=20"),
            )
        })
    }
}

impl Requirement {
    fn of(name: &str, value: &str) -> Option<Self> {
        Some(match name {
            "stops" => Self::Stops,
            "max-turns" => Self::MaxTurns(value.parse().ok()?),
            "max-cost" => Self::MaxCost(positive(value)?),
            "max-attempts" => Self::MaxAttempts(value.parse().ok().filter(|most| *most > 0)?),
            "retries" => Self::Retries,
            "honours-retry-after" => Self::HonoursRetryAfter,
            "told-why" => Self::ToldWhy,
            "answers-unknown-tool" => Self::AnswersUnknownTool,
            "answers-malformed-arguments" => Self::AnswersMalformedArguments,
            "answers-parallel" => Self::AnswersParallel,
            "runs-repeats-once" => Self::RunsRepeatsOnce,
            "no-hangs" => Self::NoHangs,
            "max-overhead-ms" => Self::MaxOverheadMs(value.parse().ok()?),
            "max-first-tokens" => Self::MaxFirstTokens(value.parse().ok()?),
            _ => return None,
        })
    }

    /// The checks without which it cannot be told whether it holds; any one will do where there
    /// are none.
    #[must_use]
    pub const fn checks(&self) -> &'static [Check] {
        match self {
            Self::Stops | Self::MaxTurns(_) | Self::MaxCost(_) => &[Check::Runaway],
            Self::MaxAttempts(_) | Self::Retries => &[Check::RateLimited, Check::ServerError],
            Self::HonoursRetryAfter => &[Check::RateLimited],
            Self::ToldWhy => &[Check::FailingTool],
            Self::AnswersUnknownTool => &[Check::UnknownTool],
            Self::AnswersMalformedArguments => &[Check::MalformedArguments],
            Self::AnswersParallel => &[Check::ParallelCalls],
            Self::RunsRepeatsOnce => &[Check::RepeatedCall],
            Self::NoHangs | Self::MaxOverheadMs(_) | Self::MaxFirstTokens(_) => &[],
        }
    }

    /// How many attempts must fail so that it can be told whether it holds.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        match self {
            Self::MaxAttempts(most) => *most,
            _ => 1,
        }
    }

    /// Whether it holds of an agent.
    #[must_use]
    pub fn rule(&self, report: &Report) -> Ruling {
        let decisive = self.decisive(report);
        let holds = if *self == Self::NoHangs {
            decisive.is_empty() && report.not_run.is_empty()
        } else {
            let complete = decisive.len() == self.checks().len().max(1);
            complete && decisive.iter().all(|finding| self.holds(finding))
        };
        let against = decisive.iter().find(|finding| !self.holds(finding));
        let why = match (against.or(decisive.first()), holds) {
            (Some(finding), _) => finding.seen.to_string(),
            (None, true) => "nothing was seen against it".to_owned(),
            (None, false) => "what would show it was not run".to_owned(),
        };
        Ruling {
            requirement: self.to_string(),
            holds,
            why,
        }
    }

    /// The findings that decide it; for [`Requirement::NoHangs`], those against it.
    fn decisive<'r>(&self, report: &'r Report) -> Vec<&'r Finding> {
        let findings = report.checks.iter().flat_map(|of_check| {
            let check = of_check.check;
            of_check
                .findings
                .iter()
                .map(move |finding| (check, finding))
        });
        let overall = report.overall.iter();
        match self {
            Self::NoHangs => findings
                .filter(|(_, finding)| is_hang(finding))
                .map(|(_, finding)| finding)
                .collect(),
            Self::MaxOverheadMs(_) => overall
                .filter(|finding| matches!(finding.seen, Seen::Overhead(_)))
                .collect(),
            Self::MaxFirstTokens(_) => overall
                .filter(|finding| matches!(finding.seen, Seen::FirstRequest(_)))
                .collect(),
            _ => findings
                .filter(|(check, finding)| self.checks().contains(check) && self.is_about(finding))
                .map(|(_, finding)| finding)
                .collect(),
        }
    }

    const fn is_about(&self, finding: &Finding) -> bool {
        match (self, &finding.seen) {
            (Self::Stops | Self::MaxTurns(_) | Self::MaxCost(_), Seen::Stops(_))
            | (Self::MaxAttempts(_) | Self::Retries, Seen::Attempts(_))
            | (Self::HonoursRetryAfter, Seen::RetryAfter(_))
            | (
                Self::ToldWhy | Self::AnswersUnknownTool | Self::AnswersMalformedArguments,
                Seen::ToldWhy(_),
            )
            | (Self::AnswersParallel, Seen::Parallel(_))
            | (Self::RunsRepeatsOnce, Seen::Repeats(_)) => true,
            _ => matches!(finding.seen, Seen::NoTools),
        }
    }

    fn holds(&self, finding: &Finding) -> bool {
        match (self, &finding.seen) {
            (Self::MaxTurns(most), Seen::Stops(stops)) => {
                stops.stop == Stop::Itself && stops.turns <= *most
            }
            (Self::MaxCost(most), Seen::Stops(stops)) => {
                stops.stop == Stop::Itself && stops.cost <= *most
            }
            (Self::MaxAttempts(most), Seen::Attempts(seen)) => {
                seen.failed > 0 && seen.attempts.seen() <= *most && seen.is_exact()
            }
            (Self::Retries, Seen::Attempts(seen)) => seen.attempts.seen() > 1,
            (Self::RunsRepeatsOnce, Seen::Repeats(seen)) => {
                seen.answered && seen.executed == Some(1)
            }
            (Self::MaxOverheadMs(most), Seen::Overhead(seen)) => seen
                .median_us
                .is_some_and(|median| median <= u64::from(*most) * 1_000),
            (Self::MaxFirstTokens(most), Seen::FirstRequest(first)) => first.prompt_tokens <= *most,
            (Self::NoHangs, _) => false,
            _ => finding.verdict == Verdict::Good,
        }
    }
}

/// A positive amount of dollars.
fn positive(text: &str) -> Option<PicoUsd> {
    let amount: PicoUsd = text.parse().ok()?;
    (amount > PicoUsd::ZERO).then_some(amount)
}

fn is_hang(finding: &Finding) -> bool {
    matches!(
        finding.seen,
        Seen::Ends {
            ending: Ending::TimeUp
        }
    )
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stops => f.write_str("stops"),
            Self::MaxTurns(most) => write!(f, "max-turns={most}"),
            Self::MaxCost(most) => write!(f, "max-cost={}", most.to_shortest()),
            Self::MaxAttempts(most) => write!(f, "max-attempts={most}"),
            Self::Retries => f.write_str("retries"),
            Self::HonoursRetryAfter => f.write_str("honours-retry-after"),
            Self::ToldWhy => f.write_str("told-why"),
            Self::AnswersUnknownTool => f.write_str("answers-unknown-tool"),
            Self::AnswersMalformedArguments => f.write_str("answers-malformed-arguments"),
            Self::AnswersParallel => f.write_str("answers-parallel"),
            Self::RunsRepeatsOnce => f.write_str("runs-repeats-once"),
            Self::NoHangs => f.write_str("no-hangs"),
            Self::MaxOverheadMs(most) => write!(f, "max-overhead-ms={most}"),
            Self::MaxFirstTokens(most) => write!(f, "max-first-tokens={most}"),
        }
    }
}

/// Whether a requirement holds, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ruling {
    /// The requirement, as it is typed.
    pub requirement: String,
    /// Whether it holds.
    pub holds: bool,
    /// The finding that decides it.
    pub why: String,
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.holds { "holds" } else { "does not hold" };
        write!(f, "{} {verb}: {}", self.requirement, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_as_they_are_printed() {
        for form in FORMS {
            let text = form.replace("=N", "=7").replace("=USD", "=0.05");
            assert_eq!(text.parse::<Requirement>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_requirements_are_refused_with_what_to_write() {
        for (text, expected) in [
            ("stop", "stops"),
            ("max-cost", "write max-cost=USD"),
            ("stops=1", "write stops"),
            ("max-cost=0", "such as max-cost=20"),
            ("max-attempts=x", "write max-attempts=N"),
            ("", "max-first-tokens"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
