//! What a run sends, where that is not simply its transcript: an edited one, or one of which the
//! provider keeps a part in its cache.

use std::ops::Range;
use std::time::Duration;

use crate::message::Message;
use crate::pricing::CachedRequest;
use crate::run::context::{Context, ContextPolicy, Counted, Edit, left_out};
use crate::run::state::RunState;
use crate::scenario::ask_for_summary;
use crate::tokens::JsonCost;

/// What is sent of a transcript. Like the transcript's index it is never stored, only made again.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    policy: ContextPolicy,
    context: Context,
    /// The messages; none where all of the transcript is sent.
    messages: Option<Vec<Message>>,
    /// What the summary that was asked for sums up.
    due: Option<(Range<usize>, u32)>,
}

/// A request for a summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) prompt_tokens: u64,
    pub(super) most_tokens: u64,
}

impl Sending {
    /// What the run of that state sends; none where that is its transcript, and nobody asks what
    /// of it is cached.
    pub(super) fn of(state: &RunState) -> Option<Self> {
        let policy = state.settings.context;
        let edits = policy != ContextPolicy::Full;
        if !edits && state.settings.cache.is_none() {
            return None;
        }
        let mut sending = Self {
            policy,
            context: Context::new(policy),
            messages: edits.then(Vec::new),
            due: None,
        };
        sending.replay(state);
        Some(sending)
    }

    /// Every request that the transcript tells of, one after the other.
    fn replay(&mut self, state: &RunState) {
        let mut summaries = state.summaries.iter().peekable();
        let mut fold = |sending: &mut Self, length: usize| {
            while let Some(summary) = summaries.next_if(|one| one.after_messages == length) {
                sending.edit();
                // The tools' length only decides when a summary is due, and this one was.
                let _ = sending.due_summary(u64::MAX / 2);
                sending.sent();
                sending.fold(&summary.text);
            }
        };
        for (length, message) in state.messages.iter().enumerate() {
            fold(self, length);
            if let Message::Assistant { .. } = message {
                self.edit();
                self.sent();
            }
            self.push(message);
        }
        fold(self, state.messages.len());
    }

    /// The messages, where they are not the transcript's.
    pub(super) fn messages(&self) -> Option<&[Message]> {
        self.messages.as_deref()
    }

    /// Takes in the next message of the transcript.
    pub(super) fn push(&mut self, message: &Message) {
        self.context.push(Counted::of(message));
        if let Some(messages) = &mut self.messages {
            messages.push(message.clone());
        }
    }

    /// Leaves out what the policy leaves out of the next request, and says how much that is.
    pub(super) fn edit(&mut self) -> u32 {
        let before = self.context.results_left_out();
        let messages = &mut self.messages;
        self.context.edit(|edit| {
            if let (Edit::LeaveOut(at), Some(messages)) = (edit, messages.as_mut())
                && let Some(message) = messages.get_mut(*at)
            {
                *message = left_out(message.clone());
            }
        });
        self.context.results_left_out() - before
    }

    /// The summary to ask for before the next reply, if one is due.
    pub(super) fn due_summary(&mut self, tools_tokens: u64) -> Option<Asked> {
        let ContextPolicy::Summarise { summary_tokens, .. } = self.policy else {
            return None;
        };
        let Edit::Fold(range, turns) = self.context.due_summary(tools_tokens)? else {
            return None;
        };
        self.due = Some((range, turns));
        let question = JsonCost::of_message(&ask_for_summary(summary_tokens));
        Some(Asked {
            prompt_tokens: self.context.count().tokens_with(question) + tools_tokens,
            most_tokens: summary_tokens,
        })
    }

    /// Puts the summary that was asked for in the place of what it sums up.
    pub(super) fn fold(&mut self, text: &str) {
        let (Some((range, turns)), Some(messages)) = (self.due.take(), &mut self.messages) else {
            return;
        };
        let Some(first) = messages.get(range.start) else {
            return;
        };
        let summary = self.context.fold((range.clone(), turns), first, text);
        messages.splice(range, [summary]);
    }

    /// Tokens of the messages.
    pub(super) const fn tokens(&self) -> u64 {
        self.context.tokens()
    }

    /// The next request as a cache sees it, its tools first: they never change, and providers put
    /// them there.
    pub(super) fn request(&self, tools_tokens: u64, at: Duration) -> CachedRequest {
        let count = self.context.count();
        CachedRequest {
            common_tokens: tools_tokens + count.common(),
            reach_tokens: tools_tokens + count.reach(),
            at,
        }
    }

    /// The next request was sent.
    pub(super) fn sent(&mut self) {
        self.context.send();
    }
}
