//! Drawing shapes with plotters, as elements of an SVG document. Text is not among them: plotters
//! measures it by bytes.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::element::{Circle, DashedPathElement, PathElement, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, IntoDrawingArea as _};
use plotters::style::{Color as _, RGBAColor, RGBColor, ShapeStyle};

use super::PlotError;
use super::scene::{Dash, Form, Ink, MARKER, Marker, Px, Scene, Shape, Spot, Stroke};

/// How far a small point reaches from its spot.
const POINT: Px = 32;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Between the lines of a hatching.
const HATCH: Px = 60;

/// The elements of a scene's shapes, one a line, in tenths of a pixel.
pub(super) fn elements(scene: &Scene) -> Result<String, PlotError> {
    let mut svg = String::new();
    let size = (scene.width.unsigned_abs(), scene.height.unsigned_abs());
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    for shape in &scene.shapes {
        draw(&area, shape).map_err(|error| PlotError::Drawing(error.to_string()))?;
    }
    area.present()
        .map_err(|error| PlotError::Drawing(error.to_string()))?;
    drop(area);
    // The elements go into a document with more in it than this one.
    let inner = svg.split_once(">\n").map(|(_, inner)| inner);
    let inner = inner.and_then(|inner| inner.strip_suffix("</svg>\n"));
    Ok(inner.unwrap_or_default().to_owned())
}

/// The colour of an ink on white paper.
pub(super) const fn colour(ink: Ink) -> (RGBColor, f64) {
    match ink {
        Ink::Strong => (RGBColor(0x1f, 0x1f, 0x1f), 1.0),
        Ink::Muted => (RGBColor(0x55, 0x55, 0x55), 1.0),
        Ink::Grid => (RGBColor(0xdd, 0xdd, 0xdd), 1.0),
        Ink::Blue => (RGBColor(0x00, 0x72, 0xb2), 1.0),
        Ink::Pale => (RGBColor(0x9c, 0xc9, 0xe3), 1.0),
        Ink::Vermilion => (RGBColor(0xd5, 0x5e, 0x00), 1.0),
        Ink::Green => (RGBColor(0x00, 0x9e, 0x73), 1.0),
        Ink::Purple => (RGBColor(0xcc, 0x79, 0xa7), 1.0),
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(area: &Area<'_>, shape: &Shape) -> Drawn {
    match shape {
        Shape::Line(spots, stroke) => line(area, spots, *stroke),
        Shape::Rect(one, other, ink) => rect(area, corners(*one, *other), *ink),
        Shape::Hatch(one, other, ink) => hatch(area, corners(*one, *other), *ink),
        Shape::Marker(spot, marker) => mark(area, *spot, *marker),
    }
}

fn mixed(ink: Ink) -> RGBAColor {
    let (colour, opacity) = colour(ink);
    colour.mix(opacity)
}

fn pen(ink: Ink, width: Px) -> ShapeStyle {
    mixed(ink).stroke_width(width.unsigned_abs())
}

fn line(area: &Area<'_>, spots: &[Spot], stroke: Stroke) -> Drawn {
    let style = pen(stroke.ink, stroke.width);
    match stroke.dash {
        Dash::Solid => area.draw(&PathElement::new(spots.to_vec(), style))?,
        Dash::Dashed => {
            area.draw(&DashedPathElement::new(spots.to_vec(), 150, 90, style))?;
        }
    }
    Ok(())
}

fn rect(area: &Area<'_>, corners: [Spot; 2], ink: Ink) -> Drawn {
    area.draw(&Rectangle::new(corners, mixed(ink).filled()))?;
    Ok(())
}

/// A frame with slanted lines in it, cut off where they meet the frame.
fn hatch(area: &Area<'_>, [(left, top), (right, bottom)]: [Spot; 2], ink: Ink) -> Drawn {
    let frame = [
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
        (left, top),
    ];
    let (width, height) = (right - left, bottom - top);
    let mut reach = HATCH / 2;
    while reach < width + height {
        // From the left or the lower edge up to the upper or the right one.
        let from = (left + (reach - height).max(0), top + reach.min(height));
        let to = (left + reach.min(width), top + (reach - width).max(0));
        area.draw(&PathElement::new(vec![from, to], pen(ink, 12)))?;
        reach += HATCH;
    }
    area.draw(&PathElement::new(frame.to_vec(), pen(ink, 12)))?;
    Ok(())
}

fn mark(area: &Area<'_>, (x, y): Spot, marker: Marker) -> Drawn {
    let reach = MARKER;
    match marker {
        Marker::Disc => {
            area.draw(&Circle::new((x, y), reach, mixed(Ink::Strong).filled()))?;
        }
        Marker::Ring => area.draw(&Circle::new((x, y), reach + 12, pen(Ink::Strong, 14)))?,
        Marker::Cross => {
            for ends in [
                [(x - reach, y), (x + reach, y)],
                [(x, y - reach), (x, y + reach)],
            ] {
                area.draw(&PathElement::new(ends.to_vec(), pen(Ink::Vermilion, 20)))?;
            }
        }
        Marker::Diamond => diamond(area, (x, y), (reach + 20, Ink::Strong))?,
        Marker::Point(form, ink) => point(area, (x, y), (form, ink))?,
        Marker::Chosen(ink) => {
            diamond(area, (x, y), (reach + 44, Ink::Strong))?;
            diamond(area, (x, y), (reach + 10, ink))?;
        }
    }
    Ok(())
}

fn diamond(area: &Area<'_>, (x, y): Spot, (reach, ink): (Px, Ink)) -> Drawn {
    let corners = [
        (x, y - reach),
        (x + reach, y),
        (x, y + reach),
        (x - reach, y),
    ];
    area.draw(&Polygon::new(corners.to_vec(), mixed(ink)))?;
    Ok(())
}

fn point(area: &Area<'_>, (x, y): Spot, (form, ink): (Form, Ink)) -> Drawn {
    let reach = POINT;
    let fill = mixed(ink).filled();
    match form {
        Form::Disc => area.draw(&Circle::new((x, y), reach, fill))?,
        Form::Square => {
            let corners = [(x - reach, y - reach), (x + reach, y + reach)];
            area.draw(&Rectangle::new(corners, fill))?;
        }
        Form::Triangle => {
            let corners = [
                (x, y - reach - 6),
                (x + reach + 6, y + reach),
                (x - reach - 6, y + reach),
            ];
            area.draw(&Polygon::new(corners.to_vec(), fill))?;
        }
        Form::Cross => {
            for rise in [reach, -reach] {
                let ends = vec![(x - reach, y - rise), (x + reach, y + rise)];
                area.draw(&PathElement::new(ends, pen(ink, 18)))?;
            }
        }
    }
    Ok(())
}

/// The upper left and the lower right corner.
fn corners(one: Spot, other: Spot) -> [Spot; 2] {
    [
        (one.0.min(other.0), one.1.min(other.1)),
        (one.0.max(other.0), one.1.max(other.1)),
    ]
}
