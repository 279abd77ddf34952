//! The tokens of successive requests whose transcript grows, and is edited now and then: of each,
//! and of what it has in common with the one before.

use std::ops::Range;

use super::running::{JsonCost, RunningCount};

/// The count of the transcript that the next request sends.
///
/// Each text is encoded once by whoever knows its [`JsonCost`]; an edit changes sums, and looks
/// back no further than to the message that is edited.
#[derive(Clone, Debug, Default)]
pub struct EditedCount {
    messages: Vec<JsonCost>,
    count: RunningCount,
    /// How many messages the last request had.
    sent: usize,
    /// The first message of the last request that is another one now, and how many tokens its two
    /// forms begin with in common.
    changed: Option<(usize, u64)>,
}

impl EditedCount {
    /// Appends a message.
    pub fn push(&mut self, cost: JsonCost) {
        self.count.push_cost(cost);
        self.messages.push(cost);
    }

    /// The message at `at` is another one, which begins with `common` tokens of the old one. The
    /// last message stays as it is, and so does one that is not there.
    pub fn replace(&mut self, at: usize, cost: JsonCost, common: u64) {
        if at + 1 >= self.messages.len() {
            return;
        }
        if let Some(old) = self.messages.get_mut(at) {
            self.count.replace(*old, cost);
            *old = cost;
            self.change(at, common);
        }
    }

    /// The messages of `range`, which is not empty and does not reach the last one, become one,
    /// which begins with `common` tokens of the first of them.
    pub fn fold(&mut self, range: Range<usize>, cost: JsonCost, common: u64) {
        if range.is_empty() || range.end >= self.messages.len() {
            return;
        }
        let (first, rest) = (range.start, range.start + 1..range.end);
        self.replace(first, cost, common);
        for gone in self.messages.drain(rest) {
            self.count.remove(gone);
        }
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The tokens of the transcript.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.count.tokens()
    }

    /// The tokens of the transcript with one more message.
    #[must_use]
    pub fn tokens_with(&self, cost: JsonCost) -> u64 {
        let mut count = self.count;
        count.push_cost(cost);
        count.tokens()
    }

    /// The tokens that the transcript has in common with any that goes on after it.
    #[must_use]
    pub fn reach(&self) -> u64 {
        self.reach_of(self.messages.len())
    }

    /// The tokens that the transcript has in common with that of the last request; 0 where there
    /// was none.
    #[must_use]
    pub fn common(&self) -> u64 {
        match self.changed {
            Some((at, common)) => self.before(at) + common,
            None => self.reach_of(self.sent),
        }
    }

    /// The transcript is sent as it is.
    pub fn send(&mut self) {
        self.sent = self.messages.len();
        self.changed = None;
    }

    fn change(&mut self, at: usize, common: u64) {
        if at >= self.sent {
            return;
        }
        self.changed = match self.changed {
            Some((before, kept)) if before < at => Some((before, kept)),
            Some((before, kept)) if before == at => Some((at, kept.min(common))),
            _ => Some((at, common)),
        };
    }

    /// The tokens before the keys of the message at `at`.
    fn before(&self, at: usize) -> u64 {
        let after = self.messages.iter().skip(at);
        let after: u64 = after.map(|cost| cost.followed).sum();
        self.count.closed() - after
    }

    /// What the first `messages` have in common with every transcript that begins with them.
    fn reach_of(&self, messages: usize) -> u64 {
        let Some(last) = messages.checked_sub(1) else {
            return 0;
        };
        let shared = self.messages.get(last).map_or(0, |cost| cost.shared);
        self.before(last) + shared
    }
}
