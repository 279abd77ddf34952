//! What a recorded run would have sent and had cached under a context policy and a cache, its
//! replies kept as they were.

use std::ops::Range;
use std::time::Duration;

use crate::message::{Message, Usage};
use crate::pricing::{Cache, CacheTerms, CacheUse, CachedRequest};
use crate::record::{Format, Recording};
use crate::run::context::{Context, ContextPolicy, Counted, Edit};
use crate::scenario::{ask_for_summary, scripted_summary};
use crate::tokens::{JsonCost, count_completion};

/// The messages of a recording as policies count them: made once, used in every case.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    messages: Vec<Counted>,
    /// The first reply, where summaries begin.
    first_reply: Option<Message>,
    turns: Vec<SentTurn>,
}

#[derive(Clone, Copy, Debug)]
struct SentTurn {
    reply: usize,
    tools_tokens: u64,
    completion_tokens: u64,
}

/// A turn in one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnUse {
    /// What asking for a summary before it would have used.
    pub(super) summary: Option<Usage>,
    pub(super) usage: Usage,
    /// Whether its request is another one than the recorded.
    pub(super) is_edited: bool,
}

impl Sent {
    /// The messages of a recording; none where it has no texts.
    pub(super) fn of(recording: &Recording) -> Option<Self> {
        if recording.format == Format::Trace {
            return None;
        }
        let messages = &recording.messages;
        let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
        let turns = recording.turns.iter().map(|turn| SentTurn {
            reply: turn.reply,
            tools_tokens: turn.tools_tokens,
            completion_tokens: turn.counted.completion_tokens,
        });
        Some(Self {
            messages: messages.iter().map(Counted::of).collect(),
            first_reply: messages.iter().find(is_reply).cloned(),
            turns: turns.collect(),
        })
    }

    /// Every turn in a case.
    pub(super) fn under(&self, policy: ContextPolicy, cache: Option<CacheTerms>) -> Vec<TurnUse> {
        let mut replay = Replay {
            context: Context::new(policy),
            cache: cache.map(|terms| (terms, Cache::default())),
            begin: self.first_reply.clone(),
            is_edited: false,
        };
        let mut turns = self.turns.iter().peekable();
        let mut uses = Vec::with_capacity(self.turns.len());
        for (at, message) in self.messages.iter().enumerate() {
            while let Some(turn) = turns.next_if(|turn| turn.reply == at) {
                uses.push(replay.turn(turn, policy));
            }
            replay.context.push(*message);
        }
        uses
    }
}

/// A recording on its way through a case.
struct Replay {
    context: Context,
    cache: Option<(CacheTerms, Cache)>,
    /// The message at which a summary would begin.
    begin: Option<Message>,
    is_edited: bool,
}

impl Replay {
    fn turn(&mut self, turn: &SentTurn, policy: ContextPolicy) -> TurnUse {
        let SentTurn {
            tools_tokens,
            completion_tokens,
            ..
        } = *turn;
        let is_edited = &mut self.is_edited;
        self.context.edit(|_| *is_edited = true);
        let due = self.context.due_summary(tools_tokens);
        let summary = match (due, policy) {
            (Some(Edit::Fold(range, turns)), ContextPolicy::Summarise { summary_tokens, .. }) => {
                Some(self.summarise((range, turns), summary_tokens, tools_tokens))
            }
            _ => None,
        };
        let prompt_tokens = self.context.tokens() + tools_tokens;
        TurnUse {
            summary,
            usage: self.send((prompt_tokens, completion_tokens), tools_tokens),
            is_edited: self.is_edited,
        }
    }

    fn summarise(
        &mut self,
        (range, turns): (Range<usize>, u32),
        summary_tokens: u64,
        tools_tokens: u64,
    ) -> Usage {
        self.is_edited = true;
        let question = JsonCost::of_message(&ask_for_summary(summary_tokens));
        let prompt_tokens = self.context.count().tokens_with(question) + tools_tokens;
        let text = scripted_summary(summary_tokens);
        let completion_tokens = count_completion(Some(&text), &[]);
        let usage = self.send((prompt_tokens, completion_tokens), tools_tokens);
        if let Some(begin) = self.begin.take() {
            self.begin = Some(self.context.fold((range, turns), &begin, &text));
        }
        usage
    }

    /// The usage of a request, which is sent then. No record says when, so nothing expires.
    fn send(&mut self, (prompt_tokens, completion_tokens): (u64, u64), tools_tokens: u64) -> Usage {
        let count = self.context.count();
        let request = CachedRequest {
            common_tokens: tools_tokens + count.common(),
            reach_tokens: tools_tokens + count.reach(),
            at: Duration::ZERO,
        };
        let cached = self
            .cache
            .as_mut()
            .map(|(terms, cache)| cache.request(terms, request));
        self.context.send();
        Usage {
            prompt_tokens,
            completion_tokens,
            cached_tokens: cached.map(|CacheUse { read, .. }| read),
            cache_write_tokens: cached.map(|CacheUse { written, .. }| written),
            ..Usage::default()
        }
    }
}
