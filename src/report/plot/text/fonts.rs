//! The fonts that are part of the program, and which of them shows a letter.

use std::fmt::Write as _;
use std::sync::LazyLock;

use rustybuzz::Face;
use rustybuzz::ttf_parser::{GlyphId, OutlineBuilder};

/// One of the fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct FaceId(pub(in super::super) usize);

macro_rules! font {
    ($file:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/", $file)).as_slice()
    };
}

/// Latin, Greek and Cyrillic first, then signs and scripts that no other font has.
const SCRIPTS: [&[u8]; 7] = [
    font!("NotoSans.ttf"),
    font!("NotoSansMath.ttf"),
    font!("NotoSansArabic.ttf"),
    font!("NotoSansHebrew.ttf"),
    font!("NotoSansDevanagari.ttf"),
    font!("NotoSansBengali.ttf"),
    font!("NotoSansThai.ttf"),
];

/// The same letters have other shapes in each of these; by the tags of their readers.
const REGIONS: [(&str, &[u8]); 4] = [
    ("ja", font!("NotoSansCJKjp.otf")),
    ("ko", font!("NotoSansCJKkr.otf")),
    ("zh-Hans", font!("NotoSansCJKsc.otf")),
    ("zh-Hant", font!("NotoSansCJKtc.otf")),
];

static FACES: LazyLock<Vec<Option<Face<'static>>>> = LazyLock::new(|| {
    let regions = REGIONS.iter().map(|(_, bytes)| *bytes);
    let all = SCRIPTS.iter().copied().chain(regions);
    all.map(|bytes| Face::from_slice(bytes, 0)).collect()
});

/// The font itself; a test holds that each of them can be read.
pub(super) fn face(id: FaceId) -> Option<&'static Face<'static>> {
    FACES.get(id.0)?.as_ref()
}

/// The fonts in the order in which the readers of `tag` want them asked.
fn order(tag: &str) -> impl Iterator<Item = FaceId> {
    let own = REGIONS.iter().position(|(region, _)| *region == tag);
    let first = own.map(|index| FaceId(SCRIPTS.len() + index));
    let all = (0..SCRIPTS.len() + REGIONS.len()).map(FaceId);
    // Latin stays the first, so that figures look the same everywhere.
    all.clone().take(1).chain(first).chain(all.skip(1))
}

/// The font of a language whose script is not in the first one, which every system has something
/// like; told by the letters of the language's own name.
pub(in super::super) fn of_script(name: &str, tag: &str) -> Option<&'static [u8]> {
    let own = name.chars().filter(|letter| letter.is_alphabetic());
    let mut faces = own.filter_map(|letter| face_of(letter, tag));
    let FaceId(face) = faces.find(|face| *face != FaceId(0))?;
    let regions = REGIONS.iter().map(|(_, bytes)| *bytes);
    SCRIPTS.into_iter().chain(regions).nth(face)
}

/// The first font that has the letter.
pub(super) fn face_of(letter: char, tag: &str) -> Option<FaceId> {
    order(tag).find(|id| has(*id, letter))
}

/// Whether a font has the letter.
pub(super) fn has(id: FaceId, letter: char) -> bool {
    face(id).is_some_and(|face| face.glyph_index(letter).is_some())
}

/// The lowest and the highest point of a glyph over its baseline, in units of the font; none for
/// one without ink.
pub(super) fn reach(id: FaceId, glyph: u16) -> Option<(i32, i32)> {
    let bounds = face(id)?.glyph_bounding_box(GlyphId(glyph))?;
    Some((bounds.y_min.into(), bounds.y_max.into()))
}

/// Whether there is anything to draw of a glyph: not of a space.
pub(in super::super) fn has_ink(id: FaceId, glyph: u16) -> bool {
    reach(id, glyph).is_some()
}

/// A glyph's outline as the data of an SVG path, with the y axis pointing down, in units of the
/// font; empty for one without ink.
pub(in super::super) fn outline(id: FaceId, glyph: u16) -> String {
    let mut path = PathData::default();
    if let Some(face) = face(id) {
        face.outline_glyph(GlyphId(glyph), &mut path);
    }
    path.0
}

#[derive(Default)]
struct PathData(String);

impl PathData {
    fn put(&mut self, command: char, coordinates: &[f32]) {
        self.0.push(command);
        for (index, value) in coordinates.iter().enumerate() {
            if index > 0 {
                self.0.push(' ');
            }
            // Points of these fonts are whole units: nothing is lost.
            let value = if index % 2 == 1 { -*value } else { *value };
            let _ = write!(self.0, "{}", value.round() + 0.0);
        }
    }
}

impl OutlineBuilder for PathData {
    fn move_to(&mut self, x: f32, y: f32) {
        self.put('M', &[x, y]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.put('L', &[x, y]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.put('Q', &[x1, y1, x, y]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.put('C', &[x1, y1, x2, y2, x, y]);
    }

    fn close(&mut self) {
        self.0.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::super::EM;
    use super::*;

    #[test]
    fn every_font_can_be_read_and_has_the_same_unit() {
        assert_eq!(FACES.len(), SCRIPTS.len() + REGIONS.len());
        for (index, face) in FACES.iter().enumerate() {
            let unit = face.as_ref().map(Face::units_per_em);
            assert_eq!(unit, Some(EM), "{index}");
        }
    }

    #[test]
    fn a_letter_has_the_shape_of_its_readers() {
        let of = |tag| face_of('具', tag);
        assert_ne!(of("ja"), of("zh-Hans"));
        assert_eq!(face_of('7', "ja"), Some(FaceId(0)));
        assert_eq!(face_of('\u{e000}', "ja"), None);
    }

    #[test]
    fn an_outline_is_drawn_in_whole_units() {
        let glyph = face(FaceId(0)).and_then(|face| face.glyph_index('l'));
        let path = outline(FaceId(0), glyph.map_or(0, |glyph| glyph.0));
        assert!(path.starts_with('M') && path.ends_with('Z'), "{path}");
        assert!(!path.contains('.'), "{path}");
    }
}
