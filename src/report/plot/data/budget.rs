//! What runs with a budget cost: turn after turn, and the part of the last one that is over it.

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece, Tick, TickKind};
use super::super::rows::{dollars, runs};
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::money::PicoUsd;
use crate::report::locale::Locale;

/// Every run with its budget.
#[derive(Debug)]
pub(in super::super) struct Budgets(Vec<Budget>);

#[derive(Debug, PartialEq, Eq)]
struct Budget {
    limit: PicoUsd,
    cost: PicoUsd,
    overshoot: PicoUsd,
    /// What it had cost after each turn.
    after_turns: Vec<PicoUsd>,
}

impl Budgets {
    /// Reads budgets, costs and overshoots of the cells, and the running cost of their turns.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let budget = |run: super::super::rows::Run<'_>| {
            let costs = run.turns.iter().map(|turn| turn.usd("cost_usd"));
            Ok(Budget {
                limit: run.cell.usd("max_budget_usd")?,
                cost: run.cell.usd("cost_usd")?,
                overshoot: run.cell.usd("budget_overshoot_usd")?,
                after_turns: costs.collect::<Result<_, PlotError>>()?,
            })
        };
        let runs = runs(experiment, measured)?;
        runs.into_iter()
            .map(budget)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// A bar for each budget.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        let longest = self.0.iter().map(|one| one.cost).max();
        let mut noted = false;
        let bars = self.0.iter().map(|one| {
            // Both words stand where there is most room for them, once.
            let is_noted = Some(one.cost) == longest && !noted;
            noted |= is_noted;
            one.bar(locale, is_noted)
        });
        Bars {
            heading: Some(locale.text("plot.budget", &[])),
            names: self.0.iter().map(|one| locale.usd(one.limit)).collect(),
            panels: vec![Panel {
                bars: bars.collect(),
                axis: Axis {
                    title: locale.text("plot.cost", &[]),
                    most: longest.map_or(0.0, dollars),
                    whole: false,
                },
            }],
        }
    }
}

impl Budget {
    fn bar(&self, locale: &Locale, is_noted: bool) -> Bar {
        let limit = dollars(self.limit);
        let mut pieces = Vec::new();
        let mut from = 0.0;
        for to in self.after_turns.iter().map(|cost| dollars(*cost)) {
            // The turn that crosses the budget is within it before, and over it behind.
            let within = to.min(limit);
            if within > from {
                let fill = Fill::Strong;
                pieces.push(Piece {
                    from,
                    to: within,
                    fill,
                });
            }
            if to > limit {
                let (from, fill) = (from.max(limit), Fill::Hatched);
                pieces.push(Piece { from, to, fill });
            }
            from = to;
        }
        let turns = u64::try_from(self.after_turns.len()).unwrap_or(u64::MAX);
        let overshoot = locale.text("plot.overshoot", &[]);
        Bar {
            pieces,
            ticks: vec![Tick {
                at: limit,
                kind: TickKind::Limit,
            }],
            label: vec![
                locale.ltr(&locale.usd(self.cost)),
                format!("{overshoot} {}", locale.ltr(&locale.usd(self.overshoot))),
                locale.counted("plot.n_turns", turns, &[]),
            ],
            notes: if is_noted {
                vec![(limit, locale.text("plot.budget", &[]))]
            } else {
                Vec::new()
            },
        }
    }
}
