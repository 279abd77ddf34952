//! Accepting what a check measured as what is committed from now on.

use std::fs;

use super::publish::derive;
use super::{CELLS, Lab, LabError, Measured, TURNS, committed_bytes, remove_left};
use crate::experiment::Experiment;
use crate::files::{TemporaryFolder, WriteError, write_file};

/// What was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// The files that have other bytes than before, in the order in which they were put in place.
    pub files: Vec<&'static str>,
}

/// Puts rows that were compared with the committed ones in their place, and everything that
/// follows from them. All files are written beside the results first, and only then moved to where
/// they belong, the digests last; where one cannot be written, none is moved.
///
/// # Errors
/// [`LabError`]; where it is not a file that could not be moved, nothing has changed.
pub fn accept(
    experiment: &Experiment,
    lab: &Lab<'_>,
    rows: &Measured,
) -> Result<Accepted, LabError> {
    let folder = lab.folder(experiment);
    let at = |path: &std::path::Path| {
        let path = path.to_owned();
        move |error: std::io::Error| WriteError {
            path,
            problem: error.into(),
        }
    };
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    remove_left(lab.results, &folder);
    let beside = TemporaryFolder::in_place(lab.results).map_err(at(lab.results))?;
    for (file, rows) in [(CELLS, &rows.cells), (TURNS, &rows.turns)] {
        let csv = rows.to_csv().map_err(LabError::Csv)?;
        write_file(&beside.path().join(file), &csv)?;
    }
    let derived = derive(experiment, beside.path(), lab.draw)?;
    let mut accepted = Accepted::default();
    for file in derived.files {
        let (from, to) = (beside.path().join(file), folder.join(file));
        if committed_bytes(beside.path(), file)? == committed_bytes(&folder, file)? {
            continue;
        }
        fs::rename(&from, &to).map_err(at(&to))?;
        accepted.files.push(file);
    }
    Ok(accepted)
}
