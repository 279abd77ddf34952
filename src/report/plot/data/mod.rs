//! What each plot is made of: rows are read into a few values, and those are put into words.

mod answers;
mod bars;
mod budget;
mod input_bill;
mod latency;
mod lines;
mod prompt_tokens;
mod tails;
mod timeline;
mod tool_runs;

use answers::Answers;
use bars::PlainBars;
use budget::Budgets;
use input_bill::InputBill;
use latency::Latency;
use lines::Lines;
use prompt_tokens::PromptTokens;
use tails::Tails;
use timeline::Timeline;
use tool_runs::ToolRuns;

use super::PlotError;
use super::picture::{Body, Picture};
use super::rows::Row;
use crate::experiment::{ChosenColumns, Experiment, PlotKind};
use crate::lab::{Measured, clocked};
use crate::report::locale::Locale;
use crate::results::{Cell, Clocked, Figure, Kind, RowSet, Sign};

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
    Lines(Lines),
    Bars(PlainBars),
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
            PlotKind::Lines => Self::Lines(Lines::of(experiment, measured)?),
            PlotKind::Bars => Self::Bars(PlainBars::of(experiment, measured)?),
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
            Self::Lines(lines) => Body::Plane(lines.plane(locale)),
            Self::Bars(bars) => Body::Bars(bars.bars(locale)),
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
        let words = self.0.iter();
        let words = words.map(|(column, kind, cell)| say(locale, column, (cell, *kind)));
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

/// A value in a language: in words where it has some.
fn say(locale: &Locale, column: &str, (cell, kind): (&Cell, Kind)) -> String {
    let figure = Figure::of(cell, kind, Sign::Amount);
    match &figure {
        Figure::Words(words) => locale.value(column, words).text().to_owned(),
        _ => locale.figure(&figure),
    }
}

/// The value of a column that rows are told apart by, of which the kind does not matter.
fn name_of(locale: &Locale, column: &str, cell: &Cell) -> String {
    let kind = match cell {
        Cell::Text(_) | Cell::Flag(_) | Cell::Missing => Kind::Text,
        Cell::Usd(_) => Kind::Usd,
        Cell::Integer(_) | Cell::Decimal(_) => Kind::Count,
    };
    say(locale, column, (cell, kind))
}

/// What stands at an axis: a column's heading, and the unit where that is not in it.
fn axis_title(locale: &Locale, column: &str) -> String {
    match column {
        "cost_usd" => locale.text("plot.cost", &[]),
        _ if column.ends_with("_usd") => locale.ltr(&format!("{} ($)", locale.column(column))),
        _ => locale.column(column),
    }
}

/// The columns that the plot of an experiment names.
fn chosen(experiment: &Experiment) -> Result<&ChosenColumns, PlotError> {
    let plot = experiment.readout().plot.as_ref();
    let none = PlotError::Rows("no plot of columns of one's own");
    plot.map(|plot| &plot.chosen).ok_or(none)
}

/// The rows that they are columns of.
fn rows_of<'m>(chosen: &ChosenColumns, measured: &'m Measured) -> &'m RowSet {
    if chosen.of_turns {
        &measured.turns
    } else {
        &measured.cells
    }
}

/// A whole number on a canvas's scale and in a language.
fn count(locale: &Locale, number: u64) -> String {
    locale.ltr(&locale.count(number))
}
