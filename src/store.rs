//! Runs on disk: one folder a run, its record replaced whole after every step.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::ClockKind;
use crate::files::{WriteError, write_file};
use crate::provider::Latency;
use crate::provider::wire::Delivery;
use crate::run::RunState;

/// The version of the record's format. A record of a newer version is refused, not guessed at.
///
/// Format 2 added runs against an endpoint; a record of format 1 reads as one of a scenario.
pub const FORMAT: u32 = 2;

const RECORD: &str = "run.json";
const WORKSPACE: &str = "workspace";
const TRACE: &str = "trace.jsonl";
const STOP_REQUEST: &str = "stop-request";
const LOCK: &str = "lock";
const MOST_ID_CHARS: usize = 64;

/// Which tools a run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogKind {
    /// The chapter's four.
    #[default]
    Chapter,
    /// The same, with an `idempotency_key` declared for the one that writes.
    IdempotencyKeys,
}

/// Who answers a run's requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Model {
    /// A scripted model.
    Scripted {
        /// The scenario's name.
        scenario: String,
        /// The scenario's text, so that a later change of the file does not change the run.
        scenario_toml: String,
        /// How long the model thinks.
        latency: Latency,
    },
    /// A model behind an endpoint. The key is not stored: it is read anew from the environment.
    Endpoint {
        /// The endpoint's base URL.
        base_url: String,
        /// The model's name there.
        model: String,
        /// How replies travel.
        delivery: Delivery,
    },
}

/// What a run was started with, beside what its state holds: enough to take it up elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Who answers.
    #[serde(flatten)]
    pub model: Model,
    /// Which tools the run has.
    pub catalog: CatalogKind,
    /// Whose time the run takes.
    pub clock: ClockKind,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub format: u32,
    /// What the run was started with.
    pub launch: Launch,
    /// Where it stands.
    pub run: RunState,
}

impl Record {
    /// A record in the current format.
    #[must_use]
    pub fn new(launch: Launch, run: RunState) -> Self {
        Self {
            format: FORMAT,
            launch,
            run,
        }
    }
}

/// Why a stored run cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The id could be a path.
    #[error("{0:?} is not a run id: use 1 to 64 letters, digits, `-`, `_` or `.`, not first a `.`")]
    BadId(String),
    /// There is no such run.
    #[error("there is no run {id:?} in {}", folder.display())]
    Unknown {
        /// The id.
        id: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// There is one already.
    #[error("there is a run {id:?} in {} already", folder.display())]
    Taken {
        /// The id.
        id: String,
        /// Where it is.
        folder: PathBuf,
    },
    /// Another process drives it.
    #[error("run {0:?} is driven by another process; wait for it, or `loopmeter agent cancel {0}`")]
    Driven(String),
    /// The record is not what this program wrote.
    #[error("{} is not a run's record: {why}", path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The record is of a later version of this program.
    #[error("{} has format {found}; this loopmeter reads up to format {FORMAT}", path.display())]
    Newer {
        /// The record.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The run could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

/// A run that this process drives and no other.
#[derive(Debug)]
pub struct Hold {
    _file: File,
}

/// Runs in a folder.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// The store in `folder`, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Takes `id` for a new run, or the first free one of `r1`, `r2`, …, and returns it.
    ///
    /// # Errors
    /// [`StoreError`] where the id is taken or cannot be one, or the folder cannot be made.
    pub fn claim(&self, id: Option<&str>) -> Result<String, StoreError> {
        fs::create_dir_all(&self.folder).map_err(|source| io_error(&self.folder, source))?;
        let Some(id) = id else {
            return self.claim_fresh();
        };
        let folder = self.folder_of(id)?;
        match fs::create_dir(&folder) {
            Ok(()) => Ok(id.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(StoreError::Taken {
                id: id.to_owned(),
                folder: self.folder.clone(),
            }),
            Err(source) => Err(io_error(&folder, source)),
        }
    }

    fn claim_fresh(&self) -> Result<String, StoreError> {
        // Making the folder is what takes the id, so two processes never get the same one.
        let mut number = self.ids()?.len();
        loop {
            number = number.saturating_add(1);
            match self.claim(Some(&format!("r{number}"))) {
                Err(StoreError::Taken { .. }) => {}
                claimed => return claimed,
            }
        }
    }

    /// Takes the run for this process alone. Whoever holds it drives the run; the hold ends with
    /// the process, however that ends.
    ///
    /// # Errors
    /// [`StoreError::Driven`] where another process holds it, and where there is no such run.
    pub fn hold(&self, id: &str) -> Result<Hold, StoreError> {
        let path = self.folder_of(id)?.join(LOCK);
        let file = File::create(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StoreError::Unknown {
                id: id.to_owned(),
                folder: self.folder.clone(),
            },
            _ => io_error(&path, source),
        })?;
        match file.try_lock() {
            Ok(()) => Ok(Hold { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Driven(id.to_owned())),
            Err(TryLockError::Error(source)) => Err(io_error(&path, source)),
        }
    }

    /// Replaces the record of a run.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the earlier record stands then.
    pub fn save(&self, record: &Record) -> Result<(), StoreError> {
        let path = self.folder_of(&record.run.run_id)?.join(RECORD);
        // Not in JavaScript's numbers, as tokens are counted: a record keeps every digit.
        let bytes = serde_json::to_vec(record).map_err(|error| io_error(&path, error.into()))?;
        write_file(&path, &bytes)?;
        Ok(())
    }

    /// The record of a run.
    ///
    /// # Errors
    /// [`StoreError`] where there is none, or none that this version reads.
    pub fn load(&self, id: &str) -> Result<Record, StoreError> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let path = self.folder_of(id)?.join(RECORD);
        let text = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StoreError::Unknown {
                id: id.to_owned(),
                folder: self.folder.clone(),
            },
            _ => io_error(&path, source),
        })?;
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            path: path.clone(),
            why: error.to_string(),
        };
        let Versioned { format } = serde_json::from_slice(&text).map_err(damaged)?;
        if format > FORMAT {
            return Err(StoreError::Newer {
                path,
                found: format,
            });
        }
        let record: Record = serde_json::from_slice(&text).map_err(damaged)?;
        if record.run.run_id != id {
            let why = format!("it is of run {:?}", record.run.run_id);
            return Err(StoreError::Damaged { path, why });
        }
        Ok(record)
    }

    /// The ids of all runs that have a folder, sorted.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder cannot be read.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error(&self.folder, source)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| io_error(&self.folder, source))?;
            if entry.path().is_dir() {
                ids.extend(entry.file_name().into_string().ok().filter(|id| is_id(id)));
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// Where the run's tools work.
    ///
    /// # Errors
    /// [`StoreError::BadId`].
    pub fn workspace(&self, id: &str) -> Result<PathBuf, StoreError> {
        Ok(self.folder_of(id)?.join(WORKSPACE))
    }

    /// Where the run's trace is kept.
    ///
    /// # Errors
    /// [`StoreError::BadId`].
    pub fn trace(&self, id: &str) -> Result<PathBuf, StoreError> {
        Ok(self.folder_of(id)?.join(TRACE))
    }

    /// Asks whoever drives the run to stop.
    ///
    /// # Errors
    /// [`StoreError`] where there is no such run or the request cannot be written.
    pub fn request_stop(&self, id: &str, reason: &str) -> Result<(), StoreError> {
        self.load(id)?;
        let path = self.folder_of(id)?.join(STOP_REQUEST);
        write_file(&path, reason.as_bytes())?;
        Ok(())
    }

    /// The reason of a request to stop, where somebody has left one.
    #[must_use]
    pub fn stop_requested(&self, id: &str) -> Option<String> {
        fs::read_to_string(self.folder_of(id).ok()?.join(STOP_REQUEST)).ok()
    }

    /// Forgets a request to stop, which has been obeyed or overruled.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it cannot be removed.
    pub fn clear_stop_request(&self, id: &str) -> Result<(), StoreError> {
        let path = self.folder_of(id)?.join(STOP_REQUEST);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(io_error(&path, source)),
            _ => Ok(()),
        }
    }

    fn folder_of(&self, id: &str) -> Result<PathBuf, StoreError> {
        if !is_id(id) {
            return Err(StoreError::BadId(id.chars().take(MOST_ID_CHARS).collect()));
        }
        Ok(self.folder.join(id))
    }
}

/// Ids are single, visible path components on every file system.
fn is_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.len() <= MOST_ID_CHARS && !id.starts_with('.') && id.chars().all(allowed)
}

fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_of_format_1_reads_as_one_of_a_scenario() {
        let text = r#"{"scenario":"plan","scenario_toml":"x","catalog":"chapter","latency":{"distribution":"constant","ms":5},"clock":"real"}"#;
        let launch: Launch = serde_json::from_str(text).unwrap();
        let model = Model::Scripted {
            scenario: "plan".to_owned(),
            scenario_toml: "x".to_owned(),
            latency: Latency::Constant { ms: 5 },
        };
        assert_eq!(launch.model, model);
    }

    #[test]
    fn a_record_keeps_every_digit_that_a_provider_can_claim() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::new(folder.path());
        let prices = crate::pricing::PriceList::builtin().unwrap();
        let settings = crate::run::RunSettings::new(prices.all()[0].clone());
        let id = store.claim(None).unwrap();
        let mut run = RunState::new(&id, settings, "", "?");
        run.usage.prompt_tokens = u64::MAX;
        run.usage.completion_tokens = (1 << 53) + 1;
        let launch = Launch {
            model: Model::Endpoint {
                base_url: "http://h/v1".to_owned(),
                model: "m".to_owned(),
                delivery: Delivery::Whole,
            },
            catalog: CatalogKind::Chapter,
            clock: ClockKind::Real,
        };
        let record = Record::new(launch, run);
        store.save(&record).unwrap();
        assert_eq!(store.load(&id).unwrap(), record);
    }

    #[test]
    fn a_launch_against_an_endpoint_is_stored_in_three_words_and_reads_back() {
        let launch = Launch {
            model: Model::Endpoint {
                base_url: "http://h/v1".to_owned(),
                model: "m".to_owned(),
                delivery: Delivery::StreamedWithUsage,
            },
            catalog: CatalogKind::Chapter,
            clock: ClockKind::Real,
        };
        let text = serde_json::to_string(&launch).unwrap();
        let expected = r#"{"base_url":"http://h/v1","model":"m","delivery":"streamed_with_usage","catalog":"chapter","clock":"real"}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Launch>(&text).unwrap(), launch);
    }
}
