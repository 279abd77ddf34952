//! The record of a stored run: read, and where it reads, driven to an exit.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use loopmeter::clock::{Signal, VirtualClock};
use loopmeter::provider::Scripted;
use loopmeter::run::{Harness, Machine, Watchers, drive};
use loopmeter::scenario::Scenario;
use loopmeter::store::{FileStore, Store};
use loopmeter::tools::{Catalog, Template, Workspace};

const ID: &str = "r1";

fuzz_target!(|bytes: &[u8]| {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(ID)).expect("a folder");
        folder
    });
    std::fs::write(folder.path().join(ID).join("run.json"), bytes).expect("a file");
    let record = match FileStore::new(folder.path()).load(ID) {
        Ok(record) => record,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let answer = Scenario::from_toml("answer", "title = \"Answer\"\n[[step]]\nsay = \"Done.\"");
    let provider = Scripted::new(std::sync::Arc::new(answer.expect("a scenario")));
    let catalog = Catalog::chapter();
    let harness = Harness {
        provider: &provider,
        catalog: &catalog,
        workspace: &Workspace::in_memory(&Template::chapter()),
        clock: &VirtualClock::new(),
        signal: &Signal::new(),
    };
    let mut machine = Machine::new(record.run, &catalog);
    pollster::block_on(drive(&mut machine, harness, &mut Watchers::none())).expect("no checkpoint");
    let state = machine.into_state();
    assert!(serde_json::to_vec(&state).is_ok());
});
