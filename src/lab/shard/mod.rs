//! A sweep over more than one machine: parts of its cells, and how they become one again.
//!
//! Cells are dealt out in chunks of neighbours, one chunk to each shard in turn. So a shard gets
//! cells from all over the sweep, whatever its slowest axis makes expensive, and merging puts whole
//! files one behind the other: it never opens two at a time, reads no row, and needs no more memory
//! for a hundred million cells than for ten. A chunk is also what a killed shard loses at most.
//!
//! A shard is a folder, `results/EXPERIMENT/shards/K-of-N`, that can be copied anywhere: for each
//! chunk a CSV file of cells and one of turns, `inputs.json`, and a [`Manifest`] that says what
//! they belong to and holds their digests.

mod chunk;
mod manifest;
mod merge;
mod plan;
mod work;

pub use chunk::ChunkFault;
pub use manifest::{Chunk, Difference, Machine, Manifest};
pub use merge::{Merge, MergeError, Refusal};
pub use plan::{Found, find};
pub use work::{Discarded, Progress, ShardError, ShardWork};

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::clock::ClockKind;
use crate::experiment::Experiment;

/// The folder below an experiment's results that holds a folder for each shard.
pub const SHARDS: &str = "shards";
/// The file of a shard that says what the others are.
pub const MANIFEST: &str = "manifest.json";

/// The most shards that a sweep is dealt out to.
pub const MAX_SHARDS: u64 = 100_000;

/// Of how many cells a chunk is at most, unless that makes more than [`MOST_CHUNKS`].
const MOST_CELLS: u64 = 4_096;
/// How many chunks a shard has at least, if there are so many cells: what evens out the work.
const LEAST_CHUNKS: u64 = 16;
/// How many chunks a shard has at most, as each has a line of the manifest.
const MOST_CHUNKS: u64 = 1_024;

/// One of the parts of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Its number, from 1.
    number: u64,
    /// How many there are.
    of: u64,
}

/// A text that names no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no shard: write K/N, the K-th of N parts, such as 1/4; K goes from 1 to N, and N to {MAX_SHARDS}"
)]
pub struct NoShard(String);

impl Shard {
    /// The `number`-th of `of` parts, if there is such a part.
    #[must_use]
    pub fn new(number: u64, of: u64) -> Option<Self> {
        let exists = (1..=of).contains(&number) && of <= MAX_SHARDS;
        exists.then_some(Self { number, of })
    }

    /// How many parts there are.
    #[must_use]
    pub const fn of(self) -> u64 {
        self.of
    }

    /// Where its files are, below the folder of an experiment's results.
    #[must_use]
    pub fn folder(self, results: &Path) -> PathBuf {
        results
            .join(SHARDS)
            .join(format!("{}-of-{}", self.number, self.of))
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let parts = text.split_once('/');
        let number = |text: &str| text.parse::<u64>().ok();
        parts
            .and_then(|(k, n)| Self::new(number(k)?, number(n)?))
            .ok_or_else(|| NoShard(text.to_owned()))
    }
}

impl TryFrom<String> for Shard {
    type Error = NoShard;

    fn try_from(text: String) -> Result<Self, NoShard> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// `K/N`, as it is written on the command line.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// How the cells of a sweep are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    cells: u64,
    shards: u64,
    chunk_cells: u64,
}

impl Division {
    /// How `experiment` is dealt out to so many shards. On the real clock, where a cell takes as
    /// long as it takes, each is a chunk.
    #[must_use]
    pub fn of(experiment: &Experiment, shards: u64) -> Self {
        let cells = experiment.sweep().len();
        match experiment.clock() {
            ClockKind::Virtual => Self::even(cells, shards),
            ClockKind::Real => Self {
                cells,
                shards,
                chunk_cells: 1,
            },
        }
    }

    /// How so many cells are dealt out to so many shards.
    fn even(cells: u64, shards: u64) -> Self {
        let chunks_each = |chunks: u64| cells / shards.max(1).saturating_mul(chunks);
        let chunk_cells = chunks_each(LEAST_CHUNKS).min(MOST_CELLS);
        let fewest = cells.div_ceil(shards.max(1).saturating_mul(MOST_CHUNKS));
        Self {
            cells,
            shards,
            chunk_cells: chunk_cells.max(fewest).max(1),
        }
    }

    /// How many chunks there are.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        self.cells.div_ceil(self.chunk_cells)
    }

    /// The indices of the cells of a chunk; chunks count from 0.
    #[must_use]
    pub fn cells_of(&self, chunk: u64) -> Range<u64> {
        let at = |chunk: u64| chunk.saturating_mul(self.chunk_cells).min(self.cells);
        at(chunk)..at(chunk.saturating_add(1))
    }

    /// Whose chunk it is.
    #[must_use]
    pub const fn shard_of(&self, chunk: u64) -> Shard {
        Shard {
            number: chunk % self.shards + 1,
            of: self.shards,
        }
    }

    /// The chunks of a shard, in order.
    pub fn chunks_of(&self, shard: Shard) -> impl Iterator<Item = u64> + use<> {
        let step = usize::try_from(self.shards).unwrap_or(usize::MAX);
        (shard.number - 1..self.chunks()).step_by(step.max(1))
    }
}

#[cfg(test)]
mod tests;
