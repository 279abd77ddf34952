//! Wall time over the provider's latency: a line for each number of turns, and what was measured.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::super::PlotError;
use super::super::picture::{Axis, Curve, Look, Mark, Plane};
use super::super::rows::{Row, Run, runs, value};
use super::super::scene::Marker;
use crate::clock::ClockKind;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::report::locale::Locale;

/// Times in milliseconds.
#[derive(Debug)]
pub(in super::super) struct Latency {
    /// The most turns that a run had.
    turns: u64,
    /// The longest latency.
    most: Decimal,
    clock: ClockKind,
    /// What was measured, by what tells the runs of one latency apart.
    measured: Vec<Series>,
}

#[derive(Debug, PartialEq, Eq)]
struct Series {
    /// The transport; none where there is but one.
    transport: Option<String>,
    points: Vec<Point>,
}

#[derive(Debug, PartialEq, Eq)]
struct Point {
    latency: Decimal,
    wall: Decimal,
    /// The bounds of a median.
    between: Option<(Decimal, Decimal)>,
}

impl Latency {
    /// Reads `latency_ms`, `turns` and `wall_ms` of the cells, or of the summary where samples are
    /// summed up.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let runs = runs(experiment, measured)?;
        let turns = runs.iter().map(|run| run.cell.count("turns"));
        let turns = turns.collect::<Result<Vec<_>, _>>()?;
        let latencies = runs.iter().map(|run| run.cell.number("latency_ms"));
        let latencies = latencies.collect::<Result<Vec<_>, _>>()?;
        let summary = experiment.readout().summary.as_ref();
        let measured = match summary.map(|spec| spec.of(&measured.cells)).transpose()? {
            Some(summary) => series(Row::all(&summary).map(summed))?,
            None => series(runs.iter().map(once))?,
        };
        Ok(Self {
            turns: turns.into_iter().max().unwrap_or(0),
            most: latencies.into_iter().max().unwrap_or_default(),
            clock: experiment.clock(),
            measured,
        })
    }

    /// Wall time over latency.
    pub(super) fn plane(&self, locale: &Locale) -> Plane {
        let most = self.most * Decimal::from(self.turns);
        Plane {
            x: Axis {
                title: locale.text("plot.latency", &[]),
                most: value(self.most),
                whole: false,
            },
            y: Axis {
                title: locale.text("plot.wall", &[]),
                most: value(most),
                whole: false,
            },
            curves: (1..=self.turns)
                .map(|turns| self.line(locale, turns))
                .collect(),
            marks: self.marks(),
            key: self.key(locale),
            legend: Vec::new(),
        }
    }

    /// N × TTFT for one N.
    fn line(&self, locale: &Locale, turns: u64) -> Curve {
        let end = self.most * Decimal::from(turns);
        let factor = locale.ltr(&format!("{} × TTFT", locale.count(turns)));
        Curve {
            points: vec![(0.0, 0.0), (value(self.most), value(end))],
            look: if turns == self.turns {
                Look::Measured
            } else {
                Look::Aside
            },
            label: vec![locale.counted("plot.n_turns", turns, &[]), factor],
            labelled_at_end: true,
        }
    }

    fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (series, marker) in self.measured.iter().zip(self.markers()) {
            marks.extend(series.points.iter().map(|point| Mark {
                at: (value(point.latency), value(point.wall)),
                between: point.between.map(|(low, high)| (value(low), value(high))),
                marker,
                label: Vec::new(),
            }));
        }
        marks
    }

    fn markers(&self) -> impl Iterator<Item = Marker> + use<> {
        let markers = [Marker::Ring, Marker::Cross, Marker::Diamond, Marker::Disc];
        // One series alone needs no telling apart.
        let skipped = if self.measured.len() == 1 { 3 } else { 0 };
        markers.into_iter().skip(skipped)
    }

    fn key(&self, locale: &Locale) -> Vec<(Marker, String)> {
        let time = match self.clock {
            ClockKind::Virtual => locale.text("plot.virtual_time", &[]),
            ClockKind::Real => locale.text("plot.real_time", &[]),
        };
        let key = self.measured.iter().zip(self.markers());
        let key = key.map(|(series, marker)| {
            let transport = series.transport.as_ref();
            let transport = transport.map(|name| locale.value("transport", name));
            let said = transport.map_or_else(
                || time.clone(),
                |transport| format!("{time} · {}", transport.text()),
            );
            (marker, said)
        });
        key.collect()
    }
}

type Found = Result<(Option<String>, Point), PlotError>;

/// A single run.
fn once(run: &Run<'_>) -> Found {
    let point = Point {
        latency: run.cell.number("latency_ms")?,
        wall: run.cell.number("wall_ms")?,
        between: None,
    };
    Ok((run.cell.words("transport").ok(), point))
}

/// All samples of a cell.
fn summed(row: Row<'_>) -> Found {
    let bounds = row
        .number("low_wall_ms")
        .ok()
        .zip(row.number("high_wall_ms").ok());
    let point = Point {
        latency: row.number("latency_ms")?,
        wall: row.number("median_wall_ms")?,
        between: bounds,
    };
    Ok((row.words("transport").ok(), point))
}

fn series(found: impl Iterator<Item = Found>) -> Result<Vec<Series>, PlotError> {
    let mut by_transport: BTreeMap<Option<String>, Vec<Point>> = BTreeMap::new();
    for point in found {
        let (transport, point) = point?;
        by_transport.entry(transport).or_default().push(point);
    }
    let series = by_transport.into_iter();
    let series = series.map(|(transport, points)| Series { transport, points });
    Ok(series.collect())
}
