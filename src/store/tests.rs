//! What every store does, and what each is asked once more.

use super::*;
use crate::clock::ClockKind;
use crate::provider::Latency;
use crate::provider::wire::Delivery;
use crate::run::{RunSettings, StopReason};

#[cfg(feature = "sqlite")]
mod sqlite;

fn settings() -> RunSettings {
    let prices = crate::pricing::PriceList::builtin().unwrap();
    RunSettings::new(prices.all()[0].clone())
}

fn launch() -> Launch {
    Launch {
        model: Model::Endpoint {
            base_url: "http://h/v1".to_owned(),
            model: "m".to_owned(),
            delivery: Delivery::Whole,
        },
        catalog: CatalogKind::Chapter,
        clock: ClockKind::Real,
    }
}

fn record(id: &str) -> Record {
    Record {
        launch: launch(),
        run: RunState::new(id, settings(), "", "?"),
    }
}

/// A store that starts with nothing in it, opened as often as is asked.
trait Bench {
    fn store(&self) -> Box<dyn Store>;
    /// Puts `bytes` where the record of run `id` is.
    fn spoil(&self, id: &str, bytes: &str);
    /// The bytes of that record.
    fn bytes(&self, id: &str) -> String;
}

struct Files(tempfile::TempDir);

impl Bench for Files {
    fn store(&self) -> Box<dyn Store> {
        Box::new(FileStore::new(&self.0.path().join("runs")))
    }

    fn spoil(&self, id: &str, bytes: &str) {
        let path = self.0.path().join("runs").join(id).join("run.json");
        std::fs::write(path, bytes).unwrap();
    }

    fn bytes(&self, id: &str) -> String {
        let path = self.0.path().join("runs").join(id).join("run.json");
        std::fs::read_to_string(path).unwrap()
    }
}

#[cfg(feature = "sqlite")]
struct Database(tempfile::TempDir);

#[cfg(feature = "sqlite")]
impl Database {
    fn path(&self) -> PathBuf {
        self.0.path().join("deep/runs.db")
    }
}

#[cfg(feature = "sqlite")]
impl Bench for Database {
    fn store(&self) -> Box<dyn Store> {
        Box::new(SqliteStore::new(&self.path()))
    }

    fn spoil(&self, id: &str, bytes: &str) {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let update = "UPDATE runs SET record = ?2 WHERE id = ?1";
        assert_eq!(connection.execute(update, [id, bytes]).unwrap(), 1);
    }

    fn bytes(&self, id: &str) -> String {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let select = "SELECT record FROM runs WHERE id = ?1";
        connection
            .query_row(select, [id], |row| row.get(0))
            .unwrap()
    }
}

/// The same test over every store.
fn over_every_store(test: impl Fn(&dyn Bench)) {
    test(&Files(tempfile::tempdir().unwrap()));
    #[cfg(feature = "sqlite")]
    test(&Database(tempfile::tempdir().unwrap()));
}

fn saved(store: &dyn Store, id: &str) -> Hold {
    let hold = store.claim(Some(id)).unwrap();
    store.save(&hold, &record(id)).unwrap();
    hold
}

#[test]
fn what_is_saved_is_loaded_by_another_process() {
    over_every_store(|bench| {
        let mut written = record("a");
        let hold = saved(bench.store().as_ref(), "a");
        written.run.turns = 7;
        bench.store().save(&hold, &written).unwrap();
        assert_eq!(bench.store().load("a").unwrap(), written);
    });
}

#[test]
fn a_record_keeps_every_digit_that_a_provider_can_claim() {
    over_every_store(|bench| {
        let mut written = record("a");
        written.run.usage.prompt_tokens = u64::MAX;
        written.run.usage.completion_tokens = (1 << 53) + 1;
        let hold = saved(bench.store().as_ref(), "a");
        bench.store().save(&hold, &written).unwrap();
        assert_eq!(bench.store().load("a").unwrap(), written);
    });
}

#[test]
fn ids_are_taken_once_and_fresh_ones_count_up() {
    over_every_store(|bench| {
        let store = bench.store();
        let first = store.claim(None).unwrap();
        assert_eq!(first.id(), "r1");
        store.save(&first, &record("r1")).unwrap();
        assert_eq!(store.claim(None).unwrap().id(), "r2");
        drop(first);
        assert!(matches!(
            store.claim(Some("r1")),
            Err(StoreError::Taken { .. })
        ));
        for id in ["", ".", "..", "a/b", ".hidden", "a b", &"x".repeat(65)] {
            assert!(
                matches!(store.claim(Some(id)), Err(StoreError::BadId(_))),
                "{id}"
            );
            assert!(matches!(store.load(id), Err(StoreError::BadId(_))), "{id}");
            assert!(matches!(store.hold(id), Err(StoreError::BadId(_))), "{id}");
        }
    });
}

#[test]
fn an_id_whose_process_died_before_it_saved_is_free_and_its_leavings_are_gone() {
    over_every_store(|bench| {
        let store = bench.store();
        let dead = store.claim(Some("a")).unwrap();
        let workspace = store.folders().workspace("a").unwrap();
        std::fs::create_dir_all(workspace.join("files")).unwrap();
        assert!(matches!(
            store.claim(Some("a")),
            Err(StoreError::Taken { .. })
        ));
        drop(dead);
        assert!(matches!(store.hold("a"), Err(StoreError::Unknown { .. })));
        assert!(store.find(Filter::default()).unwrap().is_empty());
        let _again = store.claim(Some("a")).unwrap();
        assert!(!workspace.exists());
    });
}

#[test]
fn a_run_is_held_by_one_at_a_time_and_saved_by_its_holder_alone() {
    over_every_store(|bench| {
        let hold = saved(bench.store().as_ref(), "a");
        let other = saved(bench.store().as_ref(), "b");
        assert!(matches!(
            bench.store().hold("a"),
            Err(StoreError::Driven(id)) if id == "a"
        ));
        assert!(matches!(
            bench.store().save(&other, &record("a")),
            Err(StoreError::NotHeld { .. })
        ));
        drop(hold);
        assert_eq!(bench.store().hold("a").unwrap().id(), "a");
        assert!(matches!(
            bench.store().hold("nobody"),
            Err(StoreError::Unknown { .. })
        ));
    });
}

#[test]
fn runs_are_found_by_status() {
    over_every_store(|bench| {
        let store = bench.store();
        assert!(store.find(Filter::default()).unwrap().is_empty());
        for (id, status) in [
            ("c", Status::Completed),
            ("a", Status::Interrupted),
            ("b", Status::Completed),
        ] {
            let hold = saved(store.as_ref(), id);
            let mut run = record(id);
            run.run.status = status;
            store.save(&hold, &run).unwrap();
        }
        let ids = |status| -> Vec<String> {
            let found = store.find(Filter { status }).unwrap();
            found.into_iter().map(|found| found.id).collect()
        };
        assert_eq!(ids(None), ["a", "b", "c"]);
        assert_eq!(ids(Some(Status::Completed)), ["b", "c"]);
        assert_eq!(ids(Some(Status::Failed)), Vec::<String>::new());
    });
}

#[test]
fn a_request_to_stop_waits_until_it_is_cleared() {
    over_every_store(|bench| {
        let _hold = saved(bench.store().as_ref(), "a");
        let store = bench.store();
        assert_eq!(store.folders().stop_requested("a"), None);
        store.request_stop("a", "enough").unwrap();
        let reason = bench.store().folders().stop_requested("a");
        assert_eq!(reason.as_deref(), Some("enough"));
        store.folders().clear_stop_request("a").unwrap();
        store.folders().clear_stop_request("a").unwrap();
        assert_eq!(store.folders().stop_requested("a"), None);
        assert!(store.request_stop("nobody", "enough").is_err());
    });
}

#[test]
fn a_record_with_any_byte_changed_or_cut_off_is_refused_and_left_alone() {
    over_every_store(|bench| {
        drop(saved(bench.store().as_ref(), "a"));
        let good = bench.bytes("a");
        let refused = |bytes: &str| {
            bench.spoil("a", bytes);
            assert!(bench.store().load("a").is_err(), "{bytes}");
            assert_eq!(bench.bytes("a"), bytes);
        };
        for cut in (0..good.len()).step_by(7) {
            refused(&good[..cut]);
        }
        for at in (0..good.len()).step_by(3) {
            let mut bytes = good.clone().into_bytes();
            if bytes[at].is_ascii_alphanumeric() {
                bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
                refused(&String::from_utf8(bytes).unwrap());
            }
        }
        for digit in ["0", "4", "33", "1", "2"] {
            refused(&good.replace("\"format\":3", &format!("\"format\":{digit}")));
        }
        let found = bench.store().find(Filter::default()).unwrap();
        assert!(matches!(&found[0].record, Err(StoreError::Damaged { .. })));
        bench.spoil("a", &good);
        assert_eq!(bench.store().load("a").unwrap(), record("a"));
    });
}

#[test]
fn a_record_of_a_later_format_or_of_another_run_is_refused() {
    over_every_store(|bench| {
        drop(saved(bench.store().as_ref(), "a"));
        let good = bench.bytes("a");
        bench.spoil("a", &good.replace("\"format\":3", "\"format\":4"));
        assert!(matches!(
            bench.store().load("a"),
            Err(StoreError::Newer { found: 4, .. })
        ));
        bench.spoil("a", &good.replace("\"sha256\"", "\"sum\""));
        let error = bench.store().load("a").unwrap_err().to_string();
        assert!(error.contains("no checksum"), "{error}");
        let of_b = String::from_utf8(record("b").to_bytes().unwrap()).unwrap();
        bench.spoil("a", &of_b);
        let error = bench.store().load("a").unwrap_err().to_string();
        assert!(error.contains("of run \"b\""), "{error}");
    });
}

#[test]
fn a_record_that_cannot_be_written_leaves_the_one_before() {
    use crate::files::Point;
    let full = |at: Point| {
        move |point: Point| {
            if point == at {
                Err(std::io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }
    };
    for at in [
        Point::Begun,
        Point::HalfWritten,
        Point::Written,
        Point::Synced,
    ] {
        let bench = Files(tempfile::tempdir().unwrap());
        let hold = saved(bench.store().as_ref(), "a");
        let folder = bench.0.path().join("runs");
        let store = FileStore::new(&folder).watched_by(std::sync::Arc::new(full(at)));
        let mut next = record("a");
        next.run.turns = 1;
        assert!(matches!(
            store.save(&hold, &next),
            Err(StoreError::Write(_))
        ));
        assert_eq!(bench.store().load("a").unwrap().run.turns, 0, "{at:?}");
        bench.store().save(&hold, &next).unwrap();
        assert_eq!(bench.store().load("a").unwrap().run.turns, 1, "{at:?}");
    }
}

#[test]
fn a_launch_of_format_1_reads_as_one_of_a_scenario() {
    let text = r#"{"scenario":"plan","scenario_toml":"x","catalog":"chapter","latency":{"distribution":"constant","ms":5},"clock":"real"}"#;
    let launch: Launch = serde_json::from_str(text).unwrap();
    let model = Model::Scripted {
        scenario: "plan".to_owned(),
        scenario_toml: "x".to_owned(),
        latency: Latency::Constant { ms: 5 },
    };
    assert_eq!(launch.model, model);
}

#[test]
fn a_launch_against_an_endpoint_is_stored_in_three_words_and_reads_back() {
    let launch = Launch {
        model: Model::Endpoint {
            base_url: "http://h/v1".to_owned(),
            model: "m".to_owned(),
            delivery: Delivery::StreamedWithUsage,
        },
        ..launch()
    };
    let text = serde_json::to_string(&launch).unwrap();
    let expected = r#"{"base_url":"http://h/v1","model":"m","delivery":"streamed_with_usage","catalog":"chapter","clock":"real"}"#;
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<Launch>(&text).unwrap(), launch);
}

/// A run that stopped, as an earlier format has it: without a checksum, in `format`.
fn earlier(format: u32, status: Status, interruption: Option<StopReason>) -> String {
    use crate::message::{Message, ToolCall};
    let mut run = record("a").run;
    (run.status, run.interruption) = (status, interruption);
    run.messages.push(Message::Assistant {
        content: None,
        tool_calls: vec![ToolCall {
            id: "c1".to_owned(),
            name: "delete_file".to_owned(),
            arguments: r#"{"path":"access.log"}"#.to_owned(),
        }],
    });
    serde_json::json!({"format": format, "launch": launch(), "run": run}).to_string()
}

#[test]
fn a_record_from_before_calls_were_noted_takes_the_next_call_for_started_if_it_can_have_been() {
    let cancelled = Some(StopReason::Cancelled {
        reason: "enough".to_owned(),
    });
    for (status, reason, in_flight) in [
        (Status::Running, None, Some("c1")),
        (Status::Interrupted, cancelled, Some("c1")),
        (Status::MaxTurnsExceeded, Some(StopReason::MaxTurns), None),
    ] {
        for format in [1, 2] {
            let text = earlier(format, status, reason.clone());
            let record = Record::from_bytes(text.as_bytes(), "a", "here").unwrap();
            assert_eq!(record.run.in_flight.as_deref(), in_flight, "{status:?}");
        }
    }
}

#[test]
fn a_record_of_this_format_says_itself_that_no_call_was_started() {
    let text = earlier(2, Status::Running, None);
    let mut record = Record::from_bytes(text.as_bytes(), "a", "here").unwrap();
    record.run.in_flight = None;
    let bytes = record.to_bytes().unwrap();
    assert_eq!(Record::from_bytes(&bytes, "a", "here").unwrap(), record);
}
