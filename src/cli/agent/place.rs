//! Where runs are kept, as it was typed.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::cli::exit::Failure;
use crate::store::{FileStore, Store};

#[derive(Debug, Args)]
pub(super) struct Place {
    /// The folder that holds the runs
    #[arg(long, default_value = ".loopmeter/runs", value_name = "DIR")]
    dir: PathBuf,
    /// The database that holds the runs, instead of a folder
    #[arg(long, value_name = "sqlite:FILE", conflicts_with = "dir")]
    store: Option<Database>,
}

/// A database, as `--store` names it.
#[derive(Clone, Debug)]
struct Database(PathBuf);

impl FromStr for Database {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("sqlite:") {
            Some(file) if !file.is_empty() => Ok(Self(file.into())),
            _ => Err("a store is sqlite:FILE; for a folder there is --dir".to_owned()),
        }
    }
}

impl Place {
    pub(super) fn store(&self) -> Result<Box<dyn Store>, Failure> {
        match &self.store {
            None => Ok(Box::new(FileStore::new(&self.dir))),
            Some(database) => sqlite(database),
        }
    }
}

#[cfg(feature = "sqlite")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the same shape with and without SQLite"
)]
fn sqlite(Database(path): &Database) -> Result<Box<dyn Store>, Failure> {
    Ok(Box::new(crate::store::SqliteStore::new(path)))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(Database(path): &Database) -> Result<Box<dyn Store>, Failure> {
    Err(Failure::WrongInput(format!(
        "{}: this loopmeter was built without SQLite; build it with the feature `sqlite`",
        path.display()
    )))
}
