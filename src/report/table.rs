//! An experiment's table in every language and format.

use crate::experiment::{Experiment, FitSpec};
use crate::lab::{LabError, Measured, clocked};
use crate::results::fit::{Fit, NoFit};
use crate::results::stats::NoStatistic;
use crate::results::summary::SummarySpec;
use crate::results::{Cell, RowSet, Shown, Table};

use super::locale::Locale;
use super::wording::TableWording;
use super::{csv, html, latex};

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// GitHub Markdown
    #[default]
    Markdown,
    /// A fragment of HTML: one `figure`
    Html,
    /// Values as the program reads them, under headings in the language
    Csv,
    /// A `table` of LaTeX with booktabs, for engines that read Unicode
    Latex,
}

impl Format {
    /// What the names of such files end in, without the point.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Latex => "tex",
        }
    }
}

/// A parabola, or why there is none, with the value that its cells have in common.
type GroupFit = (Option<Cell>, Result<Fit, NoFit>);

/// The table of an experiment, before anybody's language.
#[derive(Debug)]
pub struct ExperimentTable<'e> {
    experiment: &'e Experiment,
    table: Table,
    /// The rows of the table with computed values rounded.
    rows: RowSet,
    fits: Option<(&'e FitSpec, Vec<GroupFit>)>,
    /// For each number of samples that is too small for an interval, why; absent where samples
    /// are not summed up.
    too_few: Option<Vec<NoStatistic>>,
}

impl<'e> ExperimentTable<'e> {
    /// The table that `experiment` asks for, made from its rows; none if it asks for none.
    ///
    /// # Errors
    /// [`LabError::Table`] where it cannot be made of them.
    pub fn of(experiment: &'e Experiment, measured: &Measured) -> Result<Option<Self>, LabError> {
        let readout = experiment.readout();
        let Some((spec, kind)) = &readout.table else {
            return Ok(None);
        };
        let summary = measured.summary(experiment)?;
        let table = Table::build(spec, measured.rows(*kind, summary.as_ref()))?;
        let fits = readout.fit.as_ref();
        let fits = fits.map(|spec| (spec, spec.fits(&measured.cells)));
        Ok(Some(Self {
            experiment,
            rows: table.to_rows()?,
            table,
            fits,
            too_few: summary.as_ref().map(SummarySpec::too_few),
        }))
    }

    /// The experiment.
    #[must_use]
    pub const fn experiment(&self) -> &Experiment {
        self.experiment
    }

    /// How many rows it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table in a language, not yet in a format.
    #[must_use]
    pub fn shown(&self, locale: &Locale) -> Shown {
        let experiment = self.experiment;
        let wording = TableWording { locale, experiment };
        let fits = self.fits.iter();
        let fits = fits.flat_map(|(spec, fits)| fits.iter().map(|fit| locale.fit_note(spec, fit)));
        let summary = self.too_few.as_ref();
        let summary = summary.map(|too_few| locale.summary_notes(too_few));
        self.table
            .shown(&wording, clocked(experiment))
            .with_notes(fits)
            .with_notes(summary.into_iter().flatten())
    }

    /// The table in a language and a format.
    ///
    /// # Errors
    /// [`LabError::Csv`] as writing to memory fails: never in practice.
    pub fn write(&self, locale: &Locale, format: Format) -> Result<String, LabError> {
        let shown = self.shown(locale);
        Ok(match format {
            Format::Markdown => shown.to_markdown(),
            Format::Html => html::figure(&shown, locale.tag()),
            Format::Csv => csv::text(&shown, &self.rows).map_err(LabError::Csv)?,
            Format::Latex => latex::table(&shown),
        })
    }
}
