//! What is drawn on, and which side of it a reader starts from.

use super::super::scene::{Anchor, Dash, Ink, Label, Px, Role, Shape, Spot, Stroke};
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
    pub(super) fn write_block(&mut self, lines: &Block, ((x, y), anchor): (Spot, Anchor)) {
        let mut baseline = y;
        for (index, line) in lines.lines.iter().enumerate() {
            if index > 0 {
                baseline += lines.role(index).line();
            }
            self.write(line, lines.role(index), ((x, baseline), anchor));
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

/// Lines that belong together: the first is a label, the others are notes to it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) lines: Vec<String>,
    first: Role,
    /// How wide the widest is.
    pub(super) width: Px,
}

impl Block {
    /// Lines under a label, broken where they are wider than `width`.
    pub(super) fn of(setter: Typesetter<'_>, words: &[String], (first, width): (Role, Px)) -> Self {
        let mut lines = Vec::new();
        for (index, text) in words.iter().enumerate() {
            let role = if index == 0 { first } else { Role::Note };
            lines.extend(setter.wrap(text, role.size(), width));
        }
        let mut block = Self {
            lines,
            first,
            width: 0,
        };
        let widths = block.lines.iter().enumerate();
        let widths = widths.map(|(index, line)| setter.width(line, block.role(index).size()));
        block.width = widths.max().unwrap_or(0);
        block
    }

    pub(super) const fn role(&self, index: usize) -> Role {
        if index == 0 { self.first } else { Role::Note }
    }

    /// From the top of its first line to the bottom of its last one.
    pub(super) fn height(&self) -> Px {
        let lines = (0..self.lines.len()).map(|index| self.role(index).line());
        lines.sum()
    }

    /// How far below its top the first baseline is.
    pub(super) const fn ascent(&self) -> Px {
        self.first.size() * 105 / 100
    }
}
