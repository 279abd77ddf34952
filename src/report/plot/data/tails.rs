//! How long simulated runs take: the median, and how far the tail reaches.

use rust_decimal::Decimal;

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece};
use super::super::rows::{Row, value};
use super::Named;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::report::locale::Locale;
use crate::results::round_half_away;

/// The quantiles of each cell, for each of the times that are shown.
#[derive(Debug)]
pub(in super::super) struct Tails {
    names: Vec<Named>,
    panels: Vec<Times>,
}

/// Three quantiles of one time, in milliseconds.
type Quantiles = [Decimal; 3];

#[derive(Debug, PartialEq, Eq)]
struct Times {
    /// The column that the quantiles are of.
    column: &'static str,
    cells: Vec<Quantiles>,
}

impl Times {
    fn of(column: &'static str, measured: &Measured) -> Result<Self, PlotError> {
        let quantiles = |row: Row<'_>| {
            let at = |place: &str| row.number(&format!("{place}_{column}"));
            Ok([at("p50")?, at("p95")?, at("p99")?])
        };
        let cells = Row::all(&measured.cells).map(quantiles);
        let cells = cells.collect::<Result<_, PlotError>>()?;
        Ok(Self { column, cells })
    }

    fn panel(&self, locale: &Locale) -> Panel {
        let title = locale.column(self.column);
        let most = self.cells.iter().flatten().max().copied();
        Panel {
            axis: Axis {
                title: format!("{title}: {}", locale.ltr("p50 · p95 · p99")),
                most: most.map_or(0.0, value),
                whole: false,
            },
            bars: self.cells.iter().map(|cell| bar(locale, cell)).collect(),
        }
    }
}

impl Tails {
    /// Reads the quantiles of `wall_ms` and, where an answer is seen before its end, of
    /// `first_word_ms`.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let names = Row::all(&measured.cells).map(|row| Named::of(experiment, &row));
        let wall = Times::of("wall_ms", measured)?;
        let first_word = Times::of("first_word_ms", measured).ok();
        let differs = first_word.filter(|first| first.cells != wall.cells);
        Ok(Self {
            names: names.collect::<Result<_, _>>()?,
            panels: differs.into_iter().chain([wall]).collect(),
        })
    }

    /// A bar for each cell: strong to the median, pale to the 95th and hatched to the 99th
    /// percentile.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        Bars {
            heading: self.names.first().and_then(|name| name.heading(locale)),
            names: self.names.iter().map(|name| name.say(locale)).collect(),
            panels: self
                .panels
                .iter()
                .map(|times| times.panel(locale))
                .collect(),
        }
    }
}

fn bar(locale: &Locale, quantiles: &Quantiles) -> Bar {
    let fills = [Fill::Strong, Fill::Pale, Fill::Hatched];
    let ends = quantiles.map(value);
    let starts = [0.0, ends[0], ends[1]];
    let pieces = fills.into_iter().zip(starts).zip(ends);
    let pieces = pieces.map(|((fill, from), to)| Piece { from, to, fill });
    let figures = quantiles.map(|ms| locale.number(round_half_away(ms, 0)));
    Bar {
        pieces: pieces.collect(),
        label: vec![locale.ltr(&figures.join(" · "))],
        ..Bar::default()
    }
}
