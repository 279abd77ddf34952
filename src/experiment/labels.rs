//! The labels of cells, known before a cell is run, and the conditions that none of them meets.

use super::Experiment;
use super::sweep::{Shape, Sweep, printed};
use crate::document::Findings;
use crate::results::{Column, Condition, Filter, RowSet, RowsError};

/// The most cells whose labels are compared with the conditions of claims before a run.
const MOST_LABELLED: u64 = 10_000;

/// The labels that cells are certain to have.
#[derive(Default)]
pub(super) struct Labels {
    /// Of all cells, where no label is in doubt and there are not too many.
    cells: Option<RowSet>,
    /// Of one axis each, where other axes are in doubt.
    axes: Vec<RowSet>,
}

impl Labels {
    pub(super) fn of(findings: &Findings<'_>, experiment: &Experiment) -> Result<Self, RowsError> {
        let sweep = experiment.sweep();
        let is_large = sweep.len() > MOST_LABELLED || experiment.repeat > 1;
        if is_large || sweep.labels().is_empty() {
            return Ok(Self::default());
        }
        let mut places = ["/axis", "/case", "/combine"].iter();
        if places.all(|place| findings.is_sound(place)) {
            return Ok(Self {
                cells: Some(of_cells(sweep)?),
                axes: Vec::new(),
            });
        }
        Ok(Self {
            cells: None,
            axes: of_sound_axes(findings, sweep)?,
        })
    }

    /// What is wrong with conditions that some cell, or just `one`, is to meet: messages, and
    /// what to do.
    pub(super) fn mismatches(
        &self,
        conditions: Vec<Condition>,
        one: bool,
    ) -> Vec<(String, &'static str)> {
        let count = conditions.len();
        let name_others = "name values that cells have";
        let mut on_labels = Filter::default();
        let mut found = Vec::new();
        for condition in conditions {
            let Some(rows) = self.rows_with(&condition.column) else {
                continue;
            };
            if let Err(error) = Filter(vec![condition.clone()]).pick_some(rows) {
                found.push((error.to_string(), name_others));
            }
            on_labels.0.push(condition);
        }
        let Some(cells) = self.cells.as_ref().filter(|_| found.is_empty()) else {
            return found;
        };
        match on_labels.pick_some(cells) {
            Err(error) => found.push((error.to_string(), name_others)),
            Ok(met) if one && met.len() > 1 && on_labels.0.len() == count => {
                let message = format!("{} cells match where one is meant", met.len());
                found.push((message, "add a condition to `where`"));
            }
            Ok(_) => {}
        }
        found
    }

    fn rows_with(&self, label: &str) -> Option<&RowSet> {
        let mut all = self.cells.iter().chain(&self.axes);
        all.find(|rows| rows.index_of(label).is_ok())
    }
}

fn of_cells(sweep: &Sweep) -> Result<RowSet, RowsError> {
    let columns = sweep.labels().into_iter();
    let columns = columns.map(|(name, kind)| Column::new(name, kind));
    let mut labels = RowSet::new(columns.collect())?;
    for row in (0..sweep.len()).filter_map(|index| sweep.labels_at(index)) {
        labels.push(row)?;
    }
    Ok(labels)
}

/// The labels of the axes of which nothing is wrong, nor of another of their setting.
fn of_sound_axes(findings: &Findings<'_>, sweep: &Sweep) -> Result<Vec<RowSet>, RowsError> {
    let (Shape::Product(axes) | Shape::Zip(axes)) = sweep.shape() else {
        return Ok(Vec::new());
    };
    if !findings.are_certain("", &["axis", "case"]) {
        return Ok(Vec::new());
    }
    let is_sound = |setting: &str| {
        let mut of_setting = axes.iter().enumerate();
        of_setting.all(|(index, axis)| {
            axis.setting != setting || findings.is_sound(&format!("/axis/{index}"))
        })
    };
    let sound = axes.iter().zip(sweep.labels());
    let sound = sound.filter(|(axis, _)| is_sound(&axis.setting));
    let labels = sound.map(|(axis, (name, kind))| {
        let mut labels = RowSet::new(vec![Column::new(name, kind)])?;
        for value in &axis.values {
            labels.push(vec![printed(name, value)])?;
        }
        Ok(labels)
    });
    labels.collect()
}
