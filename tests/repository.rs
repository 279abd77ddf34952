//! Rules of the repository that hold themselves: the order of modules, the size of files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// The modules, bottom first. A module imports only from those before it, and from itself.
const ORDER: &[&str] = &[
    "money",
    "letters",
    "loopback",
    "clock",
    "message",
    "event",
    "files",
    "document",
    "world",
    "tokens",
    "pricing",
    "scenario",
    "tools",
    "provider",
    "run",
    "trace",
    "store",
    "record",
    "server",
    "results",
    "latency",
    "meter",
    "probe",
    "whatif",
    "experiment",
    "lab",
    "report",
    "cli",
];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The top-level module that a source file belongs to.
fn module_of(file: &Path) -> String {
    let inside = file.strip_prefix(root().join("src")).unwrap();
    let first = inside
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_str()
        .unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The top-level modules that a line of code names by `crate::`.
fn imports(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_lowercase() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

fn place(module: &str) -> usize {
    let known = ORDER.iter().position(|name| *name == module);
    known.unwrap_or_else(|| panic!("module {module:?} has no place in the order"))
}

#[test]
fn a_module_imports_only_earlier_ones() {
    let mut upward = Vec::new();
    for file in rust_files(&root().join("src")) {
        let module = module_of(&file);
        if matches!(module.as_str(), "lib" | "main") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let upwards =
                imports(code).filter(|name| !name.is_empty() && place(name) > place(&module));
            upward.extend(upwards.map(|name| format!("{}:{}: {name}", file.display(), number + 1)));
        }
    }
    assert!(
        upward.is_empty(),
        "imports against the order:\n{}",
        upward.join("\n")
    );
}

#[test]
fn an_upward_import_would_be_seen() {
    let seen: Vec<_> =
        imports("use crate::cli::Exit; let x = crate::money::PicoUsd::ZERO;").collect();
    assert_eq!(seen, ["cli", "money"]);
    assert!(place("cli") > place("money"));
}

#[test]
fn only_the_tokens_module_names_the_tokenizer() {
    for file in rust_files(&root().join("src")) {
        let names_it = fs::read_to_string(&file).unwrap().contains("tiktoken_rs");
        assert!(
            !names_it || module_of(&file) == "tokens",
            "{}",
            file.display()
        );
    }
}

#[test]
fn source_files_stay_readable_in_one_sitting() {
    let long: Vec<_> = rust_files(&root().join("src"))
        .into_iter()
        .map(|file| (fs::read_to_string(&file).unwrap().lines().count(), file))
        .filter(|(lines, _)| *lines > 520)
        .collect();
    assert!(long.is_empty(), "over 520 lines: {long:?}");
}

#[test]
fn the_texts_speak_of_the_project_alone() {
    // Spelled in halves, so that this file is not a finding of its own.
    let banned = [
        ["/ro", "ot/"],
        ["../sha", "red"],
        ["/wo", "rk/"],
        ["TO", "DO"],
        ["FIX", "ME"],
    ];
    let mut found = Vec::new();
    for folder in [
        "src",
        "tests",
        "benches",
        "fuzz/targets",
        "experiments",
        "docs",
        "assets",
        "notebooks",
    ] {
        for file in texts(&root().join(folder)) {
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let hits = banned
                .iter()
                .map(|halves| halves.concat())
                .filter(|word| text.contains(word));
            found.extend(hits.map(|word| format!("{}: {word}", file.display())));
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_test_that_a_promise_names_is_there() {
    let promises = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let code: String = [root().join("src"), root().join("tests")]
        .iter()
        .flat_map(|folder| rust_files(folder))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let spans = promises.split('`').skip(1).step_by(2);
    let tests: Vec<_> = spans
        .filter_map(|span| span.rsplit_once("::"))
        .map(|(_, name)| name)
        .filter(|name| name.contains('_'))
        .collect();
    assert!(tests.len() > 20, "{tests:?}");
    let missing: Vec<_> = tests
        .iter()
        .filter(|name| !code.contains(&format!("fn {name}()")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn texts(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let visible = paths.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        !name.starts_with('.') && name != "node_modules"
    });
    visible
        .flat_map(|path| {
            if path.is_dir() {
                texts(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
