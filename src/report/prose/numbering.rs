//! The numbers of sections, which are no figures: those of headings count on from each other.

use super::characters::{digit, is_blank};
use super::text::{Aside, Glyph, Kind};

/// The most digits of one part of a section's number.
const LONGEST_PART: usize = 3;

/// Counts headings through a text.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    last: Vec<u16>,
}

impl Numbering {
    /// Sets the number at the start of a heading aside if it goes on from the one before, or is
    /// the first of its section; any other number there is text, such as `3.7 times dearer`.
    pub(super) fn heading(&mut self, heading: &mut [Glyph]) {
        let Some((parts, end)) = number(heading) else {
            return;
        };
        if parts.last() == Some(&1) || self.is_next(&parts) {
            for glyph in heading.iter_mut().take(end) {
                glyph.kind = Kind::Aside(Aside::Section);
            }
            self.last = parts;
        }
    }

    fn is_next(&self, parts: &[u16]) -> bool {
        let Some((own, outer)) = parts.split_last() else {
            return false;
        };
        let before = self.last.get(outer.len()).copied().unwrap_or(0);
        self.last.get(..outer.len()) == Some(outer) && before + 1 == *own
    }
}

/// The parts of the number that a heading begins with, and where its text begins: `23.1`, `23.1.`
/// or `2.`, and a blank.
fn number(heading: &[Glyph]) -> Option<(Vec<u16>, usize)> {
    let c = |at: usize| heading.get(at).map(|glyph| glyph.c);
    let mut at = heading
        .iter()
        .take_while(|glyph| is_blank(glyph.c) || matches!(glyph.c, '#' | '§'))
        .count();
    let mut parts = Vec::new();
    let mut marked = false;
    loop {
        let rest = heading.get(at..)?;
        let digits: String = rest.iter().map_while(|glyph| digit(glyph.c)).collect();
        if digits.is_empty() {
            break;
        }
        if digits.len() > LONGEST_PART {
            return None;
        }
        parts.push(digits.parse().ok()?);
        at += digits.len();
        marked = matches!(c(at), Some('.' | ')'));
        at += usize::from(marked);
        if !marked {
            break;
        }
    }
    let is_number = parts.len() > 1 || marked;
    (is_number && c(at).is_none_or(is_blank)).then_some((parts, at))
}

#[cfg(test)]
mod tests {
    use super::super::text::{Markup, Visible};
    use super::*;

    /// The headings whose numbers are set aside.
    fn numbered<'t>(headings: &[&'t str]) -> Vec<&'t str> {
        let mut numbering = Numbering::default();
        let is_numbered = |heading: &&&str| {
            let mut glyphs = Visible::of(heading, Markup::Plain).glyphs;
            numbering.heading(&mut glyphs);
            let aside = Kind::Aside(Aside::Section);
            glyphs.iter().any(|glyph| glyph.kind == aside)
        };
        headings.iter().filter(is_numbered).copied().collect()
    }

    #[test]
    fn numbers_that_count_on_are_of_sections_and_others_are_text() {
        let all = [
            "23.1 a", "23.2. b", "23.2.1 c", "23.3 d", "24.1 e", "1. f", "2) g", "٣. h",
        ];
        assert_eq!(numbered(&all), all);
        let text = [
            "3.7 times",
            "75 % more",
            "337.299 tokens",
            "2 turns",
            "23.4 x",
            "204, 269",
            "1 turn",
            "1.1× dearer",
            "1000.1 a",
        ];
        assert_eq!(numbered(&text), [""; 0]);
        assert_eq!(numbered(&["100.1 a", "100.3 b", "101.2 c"]), ["100.1 a"]);
    }
}
