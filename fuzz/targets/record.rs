//! A file of recorded runs, in the format that it shows and in the one that its first byte names.
#![no_main]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use loopmeter::record::{Format, Import, SuccessMark};

fuzz_target!(|bytes: &[u8]| {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder"));
    // A file that ends otherwise is read otherwise: a line each, or all of it.
    let endings = ["jsonl", "json", "traj"];
    let ending = bytes.len() % endings.len();
    let file = folder.path().join("records").with_extension(endings[ending]);
    std::fs::write(&file, bytes).expect("a file");
    read(&file, None);
    if let Some(first) = bytes.first() {
        let format = Format::ALL[usize::from(*first) % Format::ALL.len()];
        read(&file, Some(format));
    }
});

fn read(file: &PathBuf, format: Option<Format>) {
    let import = Import {
        files: vec![file.clone()],
        format,
        success: SuccessMark::default(),
    };
    let mut taken = 0_u64;
    let imported = import
        .each(
            &mut |_| ControlFlow::Continue(()),
            |recording| recording.counted(),
            |_| taken += 1,
        )
        .expect("the file is there");
    let runs: u64 = imported.formats.values().map(|of| of.runs).sum();
    assert_eq!(runs, taken);
}
