//! What limits keep and what they cost, as a picture: a line for each axis that is varied.

use super::picture::{Axis, Body, Curve, Look, Mark, Picture, Plane};
use super::scene::Marker;
use super::text::Typesetter;
use super::{Ground, PNG_SCALE, PlotError, PlotFormat, layout, png, svg};
use crate::report::locale::Locale;

/// A frontier: what is spent, to the right, and what is kept, upwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Frontier {
    /// The title.
    pub title: String,
    /// What is spent, with its unit.
    pub spent: String,
    /// What is kept, with its unit.
    pub kept: String,
    /// A line for each way of limiting.
    pub lines: Vec<FrontierLine>,
    /// Where it is without any limit, and what that is called.
    pub unlimited: ((f64, f64), String),
    /// What made it.
    pub made: String,
}

/// The settings of one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierLine {
    /// What is varied.
    pub name: String,
    /// What is spent and kept, setting by setting.
    pub points: Vec<(f64, f64)>,
    /// The setting to choose, and what it is called.
    pub chosen: Option<((f64, f64), String)>,
}

impl Frontier {
    /// The picture in a format, as the bytes of a file. Its words are English, whatever the
    /// locale: it says how numbers are written.
    ///
    /// # Errors
    /// [`PlotError`] where it cannot be drawn.
    pub fn write(&self, locale: &Locale, format: PlotFormat) -> Result<Vec<u8>, PlotError> {
        let scene = layout::scene(&self.picture(), Typesetter::new(locale));
        let document = svg::document(&scene, locale, ("frontier", Ground::Paper))?;
        match format {
            PlotFormat::Svg => Ok(document.into_bytes()),
            PlotFormat::Png => png::png(&document, PNG_SCALE),
        }
    }

    fn picture(&self) -> Picture {
        let points = self.lines.iter().flat_map(|line| line.points.iter());
        let all: Vec<(f64, f64)> = points.copied().chain([self.unlimited.0]).collect();
        let most = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).fold(0.0, f64::max);
        let looks = [Look::Measured, Look::Compared, Look::Aside];
        let lines = self.lines.iter().zip(looks.into_iter().cycle());
        let chosen = self.lines.iter().filter_map(|line| line.chosen.clone());
        let chosen = chosen.map(|(at, name)| mark(at, Marker::Diamond, name));
        let (at, name) = self.unlimited.clone();
        Picture {
            title: self.title.clone(),
            body: Body::Plane(Plane {
                x: axis(&self.spent, most(|point| point.0)),
                y: axis(&self.kept, most(|point| point.1)),
                curves: lines.map(|(line, look)| curve(line, look)).collect(),
                marks: chosen.chain([mark(at, Marker::Ring, name)]).collect(),
                key: Vec::new(),
            }),
            made: self.made.clone(),
        }
    }
}

fn axis(title: &str, most: f64) -> Axis {
    Axis {
        title: title.to_owned(),
        most,
        whole: false,
    }
}

fn curve(line: &FrontierLine, look: Look) -> Curve {
    Curve {
        points: line.points.clone(),
        look,
        label: vec![line.name.clone()],
        labelled_at_end: false,
    }
}

fn mark(at: (f64, f64), marker: Marker, name: String) -> Mark {
    Mark {
        at,
        between: None,
        marker,
        label: vec![name],
    }
}
