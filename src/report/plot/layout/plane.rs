//! One quantity over another: axes, lines, values, and labels where they have room.
//!
//! The axes run from left to right and from the bottom to the top in every language, as those of
//! mathematics do; it is the texts that follow the language.

use super::super::picture::{Curve, Entry, Look, Mark, Plane};
use super::super::scale::{Scale, ticks};
use super::super::scene::{Anchor, Bounds, Dash, Ink, Label, MARKER, Px, Role, Shape, Spot};
use super::canvas::{Block, Canvas};
use super::place::{self, Obstacles};
use super::{MARGIN, WIDTH};

/// How high the field between the axes is.
const HEIGHT: Px = 3400;

/// Between a label and what it names.
const GAP: Px = 70;

/// How several lines look that were all measured, apart in grey too.
const SEVERAL: [(Ink, Px, Dash); 4] = [
    (Ink::Blue, 26, Dash::Solid),
    (Ink::Vermilion, 26, Dash::Dashed),
    (Ink::Strong, 14, Dash::Solid),
    (Ink::Muted, 22, Dash::Dashed),
];

/// Both axes.
struct Field {
    x: Scale,
    y: Scale,
}

impl Field {
    fn at(&self, (x, y): (f64, f64)) -> Spot {
        (self.x.at(x), self.y.at(y))
    }

    fn bounds(&self) -> Bounds {
        let ((left, right), (bottom, top)) = (self.x.ends(), self.y.ends());
        Bounds {
            left,
            top,
            right,
            bottom,
        }
    }
}

/// Lays out the plane below `top` and says where it ends.
pub(super) fn lay(canvas: &mut Canvas<'_>, plane: &Plane, top: Px) -> Px {
    let field = axes(canvas, plane, top);
    let mut obstacles = Obstacles {
        room: Bounds {
            top: top + Role::Note.size() / 2,
            right: WIDTH - MARGIN / 2,
            ..field.bounds()
        },
        boxes: canvas.labels.iter().map(Label::bounds).collect(),
        lines: Vec::new(),
    };
    for curve in &plane.curves {
        draw_curve(canvas, curve, (&field, &mut obstacles));
    }
    for mark in &plane.marks {
        draw_mark(canvas, mark, &field);
        let reach = Bounds::around(field.at(mark.at), MARKER);
        obstacles.boxes.push(reach);
    }
    label(canvas, plane, (&field, &mut obstacles));
    let (bottom, _) = field.y.ends();
    let bottom = bottom + Role::Small.line() + Role::Note.line() + 60;
    legend(canvas, &plane.legend, bottom)
}

/// How long the sample of a line is.
const SAMPLE: Px = 360;

/// Samples with their meaning, side by side as far as they have room; says where they end.
fn legend(canvas: &mut Canvas<'_>, entries: &[Entry], bottom: Px) -> Px {
    let (mut left, mut top, mut height) = (MARGIN, bottom + 80, 0);
    let begin = MARGIN + SAMPLE + GAP;
    for entry in entries {
        let words = [entry.text.clone()];
        let block = Block::of(canvas.setter, &words, WIDTH - MARGIN - begin);
        let width = SAMPLE + GAP + block.width;
        if left > MARGIN && left + width > WIDTH - MARGIN {
            (left, top, height) = (MARGIN, top + height, 0);
        }
        let baseline = top + Block::ASCENT;
        let middle = baseline - Role::Label.size() * 35 / 100;
        if let Some(stroke) = entry.line {
            let ends = vec![(left, middle), (left + SAMPLE, middle)];
            canvas.shapes.push(Shape::Line(ends, stroke));
        }
        if let Some(marker) = entry.marker {
            let spot = (left + SAMPLE / 2, middle);
            canvas.shapes.push(Shape::Marker(spot, marker));
        }
        let at = (left + SAMPLE + GAP, baseline);
        canvas.write_block(&block, (at, Anchor::Left));
        height = height.max(block.height());
        left += width + 3 * GAP;
    }
    if entries.is_empty() {
        bottom
    } else {
        top + height
    }
}

fn axes(canvas: &mut Canvas<'_>, plane: &Plane, top: Px) -> Field {
    let setter = canvas.setter;
    let title_line = top + Role::Note.size();
    let upper = title_line + Role::Note.line();
    let y = Scale::new(plane.y.most * 1.08, (upper + HEIGHT, upper));
    let rows: Vec<_> = ticks(plane.y.most * 1.08, 7, plane.y.whole)
        .into_iter()
        .map(|tick| (y.at_tick(tick), setter.number(tick)))
        .collect();
    let widths = rows
        .iter()
        .map(|(_, text)| setter.width(text, Role::Small.size()));
    let left = MARGIN + widths.max().unwrap_or(0) + 90;
    let right = WIDTH - MARGIN - ends_width(canvas, plane);
    for (at, text) in &rows {
        canvas.line((left, *at), (right, *at), (Ink::Grid, 8));
        let middle = at + Role::Small.size() * 36 / 100;
        canvas.write(text, Role::Small, ((left - 70, middle), Anchor::Right));
    }
    canvas.write(
        &plane.y.title,
        Role::Note,
        ((MARGIN, title_line), Anchor::Left),
    );
    let x = Scale::new(plane.x.most * 1.02, (left, right));
    let floor = upper + HEIGHT;
    for tick in ticks(plane.x.most * 1.02, 8, plane.x.whole) {
        let at = x.at_tick(tick);
        canvas.line((at, floor), (at, floor + 45), (Ink::Strong, 9));
        let below = floor + 60 + Role::Small.size();
        canvas.write(
            &setter.number(tick),
            Role::Small,
            ((at, below), Anchor::Middle),
        );
    }
    canvas.line((left, floor), (right, floor), (Ink::Strong, 12));
    let below = floor + 60 + Role::Small.line() + Role::Note.size();
    canvas.write(&plane.x.title, Role::Note, ((right, below), Anchor::Right));
    Field { x, y }
}

/// The room that labels at the ends of lines need.
fn ends_width(canvas: &Canvas<'_>, plane: &Plane) -> Px {
    let ends = plane.curves.iter().filter(|curve| curve.labelled_at_end);
    let widths = ends.map(|curve| block(canvas, &curve.label).width + GAP + 2 * MARKER);
    widths.max().unwrap_or(0)
}

fn block(canvas: &Canvas<'_>, words: &[String]) -> Block {
    Block::of(canvas.setter, words, WIDTH / 3)
}

fn draw_curve(
    canvas: &mut Canvas<'_>,
    curve: &Curve,
    (field, obstacles): (&Field, &mut Obstacles),
) {
    let spots: Vec<Spot> = curve.points.iter().map(|point| field.at(*point)).collect();
    let pieces = spots.iter().zip(spots.iter().skip(1));
    obstacles
        .lines
        .extend(pieces.map(|(from, to)| (*from, *to)));
    let stroke = match curve.look {
        Look::Measured => (Ink::Blue, 26, Dash::Solid),
        Look::Compared => (Ink::Vermilion, 26, Dash::Dashed),
        Look::Aside => (Ink::Blue, 16, Dash::Dashed),
        Look::Nth(nth) => SEVERAL[nth % SEVERAL.len()],
        Look::Series(stroke) => (stroke.ink, stroke.width, stroke.dash),
    };
    canvas.path(spots, stroke);
}

fn draw_mark(canvas: &mut Canvas<'_>, mark: &Mark, field: &Field) {
    let spot = field.at(mark.at);
    if let Some((low, high)) = mark.between {
        let (low, high) = (field.y.at(low), field.y.at(high));
        canvas.line((spot.0, low), (spot.0, high), (Ink::Strong, 12));
    }
    canvas.shapes.push(Shape::Marker(spot, mark.marker));
}

fn label(canvas: &mut Canvas<'_>, plane: &Plane, (field, obstacles): (&Field, &mut Obstacles)) {
    for mark in plane.marks.iter().filter(|mark| !mark.label.is_empty()) {
        let block = block(canvas, &mark.label);
        let places = place::around(field.at(mark.at), GAP, &block);
        obstacles.put(canvas, &block, &places);
    }
    key(canvas, plane, (field, obstacles));
    for curve in plane.curves.iter().filter(|curve| !curve.label.is_empty()) {
        let block = block(canvas, &curve.label);
        let spots: Vec<Spot> = curve.points.iter().map(|point| field.at(*point)).collect();
        let places = match (curve.labelled_at_end, spots.last()) {
            (true, Some((x, y))) => vec![place::Place {
                top: y - block.height() / 2,
                x: x + GAP + MARKER,
                anchor: Anchor::Left,
            }],
            _ => place::along(&between(&spots), GAP, &block),
        };
        obstacles.put(canvas, &block, &places);
    }
}

/// Spots along a line, close enough to find a free one, without its ends.
fn between(spots: &[Spot]) -> Vec<Spot> {
    let mut between = Vec::new();
    for (from, to) in spots.iter().zip(spots.iter().skip(1)) {
        let steps = ((to.0 - from.0).abs() / 200).max(1);
        let part = |start: Px, end: Px, step: Px| start + (end - start) * step / steps;
        between.extend((0..steps).map(|step| (part(from.0, to.0, step), part(from.1, to.1, step))));
    }
    let margin = between.len() / 10;
    let inner = between.len().saturating_sub(2 * margin);
    between.into_iter().skip(margin).take(inner).collect()
}

/// Markers with their meaning, in the corner that rising lines leave free.
fn key(canvas: &mut Canvas<'_>, plane: &Plane, (field, obstacles): (&Field, &mut Obstacles)) {
    let bounds = field.bounds();
    let mut top = bounds.top + 40;
    for (marker, text) in &plane.key {
        let block = block(canvas, std::slice::from_ref(text));
        let (left, baseline) = (bounds.left + 160, top + Block::ASCENT);
        let spot = (left + MARKER, baseline - Role::Label.size() * 35 / 100);
        canvas.shapes.push(Shape::Marker(spot, *marker));
        let at = (left + 3 * MARKER + 40, baseline);
        canvas.write_block(&block, (at, Anchor::Left));
        obstacles.boxes.push(Bounds {
            left,
            top,
            right: at.0 + block.width,
            bottom: top + block.height(),
        });
        top += block.height();
    }
}
