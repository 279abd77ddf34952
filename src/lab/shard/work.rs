//! Running one shard: only what is missing, chunk by chunk.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::chunk::{
    ChunkFault, OpenChunk, cells_path, copy_rows, header, is_chunk_file, turns_path,
};
use super::manifest::{Chunk, Difference, Machine, Manifest, NoManifest, Sweep};
use super::{Division, MANIFEST, Shard};
use crate::clock::ClockKind;
use crate::experiment::Experiment;
use crate::files::{WriteError, open_plain, write_file};
use crate::lab::{INPUTS, Lab, LabError, committed_bytes};

/// The file that the process at work holds.
const LOCK: &str = ".lock";

/// A shard about to be run: what is there of it already, and what is not.
pub struct ShardWork<'e> {
    experiment: &'e Experiment,
    folder: PathBuf,
    manifest: Manifest,
    division: Division,
    discarded: Vec<Discarded>,
    /// Held as long as this lives.
    _lock: File,
}

/// Something that was in a shard's folder and is of no use.
#[derive(Debug)]
pub enum Discarded {
    /// Everything, because it is of another sweep.
    Everything(Difference),
    /// Everything, because nothing says what it is.
    Unreadable(String),
    /// One chunk.
    Chunk {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        fault: ChunkFault,
    },
}

/// How far a shard is, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many cells the shard has.
    pub cells: u64,
    /// How many of them have no rows yet.
    pub missing: u64,
}

/// Why a shard cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// Another process runs it.
    #[error("another process runs this shard in {}: wait for it, or end it", .0.display())]
    Held(PathBuf),
    /// What says what is there cannot be printed.
    #[error("the manifest cannot be written: {0}")]
    Manifest(#[from] serde_json::Error),
}

impl<'e> ShardWork<'e> {
    /// Takes up a shard of `experiment` below the folder of all results. What is there and whole is
    /// kept; what is damaged, or of other inputs, is removed.
    ///
    /// # Errors
    /// [`LabError`] where another process runs it, or its folder cannot be read and written.
    pub fn open(
        experiment: &'e Experiment,
        shard: Shard,
        results: &Path,
    ) -> Result<Self, LabError> {
        let folder = shard.folder(&results.join(experiment.name()));
        let lock = lock(&folder)?;
        let mut work = Self {
            manifest: Manifest::begin(experiment, shard),
            division: Division::of(experiment, shard.of),
            discarded: Vec::new(),
            experiment,
            folder,
            _lock: lock,
        };
        if let Some(chunks) = work.chunks_there()? {
            work.keep_whole(chunks)?;
        }
        work.remove_unlisted()?;
        Ok(work)
    }

    /// What was in the folder and is removed.
    #[must_use]
    pub fn discarded(&self) -> &[Discarded] {
        &self.discarded
    }

    /// Where the shard's files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let cells = |chunks: &mut dyn Iterator<Item = u64>| {
            let ranges = chunks.map(|chunk| self.division.cells_of(chunk));
            ranges.map(|range| range.end - range.start).sum()
        };
        Progress {
            cells: cells(&mut self.division.chunks_of(self.manifest.shard)),
            missing: cells(&mut self.missing().into_iter()),
        }
    }

    /// Runs what is missing. Whatever ends it, the chunks that were finished stay.
    ///
    /// # Errors
    /// [`LabError`]
    pub fn run(mut self, lab: &mut Lab<'_>) -> Result<(), LabError> {
        let inputs = self.experiment.inputs().to_text();
        write_file(&self.folder.join(INPUTS), inputs.as_bytes())?;
        self.write_manifest()?;
        let missing = self.missing();
        let ranges: Vec<_> = missing
            .iter()
            .map(|chunk| self.division.cells_of(*chunk))
            .collect();
        let mut next = missing.into_iter().zip(ranges.iter().cloned());
        let experiment = self.experiment;
        let host = match experiment.clock() {
            ClockKind::Virtual => None,
            ClockKind::Real => Some(Machine::from(lab.host)),
        };
        let mut open: Option<OpenChunk> = None;
        lab.rows_of_cells(experiment, &ranges, &mut |rows| {
            if open.is_none() {
                let begin = |chunk| OpenChunk::create(&self.folder, experiment, chunk);
                open = next.next().map(begin).transpose()?;
            }
            if let Some(chunk) = &mut open {
                chunk.append(rows)?;
            }
            if let Some(chunk) = open.take_if(|chunk| chunk.is_full()) {
                let chunk = chunk.commit()?;
                self.add(Chunk {
                    host: host.clone(),
                    ..chunk
                })?;
            }
            Ok(())
        })
    }

    /// The chunks that the manifest in the folder lists, if it is one of this sweep.
    fn chunks_there(&mut self) -> Result<Option<Vec<Chunk>>, LabError> {
        let Some(text) = committed_bytes(&self.folder, MANIFEST)? else {
            return Ok(None);
        };
        let inputs = committed_bytes(&self.folder, INPUTS)?;
        let now = Sweep {
            manifest: &self.manifest,
            inputs: &self.experiment.inputs(),
        };
        let discarded = match Manifest::parse(&text) {
            Err(NoManifest::Other(difference)) => Discarded::Everything(difference),
            Err(error) => Discarded::Unreadable(error.to_string()),
            Ok(there) => match there.difference(inputs.as_deref(), &now) {
                None => return Ok(Some(there.chunks)),
                Some(difference) => Discarded::Everything(difference),
            },
        };
        self.discarded.push(discarded);
        Ok(None)
    }

    /// Takes those of the listed chunks whose files are as they were written.
    fn keep_whole(&mut self, chunks: Vec<Chunk>) -> Result<(), LabError> {
        let headers = [
            header(self.experiment.cell_columns())?,
            header(self.experiment.turn_columns())?,
        ];
        for chunk in chunks {
            match self.fault_of(&chunk, &headers) {
                Some(fault) => self.discarded.push(fault),
                None => self.list(chunk),
            }
        }
        Ok(())
    }

    fn fault_of(&self, chunk: &Chunk, headers: &[Vec<u8>; 2]) -> Option<Discarded> {
        let files = [
            (cells_path(&self.folder, chunk.number), &chunk.cells_sha256),
            (turns_path(&self.folder, chunk.number), &chunk.turns_sha256),
        ];
        let mut files = files.into_iter().zip(headers);
        files.find_map(|((path, digest), header)| {
            let fault = copy_rows(&path, (header, digest), &mut |_| Ok(())).err()?;
            Some(Discarded::Chunk { path, fault })
        })
    }

    /// Adds a chunk to the manifest, in the order of numbers; one that is none of this shard, or
    /// is listed twice, is left out.
    fn list(&mut self, chunk: Chunk) {
        let is_ours = chunk.number < self.division.chunks()
            && self.division.shard_of(chunk.number) == self.manifest.shard;
        let chunks = &mut self.manifest.chunks;
        let place = chunks.binary_search_by_key(&chunk.number, |chunk| chunk.number);
        if let (Err(place), true) = (place, is_ours) {
            chunks.insert(place, chunk);
        }
    }

    fn add(&mut self, chunk: Chunk) -> Result<(), LabError> {
        self.list(chunk);
        self.write_manifest()
    }

    fn write_manifest(&self) -> Result<(), LabError> {
        let text = self.manifest.to_text().map_err(ShardError::from)?;
        write_file(&self.folder.join(MANIFEST), text.as_bytes())?;
        Ok(())
    }

    fn missing(&self) -> Vec<u64> {
        let there = &self.manifest.chunks;
        let is_missing = |chunk: &u64| {
            there
                .binary_search_by_key(chunk, |chunk| chunk.number)
                .is_err()
        };
        let all = self.division.chunks_of(self.manifest.shard);
        all.filter(is_missing).collect()
    }

    /// Removes the files of chunks that the manifest does not list, and what a killed process was
    /// just writing.
    fn remove_unlisted(&self) -> Result<(), LabError> {
        let listed = self.manifest.chunks.iter();
        let mut kept: Vec<PathBuf> = listed
            .flat_map(|chunk| {
                let paths = [cells_path, turns_path];
                paths.map(|path| path(&self.folder, chunk.number))
            })
            .collect();
        kept.sort_unstable();
        let at = |source| LabError::Committed {
            path: self.folder.clone(),
            source,
        };
        for entry in fs::read_dir(&self.folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let half_written = name.starts_with(".loopmeter-");
            if half_written || is_chunk_file(&name) && kept.binary_search(&path).is_err() {
                fs::remove_file(&path).map_err(|error| WriteError {
                    path: path.clone(),
                    problem: error.into(),
                })?;
            }
        }
        Ok(())
    }
}

/// Takes the folder for this process alone, until it ends, however it ends.
fn lock(folder: &Path) -> Result<File, LabError> {
    let path = folder.join(LOCK);
    let failed = |error: io::Error| WriteError {
        path: path.clone(),
        problem: error.into(),
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let file = open_plain(&path, &options).map_err(failed)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ShardError::Held(folder.to_owned()).into()),
        // Some file systems of clusters have no locks; there nothing keeps two processes apart.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

impl fmt::Display for Discarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything(difference) => write!(f, "what is there {difference}"),
            Self::Unreadable(error) => write!(f, "{MANIFEST} {error}"),
            Self::Chunk { path, fault } => write!(f, "{}: {fault}", path.display()),
        }
    }
}
