//! Hostile replies to a run that is saved after every step.

use super::printed::{loopmeter, reply};
use super::{ANSWER, many};
use crate::wire::{Canned, json, sse};

#[cfg(feature = "sqlite")]
const STORES: &[&[&str]] = &[&[], &["--store", "sqlite:runs.db"]];
#[cfg(not(feature = "sqlite"))]
const STORES: &[&[&str]] = &[&[]];

fn shown(folder: &std::path::Path, store: &[&str]) -> serde_json::Value {
    let show = [&["agent", "show", "r", "--json"], store].concat();
    serde_json::from_str(&loopmeter(folder, None, &show).text).unwrap()
}

#[test]
fn a_reply_of_ten_thousand_calls_ends_a_saved_run_before_the_first_of_them() {
    let message = many(10_000, |at| format!(r#""c{at}""#));
    let whole = reply(&message);
    let event = whole.replacen("message", "delta", 1);
    for store in STORES {
        for (replies, streamed) in [
            (json(&whole), &[][..]),
            (sse(&[&event, "[DONE]"]), &["--stream"][..]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let server = Canned::new([replies]);
            let start = [&["agent", "start", "--id", "r"], *store, streamed].concat();
            let done = loopmeter(folder.path(), Some(&server), &start);
            assert_eq!(done.code, Some(0), "{}", done.text);
            assert!(
                done.text.contains("makes more than 256 calls"),
                "{}",
                done.text
            );
            let run = shown(folder.path(), store);
            assert_eq!(
                (&run["status"], &run["tool_runs"]),
                (&"failed".into(), &0.into())
            );
        }
    }
}

#[test]
fn a_reply_of_as_many_calls_as_are_taken_is_executed_and_saved_call_by_call() {
    let message = many(256, |at| format!(r#""c{at}""#));
    for store in STORES {
        let folder = tempfile::tempdir().unwrap();
        let server = Canned::new([json(&reply(&message)), json(ANSWER)]);
        let start = [&["agent", "start", "--id", "r"], *store].concat();
        let done = loopmeter(folder.path(), Some(&server), &start);
        assert_eq!(done.code, Some(0), "{}", done.text);
        let run = shown(folder.path(), store);
        assert_eq!(
            (&run["status"], &run["tool_runs"]),
            (&"completed".into(), &256.into())
        );
    }
}
