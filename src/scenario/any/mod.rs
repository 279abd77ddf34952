//! Scenarios for tools that nobody has described to us: they use the tools that a request
//! declares, with arguments made up from their JSON Schemas.

mod failing;
mod merge;
mod pattern;
mod scalar;
mod schema;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Map, Value};

pub use self::failing::GivenCalls;
use super::Said;
use crate::message::{ToolCall, to_json};

/// A scenario that works with any tools. A reply depends on the turn, the tools and a seed, and
/// on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnyScenario {
    /// Calls a tool, then answers.
    Once,
    /// Calls a tool at every turn and never answers.
    Runaway,
    /// Calls a tool twice with the same arguments, then answers.
    Repeat,
    /// Makes two calls or three in one message, then answers.
    Parallel,
    /// Makes three calls of one tool in one message, then answers.
    ParallelOne,
    /// Calls a tool that does not exist, then answers.
    UnknownTool,
    /// Calls a tool with arguments that are not JSON, then answers.
    BadArguments,
    /// Calls a tool so that it probably fails, twice, then answers.
    FailingTool,
}

/// A tool as a request declares it.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredTool<'a> {
    /// Its name.
    pub name: &'a str,
    /// The JSON Schema of its arguments; `null` where there is none.
    pub parameters: &'a Value,
}

/// What an [`AnyScenario`] replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnyReply {
    /// The reply.
    pub said: Said,
    /// The tools that are called with arguments which their schemas may not allow, because none
    /// that they allow were found.
    pub unsure: Vec<String>,
}

/// Tools by which some frameworks want the answer given.
const ANSWERING_TOOLS: [&str; 2] = ["final_answer", "final_result"];

/// Whether a tool of this name is one by which some frameworks want the answer given.
#[must_use]
pub fn is_answering_tool(name: &str) -> bool {
    ANSWERING_TOOLS.contains(&name)
}

/// A call of the tool by which a request wants the answer given: `answer` as the first text among
/// the tool's arguments. None where the request declares no such tool, or it takes no text.
#[must_use]
pub fn answer_by_tool(answer: &str, turn: u32, tools: &[DeclaredTool<'_>]) -> Option<ToolCall> {
    let tool = tools.iter().find(|tool| is_answering_tool(tool.name))?;
    let takes = tool.parameters.get("properties")?.as_object()?;
    let is_text = |schema: &Value| schema.get("type").is_none_or(|kind| kind == "string");
    // Some frameworks give the argument no type or `any`, which takes a text as well.
    let is_any = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "any");
    let (argument, _) = takes
        .iter()
        .find(|(_, schema)| is_text(schema) || is_any(schema))?;
    Some(ToolCall {
        id: format!("call_{turn}_answer"),
        name: tool.name.to_owned(),
        arguments: to_json(&Map::from_iter([(argument.clone(), answer.into())])),
    })
}

/// The answer, where it is prose.
const ANSWER: &str = "That is done.";
const UNKNOWN_TOOL: &str = "no_such_tool";
/// The most calls of one message.
const MOST_PARALLEL: usize = 3;

impl AnyScenario {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Once,
        Self::Runaway,
        Self::Repeat,
        Self::Parallel,
        Self::ParallelOne,
        Self::UnknownTool,
        Self::BadArguments,
        Self::FailingTool,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "any-once",
            Self::Runaway => "any-runaway",
            Self::Repeat => "any-repeat",
            Self::Parallel => "any-parallel",
            Self::ParallelOne => "any-parallel-one",
            Self::UnknownTool => "any-unknown-tool",
            Self::BadArguments => "any-bad-arguments",
            Self::FailingTool => "any-failing-tool",
        }
    }

    /// What it shows, in one line.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Once => "Calls one of the request's own tools, answers",
            Self::Runaway => "Calls one of the request's own tools for ever and never answers",
            Self::Repeat => "Makes the same call of one of the request's own tools twice, answers",
            Self::Parallel => "Makes several calls of the request's own tools at once, answers",
            Self::ParallelOne => {
                "Makes three calls of one of the request's own tools at once, answers"
            }
            Self::UnknownTool => "Calls a tool that the request does not declare, answers",
            Self::BadArguments => "Calls one of the request's own tools with broken JSON, answers",
            Self::FailingTool => {
                "Asks one of the request's own tools for what does not exist, answers"
            }
        }
    }

    /// The scenario of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|any| any.as_str() == name)
    }

    /// The reply at a turn to a request that declares `tools`. Without tools, it is prose.
    #[must_use]
    pub fn reply(self, turn: u32, tools: &[DeclaredTool<'_>], seed: u64) -> AnyReply {
        let usable = usable(tools);
        let mut making = Making::new(turn, seed);
        let Some(first) = usable.first() else {
            return making.prose();
        };
        match (self, turn) {
            (Self::Once, 0) | (Self::Runaway, _) => making.call(first, u64::from(turn)),
            (Self::Repeat, 0 | 1) => making.call(first, 0),
            (Self::Parallel, 0) => {
                let calls = usable.len().clamp(2, MOST_PARALLEL);
                for (draw, tool) in (0..).zip(usable.iter().cycle().take(calls)) {
                    making.call(tool, draw);
                }
            }
            (Self::ParallelOne, 0) => {
                for draw in 0..MOST_PARALLEL as u64 {
                    making.call(first, draw);
                }
            }
            (Self::UnknownTool, 0) => making.push(UNKNOWN_TOOL, "{}".to_owned()),
            (Self::BadArguments, 0) => making.broken_call(first),
            (Self::FailingTool, 0..failing::FAILURES) => {
                match failing::likely(&usable, turn, seed) {
                    Some((tool, arguments)) => making.push(&tool, arguments),
                    None => return making.answer(tools),
                }
            }
            _ => return making.answer(tools),
        }
        making.calls()
    }
}

impl GivenCalls {
    /// The reply at a turn to a request that declares `tools`: a call each turn, then the answer.
    #[must_use]
    pub fn reply(&self, turn: u32, tools: &[DeclaredTool<'_>], seed: u64) -> AnyReply {
        let mut making = Making::new(turn, seed);
        let at = usize::try_from(turn).unwrap_or(usize::MAX);
        match self.arguments.get(at) {
            Some(arguments) => {
                making.push(&self.tool, arguments.clone());
                making.calls()
            }
            None => making.answer(tools),
        }
    }
}

/// The tools that do something; those for the answer only where there are no others.
fn usable<'t, 'a>(tools: &'t [DeclaredTool<'a>]) -> Vec<&'t DeclaredTool<'a>> {
    let working = tools.iter().filter(|tool| !is_answering_tool(tool.name));
    let working: Vec<_> = working.collect();
    if working.is_empty() {
        tools.iter().collect()
    } else {
        working
    }
}

/// A reply that is being put together.
struct Making {
    turn: u32,
    seed: u64,
    calls: Vec<ToolCall>,
    unsure: Vec<String>,
}

impl Making {
    const fn new(turn: u32, seed: u64) -> Self {
        Self {
            turn,
            seed,
            calls: Vec::new(),
            unsure: Vec::new(),
        }
    }

    /// Adds a call; calls of one tool with one `draw` have the same arguments.
    fn call(&mut self, tool: &DeclaredTool<'_>, draw: u64) {
        let arguments = self.arguments(tool, draw);
        self.push(tool.name, arguments);
    }

    /// Adds a call whose arguments break off before their closing brace.
    fn broken_call(&mut self, tool: &DeclaredTool<'_>) {
        let mut arguments = self.arguments(tool, 0);
        arguments.pop();
        self.push(tool.name, arguments);
    }

    fn arguments(&mut self, tool: &DeclaredTool<'_>, draw: u64) -> String {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(draw);
        let made = schema::arguments(tool.parameters, &mut rng);
        if made.certainty == schema::Certainty::Unsure {
            self.unsure.push(tool.name.to_owned());
        }
        to_json(&made.value)
    }

    fn push(&mut self, tool: &str, arguments: String) {
        let id = format!("call_{}_{}", self.turn, self.calls.len());
        self.calls.push(ToolCall {
            id,
            name: tool.to_owned(),
            arguments,
        });
    }

    /// The answer: through the tool that is there for it, or else in prose.
    fn answer(mut self, tools: &[DeclaredTool<'_>]) -> AnyReply {
        match tools.iter().find(|tool| is_answering_tool(tool.name)) {
            Some(tool) => {
                self.call(tool, 0);
                self.calls()
            }
            None => self.prose(),
        }
    }

    fn prose(self) -> AnyReply {
        let said = Said {
            content: Some(ANSWER.to_owned()),
            tool_calls: Vec::new(),
        };
        let unsure = self.unsure;
        AnyReply { said, unsure }
    }

    fn calls(self) -> AnyReply {
        let said = Said {
            content: None,
            tool_calls: self.calls,
        };
        let unsure = self.unsure;
        AnyReply { said, unsure }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(any: AnyScenario, turn: u32, names: &[&str]) -> String {
        let schema =
            json!({"type": "object", "properties": {"n": {"const": 1}}, "required": ["n"]});
        let tools: Vec<_> = names
            .iter()
            .map(|name| DeclaredTool {
                name,
                parameters: &schema,
            })
            .collect();
        let said = any.reply(turn, &tools, 0).said;
        let calls = said
            .tool_calls
            .iter()
            .map(|call| format!("{}: {} {}", call.id, call.name, call.arguments));
        said.content
            .iter()
            .cloned()
            .chain(calls)
            .collect::<Vec<_>>()
            .join(" | ")
    }

    #[test]
    fn an_answer_by_tool_is_the_first_text_that_the_tool_takes() {
        let by = |name, properties: Value| {
            let parameters = json!({"properties": properties});
            let tool = DeclaredTool {
                name,
                parameters: &parameters,
            };
            answer_by_tool("so", 2, &[tool]).map(|call| call.arguments)
        };
        let two = json!({"n": {"type": "integer"}, "text": {"type": "string"}});
        assert_eq!(
            by("final_answer", two.clone()).as_deref(),
            Some(r#"{"text":"so"}"#)
        );
        assert_eq!(
            by("final_result", json!({"a": {}})).as_deref(),
            Some(r#"{"a":"so"}"#)
        );
        assert_eq!(by("final_answer", json!({"n": {"type": "integer"}})), None);
        assert_eq!(by("other", two), None);
    }

    #[test]
    fn each_scenario_does_what_its_name_says() {
        use AnyScenario::{
            BadArguments, FailingTool, Once, Parallel, ParallelOne, Repeat, Runaway, UnknownTool,
        };
        let n = r#"{"n":1}"#;
        for (any, turn, reply) in [
            (Once, 0, format!("call_0_0: f {n}")),
            (Once, 1, ANSWER.to_owned()),
            (Runaway, 7, format!("call_7_0: f {n}")),
            (Repeat, 0, format!("call_0_0: f {n}")),
            (Repeat, 1, format!("call_1_0: f {n}")),
            (Repeat, 2, ANSWER.to_owned()),
            (Parallel, 0, format!("call_0_0: f {n} | call_0_1: g {n}")),
            (Parallel, 1, ANSWER.to_owned()),
            (
                ParallelOne,
                0,
                format!("call_0_0: f {n} | call_0_1: f {n} | call_0_2: f {n}"),
            ),
            (UnknownTool, 0, "call_0_0: no_such_tool {}".to_owned()),
            (BadArguments, 0, "call_0_0: f {\"n\":1".to_owned()),
            (BadArguments, 1, ANSWER.to_owned()),
            (FailingTool, 0, ANSWER.to_owned()),
        ] {
            assert_eq!(shown(any, turn, &["f", "g"]), reply, "{any:?} {turn}");
        }
        assert_eq!(
            shown(Parallel, 0, &["f"]),
            format!("call_0_0: f {n} | call_0_1: f {n}")
        );
    }

    #[test]
    fn without_tools_there_is_prose() {
        for any in AnyScenario::ALL {
            assert_eq!(shown(any, 0, &[]), ANSWER);
            assert_eq!(AnyScenario::named(any.as_str()), Some(any));
        }
    }

    #[test]
    fn calls_that_are_given_are_made_one_a_turn_and_then_comes_the_answer() {
        let given = GivenCalls {
            tool: "g".to_owned(),
            arguments: vec!["{}".to_owned(), "[".to_owned()],
        };
        let said = |turn| given.reply(turn, &[], 0).said;
        assert_eq!(said(0).tool_calls[0].arguments, "{}");
        assert_eq!(said(1).tool_calls[0].arguments, "[");
        assert_eq!(said(1).tool_calls[0].id, "call_1_0");
        assert_eq!(said(2).content.as_deref(), Some(ANSWER));
    }

    #[test]
    fn an_answer_goes_through_the_tool_that_is_there_for_it() {
        let tools = ["final_answer", "f"];
        assert!(shown(AnyScenario::Once, 0, &tools).starts_with("call_0_0: f "));
        assert!(shown(AnyScenario::Once, 1, &tools).starts_with("call_1_0: final_answer "));
    }

    #[test]
    fn a_repeated_call_has_the_same_arguments_and_a_runaway_has_others() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let tool = [DeclaredTool {
            name: "f",
            parameters: &schema,
        }];
        let arguments = |any: AnyScenario, turn| {
            let said = any.reply(turn, &tool, 3).said;
            said.tool_calls[0].arguments.clone()
        };
        assert_eq!(
            arguments(AnyScenario::Repeat, 0),
            arguments(AnyScenario::Repeat, 1)
        );
        let runaway: std::collections::BTreeSet<_> = (0..20)
            .map(|turn| arguments(AnyScenario::Runaway, turn))
            .collect();
        assert!(runaway.len() > 5, "{runaway:?}");
    }
}
