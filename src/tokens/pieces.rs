//! The pieces into which the encoding cuts a text before any merge.
//!
//! The definition is a regular expression, here with its alternatives one below the other:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```
//!
//! An engine tries them in this order and backs out of what does not lead to a match. Here each is
//! a scan that knows where it would end. A piece is scanned at most a few times, so that the time
//! is linear in the text.

use super::layout::{BLANK, BLOCK, LINE_END, LOWER, MARK, NUMBER, SIGN, UPPER};

static CLASS_BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class_blocks.bin"));
static CLASSES: &[[u8; BLOCK]] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"))
    .as_chunks()
    .0;
/// The classes of the first block, which most texts do not leave.
static FIRST: [u8; BLOCK] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"))
    .as_chunks()
    .0[0];

/// What may stand before a word as its one leading sign.
const LEADING: u8 = SIGN | BLANK | MARK;
/// The most digits of a piece.
const MOST_DIGITS: usize = 3;

/// The byte at which the piece ends that begins at byte `start` of `text`, where there is one.
pub(super) fn end_of_piece(text: &str, start: usize) -> Option<usize> {
    let (class, width) = class_at(text, start)?;
    let next = start + width;
    if class & (UPPER | LOWER) != 0 && class & MARK == 0 {
        return word(text, start).map(|end| with_contraction(text, end));
    }
    if class & NUMBER != 0 {
        return Some(digits(text, start));
    }
    if class & LEADING != 0
        && let Some(end) = led_word(text, start, next)
    {
        return Some(with_contraction(text, end));
    }
    let signs = if text.as_bytes()[start] == b' ' {
        next
    } else {
        start
    };
    let end = run(text, signs, SIGN | MARK);
    if end > signs {
        return Some(ends_and_slashes(text, end));
    }
    Some(blanks(text, start))
}

/// A word behind its leading character, or the word that begins with it where that is a mark.
fn led_word(text: &str, start: usize, next: usize) -> Option<usize> {
    lowered(text, next)
        .or_else(|| lowered(text, start))
        .or_else(|| capitals(text, next))
        .or_else(|| capitals(text, start))
}

fn word(text: &str, start: usize) -> Option<usize> {
    lowered(text, start).or_else(|| capitals(text, start))
}

/// `U*L+`, where the two classes overlap: after the capitals, small letters; without one there,
/// the capitals are given back up to the last that is in both classes.
#[inline]
fn lowered(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = start;
    while bytes.get(end).is_some_and(u8::is_ascii_uppercase) {
        end += 1;
    }
    let capitals = end;
    while bytes.get(end).is_some_and(u8::is_ascii_lowercase) {
        end += 1;
    }
    // All that there is to it where the word is in ASCII: no letter there is in both classes.
    if bytes.get(end).is_none_or(u8::is_ascii) {
        return (end > capitals).then_some(end);
    }
    lowered_of_any_script(text, start)
}

#[inline(never)]
fn lowered_of_any_script(text: &str, start: usize) -> Option<usize> {
    let capitals = run(text, start, UPPER);
    let small = run(text, capitals, LOWER);
    if small > capitals {
        return Some(small);
    }
    let given_back = text[start..capitals].char_indices().rev();
    let mut both = given_back.filter(|(_, letter)| class_of(*letter) & LOWER != 0);
    both.next()
        .map(|(at, letter)| start + at + letter.len_utf8())
}

/// `U+L*`.
fn capitals(text: &str, start: usize) -> Option<usize> {
    let capitals = run(text, start, UPPER);
    (capitals > start).then(|| run(text, capitals, LOWER))
}

/// The end of a word with an English contraction behind it. The expression ignores case as Unicode
/// folds it, so that a long s counts.
fn with_contraction(text: &str, end: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(end) != Some(&b'\'') {
        return end;
    }
    let lower = |at: usize| bytes.get(end + at).map(u8::to_ascii_lowercase);
    match (lower(1), lower(2)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => end + 2,
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => end + 3,
        _ if text[end + 1..].starts_with('ſ') => end + 1 + 'ſ'.len_utf8(),
        _ => end,
    }
}

fn digits(text: &str, start: usize) -> usize {
    let mut end = start;
    for _ in 0..MOST_DIGITS {
        match class_at(text, end) {
            Some((class, width)) if class & NUMBER != 0 => end += width,
            _ => break,
        }
    }
    end
}

/// `[\r\n/]*`.
fn ends_and_slashes(text: &str, start: usize) -> usize {
    let rest = text.as_bytes()[start..].iter();
    start
        + rest
            .take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/'))
            .count()
}

/// Blanks and line ends: through the last line end; or, where there is none, all but the last one
/// before a word or sign, to which that one belongs.
fn blanks(text: &str, start: usize) -> usize {
    let end = run(text, start, BLANK | LINE_END);
    let blanks = &text[start..end];
    if let Some(last) = blanks.rfind(['\r', '\n']) {
        return start + last + 1;
    }
    match blanks.char_indices().next_back() {
        Some((at, _)) if at > 0 && end < text.len() => start + at,
        _ => end,
    }
}

/// The end of the longest run of characters of these classes.
#[inline]
fn run(text: &str, start: usize, classes: u8) -> usize {
    let mut end = start;
    while let Some((class, width)) = class_at(text, end)
        && class & classes != 0
    {
        end += width;
    }
    end
}

/// The class and the width of the character at a byte.
#[inline]
fn class_at(text: &str, at: usize) -> Option<(u8, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte.is_ascii() {
        return Some((FIRST[usize::from(byte)], 1));
    }
    wide_class_at(text, at)
}

#[inline(never)]
fn wide_class_at(text: &str, at: usize) -> Option<(u8, usize)> {
    let character = text.get(at..)?.chars().next()?;
    Some((class_of(character), character.len_utf8()))
}

fn class_of(character: char) -> u8 {
    let number = character as usize;
    let block = usize::from(CLASS_BLOCKS[number / BLOCK]);
    CLASSES[block][number % BLOCK]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        let mut begin = 0;
        let cut = std::iter::from_fn(|| {
            let end = end_of_piece(text, begin)?;
            Some(&text[std::mem::replace(&mut begin, end)..end])
        });
        // A cut that does not move on is shown, and not followed for ever.
        cut.take(text.len() + 1).collect()
    }

    fn cut(text: &str, expected: &[&str]) {
        assert_eq!(pieces(text), expected, "{text:?}");
    }

    #[test]
    fn words_take_one_sign_before_them_and_end_before_a_capital() {
        cut("", &[]);
        cut("one", &["one"]);
        cut("one two", &["one", " two"]);
        cut("one  two", &["one", " ", " two"]);
        cut("one\ttwo", &["one", "\ttwo"]);
        cut("one-two", &["one", "-two"]);
        cut("one--two", &["one", "--", "two"]);
        cut(" -two", &[" -", "two"]);
        cut("camelCaseABCd", &["camel", "Case", "ABCd"]);
        cut("ABC", &["ABC"]);
        cut("A B", &["A", " B"]);
        cut("-A", &["-A"]);
        cut("one\ntwo", &["one", "\n", "two"]);
    }

    #[test]
    fn words_of_other_scripts_are_cut_by_the_same_rules() {
        cut("ΕλληνικάΚαι", &["Ελληνικά", "Και"]);
        cut("ÉTÉ été", &["ÉTÉ", " été"]);
        cut("日本語です", &["日本語です"]);
        cut("日本A", &["日本", "A"]);
        cut("日A本", &["日A本"]);
        cut("ABC日本def", &["ABC日本def"]);
        cut("aé", &["aé"]);
        cut("Aé", &["Aé"]);
        cut("aÉ", &["a", "É"]);
        cut("É日É", &["É日", "É"]);
    }

    #[test]
    fn a_mark_is_a_part_of_a_word_and_may_begin_one() {
        cut("e\u{301}t", &["e\u{301}t"]);
        cut("\u{301}", &["\u{301}"]);
        cut("\u{301}a", &["\u{301}a"]);
        cut("\u{301}A", &["\u{301}", "A"]);
        cut("\u{301}AB", &["\u{301}", "AB"]);
        cut("\u{301}\u{302}!", &["\u{301}\u{302}", "!"]);
        cut("!\u{301}", &["!\u{301}"]);
        cut(" \u{301}", &[" \u{301}"]);
        cut("!!\u{301}", &["!!\u{301}"]);
    }

    #[test]
    fn a_contraction_belongs_to_its_word_in_small_and_in_capital_letters() {
        for short in [
            "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "'lL", "'ſ",
        ] {
            let word = format!("it{short}");
            cut(&format!("{word} on"), &[&word, " on"]);
        }
        cut("it'x", &["it", "'x"]);
        cut("it're", &["it're"]);
        cut("it'ra", &["it", "'ra"]);
        cut("it'la", &["it", "'la"]);
        cut("it'", &["it", "'"]);
        cut("IT's", &["IT's"]);
        cut("-it's", &["-it's"]);
        cut("7's", &["7", "'s"]);
    }

    #[test]
    fn digits_are_cut_in_threes_and_take_no_sign() {
        cut("7", &["7"]);
        cut("1234567", &["123", "456", "7"]);
        cut("123a", &["123", "a"]);
        cut(" 12", &[" ", "12"]);
        cut("-12", &["-", "12"]);
        cut("१२३४", &["१२३", "४"]);
    }

    #[test]
    fn signs_take_a_blank_before_and_line_ends_and_slashes_behind() {
        cut(" !?", &[" !?"]);
        cut("\t!?", &["\t", "!?"]);
        cut("!\n\r/\n x", &["!\n\r/\n", " x"]);
        cut("a://b", &["a", "://", "b"]);
        cut("!\tx", &["!", "\tx"]);
        cut("  !", &[" ", " !"]);
        cut("…—x", &["…—", "x"]);
    }

    #[test]
    fn blanks_end_with_the_last_line_end_or_leave_the_last_blank_to_what_follows() {
        cut("   ", &["   "]);
        cut("   a", &["  ", " a"]);
        cut("   1", &["  ", " ", "1"]);
        cut(" \n \n  a", &[" \n \n", " ", " a"]);
        cut("\n", &["\n"]);
        cut(" \r", &[" \r"]);
        cut("\u{a0}\u{a0}a", &["\u{a0}", "\u{a0}a"]);
        cut("\u{a0}", &["\u{a0}"]);
    }
}
