//! `loopmeter run --shard` and `loopmeter merge` from outside: parts of a sweep, what becomes of
//! damaged ones, and the bytes of the whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use loopmeter::results::digest::digest_of_bytes;

use crate::common::Folder;

/// Forty-eight cells, which make three shards of sixteen chunks of one.
const SWEEP: &str = r#"
title = "Forty-eight cells"
about = "A tool that fails, under twelve caps."
[settings]
scenario = "denied"
[[axis]]
setting = "max_turns"
values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
[[axis]]
setting = "seed"
values = [1, 2]
[[axis]]
setting = "tool_errors"
values = ["worded", "generic"]
[table]
caption = "The last ones"
columns = ["max_turns", "tool_errors", "cost_usd"]
where = { max_turns = "12", seed = "2" }
[[claim]]
id = "sweep.turns"
value = 12
cell = { column = "turns", where = { max_turns = 12, seed = 1, tool_errors = "worded" } }
"#;

/// A folder with the sweep and all of its three shards.
fn sharded() -> Folder {
    let folder = Folder::empty();
    folder.write("sweep.toml", SWEEP);
    for shard in ["1/3", "2/3", "3/3"] {
        folder.run(&["run", "sweep.toml", "--shard", shard]).ok();
    }
    folder
}

/// Makes the results of a run without shards.
fn whole(folder: &Folder) {
    folder
        .run(&["run", "sweep.toml", "--out", "whole", "--quiet"])
        .ok();
}

/// Merges what lies in `results`.
#[track_caller]
fn merges(folder: &Folder) {
    let ran = folder.run(&["merge", "--out", "merged", "--quiet"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
}

#[track_caller]
fn merges_into_the_whole(folder: &Folder) {
    whole(folder);
    merges(folder);
    assert!(folder.files("merged") == folder.files("whole"));
}

/// What merging says that it refuses; nothing is written then.
#[track_caller]
fn refusal(folder: &Folder, places: &[&str]) -> String {
    let arguments = [&["merge", "--out", "merged"], places].concat();
    let refused = folder.run(&arguments).refused();
    assert!(!folder.path().join("merged").exists(), "{refused}");
    refused
}

const SECOND: &str = "results/sweep/shards/2-of-3";

#[test]
fn shards_are_run_apart_and_merged_into_the_bytes_of_one_run() {
    let folder = Folder::empty();
    folder.write("sweep.toml", SWEEP);
    let mut told = String::new();
    for shard in ["1/3", "2/3", "3/3", "2/3"] {
        let arguments = ["run", "sweep.toml", "--shard", shard, "--out", "results"];
        told += &folder.run(&arguments).ok();
    }
    let run = folder.run(&["run", "sweep.toml", "--out", "whole"]).ok();
    let merged = folder.run(&["merge", "--out", "merged"]).ok();
    assert_eq!(merged.replace("in merged", "in whole"), run);
    assert!(folder.files("merged") == folder.files("whole"));
    // Where the shards lie, the results do too.
    told += &folder.run(&["merge", "--quiet"]).ok();
    let check = folder.run(&["check", "sweep.toml"]).ok();
    assert_eq!(check, "1 experiment, 1 claim: all as committed\n");
    insta::assert_snapshot!("shards_run", told);
}

#[test]
fn shards_that_were_copied_from_several_machines_are_merged() {
    let folder = sharded();
    let shards = folder.path().join("results/sweep/shards");
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::rename(shards.join("1-of-3"), folder.path().join("a/b/first")).unwrap();
    fs::rename(shards.join("2-of-3"), folder.path().join("two")).unwrap();
    whole(&folder);
    let places = ["two/manifest.json", "a", "results", "a/b/first"];
    let arguments = [&["merge", "--out", "merged", "--quiet"][..], &places].concat();
    folder.run(&arguments).ok();
    assert!(folder.files("merged") == folder.files("whole"));
    // The experiment may lie elsewhere than where the shards found it.
    fs::create_dir(folder.path().join("my")).unwrap();
    fs::rename(
        folder.path().join("sweep.toml"),
        folder.path().join("my/sweep.toml"),
    )
    .unwrap();
    let unnamed = folder.run(&arguments).refused();
    assert!(
        unnamed.contains("name its file with --experiment"),
        "{unnamed}"
    );
    let named = [&arguments[..], &["--experiment", "my/sweep.toml"]].concat();
    folder.run(&named).ok();
}

#[test]
fn experiments_that_ship_are_sharded_by_name() {
    let folder = Folder::empty();
    for shard in ["1/2", "2/2"] {
        folder
            .run(&["run", "--only", "turn-cap", "--shard", shard])
            .ok();
    }
    folder.run(&["merge", "--only", "turn-cap", "--quiet"]).ok();
    folder.run(&["check", "--only", "turn-cap"]).ok();
    let none = folder.run(&["merge", "--only", "plan"]).refused();
    assert!(none.contains("there are shards of turn-cap"), "{none}");
}

#[test]
fn more_shards_than_cells_leave_some_with_nothing_to_do() {
    let folder = Folder::empty();
    let mut told = String::new();
    for number in 1..=6 {
        let shard = format!("{number}/6");
        let arguments = ["run", "--only", "turn-cap", "--shard", &shard];
        told += &folder.run(&arguments).ok();
    }
    assert!(told.contains("shard 4/6: 1 cell run"), "{told}");
    assert!(told.contains("shard 5/6: no cells"), "{told}");
    // A shard without cells is not missed.
    fs::remove_dir_all(folder.path().join("results/turn-cap/shards/6-of-6")).unwrap();
    folder.run(&["merge", "--quiet"]).ok();
}

#[test]
fn what_does_not_make_one_whole_sweep_is_refused() {
    let mut told = String::new();
    let mut tell = |refusal: String| {
        told.push_str(&refusal);
        told.push('\n');
    };

    let folder = sharded();
    fs::rename(folder.path().join(SECOND), folder.path().join("second")).unwrap();
    tell(refusal(&folder, &[]));
    tell(refusal(&folder, &["second"]));
    fs::create_dir(folder.path().join("empty")).unwrap();
    tell(refusal(&folder, &["empty"]));

    let folder = sharded();
    let copied = Command::new("cp")
        .args(["-r", SECOND, "copy"])
        .current_dir(folder.path())
        .status();
    assert!(copied.unwrap().success());
    tell(refusal(&folder, &["results", "copy"]));

    let folder = sharded();
    folder
        .run(&["run", "sweep.toml", "--shard", "1/2", "--out", "other"])
        .ok();
    tell(refusal(&folder, &["results", "other"]));
    insta::assert_snapshot!("shards_refused", told);
}

#[test]
fn shards_of_other_inputs_are_refused_and_the_input_is_named() {
    let mut told = String::new();
    for (file, from, to) in [
        (
            "sweep.toml",
            "scenario = \"own.toml\"",
            "scenario = \"own.toml\"\ndedupe = \"all\"",
        ),
        ("sweep.toml", "\"generic\"]", "\"fatal\"]"),
        ("own.toml", "Nothing to buy.", "Nothing to buy!"),
    ] {
        let folder = Folder::empty();
        folder
            .write("sweep.toml", SWEEP.replace("denied", "own.toml"))
            .write(
                "own.toml",
                "title = \"Own\"\n[[step]]\nsay = \"Nothing to buy.\"\n",
            );
        folder.run(&["run", "sweep.toml", "--shard", "1/2"]).ok();
        folder.change(file, from, to);
        // The second shard is of other inputs than the first.
        folder.run(&["run", "sweep.toml", "--shard", "2/2"]).ok();
        told += &refusal(&folder, &[]);
        let again = folder
            .run(&["run", "sweep.toml", "--shard", "1/2"])
            .exits(0);
        told = told + &again.stderr + &again.stdout + "\n";
        merges(&folder);
    }
    insta::assert_snapshot!("shards_inputs", told);
}

#[test]
fn a_shard_of_another_file_is_told_to_be_run_again_from_the_one_that_is_merged() {
    let folder = Folder::empty();
    folder
        .write("a/sweep.toml", SWEEP)
        .write("b/sweep.toml", SWEEP.replace("denied", "plan"));
    for (file, shard) in [("a/sweep.toml", "1/2"), ("b/sweep.toml", "2/2")] {
        folder.run(&["run", file, "--shard", shard]).ok();
    }
    let refused = refusal(&folder, &[]);
    let again = "have it again by `loopmeter run a/sweep.toml --shard 2/2`";
    assert!(refused.contains(again), "{refused}");
    folder
        .run(&["run", "a/sweep.toml", "--shard", "2/2"])
        .exits(0);
    merges(&folder);
}

#[test]
fn shards_at_another_price_are_refused_though_their_digests_are_right() {
    let folder = sharded();
    let inputs = format!("{SECOND}/inputs.json");
    let digest = || digest_of_bytes(folder.read(&inputs).as_bytes());
    let before = digest();
    let price = "\"input_usd_per_million\":\"2\"";
    folder.change(&inputs, price, &price.replace('2', "3"));
    let changed = refusal(&folder, &[]);
    assert!(
        changed.contains("`inputs.json` that is not the one"),
        "{changed}"
    );
    folder.change(&format!("{SECOND}/manifest.json"), &before, &digest());
    let refused = refusal(&folder, &[]);
    let words = "has other inputs: since then the price `chapter` is $2 per million prompt tokens, \
                 which was $3";
    assert!(refused.contains(words), "{refused}");
}

#[test]
fn shards_of_another_version_are_refused_though_their_digests_are_right() {
    let folder = sharded();
    let manifest = format!("{SECOND}/manifest.json");
    let ours = format!("\"loopmeter\": \"{}\"", env!("CARGO_PKG_VERSION"));
    folder.change(&manifest, &ours, "\"loopmeter\": \"9.9.9\"");
    let version = refusal(&folder, &[]);
    assert!(
        version.contains("was written by loopmeter 9.9.9, and this is"),
        "{version}"
    );
    // Run again, all of it is replaced.
    let ran = folder
        .run(&["run", "sweep.toml", "--shard", "2/3"])
        .exits(0);
    assert!(ran.stderr.contains("loopmeter 9.9.9"), "{ran}");
    assert!(ran.stdout.contains("16 cells run; "), "{ran}");
    merges_into_the_whole(&folder);
    fs::remove_dir_all(folder.path().join("merged")).unwrap();
    folder.change(&manifest, "\"format\": 1", "\"format\": 2");
    let format = refusal(&folder, &[]);
    assert!(format.contains("format 2"), "{format}");
}

#[test]
fn damaged_files_are_refused_and_only_they_are_run_again() {
    type Damage = fn(&Path);
    let cut_short: Damage = |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() - 5]).unwrap();
    };
    let one_digit: Damage = |file| {
        let text = fs::read_to_string(file).unwrap();
        let at = text.rfind(|letter: char| letter.is_ascii_digit()).unwrap();
        let other = if &text[at..=at] == "7" { "8" } else { "7" };
        fs::write(file, format!("{}{other}{}", &text[..at], &text[at + 1..])).unwrap();
    };
    let gone: Damage = |file| fs::remove_file(file).unwrap();
    let emptied: Damage = |file| fs::write(file, "").unwrap();
    for (file, damage, words) in [
        ("cells-00000004.csv", cut_short, "was changed or cut short"),
        ("turns-00000004.csv", one_digit, "was changed or cut short"),
        ("cells-00000007.csv", gone, "is gone"),
        ("turns-00000007.csv", emptied, "was changed or cut short"),
    ] {
        let folder = sharded();
        damage(&folder.path().join(SECOND).join(file));
        let refused = refusal(&folder, &[]);
        let again = "have it again by `loopmeter run sweep.toml --shard 2/3`";
        assert!(
            refused.contains(file) && refused.contains(words),
            "{refused}"
        );
        assert!(refused.contains(again), "{refused}");
        let ran = folder
            .run(&["run", "sweep.toml", "--shard", "2/3"])
            .exits(0);
        assert!(
            ran.stderr.contains(file) && ran.stderr.contains(words),
            "{ran}"
        );
        assert!(ran.stdout.contains("1 cell run, 15 were there"), "{ran}");
        merges_into_the_whole(&folder);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_chunk_is_refused_at_once_and_the_chunk_run_again() {
    let folder = sharded();
    folder.pipe(&format!("{SECOND}/cells-00000004.csv"));
    let refused = folder.run_soon(&["merge", "--out", "merged"]).refused();
    assert!(refused.contains("no plain file"), "{refused}");
    let ran = folder.run_soon(&["run", "sweep.toml", "--shard", "2/3"]);
    let told = ran.exits(0).stdout;
    assert!(told.contains("1 cell run, 15 were there"), "{told}");
    merges_into_the_whole(&folder);
    for file in [".lock", "inputs.json"] {
        let folder = sharded();
        folder.pipe(&format!("{SECOND}/{file}"));
        let ran = folder.run_soon(&["run", "sweep.toml", "--shard", "2/3"]);
        assert_eq!(ran.code, Some(3), "{ran}");
        assert!(ran.stderr.contains("no plain file"), "{ran}");
        let merged = folder.run_soon(&["merge", "--out", "merged", "--quiet"]);
        assert!(merged.code.is_some(), "{file}: {merged}");
    }
}

#[test]
fn a_changed_manifest_is_refused() {
    let manifest = format!("{SECOND}/manifest.json");
    for (from, to, words) in [
        (
            "\"chunk\":4,",
            "\"chunk\":5,",
            "lists chunk 5 where it does not belong",
        ),
        (
            "\"chunk\":7,",
            "\"chunk\":4,",
            "lists chunk 4 where it does not belong",
        ),
        ("\"2/3\"", "\"3/3\"", "shard 3/3 is there twice"),
        (
            "\"chunk_cells\": 1",
            "\"chunk_cells\": 2",
            "dealt out in another way",
        ),
        (
            "\"chunks\": [",
            "\"chunks\": [,",
            "cannot be read as a manifest",
        ),
        (
            "\"inputs_sha256\": \"",
            "\"inputs_sha256\": \"0",
            "`inputs.json`",
        ),
    ] {
        let folder = sharded();
        folder.change(&manifest, from, to);
        let refused = refusal(&folder, &[]);
        assert!(refused.contains(words), "{refused}");
    }
    let folder = sharded();
    folder.write(&manifest, "{");
    let ran = folder
        .run(&["run", "sweep.toml", "--shard", "2/3"])
        .exits(0);
    assert!(ran.stderr.contains("cannot be read as a manifest"), "{ran}");
    merges_into_the_whole(&folder);
}

#[test]
fn times_are_sharded_only_where_that_is_asked_for_and_the_host_is_recorded() {
    let folder = Folder::empty();
    folder.write(
        "timed.toml",
        "title = \"Timed\"\nabout = \"On the real clock.\"\nclock = \"real\"\nrepeat = 2\n\
         settings = { scenario = \"plan\" }\n\
         [[axis]]\nsetting = \"max_turns\"\nvalues = [2, 3, 4]\n",
    );
    let shard = |number: &str| {
        let shard = format!("{number}/2");
        folder.run(&["run", "timed.toml", "--shard", &shard, "--shared-hosts"])
    };
    let refused = folder
        .run(&["run", "timed.toml", "--shard", "1/2"])
        .refused();
    assert!(refused.contains("add --shared-hosts"), "{refused}");
    assert!(!folder.path().join("results").exists());
    let first = shard("1").ok();
    assert!(first.contains("2 cells run"), "{first}");
    shard("2").ok();
    let manifest = folder.read("results/timed/shards/1-of-2/manifest.json");
    assert_eq!(
        manifest.matches("\"host\":{\"name\":").count(),
        2,
        "{manifest}"
    );
    folder.run(&["merge", "--quiet"]).ok();
    let cells = folder.read("results/timed/cells.csv");
    let labels: Vec<String> = cells
        .lines()
        .skip(1)
        .map(|line| line.splitn(3, ',').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(labels, ["2 1", "2 2", "3 1", "3 2", "4 1", "4 2"]);
    // Merged times stand beside digests, as those of one run do.
    assert!(
        folder
            .read("results/timed/SHA256SUMS")
            .contains("cells.csv")
    );
    let usage = folder
        .run(&["run", "timed.toml", "--shared-hosts"])
        .refused();
    assert!(usage.contains("--shard"), "{usage}");
}

#[cfg(unix)]
#[test]
fn a_shard_that_is_killed_loses_one_chunk_at_most() {
    let seeds: Vec<String> = (1..=300).map(|seed| seed.to_string()).collect();
    let long = SWEEP
        .replace("scenario = \"denied\"", "scenario = \"runaway\"")
        .replace(
            "values = [1, 2]",
            &format!("values = [{}]", seeds.join(", ")),
        )
        .replace("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", "[11, 12]");
    let folder = Folder::empty();
    folder.write("sweep.toml", long);
    let arguments = ["run", "sweep.toml", "--shard", "1/2", "--jobs", "1"];
    let mut child = folder
        .command(&arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let manifest = folder
        .path()
        .join("results/sweep/shards/1-of-2/manifest.json");
    let chunks = || {
        let text = fs::read_to_string(&manifest).unwrap_or_default();
        text.matches("\"chunk\":").count()
    };
    while chunks() < 2 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it was killed"
        );
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let there = chunks();
    assert!((2..17).contains(&there), "{there} chunks are there");
    // What it may have been writing, and a chunk that it did not come to list.
    folder
        .write("results/sweep/shards/1-of-2/.loopmeter-x.tmp", "half")
        .write("results/sweep/shards/1-of-2/cells-00000032.csv", "half");
    let refused = refusal(&folder, &[]);
    assert!(
        refused.contains(&format!("shard 1/2 has {there} of 17 chunks")),
        "{refused}"
    );
    let again = folder.run(&arguments).ok();
    let kept = there * 37;
    assert!(
        again.contains(&format!(" cells run, {kept} were there")),
        "{again}"
    );
    let left = folder.files("results/sweep/shards/1-of-2");
    assert!(!left.keys().any(|file| file.ends_with(".loopmeter-x.tmp")));
    folder.run(&["run", "sweep.toml", "--shard", "2/2"]).ok();
    merges_into_the_whole(&folder);
}
