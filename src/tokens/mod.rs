//! Tokens: how many a text, a reply, a tool catalog and a growing transcript cost.
//!
//! The encoding is `o200k_base`, and every text is ordinary text to it: `<|endoftext|>` inside a
//! message is thirteen characters and not a control token. Only here is the tokenizer named.
//!
//! The vocabulary is laid out by the build script and looked up where it lies, because a run of
//! a few turns takes less time than reading it anew would. It is the vocabulary of tiktoken-rs,
//! which also is what the tests hold every count against.

mod edited;
mod layout;
mod memo;
mod merge;
mod pieces;
mod running;
mod vocabulary;

pub use self::edited::EditedCount;
pub use self::running::{JsonCost, RunningCount};
use crate::message::{Message, ToolCall, ToolDefinition, to_json};

/// The number of tokens in `text`.
#[must_use]
pub fn count(text: &str) -> u64 {
    pieces(text)
        .map(|(begin, end)| count_piece(text, begin, end))
        .sum()
}

/// The longest prefix of `text` that is made of whole tokens of its encoding, cut back to the end
/// of a character, and is itself at most `max_tokens` tokens long.
///
/// The last condition does not follow from the first: a token can hold two characters and a part
/// of the third, and the two alone can cost two tokens. So a prefix is counted, and shortened
/// until it fits.
#[must_use]
pub fn truncate(text: &str, max_tokens: u64) -> &str {
    let ends = token_ends(text);
    let Some(most) = usize::try_from(max_tokens)
        .ok()
        .filter(|&most| most < ends.len())
    else {
        return text;
    };
    ends[..most]
        .iter()
        .rev()
        .map(|end| whole_characters(text, *end))
        .find(|prefix| count(prefix) <= max_tokens)
        .unwrap_or_default()
}

/// The tokens of a reply: its prose, an empty text if it has none, and its calls printed as JSON.
///
/// A reply without calls prints them as `[]`, which counts.
#[must_use]
pub fn count_completion(content: Option<&str>, calls: &[ToolCall]) -> u64 {
    count(content.unwrap_or_default()) + count(&to_json(calls))
}

/// The tokens of a tool catalog printed as JSON.
#[must_use]
pub fn count_tools(tools: &[ToolDefinition]) -> u64 {
    count(&to_json(tools))
}

/// The tokens of a transcript printed as JSON, counted from its beginning.
///
/// This is the definition. What grows message by message is better asked of a [`RunningCount`],
/// which gives the same number without beginning again.
#[must_use]
pub fn count_messages(messages: &[Message]) -> u64 {
    count(&to_json(messages))
}

/// The tokens that two texts have in common from their beginning, as far as whole pieces are the
/// same: a piece is what no merge crosses, so its tokens are the same in both texts. Of the first
/// piece that differs none are counted, though its first tokens may be the same.
#[must_use]
pub fn count_common(one: &str, other: &str) -> u64 {
    let same = pieces(one)
        .zip(pieces(other))
        .take_while(|(a, b)| a == b && one.as_bytes()[a.0..a.1] == other.as_bytes()[b.0..b.1]);
    same.map(|((begin, end), _)| count_piece(one, begin, end))
        .sum()
}

/// Where the pieces of a text begin and end.
fn pieces(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let end = pieces::end_of_piece(text, begin)?;
        Some((std::mem::replace(&mut begin, end), end))
    })
}

#[inline]
fn count_piece(text: &str, begin: usize, end: usize) -> u64 {
    if vocabulary::has(text.as_bytes(), begin, end) {
        return 1;
    }
    let piece = &text.as_bytes()[begin..end];
    memo::tokens(piece, || {
        let mut tokens = 0;
        merge::merge(piece, |_| tokens += 1);
        tokens
    })
}

/// The byte at which each token of a text ends.
fn token_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (begin, end) in pieces(text) {
        if vocabulary::has(text.as_bytes(), begin, end) {
            ends.push(end);
            continue;
        }
        let mut at = begin;
        merge::merge(&text.as_bytes()[begin..end], |length| {
            at += length;
            ends.push(at);
        });
    }
    ends
}

/// The tokens of all pieces but the last, and where that begins.
fn count_to_last_piece(text: &str) -> (u64, usize) {
    let mut before = 0;
    let mut last = None;
    for piece in pieces(text) {
        if let Some((begin, end)) = last.replace(piece) {
            before += count_piece(text, begin, end);
        }
    }
    (before, last.map_or(0, |(begin, _)| begin))
}

/// The first `bytes` bytes of `text`, without the character that would be cut.
fn whole_characters(text: &str, bytes: usize) -> &str {
    (0..=bytes)
        .rev()
        .find_map(|end| text.get(..end))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::running::tests::{assistant, call, text, user};
    use super::*;

    #[test]
    fn a_special_token_spelling_is_ordinary_text() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello"), 1);
        assert!(count("<|endoftext|>") > 1);
    }

    #[test]
    fn a_reply_without_calls_pays_for_the_empty_array() {
        assert_eq!(count_completion(None, &[]), 1);
        assert_eq!(count_completion(Some("hello"), &[]), 2);
        let list = call("c1", "list_files", "{}");
        assert_eq!(count_completion(None, &[list]), 23);
    }

    #[test]
    fn a_catalog_costs_what_its_json_does() {
        let tool = |name: &str| ToolDefinition {
            name: name.to_owned(),
            description: "List the names of all files.".to_owned(),
            parameters: serde_json::json!({ "type": "object", "properties": {} }),
        };
        let (one, two) = (tool("list_files"), tool("list_folders"));
        assert_eq!(count_tools(&[]), 1);
        assert_eq!(count_tools(std::slice::from_ref(&one)), 34);
        let json = format!("[{},{}]", to_json(&one), to_json(&two));
        assert_eq!(count_tools(&[one, two]), count(&json));
    }

    #[test]
    fn a_merge_can_cross_the_seam_between_two_messages() {
        let messages = [user("Why?"), assistant("No.")];
        let apart: u64 = messages.iter().map(|one| count(&to_json(one))).sum();
        let brackets_and_comma = 3;
        assert!(count_messages(&messages) < apart + brackets_and_comma);
    }

    #[test]
    fn two_texts_have_their_whole_pieces_in_common_up_to_the_first_that_differs() {
        assert_eq!(count_common("one two three", "one two four"), 2);
        assert_eq!(count_common("one two", "one two"), 2);
        assert_eq!(count_common("one two", "one twofold"), 1);
        assert_eq!(count_common("one", "two"), 0);
        assert_eq!(count_common("", "one"), 0);
    }

    #[test]
    fn a_contraction_by_a_long_s_is_a_part_of_its_word() {
        let found: Vec<_> = pieces("it'ſ on").collect();
        assert_eq!(found, [(0, 5), (5, 8)]);
    }

    #[test]
    fn a_run_of_a_million_blanks_is_counted() {
        for blank in [" ", "\u{85}", "\u{a0}"] {
            let many = blank.repeat(1_000_000);
            let tokens = count(&many);
            assert!((1..=3_000_000).contains(&tokens), "{blank:?}: {tokens}");
            assert_eq!(
                count(&format!("{many}x")),
                count(&many[blank.len()..]) + count(&format!("{blank}x"))
            );
        }
    }

    #[test]
    fn a_word_of_megabytes_is_counted_in_parts() {
        let part = "ab".repeat(1 << 18);
        assert_eq!(count(&part.repeat(2)), 2 * count(&part));
    }

    #[test]
    fn truncation_ends_between_two_characters() {
        let family = "👩\u{200d}👩\u{200d}👧";
        for max in 0..count(family) {
            assert!(family.starts_with(truncate(family, max)), "{max}");
        }
        assert_eq!(truncate("one two three", 2), "one two");
        assert_eq!(truncate("one two three", 0), "");
        assert_eq!(truncate("one two three", u64::MAX), "one two three");
    }

    #[test]
    fn truncation_never_exceeds_the_limit_by_cutting_a_character() {
        let kannada = " ಮಾಂ";
        assert_eq!(whole_characters(kannada, token_ends(kannada)[0]), " ಮಾ");
        assert_eq!((count(kannada), count(" ಮಾ")), (2, 2));
        assert_eq!(truncate(kannada, 1), "");
    }

    proptest! {
        #[test]
        fn truncation_keeps_the_longest_prefix_that_fits(text in text(), max in 0_u64..24) {
            let ends = [vec![0], token_ends(&text)].concat();
            let longest = (0_u64..).zip(ends)
                .filter(|(kept, _)| *kept <= max)
                .map(|(_, end)| whole_characters(&text, end))
                .filter(|prefix| count(prefix) <= max)
                .max_by_key(|prefix| prefix.len());
            prop_assert_eq!(Some(truncate(&text, max)), longest);
        }
    }
}
