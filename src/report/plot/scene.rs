//! A picture with everything in its place: shapes and labels on a canvas.

use super::text::{Shaped, Typesetter, scaled};

/// Tenths of a pixel, so that whole numbers are fine enough and print the same everywhere.
pub(super) type Px = i32;

/// A place on the canvas, from its upper left corner.
pub(super) type Spot = (Px, Px);

/// What a picture is drawn with. The hues are those of Okabe and Ito, told apart by colour-blind
/// readers; in grey it is dashes, hatching and markers that tell things apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text, axes, marks of measured values.
    Strong,
    /// What explains: titles of axes, numbers at ticks.
    Muted,
    /// Lines that help to read a value off.
    Grid,
    /// The blue of what is measured.
    Blue,
    /// The same, where something else is meant by the same bar.
    Pale,
    /// The vermilion of what it is compared with.
    Vermilion,
    /// The green of a third series.
    Green,
    /// The purple of a fourth one.
    Purple,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) ink: Ink,
    pub(super) width: Px,
    pub(super) dash: Dash,
}

impl Stroke {
    /// An unbroken line.
    pub(super) const fn solid(ink: Ink, width: Px) -> Self {
        let dash = Dash::Solid;
        Self { ink, width, dash }
    }
}

/// Whether a line has gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
}

/// Something drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line through these spots.
    Line(Vec<Spot>, Stroke),
    /// A filled rectangle between two corners.
    Rect(Spot, Spot, Ink),
    /// Parallel lines that fill a rectangle.
    Hatch(Spot, Spot, Ink),
    /// A marker around a spot.
    Marker(Spot, Marker),
}

/// The mark of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// A filled disc.
    Disc,
    /// A ring.
    Ring,
    /// A standing cross.
    Cross,
    /// A filled diamond.
    Diamond,
    /// A small point of a series, told from others by its form and its ink.
    Point(Form, Ink),
    /// The point of a series to look at, with its own ink inside.
    Chosen(Ink),
}

/// The form of a small point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A filled disc.
    Disc,
    /// A filled square.
    Square,
    /// A filled triangle that stands on its side.
    Triangle,
    /// A slanted cross.
    Cross,
}

/// How far a marker reaches from its spot.
pub(super) const MARKER: Px = 42;

/// Which end of a line of text its spot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Left,
    Middle,
    Right,
}

/// What a line of text is for, which says how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The title.
    Title,
    /// A label, or the number of a value.
    Label,
    /// Further lines of a label; titles of axes.
    Note,
    /// Numbers at ticks; what made the picture.
    Small,
}

impl Role {
    /// The size of the font.
    pub(super) const fn size(self) -> Px {
        match self {
            Self::Title => 168,
            Self::Label => 128,
            Self::Note => 116,
            Self::Small => 110,
        }
    }

    pub(super) const fn ink(self) -> Ink {
        match self {
            Self::Title | Self::Label => Ink::Strong,
            Self::Note | Self::Small => Ink::Muted,
        }
    }

    /// From one baseline to the next.
    pub(super) const fn line(self) -> Px {
        self.size() * 14 / 10
    }
}

/// A line of text in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) role: Role,
    /// The size, which is the role's unless it had to be smaller.
    pub(super) size: Px,
    /// The left end of the baseline.
    pub(super) at: Spot,
    pub(super) shaped: Shaped,
}

impl Label {
    /// The text with its baseline at a spot.
    pub(super) fn new(
        setter: Typesetter<'_>,
        text: &str,
        role: Role,
        (at, anchor): (Spot, Anchor),
    ) -> Self {
        Self::sized(setter, text, (role, role.size()), (at, anchor))
    }

    /// The same, in a size of its own.
    pub(super) fn sized(
        setter: Typesetter<'_>,
        text: &str,
        (role, size): (Role, Px),
        ((x, y), anchor): (Spot, Anchor),
    ) -> Self {
        let shaped = setter.shape(text);
        let width = scaled(shaped.advance, size);
        let left = match anchor {
            Anchor::Left => x,
            Anchor::Middle => x - width / 2,
            Anchor::Right => x - width,
        };
        Self {
            text: text.to_owned(),
            role,
            size,
            at: (left, y),
            shaped,
        }
    }

    /// How wide it is.
    pub(super) fn width(&self) -> Px {
        scaled(self.shaped.advance, self.size)
    }

    /// Where its ink is.
    pub(super) fn bounds(&self) -> Bounds {
        let (x, y) = self.at;
        Bounds {
            left: x,
            top: y - scaled(self.shaped.top, self.size),
            right: x + self.width(),
            bottom: y - scaled(self.shaped.bottom, self.size),
        }
    }
}

/// A rectangle of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) left: Px,
    pub(super) top: Px,
    pub(super) right: Px,
    pub(super) bottom: Px,
}

impl Bounds {
    /// The square that reaches so far around a spot.
    pub(super) const fn around((x, y): Spot, reach: Px) -> Self {
        Self {
            left: x - reach,
            top: y - reach,
            right: x + reach,
            bottom: y + reach,
        }
    }

    /// The same with so much room around it.
    pub(super) const fn grown(self, by: Px) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    /// Whether two rectangles share more than an edge.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether another rectangle is inside this one.
    pub(super) const fn holds(self, other: Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }

    /// Whether a straight line between two spots comes into the rectangle: it does not if the
    /// spots lie beyond one side, or all corners on one side of the line.
    pub(super) fn is_crossed(self, (a, b): (Spot, Spot)) -> bool {
        let beyond = a.0.max(b.0) < self.left
            || a.0.min(b.0) > self.right
            || a.1.max(b.1) < self.top
            || a.1.min(b.1) > self.bottom;
        if beyond {
            return false;
        }
        let corners = [
            (self.left, self.top),
            (self.right, self.top),
            (self.left, self.bottom),
            (self.right, self.bottom),
        ];
        let (dx, dy) = (i64::from(b.0 - a.0), i64::from(b.1 - a.1));
        let sides =
            corners.map(|(x, y)| (dx * i64::from(y - a.1) - dy * i64::from(x - a.0)).signum());
        !(sides.iter().all(|side| *side > 0) || sides.iter().all(|side| *side < 0))
    }
}

/// Everything in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scene {
    pub(super) width: Px,
    pub(super) height: Px,
    /// From the back to the front.
    pub(super) shapes: Vec<Shape>,
    pub(super) labels: Vec<Label>,
    /// What it is called.
    pub(super) title: String,
    /// What it shows, for those who do not see it.
    pub(super) description: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_passes_a_rectangle_does_not_cross_it() {
        let square = Bounds::around((0, 0), 10);
        assert!(square.is_crossed(((-20, -20), (20, 20))));
        assert!(square.is_crossed(((0, 0), (1, 1))));
        assert!(!square.is_crossed(((-20, 5), (-11, 5))));
        assert!(!square.is_crossed(((0, -25), (25, 0))));
        assert!(square.is_crossed(((0, -15), (15, 0))));
    }

    #[test]
    fn rectangles_that_touch_do_not_meet() {
        let square = Bounds::around((0, 0), 10);
        assert!(!square.meets(Bounds::around((20, 0), 10)));
        assert!(square.meets(Bounds::around((19, 0), 10)));
        assert!(square.grown(1).holds(square) && !square.holds(square.grown(1)));
    }
}
