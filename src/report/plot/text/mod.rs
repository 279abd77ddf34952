//! Text as it is drawn: which letters become which glyphs, where each stands, and how wide the
//! whole is, by the metrics of the fonts that are part of the program.
//!
//! What is measured here is what is drawn, in SVG as in PNG: a picture needs no font where it is
//! looked at.

mod fonts;
mod shape;
mod wrap;

pub(super) use fonts::{FaceId, has_ink, of_script, outline};
#[cfg(test)]
pub(super) use shape::Glyph;
pub(super) use shape::Shaped;

use rust_decimal::Decimal;

use super::super::locale::Locale;
use super::scene::Px;
use crate::results::Direction;

/// The unit of glyphs: a thousandth of the size of the font.
pub(super) const EM: i32 = 1000;

/// Sets text for the readers of one language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typesetter<'l> {
    locale: &'l Locale,
}

impl<'l> Typesetter<'l> {
    /// For the readers of `locale`.
    pub(super) const fn new(locale: &'l Locale) -> Self {
        Self { locale }
    }

    /// Which way the language is written.
    pub(super) const fn direction(self) -> Direction {
        self.locale.direction()
    }

    /// A number as it stands at an axis.
    pub(super) fn number(self, value: Decimal) -> String {
        self.locale.number(value)
    }

    /// A line of text as glyphs.
    pub(super) fn shape(self, text: &str) -> Shaped {
        shape::shape(text, self.locale.tag(), self.direction())
    }

    /// How wide a line is, rounded up.
    pub(super) fn width(self, text: &str, size: Px) -> Px {
        scaled(self.shape(text).advance, size)
    }

    /// Lines no wider than `width` where the text can be broken, as even as they can be.
    pub(super) fn wrap(self, text: &str, size: Px, width: Px) -> Vec<String> {
        wrap::wrap(text, width, &|line| self.width(line, size))
    }
}

/// A length in thousandths of `size`, rounded up.
pub(super) fn scaled(thousandths: i32, size: Px) -> Px {
    let product = i64::from(thousandths) * i64::from(size);
    let up = product.div_euclid(i64::from(EM)) + i64::from(product.rem_euclid(i64::from(EM)) != 0);
    Px::try_from(up).unwrap_or(Px::MAX)
}
