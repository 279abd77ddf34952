//! One column over another, with a line for each value of a third.

use super::super::PlotError;
use super::super::picture::{Axis, Curve, Look, Mark, Plane};
use super::super::rows::value;
use super::super::scene::Marker;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::report::locale::Locale;
use crate::results::{Cell, Kind};

/// The lines, and what is along the axes.
#[derive(Debug)]
pub(in super::super) struct Lines {
    x: String,
    y: String,
    by: Option<String>,
    of_values: Vec<Line>,
    /// Whether the vertical axis has whole numbers only.
    whole: bool,
}

/// The points of one value of the third column.
#[derive(Debug)]
struct Line {
    of: Cell,
    points: Vec<(f64, f64)>,
}

/// How far apart two lines end, over the largest value, for a name at each end.
const LEAST_GAP: f64 = 0.06;

/// The marker of the n-th line, where names at their ends have no room.
const fn marker(nth: usize) -> Marker {
    match nth % 4 {
        0 => Marker::Disc,
        1 => Marker::Cross,
        2 => Marker::Ring,
        _ => Marker::Diamond,
    }
}

impl Lines {
    /// Reads the columns that the plot names.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let chosen = super::chosen(experiment)?;
        let rows = super::rows_of(chosen, measured);
        let (x, y) = (rows.index_of(&chosen.x)?, rows.index_of(&chosen.y)?);
        let by = chosen
            .by
            .as_deref()
            .map(|by| rows.index_of(by))
            .transpose()?;
        let mut lines: Vec<Line> = Vec::new();
        for row in chosen.filter.pick(rows)? {
            let number = |at: usize| row.get(at).and_then(Cell::to_decimal).map(value);
            let Some(point) = number(x).zip(number(y)) else {
                continue;
            };
            let of = by
                .and_then(|at| row.get(at))
                .cloned()
                .unwrap_or(Cell::Missing);
            match lines.iter_mut().find(|line| line.of == of) {
                Some(line) => line.points.push(point),
                None => lines.push(Line {
                    of,
                    points: vec![point],
                }),
            }
        }
        if lines.is_empty() {
            return Err(PlotError::Rows("no row has a number to draw"));
        }
        let kind = rows.columns().get(y).map(|column| column.kind);
        Ok(Self {
            x: chosen.x.clone(),
            y: chosen.y.clone(),
            by: chosen.by.clone(),
            of_values: lines,
            whole: matches!(kind, Some(Kind::Count | Kind::Tokens)),
        })
    }

    /// The lines, each named by its value.
    pub(super) fn plane(&self, locale: &Locale) -> Plane {
        let is_apart = self.ends_apart();
        let named = self.of_values.iter().enumerate();
        let curves = named.clone().map(|(nth, line)| Curve {
            points: line.points.clone(),
            look: Look::Nth(nth),
            label: if is_apart {
                self.name(line, locale)
            } else {
                Vec::new()
            },
            labelled_at_end: true,
        });
        let key = named.clone().filter(|_| !is_apart);
        let key = key.map(|(nth, line)| (marker(nth), self.name(line, locale).concat()));
        let marks = named.filter(|_| !is_apart).flat_map(|(nth, line)| {
            line.points.iter().map(move |at| Mark {
                at: *at,
                between: None,
                marker: marker(nth),
                label: Vec::new(),
            })
        });
        let most = |of: fn(&(f64, f64)) -> f64| {
            let points = self.of_values.iter().flat_map(|line| &line.points);
            points.map(of).fold(0.0, f64::max)
        };
        Plane {
            x: Axis {
                title: locale.column(&self.x),
                most: most(|point| point.0),
                whole: true,
            },
            y: Axis {
                title: super::axis_title(locale, &self.y),
                most: most(|point| point.1),
                whole: self.whole,
            },
            curves: curves.collect(),
            marks: marks.collect(),
            key: key.collect(),
            legend: Vec::new(),
        }
    }

    /// Whether the lines end so far apart that each can be named there.
    fn ends_apart(&self) -> bool {
        let ends = self.of_values.iter().filter_map(|line| line.points.last());
        let mut ends: Vec<f64> = ends.map(|(_, y)| *y).collect();
        ends.sort_by(f64::total_cmp);
        let most = ends.last().copied().unwrap_or(0.0);
        let gaps = ends.iter().zip(ends.iter().skip(1));
        gaps.map(|(low, high)| high - low)
            .all(|gap| gap >= most * LEAST_GAP)
    }

    fn name(&self, line: &Line, locale: &Locale) -> Vec<String> {
        let Some(by) = &self.by else {
            return Vec::new();
        };
        // Blanks for commas: a long name can be broken there, and reads the same in lines that run
        // from right to left.
        vec![super::name_of(locale, by, &line.of).replace(',', " ")]
    }
}
