//! The files of one chunk: rows under a header, held against a digest whenever they are read.

use std::io::{self, BufReader, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::manifest::Chunk;
use crate::experiment::{CellRows, Experiment};
use crate::files::{WriteError, open_to_read};
use crate::lab::LabError;
use crate::results::digest::{Hasher, digest_of};
use crate::results::{Column, CsvFile, RowSet};

/// How many bytes are copied at a time.
const BUFFER: usize = 1 << 16;

/// Where a chunk's cells are.
pub(super) fn cells_path(folder: &Path, chunk: u64) -> PathBuf {
    folder.join(format!("cells-{chunk:08}.csv"))
}

/// Where a chunk's turns are.
pub(super) fn turns_path(folder: &Path, chunk: u64) -> PathBuf {
    folder.join(format!("turns-{chunk:08}.csv"))
}

/// Whether a file of a shard's folder is one of a chunk.
pub(super) fn is_chunk_file(name: &str) -> bool {
    let is_csv = Path::new(name).extension().is_some_and(|it| it == "csv");
    is_csv && ["cells-", "turns-"].iter().any(|of| name.starts_with(of))
}

/// The first line of a CSV file with these columns.
pub(super) fn header(columns: Vec<Column>) -> Result<Vec<u8>, LabError> {
    RowSet::new(columns)?.to_csv().map_err(LabError::Csv)
}

/// What is wrong with a file of a chunk.
#[derive(Debug, thiserror::Error)]
pub enum ChunkFault {
    /// It is not there.
    #[error("is gone")]
    Gone,
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// Its columns are others.
    #[error("has other columns than this version writes")]
    Header,
    /// Its bytes are others.
    #[error("was changed or cut short: its digest is {is}, and the manifest says {was}")]
    Changed {
        /// The digest in the manifest.
        was: String,
        /// The digest of the bytes.
        is: String,
    },
    /// What was read could not be written.
    #[error(transparent)]
    Write(WriteError),
}

/// Copies the rows under `header` to `out`, and holds the file against its digest. Where that
/// fails, some rows have been copied.
pub(super) fn copy_rows(
    path: &Path,
    (header, digest): (&[u8], &str),
    out: &mut dyn FnMut(&[u8]) -> Result<(), WriteError>,
) -> Result<(), ChunkFault> {
    let file = open_to_read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ChunkFault::Gone,
        _ => ChunkFault::Unreadable(error),
    })?;
    let mut file = BufReader::with_capacity(BUFFER, file);
    let mut hasher = Hasher::default();
    let mut first = Vec::with_capacity(header.len());
    let length = u64::try_from(header.len()).unwrap_or(u64::MAX);
    let begun = (&mut file).take(length).read_to_end(&mut first);
    begun.map_err(ChunkFault::Unreadable)?;
    hasher.update(&first);
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer).map_err(ChunkFault::Unreadable)? {
            0 => break,
            read => {
                hasher.update(&buffer[..read]);
                if first == header {
                    out(&buffer[..read]).map_err(ChunkFault::Write)?;
                }
            }
        }
    }
    let is = hasher.finish();
    if is != digest {
        let was = digest.to_owned();
        return Err(ChunkFault::Changed { was, is });
    }
    if first == header {
        Ok(())
    } else {
        Err(ChunkFault::Header)
    }
}

/// A chunk that is being written.
pub(super) struct OpenChunk {
    number: u64,
    cells: CsvFile,
    turns: CsvFile,
    /// How many runs are still to come.
    missing: u64,
    paths: [PathBuf; 2],
}

impl OpenChunk {
    /// Begins the files of a chunk of so many runs.
    pub(super) fn create(
        folder: &Path,
        experiment: &Experiment,
        (number, cells): (u64, Range<u64>),
    ) -> Result<Self, WriteError> {
        let paths = [cells_path(folder, number), turns_path(folder, number)];
        let each = experiment.runs() / experiment.sweep().len().max(1);
        Ok(Self {
            number,
            cells: CsvFile::create(&paths[0], experiment.cell_columns())?,
            turns: CsvFile::create(&paths[1], experiment.turn_columns())?,
            missing: (cells.end - cells.start) * each,
            paths,
        })
    }

    /// Adds the rows of the next run.
    pub(super) fn append(&mut self, rows: CellRows) -> Result<(), WriteError> {
        self.cells.append(rows.cell)?;
        for turn in rows.turns {
            self.turns.append(turn)?;
        }
        self.missing = self.missing.saturating_sub(1);
        Ok(())
    }

    /// Whether all runs have come.
    pub(super) const fn is_full(&self) -> bool {
        self.missing == 0
    }

    /// Puts the files into their places, and says what they are.
    pub(super) fn commit(self) -> Result<Chunk, LabError> {
        self.cells.commit()?;
        self.turns.commit()?;
        Ok(Chunk {
            cells_sha256: digest_of(&self.paths[0])?,
            turns_sha256: digest_of(&self.paths[1])?,
            number: self.number,
            host: None,
        })
    }
}

/// Writes to a file, with errors that name it.
pub(super) fn writing<'f, W: Write>(
    file: &'f mut W,
    path: &'f Path,
) -> impl FnMut(&[u8]) -> Result<(), WriteError> + 'f {
    move |bytes| {
        file.write_all(bytes).map_err(|error| WriteError {
            path: path.to_owned(),
            problem: error.into(),
        })
    }
}
