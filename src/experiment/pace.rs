//! How long the replies of a cell take.

use super::settings::{Distribution, Latency, Settings};
use crate::provider::{Latency as Times, LatencyError, Pace};
use crate::scenario::SpecError;

/// Why no reply can take so long.
#[derive(Debug, thiserror::Error)]
pub enum PaceError {
    /// A distribution is refused.
    #[error(transparent)]
    Latency(#[from] LatencyError),
    /// A line cannot be read.
    #[error(transparent)]
    Line(#[from] SpecError),
    /// A line brings a seed of its own.
    #[error("a `seed` in the line, where the cell has its own")]
    Seed,
}

/// How long the replies of a cell take, drawn from the cell's seed.
///
/// # Errors
/// [`PaceError`] where a parameter is out of range or a line cannot be read.
pub(super) fn pace_of(settings: &Settings) -> Result<Pace, PaceError> {
    let pace = match &settings.latency {
        None => {
            let constant = settings.latency_ms.map(|ms| Times::Constant { ms });
            Pace::from(constant.unwrap_or_default())
        }
        Some(Latency::Line(line)) if line.contains("seed=") => return Err(PaceError::Seed),
        Some(Latency::Line(line)) => line.parse()?,
        Some(Latency::Table(table)) => {
            let sigma = match table.distribution {
                Distribution::Constant => 0.0,
                Distribution::LogNormal => table.sigma,
            };
            Pace::from(Times::log_normal(table.median_ms, sigma, 0)?)
        }
    };
    Ok(pace.with_seed(settings.seed))
}
