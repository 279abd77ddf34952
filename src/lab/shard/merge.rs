//! Joining shards into what one run would have written.
//!
//! Everything that can be wrong is found before any file appears: who the shards are is compared
//! first, and rows are copied into files beside the results, digests on the way, which are moved
//! into place together.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::chunk::{ChunkFault, cells_path, copy_rows, header, turns_path, writing};
use super::manifest::{Chunk, Difference, Manifest, Sweep};
use super::plan::Found;
use super::{Division, Shard};
use crate::experiment::Experiment;
use crate::files::AtomicFile;
use crate::lab::publish::finish;
use crate::lab::{CELLS, Draw, LabError, Published, TURNS, remove_left};
use crate::results::Column;

/// How many chunks or shards are told one by one.
const MOST_TOLD: usize = 8;

/// Shards of one experiment, joined and not yet in their place.
pub struct Merge<'e> {
    experiment: &'e Experiment,
    folder: PathBuf,
    cells: AtomicFile,
    turns: AtomicFile,
}

/// Why shards are not merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// They do not make one whole sweep.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There are none.
    #[error("no shard in {}: `loopmeter run --shard K/N` writes them", .0.display())]
    NoShard(PathBuf),
    /// A place cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The results cannot be written.
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// What is wrong with shards.
#[derive(Debug)]
pub enum Refusal {
    /// A manifest is none.
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        error: String,
    },
    /// A shard is of another sweep.
    Other {
        /// The shard.
        folder: PathBuf,
        /// What is different.
        difference: Difference,
        /// How to have it again, if that can be told.
        again: Option<String>,
    },
    /// The sweep was dealt out to different numbers of shards.
    Divisions(PathBuf, PathBuf),
    /// A shard is there twice.
    Twice(Shard, PathBuf, PathBuf),
    /// A shard lists a chunk that is not its own, or lists one twice.
    Foreign {
        /// The shard.
        folder: PathBuf,
        /// The chunk.
        chunk: u64,
    },
    /// Not all cells are there.
    Gaps(Vec<Gap>),
    /// A chunk is not as it was written.
    Chunk {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: ChunkFault,
        /// How to have it again.
        again: String,
    },
}

/// Cells that are missing from a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Whose they are.
    pub shard: Shard,
    /// How many of the shard's chunks are there.
    pub there: usize,
    /// How many it has.
    pub all: usize,
    /// The indices of the first cells that are missing.
    pub first: std::ops::Range<u64>,
    /// The command that runs them.
    pub again: String,
}

impl<'e> Merge<'e> {
    /// Joins shards of `experiment` into files beside those in its folder below `results`.
    ///
    /// # Errors
    /// [`MergeError`]; nothing is left behind then.
    pub fn prepare(
        experiment: &'e Experiment,
        shards: &[Found],
        results: &Path,
    ) -> Result<Self, MergeError> {
        let chunks = in_order(experiment, shards)?;
        let folder = results.join(experiment.name());
        remove_left(results, &folder);
        let cells = chunks.iter().map(|(found, chunk)| Part {
            path: cells_path(&found.folder, chunk.number),
            digest: &chunk.cells_sha256,
            of: found,
        });
        let turns = chunks.iter().map(|(found, chunk)| Part {
            path: turns_path(&found.folder, chunk.number),
            digest: &chunk.turns_sha256,
            of: found,
        });
        Ok(Self {
            cells: join(&folder.join(CELLS), experiment.cell_columns(), cells)?,
            turns: join(&folder.join(TURNS), experiment.turn_columns(), turns)?,
            experiment,
            folder,
        })
    }

    /// Puts the rows into their place, and makes of them what a run makes.
    ///
    /// # Errors
    /// [`LabError`] where a file cannot be written.
    pub fn publish(self, draw: Draw<'_>) -> Result<Published, LabError> {
        let rows = [self.cells.commit()?, self.turns.commit()?];
        finish(self.experiment, (&self.folder, draw), rows)
    }
}

/// A chunk and the shard that has it.
type Place<'f> = (&'f Found, &'f Chunk);

/// Every chunk of the sweep, in order, if all shards are of it and nothing is missing or twice.
fn in_order<'f>(experiment: &Experiment, shards: &'f [Found]) -> Result<Vec<Place<'f>>, Refusal> {
    let Some(first) = shards.first() else {
        return Err(Refusal::Gaps(Vec::new()));
    };
    let inputs = experiment.inputs();
    for found in shards {
        // A merge asks no model: all shards have to have asked the same one, whichever it was.
        let mut fresh = Manifest::begin(experiment, found.manifest.shard);
        fresh.model.clone_from(&first.manifest.model);
        let now = Sweep {
            manifest: &fresh,
            inputs: &inputs,
        };
        if let Some(difference) = found.manifest.difference(found.inputs.as_deref(), &now) {
            return Err(Refusal::Other {
                folder: found.folder.clone(),
                difference,
                again: Some(again(found, found.manifest.shard, experiment.origin())),
            });
        }
        if found.manifest.shard.of() != first.manifest.shard.of() {
            let folders = (first.folder.clone(), found.folder.clone());
            return Err(Refusal::Divisions(folders.0, folders.1));
        }
    }
    for (index, found) in shards.iter().enumerate() {
        let shard = found.manifest.shard;
        let twice = shards[..index]
            .iter()
            .find(|other| other.manifest.shard == shard);
        if let Some(other) = twice {
            return Err(Refusal::Twice(
                shard,
                other.folder.clone(),
                found.folder.clone(),
            ));
        }
    }
    without_gaps(first.manifest.division(), shards)
}

fn without_gaps(division: Division, shards: &[Found]) -> Result<Vec<Place<'_>>, Refusal> {
    let mut places: Vec<Place<'_>> = Vec::new();
    for found in shards {
        places.extend(found.manifest.chunks.iter().map(|chunk| (found, chunk)));
    }
    places.sort_by_key(|(_, chunk)| chunk.number);
    for (index, (found, chunk)) in places.iter().enumerate() {
        let number = chunk.number;
        let is_its_own =
            number < division.chunks() && division.shard_of(number) == found.manifest.shard;
        let is_listed_before = index > 0 && places[index - 1].1.number == number;
        if !is_its_own || is_listed_before {
            return Err(Refusal::Foreign {
                folder: found.folder.clone(),
                chunk: number,
            });
        }
    }
    let gaps: Vec<Gap> = (0..division.shards.min(division.chunks()))
        .filter_map(|first| gap(division, shards, division.shard_of(first)))
        .collect();
    if gaps.is_empty() {
        Ok(places)
    } else {
        Err(Refusal::Gaps(gaps))
    }
}

/// What is missing of a shard, if anything is.
fn gap(division: Division, shards: &[Found], shard: Shard) -> Option<Gap> {
    let found = shards.iter().find(|found| found.manifest.shard == shard);
    let there = found.map_or(&[][..], |found| &found.manifest.chunks);
    let is_there = |chunk: &u64| there.iter().any(|there| there.number == *chunk);
    let first = division.chunks_of(shard).find(|chunk| !is_there(chunk))?;
    let like = found.or_else(|| shards.first())?;
    Some(Gap {
        shard,
        there: there.len(),
        all: division.chunks_of(shard).count(),
        first: division.cells_of(first),
        again: again(like, shard, &like.manifest.file),
    })
}

/// The command that runs what is missing of a shard of the experiment in `file`, as far as another
/// one of the sweep tells.
fn again(like: &Found, shard: Shard, file: &str) -> String {
    let Manifest { experiment, .. } = &like.manifest;
    let what = if file.starts_with('<') {
        format!("--only {experiment}")
    } else {
        file.to_owned()
    };
    // Where a shard is no longer where it was written, nobody knows where that was.
    let results = like.folder.ancestors().nth(3);
    let results =
        results.filter(|it| like.manifest.shard.folder(&it.join(experiment)) == like.folder);
    let out = match results {
        Some(results) if results != Path::new("results") => {
            format!(" --out {}", results.display())
        }
        _ => String::new(),
    };
    format!("loopmeter run {what} --shard {shard}{out}")
}

/// A file of a chunk.
struct Part<'f> {
    path: PathBuf,
    digest: &'f str,
    of: &'f Found,
}

/// A file of all rows under one header, not yet in its place.
fn join<'f>(
    path: &Path,
    columns: Vec<Column>,
    parts: impl Iterator<Item = Part<'f>>,
) -> Result<AtomicFile, MergeError> {
    let header = header(columns)?;
    let mut file = AtomicFile::create(path).map_err(LabError::from)?;
    let mut write = writing(&mut file, path);
    write(&header).map_err(LabError::from)?;
    for Part { path, digest, of } in parts {
        match copy_rows(&path, (&header, digest), &mut write) {
            Ok(()) => {}
            Err(ChunkFault::Write(error)) => return Err(LabError::from(error).into()),
            Err(fault) => {
                let again = again(of, of.manifest.shard, &of.manifest.file);
                return Err(Refusal::Chunk { path, fault, again }.into());
            }
        }
    }
    drop(write);
    Ok(file)
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest { path, error } => {
                write!(
                    f,
                    "{}: cannot be read as a manifest: {error}",
                    path.display()
                )
            }
            Self::Other {
                folder,
                difference,
                again,
            } => {
                write!(f, "{} {difference}", folder.display())?;
                let mut again = again.iter();
                again.try_for_each(|again| write!(f, "; have it again by `{again}`"))
            }
            Self::Divisions(one, other) => write!(
                f,
                "{} and {} are of different divisions: name the folders of one, or remove the others",
                one.display(),
                other.display()
            ),
            Self::Twice(shard, one, other) => write!(
                f,
                "shard {shard} is there twice, in {} and in {}: name one of them",
                one.display(),
                other.display()
            ),
            Self::Foreign { folder, chunk } => write!(
                f,
                "{} lists chunk {chunk} where it does not belong: its manifest was changed; run \
                 the shard again",
                folder.display()
            ),
            Self::Gaps(gaps) => tell_gaps(gaps, f),
            Self::Chunk { path, fault, again } => {
                write!(f, "{} {fault}; have it again by `{again}`", path.display())
            }
        }
    }
}

fn tell_gaps(gaps: &[Gap], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("not all cells are there:")?;
    for gap in gaps.iter().take(MOST_TOLD) {
        let Gap {
            shard, there, all, ..
        } = gap;
        let last = gap.first.end.saturating_sub(1);
        write!(f, "\n  shard {shard} ")?;
        match there {
            0 => f.write_str("is missing")?,
            _ => write!(f, "has {there} of {all} chunks")?,
        }
        match gap.first.start {
            first if first == last => write!(f, ", from cell {first} on")?,
            first => write!(f, ", from cells {first} to {last} on")?,
        }
        write!(f, ": {}", gap.again)?;
    }
    match gaps.len().saturating_sub(MOST_TOLD) {
        0 => Ok(()),
        more => write!(f, "\n  and {more} more"),
    }
}
