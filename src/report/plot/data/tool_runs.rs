//! What a cache in front of tools saves: the tools' work, and none of the money.

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece};
use super::super::rows::{Row, dollars, size};
use super::Named;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::money::PicoUsd;
use crate::report::locale::Locale;

/// Every run with what was done in it.
#[derive(Debug)]
pub(in super::super) struct ToolRuns(Vec<Done>);

#[derive(Debug, PartialEq, Eq)]
struct Done {
    name: Named,
    tool_runs: u64,
    deletions: u64,
    cost: PicoUsd,
}

impl ToolRuns {
    /// Reads `tool_runs`, `deleted` and `cost_usd` of the cells.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let done = |row: Row<'_>| {
            let deletions = row.words("deleted")?.split_whitespace().count();
            Ok(Done {
                name: Named::of(experiment, &row)?,
                tool_runs: row.count("tool_runs")?,
                deletions: u64::try_from(deletions).unwrap_or(u64::MAX),
                cost: row.usd("cost_usd")?,
            })
        };
        let rows = Row::all(&measured.cells);
        rows.map(done).collect::<Result<_, _>>().map(Self)
    }

    /// A panel for each thing that is compared; one for deletions where there were any.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        let mut panels = vec![self.counts(locale, "plot.tool_runs", |done| done.tool_runs)];
        if self.0.iter().any(|done| done.deletions > 0) {
            panels.push(self.counts(locale, "plot.deletions", |done| done.deletions));
        }
        panels.push(self.costs(locale));
        Bars {
            heading: self.0.first().and_then(|done| done.name.heading(locale)),
            names: self.0.iter().map(|done| done.name.say(locale)).collect(),
            panels,
        }
    }

    fn counts(&self, locale: &Locale, title: &str, of: fn(&Done) -> u64) -> Panel {
        let bar = |done: &Done| bar(size(of(done)), super::count(locale, of(done)));
        Panel {
            axis: Axis {
                title: locale.text(title, &[]),
                most: self.0.iter().map(of).max().map_or(0.0, size),
                whole: true,
            },
            bars: self.0.iter().map(bar).collect(),
        }
    }

    fn costs(&self, locale: &Locale) -> Panel {
        let bar = |done: &Done| bar(dollars(done.cost), locale.ltr(&locale.usd(done.cost)));
        let most = self.0.iter().map(|done| done.cost).max();
        Panel {
            axis: Axis {
                title: locale.text("plot.cost", &[]),
                most: most.map_or(0.0, dollars),
                whole: false,
            },
            bars: self.0.iter().map(bar).collect(),
        }
    }
}

fn bar(to: f64, label: String) -> Bar {
    let (from, fill) = (0.0, Fill::Strong);
    Bar {
        pieces: vec![Piece { from, to, fill }],
        label: vec![label],
        ..Bar::default()
    }
}
