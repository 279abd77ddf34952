//! Rows in a columnar form beside the CSV files, where the program was built for it.

use std::path::Path;

use clap::Args;

use super::exit::Failure;
use crate::experiment::Experiment;

/// Whether rows are written as Parquet too.
#[derive(Debug, Args)]
pub(super) struct Columnar {
    /// Also write the rows as Parquet, to cells.parquet and turns.parquet in a folder per
    /// experiment
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR")]
    parquet: Option<std::path::PathBuf>,
}

impl Columnar {
    /// Writes the rows that stand in an experiment's folder below `results`, if that is asked for.
    #[cfg(feature = "parquet")]
    pub(super) fn write(&self, experiment: &Experiment, results: &Path) -> Result<(), Failure> {
        let Some(folder) = &self.parquet else {
            return Ok(());
        };
        let name = experiment.name();
        let (from, to) = (results.join(name), folder.join(name));
        let written = crate::lab::parquet::export(experiment, &from, &to);
        written.map_err(|error| Failure::could_not_do(&error))
    }

    /// This program writes CSV alone.
    #[cfg(not(feature = "parquet"))]
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the same shape in both"
    )]
    pub(super) fn write(&self, _experiment: &Experiment, _results: &Path) -> Result<(), Failure> {
        Ok(())
    }
}
