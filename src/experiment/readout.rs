//! What is read from an experiment's rows: a table, a fit, claims; each checked against the
//! columns that the experiment will have, before a cell is run.

use super::Experiment;
use super::claims;
use super::format::{self, Comparison, ExperimentFile, RowKind, Scalar, Where};
use super::input::written_number;
use super::summary;
use crate::document::{Document, Findings, child};
use crate::results::claims::Claim;
use crate::results::summary::SummarySpec;
use crate::results::{
    Column, Condition, Filter, RowSet, RowsError, Show, Table, TableColumn, TableError, TableSpec,
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
}

/// The most cells whose labels are compared with the conditions of claims before a run.
const MOST_LABELLED: u64 = 10_000;

/// Reads what the file wants from the rows; what is wrong with that goes into `findings`.
pub(super) fn read(
    findings: &mut Findings<'_>,
    document: &Document,
    file: &ExperimentFile,
    experiment: &Experiment,
) -> Readout {
    let summary = file.summary.as_ref();
    let summary = summary.map(|summary| summary::read(findings, summary, experiment));
    let known = match Known::of(experiment, summary.as_ref()) {
        Ok(known) => known,
        Err(error) => {
            let help = "rename what the columns are called after";
            findings.add("", &error.to_string(), help);
            return Readout::default();
        }
    };
    let mut reader = Reader {
        findings,
        document,
        known: &known,
    };
    let table = file.table.as_ref();
    Readout {
        summary,
        table: table.map(|table| (reader.table(table), table.rows)),
        fit: file.fit.as_ref().map(|fit| reader.fit(fit)),
        claims: claims::read(&mut reader, &file.claim, experiment),
    }
}

/// What is known of the rows before there are any.
pub(super) struct Known {
    cells: RowSet,
    turns: RowSet,
    summary: RowSet,
    labels: Option<RowSet>,
}

impl Known {
    fn of(experiment: &Experiment, summary: Option<&SummarySpec>) -> Result<Self, RowsError> {
        let cells = RowSet::new(experiment.cell_columns())?;
        Ok(Self {
            summary: summary::header(summary, &cells)?,
            cells,
            turns: RowSet::new(experiment.turn_columns())?,
            labels: labels(experiment)?,
        })
    }

    fn columns(&self, rows: RowKind) -> &RowSet {
        match rows {
            RowKind::Cells => &self.cells,
            RowKind::Turns => &self.turns,
            RowKind::Summary => &self.summary,
        }
    }
}

/// The labels of all cells, where cells have labels and there are not too many of either.
fn labels(experiment: &Experiment) -> Result<Option<RowSet>, RowsError> {
    let sweep = experiment.sweep();
    let columns = sweep.labels().into_iter();
    let columns: Vec<Column> = columns
        .map(|(name, kind)| Column::new(name, kind))
        .collect();
    if columns.is_empty() || sweep.len() > MOST_LABELLED {
        return Ok(None);
    }
    let mut labels = RowSet::new(columns)?;
    for row in (0..sweep.len()).filter_map(|index| sweep.labels_at(index)) {
        labels.push(row)?;
    }
    Ok(Some(labels))
}

/// Reads parts of one file.
pub(super) struct Reader<'r, 'd> {
    pub(super) findings: &'r mut Findings<'d>,
    pub(super) document: &'r Document,
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
        for column in table
            .headings
            .keys()
            .filter(|column| !table.columns.contains(column))
        {
            let message = format!("a heading of `{column}`, which the table does not show");
            let pointer = child("/table/headings", column);
            self.findings
                .add_to_key(&pointer, &message, "add it to `columns`, or leave it out");
        }
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
        // A column that does not exist was reported where it stands.
        if let Err(error @ (TableError::NotANumber(_) | TableError::Rows(_))) =
            Table::build(&spec, self.known.columns(table.rows))
        {
            self.findings
                .add("/table/columns", &error.to_string(), "change the columns");
        }
        spec
    }

    fn fit(&mut self, fit: &format::Fit) -> FitSpec {
        self.column("/fit/x", &fit.x, RowKind::Cells);
        self.column("/fit/y", &fit.y, RowKind::Cells);
        FitSpec {
            x: fit.x.clone(),
            y: fit.y.clone(),
        }
    }

    /// Reports a column that the rows will not have.
    pub(super) fn column(&mut self, pointer: &str, column: &str, rows: RowKind) {
        if let Err(unknown) = self.known.columns(rows).index_of(column) {
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
        for (column, value) in conditions {
            let place = child(pointer, column);
            if let Err(unknown) = self.known.columns(rows).index_of(column) {
                let message = format!("no column `{column}`");
                self.findings
                    .add_to_key(&place, &message, &help_of(&unknown));
            }
            all.push(Condition::new(column, self.text_of(&place, value)));
        }
        let filter = Filter(all);
        self.matching(pointer, &filter, rows, wanted);
        filter
    }

    /// Compares the conditions on labels with the labels of all cells.
    fn matching(&mut self, pointer: &str, filter: &Filter, rows: RowKind, wanted: Matches) {
        let Some(labels) = self
            .known
            .labels
            .as_ref()
            .filter(|_| wanted != Matches::Any)
        else {
            return;
        };
        let is_label = |condition: &&Condition| labels.index_of(&condition.column).is_ok();
        let on_labels = Filter(filter.0.iter().filter(is_label).cloned().collect());
        let all_known = on_labels.0.len() == filter.0.len();
        match on_labels.pick_some(labels) {
            Err(error) => {
                self.findings
                    .add(pointer, &error.to_string(), "name values that cells have");
            }
            Ok(found) if wanted == Matches::One && rows != RowKind::Turns && all_known => {
                if found.len() > 1 {
                    let message = format!("{} cells match where one is meant", found.len());
                    self.findings
                        .add(pointer, &message, "add a condition to `where`");
                }
            }
            Ok(_) => {}
        }
    }

    /// A condition's value as it is written; the rows compare numbers by value.
    fn text_of(&self, pointer: &str, value: &Scalar) -> String {
        match &value.0 {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => {
                written_number(self.document, pointer).unwrap_or_else(|| number.to_string())
            }
            other => other.to_string(),
        }
    }
}

pub(super) fn help_of(unknown: &crate::results::UnknownColumn) -> String {
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
