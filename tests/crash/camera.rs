//! Takes a picture of a folder at every point of a write: what a process that dies there leaves.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use loopmeter::files::{Point, Reach};

/// All files of a folder, by name.
pub(crate) type Picture = BTreeMap<PathBuf, Vec<u8>>;

/// Takes pictures.
#[derive(Clone)]
pub(crate) struct Camera {
    folder: PathBuf,
    taken: Arc<Mutex<Vec<(Point, Picture)>>>,
}

impl Camera {
    pub(crate) fn over(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            taken: Arc::default(),
        }
    }

    pub(crate) fn reach(&self) -> Arc<Reach> {
        let camera = self.clone();
        Arc::new(move |point| {
            let picture = picture(&camera.folder)?;
            camera.taken.lock().unwrap().push((point, picture));
            Ok(())
        })
    }

    pub(crate) fn pictures(&self) -> Vec<(Point, Picture)> {
        std::mem::take(&mut *self.taken.lock().unwrap())
    }
}

pub(crate) fn picture(folder: &Path) -> io::Result<Picture> {
    let mut files = Picture::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

/// Makes the folder again. Folders without files are not on a picture; no run depends on one.
pub(crate) fn develop(picture: &Picture, folder: &Path) {
    for (name, bytes) in picture {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
