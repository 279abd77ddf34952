//! A bar for each row: one column, named by what tells the rows apart.

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece};
use super::super::rows::value;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::report::locale::Locale;
use crate::results::{Cell, Figure, Kind, Sign};

/// The values, each with what its row is called after.
#[derive(Debug)]
pub(in super::super) struct PlainBars {
    y: String,
    kind: Kind,
    /// The columns that rows are called after, those left out that are the same in all.
    names: Vec<String>,
    rows: Vec<(Vec<Cell>, Cell)>,
}

impl PlainBars {
    /// Reads the column that the plot names.
    pub(super) fn of(experiment: &Experiment, measured: &Measured) -> Result<Self, PlotError> {
        let chosen = super::chosen(experiment)?;
        let rows = super::rows_of(chosen, measured);
        let y = rows.index_of(&chosen.y)?;
        let labels = experiment.sweep().labels().into_iter();
        let mut names: Vec<(String, usize)> = labels
            .map(|(name, _)| Ok((name.to_owned(), rows.index_of(name)?)))
            .collect::<Result<_, PlotError>>()?;
        let picked = chosen.filter.pick(rows)?;
        let varies = |at: usize| picked.iter().any(|row| row.get(at) != picked[0].get(at));
        names.retain(|(_, at)| varies(*at));
        let cell = |row: &[Cell], at: usize| row.get(at).cloned().unwrap_or(Cell::Missing);
        let bars = picked.iter().map(|row| {
            let name = names.iter().map(|(_, at)| cell(row, *at)).collect();
            (name, cell(row, y))
        });
        let kind = rows
            .columns()
            .get(y)
            .map_or(Kind::Text, |column| column.kind);
        Ok(Self {
            y: chosen.y.clone(),
            kind,
            rows: bars.collect(),
            names: names.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// A bar for each row.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        let name = |cells: &Vec<Cell>| {
            let words = self.names.iter().zip(cells);
            let words = words.map(|(column, cell)| super::name_of(locale, column, cell));
            words.collect::<Vec<_>>().join(" · ")
        };
        let size = |cell: &Cell| cell.to_decimal().map_or(0.0, value);
        let bars = self.rows.iter().map(|(_, cell)| Bar {
            pieces: vec![Piece {
                from: 0.0,
                to: size(cell),
                fill: Fill::Strong,
            }],
            label: vec![locale.ltr(&locale.figure(&Figure::of(cell, self.kind, Sign::Amount)))],
            ..Bar::default()
        });
        let headings = self.names.iter().filter(|column| *column != "case");
        let headings: Vec<String> = headings.map(|column| locale.column(column)).collect();
        Bars {
            heading: (!headings.is_empty()).then(|| headings.join(" · ")),
            names: self.rows.iter().map(|(cells, _)| name(cells)).collect(),
            panels: vec![Panel {
                axis: Axis {
                    title: super::axis_title(locale, &self.y),
                    most: self
                        .rows
                        .iter()
                        .map(|(_, cell)| size(cell))
                        .fold(0.0, f64::max),
                    whole: matches!(self.kind, Kind::Count | Kind::Tokens),
                },
                bars: bars.collect(),
            }],
        }
    }
}
