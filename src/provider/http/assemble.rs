//! A streamed reply, put together from its chunks, in time in proportion to their bytes.

use std::collections::BTreeMap;

use crate::message::{ToolCall, Usage};
use crate::provider::wire::{CallDelta, Chunk, Delta, MOST_CALLS};

use super::read::Read;

/// What has come of a reply so far.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    begun: bool,
    content: Option<String>,
    calls: Vec<Piece>,
    /// The last call of each index.
    latest: BTreeMap<u32, usize>,
    /// Bytes of arguments that were looked at to tell whether they are whole.
    examined: usize,
    finish: Option<String>,
    usage: Option<Usage>,
}

/// Arguments are looked at again and again as they grow, so many bytes in all. Only calls without
/// ids need it, and no reply that is meant needs so much.
const MOST_EXAMINED: usize = 64 << 20;

/// A call that may still grow.
#[derive(Debug)]
struct Piece {
    index: u32,
    call: ToolCall,
}

/// A reply makes more than [`MOST_CALLS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyCalls;

/// What a chunk brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// Prose, reasoning or a piece of a call.
    Speech,
    /// A role, a reason to finish, the usage, or nothing.
    Frame,
}

impl Assembly {
    /// Adds a chunk. Only the first alternative of a reply is read; no other was asked for.
    ///
    /// # Errors
    /// [`TooManyCalls`] at the first call that is one too many.
    pub(super) fn push(&mut self, chunk: Chunk) -> Result<Brought, TooManyCalls> {
        if let Some(usage) = chunk.usage.and_then(|usage| usage.usage()) {
            self.usage = Some(usage);
        }
        let mut brought = Brought::Frame;
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.begun = true;
            if choice.delta.says_something() {
                brought = Brought::Speech;
            }
            self.add(choice.delta)?;
            self.finish = choice.finish_reason.or(self.finish.take());
        }
        Ok(brought)
    }

    /// Whether the endpoint has said why it stopped, so that nothing but the usage can follow.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The reply, as far as it came.
    pub(super) fn into_read(mut self) -> Read {
        // Some servers give parallel calls out of order; those that give all of them the index 0
        // are left in the order in which they came.
        self.calls.sort_by_key(|piece| piece.index);
        let calls = self.calls.into_iter().map(|piece| piece.call).collect();
        Read {
            said: self.begun.then_some((self.content, calls)),
            finish: self.finish,
            usage: self.usage,
            first_token: None,
        }
    }

    fn add(&mut self, delta: Delta) -> Result<(), TooManyCalls> {
        if let Some(text) = delta.content {
            self.content.get_or_insert_default().push_str(&text);
        }
        delta
            .tool_calls
            .into_iter()
            .try_for_each(|call| self.add_call(call))
    }

    /// Adds a piece to the call that it belongs to: the last one of its index, or of all where it
    /// has none, unless it begins a call of its own.
    fn add_call(&mut self, delta: CallDelta) -> Result<(), TooManyCalls> {
        let id = delta.id.unwrap_or_default();
        let name = delta.function.name.unwrap_or_default();
        let arguments = delta.function.arguments.unwrap_or_default();
        let last = match delta.index {
            Some(index) => self.latest.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let last = last.and_then(|at| self.calls.get_mut(at));
        let examined = &mut self.examined;
        let Some(Piece { call, .. }) = last.filter(|it| !it.ends_before(&id, &name, examined))
        else {
            if self.calls.len() == MOST_CALLS {
                return Err(TooManyCalls);
            }
            let next = self.calls.last().map_or(0, |piece| piece.index);
            let index = delta.index.unwrap_or(next);
            let call = ToolCall {
                id,
                name,
                arguments,
            };
            self.latest.insert(index, self.calls.len());
            self.calls.push(Piece { index, call });
            return Ok(());
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
        Ok(())
    }
}

impl Piece {
    /// Whether a piece with this id and name begins another call. It does where it names a tool
    /// under an id of its own, as servers do that give every call the index 0; and where it names
    /// one without an id after arguments that are whole.
    fn ends_before(&self, id: &str, name: &str, examined: &mut usize) -> bool {
        if name.is_empty() || self.call.name.is_empty() {
            return false;
        }
        if id.is_empty() {
            return self.call.id.is_empty() && self.is_whole(examined);
        }
        !self.call.id.is_empty() && self.call.id != id
    }

    /// Whether its arguments are a JSON value, as far as they may still be looked at.
    fn is_whole(&self, examined: &mut usize) -> bool {
        let arguments = &self.call.arguments;
        *examined = examined.saturating_add(arguments.len());
        *examined <= MOST_EXAMINED
            && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(chunks: &[&str]) -> Read {
        let mut assembly = Assembly::default();
        for chunk in chunks {
            assembly.push(serde_json::from_str(chunk).unwrap()).unwrap();
        }
        assembly.into_read()
    }

    /// Chunks of one choice with these `delta`s.
    fn calls(deltas: &[&str]) -> Vec<(String, String, String)> {
        let chunks: Vec<_> = deltas
            .iter()
            .map(|delta| {
                format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{delta}]}}}}]}}"#)
            })
            .collect();
        let chunks: Vec<_> = chunks.iter().map(String::as_str).collect();
        let (_, calls) = assemble(&chunks).said.unwrap();
        calls
            .into_iter()
            .map(|call| (call.id, call.name, call.arguments))
            .collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn prose_grows_and_the_usage_comes_without_a_choice() {
        let read = assemble(&[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"one "}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"other"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"two"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
        ]);
        assert_eq!(read.said, Some((Some("one two".to_owned()), vec![])));
        assert_eq!(read.finish.as_deref(), Some("stop"));
        assert_eq!(read.usage.map(|usage| usage.prompt_tokens), Some(5));
    }

    #[test]
    fn pieces_of_parallel_calls_may_be_mixed() {
        assert_eq!(
            calls(&[
                r#"{"index":1,"id":"b","function":{"name":"g","arguments":""}}"#,
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#,
                r#"{"index":1,"function":{"arguments":"{}"}}"#,
                r#"{"index":0,"id":"a","function":{"arguments":":1}"}}"#,
            ]),
            [call("a", "f", r#"{"x":1}"#), call("b", "g", "{}")]
        );
    }

    #[test]
    fn parallel_calls_that_all_have_index_0_are_told_apart_by_their_ids() {
        assert_eq!(
            calls(&[
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#,
                r#"{"index":0,"function":{"arguments":"1}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}"#,
            ]),
            [call("a", "f", r#"{"x":1}"#), call("b", "f", "{}")]
        );
    }

    #[test]
    fn whole_calls_without_index_or_id_are_told_apart_by_their_arguments() {
        assert_eq!(
            calls(&[
                r#"{"function":{"name":"f","arguments":"{}"}}"#,
                r#"{"function":{"name":"f","arguments":"{\"x\":1}"}}"#,
            ]),
            [call("", "f", "{}"), call("", "f", r#"{"x":1}"#)]
        );
    }

    #[test]
    fn a_repeated_name_does_not_double_it() {
        assert_eq!(
            calls(&[
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#,
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#,
            ]),
            [call("a", "f", "{}")]
        );
    }

    #[test]
    fn the_first_call_that_is_one_too_many_ends_it_and_pieces_of_others_do_not() {
        let mut assembly = Assembly::default();
        let mut push = |call: &str| {
            let chunk = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#);
            assembly.push(serde_json::from_str(&chunk).unwrap())
        };
        for at in 0..MOST_CALLS {
            let begun = push(&format!(r#"{{"index":{at},"function":{{"name":"f"}}}}"#));
            assert_eq!(begun, Ok(Brought::Speech), "{at}");
        }
        let more = r#"{"index":0,"function":{"arguments":"{}"}}"#;
        assert_eq!(push(more), Ok(Brought::Speech));
        let one_more = r#"{"index":256,"function":{"name":"f"}}"#;
        assert_eq!(push(one_more), Err(TooManyCalls));
        assert_eq!(assembly.calls.len(), MOST_CALLS);
    }

    #[test]
    fn a_chunk_says_what_it_brought() {
        let mut assembly = Assembly::default();
        let mut push = |chunk: &str| assembly.push(serde_json::from_str(chunk).unwrap()).unwrap();
        let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
        assert_eq!(push(role), Brought::Frame);
        let thought = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#;
        assert_eq!(push(thought), Brought::Speech);
        assert!(!assembly.is_finished());
    }

    #[test]
    fn a_stream_without_a_choice_says_nothing() {
        let read =
            assemble(&[r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#]);
        assert_eq!(read.said, None);
        assert!(read.usage.is_some());
    }
}
