//! A reply as server-sent events.

use std::time::Duration;

use hyper::body::Bytes;

use super::CREATED;
use super::body::{Step, break_off};
use crate::message::{FinishReason, ToolCall, to_json};
use crate::provider::Reply;
use crate::provider::wire::{
    CallDelta, Chunk, ChunkChoice, DONE, Delivery, Delta, FunctionDelta, WireUsage,
};
use crate::scenario::Said;

/// How long the parts of a reply take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timing {
    /// Until the first piece.
    pub(super) first: Duration,
    /// From then to the last.
    pub(super) writing: Duration,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// As it should.
    Whole,
    /// With nothing more for so long, in the middle of its last part.
    Stalled(Duration),
    /// With the connection, in the middle of its last part.
    Cut,
}

/// What all chunks of a stream have in common.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) delivery: Delivery,
    pub(super) timing: Timing,
}

impl Stream {
    /// The steps of the whole stream: the role at once, the pieces of the reply spread over its
    /// time, why it ended, the usage if it was asked for.
    pub(super) fn steps(self, reply: Reply, ending: Ending) -> impl Iterator<Item = Step> + Send {
        let mut pieces = reply.message.map_or_else(Pieces::default, Pieces::of);
        let count = u32::try_from(pieces.deltas.len()).unwrap_or(u32::MAX);
        let closing = match ending {
            Ending::Whole => {
                self.closing(reply.finish.map(FinishReason::as_str), reply.usage.into())
            }
            Ending::Stalled(span) => vec![Step::Stall(span)],
            Ending::Cut => break_off(self.timing.first + self.timing.writing).to_vec(),
        };
        if !matches!(ending, Ending::Whole) {
            pieces.break_last();
        }
        let role = event(&self.chunk(role_delta(), None));
        let first = [Step::Send(role), Step::Until(self.timing.first)];
        let body = (1_u32..).zip(pieces.deltas).flat_map(move |(at, delta)| {
            let share = self.timing.writing * at / count.max(1);
            let event = event(&self.chunk(delta, None));
            let wait = (!share.is_zero()).then(|| Step::Until(self.timing.first + share));
            wait.into_iter().chain([Step::Send(event)])
        });
        first.into_iter().chain(body).chain(closing)
    }

    fn closing(&self, finish: Option<&str>, usage: WireUsage) -> Vec<Step> {
        let mut closing = vec![event(&self.chunk(Delta::default(), finish))];
        if self.delivery == Delivery::StreamedWithUsage {
            closing.push(event(&Chunk {
                usage: Some(usage),
                choices: Vec::new(),
                ..self.chunk(Delta::default(), None)
            }));
        }
        closing.push(Bytes::from(format!("data: {DONE}\n\n")));
        closing.into_iter().map(Step::Send).collect()
    }

    /// The whole stream of a reply without a choice.
    pub(super) fn without_choices(self, usage: WireUsage) -> Vec<Step> {
        let empty = Chunk {
            choices: Vec::new(),
            ..self.chunk(Delta::default(), None)
        };
        let mut steps = self.closing(None, usage);
        if let Some(first) = steps.first_mut() {
            *first = Step::Send(event(&empty));
        }
        steps
    }

    fn chunk(&self, delta: Delta, finish: Option<&str>) -> Chunk {
        Chunk {
            id: self.id.clone(),
            object: "chat.completion.chunk".to_owned(),
            created: CREATED,
            model: self.model.clone(),
            choices: vec![ChunkChoice {
                index: 0,
                delta,
                finish_reason: finish.map(str::to_owned),
            }],
            usage: None,
            error: None,
        }
    }
}

fn event(chunk: &Chunk) -> Bytes {
    Bytes::from(format!("data: {}\n\n", to_json(chunk)))
}

fn role_delta() -> Delta {
    Delta {
        role: Some("assistant".to_owned()),
        content: Some(String::new()),
        ..Delta::default()
    }
}

/// A reply in pieces.
#[derive(Debug, Default)]
struct Pieces {
    deltas: Vec<Delta>,
    /// How many of them, at the end, are of one text.
    last: usize,
}

impl Pieces {
    fn of(said: Said) -> Self {
        let mut pieces = Self::default();
        if let Some(content) = &said.content {
            let words = words(content).map(|word| Delta {
                content: Some(word.to_owned()),
                ..Delta::default()
            });
            pieces.extend(words.collect());
        }
        for (index, call) in (0..).zip(said.tool_calls) {
            pieces.extend(call_pieces(index, &call));
        }
        pieces
    }

    fn extend(&mut self, deltas: Vec<Delta>) {
        self.last = deltas.len();
        self.deltas.extend(deltas);
    }

    /// Leaves out the second half of the last text, one piece at least.
    fn break_last(&mut self) {
        let kept = self.deltas.len().saturating_sub((self.last / 2).max(1));
        self.deltas.truncate(kept);
    }
}

/// A call's pieces: its id and name, and then its arguments.
fn call_pieces(index: u32, call: &ToolCall) -> Vec<Delta> {
    let head = CallDelta {
        index: Some(index),
        ..CallDelta::from(ToolCall {
            arguments: String::new(),
            ..call.clone()
        })
    };
    let more = fragments(&call.arguments).map(|fragment| CallDelta {
        index: Some(index),
        function: FunctionDelta {
            name: None,
            arguments: Some(fragment.to_owned()),
        },
        ..CallDelta::default()
    });
    std::iter::once(head)
        .chain(more)
        .map(|call| Delta {
            tool_calls: vec![call],
            ..Delta::default()
        })
        .collect()
}

/// A text's words, each with the blanks before it: pieces of about a token.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.find(|c: char| !c.is_whitespace())?;
        let end = rest[word..]
            .find(char::is_whitespace)
            .map_or(rest.len(), |blank| word + blank);
        let (piece, more) = rest.split_at(end);
        rest = more;
        Some(piece)
    })
    .chain(trailing_blanks(text))
}

fn trailing_blanks(text: &str) -> Option<&str> {
    let blanks = &text[text.trim_end().len()..];
    (!blanks.is_empty()).then_some(blanks)
}

/// How long a piece of arguments is, in characters.
const FRAGMENT: usize = 8;

/// A text in pieces of [`FRAGMENT`] characters, two pieces at least where it has two characters.
fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let size = match text.chars().nth(FRAGMENT) {
        Some(_) => FRAGMENT,
        None => text.chars().count().div_ceil(2).max(1),
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        rest = more;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_call_with_short_arguments_can_still_break_off_inside_them() {
        let pieces: Vec<_> = fragments("{}").collect();
        assert_eq!(pieces, ["{", "}"]);
        assert_eq!(fragments("").count(), 0);
        assert_eq!(words(" a  b ").collect::<Vec<_>>(), [" a", "  b", " "]);
    }

    proptest! {
        #[test]
        fn pieces_joined_are_the_text(text in any::<String>()) {
            prop_assert_eq!(words(&text).collect::<String>(), text.as_str());
            prop_assert_eq!(fragments(&text).collect::<String>(), text.as_str());
        }
    }
}
