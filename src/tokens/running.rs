//! The tokens of a transcript that grows: exact after every message, each message encoded twice
//! however long the run becomes.

use super::{count, count_to_last_piece};
use crate::message::{Message, to_json};

/// What every message begins with; the array is cut after it.
const OPEN: &str = "{\"";

/// The tokens of the JSON array of the messages so far.
///
/// # Why it is exact
///
/// A count is not additive over messages, because a merge can cross the seam between two of them:
/// `?"},{"` is one run of punctuation. It *is* additive over pre-tokens, the pieces into which the
/// encoding's regular expression cuts a text before any merge. So the transcript is cut where a
/// piece must end, whatever stands around it: after the `{"` that opens each message.
///
/// - Only two kinds of piece can hold a `{`: a run of punctuation, and a word with the `{` as its
///   one leading sign. A `"` follows, which is no letter, so it is a run.
/// - A run is taken whole: it takes the `"` too, and ends before the `r` of `role`.
/// - Nothing in the expression looks behind, so what follows is cut as if the text began there.
///
/// A message then costs the same in every transcript that goes on after it, and has one other
/// price while it is the last and a `]` follows it. Both are known once it is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningCount {
    /// Tokens up to and including the `{"` that would open the next message.
    closed: u64,
    /// Tokens of the whole array, with its closing bracket.
    tokens: u64,
}

impl RunningCount {
    /// The count of an empty transcript, which prints as `[]`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            closed: count(&format!("[{OPEN}")),
            tokens: count("[]"),
        }
    }

    /// Appends `message` to the transcript.
    pub fn push(&mut self, message: &Message) {
        self.push_cost(JsonCost::of_message(message));
    }

    /// Appends a message whose cost is known.
    pub const fn push_cost(&mut self, cost: JsonCost) {
        self.tokens = self.closed + cost.last;
        self.closed += cost.followed;
    }

    /// The tokens of the transcript so far.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Tokens up to and including the `{"` that would open the next message.
    pub(super) const fn closed(&self) -> u64 {
        self.closed
    }

    /// A message that others follow is another one now.
    pub(super) const fn replace(&mut self, old: JsonCost, new: JsonCost) {
        self.tokens = self.tokens - old.followed + new.followed;
        self.closed = self.closed - old.followed + new.followed;
    }

    /// A message that others follow is gone.
    pub(super) const fn remove(&mut self, old: JsonCost) {
        self.tokens -= old.followed;
        self.closed -= old.followed;
    }
}

/// What one message of an array costs, beyond the `{"` that opens it: when it is the last, and
/// when another follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonCost {
    /// Tokens of the pieces before the one in which its closing bracket lies: those that it has
    /// whatever follows.
    pub(super) shared: u64,
    last: u64,
    pub(super) followed: u64,
}

impl JsonCost {
    /// The cost of a message that is given as compact JSON. None where the message does not
    /// begin with a key that begins with an ASCII letter: the array may not be cut there.
    #[must_use]
    pub fn of(json: &str) -> Option<Self> {
        let keys = json.strip_prefix(OPEN)?;
        let letter = keys.starts_with(|first: char| first.is_ascii_alphabetic());
        letter.then(|| Self::of_keys(keys))
    }

    /// The cost of `message`.
    #[must_use]
    pub fn of_message(message: &Message) -> Self {
        let json = to_json(message);
        Self::of_keys(json.strip_prefix(OPEN).unwrap_or(&json))
    }

    /// Whether a message of this cost makes a transcript that goes on shorter than `other` does.
    #[must_use]
    pub const fn is_less_than(self, other: Self) -> bool {
        self.followed < other.followed
    }

    /// The cost of an object behind its opening `{"`.
    ///
    /// Both costs share all pieces before the one in which the closing `}` lies. That one is a run
    /// of punctuation, and what comes before it was cut without a look beyond the `}`, which ends
    /// every word, number, contraction and run of blanks.
    fn of_keys(keys: &str) -> Self {
        let (shared, end) = if keys.ends_with('}') {
            count_to_last_piece(keys)
        } else {
            (0, 0)
        };
        let end = &keys[end..];
        Self {
            shared,
            last: shared + count(&format!("{end}]")),
            followed: shared + count(&format!("{end},{OPEN}")),
        }
    }
}

impl Default for RunningCount {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Extend<&'a Message> for RunningCount {
    fn extend<I: IntoIterator<Item = &'a Message>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl<'a> FromIterator<&'a Message> for RunningCount {
    fn from_iter<I: IntoIterator<Item = &'a Message>>(messages: I) -> Self {
        let mut running = Self::new();
        running.extend(messages);
        running
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::message::ToolCall;
    use crate::tokens::count_messages;

    pub(in crate::tokens) fn user(content: &str) -> Message {
        Message::User {
            content: content.to_owned(),
        }
    }

    pub(in crate::tokens) fn assistant(content: &str) -> Message {
        Message::Assistant {
            content: Some(content.to_owned()),
            tool_calls: vec![],
        }
    }

    pub(in crate::tokens) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    /// What has a way of merging, of being escaped, or of looking like a seam.
    const AWKWARD: &[&str] = &[
        "?",
        ".",
        "!?…",
        " ",
        "   ",
        "\n",
        "\r\n\n",
        "\t",
        "/",
        "7",
        "30000",
        "\"",
        "\\",
        "\\\"",
        "{",
        "{\"",
        "},{\"",
        "\"},{\"role\":\"user\",\"content\":\"",
        "[{\"",
        "]",
        "}]",
        "role",
        "e\u{301}",
        "\u{301}\u{302}",
        "👩\u{200d}👩\u{200d}👧",
        "🇬🇷🇪🇺",
        "\u{85}",
        "\u{a0}",
        "\u{2028}",
        "\u{0}",
        "한국어",
        "각",
        "日本語",
        "Ελληνικά",
        "العربية",
        " ಮಾಂ",
        "it's",
        "CamelCASE",
        "<|endoftext|>",
        "<|endofprompt|>",
    ];

    /// Any text, with a liking for the awkward.
    pub(in crate::tokens) fn text() -> impl Strategy<Value = String> {
        let awkward = select(AWKWARD).prop_map(str::to_owned);
        let long_run = (select(AWKWARD), 50_usize..150).prop_map(|(one, times)| one.repeat(times));
        let any = vec(any::<char>(), 0..6).prop_map(String::from_iter);
        let fragment = prop_oneof![12 => awkward, 1 => long_run, 6 => any];
        vec(fragment, 0..6).prop_map(|fragments| fragments.concat())
    }

    pub(in crate::tokens) fn message() -> impl Strategy<Value = Message> {
        let calls = vec((text(), text(), text()), 0..3).prop_map(|calls| {
            let calls = calls.iter();
            calls.map(|(id, name, args)| call(id, name, args)).collect()
        });
        prop_oneof![
            text().prop_map(|content| Message::System { content }),
            text().prop_map(|content| Message::User { content }),
            (proptest::option::of(text()), calls).prop_map(|(content, tool_calls)| {
                Message::Assistant {
                    content,
                    tool_calls,
                }
            }),
            (text(), text(), text()).prop_map(|(tool_call_id, name, content)| Message::Tool {
                tool_call_id,
                name,
                content,
            }),
        ]
    }

    #[test]
    fn an_empty_transcript_is_a_pair_of_brackets() {
        assert_eq!(RunningCount::new().tokens(), count_messages(&[]));
        assert_eq!(RunningCount::default(), RunningCount::new());
    }

    #[test]
    fn every_awkward_ending_costs_the_same_as_a_recount() {
        for ending in AWKWARD {
            let messages = [user(ending), assistant(ending), user("x")];
            for length in 1..=messages.len() {
                let so_far = &messages[..length];
                let running: RunningCount = so_far.iter().collect();
                assert_eq!(running.tokens(), count_messages(so_far), "{ending:?}");
            }
        }
    }

    #[test]
    fn an_object_that_may_not_be_cut_has_no_cost_of_its_own() {
        for json in [
            "",
            "{}",
            r#"{"":1}"#,
            r#"{"1":1}"#,
            r#"{"é":1}"#,
            r#"{" a":1}"#,
            "[1]",
        ] {
            assert_eq!(JsonCost::of(json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn messages_known_by_their_json_cost_the_same_as_a_recount(
            messages in vec((text(), text(), text()), 1..6)
        ) {
            let objects: Vec<String> = messages
                .iter()
                .map(|(key, one, two)| {
                    to_json(&serde_json::json!({ format!("x{key}"): one, "role": two }))
                })
                .collect();
            let mut running = RunningCount::new();
            for (at, object) in objects.iter().enumerate() {
                running.push_cost(JsonCost::of(object).unwrap());
                let array = format!("[{}]", objects[..=at].join(","));
                prop_assert_eq!(running.tokens(), count(&array));
            }
        }

        #[test]
        fn after_every_push_it_equals_a_recount(messages in vec(message(), 1..6)) {
            let mut running = RunningCount::new();
            for (at, message) in messages.iter().enumerate() {
                running.push(message);
                prop_assert_eq!(running.tokens(), count_messages(&messages[..=at]));
            }
        }
    }
}
