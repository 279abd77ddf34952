//! What is drawn on, and which side of it a reader starts from.

use super::super::scene::{Anchor, Bounds, Dash, Ink, Label, Px, Role, Shape, Spot, Stroke};
use super::super::text::Typesetter;
use super::{WIDTH, opposite};
use crate::results::Direction;

/// A canvas for one language.
pub(super) struct Canvas<'l> {
    pub(super) setter: Typesetter<'l>,
    pub(super) shapes: Vec<Shape>,
    pub(super) labels: Vec<Label>,
}

impl<'l> Canvas<'l> {
    pub(super) const fn new(setter: Typesetter<'l>) -> Self {
        Self {
            setter,
            shapes: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// How far from the left it is to what lies so far from the side where reading starts.
    pub(super) const fn x(&self, from_start: Px) -> Px {
        match self.setter.direction() {
            Direction::LeftToRight => from_start,
            Direction::RightToLeft => WIDTH - from_start,
        }
    }

    /// The end of a text at which reading starts.
    pub(super) const fn start(&self) -> Anchor {
        match self.setter.direction() {
            Direction::LeftToRight => Anchor::Left,
            Direction::RightToLeft => Anchor::Right,
        }
    }

    /// The end of a text at which reading ends.
    pub(super) const fn end(&self) -> Anchor {
        opposite(self.start())
    }

    /// Writes one line.
    pub(super) fn write(&mut self, text: &str, role: Role, at: (Spot, Anchor)) {
        self.labels.push(Label::new(self.setter, text, role, at));
    }

    /// Writes lines below each other, the first baseline at the spot.
    pub(super) fn write_block(&mut self, block: &Block, ((x, y), anchor): (Spot, Anchor)) {
        let mut baseline = y;
        for (index, (line, role)) in block.lines.iter().enumerate() {
            if index > 0 {
                baseline += role.line();
            }
            self.write(line, *role, ((x, baseline), anchor));
        }
    }

    /// Ends the lines that help to read off values where a label lies on them.
    pub(super) fn clear_grid_behind_labels(&mut self) {
        let labels = self.labels.iter().map(|label| label.bounds().grown(35));
        let labels: Vec<Bounds> = labels.collect();
        let shapes = std::mem::take(&mut self.shapes);
        for shape in shapes {
            match shape {
                Shape::Line(ends, stroke) if stroke.ink == Ink::Grid => {
                    let pieces = visible(&ends, &labels).into_iter();
                    self.shapes
                        .extend(pieces.map(|piece| Shape::Line(piece, stroke)));
                }
                other => self.shapes.push(other),
            }
        }
    }

    pub(super) fn line(&mut self, from: Spot, to: Spot, (ink, width): (Ink, Px)) {
        let stroke = Stroke::solid(ink, width);
        self.shapes.push(Shape::Line(vec![from, to], stroke));
    }

    pub(super) fn path(&mut self, points: Vec<Spot>, (ink, width, dash): (Ink, Px, Dash)) {
        self.shapes
            .push(Shape::Line(points, Stroke { ink, width, dash }));
    }
}

/// The pieces of a level or upright line that no label lies on.
fn visible(ends: &[Spot], labels: &[Bounds]) -> Vec<Vec<Spot>> {
    let [from, to] = ends else {
        return vec![ends.to_vec()];
    };
    let is_level = from.1 == to.1;
    let along = |spot: Spot| if is_level { spot.0 } else { spot.1 };
    let mut gaps: Vec<(Px, Px)> = labels
        .iter()
        .filter(|label| label.is_crossed((*from, *to)))
        .map(|label| {
            if is_level {
                (label.left, label.right)
            } else {
                (label.top, label.bottom)
            }
        })
        .collect();
    gaps.sort_unstable();
    let (mut at, end) = (along(*from), along(*to));
    let spot = |at: Px| if is_level { (at, from.1) } else { (from.0, at) };
    let mut pieces = Vec::new();
    for (begin, behind) in gaps {
        if begin > at {
            pieces.push(vec![spot(at), spot(begin)]);
        }
        at = at.max(behind);
    }
    if at < end {
        pieces.push(vec![spot(at), spot(end)]);
    }
    pieces
}

/// Lines that belong together.
#[derive(Clone, Debug)]
pub(super) struct Block {
    lines: Vec<(String, Role)>,
    /// How wide the widest is.
    pub(super) width: Px,
}

impl Block {
    /// A label and the notes below it, broken where they are wider than `width`.
    pub(super) fn of(setter: Typesetter<'_>, words: &[String], width: Px) -> Self {
        let mut lines = Vec::new();
        for (index, text) in words.iter().enumerate() {
            let role = if index == 0 { Role::Label } else { Role::Note };
            let broken = setter.wrap(text, role.size(), width).into_iter();
            lines.extend(broken.map(|line| (line, role)));
        }
        Self::measured(setter, lines)
    }

    /// A name, broken where it is wider than `width`.
    pub(super) fn name(setter: Typesetter<'_>, name: &str, width: Px) -> Self {
        let lines = setter.wrap(name, Role::Label.size(), width).into_iter();
        Self::measured(setter, lines.map(|line| (line, Role::Label)).collect())
    }

    fn measured(setter: Typesetter<'_>, lines: Vec<(String, Role)>) -> Self {
        let widths = lines
            .iter()
            .map(|(line, role)| setter.width(line, role.size()));
        Self {
            width: widths.max().unwrap_or(0),
            lines,
        }
    }

    /// How far below its top the first baseline is.
    pub(super) const ASCENT: Px = Role::Label.size() * 105 / 100;

    /// From the top of its first line to the bottom of its last one.
    pub(super) fn height(&self) -> Px {
        self.lines.iter().map(|(_, role)| role.line()).sum()
    }
}
