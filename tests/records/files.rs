//! Which files are read, of those that are named and those in folders, and which are told.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use loopmeter::record::{Format, Import, Seen, SuccessMark, record_files};

use super::{fixtures, import, short};

#[test]
fn what_cannot_be_read_in_a_folder_is_told_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("b.jsonl"), short("a")).unwrap();
    fs::write(path("c.jsonl.gz"), b"\x1f\x8b\x08\0").unwrap();
    fs::write(path("d.json"), b"\x28\xb5\x2f\xfd").unwrap();
    fs::write(path("notes.gz"), b"\x1f\x8b\x08\0").unwrap();
    std::os::unix::fs::symlink(path("nothing"), path("a.jsonl")).unwrap();
    let found = record_files(&[folder.path().to_owned()]).unwrap();
    assert_eq!(found.files, [path("b.jsonl")]);
    let told: Vec<String> = found.unreadable.iter().map(ToString::to_string).collect();
    let about = |name: &str, words: &str| {
        let told = told
            .iter()
            .filter(|told| told.contains(name) && told.contains(words));
        assert_eq!(told.count(), 1, "{name}: {words}");
    };
    assert_eq!(told.len(), 3, "{told:?}");
    about("a.jsonl", "cannot be read");
    about("c.jsonl.gz", "compressed: unpack it first");
    about("d.json", "compressed: unpack it first");
    for named in ["a.jsonl", "d.json"] {
        assert!(record_files(&[path(named)]).is_err(), "{named}");
    }
}

#[test]
fn pipes_and_devices_in_a_folder_are_told_and_left_out_and_a_pipe_that_is_named_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(path("a.jsonl")).status();
    assert!(made.unwrap().success());
    fs::write(path("b.jsonl"), short("a")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path("z.jsonl")).unwrap();
    let found = record_files(&[folder.path().to_owned()]).unwrap();
    assert_eq!(found.files, [path("b.jsonl")]);
    for (told, name) in found.unreadable.iter().zip(["a.jsonl", "z.jsonl"]) {
        assert_eq!(told.path, path(name));
        assert!(told.to_string().contains("no plain file"), "{told}");
    }
    assert_eq!(found.unreadable.len(), 2);
    let named = record_files(&[path("a.jsonl")]).unwrap();
    assert_eq!(named.files, [path("a.jsonl")]);
}

#[test]
fn a_file_that_cannot_be_read_on_is_told_and_the_next_ones_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.jsonl");
    fs::write(&good, short("a")).unwrap();
    let missing = folder.path().join("missing.jsonl");
    let import = Import {
        files: vec![folder.path().to_owned(), missing, good],
        ..Import::default()
    };
    let (mut told, mut runs) = (Vec::new(), 0);
    let mut watch = |seen: Seen<'_>| {
        if let Seen::Skipped(piece) = seen {
            told.push((piece.place.line, piece.what.clone()));
        }
        ControlFlow::Continue(())
    };
    let imported = import.each(&mut watch, |_| (), |()| runs += 1).unwrap();
    assert_eq!((imported.files, imported.skipped, runs), (3, 2, 1));
    for (line, what) in told {
        assert_eq!(line, 1);
        assert!(what.starts_with("cannot be read on: "), "{what}");
    }
}

#[test]
fn a_record_that_was_copied_into_another_file_is_one() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/records");
    let copied = [
        Format::Chat,
        Format::ClaudeCode,
        Format::Codex,
        Format::SweAgent,
    ];
    for format in copied {
        let folder = tempfile::tempdir().unwrap();
        for copy in ["one", "two"] {
            let folder = folder.path().join(copy);
            fs::create_dir_all(&folder).unwrap();
            for file in record_files(&[records.join(format.as_str())])
                .unwrap()
                .files
            {
                fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
            }
        }
        let (once, twice) = (
            fixtures(format),
            import(&[folder.path().to_owned()], &SuccessMark::Usual),
        );
        let (once, again) = (once.recordings.len(), twice.recordings.len());
        assert_eq!(once, again, "{}", format.as_str());
        assert!(twice.imported.duplicates >= once as u64);
    }
}

#[test]
fn a_file_that_is_named_twice_or_by_a_link_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.jsonl"), short("a")).unwrap();
    std::os::unix::fs::symlink(path("a.jsonl"), path("b.jsonl")).unwrap();
    let found = record_files(&[path("a.jsonl"), folder.path().to_owned()]).unwrap();
    assert_eq!((found.files, found.again), (vec![path("a.jsonl")], 2));
}
