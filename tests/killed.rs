//! The program itself, killed by the system: between two steps by SIGKILL, and inside a write by
//! a limit on the size of files, beyond which a write is a death, or an error.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::print_stdout,
    reason = "how many points were tried is worth reading"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A folder, and where the program keeps its runs in it.
struct Place {
    folder: TempDir,
    store: &'static [&'static str],
    runs: &'static str,
    /// By how many blocks of 512 bytes the limit on files grows from try to try.
    step: usize,
}

/// A folder in memory, where there is one: a kill loses nothing that is written, wherever that is.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn places() -> Vec<fn() -> Place> {
    vec![
        || Place {
            folder: scratch(),
            store: &[],
            runs: ".loopmeter/runs",
            step: 2,
        },
        #[cfg(feature = "sqlite")]
        || Place {
            folder: scratch(),
            store: &["--store", "sqlite:runs.db"],
            runs: "runs.db.runs",
            step: 12,
        },
    ]
}

/// What beyond the size limit happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    Death,
    Error,
}

impl Place {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopmeter"));
        command.arg("agent").args(words).args(self.store);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stderr(Stdio::null());
        command
    }

    /// The same under a limit of so many blocks of 512 bytes for each file.
    fn limited(&self, words: &[&str], blocks: u32, beyond: Beyond) -> Command {
        let trap = match beyond {
            Beyond::Death => "",
            Beyond::Error => "trap '' XFSZ; ",
        };
        let script = format!("{trap}ulimit -c 0; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_loopmeter"), "agent"]);
        command.args(words).args(self.store);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(self.runs).join("t").join(name)
    }

    /// The run, where it was ever saved.
    fn show(&self) -> Option<Value> {
        let shown = self.command(&["show", "t", "--json"]).output().unwrap();
        serde_json::from_slice(&shown.stdout).ok()
    }

    /// How often each call was executed.
    fn executed(&self) -> BTreeMap<String, usize> {
        let journal = fs::read_to_string(self.file("workspace/journal.jsonl")).unwrap_or_default();
        let mut executed = BTreeMap::new();
        for line in journal.lines() {
            // A last line that was cut off is none.
            let Ok(entry) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            if entry["action"] == "deleted" {
                let operation = entry["operation"].as_str().unwrap_or_default();
                *executed.entry(operation.to_owned()).or_default() += 1;
            }
        }
        executed
    }

    /// Whether the file of a first deletion is gone, whatever the journal says.
    fn is_gone(&self) -> bool {
        !self.file("workspace/files/access.log").exists()
    }

    /// What the person does next, having looked.
    fn next(&self) -> Option<Vec<String>> {
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        let Some(run) = self.show() else {
            return words(&START);
        };
        let reason = &run["reason"];
        match (run["status"].as_str().unwrap(), reason["type"].as_str()) {
            ("interrupted", Some("unknown_outcome")) => {
                let call = reason["callId"].as_str().unwrap();
                let done = self.executed().contains_key(&format!("t/{call}"))
                    || call == "c1" && self.is_gone();
                if done {
                    words(&[
                        "resume",
                        "t",
                        "--done",
                        call,
                        "--result",
                        "deleted access.log",
                    ])
                } else {
                    words(&["resume", "t", "--retry", call])
                }
            }
            ("interrupted" | "running", _) => words(&["resume", "t"]),
            _ => None,
        }
    }

    /// Does what is to be done until the run is over.
    fn to_its_end(&self) -> Value {
        while let Some(words) = self.next() {
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let done = self.command(&words).output().unwrap();
            assert_eq!(done.status.code(), Some(0), "{words:?}");
        }
        self.show().unwrap()
    }
}

/// Two writes on one name, both allowed in advance.
const START: [&str; 7] = [
    "start",
    "--id",
    "t",
    "--scenario",
    "delete-twice",
    "--approval",
    "granted",
];

/// The run ended as if nothing had happened, and each call was executed once.
fn holds(place: &Place, straight: &Value, what: &str) {
    let run = place.to_its_end();
    for column in ["status", "turns", "cost_usd", "answer", "messages"] {
        assert_eq!(run[column], straight[column], "{what}: {column}");
    }
    let once = BTreeMap::from([("t/c1".to_owned(), 1), ("t/c2".to_owned(), 1)]);
    assert_eq!(place.executed(), once, "{what}");
    assert!(place.is_gone());
}

fn straight() -> Value {
    let place = places()[0]();
    place.to_its_end()
}

#[test]
fn a_program_that_dies_inside_a_write_or_meets_a_full_disk_is_taken_up() {
    let straight = straight();
    let mut tried = 0;
    for place in places() {
        for beyond in [Beyond::Death, Beyond::Error] {
            // From a limit that lets nothing be written to one that lets all.
            for blocks in (0..).step_by(place().step) {
                let place = place();
                let limited = place.limited(&START, blocks, beyond).status().unwrap();
                if limited.success() {
                    break;
                }
                tried += 1;
                let what = format!("{beyond:?} beyond {blocks} blocks in {}", place.runs);
                holds(&place, &straight, &what);
            }
        }
    }
    println!("the program died, or was refused space, inside {tried} writes");
    assert!(tried > 15, "{tried}");
}

/// Kills the process once its trace has `lines` lines; false if it was over before.
fn killed_at(child: &mut Child, trace: &Path, lines: usize) -> bool {
    loop {
        let text = fs::read_to_string(trace).unwrap_or_default();
        if text.lines().count() >= lines {
            child.kill().unwrap();
            return !child.wait().unwrap().success();
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for another process, not for a clock"
)]
fn pause() {
    std::thread::sleep(Duration::from_micros(200));
}

#[test]
fn a_program_that_is_killed_between_two_steps_is_taken_up() {
    let straight = straight();
    let mut kills = 0;
    for place in places() {
        // The trace of the whole run has nine lines.
        for lines in 0..9 {
            let place = place();
            let slow = ["--clock", "real", "--latency-ms", "12"];
            let words: Vec<_> = START.iter().chain(&slow).copied().collect();
            let mut command = place.command(&words);
            let mut child = command.stdout(Stdio::null()).spawn().unwrap();
            if killed_at(&mut child, &place.file("trace.jsonl"), lines) {
                kills += 1;
            }
            holds(
                &place,
                &straight,
                &format!("killed at line {lines} in {}", place.runs),
            );
        }
    }
    println!("the program was killed at {kills} steps");
    assert!(kills > 0, "every run was over before it could be killed");
}
