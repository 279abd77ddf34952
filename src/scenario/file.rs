//! The form of a scenario file, and what must hold of it beyond its form.

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::check::{Answered, check_ids};
use super::{Fault, Pace, Scenario, SpecError, Speech, Step, Turns, UsageOverride};
use crate::document::{Findings, Mended, Problems};
use crate::message::{ToolCall, to_json};

/// A script for a model: of its steps, the first that matches the conversation gives the reply.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioFile {
    /// What the scenario shows, in one line.
    #[schemars(length(min = 1))]
    title: String,
    /// How long replies take, such as `ttft=200ms,per_token=10ms`.
    latency: Option<String>,
    /// How the endpoint fails, such as `turn=1,first=2,kind=429,retry_after=3`.
    #[serde(default)]
    faults: Vec<String>,
    /// The replies, tried in order; the last must match every conversation.
    #[schemars(length(min = 1))]
    step: Vec<StepFile>,
}

/// One reply: prose, tool calls or both. In all its texts `{turn}` becomes the turn's index.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepFile {
    /// The only turn of the step, counted from 0.
    turn: Option<u32>,
    /// The first turn of the step, counted from 0.
    from_turn: Option<u32>,
    /// A regular expression that must match the tool results so far, joined by line breaks.
    pub(super) when: Option<String>,
    /// A regular expression that must not match the tool results so far.
    pub(super) unless: Option<String>,
    /// The prose.
    say: Option<String>,
    /// The tool calls.
    #[serde(default)]
    pub(super) calls: Vec<CallFile>,
    /// Figures of the usage that are fixed instead of counted.
    usage: Option<UsageFile>,
}

/// Figures of a reply's usage; those that are left out are counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the keys are those of the wire")]
struct UsageFile {
    /// Tokens sent.
    prompt_tokens: Option<u64>,
    /// Tokens written.
    completion_tokens: Option<u64>,
    /// The part of the tokens sent that was cached.
    cached_tokens: Option<u64>,
    /// The part of the tokens sent that was put into a cache.
    cache_write_tokens: Option<u64>,
    /// Hidden reasoning, on top of the counted tokens of the reply.
    reasoning_tokens: Option<u64>,
}

impl UsageFile {
    const fn build(self) -> UsageOverride {
        UsageOverride {
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            cached_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: self.reasoning_tokens,
        }
    }
}

/// One tool call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallFile {
    /// The call's id, different for every call of a run.
    #[schemars(length(min = 1))]
    pub(super) id: String,
    /// The tool's name.
    #[schemars(length(min = 1))]
    tool: String,
    /// The arguments as a table; none at all if left out.
    arguments: Option<Map<String, Value>>,
    /// The arguments as a text that is sent as it is, JSON or not.
    arguments_text: Option<String>,
}

impl StepFile {
    pub(super) fn turns(&self) -> Turns {
        match (self.turn, self.from_turn) {
            (Some(turn), _) => Turns::Exactly(turn),
            (None, first) => Turns::From(first.unwrap_or(0)),
        }
    }

    /// Whether the file leaves no doubt at which turns this step, at `at`, may speak.
    pub(super) fn has_sure_turns(at: &str, findings: &Findings<'_>) -> bool {
        let is_sound = |key: &str| findings.is_sound(&format!("{at}/{key}"));
        is_sound("turn") && is_sound("from_turn")
    }

    pub(super) const fn is_conditional(&self) -> bool {
        self.when.is_some() || self.unless.is_some()
    }

    fn always_matches(&self) -> bool {
        !self.is_conditional() && self.turns() == Turns::From(0)
    }

    /// What cannot stand together in one step, and what must.
    fn check(&self, at: &str, findings: &mut Findings<'_>) {
        let is_written = |key: &str| findings.is_key_certain(&format!("{at}/{key}"));
        if self.turn.is_some() && self.from_turn.is_some() && is_written("turn") {
            findings.add_to_key(
                &format!("{at}/from_turn"),
                "`turn` and `from_turn` in one step",
                "keep one: `turn` is that turn only, `from_turn` that turn and all after it",
            );
        }
        let is_silent = self.calls.is_empty() && self.say.as_ref().is_none_or(String::is_empty);
        if is_silent && findings.are_certain(at, &["calls", "say"]) {
            findings.add(
                at,
                "the step has no reply",
                "add `say`, the prose, or `calls`, the tool calls, or both",
            );
        }
        for (index, call) in self.calls.iter().enumerate() {
            let at = format!("{at}/calls/{index}");
            let is_written = findings.is_key_certain(&format!("{at}/arguments"));
            if call.arguments.is_some() && call.arguments_text.is_some() && is_written {
                findings.add_to_key(
                    &format!("{at}/arguments_text"),
                    "`arguments` and `arguments_text` in one call",
                    "keep one: `arguments` is a table, `arguments_text` is sent as it is",
                );
            }
        }
    }

    /// The step, as far as its regular expressions are right.
    fn build(&self, at: &str, findings: &mut Findings<'_>) -> Step {
        let mut compile = |key: &str, pattern: &Option<String>| {
            let compiled = Regex::new(pattern.as_ref()?);
            compiled
                .map_err(|error| {
                    let message = format!("not a regular expression: {}", reason(&error));
                    let help = "the syntax is that of https://docs.rs/regex/latest/regex/#syntax";
                    findings.add(&format!("{at}/{key}"), &message, help);
                })
                .ok()
        };
        Step {
            turns: self.turns(),
            when: compile("when", &self.when),
            unless: compile("unless", &self.unless),
            speech: Speech {
                say: self.say.clone(),
                calls: self.calls.iter().map(CallFile::build).collect(),
                usage: self.usage.unwrap_or_default().build(),
            },
        }
    }
}

impl CallFile {
    fn build(&self) -> ToolCall {
        let arguments = match (&self.arguments_text, &self.arguments) {
            (Some(text), _) => text.clone(),
            (None, Some(table)) => to_json(table),
            (None, None) => to_json(&Map::new()),
        };
        ToolCall {
            id: self.id.clone(),
            name: self.tool.clone(),
            arguments,
        }
    }
}

/// The last line of a regular expression's error; those before it draw the expression.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl ScenarioFile {
    /// The scenario, if all holds that the schema cannot say.
    pub(super) fn build(&self, name: &str, mended: &Mended) -> Result<Scenario, Problems> {
        let Some((last, earlier)) = self.step.split_last() else {
            let empty = mended.document();
            return Err(Problems::one(empty.problem(
                "/step",
                "must not be empty",
                None,
            )));
        };
        let mut findings = mended.findings();
        let mut answered = Answered::default();
        for (index, step) in self.step.iter().enumerate() {
            let at = format!("/step/{index}");
            step.check(&at, &mut findings);
            answered.check(step, &at, &mut findings);
        }
        check_ids(&self.step, &mut findings);
        let at_last = format!("/step/{}", earlier.len());
        let is_guessed = |key: &&str| !findings.is_key_certain(&format!("{at_last}/{key}"));
        let in_doubt = ["turn", "from_turn", "when", "unless"]
            .iter()
            .any(is_guessed);
        if !last.always_matches() && !in_doubt {
            findings.add(
                &at_last,
                "the last step does not match every conversation",
                "end with a step without `turn`, `from_turn`, `when` and `unless`, so that every \
                 conversation has a reply",
            );
        }
        let steps = earlier
            .iter()
            .enumerate()
            .map(|(index, step)| step.build(&format!("/step/{index}"), &mut findings))
            .collect();
        let otherwise = last.build(&at_last, &mut findings).speech;
        let pace = self.pace(&mut findings);
        let faults = self.faults(&mut findings);
        findings.finish()?;
        Ok(Scenario {
            name: name.to_owned(),
            title: self.title.clone(),
            source: mended.document().text().to_owned(),
            pace,
            faults,
            steps,
            otherwise,
        })
    }

    fn pace(&self, findings: &mut Findings<'_>) -> Pace {
        let Some(line) = &self.latency else {
            return Pace::NONE;
        };
        line.parse().unwrap_or_else(|error| {
            add_spec_error("/latency", &error, findings);
            Pace::NONE
        })
    }

    fn faults(&self, findings: &mut Findings<'_>) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (index, line) in self.faults.iter().enumerate() {
            match line.parse() {
                Ok(fault) => faults.push(fault),
                Err(error) => add_spec_error(&format!("/faults/{index}"), &error, findings),
            }
        }
        faults
    }
}

fn add_spec_error(at: &str, error: &SpecError, findings: &mut Findings<'_>) {
    let SpecError { part, why, help } = error;
    findings.add(at, &format!("`{part}` {why}"), help);
}
