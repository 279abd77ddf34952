//! What limits keep and what they cost, as a picture: a line for each axis that is varied.

use super::picture::{Axis, Body, Curve, Entry, Look, Mark, Picture, Plane};
use super::scene::{Dash, Form, Ink, Marker, Px, Stroke};
use super::text::Typesetter;
use super::{Ground, PNG_SCALE, PlotError, PlotFormat, layout, png, svg};
use crate::report::locale::Locale;

/// How wide the line of a series is.
const LINE: Px = 22;

/// How the series look, one after the other; told apart without colours too.
const SERIES: [(Form, Ink, Dash); 8] = [
    (Form::Disc, Ink::Blue, Dash::Solid),
    (Form::Square, Ink::Vermilion, Dash::Dashed),
    (Form::Triangle, Ink::Green, Dash::Solid),
    (Form::Cross, Ink::Purple, Dash::Dashed),
    (Form::Disc, Ink::Vermilion, Dash::Solid),
    (Form::Square, Ink::Blue, Dash::Dashed),
    (Form::Triangle, Ink::Purple, Dash::Solid),
    (Form::Cross, Ink::Green, Dash::Dashed),
];

/// A frontier: what is spent, to the right, and what is kept, upwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Frontier {
    /// The title.
    pub title: String,
    /// What is spent, with its unit.
    pub spent: String,
    /// What is kept, with its unit.
    pub kept: String,
    /// What the settings to choose are.
    pub choice: String,
    /// A line for each way of limiting, and points for policies.
    pub lines: Vec<FrontierLine>,
    /// Where it is without any limit, and what that is called.
    pub unlimited: ((f64, f64), String),
    /// What made it.
    pub made: String,
}

/// Through which of its points a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// From each to the next dearer one: the points are settings of one axis.
    All,
    /// Through those alone than which none is cheaper and keeps as much: the points are settings
    /// of several axes at once.
    Best,
    /// None: the points are policies, of which none is more or less than another.
    None,
}

/// Settings that belong together: those of one axis, or the combinations of several.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierLine {
    /// What is varied.
    pub name: String,
    /// What is spent and kept, setting by setting.
    pub points: Vec<(f64, f64)>,
    /// What the line goes through.
    pub joined: Joined,
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
        let (unlimited, name) = self.unlimited.clone();
        let (mut marks, mut chosen) = (Vec::new(), Vec::new());
        let (mut curves, mut legend) = (Vec::new(), Vec::new());
        for (line, look) in self.lines.iter().zip(SERIES.into_iter().cycle()) {
            let (point, stroke) = (Marker::Point(look.0, look.1), stroke(look));
            let through = line.through();
            let is_line = through.len() > 1;
            legend.push(Entry {
                marker: Some(point),
                line: is_line.then_some(stroke),
                text: line.name.clone(),
            });
            marks.extend(line.points.iter().map(|at| mark(*at, point)));
            curves.extend(is_line.then(|| curve(through, stroke)));
            if let Some((at, name)) = &line.chosen {
                let marker = Marker::Chosen(look.1);
                chosen.push((mark(*at, marker), entry(marker, name)));
            }
        }
        legend.push(entry(Marker::Ring, &name));
        if let [(_, first), ..] = chosen.as_mut_slice() {
            first.text = format!("{}: {}", self.choice, first.text);
        }
        for (mark, entry) in chosen {
            marks.push(mark);
            legend.push(entry);
        }
        marks.push(mark(unlimited, Marker::Ring));
        Picture {
            title: self.title.clone(),
            body: Body::Plane(Plane {
                x: axis(&self.spent, most(|point| point.0)),
                y: axis(&self.kept, most(|point| point.1)),
                curves,
                marks,
                key: Vec::new(),
                legend,
            }),
            made: self.made.clone(),
        }
    }
}

impl FrontierLine {
    /// The points that its line goes through, from the cheapest on.
    fn through(&self) -> Vec<(f64, f64)> {
        let mut points = self.points.clone();
        // Of those that cost the same, the one that keeps the most comes first.
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
        match self.joined {
            Joined::None => Vec::new(),
            Joined::All => points,
            Joined::Best => {
                let mut best = f64::NEG_INFINITY;
                points.retain(|(_, kept)| {
                    let is_better = *kept > best;
                    best = best.max(*kept);
                    is_better
                });
                points
            }
        }
    }
}

fn stroke((_, ink, dash): (Form, Ink, Dash)) -> Stroke {
    Stroke {
        ink,
        width: LINE,
        dash,
    }
}

fn axis(title: &str, most: f64) -> Axis {
    Axis {
        title: title.to_owned(),
        most,
        whole: false,
    }
}

fn curve(points: Vec<(f64, f64)>, stroke: Stroke) -> Curve {
    Curve {
        points,
        look: Look::Series(stroke),
        label: Vec::new(),
        labelled_at_end: false,
    }
}

fn mark(at: (f64, f64), marker: Marker) -> Mark {
    Mark {
        at,
        between: None,
        marker,
        label: Vec::new(),
    }
}

fn entry(marker: Marker, text: &str) -> Entry {
    Entry {
        marker: Some(marker),
        line: None,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Bounds, Label, Scene, Shape};
    use super::*;

    fn line(name: &str, points: &[(f64, f64)], joined: Joined) -> FrontierLine {
        let last = points.last().copied();
        FrontierLine {
            name: name.to_owned(),
            points: points.to_vec(),
            joined,
            chosen: last.map(|at| (at, format!("{name} 27"))),
        }
    }

    fn frontier(lines: Vec<FrontierLine>) -> Frontier {
        Frontier {
            title: "100 recorded runs".to_owned(),
            spent: "cost of all runs, $".to_owned(),
            kept: "successes kept, %".to_owned(),
            choice: "the cheapest that keeps 99 % of the successes".to_owned(),
            lines,
            unlimited: ((20.0, 100.0), "as recorded".to_owned()),
            made: "price: chapter".to_owned(),
        }
    }

    /// Four axes that all keep everything at about the same cost, beside fewer and harder ones.
    fn frontiers() -> Vec<Frontier> {
        let names = ["turn cap", "budget", "token limit", "repeated-call stop"];
        let rising = [(2.0, 10.0), (9.0, 80.0), (15.0, 99.0), (19.5, 100.0)];
        let axes = |number: usize| -> Vec<FrontierLine> {
            let names = names.into_iter().take(number);
            names.map(|name| line(name, &rising, Joined::All)).collect()
        };
        let crossed: Vec<(f64, f64)> = (0..200_u32)
            .map(|at| (f64::from(at * 37 % 200) / 10.0, f64::from(at * 61 % 101)))
            .collect();
        let crossed = line(&names.join(" with "), &crossed, Joined::Best);
        let policies = FrontierLine {
            chosen: None,
            ..line(
                "prompt cache, from the left: openai, anthropic",
                &rising[..2],
                Joined::None,
            )
        };
        let single = line("turn cap", &rising[3..], Joined::All);
        let lines = [
            axes(1),
            axes(2),
            axes(4),
            [axes(4), vec![policies]].concat(),
            vec![crossed],
            vec![single],
            Vec::new(),
        ];
        lines.into_iter().map(frontier).collect()
    }

    fn scene(frontier: &Frontier) -> Scene {
        let english = Locale::load("en").unwrap();
        layout::scene(&frontier.picture(), Typesetter::new(&english))
    }

    #[test]
    fn every_setting_is_a_point() {
        for frontier in frontiers() {
            let is_point = |shape: &&Shape| matches!(shape, Shape::Marker(_, Marker::Point(..)));
            let points = scene(&frontier).shapes.iter().filter(is_point).count();
            let settings = frontier.lines.iter().map(|line| line.points.len());
            // The legend has one more of each.
            assert_eq!(points, settings.sum::<usize>() + frontier.lines.len());
        }
    }

    #[test]
    fn no_label_lies_on_another_or_passes_an_edge_however_many_axes() {
        for frontier in frontiers() {
            let scene = scene(&frontier);
            let canvas = Bounds {
                left: 0,
                top: 0,
                right: scene.width,
                bottom: scene.height,
            };
            let bounds: Vec<Bounds> = scene.labels.iter().map(Label::bounds).collect();
            for (at, one) in bounds.iter().enumerate() {
                assert!(canvas.holds(one.grown(40)), "{}", scene.labels[at].text);
                let met = bounds.iter().skip(at + 1).any(|other| one.meets(*other));
                assert!(!met, "{}", scene.labels[at].text);
                let is_under = |shape: &Shape| match shape {
                    Shape::Marker(spot, _) => one.holds(Bounds::around(*spot, 1)),
                    _ => false,
                };
                assert!(
                    !scene.shapes.iter().any(is_under),
                    "{}",
                    scene.labels[at].text
                );
            }
            for line in &frontier.lines {
                assert!(scene.description.contains(&line.name));
            }
        }
    }

    #[test]
    fn the_settings_of_one_axis_are_joined_by_cost_and_combinations_at_their_best() {
        let points = [
            (3.0, 50.0),
            (1.0, 20.0),
            (2.0, 10.0),
            (2.5, 50.0),
            (2.5, 40.0),
            (4.0, 90.0),
        ];
        let all = line("turn cap", &points, Joined::All).through();
        assert!(all.is_sorted_by(|one, other| one.0 <= other.0) && all.len() == points.len());
        let best = line("turn cap with budget", &points, Joined::Best).through();
        assert_eq!(best, [(1.0, 20.0), (2.5, 50.0), (4.0, 90.0)]);
    }
}
