//! A scene as an SVG document that needs nothing else: letters are outlines, and the same letters
//! lie over them as text that is not seen, to be selected, searched and read aloud.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::PlotError;
use super::draw::{self, colour};
use super::scene::{Ink, Label, Px, Scene};
use super::text::{EM, FaceId, has_ink, outline};
use crate::report::html::escape;
use crate::report::locale::Locale;

/// Where a drawing is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// In a file of its own: it brings white paper.
    Paper,
    /// Inside a page, whose paper and ink it takes, dark or light.
    Page,
}

/// Writes the document. Everything in it that has a name begins with `id`.
pub(super) fn document(
    scene: &Scene,
    locale: &Locale,
    (id, ground): (&str, Ground),
) -> Result<String, PlotError> {
    let mut svg = head(scene, locale, id);
    glyphs(&mut svg, scene, id);
    if ground == Ground::Paper {
        svg += "<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n";
    }
    svg += "<g stroke-linecap=\"butt\" stroke-linejoin=\"round\">\n";
    svg += &draw::elements(scene)?;
    svg += "</g>\n";
    for label in &scene.labels {
        text(&mut svg, label, (id, locale));
    }
    svg += "</svg>\n";
    Ok(match ground {
        Ground::Paper => svg,
        Ground::Page => in_ink_of_page(&svg),
    })
}

fn head(scene: &Scene, locale: &Locale, id: &str) -> String {
    let (width, height) = (scene.width, scene.height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" xml:lang=\"{lang}\" lang=\"{lang}\" \
         direction=\"{}\" aria-labelledby=\"{id}-title {id}-desc\">\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n",
        tenths(width),
        tenths(height),
        locale.dir(),
        escape(&scene.title),
        escape(&scene.description),
        lang = escape(locale.tag()),
    )
}

/// Pixels with one decimal, or none where that says the same.
fn tenths(length: Px) -> String {
    match (length / 10, length % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}

/// The outline of every glyph that is used, once.
fn glyphs(svg: &mut String, scene: &Scene, id: &str) {
    let used = scene.labels.iter().flat_map(|label| &label.shaped.glyphs);
    let used: BTreeSet<(FaceId, u16)> = used
        .map(|glyph| (glyph.face, glyph.id))
        .filter(|(face, glyph)| has_ink(*face, *glyph))
        .collect();
    *svg += "<defs>\n";
    for (face, glyph) in used {
        let (name, path) = (name(id, face, glyph), outline(face, glyph));
        let _ = writeln!(*svg, "<path id=\"{name}\" d=\"{path}\"/>");
    }
    *svg += "</defs>\n";
}

fn name(id: &str, FaceId(face): FaceId, glyph: u16) -> String {
    format!("{id}-{face}-{glyph}")
}

/// A line of text: outlines, and over them the letters themselves.
fn text(svg: &mut String, label: &Label, (id, locale): (&str, &Locale)) {
    let (x, y) = label.at;
    let (ink, _) = colour(label.role.ink());
    let fill = format!("#{:02X}{:02X}{:02X}", ink.0, ink.1, ink.2);
    let scale = decimal(label.size);
    let _ = write!(
        *svg,
        "<g fill=\"{fill}\"><g transform=\"translate({x} {y}) scale({scale})\" aria-hidden=\"true\">"
    );
    let drawn = label.shaped.glyphs.iter();
    for glyph in drawn.filter(|glyph| has_ink(glyph.face, glyph.id)) {
        let name = name(id, glyph.face, glyph.id);
        let _ = write!(*svg, "<use href=\"#{name}\" x=\"{}\"", glyph.x);
        if glyph.y != 0 {
            let _ = write!(*svg, " y=\"{}\"", -glyph.y);
        }
        *svg += "/>";
    }
    let anchor = match locale.direction() {
        crate::results::Direction::LeftToRight => x,
        crate::results::Direction::RightToLeft => x + label.width(),
    };
    let _ = writeln!(
        *svg,
        "</g><text x=\"{anchor}\" y=\"{y}\" font-size=\"{}\" textLength=\"{}\" \
         lengthAdjust=\"spacingAndGlyphs\" fill-opacity=\"0\">{}</text></g>",
        label.size,
        label.width(),
        escape(&label.text)
    );
}

/// A size in thousandths, the unit of glyphs: 128 is `.128`.
fn decimal(size: Px) -> String {
    format!("{}.{:03}", size / EM, size % EM)
}

/// The same drawing in the page's own ink: what is black, grey or faint on white paper is as
/// strong, grey or faint on any.
fn in_ink_of_page(svg: &str) -> String {
    let hex = |ink| {
        let (colour, _) = colour(ink);
        format!("\"#{:02X}{:02X}{:02X}\"", colour.0, colour.1, colour.2)
    };
    // A paler blue lets the paper through, so that marks on it are seen on any.
    let pale = format!("opacity=\"1\" fill={}", hex(Ink::Pale));
    let mut svg = svg
        .replace(&hex(Ink::Strong), "\"currentColor\"")
        .replace(&pale, &format!("opacity=\"0.39\" fill={}", hex(Ink::Blue)));
    for (ink, opacity) in [(Ink::Muted, "0.75"), (Ink::Grid, "0.18")] {
        let own = "\"currentColor\"";
        let shape = format!("opacity=\"1\" stroke={}", hex(ink));
        let text = format!("<g fill={}", hex(ink));
        svg = svg
            .replace(&shape, &format!("opacity=\"{opacity}\" stroke={own}"))
            .replace(&text, &format!("<g fill={own} opacity=\"{opacity}\""));
    }
    svg
}
