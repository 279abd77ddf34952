//! A folder with a store in it, and a run that is started there, or taken up, and driven to its
//! end by a person who answers whatever it asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use loopmeter::clock::{ClockKind, Signal, VirtualClock};
use loopmeter::files::{Point, Reach};
use loopmeter::message::Message;
use loopmeter::provider::wire::Delivery;
use loopmeter::run::{CheckpointError, Harness, Machine, RunState, StopReason, Watchers, drive};
use loopmeter::store::{CatalogKind, FileStore, Hold, Launch, Model, Record, Store};
use loopmeter::tools::{Template, Workspace};

use crate::case::{Case, ID, Verdict};

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    InFolders,
    #[cfg(feature = "sqlite")]
    InDatabase,
}

/// Where one run is.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) kept: Kept,
    pub(crate) folder: PathBuf,
    pub(crate) reach: Arc<Reach>,
}

/// A run that is over, and what is left in its workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) run: RunState,
    pub(crate) files: Vec<String>,
    /// The operations of the journal and what each deleted.
    pub(crate) journal: Vec<(String, String)>,
    /// How often the person had to say what became of a write.
    pub(crate) settled: u32,
}

/// What a run was doing when its process died, as far as the person can tell.
type Begin<'a> = &'a dyn Fn(&mut Machine<'_>);

impl Stage {
    pub(crate) fn new(kept: Kept, folder: &Path) -> Self {
        Self {
            kept,
            folder: folder.to_owned(),
            reach: Arc::new(|_: Point| Ok(())),
        }
    }

    pub(crate) fn store(&self) -> Box<dyn Store> {
        let reach = Arc::clone(&self.reach);
        match self.kept {
            Kept::InFolders => Box::new(FileStore::new(&self.folder).watched_by(reach)),
            #[cfg(feature = "sqlite")]
            Kept::InDatabase => Box::new(
                loopmeter::store::SqliteStore::new(&self.folder.join("runs.db")).watched_by(reach),
            ),
        }
    }

    /// Starts the run and drives it to its end, or to the first thing that cannot be saved.
    pub(crate) fn start(&self, case: &Case) -> Result<Ended, String> {
        let store = self.store();
        let hold = store.claim(Some(ID)).map_err(|error| error.to_string())?;
        let workspace = store.folders().workspace(ID).unwrap();
        drop(Workspace::create_folder(&workspace, &Template::chapter()).unwrap());
        let record = record(case.state());
        let saved = store.save(&hold, &record);
        saved.map_err(|error| error.to_string())?;
        Drive {
            case,
            store: store.as_ref(),
            hold: &hold,
            stage: self,
        }
        .to_its_end(record.run, &|_| (), None)
    }

    /// Takes up whatever is there, after a crash; `straight` is what the person knows to expect.
    pub(crate) fn take_up(&self, case: &Case, straight: &Ended) -> Result<Ended, String> {
        let store = self.store();
        if !store.has(ID).map_err(|error| error.to_string())? {
            return self.start(case);
        }
        let hold = store.hold(ID).map_err(|error| error.to_string())?;
        let run = store.load(ID).map_err(|error| error.to_string())?.run;
        let drive = Drive {
            case,
            store: store.as_ref(),
            hold: &hold,
            stage: self,
        };
        if run.status.is_resumable() {
            return drive.to_its_end(run, &|machine| machine.take_up().unwrap(), Some(straight));
        }
        drive.ended(run, 0)
    }
}

struct Drive<'a> {
    case: &'a Case,
    store: &'a dyn Store,
    hold: &'a Hold,
    stage: &'a Stage,
}

impl Drive<'_> {
    fn to_its_end(
        &self,
        mut run: RunState,
        begin: Begin<'_>,
        straight: Option<&Ended>,
    ) -> Result<Ended, String> {
        run = self.to_an_exit(run, begin)?;
        let mut settled = 0;
        loop {
            let reason = run.interruption.clone();
            run = match reason {
                Some(StopReason::Approval { call_id, .. }) => {
                    let verdict = self.case.verdict;
                    self.to_an_exit(run, &move |machine| match verdict {
                        Verdict::Approve => machine.approve(&call_id).unwrap(),
                        Verdict::Reject => machine.reject(&call_id, "keep it").unwrap(),
                    })?
                }
                Some(StopReason::UnknownOutcome { call_id, .. }) => {
                    settled += 1;
                    let result = self.was_done(&call_id, straight);
                    self.to_an_exit(run, &move |machine| match &result {
                        Some(result) => machine.done(&call_id, Some(result)).unwrap(),
                        None => machine.retry(&call_id).unwrap(),
                    })?
                }
                _ => return self.ended(run, settled),
            };
        }
    }

    /// The person looks into the workspace: what the call answered, if its work is there.
    fn was_done(&self, call_id: &str, straight: Option<&Ended>) -> Option<String> {
        let operation = format!("{ID}/{call_id}");
        let below = format!("{operation}/");
        let journal = self.workspace().journal().unwrap();
        let done = journal.iter().any(|entry| {
            let by = entry.operation.as_deref().unwrap_or_default();
            by == operation || by.starts_with(&below)
        });
        let straight = straight.expect("a first process meets no call that it has not started");
        done.then(|| answer(&straight.run, call_id))
    }

    fn to_an_exit(&self, run: RunState, begin: Begin<'_>) -> Result<RunState, String> {
        let (catalog, provider) = (&self.case.catalog, &self.case.provider);
        let clock = VirtualClock::starting_at(run.elapsed);
        let mut machine = Machine::new(run, catalog);
        begin(&mut machine);
        let harness = Harness {
            provider,
            catalog,
            workspace: &self.workspace(),
            clock: &clock,
            signal: &Signal::new(),
        };
        let mut save = |run: &RunState| {
            let saved = self.store.save(self.hold, &record(run.clone()));
            saved.map_err(|error| CheckpointError(error.into()))
        };
        save(machine.state()).map_err(|error| error.to_string())?;
        let mut watchers = Watchers::none().saved_by(&mut save);
        let driven = pollster::block_on(drive(&mut machine, harness, &mut watchers));
        driven.map_err(|error| error.to_string())?;
        drop(watchers);
        Ok(machine.into_state())
    }

    fn workspace(&self) -> Workspace {
        let path = self.store.folders().workspace(ID).unwrap();
        let workspace = Workspace::open_folder(&path).unwrap();
        workspace.watched_by(Arc::clone(&self.stage.reach))
    }

    fn ended(&self, run: RunState, settled: u32) -> Result<Ended, String> {
        let stored = self.store.load(ID).map_err(|error| error.to_string())?;
        assert_eq!(stored.run, run, "what is stored is what was run");
        let workspace = self.workspace();
        let journal = workspace.journal().unwrap().into_iter();
        Ok(Ended {
            run,
            files: workspace.list().unwrap(),
            journal: journal
                .map(|entry| (entry.operation.unwrap_or_default(), entry.path))
                .collect(),
            settled,
        })
    }
}

/// What the transcript has as the result of a call.
pub(crate) fn answer(run: &RunState, call_id: &str) -> String {
    let content = run.messages.iter().find_map(|message| match message {
        Message::Tool {
            tool_call_id,
            content,
            ..
        } if tool_call_id == call_id => Some(content.clone()),
        _ => None,
    });
    content.unwrap()
}

fn record(run: RunState) -> Record {
    Record {
        launch: Launch {
            model: Model::Endpoint {
                base_url: "http://h/v1".to_owned(),
                model: "scripted".to_owned(),
                delivery: Delivery::Whole,
            },
            catalog: CatalogKind::Chapter,
            clock: ClockKind::Virtual,
        },
        run,
    }
}
