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
            // One that is the same has its closing piece in common only where the same follows.
            self.change(at, common.min(cost.shared));
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::message::{Message, to_json};
    use crate::tokens::running::tests::{assistant, message, user};
    use crate::tokens::{count_common, count_messages};

    /// A transcript, as it was sent last and as it is now, beside its count.
    #[derive(Default)]
    struct Watched {
        count: EditedCount,
        now: Vec<Message>,
        sent: Vec<Message>,
        /// How many edits there were since. One that changes nothing counts as two: how much there
        /// is in common behind it is not looked for either.
        edits: usize,
    }

    fn keys(message: &Message) -> String {
        to_json(message)[2..].to_owned()
    }

    fn common(one: &Message, other: &Message) -> u64 {
        count_common(&keys(one), &keys(other))
    }

    impl Watched {
        fn of(messages: impl IntoIterator<Item = Message>) -> Self {
            let mut watched = Self::default();
            for message in messages {
                watched.push(message);
            }
            watched
        }

        fn push(&mut self, message: Message) {
            self.count.push(JsonCost::of_message(&message));
            self.now.push(message);
        }

        fn send(&mut self) {
            self.count.send();
            self.sent.clone_from(&self.now);
            self.edits = 0;
        }

        /// Replaces a message that others follow; another is asked for, and stays.
        fn replace(&mut self, at: usize, message: Message) {
            let old = self.now.get(at).unwrap_or(&message);
            let common = common(old, &message);
            self.count
                .replace(at, JsonCost::of_message(&message), common);
            if at + 1 < self.now.len() {
                self.edits += 1 + usize::from(self.now[at] == message);
                self.now[at] = message;
            }
        }

        fn fold(&mut self, range: Range<usize>, message: Message) {
            let old = self.now.get(range.start).unwrap_or(&message);
            let common = common(old, &message);
            let cost = JsonCost::of_message(&message);
            self.count.fold(range.clone(), cost, common);
            if !range.is_empty() && range.end < self.now.len() {
                self.edits += 1 + usize::from(self.now[range.start] == message);
                self.now.splice(range, [message]);
            }
        }

        /// Holds every sum against a recount of the whole.
        fn holds(&self) {
            let (count, extra) = (&self.count, user("and so on"));
            assert_eq!(count.len(), self.now.len());
            assert_eq!(count.is_empty(), self.now.is_empty());
            let longer = [self.now.as_slice(), std::slice::from_ref(&extra)].concat();
            let with = count.tokens_with(JsonCost::of_message(&extra));
            assert_eq!(with, count_messages(&longer), "{:?}", self.now);
            let reach = count_common(&to_json(&self.now), &to_json(&longer));
            assert_eq!(count.reach(), reach, "{:?}", self.now);
            let kept = count_common(&to_json(&self.sent), &to_json(&self.now));
            let words = format!("{:?} and then {:?}", self.sent, self.now);
            if self.edits > 1 {
                assert!(count.common() <= kept, "{words}");
            } else if self.now != self.sent {
                assert_eq!(count.common(), kept, "{words}");
            }
            if !self.now.is_empty() {
                assert_eq!(count.tokens(), count_messages(&self.now), "{:?}", self.now);
            }
        }
    }

    fn four() -> Watched {
        let texts = ["Which file?", "Let me look.", "A long text.", "Well?"];
        let mut watched = Watched::of(texts.map(user));
        watched.send();
        watched.push(assistant("This one."));
        watched
    }

    #[test]
    fn what_is_pushed_is_what_is_counted_and_all_that_was_sent_is_common() {
        let mut watched = Watched::default();
        watched.holds();
        for text in ["?", "{\"", "Yes."] {
            watched.send();
            watched.push(user(text));
            watched.holds();
        }
    }

    #[test]
    fn a_message_that_is_replaced_is_the_first_that_differs() {
        for at in 0..4 {
            for text in ["Left out.", "Let me see.", "A long text, and longer."] {
                let mut watched = four();
                watched.replace(at, user(text));
                watched.holds();
            }
        }
    }

    #[test]
    fn the_last_message_stays_and_what_comes_after_what_was_sent_differs_from_nothing() {
        let mut watched = four();
        for at in 4..7 {
            watched.replace(at, user("Not this."));
            watched.holds();
        }
        watched.push(user("And?"));
        watched.replace(4, assistant("That one."));
        watched.edits = 0;
        watched.holds();
    }

    #[test]
    fn a_message_that_is_replaced_by_itself_has_no_more_in_common_than_what_follows_allows() {
        for at in 0..4 {
            let mut watched = four();
            watched.replace(at, watched.now[at].clone());
            watched.holds();
        }
        let mut watched = Watched::of(["", ""].map(user));
        watched.send();
        watched.push(user(""));
        watched.replace(1, user(""));
        watched.holds();
    }

    #[test]
    fn of_two_edits_the_earlier_one_is_where_transcripts_part() {
        let parts = |edits: &[(usize, &str)]| {
            let mut watched = four();
            for (at, text) in edits {
                watched.replace(*at, user(text));
            }
            watched.holds();
            watched.count.common()
        };
        let first = parts(&[(1, "Let us see.")]);
        assert_eq!(parts(&[(1, "Let us see."), (2, "Short.")]), first);
        assert_eq!(parts(&[(2, "Short."), (1, "Let us see.")]), first);
        let second = parts(&[(2, "A long tale.")]);
        assert!(first < second);
        // Of two in one place the transcripts part at the nearer; that the first was taken back
        // is not looked for.
        assert!(parts(&[(2, "A long tale."), (2, "Short.")]) < second);
        let short = parts(&[(2, "Short.")]);
        for again in ["A long tale.", "Short, too."] {
            assert_eq!(parts(&[(2, "Short."), (2, again)]), short, "{again}");
        }
    }

    #[test]
    fn messages_become_one_unless_the_last_is_among_them() {
        for start in 0..5 {
            for end in start..6 {
                let mut watched = four();
                watched.fold(start..end, user("Asked and looked."));
                watched.holds();
            }
        }
    }

    /// One thing that happens to a transcript.
    #[derive(Clone, Debug)]
    enum Happens {
        Push(Message),
        Replace(usize, Message),
        Fold(Range<usize>, Message),
        Send,
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            4 => message().prop_map(Happens::Push),
            2 => (0_usize..6, message()).prop_map(|(at, one)| Happens::Replace(at, one)),
            1 => (0_usize..4, 0_usize..4, message())
                .prop_map(|(at, more, one)| Happens::Fold(at..at + more, one)),
            2 => Just(Happens::Send),
        ]
    }

    proptest! {
        #[test]
        fn whatever_happens_every_sum_is_that_of_a_recount(all in vec(happens(), 1..16)) {
            let mut watched = Watched::default();
            for one in all {
                match one {
                    Happens::Push(message) => watched.push(message),
                    Happens::Replace(at, message) => watched.replace(at, message),
                    Happens::Fold(range, message) => watched.fold(range, message),
                    Happens::Send => watched.send(),
                }
                watched.holds();
            }
        }
    }
}
