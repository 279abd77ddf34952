//! What is read from an experiment's rows: a table, a fit, claims; each checked against the
//! columns that the experiment will have, before a cell is run.

use std::collections::BTreeSet;

use super::Experiment;
use super::claims;
use super::doubt::possible_columns;
use super::format::{self, Comparison, ExperimentFile, PlotKind, RowKind, Scalar, Where};
use super::input::written_number;
use super::labels::Labels;
use super::summary;
use crate::document::{Findings, child};
use crate::results::claims::Claim;
use crate::results::fit::{Fit, NoFit};
use crate::results::summary::SummarySpec;
use crate::results::{
    Cell, Column, Condition, Filter, RowSet, RowsError, Show, Table, TableColumn, TableError,
    TableSpec, UnknownColumn,
};

/// What is read from an experiment's rows.
#[derive(Clone, Debug, Default)]
pub struct Readout {
    /// The table that a reader sees, and the rows that it is made of.
    pub table: Option<(TableSpec, RowKind)>,
    /// What repeated samples are summed up in.
    pub summary: Option<SummarySpec>,
    /// The parabola.
    pub fit: Option<FitSpec>,
    /// The picture that a reader sees.
    pub plot: Option<PlotSpec>,
    /// The published numbers.
    pub claims: Vec<Claim>,
}

/// A parabola through the cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitSpec {
    /// The column that is N.
    pub x: String,
    /// The column that is explained.
    pub y: String,
    /// The column whose values get a parabola each; none for one through all cells.
    pub by: Option<String>,
}

impl FitSpec {
    /// The parabola of each group, with the value that the group has in common.
    #[must_use]
    pub fn fits(&self, cells: &RowSet) -> Vec<(Option<Cell>, Result<Fit, NoFit>)> {
        let Some(by) = &self.by else {
            return vec![(None, Fit::of_columns(cells, &self.x, &self.y))];
        };
        let groups = match Fit::of_groups(cells, (&self.x, &self.y), by) {
            Ok(groups) => groups,
            Err(error) => return vec![(None, Err(error.into()))],
        };
        let groups = groups.into_iter();
        groups.map(|(value, fit)| (Some(value), fit)).collect()
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotSpec {
    /// What it shows.
    pub kind: PlotKind,
    /// What stands above it.
    pub title: String,
    /// The columns of `lines` and `bars`; the other kinds have their own.
    pub chosen: ChosenColumns,
}

/// What lines and bars are drawn of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenColumns {
    /// Along the horizontal axis.
    pub x: String,
    /// What is shown.
    pub y: String,
    /// The column whose values get a line each.
    pub by: Option<String>,
    /// Which rows.
    pub filter: Filter,
    /// Whether they are rows of turns.
    pub of_turns: bool,
}

/// Reads what the file wants from the rows; what is wrong with that goes into `findings`.
pub(super) fn read(
    findings: &mut Findings<'_>,
    file: &ExperimentFile,
    experiment: &Experiment,
) -> Readout {
    let summary = file.summary.as_ref();
    let summary = summary.map(|summary| summary::read(findings, summary, experiment));
    let known = match Known::of(findings, file, (experiment, summary.as_ref())) {
        Ok(known) => known,
        Err(error) => {
            let help = "rename what the columns are called after";
            findings.add("", &error.to_string(), help);
            return Readout::default();
        }
    };
    let mut reader = Reader {
        findings,
        known: &known,
    };
    let table = file.table.as_ref();
    Readout {
        summary,
        table: table.map(|table| (reader.table(table), table.rows)),
        fit: file.fit.as_ref().map(|fit| reader.fit(fit)),
        plot: file
            .plot
            .as_ref()
            .map(|plot| reader.plot(plot, &file.title)),
        claims: claims::read(&mut reader, &file.claim, experiment),
    }
}

/// What is known of the rows before there are any.
pub(super) struct Known {
    cells: RowSet,
    turns: RowSet,
    summary: RowSet,
    summary_is_in_doubt: bool,
    labels: Labels,
    /// What may be meant to be a column where the file is in doubt.
    possible: BTreeSet<String>,
}

impl Known {
    fn of(
        findings: &Findings<'_>,
        file: &ExperimentFile,
        (experiment, summary): (&Experiment, Option<&SummarySpec>),
    ) -> Result<Self, RowsError> {
        let sweep = experiment.sweep();
        let cells = RowSet::new(each_once(experiment.cell_columns()))?;
        Ok(Self {
            summary: summary::header(summary, &cells)?,
            summary_is_in_doubt: !findings.is_sound("/summary"),
            cells,
            turns: RowSet::new(each_once(experiment.turn_columns()))?,
            labels: Labels::of(findings, experiment)?,
            possible: possible_columns(findings, file, sweep),
        })
    }

    fn columns(&self, rows: RowKind) -> &RowSet {
        match rows {
            RowKind::Cells => &self.cells,
            RowKind::Turns => &self.turns,
            RowKind::Summary => &self.summary,
        }
    }

    /// The column that there is not and cannot be meant to be.
    fn missing(&self, column: &str, rows: RowKind) -> Option<UnknownColumn> {
        if rows == RowKind::Summary && self.summary_is_in_doubt {
            return None;
        }
        let unknown = self.columns(rows).index_of(column).err()?;
        (!self.possible.contains(column)).then_some(unknown)
    }
}

/// The columns without those whose setting is swept twice, which was reported.
fn each_once(mut columns: Vec<Column>) -> Vec<Column> {
    let mut seen = BTreeSet::new();
    columns.retain(|column| seen.insert(column.name.clone()));
    columns
}

/// Reads parts of one file.
pub(super) struct Reader<'r, 'd> {
    pub(super) findings: &'r mut Findings<'d>,
    known: &'r Known,
}

/// How many rows must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matches {
    Any,
    Some,
    One,
}

impl Reader<'_, '_> {
    fn table(&mut self, table: &format::Table) -> TableSpec {
        let mut columns = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            self.column(&format!("/table/columns/{index}"), column, table.rows);
            let heading = table.headings.get(column).unwrap_or(column).clone();
            columns.push(TableColumn {
                column: column.clone(),
                heading,
                show: Show::Value,
            });
        }
        self.headings(table);
        for (index, compared) in table.compared.iter().enumerate() {
            let pointer = format!("/table/compared/{index}/column");
            self.column(&pointer, &compared.column, table.rows);
            columns.push(TableColumn {
                column: compared.column.clone(),
                heading: compared.heading.clone(),
                show: show(compared.show),
            });
        }
        let filter = self.filter("/table/where", &table.filter, table.rows, Matches::Some);
        let spec = TableSpec {
            caption: table.caption.clone(),
            columns,
            filter,
        };
        self.table_of_columns(&spec, table.rows);
        spec
    }

    fn headings(&mut self, table: &format::Table) {
        if !self.findings.is_sound("/table/columns") {
            return;
        }
        let shown = |column: &&String| table.columns.contains(column);
        for column in table.headings.keys().filter(|column| !shown(column)) {
            let message = format!("a heading of `{column}`, which the table does not show");
            let pointer = child("/table/headings", column);
            self.findings
                .add_to_key(&pointer, &message, "add it to `columns`, or leave it out");
        }
    }

    /// Reports columns of which no table can be made; those that do not exist were reported.
    fn table_of_columns(&mut self, spec: &TableSpec, rows: RowKind) {
        let columns = self.known.columns(rows);
        let mut spec = TableSpec {
            filter: Filter::default(),
            ..spec.clone()
        };
        spec.columns
            .retain(|shown| columns.index_of(&shown.column).is_ok());
        while let Err(error) = Table::build(&spec, columns) {
            self.findings
                .add("/table/columns", &error.to_string(), "change the columns");
            let TableError::NotANumber(text) = error else {
                break;
            };
            spec.columns
                .retain(|shown| shown.column != text || shown.show == Show::Value);
        }
    }

    fn fit(&mut self, fit: &format::Fit) -> FitSpec {
        self.column("/fit/x", &fit.x, RowKind::Cells);
        self.column("/fit/y", &fit.y, RowKind::Cells);
        if let Some(by) = &fit.by {
            self.column("/fit/by", by, RowKind::Cells);
        }
        FitSpec {
            x: fit.x.clone(),
            y: fit.y.clone(),
            by: fit.by.clone(),
        }
    }

    fn plot(&mut self, plot: &format::Plot, title: &str) -> PlotSpec {
        let (cells, turns) = columns_of(plot.kind);
        for (columns, rows) in [(cells, RowKind::Cells), (turns, RowKind::Turns)] {
            for column in columns {
                if let Some(unknown) = self.known.missing(column, rows) {
                    let message = format!("a plot of the column `{column}`, which there is not");
                    let help = setting_of(column).map_or_else(
                        || help_of(&unknown),
                        |setting| format!("set `{setting}`, or choose another `kind`"),
                    );
                    self.findings.add("/plot/kind", &message, &help);
                }
            }
        }
        PlotSpec {
            kind: plot.kind,
            title: plot.title.as_deref().unwrap_or(title).to_owned(),
            chosen: self.chosen(plot),
        }
    }

    /// The columns of a plot that has none of its own.
    fn chosen(&mut self, plot: &format::Plot) -> ChosenColumns {
        let needed: &[(&str, &Option<String>)] = match plot.kind {
            PlotKind::Lines => &[("x", &plot.x), ("y", &plot.y)],
            PlotKind::Bars => &[("y", &plot.y)],
            _ => &[],
        };
        for (key, column) in needed {
            if column.is_none() {
                let message = format!("a plot without `{key}`");
                let help = format!("name a column of the rows as `{key}`");
                self.findings.add("/plot/kind", &message, &help);
            }
        }
        let all = [("x", &plot.x), ("y", &plot.y), ("by", &plot.by)];
        for (key, column) in all {
            if let Some(column) = column {
                self.column(&format!("/plot/{key}"), column, plot.rows);
            }
        }
        ChosenColumns {
            x: plot.x.clone().unwrap_or_default(),
            y: plot.y.clone().unwrap_or_default(),
            by: plot.by.clone(),
            filter: self.filter("/plot/where", &plot.filter, plot.rows, Matches::Some),
            of_turns: plot.rows == RowKind::Turns,
        }
    }

    /// Reports a column that the rows will not have.
    pub(super) fn column(&mut self, pointer: &str, column: &str, rows: RowKind) {
        if let Some(unknown) = self.known.missing(column, rows) {
            let (message, help) = (format!("no column `{column}`"), help_of(&unknown));
            self.findings.add(pointer, &message, &help);
        }
    }

    /// Reads conditions, and reports a column that does not exist and labels that no cell has.
    pub(super) fn filter(
        &mut self,
        pointer: &str,
        conditions: &Where,
        rows: RowKind,
        wanted: Matches,
    ) -> Filter {
        let mut all = Vec::new();
        let mut certain = Vec::new();
        for (column, value) in conditions {
            let place = child(pointer, column);
            if let Some(unknown) = self.known.missing(column, rows) {
                let message = format!("no column `{column}`");
                self.findings
                    .add_to_key(&place, &message, &help_of(&unknown));
            }
            let condition = Condition::new(column, self.text_of(&place, value));
            if self.findings.is_certain(&place) {
                certain.push(condition.clone());
            }
            all.push(condition);
        }
        if wanted != Matches::Any {
            let is_one = wanted == Matches::One && rows != RowKind::Turns;
            let is_whole = certain.len() == all.len();
            let found = self.known.labels.mismatches(certain, is_one && is_whole);
            for (message, help) in found {
                self.findings.add(pointer, &message, help);
            }
        }
        Filter(all)
    }

    /// A condition's value as it is written; the rows compare numbers by value.
    fn text_of(&self, pointer: &str, value: &Scalar) -> String {
        match &value.0 {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => written_number(self.findings.document(), pointer)
                .unwrap_or_else(|| number.to_string()),
            other => other.to_string(),
        }
    }
}

/// The setting without which a column that is drawn is left out.
fn setting_of(column: &str) -> Option<&'static str> {
    match column {
        "max_budget_usd" | "budget_overshoot_usd" => Some("max_budget_usd"),
        "right" => Some("expected_answer"),
        "deleted" => Some("dedupe"),
        "latency_ms" => Some("latency_ms"),
        "p50_wall_ms" | "p95_wall_ms" | "p99_wall_ms" => Some("samples"),
        "progress_ms_list" => Some("stop_at_ms"),
        _ => None,
    }
}

/// The columns of cells and of turns that a picture is made of.
const fn columns_of(kind: PlotKind) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        PlotKind::InputBill => (&["turns", "prompt_tokens"], &["prompt_tokens"]),
        PlotKind::Budget => (
            &["max_budget_usd", "cost_usd", "budget_overshoot_usd"],
            &["cost_usd"],
        ),
        PlotKind::Answers => (&["cost_usd", "answer", "right"], &[]),
        PlotKind::ToolRuns => (&["tool_runs", "deleted", "cost_usd"], &[]),
        PlotKind::Latency => (&["latency_ms", "turns", "wall_ms"], &[]),
        PlotKind::Timeline => (
            &["tool_runs", "wall_ms", "status", "progress_ms_list"],
            &["provider_ms"],
        ),
        PlotKind::Tails => (&["p50_wall_ms", "p95_wall_ms", "p99_wall_ms"], &[]),
        PlotKind::PromptTokens => (&[], &["turn", "prompt_tokens"]),
        PlotKind::Lines | PlotKind::Bars => (&[], &[]),
    }
}

pub(super) fn help_of(unknown: &UnknownColumn) -> String {
    match &unknown.suggestion {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the columns are {}", unknown.existing.join(", ")),
    }
}

const fn show(comparison: Comparison) -> Show {
    match comparison {
        Comparison::TimesFirst => Show::TimesFirst,
        Comparison::PercentOverFirst => Show::PercentOverFirst,
        Comparison::MoreThanFirst => Show::MoreThanFirst,
        Comparison::ShareOfTotal => Show::ShareOfTotal,
    }
}
