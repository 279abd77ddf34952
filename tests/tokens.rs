//! The published token counts and prices, recomputed from the committed texts alone.
//!
//! Every transcript is written out by hand and every request is counted from its beginning, so
//! that this file fails where a text was changed, whatever the loop and the scripts do.

use loopmeter::message::{Message, ToolCall};
use loopmeter::tokens::{RunningCount, count_completion, count_messages, count_tools};
use loopmeter::tools::definitions::chapter;

const SYSTEM: &str = include_str!("../experiments/world/system.txt");
const USER: &str = include_str!("../experiments/world/user.txt");
const ACCESS_LOG: &str = include_str!("../experiments/world/files/access.log");
const ERRORS_LOG: &str = include_str!("../experiments/world/files/errors.log");
const NOTES: &str = include_str!("../experiments/world/files/notes.txt");
const NAMES: &str = r#"["access.log","errors.log","notes.txt"]"#;
const PLAN_ANSWER: &str = "errors.log mentions a timeout: worker 7 timed out after 30000 ms.";
const ANSWER: &str = "errors.log mentions a timeout.";

/// What the model says on one turn, and what it is told.
enum Step {
    Call {
        call: ToolCall,
        result: &'static str,
    },
    Answer(&'static str),
}

fn call(id: &str, name: &str, arguments: &str, result: &'static str) -> Step {
    let call = ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    Step::Call { call, result }
}

fn list_files(id: &str) -> Step {
    call(id, "list_files", "{}", NAMES)
}

fn read_file(id: &str, path: &str, result: &'static str) -> Step {
    call(id, "read_file", &format!(r#"{{"path":"{path}"}}"#), result)
}

fn read_errors(id: &str) -> Step {
    read_file(id, "errors.log", ERRORS_LOG)
}

/// What the provider charged for, turn by turn.
#[derive(Default)]
struct Bill {
    prompt: Vec<u64>,
    completion: Vec<u64>,
}

impl Bill {
    fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let tools = count_tools(&chapter());
        let mut messages = vec![
            Message::System {
                content: SYSTEM.to_owned(),
            },
            Message::User {
                content: USER.to_owned(),
            },
        ];
        let mut bill = Self::default();
        for step in steps {
            bill.prompt.push(count_messages(&messages) + tools);
            bill.completion.push(say(step, &mut messages));
        }
        let running: RunningCount = messages.iter().collect();
        assert_eq!(running.tokens(), count_messages(&messages));
        bill
    }

    fn input(&self) -> u64 {
        self.prompt.iter().sum()
    }

    fn output(&self) -> u64 {
        self.completion.iter().sum()
    }

    /// At $2 and $12 per million tokens, which is as many millionths of a dollar per token.
    fn micro_usd(&self) -> u64 {
        2 * self.input() + 12 * self.output()
    }
}

/// Appends a turn to the transcript and returns what the model wrote, in tokens.
fn say(step: Step, messages: &mut Vec<Message>) -> u64 {
    match step {
        Step::Answer(prose) => {
            messages.push(Message::Assistant {
                content: Some(prose.to_owned()),
                tool_calls: vec![],
            });
            count_completion(Some(prose), &[])
        }
        Step::Call { call, result } => {
            let tokens = count_completion(None, std::slice::from_ref(&call));
            messages.push(Message::Assistant {
                content: None,
                tool_calls: vec![call.clone()],
            });
            messages.push(Message::Tool {
                tool_call_id: call.id,
                name: call.name,
                content: result.to_owned(),
            });
            tokens
        }
    }
}

fn plan() -> Bill {
    Bill::of([
        list_files("c1"),
        read_errors("c2"),
        Step::Answer(PLAN_ANSWER),
    ])
}

fn runaway(turns: u64) -> Bill {
    Bill::of((0..turns).map(|turn| list_files(&format!("c{turn}"))))
}

fn recover() -> Bill {
    let refusal = "Error: no such file: timeout.log. Call list_files to see what exists.";
    Bill::of([
        read_file("c1", "timeout.log", refusal),
        list_files("c2"),
        read_errors("c3"),
        Step::Answer(ANSWER),
    ])
}

fn denied() -> Bill {
    let refusal = "Error: permission denied: /etc/shadow";
    Bill::of((0..12).map(|turn| read_file(&format!("c{turn}"), "/etc/shadow", refusal)))
}

/// `a / b` in tenths, half up.
fn tenths(a: u64, b: u64) -> u64 {
    (20 * a + b) / (2 * b)
}

#[test]
fn plan_costs_what_was_published() {
    let bill = plan();
    assert_eq!(bill.prompt, [204, 269, 342]);
    assert_eq!(bill.completion, [23, 29, 18]);
    assert_eq!((bill.input(), bill.output()), (815, 70));
    assert_eq!(bill.micro_usd(), 2_470);
}

#[test]
fn the_trace_of_plan_carries_the_published_running_cost() {
    let first = Bill::of([list_files("c1")]);
    let second = Bill::of([list_files("c1"), read_errors("c2")]);
    assert_eq!(first.micro_usd(), 684);
    assert_eq!(second.micro_usd(), 1_570);
    assert_eq!(second.prompt[1] + second.completion[1], 298);
}

#[test]
fn runaway_input_grows_with_the_square_of_the_cap() {
    assert_eq!(runaway(8).input(), 3_431);
    let (fifty, hundred) = (runaway(50), runaway(100));
    assert_eq!(fifty.prompt[..4], [204, 269, 333, 397]);
    assert_eq!(fifty.input(), 88_649);
    assert_eq!(hundred.input(), 337_299);
    assert_eq!(tenths(hundred.input(), fifty.input()), 38);
    assert_eq!(tenths(hundred.micro_usd(), fifty.micro_usd()), 37);
}

#[test]
fn twenty_runaway_turns_cost_about_four_cents() {
    let thousandths = (runaway(20).micro_usd() + 500) / 1_000;
    assert_eq!(thousandths, 38);
}

#[test]
fn a_budget_of_one_cent_is_overshot_by_less_than_a_turn() {
    let budget = 10_000;
    let spent: Vec<u64> = (1..=20).map(|turns| runaway(turns).micro_usd()).collect();
    assert_eq!(spent.iter().find(|&&cost| cost >= budget), Some(&10_780));
}

#[test]
fn denied_costs_what_was_published() {
    let bill = denied();
    assert_eq!(bill.input(), 7_079);
    assert_eq!(bill.micro_usd(), 18_622);
}

#[test]
fn a_worded_error_costs_more_than_a_fatal_one_and_less_than_a_denied_run() {
    let ended_at_once = Bill::of([read_file("c1", "timeout.log", "")]);
    let recovered = recover().micro_usd();
    assert_eq!(tenths(recovered, ended_at_once.micro_usd()), 47);
    assert_eq!(tenths(denied().micro_usd(), recovered), 52);
}

#[test]
fn a_repeated_call_costs_three_quarters_more() {
    let once = Bill::of([read_errors("c1"), Step::Answer(ANSWER)]);
    let twice = Bill::of([read_errors("c1"), read_errors("c2"), Step::Answer(ANSWER)]);
    assert_eq!(twice.prompt, [204, 278, 351]);
    let extra = twice.micro_usd() - once.micro_usd();
    assert_eq!(extra, 1_050);
    let percent = (100 * extra + once.micro_usd() / 2) / once.micro_usd();
    assert_eq!(percent, 75);
}

#[test]
fn the_world_is_what_its_answers_say_of_it() {
    assert!(USER.ends_with('?'));
    assert!(ERRORS_LOG.contains("worker 7 timed out after 30000 ms"));
    assert!(ERRORS_LOG.len() > ACCESS_LOG.len().max(NOTES.len()));
    assert!(NOTES.contains("rotate the logs"));
}
