//! Digits that are no numbers although they stand in the text: parts of names, footnote marks, the
//! numbers of sections and standards.

use super::characters::{Separator, is_blank, is_latin};
use super::scan::Run;
use super::text::{Aside, BREAK, Glyph, Kind};

/// Why the digits of a run are no number, if they are none.
pub(super) fn aside(glyphs: &[Glyph], run: &Run) -> Option<Aside> {
    let first = glyphs.get(run.range().start)?;
    let is_prose = first.kind == Kind::Prose;
    // Names are in ASCII; other digits stand behind a Latin word where a script has no blanks.
    let can_be_name = first.c.is_ascii();
    if can_be_name && (is_name(glyphs, run) || is_titled(glyphs, run)) {
        Some(Aside::Identifier)
    } else if is_prose && is_section(glyphs, run) {
        Some(Aside::Section)
    } else if is_prose && is_footnote(glyphs, run) {
        Some(Aside::Footnote)
    } else {
        None
    }
}

/// The characters before a run, backwards.
fn before<'g>(glyphs: &'g [Glyph], run: &Run) -> impl Iterator<Item = char> + use<'g> {
    let before = glyphs.get(..run.range().start).unwrap_or_default();
    before.iter().rev().map(|glyph| glyph.c)
}

/// Whether the digits are all of `HTTP/1.1`, `GPT-4o`, `SHA-256` or `RFC 9110` that is not letters:
/// an acronym stands before them, and a mark between.
fn is_titled(glyphs: &[Glyph], run: &Run) -> bool {
    let mut before = before(glyphs, run);
    let mark = before.next();
    let word: Vec<char> = before
        .take(12)
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let word: String = word.into_iter().rev().collect();
    let is_acronym = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_standard = matches!(word.as_str(), "RFC" | "ISO" | "IEC" | "IEEE");
    let is_dotted = run
        .separators
        .iter()
        .all(|separator| *separator == Separator::Point);
    match mark {
        Some('-' | '/' | '‑') => {
            is_acronym && is_dotted && !matches!(word.as_str(), "US" | "USD")
        }
        Some(':') => word == "arXiv",
        Some(c) => is_blank(c) && is_standard,
        None => false,
    }
}

/// Whether a section sign stands before the digits.
fn is_section(glyphs: &[Glyph], run: &Run) -> bool {
    before(glyphs, run).find(|c| !is_blank(*c)) == Some('§')
}

/// Whether the digits are a mark such as `[12]`, behind a word or before a note.
fn is_footnote(glyphs: &[Glyph], run: &Run) -> bool {
    let [group] = run.groups.as_slice() else {
        return false;
    };
    let mut before = before(glyphs, run);
    let opens = before.next() == Some('[');
    let closes = glyphs
        .get(group.range.end)
        .is_some_and(|glyph| glyph.c == ']');
    let is_behind_word = before.next().is_none_or(|c| {
        c.is_alphabetic()
            || matches!(
                c,
                '\n' | ']' | '.' | '!' | '?' | '»' | '”' | '’' | ')' | '。' | '」'
            )
            || matches!(c, ',' | ';' | ':' | '।' | '、' | '"' | BREAK)
    });
    opens && closes && group.digits.len() <= 3 && is_behind_word
}

/// Whether the digits belong to a name: glued to a Latin letter before them, or to letters after
/// them that go on with digits.
fn is_name(glyphs: &[Glyph], run: &Run) -> bool {
    let range = run.range();
    let before = glyphs.get(..range.start).unwrap_or_default();
    let is_part = |c: char| is_latin(c) || c == '_' || c.is_ascii_digit();
    let glued: Vec<char> = before
        .iter()
        .rev()
        .map(|glyph| glyph.c)
        .take(5)
        .take_while(|c| is_part(*c))
        .collect();
    let word: String = glued.iter().rev().collect();
    let name_before = match word.as_str() {
        "x" | "X" => run.separators.contains(&Separator::Underscore),
        "" | "_" | "USD" | "US" => false,
        "v" => run.groups.len() < 3,
        _ => true,
    };
    let after: Vec<char> = glyphs
        .iter()
        .skip(range.end)
        .map(|glyph| glyph.c)
        .take(24)
        .take_while(|c| is_part(*c))
        .collect();
    let goes_on = after.iter().position(char::is_ascii_digit);
    let name_after = goes_on.is_some_and(|at| !matches!(after.get(..at), Some(['x' | 'X'] | [])));
    name_before || name_after || after.first() == Some(&'_') && after.len() > 1
}

/// Where a name ends that has digits in it: dotted digits are part of it, as in `Qwen2.5`.
pub(super) fn end(glyphs: &[Glyph], run: &Run) -> usize {
    let dotted = run
        .separators
        .iter()
        .take_while(|separator| **separator == Separator::Point)
        .count();
    let mut end = run
        .groups
        .get(dotted)
        .map_or(run.range().end, |group| group.range.end);
    while glyphs
        .get(end)
        .is_some_and(|glyph| is_latin(glyph.c) || glyph.c == '_' || glyph.c.is_ascii_digit())
    {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::scan::{Found, scan};
    use super::super::text::{Markup, Visible};
    use super::*;

    /// The digits of a text that are numbers, and what the others are.
    fn read(text: &str) -> (Vec<String>, BTreeMap<Aside, usize>) {
        let scanned = scan(&Visible::of(text, Markup::Plain).glyphs);
        let digits = scanned.found.iter().map(|found| match found {
            Found::Run(run) => {
                let groups: Vec<&str> = run
                    .groups
                    .iter()
                    .map(|group| group.digits.as_str())
                    .collect();
                groups.join("|")
            }
            Found::Date(date) => format!("{:?}", date.days),
        });
        (digits.collect(), scanned.asides)
    }

    #[test]
    fn digits_of_names_are_no_numbers() {
        for text in [
            "c1",
            "n1,",
            "o200k_base",
            "Qwen2.5",
            "utf8",
            "x86_64",
            "3f9ab21",
            "10e_3",
            "SHA256",
            "HTTP/1.1",
            "GPT-4o",
            "SHA-256",
            "UTF-16",
            "RFC 9110",
            "arXiv:2309.06180",
            "v2",
            "v2.1",
            "100_tokens",
            "a1_b2c3",
            "a1b_c",
        ] {
            let (numbers, asides) = read(text);
            let once = BTreeMap::from([(Aside::Identifier, 1)]);
            assert_eq!((numbers, asides), (vec![], once), "{text}");
        }
        assert_eq!(read("c1,204").0, ["204"]);
        assert_eq!(read("每百万token２.００").0, ["2|00"]);
        assert_eq!(
            read("Web-3 USD-5 TTFT 15 a-7 A-8").0,
            ["3", "5", "15", "7", "8"]
        );
        assert_eq!(read("_5_ 6ms 7x 8_").0, ["5", "6", "7", "8"]);
    }

    #[test]
    fn marks_of_footnotes_and_sections_are_no_numbers() {
        for (text, aside) in [
            ("said so.⁵", Aside::Footnote),
            ("said so.[12]", Aside::Footnote),
            ("ligne[5] :", Aside::Footnote),
            ("[7] A title", Aside::Footnote),
            ("voir § 14.3", Aside::Section),
            ("(§14)", Aside::Section),
        ] {
            let (numbers, asides) = read(text);
            assert_eq!(
                (numbers, asides.keys().next()),
                (vec![], Some(&aside)),
                "{text}"
            );
        }
        assert_eq!(
            read("prompt = [204] [204, 269] x[1,2]").0,
            ["204", "204", "269", "1|2"]
        );
        let asides: Vec<_> = read("c1 and said⁵¹ $n^2$").1.into_iter().collect();
        assert_eq!(
            asides,
            [
                (Aside::Maths, 1),
                (Aside::Footnote, 1),
                (Aside::Identifier, 1)
            ]
        );
    }
}
