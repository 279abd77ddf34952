//! What repeated samples are summed up in, as a file asks for it.

use super::Experiment;
use super::format;
use crate::document::Findings;
use crate::results::summary::{N, SummarySpec};
use crate::results::{Column, Kind, RowSet, RowsError};

/// Reads what the file sums up; columns that the cells will not have go into `findings`, and are
/// left out.
pub(super) fn read(
    findings: &mut Findings<'_>,
    summary: &format::Summary,
    experiment: &Experiment,
) -> SummarySpec {
    let labels = experiment.sweep().labels().into_iter();
    let mut spec = SummarySpec {
        labels: labels.map(|(name, _)| name.to_owned()).collect(),
        ..SummarySpec::default()
    };
    let Ok(cells) = RowSet::new(experiment.cell_columns()) else {
        // Reported by whoever reads the table.
        return spec;
    };
    spec.columns = known(findings, "/summary/columns", &summary.columns, &cells);
    spec.same = known(findings, "/summary/same", &summary.same, &cells);
    if let Err(error) = spec.header(&cells) {
        let help = "name each column once, and `n` and the labels not at all";
        findings.add("/summary", &error.to_string(), help);
    }
    spec
}

/// The columns of a summary; without one, labels are all there is.
pub(super) fn header(spec: Option<&SummarySpec>, cells: &RowSet) -> Result<RowSet, RowsError> {
    let header = spec.and_then(|spec| spec.header(cells).ok());
    header.map_or_else(|| RowSet::new(vec![Column::new(N, Kind::Count)]), Ok)
}

fn known(
    findings: &mut Findings<'_>,
    pointer: &str,
    columns: &[String],
    cells: &RowSet,
) -> Vec<String> {
    let mut known = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        match cells.index_of(column) {
            Ok(_) => known.push(column.clone()),
            Err(unknown) => {
                let message = format!("no column `{column}`");
                let place = format!("{pointer}/{index}");
                findings.add(&place, &message, &super::readout::help_of(&unknown));
            }
        }
    }
    known
}
