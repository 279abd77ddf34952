//! Our counts are those of tiktoken-rs, for every token and for texts of all kinds.

use loopmeter::tokens::{count, truncate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tiktoken_rs::{CoreBPE, o200k_base_singleton};

fn oracle() -> &'static CoreBPE {
    o200k_base_singleton()
}

/// Whether we agree with the oracle, in number and in where each token ends.
#[track_caller]
fn agrees(text: &str) {
    let tokens = oracle().encode_ordinary(text);
    assert_eq!(count(text), tokens.len() as u64, "{text:?}");
}

#[test]
fn every_token_that_is_a_text_counts_as_it_does_there() {
    let mut texts = 0;
    for rank in 0_u32.. {
        let Ok(bytes) = oracle().decode_bytes(&[rank]) else {
            break;
        };
        // A part of a character is no text.
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        texts += 1;
        agrees(&text);
    }
    assert!(texts > 190_000, "{texts}");
}

#[test]
fn every_character_alone_and_among_words_counts_as_it_does_there() {
    for character in '\0'..=char::MAX {
        let text = format!("{character}");
        // Where two implementations differ in a class of characters, it shows beside a letter.
        let among = format!("A{character}a'{character} {character}1{character}\n{character}.");
        if character < '\u{3000}' || (character as u32).is_multiple_of(61) {
            agrees(&among);
        }
        agrees(&text);
    }
}

/// What the expression treats in a way of its own, and what merges in many ways.
const PARTS: &[&str] = &[
    "a",
    "B",
    "Z",
    "é",
    "É",
    "ǅ",
    "ʰ",
    "ª",
    "中",
    "한",
    "글",
    "각",
    "ไ",
    "ก็",
    "क्षि",
    "ব",
    "ع",
    "\u{64b}",
    "\u{301}",
    "\u{302}\u{303}",
    "\u{200d}",
    "\u{fe0f}",
    "👩",
    "👧",
    "🇬🇷",
    "🏽",
    "'s",
    "'S",
    "'ſ",
    "'ll",
    "'LL",
    "'Ve",
    "'re",
    "'m",
    "'d",
    "'t",
    "'",
    "’s",
    "1",
    "12",
    "123",
    "1234",
    "٣",
    "½",
    "Ⅻ",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "/",
    "//",
    "\n/",
    "{\"",
    "\"},{\"",
    "\\n",
    "...",
    "!?",
    "_",
    "-",
    "@",
    "\0",
    "\u{7f}",
    "\u{ad}",
    "\u{378}",
    "hello",
    "World",
    "HTTPServer",
    "camelCase",
    "SCREAMING_CASE",
    "role",
    "assistant",
    "content",
    "list_files",
    "<|endoftext|>",
    "aaaaaaaa",
    "ßen",
    "straße",
    "ΕΛΛΗΝΙΚΑ",
    "ελληνικά",
    "Привіт",
    "日本語テキスト",
    "한국어",
    "ภาษาไทย",
];

fn text() -> impl Strategy<Value = String> {
    let part = select(PARTS).prop_map(str::to_owned);
    let run = (select(PARTS), 2_usize..130).prop_map(|(part, times)| part.repeat(times));
    let any = vec(any::<char>(), 1..8).prop_map(String::from_iter);
    let ascii = vec(proptest::char::range(' ', '~'), 1..24).prop_map(String::from_iter);
    let fragment = prop_oneof![16 => part, 1 => run, 4 => any, 4 => ascii];
    vec(fragment, 0..12).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn a_hundred_thousand_texts_count_as_they_do_there(text in text()) {
        let tokens = oracle().encode_ordinary(&text);
        prop_assert_eq!(count(&text), tokens.len() as u64, "{:?}", text);
    }
}

proptest! {
    #[test]
    fn tokens_end_where_they_do_there(text in text(), kept in 0_usize..40) {
        let tokens = oracle().encode_ordinary(&text);
        let kept = kept.min(tokens.len());
        let bytes = oracle().decode_bytes(&tokens[..kept]).unwrap();
        if let Ok(prefix) = String::from_utf8(bytes) && count(&prefix) <= kept as u64 {
            prop_assert_eq!(truncate(&text, kept as u64), prefix);
        }
    }
}

#[test]
fn long_pieces_count_as_they_do_there() {
    for part in [
        "a",
        "ab",
        "A",
        "é",
        "中",
        "한",
        " ",
        "\n",
        "=",
        "👩\u{200d}",
        "\u{301}",
        "ไ",
        "xyzzy",
        "'",
    ] {
        for times in [95, 96, 97, 500, 5_000, 40_000] {
            agrees(&part.repeat(times));
        }
    }
}
