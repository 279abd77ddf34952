//! Runs over time: when the model was asked, when the tool ran and told of its progress, when
//! somebody pressed Stop.
//!
//! A run does one thing after the other, so where there is one call of a tool its time is what
//! the model's replies leave of the whole.

use rust_decimal::Decimal;

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece, Tick, TickKind};
use super::super::rows::{Run, runs, value};
use super::Named;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::report::locale::Locale;
use crate::results::parse_decimal;

/// Every run, in milliseconds from its start.
#[derive(Debug)]
pub(in super::super) struct Timeline(Vec<Lane>);

#[derive(Debug, PartialEq, Eq)]
struct Lane {
    name: Named,
    status: String,
    wall: Decimal,
    /// From when to when each reply took.
    model: Vec<(Decimal, Decimal)>,
    /// From when to when the tool ran.
    tool: (Decimal, Decimal),
    progress: Vec<Decimal>,
    stop: Option<Decimal>,
}

impl Timeline {
    /// Reads the times of cells and turns, and from the settings when Stop is pressed.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let mut lanes = Vec::new();
        for (index, run) in (0..).zip(runs(experiment, measured)?) {
            let cell = experiment.sweep().cell(index);
            let stop = cell.ok().and_then(|cell| cell.settings.stop_at_ms);
            lanes.push(Lane::of(experiment, &run, stop.map(Decimal::from))?);
        }
        Ok(Self(lanes))
    }

    /// A lane for each run.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        let most = self
            .0
            .iter()
            .map(|lane| lane.wall)
            .max()
            .unwrap_or_default();
        let stopped = self.0.iter().position(|lane| lane.stop.is_some());
        let bars = self.0.iter().enumerate().map(|(index, lane)| {
            let mut bar = lane.bar(locale);
            if index == 0 {
                bar.notes.extend(lane.notes(locale));
            }
            if Some(index) == stopped {
                let stop = locale.text("plot.stop", &[]);
                bar.notes.extend(lane.stop.map(|at| (value(at), stop)));
            }
            bar
        });
        Bars {
            heading: None,
            names: self.0.iter().map(|lane| lane.name.say(locale)).collect(),
            panels: vec![Panel {
                bars: bars.collect(),
                axis: Axis {
                    title: locale.text("plot.milliseconds", &[]),
                    most: value(most),
                    whole: false,
                },
            }],
        }
    }
}

impl Lane {
    fn of(
        experiment: &Experiment,
        run: &Run<'_>,
        stop: Option<Decimal>,
    ) -> Result<Self, PlotError> {
        if run.cell.count("tool_runs")? > 1 {
            let problem = "a timeline is of runs that call one tool: its rows have no time of each";
            return Err(PlotError::Rows(problem));
        }
        let wall = run.cell.number("wall_ms")?;
        let replies = run.turns.iter().map(|turn| turn.number("provider_ms"));
        let replies = replies.collect::<Result<Vec<_>, _>>()?;
        let first = replies.first().copied().unwrap_or_default();
        let later: Decimal = replies.iter().skip(1).sum();
        let tool = (first, wall - later);
        let mut model = vec![(Decimal::ZERO, first)];
        let mut at = tool.1;
        for reply in replies.iter().skip(1) {
            model.push((at, at + reply));
            at += reply;
        }
        let progress = run.cell.words("progress_ms_list")?;
        Ok(Self {
            name: Named::of(experiment, &run.cell)?,
            status: run.cell.words("status")?,
            progress: progress
                .split_whitespace()
                .filter_map(parse_decimal)
                .collect(),
            wall,
            model,
            tool,
            stop,
        })
    }

    fn bar(&self, locale: &Locale) -> Bar {
        let piece = |(from, to): (Decimal, Decimal), fill| Piece {
            from: value(from),
            to: value(to),
            fill,
        };
        let mut pieces = vec![piece(self.tool, Fill::Pale)];
        // A reply that takes no time is an instant.
        let (instants, spans): (Vec<_>, Vec<_>) = self
            .model
            .iter()
            .copied()
            .partition(|(from, to)| from == to);
        pieces.extend(spans.into_iter().map(|span| piece(span, Fill::Strong)));
        let tick = |kind| {
            move |at: Decimal| Tick {
                at: value(at),
                kind,
            }
        };
        let progress = self.progress.iter().copied();
        let mut ticks: Vec<Tick> = progress.map(tick(TickKind::Notch)).collect();
        let instants = instants.into_iter().map(|(at, _)| at);
        ticks.extend(instants.map(tick(TickKind::Diamond)));
        ticks.extend(self.stop.map(tick(TickKind::Stop)));
        Bar {
            pieces,
            ticks,
            label: vec![
                locale.value("status", &self.status).text().to_owned(),
                locale.ltr(&locale.number(self.wall)),
            ],
            notes: Vec::new(),
        }
    }

    /// What the marks of a lane are.
    fn notes(&self, locale: &Locale) -> Vec<(f64, String)> {
        let (from, to) = self.tool;
        let three_quarters = from + (to - from) * Decimal::new(75, 2);
        let mut notes = vec![(0.0, locale.text("plot.model", &[]))];
        let first = self.progress.get(1).or_else(|| self.progress.first());
        notes.extend(first.map(|at| (value(*at), locale.text("plot.progress", &[]))));
        notes.push((value(three_quarters), locale.text("plot.tool", &[])));
        notes
    }
}
