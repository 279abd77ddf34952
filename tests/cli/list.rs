//! `loopmeter list`, `schema` and `completions` from outside.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Folder, repository};
use serde_json::Value;

#[test]
fn there_is_a_list_of_everything_that_can_be_chosen() {
    let folder = Folder::empty();
    for what in ["experiments", "scenarios"] {
        let printed = folder.run(&["list", what]).ok();
        insta::assert_snapshot!(format!("list_{what}"), printed);
    }
}

#[test]
fn a_list_of_ones_own_experiments_is_theirs_alone() {
    let folder = Folder::with(&["experiments"]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(folder.run(&["list", "experiments", "empty"]).ok(), "");
    let one = folder
        .run(&["list", "experiments", "experiments/plan.toml"])
        .ok();
    assert_eq!(one.lines().count(), 1);
    assert!(one.starts_with("plan "), "{one}");
}

/// The committed schemas, which editors find by the first line of each file.
#[test]
fn the_committed_schemas_are_the_programs() {
    for kind in ["experiment", "scenario"] {
        let printed = Folder::empty().run(&["schema", kind]).ok();
        let file = repository().join(format!("docs/schema/{kind}.json"));
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == printed,
            "run `loopmeter schema {kind} > docs/schema/{kind}.json`"
        );
    }
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
    entries.filter(is_toml).collect()
}

#[test]
fn every_shipped_file_is_valid_under_the_schema_that_it_names() {
    let experiments = repository().join("experiments");
    let mut checked = 0;
    for (folder, kind) in [
        ("", "experiment"),
        ("examples", "experiment"),
        ("scenarios", "scenario"),
    ] {
        let schema = Folder::empty().run(&["schema", kind]).ok();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for file in toml_files(&experiments.join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let value: Value = toml::from_str(&text).unwrap();
            if let Err(error) = validator.validate(&value) {
                panic!("{}: {error}", file.display());
            }
            if let Some(named) = text.strip_prefix("#:schema ") {
                let named = named.lines().next().unwrap();
                let named = file.parent().unwrap().join(named);
                assert!(
                    named.ends_with(format!("{kind}.json")),
                    "{}",
                    named.display()
                );
                assert!(named.is_file(), "{}", named.display());
            }
            checked += 1;
        }
    }
    assert!(checked >= 35, "{checked}");
}

#[test]
fn shells_get_scripts_that_know_every_verb() {
    let folder = Folder::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&["completions", shell]).ok();
        for verb in ["run", "check", "agent", "list", "schema", "completions"] {
            assert!(script.contains(verb), "{shell} knows no {verb}");
        }
        assert!(!script.contains('\u{fffd}'), "{shell}");
    }
    let unknown = folder.run(&["completions", "command.com"]).refused();
    assert!(unknown.contains("bash"), "{unknown}");
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let folder = Folder::empty();
    for arguments in [&["--help"][..], &["run", "--help"], &["check", "--help"]] {
        let help = folder.run(arguments).ok();
        assert!(help.contains("Examples:\n  loopmeter "), "{help}");
    }
    let help = folder.run(&["--help"]).ok();
    assert!(help.contains("Exit codes: 0 fine"), "{help}");
    folder.run(&["--version"]).ok();
    folder.run(&[]).refused();
}
