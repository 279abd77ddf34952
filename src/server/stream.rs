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
        let nothing = || Said {
            content: None,
            tool_calls: Vec::new(),
        };
        let said = reply.message.unwrap_or_else(nothing);
        let opening = role_delta(&said);
        let mut pieces = Pieces::of(said);
        let count = u32::try_from(pieces.left).unwrap_or(u32::MAX);
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
        let role = event(&self.chunk(opening, None));
        let first = [Step::Send(role), Step::Until(self.timing.first)];
        let body = (1_u32..).zip(pieces).flat_map(move |(at, delta)| {
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

/// The first delta: the role, and the beginning of prose only where there is some, so that what a
/// client puts together of calls alone has no prose, as the plain reply has none.
fn role_delta(said: &Said) -> Delta {
    Delta {
        role: Some("assistant".to_owned()),
        content: said.content.as_ref().map(|_| String::new()),
        ..Delta::default()
    }
}

/// The pieces of a reply, made one by one as they are sent.
#[derive(Clone, Debug)]
struct Pieces {
    parts: std::vec::IntoIter<Part>,
    left: usize,
}

impl Pieces {
    fn of(said: Said) -> Self {
        let prose = said.content.map(Part::prose);
        let calls = (0..).zip(said.tool_calls);
        let calls = calls.flat_map(|(index, call)| Part::call(index, call));
        let parts: Vec<_> = prose.into_iter().chain(calls).collect();
        Self {
            left: parts.iter().map(Part::count).sum(),
            parts: parts.into_iter(),
        }
    }

    /// Leaves out the second half of the last part, one piece at least.
    fn break_last(&mut self) {
        let last = self.parts.as_slice().last().map_or(0, Part::count);
        self.left = self.left.saturating_sub((last / 2).max(1));
    }
}

impl Iterator for Pieces {
    type Item = Delta;

    fn next(&mut self) -> Option<Delta> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let parts = self.parts.as_mut_slice();
            if let Some(delta) = parts.first_mut()?.next() {
                return Some(delta);
            }
            self.parts.next();
        }
    }
}

/// A text that is sent piece by piece, or something that is one piece.
#[derive(Clone, Debug)]
enum Part {
    /// A call's id and name.
    Head(Option<CallDelta>),
    /// Prose.
    Prose(Text<Words>),
    /// The arguments of the call with this index.
    Arguments(u32, Text<Fragments>),
}

impl Part {
    fn prose(text: String) -> Self {
        Self::Prose(Text::new(text, Words))
    }

    fn call(index: u32, call: ToolCall) -> [Self; 2] {
        let arguments = call.arguments;
        let head = CallDelta {
            index: Some(index),
            ..CallDelta::from(ToolCall {
                arguments: String::new(),
                ..call
            })
        };
        let size = Fragments::of(&arguments);
        let arguments = Self::Arguments(index, Text::new(arguments, size));
        [Self::Head(Some(head)), arguments]
    }

    fn count(&self) -> usize {
        match self {
            Self::Head(head) => usize::from(head.is_some()),
            Self::Prose(text) => text.count(),
            Self::Arguments(_, text) => text.count(),
        }
    }

    fn next(&mut self) -> Option<Delta> {
        let call = match self {
            Self::Head(head) => head.take()?,
            Self::Prose(text) => {
                let content = Some(text.next()?);
                return Some(Delta {
                    content,
                    ..Delta::default()
                });
            }
            Self::Arguments(index, text) => CallDelta {
                index: Some(*index),
                function: FunctionDelta {
                    name: None,
                    arguments: Some(text.next()?),
                },
                ..CallDelta::default()
            },
        };
        Some(Delta {
            tool_calls: vec![call],
            ..Delta::default()
        })
    }
}

/// Where the first piece of a text that is not empty ends.
trait Split {
    fn end(&self, text: &str) -> usize;
}

/// Words, each with the blanks before it: pieces of about a token.
#[derive(Clone, Copy, Debug)]
struct Words;

impl Split for Words {
    fn end(&self, text: &str) -> usize {
        let word = text.find(|c: char| !c.is_whitespace());
        let blank = |word: usize| text[word..].find(char::is_whitespace).map(|at| word + at);
        word.and_then(blank).unwrap_or(text.len())
    }
}

/// So many characters.
#[derive(Clone, Copy, Debug)]
struct Fragments(usize);

impl Fragments {
    /// Eight characters, or fewer, so that a text of two characters or more has two pieces.
    fn of(text: &str) -> Self {
        let some = text.chars().take(16).count();
        Self(some.div_ceil(2).max(1))
    }
}

impl Split for Fragments {
    fn end(&self, text: &str) -> usize {
        let end = text.char_indices().nth(self.0);
        end.map_or(text.len(), |(at, _)| at)
    }
}

/// A text and how far it has been sent.
#[derive(Clone, Debug)]
struct Text<S> {
    whole: String,
    sent: usize,
    split: S,
}

impl<S: Split + Copy> Text<S> {
    fn new(text: String, split: S) -> Self {
        let sent = 0;
        Self {
            whole: text,
            sent,
            split,
        }
    }

    fn next(&mut self) -> Option<String> {
        let rest = self
            .whole
            .get(self.sent..)
            .filter(|rest| !rest.is_empty())?;
        let piece = rest[..self.split.end(rest)].to_owned();
        self.sent += piece.len();
        Some(piece)
    }

    /// How many pieces are left.
    fn count(&self) -> usize {
        let (mut rest, mut count) = (&self.whole[self.sent..], 0);
        while !rest.is_empty() {
            rest = &rest[self.split.end(rest)..];
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces<S: Split + Copy>(text: &str, split: S) -> Vec<String> {
        let mut text = Text::new(text.to_owned(), split);
        let count = text.count();
        let pieces: Vec<_> = std::iter::from_fn(|| text.next()).collect();
        assert_eq!(pieces.len(), count);
        pieces
    }

    #[test]
    fn a_call_with_short_arguments_can_still_break_off_inside_them() {
        let fragments = |text| pieces(text, Fragments::of(text));
        assert_eq!(fragments("{}"), ["{", "}"]);
        assert_eq!(fragments("x"), ["x"]);
        assert!(fragments("").is_empty());
        assert_eq!(pieces(" a  b ", Words), [" a", "  b", " "]);
    }

    proptest! {
        #[test]
        fn pieces_joined_are_the_text(text in any::<String>()) {
            prop_assert_eq!(pieces(&text, Words).concat(), text.as_str());
            prop_assert_eq!(pieces(&text, Fragments::of(&text)).concat(), text.as_str());
        }
    }
}
