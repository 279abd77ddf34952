//! Models that mean no good, over the real client: whatever a reply says, the run ends in one of
//! its exits, with a legal transcript, in bounded time and memory, and nothing that is printed of
//! it acts on a terminal.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]
#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]

#[path = "hostile/printed.rs"]
mod printed;
#[path = "hostile/stored.rs"]
mod stored;
#[path = "wire/mod.rs"]
#[expect(dead_code, reason = "other tests ask otherwise")]
mod wire;

use std::sync::mpsc;
use std::time::Duration;

use loopmeter::message::Message;
use loopmeter::provider::http::{RetryPolicy, Timeouts};
use loopmeter::provider::wire::Delivery;
use loopmeter::run::{RunState, Status, StopReason};

use wire::{Act, Asked, Canned, json, sse};

const ANSWER: &str = r#"{"choices":[{"index":0,"message":{"content":"done."},"delta":{"content":"done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":4}}"#;

/// No case may take so long; what takes seconds on a busy machine does.
const HANGS: Duration = Duration::from_secs(240);

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The reply was taken, its calls were answered, and the next reply is the answer.
    GoesOn,
    /// The reply is an answer itself.
    Answers,
    /// The reply cannot be taken, and the run has failed with words that contain these.
    Fails(&'static str),
}

struct Case {
    name: &'static str,
    /// What stands for `message` in a whole reply, and for `delta` in a streamed one.
    message: String,
    end: End,
    /// The tool results that contain this, where it matters.
    told: Option<(usize, &'static str)>,
}

fn case(name: &'static str, message: impl Into<String>, end: End) -> Case {
    Case {
        name,
        message: message.into(),
        end,
        told: None,
    }
}

impl Case {
    fn told(mut self, times: usize, words: &'static str) -> Self {
        self.told = Some((times, words));
        self
    }

    /// The same reply whole and in one event.
    fn bodies(&self) -> [(Delivery, String); 2] {
        let body = |key: &str| {
            format!(
                r#"{{"choices":[{{"index":0,"{key}":{},"finish_reason":"stop"}}]}}"#,
                self.message
            )
        };
        [
            (Delivery::Whole, body("message")),
            (Delivery::StreamedWithUsage, body("delta")),
        ]
    }
}

/// A message that calls `name` with these arguments, a text.
fn call(name: &str, arguments: &str) -> String {
    let (name, arguments) = (quoted(name), quoted(arguments));
    format!(
        r#"{{"content":null,"tool_calls":[{{"id":"c1","type":"function","function":{{"name":{name},"arguments":{arguments}}}}}]}}"#
    )
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A message of `count` calls that list the files, each with the id that `id` gives it.
fn many(count: usize, id: impl Fn(usize) -> String) -> String {
    let calls: Vec<_> = (0..count)
        .map(|at| {
            let id = id(at);
            format!(r#"{{"index":{at},"id":{id},"function":{{"name":"list_files","arguments":"{{}}"}}}}"#)
        })
        .collect();
    format!(r#"{{"content":null,"tool_calls":[{}]}}"#, calls.join(","))
}

const UNREADABLE: End = End::Fails("is not a chat completion in JSON");
const TOO_LARGE: End = End::Fails("larger than");
const TOO_MANY_CALLS: End = End::Fails("makes more than 256 calls");

/// All cases, by what is wrong with them.
fn cases() -> Vec<Case> {
    let groups = [large_and_deep(), encodings(), calls(), shapes()];
    groups.into_iter().flatten().collect()
}

/// Too much, and too deep.
fn large_and_deep() -> Vec<Case> {
    use End::{Fails, GoesOn};
    let deep = "[".repeat(100_000);
    let deep_whole = format!("{deep}{}", "]".repeat(100_000));
    vec![
        case(
            "arguments of 50 MB",
            call("read_file", &"x".repeat(50 << 20)),
            TOO_LARGE,
        ),
        case(
            "arguments of 200 kB that are JSON",
            call(
                "read_file",
                &format!(r#"{{"path":"{}"}}"#, "x".repeat(200_000)),
            ),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "arguments that never close",
            call("read_file", &deep),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "arguments 100,000 deep",
            call("read_file", &deep_whole),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "arguments that are an object 100,000 deep",
            call("read_file", &r#"{"path":"#.repeat(100_000)),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "a reply 100,000 deep",
            format!(r#"{{"content":{deep_whole}}}"#),
            UNREADABLE,
        ),
        case(
            "a reply of three million values",
            format!(r#"{{"content":[{}1]}}"#, "1,".repeat(1_900_000)),
            Fails("more JSON values"),
        ),
    ]
}

/// Texts that mean something to a parser, a tokenizer or a terminal.
fn encodings() -> Vec<Case> {
    use End::{Answers, GoesOn};
    vec![
        case(
            "a lone surrogate in the prose",
            r#"{"content":"\ud800"}"#,
            UNREADABLE,
        ),
        case(
            "a lone surrogate in the arguments",
            call("read_file", r#"{"path":"\ud800"}"#),
            GoesOn,
        )
        .told(1, "Error: "),
        case("a surrogate pair", r#"{"content":"\ud83d\ude00"}"#, Answers),
        case("a key twice", r#"{"content":"a","content":"b"}"#, Answers),
        case(
            "a key twice in the arguments",
            call("read_file", r#"{"path":"notes.txt","path":"../x"}"#),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "spellings of special tokens",
            r#"{"content":"<|endoftext|><|im_start|>system<|im_end|>"}"#,
            Answers,
        ),
        case(
            "special tokens as arguments",
            call("read_file", "<|endoftext|>"),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "commands to a terminal",
            format!(r#"{{"content":{}}}"#, quoted(printed::HOSTILE)),
            Answers,
        ),
        case(
            "NUL in a path",
            call("read_file", r#"{"path":"notes.txt\u0000.png"}"#),
            GoesOn,
        )
        .told(1, "Error: "),
        case(
            "numbers beyond all floats",
            call("read_file", r#"{"path":1e999999}"#),
            GoesOn,
        )
        .told(1, "Error: "),
    ]
}

/// Calls of what there is not, and too many of them.
fn calls() -> Vec<Case> {
    use End::GoesOn;
    vec![
        case("a tool that does not exist", call("rm -rf /", "{}"), GoesOn).told(1, "Error: "),
        case(
            "a tool with a name of 100 kB",
            call(&"x".repeat(100_000), "{}"),
            GoesOn,
        )
        .told(1, "Error: "),
        case("a tool without a name", call("", "{}"), GoesOn).told(1, "Error: "),
        case(
            "ten thousand calls",
            many(10_000, |at| format!(r#""c{at}""#)),
            TOO_MANY_CALLS,
        ),
        case(
            "one call more than is taken",
            many(257, |at| format!(r#""c{at}""#)),
            TOO_MANY_CALLS,
        ),
        case(
            "as many calls as are taken",
            many(256, |at| format!(r#""c{at}""#)),
            GoesOn,
        )
        .told(256, "notes.txt"),
        case(
            "as many calls without ids",
            many(256, |_| r#""""#.to_owned()),
            GoesOn,
        )
        .told(256, "notes.txt"),
        case(
            "as many calls with one id",
            many(256, |_| r#""c1""#.to_owned()),
            GoesOn,
        )
        .told(255, "was used before"),
        case("ids that are numbers", many(3, |at| at.to_string()), GoesOn).told(3, "notes.txt"),
        case(
            "ids of 20 kB",
            many(3, |_| quoted(&"i".repeat(20_000))),
            GoesOn,
        )
        .told(2, "was used before"),
    ]
}

/// Messages of another shape than is asked for.
fn shapes() -> Vec<Case> {
    use End::{Answers, GoesOn};
    vec![
        case(
            "prose and a call at once",
            call("list_files", "{}").replace("null", r#""I will look.""#),
            GoesOn,
        )
        .told(1, "notes.txt"),
        case(
            "prose in parts",
            r#"{"content":[{"type":"text","text":"do"},null,7,{"x":[]},{"type":"text","text":"ne."}]}"#,
            Answers,
        ),
        case(
            "prose that is an object",
            r#"{"content":{"text":"done."}}"#,
            Answers,
        ),
        case(
            "calls that are no list",
            r#"{"content":"done.","tool_calls":{"0":{}}}"#,
            Answers,
        ),
        case(
            "a call that is no object",
            r#"{"content":"done.","tool_calls":[7]}"#,
            Answers,
        ),
        case("nothing at all", "null", Answers),
    ]
}

fn patient() -> Timeouts {
    Timeouts {
        idle: HANGS,
        attempt: HANGS,
        ..wire::timeouts()
    }
}

/// A run against an endpoint that says `first` and then, if it comes to that, the answer.
fn run(first: Vec<Act>, delivery: Delivery, end: End) -> Asked {
    let answer = match delivery {
        Delivery::Whole => json(ANSWER),
        _ => sse(&[ANSWER, "[DONE]"]),
    };
    let replies = match end {
        End::GoesOn => vec![first, answer],
        End::Answers | End::Fails(_) => vec![first],
    };
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || {
        let server = Canned::new(replies);
        let _ = done.send(server.ask_with(delivery, RetryPolicy::never(), patient(), false));
    });
    result
        .recv_timeout(HANGS)
        .expect("it hangs or has panicked")
}

/// Every call is answered once, in order, before the model is asked again.
fn assert_legal(run: &RunState, name: &str) {
    let mut pending: Vec<&str> = Vec::new();
    for message in &run.messages {
        match message {
            Message::Assistant { tool_calls, .. } => {
                assert!(pending.is_empty(), "{name}: {} unanswered", pending.len());
                pending = tool_calls
                    .iter()
                    .rev()
                    .map(|call| call.id.as_str())
                    .collect();
            }
            Message::Tool { tool_call_id, .. } => {
                assert_eq!(pending.pop(), Some(tool_call_id.as_str()), "{name}");
            }
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    assert!(pending.is_empty(), "{name}: {} unanswered", pending.len());
}

fn assert_ended(run: &RunState, end: End, name: &str) {
    let error = run.error.as_deref().unwrap_or_default();
    match end {
        End::GoesOn => assert_eq!(
            (run.status, run.turns),
            (Status::Completed, 2),
            "{name}: {error}"
        ),
        End::Answers => assert_eq!(
            (run.status, run.turns),
            (Status::Completed, 1),
            "{name}: {error}"
        ),
        End::Fails(words) => {
            assert_eq!(run.status, Status::Failed, "{name}");
            assert_eq!(run.interruption, Some(StopReason::ProviderError), "{name}");
            assert!(error.contains(words), "{name}: {error}");
            assert!(
                error.len() < 2_000,
                "{name}: {} bytes of error",
                error.len()
            );
        }
    }
}

#[test]
fn every_hostile_reply_ends_the_run_in_a_defined_exit_with_a_legal_transcript() {
    let mut tried = 0;
    for case in cases() {
        for (delivery, body) in case.bodies() {
            let name = format!("{} ({delivery:?})", case.name);
            let reply = match delivery {
                Delivery::Whole => json(&body),
                _ => sse(&[&body, "[DONE]"]),
            };
            let asked = run(reply, delivery, case.end);
            assert_ended(&asked.run, case.end, &name);
            assert_legal(&asked.run, &name);
            if case.end == TOO_MANY_CALLS {
                assert_eq!(asked.run.tool_runs, 0, "{name}");
            }
            let stored = serde_json::to_vec(&asked.run).unwrap();
            let again: RunState = serde_json::from_slice(&stored).unwrap();
            assert!(again == asked.run, "{name}: it is not stored as it is");
            if let Some((times, words)) = case.told {
                let told = asked.run.messages.iter().filter(|message| {
                    matches!(message, Message::Tool { content, .. } if content.contains(words))
                });
                assert_eq!(told.count(), times, "{name}");
            }
            for message in &asked.run.messages {
                if let Message::Tool { content, .. } = message {
                    assert!(
                        content.len() < 2_000,
                        "{name}: {} bytes told",
                        content.len()
                    );
                }
            }
            tried += 1;
        }
    }
    println!("{tried} hostile replies");
}

#[test]
fn a_usage_that_cannot_be_is_not_billed_and_one_that_can_be_is() {
    let counted = "0.000444";
    for (usage, cost) in [
        (r#"{"prompt_tokens":-5,"completion_tokens":4}"#, counted),
        (r#"{"prompt_tokens":5,"completion_tokens":-4}"#, counted),
        (r#"{"prompt_tokens":1e30,"completion_tokens":4}"#, counted),
        (
            r#"{"prompt_tokens":18446744073709551615,"completion_tokens":1}"#,
            counted,
        ),
        (r#"{"prompt_tokens":"many","completion_tokens":4}"#, counted),
        (r#"{"prompt_tokens":2.5,"completion_tokens":4}"#, counted),
        ("[1,2]", counted),
        (
            r#"{"prompt_tokens":1000000000,"completion_tokens":1000000000}"#,
            "14000.000000",
        ),
        (
            r#"{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":99999}}"#,
            "0.000010",
        ),
    ] {
        let body = format!(
            r#"{{"choices":[{{"index":0,"message":{{"content":"done."}},"finish_reason":"stop"}}],"usage":{usage}}}"#
        );
        let asked = run(json(&body), Delivery::Whole, End::Answers);
        assert_eq!(asked.run.status, Status::Completed, "{usage}");
        assert_eq!(asked.run.cost.to_string(), cost, "{usage}");
    }
}

#[test]
fn a_stream_of_endless_small_pieces_is_put_together_in_time_in_proportion() {
    let new_call = |at: usize| format!(r#"{{"index":{at},"function":{{"name":"nothing"}}}}"#);
    let calls: Vec<_> = (0..20_000).map(new_call).collect();
    let grown = r#"{"function":{"name":"list_files","arguments":"[1,"}}"#.to_owned();
    for (name, pieces, end) in [
        ("calls", calls, TOO_MANY_CALLS),
        ("arguments", vec![grown; 20_000], End::GoesOn),
    ] {
        let event = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{}]}},"finish_reason":"tool_calls"}}]}}"#,
            pieces.join(",")
        );
        let asked = run(sse(&[&event, "[DONE]"]), Delivery::Streamed, end);
        assert_ended(&asked.run, end, name);
        assert_legal(&asked.run, name);
    }
}
