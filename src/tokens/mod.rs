//! Tokens: how many a text, a reply, a tool catalog and a growing transcript cost.
//!
//! The encoding is `o200k_base`, and every text is ordinary text to it: `<|endoftext|>` inside a
//! message is thirteen characters and not a control token. Only here is the tokenizer named.

mod running;

use tiktoken_rs::o200k_base_singleton;

pub use self::running::{JsonCost, RunningCount};
use crate::message::{Message, ToolCall, ToolDefinition, to_json};

/// The longest run of blanks that the tokenizer is given at once.
///
/// Its regular expression backs out of a run of blanks one by one, and gives up, by a panic, on
/// about a million of them. A longer run is encoded in pieces, which can only change the tokens
/// at the cuts.
const MAX_BLANKS: usize = 500_000;

/// The number of tokens in `text`.
#[must_use]
pub fn count(text: &str) -> u64 {
    encode(text).len() as u64
}

/// The longest prefix of `text` that is made of whole tokens of its encoding, cut back to the end
/// of a character, and is itself at most `max_tokens` tokens long.
///
/// The last condition does not follow from the first: a token can hold two characters and a part
/// of the third, and the two alone can cost two tokens. So a prefix is counted, and shortened
/// until it fits.
#[must_use]
pub fn truncate(text: &str, max_tokens: u64) -> &str {
    let tokens = encode(text);
    let Some(most) = usize::try_from(max_tokens)
        .ok()
        .filter(|&most| most < tokens.len())
    else {
        return text;
    };
    (1..=most)
        .rev()
        .map(|kept| whole_characters(text, bytes_of(&tokens[..kept])))
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

fn encode(mut text: &str) -> Vec<u32> {
    let tokenizer = o200k_base_singleton();
    let mut tokens = Vec::new();
    while let Some(cut) = end_of_too_many_blanks(text) {
        let (piece, rest) = text.split_at(cut);
        tokens.append(&mut tokenizer.encode_ordinary(piece));
        text = rest;
    }
    tokens.append(&mut tokenizer.encode_ordinary(text));
    tokens
}

/// The byte at which the first run of blanks exceeds [`MAX_BLANKS`], if one does.
fn end_of_too_many_blanks(text: &str) -> Option<usize> {
    if text.len() <= MAX_BLANKS {
        return None;
    }
    let mut run = 0;
    text.char_indices().find_map(|(at, character)| {
        let blank = character.is_whitespace() && !matches!(character, '\r' | '\n');
        run = if blank { run + 1 } else { 0 };
        (run > MAX_BLANKS).then_some(at)
    })
}

/// The number of bytes that `tokens`, which came out of [`encode`], stand for.
fn bytes_of(tokens: &[u32]) -> usize {
    o200k_base_singleton()
        .decode_bytes(tokens)
        .map_or(0, |bytes| bytes.len())
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
    fn a_merge_can_cross_the_seam_between_two_messages() {
        let messages = [user("Why?"), assistant("No.")];
        let apart: u64 = messages.iter().map(|one| count(&to_json(one))).sum();
        let brackets_and_comma = 3;
        assert!(count_messages(&messages) < apart + brackets_and_comma);
    }

    #[test]
    fn a_run_of_blanks_longer_than_the_tokenizer_takes_is_counted_in_pieces() {
        for blank in [" ", "\u{85}", "\u{a0}"] {
            let piece = blank.repeat(MAX_BLANKS);
            assert_eq!(count(&piece.repeat(3)), 3 * count(&piece), "{blank:?}");
        }
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
        let first = bytes_of(&encode(kannada)[..1]);
        assert_eq!(whole_characters(kannada, first), " ಮಾ");
        assert_eq!((count(kannada), count(" ಮಾ")), (2, 2));
        assert_eq!(truncate(kannada, 1), "");
    }

    proptest! {
        #[test]
        fn truncation_keeps_the_longest_prefix_that_fits(text in text(), max in 0_u64..24) {
            let tokens = encode(&text);
            let longest = (0..=tokens.len())
                .filter(|&kept| kept as u64 <= max)
                .map(|kept| whole_characters(&text, bytes_of(&tokens[..kept])))
                .filter(|prefix| count(prefix) <= max)
                .max_by_key(|prefix| prefix.len());
            prop_assert_eq!(Some(truncate(&text, max)), longest);
        }
    }
}
