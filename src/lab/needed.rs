//! Which rows and columns an experiment's table, fit and claims are made of.

use crate::experiment::{Experiment, RowKind};
use crate::results::claims::{Claim, Computation, Pick, RowsRef};
use crate::results::{Filter, Wanted};

/// What is needed of both files of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Needed {
    pub(super) cells: Wanted,
    pub(super) turns: Wanted,
}

impl Needed {
    /// What `experiment` reads.
    pub(super) fn of(experiment: &Experiment) -> Self {
        let readout = experiment.readout();
        let mut needed = Self::default();
        if let Some(summary) = &readout.summary {
            let columns = [&summary.labels, &summary.same, &summary.columns];
            let columns = columns.into_iter().flatten().map(String::as_str);
            needed.cells.add(columns, &Filter::default());
        }
        if let Some(fit) = &readout.fit {
            let columns = [fit.x.as_str(), fit.y.as_str()].into_iter();
            let columns = columns.chain(fit.by.as_deref());
            needed.cells.add(columns, &Filter::default());
        }
        if let Some((table, kind)) = &readout.table {
            let columns = table.columns.iter().map(|column| column.column.as_str());
            match kind {
                RowKind::Cells => needed.cells.add(columns, &table.filter),
                RowKind::Turns => needed.turns.add(columns, &table.filter),
                RowKind::Summary => {}
            }
        }
        for claim in &readout.claims {
            needed.claim(claim);
        }
        needed
    }

    fn claim(&mut self, claim: &Claim) {
        match &claim.computed {
            Computation::Cell(pick)
            | Computation::Cells(pick)
            | Computation::CountDistinct(pick)
            | Computation::Sum(pick) => self.pick(pick),
            Computation::Fit { x, y, filter, .. } => {
                self.cells.add([x.as_str(), y.as_str()], filter);
            }
            Computation::Count { rows, filter } => self.rows(*rows, None, filter),
            Computation::Ratio { of: one, to: other }
            | Computation::Difference {
                of: one,
                less: other,
            }
            | Computation::PercentChange {
                from: one,
                to: other,
            } => {
                self.pick(one);
                self.pick(other);
            }
            Computation::Setting { .. } | Computation::External => {}
        }
    }

    fn pick(&mut self, pick: &Pick) {
        self.rows(pick.rows, Some(&pick.column), &pick.filter);
    }

    fn rows(&mut self, rows: RowsRef, column: Option<&str>, filter: &Filter) {
        match rows {
            RowsRef::Cells => self.cells.add(column, filter),
            RowsRef::Turns => self.turns.add(column, filter),
            RowsRef::Summary => {}
        }
    }
}
