//! What the model is told when a call cannot succeed.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Serialize, Serializer};

use super::check::Check;
use super::ending::Ending;
use super::finding::{Evidence, Finding, Seen, Verdict, quote};
use super::observation::{Heard, Observation, Replied};
use crate::message::ToolCall;
use crate::server::{Channel, Oddity};

/// What the model is told of a call that cannot succeed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ToldWhy {
    /// What it is told.
    pub told: Told,
    /// In which kind of message; none where it is not told.
    #[serde(serialize_with = "channel_name")]
    pub channel: Option<Channel>,
}

/// What the model is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// Something; whose words these are is of no account.
    Something,
    /// The tool's own words: they name what the call asked for, or differ between two failures.
    OwnWords,
    /// The same sentence for two different failures, and no reason in it.
    FixedSentence,
    /// Something that gives a reason, and may be a fixed sentence all the same.
    AReason,
    /// Something that gives no reason, of a failure that was provoked only once.
    NoReason,
    /// Nothing: the next request says nothing of the call.
    Nothing,
    /// Nothing: the agent ended without another request.
    EndedWithout,
    /// Nothing: the agent ended with an error.
    Crashed,
    /// Nothing: the agent did not go on.
    Hung,
    /// The call does not seem to have failed.
    NoFailure,
    /// None of the tools names a thing that may not exist, so no failure was tried.
    NotProvoked,
}

impl Told {
    /// In a few words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Something => "told",
            Self::OwnWords => "own words",
            Self::FixedSentence => "a fixed sentence",
            Self::AReason => "a reason",
            Self::NoReason => "no reason",
            Self::Nothing => "nothing",
            Self::EndedWithout => "ends without telling",
            Self::Crashed => "crashes",
            Self::Hung => "hangs",
            Self::NoFailure | Self::NotProvoked => "not provoked",
        }
    }

    const fn verdict(self) -> Verdict {
        match self {
            Self::Something | Self::OwnWords => Verdict::Good,
            Self::FixedSentence
            | Self::Nothing
            | Self::EndedWithout
            | Self::Crashed
            | Self::Hung => Verdict::Bad,
            Self::AReason | Self::NoReason | Self::NoFailure | Self::NotProvoked => {
                Verdict::Unclear
            }
        }
    }
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
fn channel_name<S: Serializer>(channel: &Option<Channel>, to: S) -> Result<S::Ok, S::Error> {
    match channel {
        Some(Channel::Tool) => to.serialize_str("tool"),
        Some(Channel::User) => to.serialize_str("user"),
        None => to.serialize_none(),
    }
}

impl fmt::Display for ToldWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.told {
            Told::Something => "the model is told",
            Told::OwnWords => "the model is told why, in the tool's own words",
            Told::FixedSentence => {
                "the model is not told why: two different failures get the same sentence"
            }
            Told::AReason => {
                "the model is given a reason, which may be the same for every failure; two calls \
                 that fail differently, given by --tool and --failing-arguments, would tell"
            }
            Told::NoReason => {
                "the model is told, perhaps without the reason; a second call that fails \
                 differently, given by --failing-arguments, would tell"
            }
            Told::Nothing => "the model is not told: the next request says nothing of the call",
            Told::EndedWithout => "the model is not told: no request follows",
            Told::Crashed => "the model is not told: it crashes",
            Told::Hung => "the model is not told: it hangs",
            Told::NoFailure => {
                "the call does not seem to have failed; --tool and --failing-arguments say how \
                 one of the tools can be made to fail"
            }
            Told::NotProvoked => {
                "no tool was found that can be asked for what does not exist; --tool and \
                 --failing-arguments say how one of the tools can be made to fail"
            }
        })?;
        if self.channel == Some(Channel::User) {
            f.write_str(" (as text of the user, with no tool message)")?;
        }
        Ok(())
    }
}

/// What is found of calls that cannot succeed. `known_to_fail` says that somebody who knows the
/// tools gave the arguments.
pub(super) fn finding(seen: &Observation, known_to_fail: bool) -> Finding {
    if seen.has_no_tools() {
        return Finding::new(Seen::NoTools, Verdict::NotApplicable, Vec::new());
    }
    let calls = calls(seen);
    let Some((reply, call)) = calls.first() else {
        return of(Told::NotProvoked, None, Vec::new());
    };
    let made = Evidence::at(
        reply.exchange.number,
        format!(
            "calls {} with {}",
            quote(&call.name),
            quote(&call.arguments)
        ),
    );
    let heard: Vec<(Heard, &ToolCall)> = calls
        .iter()
        .filter_map(|(reply, call)| Some((seen.heard(reply, call)?, *call)))
        .collect();
    let mut evidence = vec![made];
    let odd = reply.asked.oddities.iter();
    let undeclared = odd.filter(|odd| matches!(odd, Oddity::UndeclaredTool { .. }));
    evidence.extend(undeclared.map(|odd| Evidence::at(reply.exchange.number, odd.to_string())));
    evidence.extend(
        heard.iter().map(|(heard, _)| {
            Evidence::at(heard.exchange, format!("tells {}", quote(&heard.text)))
        }),
    );
    let Some((first, _)) = heard.first() else {
        let told = unheard(seen, reply);
        if told == Told::Crashed {
            evidence.extend(seen.last_words.evidence());
        }
        return of(told, None, evidence);
    };
    let told = match seen.check {
        Check::FailingTool => wording(&heard, known_to_fail),
        _ => Told::Something,
    };
    of(told, Some(first.channel), evidence)
}

fn of(told: Told, channel: Option<Channel>, evidence: Vec<Evidence>) -> Finding {
    Finding::new(
        Seen::ToldWhy(ToldWhy { told, channel }),
        told.verdict(),
        evidence,
    )
}

/// The calls that cannot succeed: the first of each turn, before the answer.
fn calls(seen: &Observation) -> Vec<(Replied<'_>, &ToolCall)> {
    seen.replies()
        .filter_map(|reply| Some((reply, reply.calls.first()?)))
        .filter(|(_, call)| !crate::scenario::is_answering_tool(&call.name))
        .collect()
}

/// Why nothing was heard of a call.
fn unheard(seen: &Observation, reply: &Replied<'_>) -> Told {
    if seen.next(reply).is_some() {
        return Told::Nothing;
    }
    match seen.ending {
        Ending::Exception { .. } | Ending::Killed { .. } => Told::Crashed,
        Ending::TimeUp | Ending::RequestLimit | Ending::Stopped => Told::Hung,
        Ending::Result | Ending::PartialResult | Ending::Silence => Told::EndedWithout,
    }
}

/// Words of failures.
static FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)error|exception|fail|not found|no such|n[o']t exist|denied|invalid|cannot|can't|could ?n[o']t|unable|traceback|missing|unknown|refused|mistake|wrong|404",
    )
    .ok()
});

/// Words of reasons of failures.
static REASON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)not found|no such|n[o']t exist|denied|missing|unknown|refused|timed? ?out|unreachable|404|not a |must be",
    )
    .ok()
});

fn says(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whose words they are.
fn wording(heard: &[(Heard, &ToolCall)], known_to_fail: bool) -> Told {
    let texts: Vec<String> = heard
        .iter()
        .map(|(heard, call)| without_echo(&heard.text, call))
        .collect();
    if !known_to_fail && !texts.iter().any(|text| says(&FAILURE, text)) {
        return Told::NoFailure;
    }
    let named = heard.iter().zip(&texts).any(|((_, call), text)| {
        let mut values = text_values(&call.arguments).into_iter();
        values.any(|value| text.contains(&value))
    });
    let reason = texts.iter().any(|text| says(&REASON, text));
    let mut others = texts.iter().skip(1);
    match (texts.first(), reason) {
        _ if named => Told::OwnWords,
        (Some(first), _) if others.any(|other| other != first) => Told::OwnWords,
        (_, true) => Told::AReason,
        _ if texts.len() > 1 => Told::FixedSentence,
        _ => Told::NoReason,
    }
}

/// A text without what a framework may add of the call itself: its id and its arguments.
fn without_echo(text: &str, call: &ToolCall) -> String {
    let mut text = text.replace(&call.id, "");
    let python = call.arguments.replace('"', "'").replace("':'", "': '");
    for echo in [&call.arguments, &python] {
        if echo.len() > 2 {
            text = text.replace(echo.as_str(), "");
        }
    }
    text
}

/// The texts and numbers among arguments that are distinctive enough to be recognised.
fn text_values(arguments: &str) -> Vec<String> {
    let parsed: Option<serde_json::Value> = serde_json::from_str(arguments).ok();
    let values = parsed.as_ref().and_then(serde_json::Value::as_object);
    let texts = values.into_iter().flat_map(|object| object.values());
    texts
        .filter_map(|value| match value {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
        .filter(|text| text.len() >= 4)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(turn: u32) -> ToolCall {
        ToolCall {
            id: format!("call_{turn}_0"),
            name: "read_file".to_owned(),
            arguments: format!(r#"{{"path":"absent-{turn}"}}"#),
        }
    }

    fn told(texts: &[&str], known_to_fail: bool) -> Told {
        let calls: Vec<_> = (1..).map(call).take(texts.len()).collect();
        let heard = texts.iter().map(|text| Heard {
            exchange: 1,
            channel: Channel::Tool,
            text: (*text).to_owned(),
        });
        wording(&heard.zip(&calls).collect::<Vec<_>>(), known_to_fail)
    }

    #[test]
    fn own_words_name_what_was_asked_for_or_differ() {
        assert_eq!(told(&["no such file: absent-1"], false), Told::OwnWords);
        assert_eq!(
            told(&["error: disk on fire", "error: no disk"], false),
            Told::OwnWords
        );
    }

    #[test]
    fn one_sentence_for_two_failures_is_a_fixed_one() {
        let fixed = "An error occurred while running the tool.";
        assert_eq!(told(&[fixed, fixed], false), Told::FixedSentence);
        assert_eq!(
            told(&["call_1_0 failed", "call_2_0 failed"], false),
            Told::FixedSentence
        );
        let echo = |turn| format!("Error executing read_file with {{'path': 'absent-{turn}'}}");
        assert_eq!(told(&[&echo(1), &echo(2)], false), Told::FixedSentence);
    }

    #[test]
    fn one_failure_alone_does_not_show_whether_the_sentence_is_fixed() {
        assert_eq!(told(&["error"], false), Told::NoReason);
        assert_eq!(told(&["file not found"; 2], false), Told::AReason);
    }

    #[test]
    fn a_result_is_not_taken_for_a_failure_unless_it_is_known_to_be_one() {
        assert_eq!(told(&["3 hits", "3 hits"], false), Told::NoFailure);
        assert_eq!(told(&["computer says no"; 2], true), Told::FixedSentence);
    }
}
