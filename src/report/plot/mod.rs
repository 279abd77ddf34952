//! Plots: rows become a picture, a picture gets its places, and those are drawn.
//!
//! 1. `data` reads rows into a few typed values, one module for each plot, and says in a
//!    language's words what the picture shows (`picture`).
//! 2. `layout` measures every text (`text`) and gives everything a place (`scene`).
//! 3. `draw` has plotters draw the shapes, `svg` adds the letters, `png` makes pixels of it.

mod data;
mod draw;
mod frontier;
mod layout;
mod picture;
mod png;
mod rows;
mod scale;
mod scene;
mod svg;
mod text;

#[cfg(test)]
mod tests;

use data::Data;
use picture::Picture;
use scene::Scene;
use text::Typesetter;

pub use frontier::{Frontier, FrontierLine, Joined};
pub use svg::Ground;

use super::html::anchor;
use super::locale::{Locale, LocaleError};
use crate::experiment::Experiment;
use crate::lab::{LabError, Measured};
use crate::results::UnknownColumn;
use crate::results::summary::SummaryError;

/// How a plot is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PlotFormat {
    /// SVG, with letters as outlines and as text
    #[default]
    Svg,
    /// PNG, two pixels for each of the SVG's
    Png,
}

impl PlotFormat {
    /// What the names of such files end in, without the point.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

/// How many pixels of a PNG stand for one of the SVG's, at each side.
const PNG_SCALE: u8 = 2;

/// Why there is no plot.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The rows lack a column that the plot is made of.
    #[error(transparent)]
    Column(#[from] UnknownColumn),
    /// A value cannot be drawn.
    #[error("column `{column}`: {value:?} cannot be drawn")]
    Value {
        /// The column.
        column: String,
        /// What was found there.
        value: String,
    },
    /// The rows are not such as the plot shows.
    #[error("{0}")]
    Rows(&'static str),
    /// The samples cannot be summed up.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// Plotters failed.
    #[error("the plot cannot be drawn: {0}")]
    Drawing(String),
    /// The SVG cannot be made into a PNG.
    #[error("the plot cannot be made into a PNG: {0}")]
    Png(String),
    /// The language of committed plots is not there.
    #[error(transparent)]
    Locale(#[from] LocaleError),
}

/// The bundled font of a language's script, where it is not one that every system has.
pub(super) fn script_font(locale: &Locale) -> Option<&'static [u8]> {
    text::of_script(locale.name(), locale.tag())
}

/// The plot of an experiment, before anybody's language.
#[derive(Debug)]
pub struct ExperimentPlot<'e> {
    experiment: &'e Experiment,
    data: Data,
}

impl<'e> ExperimentPlot<'e> {
    /// The plot that `experiment` asks for, made from its rows; none if it asks for none.
    ///
    /// # Errors
    /// [`PlotError`] where it cannot be made of them.
    pub fn of(experiment: &'e Experiment, measured: &Measured) -> Result<Option<Self>, PlotError> {
        let Some(spec) = &experiment.readout().plot else {
            return Ok(None);
        };
        let data = Data::of(spec.kind, experiment, measured)?;
        Ok(Some(Self { experiment, data }))
    }

    /// The experiment.
    #[must_use]
    pub const fn experiment(&self) -> &Experiment {
        self.experiment
    }

    /// The plot as an SVG document. All names in it begin with that of the experiment, so several
    /// plots can stand in one page.
    ///
    /// # Errors
    /// [`PlotError::Drawing`] as writing to memory fails: never in practice.
    pub fn svg(&self, locale: &Locale, ground: Ground) -> Result<String, PlotError> {
        let id = format!("plot-{}", anchor(self.experiment.name()));
        svg::document(&self.scene(locale), locale, (&id, ground))
    }

    /// The plot as a PNG.
    ///
    /// # Errors
    /// [`PlotError`] where it cannot be drawn.
    pub fn png(&self, locale: &Locale) -> Result<Vec<u8>, PlotError> {
        png::png(&self.svg(locale, Ground::Paper)?, PNG_SCALE)
    }

    /// The plot in a format, as the bytes of a file.
    ///
    /// # Errors
    /// [`PlotError`] where it cannot be drawn.
    pub fn write(&self, locale: &Locale, format: PlotFormat) -> Result<Vec<u8>, PlotError> {
        match format {
            PlotFormat::Svg => Ok(self.svg(locale, Ground::Paper)?.into_bytes()),
            PlotFormat::Png => self.png(locale),
        }
    }

    fn picture(&self, locale: &Locale) -> Picture {
        self.data.picture((locale, self.experiment))
    }

    fn scene(&self, locale: &Locale) -> Scene {
        layout::scene(&self.picture(locale), Typesetter::new(locale))
    }
}

/// The English plot that is committed beside an experiment's rows; none if it asks for none.
///
/// # Errors
/// [`LabError::Plot`] where it cannot be made of the rows.
pub fn committed(experiment: &Experiment, measured: &Measured) -> Result<Option<String>, LabError> {
    let svg = ExperimentPlot::of(experiment, measured).and_then(|plot| {
        let english = Locale::load("en")?;
        plot.map(|plot| plot.svg(&english, Ground::Paper))
            .transpose()
    });
    svg.map_err(|error| LabError::Plot(error.to_string()))
}
