//! The count that runs along with a transcript against a count of all of it.
//!
//! Bytes become messages: 0xff ends one, and the byte after it says whose the next one is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopmeter::message::{Message, ToolCall};
use loopmeter::tokens::{RunningCount, count, count_messages, truncate};

fuzz_target!(|bytes: &[u8]| {
    let mut running = RunningCount::new();
    let mut messages = Vec::new();
    for part in bytes.split(|byte| *byte == 0xff).take(24) {
        let (kind, text) = part.split_first().unwrap_or((&0, &[]));
        let message = message(*kind, String::from_utf8_lossy(text).into_owned());
        running.push(&message);
        messages.push(message);
        assert_eq!(running.tokens(), count_messages(&messages), "{messages:?}");
    }
    let text = String::from_utf8_lossy(bytes);
    let whole = count(&text);
    for most in [0, 1, whole / 2, whole] {
        let kept = truncate(&text, most);
        assert!(text.starts_with(kept) && count(kept) <= most);
    }
});

fn message(kind: u8, content: String) -> Message {
    match kind % 4 {
        0 => Message::User { content },
        1 => Message::System { content },
        2 => Message::Tool {
            tool_call_id: "c1".to_owned(),
            name: "f".to_owned(),
            content,
        },
        _ => Message::Assistant {
            content: None,
            tool_calls: vec![ToolCall {
                id: "c1".to_owned(),
                name: "f".to_owned(),
                arguments: content,
            }],
        },
    }
}
