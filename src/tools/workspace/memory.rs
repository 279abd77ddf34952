//! A workspace in memory: what experiments use, thousands at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::MOST_FILE_BYTES;
use super::error::FileProblem;
use super::journal::JournalEntry;
use super::path::FilePath;
use super::template::{Files, Template};

/// The files start out shared with the template, and are copied when the first is deleted.
#[derive(Debug)]
pub(super) struct Memory {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    files: Arc<Files>,
    journal: Vec<JournalEntry>,
}

impl Memory {
    pub(super) fn new(template: &Template) -> Self {
        Self {
            state: Mutex::new(State {
                files: Arc::clone(template.files()),
                journal: Vec::new(),
            }),
        }
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.state().files.keys().cloned().collect()
    }

    pub(super) fn read(&self, path: &FilePath) -> Result<Vec<u8>, FileProblem> {
        let state = self.state();
        let Some(contents) = state.files.get(path.as_str()) else {
            return Err(absent(&state.files, path));
        };
        match u64::try_from(contents.len()) {
            Ok(bytes) if bytes > MOST_FILE_BYTES => Err(FileProblem::TooLarge { bytes }),
            _ => Ok(contents.to_vec()),
        }
    }

    pub(super) fn delete(&self, path: &FilePath, by: Option<&str>) -> Result<(), FileProblem> {
        let mut state = self.state();
        let entry = JournalEntry::deleted(path.as_str(), by);
        if state.files.contains_key(path.as_str()) {
            Arc::make_mut(&mut state.files).remove(path.as_str());
        } else if !state.journal.iter().any(|e| e.says_deleted(path.as_str())) {
            return Err(absent(&state.files, path));
        }
        state.journal.push(entry);
        Ok(())
    }

    pub(super) fn journal(&self) -> Vec<JournalEntry> {
        self.state().journal.clone()
    }

    /// Nothing panics between two changes of the state, so a poisoned lock still guards a whole one.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a path names that is not a file: a folder, if some file lies in it.
fn absent(files: &BTreeMap<String, Arc<[u8]>>, path: &FilePath) -> FileProblem {
    let folder = format!("{}/", path.as_str());
    let below = files.range(folder.clone()..).next();
    if path.as_str().is_empty() || below.is_some_and(|(name, _)| name.starts_with(&folder)) {
        FileProblem::Folder
    } else {
        FileProblem::Missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Workspace;

    #[test]
    fn a_run_never_sees_what_another_deleted() {
        let template = Template::chapter();
        let (mine, yours) = (
            Workspace::in_memory(&template),
            Workspace::in_memory(&template),
        );
        mine.delete("access.log").unwrap();
        assert_eq!(mine.list().unwrap().len(), 2);
        assert_eq!(yours.list().unwrap().len(), 3);
        assert_eq!(yours.journal().unwrap(), []);
        assert_eq!(Workspace::in_memory(&template).list().unwrap().len(), 3);
    }

    #[test]
    fn a_fresh_copy_shares_the_templates_files() {
        let template = Template::chapter();
        let memory = Memory::new(&template);
        assert!(Arc::ptr_eq(&memory.state().files, template.files()));
    }
}
