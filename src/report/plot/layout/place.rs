//! Finding room for labels: of several places beside what it names, a label gets the first that
//! is free.

use super::super::scene::{Anchor, Bounds, Px, Spot};
use super::canvas::{Block, Canvas};

/// What labels must keep clear of.
pub(super) struct Obstacles {
    /// Where labels may be.
    pub(super) room: Bounds,
    /// Labels and markers.
    pub(super) boxes: Vec<Bounds>,
    /// Pieces of lines.
    pub(super) lines: Vec<(Spot, Spot)>,
}

/// A place for a label: its upper edge, and where a side or the middle of it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) top: Px,
    pub(super) x: Px,
    pub(super) anchor: Anchor,
}

impl Place {
    fn bounds(self, block: &Block) -> Bounds {
        let left = match self.anchor {
            Anchor::Left => self.x,
            Anchor::Middle => self.x - block.width / 2,
            Anchor::Right => self.x - block.width,
        };
        Bounds {
            left,
            top: self.top,
            right: left + block.width,
            bottom: self.top + block.height(),
        }
    }
}

/// The places around a spot, `gap` away from it, those first that are most usual.
pub(super) fn around((x, y): Spot, gap: Px, block: &Block) -> Vec<Place> {
    let (above, below) = (y - gap - block.height(), y + gap);
    let beside = y - block.height() / 2;
    let place = |top, x, anchor| Place { top, x, anchor };
    vec![
        place(above, x + gap / 2, Anchor::Right),
        place(beside, x - 2 * gap, Anchor::Right),
        place(above, x, Anchor::Middle),
        place(above, x - gap / 2, Anchor::Left),
        place(beside, x + 2 * gap, Anchor::Left),
        place(below, x - gap / 2, Anchor::Left),
        place(below, x, Anchor::Middle),
    ]
}

/// The places along a line, before and above it or behind and below it.
pub(super) fn along(line: &[Spot], gap: Px, block: &Block) -> Vec<Place> {
    let mut places = Vec::new();
    for (x, y) in line.iter().rev().copied() {
        places.push(Place {
            top: y - gap - block.height(),
            x: x - gap,
            anchor: Anchor::Right,
        });
        places.push(Place {
            top: y + gap,
            x: x + gap,
            anchor: Anchor::Left,
        });
    }
    places
}

impl Obstacles {
    /// Writes a label at the first free place, or where it is least in the way.
    pub(super) fn put(&mut self, canvas: &mut Canvas<'_>, block: &Block, places: &[Place]) {
        let best = places
            .iter()
            .min_by_key(|place| self.in_the_way(place.bounds(block)));
        let Some(place) = best else {
            return;
        };
        self.boxes.push(place.bounds(block));
        let at = (place.x, place.top + Block::ASCENT);
        canvas.write_block(block, (at, place.anchor));
    }

    /// How many things a label there would lie on; being outside is worst.
    fn in_the_way(&self, label: Bounds) -> usize {
        let outside = if self.room.holds(label) { 0 } else { 10_000 };
        let near = label.grown(25);
        let boxes = self.boxes.iter().filter(|other| near.meets(**other));
        let lines = self.lines.iter().filter(|line| near.is_crossed(**line));
        outside + 100 * boxes.count() + lines.count()
    }
}
