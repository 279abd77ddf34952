//! What a plot shows, in words and numbers, before anything has a place.

use super::scene::{Marker, Stroke};

/// A picture of one of two kinds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) body: Body,
    /// Which clock made it.
    pub(super) made: String,
}

impl Picture {
    /// What it shows, in the words and figures that are in it.
    pub(super) fn description(&self) -> String {
        match &self.body {
            Body::Plane(plane) => plane.description(),
            Body::Bars(bars) => bars.description(),
        }
    }
}

/// The two kinds of pictures.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// One quantity over another.
    Plane(Plane),
    /// Lines of a list with bars along them.
    Bars(Bars),
}

/// An axis that starts at 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// What is measured, with its unit.
    pub(super) title: String,
    /// The largest value that has to be on it.
    pub(super) most: f64,
    /// Whether only whole numbers make sense.
    pub(super) whole: bool,
}

/// A label of one or more lines: the first says what, the others explain.
pub(super) type Words = Vec<String>;

/// One quantity over another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plane {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
    pub(super) marks: Vec<Mark>,
    /// What the markers mean, where one label beside a marker would not say it.
    pub(super) key: Vec<(Marker, String)>,
    /// What stands below the field: markers, lines and their meaning, where labels beside them
    /// would lie on one another.
    pub(super) legend: Vec<Entry>,
}

/// A sample with its meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) marker: Option<Marker>,
    pub(super) line: Option<Stroke>,
    pub(super) text: String,
}

impl Plane {
    fn description(&self) -> String {
        let axes = [self.y.title.clone(), self.x.title.clone()];
        let curves = self.curves.iter().map(|curve| curve.label.join(", "));
        let marks = self.marks.iter().map(|mark| mark.label.join(", "));
        let key = self.key.iter().map(|(_, text)| text.clone());
        let legend = self.legend.iter().map(|entry| entry.text.clone());
        let words = axes.into_iter().chain(curves).chain(key).chain(marks);
        sentence(words.chain(legend))
    }
}

impl Bars {
    fn description(&self) -> String {
        let titles = self.panels.iter().map(|panel| panel.axis.title.clone());
        let lines = self.names.iter().enumerate().map(|(index, name)| {
            let bars = self.panels.iter().filter_map(|panel| panel.bars.get(index));
            let labels: Vec<String> = bars.map(|bar| bar.label.join(", ")).collect();
            format!("{name}: {}", labels.join(", "))
        });
        sentence(titles.chain(lines))
    }
}

/// What is not empty, one after the other.
fn sentence(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// A line through values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) look: Look,
    pub(super) label: Words,
    /// Whether the label stands behind the last point, and not somewhere along the line.
    pub(super) labelled_at_end: bool,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// What is measured, or follows from it.
    Measured,
    /// What it is compared with.
    Compared,
    /// What follows from the same rule, and was not measured.
    Aside,
    /// One of several that were all measured, by its place among them.
    Nth(usize),
    /// One of several series, drawn like this.
    Series(Stroke),
}

/// A value with a marker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) at: (f64, f64),
    /// Between which values of y it probably lies.
    pub(super) between: Option<(f64, f64)>,
    pub(super) marker: Marker,
    pub(super) label: Words,
}

/// Lines of a list, each with bars in one or more panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bars {
    /// What the lines are called after, if they need a heading.
    pub(super) heading: Option<String>,
    /// The name of each line.
    pub(super) names: Vec<String>,
    pub(super) panels: Vec<Panel>,
}

/// A bar for each line, over an axis of their own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    pub(super) axis: Axis,
    pub(super) bars: Vec<Bar>,
}

/// A bar of one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bar {
    pub(super) pieces: Vec<Piece>,
    pub(super) ticks: Vec<Tick>,
    /// What stands behind its end.
    pub(super) label: Words,
    /// What stands above places of it.
    pub(super) notes: Vec<(f64, String)>,
}

impl Bar {
    /// Where its last piece ends.
    pub(super) fn reach(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.to).fold(0.0, f64::max)
    }
}

/// A piece of a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) fill: Fill,
}

/// How a piece looks, in grey too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// What it is about.
    Strong,
    /// The same kind of thing, to a lesser degree.
    Pale,
    /// What is too much.
    Hatched,
}

/// A mark on a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) kind: TickKind,
}

/// What a mark on a bar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TickKind {
    /// A short line inside the bar.
    Notch,
    /// A line across the bar.
    Limit,
    /// The same, of somebody's doing.
    Stop,
    /// An instant.
    Diamond,
}
