//! The list of dependencies is the one of `Cargo.toml`, with the licences that the crates have.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]
#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A row of the list.
struct Row {
    heading: String,
    purpose: String,
    licence: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn listed() -> BTreeMap<String, Row> {
    let text = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let (mut heading, mut rows) = (String::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("## ") {
            words.clone_into(&mut heading);
        }
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        if let ["", name, purpose, licence, ""] = cells[..]
            && let Some(name) = name.strip_prefix('`').and_then(|it| it.strip_suffix('`'))
        {
            let row = Row {
                heading: heading.clone(),
                purpose: purpose.to_owned(),
                licence: licence.to_owned(),
            };
            assert!(rows.insert(name.to_owned(), row).is_none(), "{name} twice");
        }
    }
    rows
}

fn names(manifest: &toml::Table, key: &str) -> BTreeSet<String> {
    let table = manifest.get(key).and_then(toml::Value::as_table);
    table
        .into_iter()
        .flat_map(|table| table.keys().cloned())
        .collect()
}

#[test]
fn every_direct_dependency_is_listed_with_what_it_is_for_and_nothing_else_is() {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let mut shipped = names(&manifest, "dependencies");
    for (_, target) in manifest["target"].as_table().unwrap() {
        shipped.extend(names(target.as_table().unwrap(), "dependencies"));
    }
    let mut around = names(&manifest, "dev-dependencies");
    around.extend(names(&manifest, "build-dependencies"));
    around.retain(|name| !shipped.contains(name));

    let rows = listed();
    let under = |heading: &str| -> BTreeSet<String> {
        let rows = rows.iter().filter(|(_, row)| row.heading == heading);
        rows.map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(under("In the program"), shipped);
    assert_eq!(under("To build and to test it"), around);
    assert!(rows.values().all(|row| !row.purpose.is_empty()));
}

#[test]
fn the_licences_are_those_that_the_crates_name() {
    let metadata = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .output()
        .unwrap();
    if !metadata.status.success() {
        println!("not every crate of every platform is here: not compared");
        return;
    }
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let mut compared = 0;
    for (name, row) in listed() {
        let named = packages.iter().filter(|package| package["name"] == *name);
        let licences: BTreeSet<_> = named.filter_map(|it| it["license"].as_str()).collect();
        // A crate of a feature that is off is in no tree.
        if !licences.is_empty() {
            assert!(
                licences.contains(row.licence.as_str()),
                "{name}: {licences:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}
