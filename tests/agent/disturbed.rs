//! Runs that somebody disturbs from outside: stopped while nobody drives them, their files
//! replaced by what is no file, their database removed.

use super::*;

fn access_log(folder: &Path, store: &[&str], id: &str) -> bool {
    let runs = if store.is_empty() {
        ".loopmeter/runs"
    } else {
        "runs.db.runs"
    };
    let file = format!("{runs}/{id}/workspace/files/access.log");
    folder.join(file).exists()
}

#[cfg(feature = "sqlite")]
const STORES: &[&[&str]] = &[&[], &["--store", "sqlite:runs.db"]];
#[cfg(not(feature = "sqlite"))]
const STORES: &[&[&str]] = &[&[]];

#[test]
fn a_run_that_nobody_drives_is_cancelled_at_once_and_its_call_is_not_executed() {
    for store in STORES {
        let folder = folder();
        let folder = folder.path();
        let with = |verb: &[&'static str]| [&["agent"], verb, store].concat();
        ok(
            folder,
            &with(&["start", "--scenario", "destructive", "--id", "z"]),
        );
        let cancelled = ok(folder, &with(&["cancel", "z", "--reason", "enough"]));
        assert!(
            cancelled.contains("run z: interrupted / cancelled: enough"),
            "{cancelled}"
        );
        for verdict in ["approve", "reject"] {
            let refused = with(&[verdict, "z"]);
            fails(folder, &refused, 2, "run z was cancelled before");
        }
        assert!(access_log(folder, store, "z"), "nothing was executed");
        let trace = ok(folder, &with(&["show", "z", "--trace"]));
        assert!(
            trace
                .trim_end()
                .lines()
                .last()
                .unwrap()
                .contains("cancelled")
        );
        let asks = ok(folder, &with(&["resume", "z"]));
        assert!(asks.contains("interrupted / approval"), "{asks}");
        ok(folder, &with(&["approve", "z"]));
        assert!(!access_log(folder, store, "z"));
        fails(folder, &with(&["cancel", "z"]), 2, "is completed already");
    }
}

#[test]
fn a_request_to_stop_that_is_pending_comes_before_every_verdict() {
    for (verb, code) in [
        (&["approve", "z"][..], 2),
        (&["reject", "z"], 2),
        (&["resume", "z", "--retry", "c2"], 2),
        (&["resume", "z", "--done", "c2"], 2),
        (&["resume", "z"], 0),
    ] {
        let folder = folder();
        let folder = folder.path();
        let start = ["agent", "start", "--scenario", "destructive", "--id", "z"];
        ok(folder, &start);
        // As it stays where whoever drove the run let go of it just then.
        let store = FileStore::new(&folder.join(".loopmeter/runs"));
        store.request_stop("z", "enough").unwrap();
        let verb = [&["agent"], verb].concat();
        let done = output(folder, &verb);
        assert_eq!(done.status.code(), Some(code), "{verb:?}");
        assert!(access_log(folder, &[], "z"), "{verb:?}");
        let stopped = run(folder, "z");
        assert_eq!(stopped["reason"]["reason"], "enough", "{verb:?}");
        assert_eq!(stopped["tool_runs"], 1, "{verb:?}");
        let asks = ok(folder, &["agent", "resume", "z"]);
        assert!(asks.contains("interrupted / approval"), "{verb:?}: {asks}");
    }
}

/// Like [`fails`], for commands that would never end: they have ten seconds.
#[cfg(unix)]
fn fails_soon(folder: &Path, arguments: &[&str], code: i32, words: &str) {
    let mut child = loopmeter(folder, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..2_000 {
        if child.try_wait().unwrap().is_some() {
            let done = child.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(code), "{arguments:?}: {told}");
            assert!(told.contains(words), "{arguments:?}: {told}");
            return;
        }
        pause(Duration::from_millis(5));
    }
    child.kill().unwrap();
    panic!("{arguments:?} does not end");
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_device_in_place_of_a_file_of_a_run_is_told_at_once() {
    const VERBS: [(&str, &[&str], i32); 6] = [
        ("run.json", &["agent", "show", "q"], 3),
        ("run.json", &["agent", "list"], 0),
        ("run.json", &["agent", "approve", "q"], 3),
        ("lock", &["agent", "approve", "q"], 3),
        ("trace.jsonl", &["agent", "show", "q", "--trace"], 3),
        ("trace.jsonl", &["agent", "approve", "q"], 3),
    ];
    for special in ["pipe", "/dev/zero"] {
        for (file, verb, code) in VERBS {
            let folder = folder();
            let folder = folder.path();
            let start = ["agent", "start", "--scenario", "destructive", "--id", "q"];
            ok(folder, &start);
            let path = folder.join(".loopmeter/runs/q").join(file);
            std::fs::remove_file(&path).unwrap();
            if special == "pipe" {
                let made = Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            } else {
                std::os::unix::fs::symlink(special, &path).unwrap();
            }
            fails_soon(folder, verb, code, "no plain file");
            assert!(access_log(folder, &[], "q"), "{special} {file} {verb:?}");
        }
    }
}

#[cfg(all(unix, feature = "sqlite"))]
#[test]
fn a_database_that_is_removed_while_a_run_is_saved_ends_it_with_an_error() {
    let folder = folder();
    let folder = folder.path();
    let slow = [
        "agent",
        "start",
        "--scenario",
        "runaway",
        "--max-turns",
        "10000",
        "--clock",
        "real",
        "--latency-ms",
        "20",
        "--store",
        "sqlite:m.db",
    ];
    let child = loopmeter(folder, &slow)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&folder.join("m.db.runs/r1/trace.jsonl"));
    for name in ["m.db", "m.db-wal", "m.db-shm"] {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let done = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{told}");
    let words = "m.db was moved or removed while runs were being saved";
    assert!(told.contains(words), "{told}");
}
