//! The versions that the experiments on frameworks name are those that the lock files pin.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;

use loopmeter::experiment::Experiments;
use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The version of a package in the lock file of its language.
fn pinned(package: &str, language: &str) -> String {
    let folder = root().join("tests/frameworks");
    if language == "Python" {
        let lock = fs::read_to_string(folder.join("python/requirements.txt")).unwrap();
        let line = lock
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{package}==")));
        return line.unwrap().split_whitespace().next().unwrap().to_owned();
    }
    let lock = fs::read_to_string(folder.join("node/package-lock.json")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let entry = &lock["packages"][format!("node_modules/{package}")];
    entry["version"].as_str().unwrap().to_owned()
}

#[test]
fn every_agent_of_the_experiments_is_named_with_its_pinned_version() {
    let mut agents = 0;
    for name in ["frameworks", "frameworks-faults"] {
        let file = root().join(format!("experiments/{name}.toml"));
        let experiments = Experiments::load(&[file]).unwrap();
        let sweep = experiments.iter().next().unwrap().sweep();
        let column = sweep
            .labels()
            .iter()
            .position(|(label, _)| *label == "env.AGENT")
            .unwrap();
        for index in 0..sweep.len() {
            let agent = sweep.labels_at(index).unwrap()[column].to_string();
            let words: Vec<_> = agent.split(' ').collect();
            let [package, version, language] = words[..] else {
                panic!("{agent}")
            };
            let language = language.trim_matches(['(', ')']);
            assert_eq!(version, pinned(package, language), "{agent}");
            agents += 1;
        }
    }
    assert_eq!(agents, 9 * (5 + 2));
}
