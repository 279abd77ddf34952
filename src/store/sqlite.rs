//! Runs in one SQLite database: a row for each, with columns to look for them by.
//!
//! The database is in WAL mode with full synchronisation: a saved run survives the process, and
//! the machine. It is looked after on the way: SQLite itself goes on writing to a file that was
//! removed, and that nobody will find again. What its tools write to, its trace and its lock are in `<file>.runs/<id>/`, because
//! a lock has to die with its holder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, TransactionBehavior, params};

use super::{Filter, Folders, Found, Record, Store, StoreError};
use crate::files::{Identity, Point, Reach, identity, not_plain, unwatched};
use crate::run::StopReason;
use crate::store::error::io_error;

/// The version of the tables, kept in the database as `user_version`.
const SCHEMA: u32 = 1;

/// What marks a database as one of runs: `lmtr`, kept in it as `application_id`.
const OURS: i64 = 0x6c6d_7472;

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a switch to the log is tried where others are quicker each time.
const MOST_SWITCHES: u32 = 100;

const CREATE: &str = "\
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    turns INTEGER NOT NULL,
    cost_usd TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS runs_by_status ON runs (status);
PRAGMA application_id = 0x6c6d7472;
PRAGMA user_version = 1;";

const SAVE: &str = "\
INSERT INTO runs (id, status, reason, turns, cost_usd, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, reason = excluded.reason,
    turns = excluded.turns, cost_usd = excluded.cost_usd, record = excluded.record";

const ALL: &str = "SELECT id, status, record FROM runs ORDER BY id";
const BY_STATUS: &str = "SELECT id, status, record FROM runs WHERE status = ?1 ORDER BY id";

/// Runs in one database.
pub struct SqliteStore {
    path: PathBuf,
    folders: Folders,
    /// Opened when it is first needed: looking for runs makes no file.
    open: Mutex<Option<Open>>,
    reach: Arc<Reach>,
}

/// A database that is open.
struct Open {
    connection: Connection,
    /// Its file, and its write-ahead log, each by its path.
    files: Vec<(PathBuf, Identity)>,
}

/// A row as it stands, whatever is in it: a damaged one hides none of the others.
struct Stored {
    id: String,
    status: String,
    record: Vec<u8>,
}

impl SqliteStore {
    /// The store in the database `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".runs");
        Self {
            path: path.to_owned(),
            folders: Folders::new(Path::new(&beside)),
            open: Mutex::default(),
            reach: Arc::new(unwatched()),
        }
    }

    /// The same, with `reach` told of every point of a write at which the process could die, as
    /// far as they can be seen from outside the database; for tests of just that.
    #[must_use]
    pub fn watched_by(mut self, reach: Arc<Reach>) -> Self {
        self.reach = reach;
        self
    }

    /// Asks the database, or returns `None` where there is none yet.
    fn read<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let there = self.path.try_exists();
        if !there.map_err(|source| io_error(&self.path, source))? {
            return Ok(None);
        }
        self.with(|connection| ask(connection)).map(Some)
    }

    fn with<T>(
        &self,
        ask: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        // A panic elsewhere leaves a whole connection, and its transaction rolled back.
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match slot.as_mut() {
            Some(open) => open,
            None => slot.insert(self.open()?),
        };
        open.still_there()?;
        let asked = ask(&mut open.connection);
        open.still_there()?;
        asked.map_err(|source| self.error(source))
    }

    fn open(&self) -> Result<Open, StoreError> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        }
        if std::fs::metadata(&self.path).is_ok_and(|there| !there.is_file()) {
            return Err(io_error(&self.path, not_plain()));
        }
        let mut connection = Connection::open(&self.path).map_err(|source| self.error(source))?;
        let kind = Kind::of(&connection).map_err(|source| self.error(source))?;
        match kind {
            Kind::Empty | Kind::Ours => {}
            Kind::Newer(found) => {
                let path = self.path.clone();
                return Err(StoreError::NewerTables { path, found });
            }
            Kind::Foreign => {
                let place = self.path.display().to_string();
                let why = "it is a database of another program".to_owned();
                return Err(StoreError::Damaged { place, why });
            }
        }
        prepare(&mut connection, kind).map_err(|source| self.error(source))?;
        Ok(Open::new(connection, &self.path))
    }

    fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Sqlite {
            path: self.path.clone(),
            source,
        }
    }

    /// The record of a row, if row and record agree.
    fn decode(&self, row: &Stored) -> Result<Record, StoreError> {
        let place = format!("{}, run {}", self.path.display(), row.id);
        let record = Record::from_bytes(&row.record, &row.id, &place)?;
        let status = record.run.status.as_str();
        if status != row.status {
            let why = format!("its row says {:?} and its record {status:?}", row.status);
            return Err(StoreError::Damaged { place, why });
        }
        Ok(record)
    }
}

impl Open {
    /// `connection`, which has read or written: so its log is there, and stays as long as it does.
    fn new(connection: Connection, path: &Path) -> Self {
        let mut log = path
            .canonicalize()
            .unwrap_or_else(|_| path.to_owned())
            .into_os_string();
        log.push("-wal");
        let found = |path: PathBuf| identity(&path).map(|file| (path, file));
        let files = [path.to_owned(), log.into()].into_iter().filter_map(found);
        Self {
            connection,
            files: files.collect(),
        }
    }

    /// Fails where a path leads to another file than the one that is open, or to none.
    fn still_there(&self) -> Result<(), StoreError> {
        let moved = self
            .files
            .iter()
            .find(|(path, file)| identity(path).as_ref() != Some(file));
        moved.map_or(Ok(()), |(path, _)| {
            Err(StoreError::Moved { path: path.clone() })
        })
    }
}

/// What a database is, before anything is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It has nothing in it.
    Empty,
    /// It has runs in it.
    Ours,
    /// It has runs in it, in tables of a later version.
    Newer(u32),
    /// It has something else in it.
    Foreign,
}

impl Kind {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        connection.busy_timeout(PATIENCE)?;
        // All of one moment: another process may be making the tables.
        let moment = connection.unchecked_transaction()?;
        let number = |sql| moment.query_row(sql, [], |row| row.get::<_, i64>(0));
        let (application, version) = (
            number("PRAGMA application_id")?,
            number("PRAGMA user_version")?,
        );
        // No version of this program has a negative one.
        Ok(match (application, u32::try_from(version)) {
            (OURS, Ok(..=SCHEMA)) => Self::Ours,
            (OURS, Ok(newer)) => Self::Newer(newer),
            (0, Ok(0)) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Self::Empty,
            _ => Self::Foreign,
        })
    }
}

/// Makes the tables, if need be, and sees to it that what is saved is on the disk.
fn prepare(connection: &mut Connection, kind: Kind) -> rusqlite::Result<()> {
    if kind == Kind::Empty {
        log_ahead(connection)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(CREATE)?;
        transaction.commit()?;
    }
    connection.pragma_update(None, "synchronous", "FULL")
}

/// Switches to a write-ahead log. Unlike a transaction, the switch does not wait for others that
/// make the same database at this moment: it fails, so one waits until nobody reads or writes.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..MOST_SWITCHES {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
            }
            switched => return switched,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

impl Stored {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            id: text(row.get_ref(0)?.as_bytes()?),
            status: text(row.get_ref(1)?.as_bytes()?),
            record: row.get_ref(2)?.as_bytes()?.to_vec(),
        })
    }
}

impl Store for SqliteStore {
    fn folders(&self) -> &Folders {
        &self.folders
    }

    fn place(&self) -> &Path {
        &self.path
    }

    fn has(&self, id: &str) -> Result<bool, StoreError> {
        self.folders.of(id)?;
        let found = self.read(|connection| {
            connection
                .prepare("SELECT 1 FROM runs WHERE id = ?1")?
                .exists([id])
        })?;
        Ok(found.unwrap_or(false))
    }

    fn write(&self, id: &str, record: &Record) -> Result<(), StoreError> {
        let unwritable = |why: String| StoreError::Unwritable {
            id: id.to_owned(),
            why,
        };
        let bytes = record.to_bytes().map_err(|e| unwritable(e.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|e| unwritable(e.to_string()))?;
        let (run, path) = (&record.run, &self.path);
        let reach = |point| (self.reach)(point).map_err(|source| io_error(path, source));
        reach(Point::Begun)?;
        self.with(|connection| {
            let row = params![
                id,
                run.status.as_str(),
                run.interruption.as_ref().map(StopReason::as_str),
                run.turns,
                run.cost.to_string(),
                text
            ];
            connection.prepare(SAVE)?.execute(row)
        })?;
        reach(Point::Done)
    }

    fn load(&self, id: &str) -> Result<Record, StoreError> {
        self.folders.of(id)?;
        let row = self.read(|connection| {
            connection
                .prepare("SELECT id, status, record FROM runs WHERE id = ?1")?
                .query_row([id], Stored::of)
                .optional()
        })?;
        let row = row.flatten().ok_or_else(|| self.unknown(id))?;
        self.decode(&row)
    }

    fn find(&self, filter: Filter) -> Result<Vec<Found>, StoreError> {
        let rows = self.read(|connection| match filter.status {
            None => {
                let mut statement = connection.prepare(ALL)?;
                let rows = statement.query_map([], Stored::of)?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            }
            Some(status) => {
                let mut statement = connection.prepare(BY_STATUS)?;
                let rows = statement.query_map([status.as_str()], Stored::of)?;
                rows.collect()
            }
        })?;
        let found = rows.unwrap_or_default().into_iter().map(|row| Found {
            record: self.decode(&row),
            id: row.id,
        });
        Ok(found.collect())
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.path).finish()
    }
}
