//! Recorded runs of all formats, with the traps of real files: what is counted, and what is
//! reported.
//!
//! The counted totals of the fixtures were written down from a count of the conversations that
//! they were made of, by another program; here every request is counted again, whole.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "records/files.rs"]
mod files;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use loopmeter::message::{Message, to_json};
use loopmeter::record::{
    Format, Import, Imported, Oddity, Recording, Seen, SuccessMark, record_files,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a file gave: the summary, the recordings, and what was left out.
struct Given {
    imported: Imported,
    recordings: Vec<Recording>,
    skipped: Vec<String>,
}

fn import(paths: &[PathBuf], success: &SuccessMark) -> Given {
    let files = record_files(paths).unwrap().files;
    let import = Import {
        files,
        format: None,
        success: success.clone(),
    };
    let mut skipped = Vec::new();
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Skipped(piece) = seen {
            let file = piece.place.file.file_name().unwrap().to_string_lossy();
            skipped.push(format!("{file}:{}: {}", piece.place.line, piece.what));
        }
        ControlFlow::Continue(())
    };
    let mut recordings = Vec::new();
    let imported = import.each(&mut watch, |one| one, |one| recordings.push(one));
    Given {
        imported: imported.unwrap(),
        recordings,
        skipped,
    }
}

fn fixtures(format: Format) -> Given {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/records");
    import(&[folder.join(format.as_str())], &SuccessMark::Usual)
}

fn of_text(name: &str, bytes: &[u8]) -> Given {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    import(&[path], &SuccessMark::Usual)
}

fn tokens(text: &str) -> u64 {
    tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(text)
        .len() as u64
}

/// Prompt and completion tokens of every turn, each request counted whole.
fn recount(recording: &Recording, tools: u64) -> Vec<(u64, u64)> {
    let turn = |reply: usize| {
        let Message::Assistant {
            content,
            tool_calls,
        } = &recording.messages[reply]
        else {
            panic!("no reply at {reply}");
        };
        let prompt = tokens(&to_json(&recording.messages[..reply])) + tools;
        let said = tokens(content.as_deref().unwrap_or_default());
        (prompt, said + tokens(&to_json(tool_calls)))
    };
    recording
        .turns
        .iter()
        .map(|turn_| turn(turn_.reply))
        .collect()
}

fn counted(recording: &Recording) -> Vec<(u64, u64)> {
    let turns = recording.turns.iter().map(|turn| turn.counted);
    turns
        .map(|usage| (usage.prompt_tokens, usage.completion_tokens))
        .collect()
}

#[test]
fn what_is_counted_is_what_the_conversations_were_made_of() {
    for (format, runs, turns, prompt, completion) in [
        (Format::Chat, 10, 20, 1_382, 271),
        (Format::Pairs, 10, 20, 1_382, 271),
        (Format::Trace, 10, 20, 18_514, 342),
        (Format::ClaudeCode, 11, 21, 931, 273),
        (Format::Codex, 10, 20, 1_302, 271),
        (Format::MiniSweAgent, 10, 20, 1_302, 271),
        (Format::SweAgent, 10, 20, 1_331, 271),
    ] {
        let given = fixtures(format);
        let sum = &given.imported.formats[&format];
        assert_eq!((sum.runs, sum.turns), (runs, turns), "{format:?}");
        assert_eq!(sum.counted.prompt_tokens, prompt, "{format:?}");
        assert_eq!(sum.counted.completion_tokens, completion, "{format:?}");
        assert_eq!(given.imported.formats.len(), 1, "{format:?}");
    }
}

/// Runs that report, turns, prompt, cached, completion and pico-dollars, summed by hand.
type Reported = (u64, [Option<u64>; 4], Option<i64>);

const REPORTED: [(Format, Reported); 7] = [
    (
        Format::Chat,
        (
            9,
            [None, Some(4_700), Some(64), Some(470)],
            Some(12_500_000_000),
        ),
    ),
    (
        Format::Pairs,
        (9, [None, Some(2_800), Some(100), Some(280)], None),
    ),
    (
        Format::Trace,
        (
            10,
            [None, Some(13_700), None, Some(280)],
            Some(41_080_000_000),
        ),
    ),
    (
        Format::ClaudeCode,
        (10, [None, Some(2_685), Some(2_000), Some(283)], None),
    ),
    (
        Format::Codex,
        (9, [None, Some(2_800), Some(120), Some(280)], None),
    ),
    (
        Format::MiniSweAgent,
        (
            10,
            [Some(20), Some(2_800), Some(80), Some(280)],
            Some(470_000_000_000),
        ),
    ),
    (
        Format::SweAgent,
        (
            9,
            [Some(17), Some(47_000), None, Some(4_700)],
            Some(940_000_000_000),
        ),
    ),
];

#[test]
fn what_is_reported_is_kept_beside_what_is_counted() {
    for (format, (reporting, counts, cost)) in REPORTED {
        let given = fixtures(format);
        let sum = &given.imported.formats[&format];
        let reported = sum.reported;
        let found = [
            reported.turns,
            reported.prompt_tokens,
            reported.cached_tokens,
            reported.completion_tokens,
        ];
        assert_eq!((sum.reporting, found), (reporting, counts), "{format:?}");
        let found = reported.cost.map(loopmeter::money::PicoUsd::pico);
        assert_eq!(found, cost, "{format:?}");
    }
}

#[test]
fn every_request_counts_what_it_counts_whole() {
    let tools = json!([{"type": "function", "function": {
        "name": "find", "description": "Finds a title.",
        "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    }}]);
    let tools = tokens(&to_json(&tools));
    for format in Format::ALL {
        if format == Format::Trace {
            continue;
        }
        for recording in fixtures(format).recordings {
            let has_tools = matches!(format, Format::Chat | Format::Pairs)
                && to_json(&recording.messages).contains(r#"Is \"Solaris\" in?"#);
            let tools = if has_tools { tools } else { 0 };
            let whole = recount(&recording, tools);
            assert_eq!(counted(&recording), whole, "{}", recording.id);
            assert!(!whole.is_empty(), "{}", recording.id);
        }
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_left_out() {
    let skipped: Vec<String> = Format::ALL
        .into_iter()
        .flat_map(|format| fixtures(format).skipped)
        .collect();
    insta::assert_snapshot!("skipped", skipped.join("\n"));
}

#[test]
fn pieces_that_repeat_another_are_taken_once() {
    for format in Format::ALL {
        let expected = match format {
            Format::MiniSweAgent | Format::SweAgent => 0,
            _ => 1,
        };
        assert_eq!(fixtures(format).imported.duplicates, expected, "{format:?}");
    }
}

#[test]
fn what_is_odd_is_counted() {
    let common = [
        (Oddity::UnknownRole, 1),
        (Oddity::Attachment, 1),
        (Oddity::ResultAsUserText, 1),
    ];
    for format in Format::ALL {
        let found: Vec<_> = fixtures(format).imported.oddities.iter().collect();
        let reasoning = (Oddity::Reasoning, 2);
        let expected = match format {
            Format::Trace => vec![],
            Format::ClaudeCode => {
                let synthetic = (Oddity::Synthetic, 1);
                vec![common[0], common[1], reasoning, common[2], synthetic]
            }
            Format::Codex => vec![common[0], common[1], reasoning, common[2]],
            _ => common.to_vec(),
        };
        assert_eq!(found, expected, "{format:?}");
    }
}

#[test]
fn successes_are_those_that_the_records_mark() {
    let marks = |given: &Given| -> Vec<bool> {
        let marked = given.recordings.iter().filter_map(|one| one.success);
        marked.collect()
    };
    let mut expected = [
        true, true, false, true, false, true, false, false, true, true,
    ];
    for format in [Format::Chat, Format::Trace, Format::SweAgent] {
        assert_eq!(marks(&fixtures(format)), expected, "{format:?}");
    }
    assert!(marks(&fixtures(Format::MiniSweAgent)).is_empty());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/records/mini-swe-agent");
    let submitted = "info.exit_status=Submitted".parse().unwrap();
    assert_eq!(marks(&import(&[folder], &submitted)), expected);
    // Conversations of pairs end in another order than they begin.
    let mut pairs = marks(&fixtures(Format::Pairs));
    pairs.sort_unstable();
    expected.sort_unstable();
    assert_eq!(pairs, expected);
}

#[test]
fn the_last_line_of_a_message_id_has_its_usage_and_a_sub_agent_is_a_run_of_its_own() {
    let given = fixtures(Format::ClaudeCode);
    let find = |id: &str| given.recordings.iter().find(|one| one.id == id).unwrap();
    let both = find("session-c03");
    // A text and two calls on three lines, of which only the last says all 10 tokens.
    assert_eq!(both.turns[0].reported.completion_tokens, Some(10));
    let cached = find("session-c09");
    assert_eq!(cached.turns[0].reported.prompt_tokens, Some(1_210));
    assert_eq!(cached.reported.cache_write_tokens, Some(400));
    assert_eq!(find("session-c07/scout").turns.len(), 1);
}

#[test]
fn a_result_of_a_megabyte_is_counted_like_any_other() {
    let words: Vec<String> = (0..180_000).map(|number| number.to_string()).collect();
    let words = words.join(" ");
    assert!(words.len() > 1_000_000);
    let messages = json!([
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "name": "read", "content": words},
        {"role": "assistant", "content": "Long."},
    ]);
    let chat = json!({"messages": messages}).to_string();
    let mini = json!({"info": {"model_stats": {}}, "messages": messages}).to_string();
    let swe = json!({"history": messages, "info": {}}).to_string();
    for (name, text) in [("a.jsonl", chat), ("a.traj.json", mini), ("a.traj", swe)] {
        let given = of_text(name, text.as_bytes());
        assert_eq!(given.skipped, Vec::<String>::new());
        let recording = &given.recordings[0];
        assert_eq!(counted(recording), recount(recording, 0), "{name}");
        assert!(recording.turns[1].counted.prompt_tokens > 300_000);
    }
}

#[test]
fn a_file_of_nothing_that_is_known_says_what_would_help() {
    let given = of_text("a.jsonl", b"{\"x\":1}\n\n[]\n");
    assert!(given.recordings.is_empty());
    assert_eq!(
        given.skipped,
        ["a.jsonl:1: no record of a known format; --from FORMAT says which it is"]
    );
}

#[test]
fn an_array_of_conversations_is_read_like_their_lines() {
    let one = |text: &str| json!({"traj": [{"role": "user", "content": text}, {"role": "assistant", "content": "x"}], "reward": 1});
    let array = Value::Array(vec![one("a"), one("b"), one("a")]);
    let pretty = serde_json::to_string_pretty(&array).unwrap();
    for text in [pretty, array.to_string()] {
        let given = of_text("all.json", text.as_bytes());
        assert_eq!((given.recordings.len(), given.imported.duplicates), (2, 1));
        assert_eq!(given.recordings[0].success, Some(true));
    }
}

/// A conversation of one turn.
fn short(text: &str) -> String {
    format!(
        r#"{{"messages":[{{"role":"user","content":"{text}"}},{{"role":"assistant","content":"x"}}]}}"#
    )
}

#[test]
fn what_is_wrong_in_an_array_is_told_with_its_line_and_its_element() {
    let (a, b) = (short("a"), short("b"));
    let text = format!("[\n{a},\n{{\"x\": }},\n  {b}, {{\"y\": 1}}, {{\"z\"\n: }}\n]\n");
    let given = of_text("all.json", text.as_bytes());
    assert_eq!(given.recordings.len(), 2);
    assert_eq!(given.recordings[1].place.element, Some(3));
    assert_eq!(
        given.skipped,
        [
            "all.json:3: not JSON: expected value at column 7",
            "all.json:4: no `messages`",
            "all.json:5: not JSON: expected value at column 3",
        ]
    );
    let wrong = format!("[{a}, {{\"x\": }}]");
    let column = 1 + a.len() + 2 + 7;
    assert_eq!(
        of_text("all.json", wrong.as_bytes()).skipped,
        [format!(
            "all.json:1: not JSON: expected value at column {column}"
        )]
    );
}

#[test]
fn an_array_that_is_cut_off_keeps_its_good_elements_and_says_where_it_ends() {
    let (a, b) = (short("a"), short("b"));
    for (text, skipped) in [
        (
            format!("[\n{a},\n{b},\n{{\"messages\": [\n{{\"role"),
            vec![
                "all.json:5: not JSON: EOF while parsing a string at column 6",
                "all.json:5: the file ends inside of its array",
            ],
        ),
        (
            format!("[{a},{b},\n"),
            vec!["all.json:2: the file ends inside of its array"],
        ),
    ] {
        let given = of_text("all.json", text.as_bytes());
        assert_eq!(given.recordings.len(), 2);
        assert_eq!(given.skipped, skipped);
    }
}

#[test]
fn lines_behind_an_array_and_arrays_in_lines_are_read_as_lines() {
    let (a, b, c) = (short("a"), short("b"), short("c"));
    let given = of_text("all.json", format!("[\n{a}\n]\n{b}\n{{\n").as_bytes());
    assert_eq!(
        (given.recordings.len(), given.recordings[1].place.line),
        (2, 4)
    );
    assert!(
        given.skipped[0].starts_with("all.json:5: "),
        "{:?}",
        given.skipped
    );
    let given = of_text(
        "all.jsonl",
        format!("[{a},{b}]\n[{c}]\n[{a}\n{b}\n").as_bytes(),
    );
    assert_eq!(given.imported.duplicates, 1);
    assert_eq!((given.recordings.len(), given.skipped.len()), (3, 1));
}

#[test]
fn a_conversation_without_a_message_is_no_run() {
    let given = of_text(
        "a.jsonl",
        format!("{{\"messages\":[]}}\n{}", short("a")).as_bytes(),
    );
    assert_eq!(given.recordings.len(), 1);
    assert_eq!(given.skipped, ["a.jsonl:1: no message in it"]);
}

#[test]
fn half_a_character_is_read_as_unknown_and_told() {
    let text = [short(r"a\ud83d"), short(r"\ud83d\ude00 b")].join("\n");
    let given = of_text("a.jsonl", text.as_bytes());
    assert_eq!(given.skipped, Vec::<String>::new());
    let texts: Vec<String> = given
        .recordings
        .iter()
        .map(|one| to_json(&one.messages[0]))
        .collect();
    assert!(
        texts[0].contains("a\u{fffd}") && texts[1].contains("\u{1f600} b"),
        "{texts:?}"
    );
    let odd: Vec<_> = given.imported.oddities.iter().collect();
    assert_eq!(odd, [(Oddity::HalfCharacter, 1)]);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_fault() {
    let line =
        r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"id":"#;
    let text = format!("\u{feff}{line}1}}\r\n{line}2}}\r\n");
    let given = of_text("a.jsonl", text.as_bytes());
    assert_eq!(given.skipped, Vec::<String>::new());
    let ids: Vec<_> = given.recordings.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
}

#[test]
fn a_request_that_is_sent_again_with_another_reply_is_a_turn_of_another_conversation() {
    let pair = |reply: &str| {
        let request = json!({"messages": [{"role": "user", "content": "a"}]});
        let message = json!({"role": "assistant", "content": reply});
        json!({"request": request, "response": {"choices": [{"message": message}]}}).to_string()
    };
    let text = [pair("one"), pair("one"), pair("two")].join("\n");
    let given = of_text("a.jsonl", text.as_bytes());
    assert_eq!((given.recordings.len(), given.imported.duplicates), (2, 1));
}

#[test]
fn a_response_may_be_its_text_alone_and_a_request_the_line_itself() {
    let ask = |messages: &[Value], response: &str| {
        json!({"messages": messages, "response": response}).to_string()
    };
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let first = [said("user", "a")];
    let second = [&first[..], &[said("assistant", "b"), said("user", "c")]].concat();
    let text = [ask(&first, "b"), ask(&second, "d")].join("\n");
    let given = of_text("a.jsonl", text.as_bytes());
    assert_eq!(given.skipped, Vec::<String>::new());
    let recording = &given.recordings[0];
    assert_eq!((given.recordings.len(), recording.turns.len()), (1, 2));
    assert_eq!(counted(recording), recount(recording, 0));
}

/// Any conversation, as a record has it.
fn conversation() -> impl Strategy<Value = Vec<Value>> {
    let text = || "(\\PC|[?!.\"{}\\n ]){0,12}";
    let message = prop_oneof![
        text().prop_map(|text| json!({"role": "user", "content": text})),
        text().prop_map(|text| json!({"role": "system", "content": text})),
        text().prop_map(|text| json!({"role": "assistant", "content": text})),
        (text(), text()).prop_map(|(name, arguments)| json!({
            "role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}],
        })),
        text().prop_map(|text| json!({"role": "tool", "tool_call_id": "c", "name": "f", "content": text})),
    ];
    proptest::collection::vec(message, 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_conversation_counts_what_its_requests_count_whole(messages in conversation()) {
        let line = json!({"messages": messages}).to_string();
        let given = of_text("a.jsonl", line.as_bytes());
        let recording = &given.recordings[0];
        prop_assert_eq!(to_json(&recording.messages), to_json(&messages));
        prop_assert_eq!(counted(recording), recount(recording, 0));
    }
}
