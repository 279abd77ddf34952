//! From letters to glyphs: directions are sorted out, runs of one script and font are shaped.

use rustybuzz::ttf_parser::Tag;
use rustybuzz::{Direction as Way, Face, Script as ShapingScript, UnicodeBuffer};
use unicode_bidi::{BidiInfo, Level};
use unicode_script::{Script, UnicodeScript as _};

use super::fonts::{self, FaceId};
use crate::results::Direction;

/// A glyph and where it stands from the start of its line, in thousandths of the font's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Glyph {
    /// Whose glyph.
    pub(in super::super) face: FaceId,
    /// Its number in the font.
    pub(in super::super) id: u16,
    /// To the right.
    pub(in super::super) x: i32,
    /// Up.
    pub(in super::super) y: i32,
}

/// A line of glyphs, in the order in which they stand from left to right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Shaped {
    /// The glyphs.
    pub(in super::super) glyphs: Vec<Glyph>,
    /// How far the next line's glyphs would stand from it, in thousandths of the size.
    pub(in super::super) advance: i32,
    /// The highest ink over the baseline.
    pub(in super::super) top: i32,
    /// The lowest ink; below the baseline it is negative.
    pub(in super::super) bottom: i32,
    /// Letters that no font has.
    pub(in super::super) missing: Vec<char>,
}

/// Letters of one direction, script and font.
struct Run {
    text: String,
    face: FaceId,
    script: Script,
}

/// Shapes one line in the fonts that the readers of `tag` prefer.
pub(super) fn shape(text: &str, tag: &str, direction: Direction) -> Shaped {
    let level = match direction {
        Direction::LeftToRight => Level::ltr(),
        Direction::RightToLeft => Level::rtl(),
    };
    let bidi = BidiInfo::new(text, Some(level));
    let mut shaped = Shaped::default();
    for paragraph in &bidi.paragraphs {
        let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
        for range in runs {
            let way = match levels.get(range.start) {
                Some(level) if level.is_rtl() => Way::RightToLeft,
                _ => Way::LeftToRight,
            };
            let mut parts = split(&text[range], tag);
            if way == Way::RightToLeft {
                parts.reverse();
            }
            for part in parts {
                shaped.add(&part, way);
            }
        }
    }
    shaped
}

/// Splits letters of one direction where the script or the font changes. What steers directions
/// has done its work and is left out.
fn split(text: &str, tag: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for letter in text.chars().filter(|letter| !steers(*letter)) {
        let own = letter.script();
        let is_shared = matches!(own, Script::Common | Script::Inherited);
        if let Some(last) = runs.last_mut() {
            let fits = is_shared || own == last.script || last.script == Script::Common;
            if fits && fonts::has(last.face, letter) {
                if last.script == Script::Common {
                    last.script = own;
                }
                last.text.push(letter);
                continue;
            }
        }
        runs.push(Run {
            text: letter.to_string(),
            face: fonts::face_of(letter, tag).unwrap_or(FaceId(0)),
            script: own,
        });
    }
    runs
}

/// Whether a letter is there for the order of others alone.
const fn steers(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Shaped {
    fn add(&mut self, run: &Run, way: Way) {
        let Some(face) = fonts::face(run.face) else {
            self.missing.extend(run.text.chars());
            return;
        };
        let buffer = glyphs(face, run, way);
        for (info, position) in buffer.glyph_infos().iter().zip(buffer.glyph_positions()) {
            // A font has fewer than 65,536 glyphs, and 0 is the one for letters that it lacks.
            let id = u16::try_from(info.glyph_id).unwrap_or(0);
            if id == 0 {
                let from = usize::try_from(info.cluster).unwrap_or(usize::MAX);
                let rest = run.text.get(from..).unwrap_or_default();
                self.missing.extend(rest.chars().next());
            }
            if let Some((low, high)) = fonts::reach(run.face, id) {
                self.top = self.top.max(high + position.y_offset);
                self.bottom = self.bottom.min(low + position.y_offset);
            }
            self.glyphs.push(Glyph {
                face: run.face,
                id,
                x: self.advance + position.x_offset,
                y: position.y_offset,
            });
            self.advance += position.x_advance;
        }
    }
}

fn glyphs(face: &Face<'_>, run: &Run, way: Way) -> rustybuzz::GlyphBuffer {
    let mut buffer = UnicodeBuffer::new();
    buffer.push_str(&run.text);
    buffer.set_direction(way);
    let name = run.script.short_name().as_bytes();
    if let Some(script) = ShapingScript::from_iso15924_tag(Tag::from_bytes_lossy(name)) {
        buffer.set_script(script);
    }
    rustybuzz::shape(face, &[], buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str, tag: &str, direction: Direction) -> Vec<u16> {
        let shaped = shape(text, tag, direction);
        assert_eq!(shaped.missing, Vec::<char>::new(), "{text}");
        shaped.glyphs.iter().map(|glyph| glyph.id).collect()
    }

    #[test]
    fn letters_that_no_font_has_are_named() {
        let shaped = shape("a\u{e000}b", "en", Direction::LeftToRight);
        assert_eq!(shaped.missing, ['\u{e000}']);
        assert_eq!(shaped.glyphs.len(), 3);
    }

    #[test]
    fn arabic_letters_are_joined_and_run_from_the_right() {
        let rtl = Direction::RightToLeft;
        let (alone, joined) = (ids("ب", "ar", rtl), ids("ببب", "ar", rtl));
        assert_eq!(joined.len() % 3, 0);
        assert!(joined.iter().all(|id| !alone.contains(id)) || joined.len() > 3);
        // The first letter stands at the right.
        let word = shape("اب", "ar", rtl);
        let last = word.glyphs.last().map(|glyph| glyph.id);
        assert_eq!(last, ids("ا", "ar", rtl).first().copied());
    }

    #[test]
    fn a_figure_in_a_line_from_the_right_keeps_its_order() {
        let figure = ids("$12", "en", Direction::LeftToRight);
        let isolated = shape("ב \u{2066}$12\u{2069}", "he", Direction::RightToLeft);
        let first: Vec<u16> = isolated
            .glyphs
            .iter()
            .take(3)
            .map(|glyph| glyph.id)
            .collect();
        assert_eq!(first, figure);
    }

    #[test]
    fn a_conjunct_of_devanagari_is_one_shape() {
        let ltr = Direction::LeftToRight;
        let (apart, together) = (ids("कष", "hi", ltr), ids("क्ष", "hi", ltr));
        assert_eq!(apart.len(), 2);
        assert_eq!(together.len(), 1);
        // Latin and Devanagari in one line are shaped each by its own rules.
        assert_eq!(ids("turns क्ष", "hi", ltr).last(), together.last());
    }
}
