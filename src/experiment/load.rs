//! Finding experiment files, and reading all of them before anything is said about one.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::{Experiment, Home, ModelEndpoint};
use crate::document::{Document, Problem, Problems, ReadError};

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/experiments");

/// Where experiments are looked for if nobody says.
const FOLDER: &str = "experiments";

/// Experiments that were read and checked, in the order in which they were named.
#[derive(Debug, Default)]
pub struct Experiments {
    list: Vec<Experiment>,
}

/// Everything that is wrong with the files.
#[derive(Debug)]
pub struct LoadError {
    errors: Vec<ReadError>,
}

impl Experiments {
    /// The experiments in `paths`: files, or folders of which every `.toml` is meant and no
    /// subfolder. Without paths, those of `./experiments`, or the embedded ones where there is no
    /// such folder.
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in any of them.
    pub fn load(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let folder = Path::new(FOLDER);
        match paths {
            [] if folder.is_dir() => Self::read(&[folder.to_owned()]),
            [] => Self::embedded(),
            paths => Self::read(paths),
        }
    }

    /// The experiments that are part of the program.
    ///
    /// # Errors
    /// [`LoadError`], which a test keeps from happening.
    pub fn embedded() -> Result<Self, LoadError> {
        let mut gathered = Gathered::default();
        let mut files: Vec<_> = EMBEDDED.files().collect();
        files.sort_by_key(|file| file.path());
        for file in files {
            let Some(name) = slug(file.path()) else {
                continue;
            };
            let origin = format!("<embedded {name}.toml>");
            let text = file.contents_utf8().unwrap_or_default();
            let document = Document::parse(&origin, text).map_err(ReadError::Invalid);
            gathered.add(&name, document, &Home::Embedded);
        }
        gathered.finish()
    }

    fn read(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut gathered = Gathered::default();
        for path in paths {
            match files_of(path) {
                Ok(files) => files.iter().for_each(|file| gathered.read(file)),
                Err(source) => {
                    gathered.errors.push(ReadError::Io {
                        path: path.clone(),
                        source,
                    });
                }
            }
        }
        gathered.finish()
    }

    /// The experiments in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Experiment> {
        self.list.iter()
    }

    /// Gives those that ask a real model this one.
    pub fn give_endpoint(&mut self, endpoint: &ModelEndpoint) {
        let asking = self.list.iter_mut();
        for experiment in asking.filter(|experiment| experiment.needs_endpoint()) {
            experiment.give_endpoint(endpoint.clone());
        }
    }

    /// The experiment of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Experiment> {
        self.list
            .iter()
            .find(|experiment| experiment.name() == name)
    }

    /// The names in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.list.iter().map(Experiment::name).collect()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<'e> IntoIterator for &'e Experiments {
    type Item = &'e Experiment;
    type IntoIter = std::slice::Iter<'e, Experiment>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl LoadError {
    /// Each file that could not be used, with what is wrong in it.
    #[must_use]
    pub fn errors(&self) -> &[ReadError] {
        &self.errors
    }
}

/// One error after the other, each on lines of its own; in the alternate form with the lines of
/// the texts.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fmt::Display::fmt(error, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

/// What was read so far.
#[derive(Default)]
struct Gathered {
    list: Vec<Experiment>,
    errors: Vec<ReadError>,
    /// Where each name and each claim was first seen.
    names: BTreeMap<String, String>,
    claims: BTreeMap<String, String>,
}

impl Gathered {
    fn read(&mut self, path: &Path) {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        match (slug(path), Document::read(path)) {
            (Some(name), document) => self.add(&name, document, &Home::Folder(folder)),
            (None, Err(error)) => self.errors.push(error),
            (None, Ok(document)) => {
                let message = "the file does not have the name of an experiment";
                let help = "call it `name.toml`: results go into a folder `name`";
                let problem = document.problem("", message, Some(help));
                self.errors.push(ReadError::Invalid(Problems::one(problem)));
            }
        }
    }

    fn add(&mut self, name: &str, document: Result<Document, ReadError>, home: &Home) {
        let read = document.and_then(|document| {
            Problems::check(not_an_experiment(&document).into_iter().collect())?;
            let experiment = Experiment::from_document(name, &document, home)?;
            Problems::check(self.clashes(&experiment, &document))?;
            Ok(experiment)
        });
        match read {
            Ok(experiment) => self.list.push(experiment),
            Err(error) => self.errors.push(error),
        }
    }

    /// Names that another file has already.
    fn clashes(&mut self, experiment: &Experiment, document: &Document) -> Vec<Problem> {
        let mut problems = Vec::new();
        let origin = experiment.origin();
        if let Some(other) = self
            .names
            .insert(experiment.name.clone(), origin.to_owned())
        {
            let message = format!(
                "an experiment `{}` is in {other} already",
                experiment.name()
            );
            problems.push(document.problem("", &message, Some("rename one of the two files")));
        }
        for (index, claim) in experiment.readout().claims.iter().enumerate() {
            if let Some(other) = self.claims.insert(claim.id.clone(), origin.to_owned()) {
                let message = format!("a claim `{}` is in {other} already", claim.id);
                let pointer = format!("/claim/{index}/id");
                problems.push(document.problem(&pointer, &message, Some("rename one of the two")));
            }
        }
        problems
    }

    fn finish(self) -> Result<Experiments, LoadError> {
        if self.errors.is_empty() {
            Ok(Experiments { list: self.list })
        } else {
            Err(LoadError {
                errors: self.errors,
            })
        }
    }
}

/// What is said of a scenario among experiments, in place of all that it lacks as one of them.
fn not_an_experiment(document: &Document) -> Option<Problem> {
    document.json().get("step").filter(|step| step.is_array())?;
    let message = "this is a scenario, and not an experiment";
    let help = "move it into a folder `scenarios` beside the experiments, or name the experiment's \
                file instead of its folder";
    Some(document.problem_with_key("/step/0", message, Some(help)))
}

/// The files that a path stands for, in the order of their names.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    files.retain(|file| file.is_file() && slug(file).is_some());
    files.sort();
    Ok(files)
}

/// The name of an experiment file without `.toml`; none for other files, hidden ones and names
/// that cannot be printed.
fn slug(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".toml")?;
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(char::is_control);
    is_plain.then(|| name.to_owned())
}
