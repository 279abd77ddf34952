//! Finding shards in folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{Manifest, NoManifest};
use super::merge::MergeError;
use super::{MANIFEST, Refusal};
use crate::files::read_plain;
use crate::lab::INPUTS;

/// How far below a folder that was named shards are looked for: `EXPERIMENT/shards/K-of-N`.
const DEPTH: usize = 3;

/// A shard that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its folder.
    pub folder: PathBuf,
    /// What its files are.
    pub manifest: Manifest,
    /// Its `inputs.json`, if it is there.
    pub(super) inputs: Option<Vec<u8>>,
}

/// The shards in these folders and a few levels below them, in the order of the paths. A manifest
/// stands for its folder.
///
/// # Errors
/// [`MergeError`] where there is none in one of the places, or its manifest cannot be read.
pub fn find(places: &[PathBuf]) -> Result<Vec<Found>, MergeError> {
    let mut folders = Vec::new();
    for place in places {
        let of_manifest = place.file_name().is_some_and(|name| name == MANIFEST) && place.is_file();
        let place = match place.parent() {
            Some(folder) if of_manifest && folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) if of_manifest => folder,
            _ => place,
        };
        let before = folders.len();
        search(place, DEPTH, &mut folders).map_err(|source| MergeError::Unreadable {
            path: place.to_owned(),
            source,
        })?;
        if folders.len() == before {
            return Err(MergeError::NoShard(place.to_owned()));
        }
    }
    let mut seen = Vec::new();
    // A folder that was named twice, or lies below another one that was named, is one.
    folders.retain(|folder| match fs::canonicalize(folder) {
        Ok(real) if seen.contains(&real) => false,
        Ok(real) => {
            seen.push(real);
            true
        }
        Err(_) => true,
    });
    folders.into_iter().map(read).collect()
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if folder.join(MANIFEST).is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.path().is_dir() {
            below.push(entry.path());
        }
    }
    below.sort_unstable();
    if let Some(depth) = depth.checked_sub(1) {
        for folder in below {
            search(&folder, depth, found)?;
        }
    }
    Ok(())
}

fn read(folder: PathBuf) -> Result<Found, MergeError> {
    let path = folder.join(MANIFEST);
    let unreadable = |source| MergeError::Unreadable {
        path: path.clone(),
        source,
    };
    let text = read_plain(&path).map_err(unreadable)?;
    let manifest = match Manifest::parse(&text) {
        Ok(manifest) => manifest,
        Err(NoManifest::Other(difference)) => {
            let again = None;
            return Err(Refusal::Other {
                folder,
                difference,
                again,
            }
            .into());
        }
        Err(NoManifest::Json(error)) => {
            let error = error.to_string();
            return Err(Refusal::Manifest { path, error }.into());
        }
    };
    let inputs = read_plain(&folder.join(INPUTS)).ok();
    Ok(Found {
        folder,
        manifest,
        inputs,
    })
}
