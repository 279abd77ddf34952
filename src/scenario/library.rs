//! Where scenarios are found by name.

use std::fs;
use std::path::Path;

use include_dir::{Dir, File, include_dir};

use super::{AnyScenario, Scenario};
use crate::document::{Document, ReadError, suggest};

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/experiments/scenarios");

/// Why a scenario could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// No scenario has this name.
    #[error("unknown scenario `{name}`\n  help: {}", self.help())]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// All names that there are.
        known: Vec<String>,
    },
    /// It exists and cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl ScenarioError {
    /// What to do, apart from what is wrong.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { name, .. } if AnyScenario::named(name).is_some() => {
                "it plays on the wire only, with the tools of whoever asks: use it with `serve`, \
                 `meter` or `probe`"
                    .to_owned()
            }
            Self::Unknown { name, known } => suggest(name, "known scenarios", known)
                .unwrap_or_else(|| "name a file that ends in `.toml`".to_owned()),
            Self::Read(_) => "correct the file".to_owned(),
        }
    }
}

/// The names of the scenarios that are part of the library, in alphabetical order.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    let mut names: Vec<_> = EMBEDDED.files().filter_map(name_of).collect();
    names.sort_unstable();
    names
}

fn name_of(file: &File<'static>) -> Option<&'static str> {
    file.path().file_name()?.to_str()?.strip_suffix(".toml")
}

impl Scenario {
    /// The scenario of this name that is part of the library.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let file = EMBEDDED.files().find(|file| name_of(file) == Some(name))?;
        let text = file.contents_utf8()?;
        let document = Document::parse(&format!("<embedded {name}.toml>"), text).ok()?;
        Self::from_document(name, &document).ok()
    }

    /// The scenario that `reference` names. A reference that ends in `.toml` is a path, relative
    /// to `base`; any other is a name: of a file in the folder `scenarios` of `base`, or else of
    /// a scenario that is part of the library.
    ///
    /// # Errors
    ///
    /// There is no such scenario, or it cannot be used.
    pub fn load(reference: &str, base: &Path) -> Result<Self, ScenarioError> {
        if Path::new(reference).extension() == Some("toml".as_ref()) {
            return Ok(Self::read(&base.join(reference))?);
        }
        let folder = base.join("scenarios");
        let found = names_in(&folder);
        if found.iter().any(|name| name == reference) {
            return Ok(Self::read(&folder.join(format!("{reference}.toml")))?);
        }
        Self::builtin(reference).ok_or_else(|| {
            let builtin = builtin_names().into_iter().map(str::to_owned);
            let mut known: Vec<_> = builtin.chain(found).collect();
            known.sort_unstable();
            known.dedup();
            ScenarioError::Unknown {
                name: reference.to_owned(),
                known,
            }
        })
    }
}

/// The scenarios in a folder; none if it cannot be listed.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let file_name = entry.file_name().into_string().ok()?;
            Some(file_name.strip_suffix(".toml")?.to_owned())
        })
        .collect()
}
