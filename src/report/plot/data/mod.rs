//! What each plot is made of: rows are read into a few values, and those are put into words.

mod answers;
mod budget;
mod input_bill;
mod latency;
mod prompt_tokens;
mod tails;
mod timeline;
mod tool_runs;

use answers::Answers;
use budget::Budgets;
use input_bill::InputBill;
use latency::Latency;
use prompt_tokens::PromptTokens;
use tails::Tails;
use timeline::Timeline;
use tool_runs::ToolRuns;

use super::PlotError;
use super::picture::{Body, Picture};
use super::rows::Row;
use crate::experiment::{Experiment, PlotKind};
use crate::lab::{Measured, clocked};
use crate::report::locale::Locale;
use crate::results::{Cell, Clocked, Figure, Kind, Sign};

/// The values of one plot.
#[derive(Debug)]
pub(super) enum Data {
    InputBill(InputBill),
    Budget(Budgets),
    Answers(Answers),
    ToolRuns(ToolRuns),
    Latency(Latency),
    Timeline(Timeline),
    PromptTokens(PromptTokens),
    Tails(Tails),
}

impl Data {
    /// Reads what a plot of that kind is made of.
    pub(super) fn of(
        kind: PlotKind,
        experiment: &Experiment,
        measured: &Measured,
    ) -> Result<Self, PlotError> {
        Ok(match kind {
            PlotKind::InputBill => Self::InputBill(InputBill::of(measured)?),
            PlotKind::Budget => Self::Budget(Budgets::of(experiment, measured)?),
            PlotKind::Answers => Self::Answers(Answers::of(experiment, measured)?),
            PlotKind::ToolRuns => Self::ToolRuns(ToolRuns::of(experiment, measured)?),
            PlotKind::Latency => Self::Latency(Latency::of(experiment, measured)?),
            PlotKind::Timeline => Self::Timeline(Timeline::of(experiment, measured)?),
            PlotKind::Tails => Self::Tails(Tails::of(experiment, measured)?),
            PlotKind::PromptTokens => Self::PromptTokens(PromptTokens::of(measured)?),
        })
    }

    /// What the plot shows, in a language.
    pub(super) fn picture(&self, (locale, experiment): (&Locale, &Experiment)) -> Picture {
        let body = match self {
            Self::InputBill(bill) => Body::Plane(bill.plane(locale)),
            Self::Budget(budgets) => Body::Bars(budgets.bars(locale)),
            Self::Answers(answers) => Body::Bars(answers.bars(locale)),
            Self::ToolRuns(runs) => Body::Bars(runs.bars(locale)),
            Self::Latency(latency) => Body::Plane(latency.plane(locale)),
            Self::Timeline(timeline) => Body::Bars(timeline.bars(locale)),
            Self::Tails(tails) => Body::Bars(tails.bars(locale)),
            Self::PromptTokens(tokens) => Body::Bars(tokens.bars(locale)),
        };
        let made = match clocked(experiment) {
            Clocked::Virtual => "table.clock_virtual",
            Clocked::Real => "table.clock_real",
        };
        Picture {
            title: locale.plot_title(experiment),
            body,
            made: locale.text(made, &[]),
        }
    }
}

/// The values of the label columns of one row, by which a reader knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named(Vec<(String, Kind, Cell)>);

impl Named {
    /// What the cell of this row is called after.
    fn of(experiment: &Experiment, row: &Row<'_>) -> Result<Self, PlotError> {
        let labels = experiment.sweep().labels().into_iter();
        let named = labels.map(|(column, kind)| {
            let cell = row.cell(column)?.clone();
            Ok((column.to_owned(), kind, cell))
        });
        named.collect::<Result<_, PlotError>>().map(Self)
    }

    /// The name in a language: values in words where it has some.
    fn say(&self, locale: &Locale) -> String {
        let words = self.0.iter().map(|(column, kind, cell)| {
            let figure = Figure::of(cell, *kind, Sign::Amount);
            match &figure {
                Figure::Words(words) => locale.value(column, words).text().to_owned(),
                _ => locale.figure(&figure),
            }
        });
        words.collect::<Vec<_>>().join(" · ")
    }

    /// The heading over such names; cases are named by themselves.
    fn heading(&self, locale: &Locale) -> Option<String> {
        let columns = self.0.iter().map(|(column, _, _)| column.as_str());
        let columns = columns.filter(|column| *column != "case");
        let headings: Vec<String> = columns.map(|column| locale.column(column)).collect();
        (!headings.is_empty()).then(|| headings.join(" · "))
    }
}

/// A whole number on a canvas's scale and in a language.
fn count(locale: &Locale, number: u64) -> String {
    locale.ltr(&locale.count(number))
}
