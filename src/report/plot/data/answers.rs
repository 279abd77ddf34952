//! What each run cost, and whether it brought an answer.

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece};
use super::super::rows::{Row, dollars};
use super::Named;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::money::PicoUsd;
use crate::report::locale::Locale;

/// Every run with what came of it.
#[derive(Debug)]
pub(in super::super) struct Answers(Vec<Answer>);

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    name: Named,
    cost: PicoUsd,
    /// What the agent said.
    said: Option<String>,
    /// Whether that answers the question.
    is_right: bool,
}

impl Answers {
    /// Reads `cost_usd`, `answer` and `right` of the cells.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let answer = |row: Row<'_>| {
            let said = row.words("answer")?;
            Ok(Answer {
                name: Named::of(experiment, &row)?,
                cost: row.usd("cost_usd")?,
                is_right: row.words("right")? == "yes",
                said: (!said.is_empty()).then_some(said),
            })
        };
        let rows = Row::all(&measured.cells);
        rows.map(answer).collect::<Result<_, _>>().map(Self)
    }

    /// A bar for each run.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        let most = self.0.iter().map(|one| one.cost).max();
        Bars {
            heading: self.0.first().and_then(|one| one.name.heading(locale)),
            names: self.0.iter().map(|one| one.name.say(locale)).collect(),
            panels: vec![Panel {
                bars: self.0.iter().map(|one| one.bar(locale)).collect(),
                axis: Axis {
                    title: locale.text("plot.cost", &[]),
                    most: most.map_or(0.0, dollars),
                    whole: false,
                },
            }],
        }
    }
}

impl Answer {
    fn bar(&self, locale: &Locale) -> Bar {
        let (fill, verdict) = if self.is_right {
            (Fill::Strong, "plot.answered")
        } else {
            (Fill::Pale, "plot.unanswered")
        };
        let mut label = vec![
            locale.ltr(&locale.usd(self.cost)),
            locale.text(verdict, &[]),
        ];
        let said = self.said.as_ref();
        label.extend(said.map(|said| locale.ltr(&format!("“{said}”"))));
        Bar {
            pieces: vec![Piece {
                from: 0.0,
                to: dollars(self.cost),
                fill,
            }],
            label,
            ..Bar::default()
        }
    }
}
