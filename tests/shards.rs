//! Shards of any small sweep, interrupted anywhere, merge into the bytes of one run.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use loopmeter::experiment::{Experiment, Experiments, Host};
use loopmeter::lab::shard::{Merge, Shard, ShardWork, find};
use loopmeter::lab::{Lab, LabError, publish};
use loopmeter::report::plot;
use proptest::prelude::*;

/// A sweep: values of some axes, how they are combined, and what is read.
#[derive(Clone, Debug)]
struct Sweep {
    caps: u32,
    seeds: u32,
    wordings: usize,
    zipped: bool,
    reads: bool,
}

impl Sweep {
    fn text(&self) -> String {
        let numbers = |to: u32| {
            let numbers = (1..=to).map(|number| number.to_string());
            numbers.collect::<Vec<_>>().join(", ")
        };
        let wordings = ["\"worded\"", "\"generic\"", "\"fatal\""][..self.wordings].join(", ");
        let (caps, seeds) = if self.zipped {
            (self.caps.min(self.seeds), self.caps.min(self.seeds))
        } else {
            (self.caps, self.seeds)
        };
        let mut text = format!(
            "title = \"Any\"\nabout = \"Any sweep.\"\n{}\
             [settings]\nscenario = \"denied\"\n\
             latency = {{ distribution = \"log_normal\", median_ms = 800, sigma = 0.5 }}\n\
             [[axis]]\nsetting = \"max_turns\"\nvalues = [{}]\n\
             [[axis]]\nsetting = \"seed\"\nvalues = [{}]\n",
            if self.zipped {
                "combine = \"zip\"\n"
            } else {
                ""
            },
            numbers(caps),
            numbers(seeds),
        );
        if !self.zipped {
            text.push_str("[[axis]]\nsetting = \"tool_errors\"\nvalues = [");
            text = text + &wordings + "]\n";
        }
        if self.reads {
            text += "[table]\ncaption = \"All\"\ncolumns = [\"max_turns\", \"seed\", \"cost_usd\"]\n\
                     [[claim]]\nid = \"any.first\"\nvalue = 1\n\
                     cells = { column = \"turns\", where = { max_turns = 1 } }\n";
        }
        text
    }
}

fn sweeps() -> impl Strategy<Value = Sweep> {
    let axes = (1_u32..8, 1_u32..5, 1_usize..=3);
    (axes, any::<bool>(), any::<bool>()).prop_map(|((caps, seeds, wordings), zipped, reads)| {
        Sweep {
            caps,
            seeds,
            wordings,
            zipped,
            reads,
        }
    })
}

/// Every file of a folder and below, but the shards' own.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            found.insert(
                path.strip_prefix(folder).unwrap().into(),
                fs::read(&path).unwrap(),
            );
        }
    }
    found
}

/// Does something in a laboratory that is told to stop after so many questions whether it is.
fn in_lab<T>(results: &Path, patience: u32, work: impl FnOnce(&mut Lab<'_>) -> T) -> T {
    let asked = AtomicU32::new(0);
    let host = Host::here();
    work(&mut Lab {
        results,
        jobs: 2,
        host: &host,
        progress: &mut |_, _| (),
        draw: &plot::committed,
        stop: &|| asked.fetch_add(1, Ordering::Relaxed) >= patience,
    })
}

fn run_shard(experiment: &Experiment, shard: Shard, (results, patience): (&Path, u32)) -> bool {
    let work = ShardWork::open(experiment, shard, results).unwrap();
    assert!(work.discarded().is_empty(), "{:?}", work.discarded());
    match in_lab(results, patience, |lab| work.run(lab)) {
        Ok(()) => true,
        Err(LabError::Stopped { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merged_shards_are_the_bytes_of_one_run(
        sweep in sweeps(),
        shards in 1_u64..7,
        patience in 1_u32..300,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("any.toml");
        fs::write(&file, sweep.text()).unwrap();
        let experiments = Experiments::load(&[file]).unwrap();
        let experiment = experiments.get("any").unwrap();
        let (one, parts) = (folder.path().join("one"), folder.path().join("parts"));
        in_lab(&one, u32::MAX, |lab| publish(experiment, lab)).unwrap();
        for number in (1..=shards).rev() {
            let shard = Shard::new(number, shards).unwrap();
            // Stopped somewhere, or not; and then run to its end.
            run_shard(experiment, shard, (&parts, patience));
            prop_assert!(run_shard(experiment, shard, (&parts, u32::MAX)));
            let again = ShardWork::open(experiment, shard, &parts).unwrap();
            prop_assert_eq!(again.progress().missing, 0);
        }
        let found = find(&[parts]).unwrap();
        let merged = folder.path().join("merged");
        Merge::prepare(experiment, &found, &merged).unwrap().publish(&plot::committed).unwrap();
        prop_assert_eq!(files(&merged.join("any")), files(&one.join("any")));
    }
}

#[test]
fn two_processes_do_not_run_one_shard() {
    let folder = tempfile::tempdir().unwrap();
    let experiments = Experiments::embedded().unwrap();
    let experiment = experiments.get("plan").unwrap();
    let shard = Shard::new(1, 2).unwrap();
    let first = ShardWork::open(experiment, shard, folder.path()).unwrap();
    let second = ShardWork::open(experiment, shard, folder.path());
    let error = second.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("another process runs this shard"), "{error}");
    drop(first);
    assert!(ShardWork::open(experiment, shard, folder.path()).is_ok());
}
