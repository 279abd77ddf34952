//! Driving a stored run: saved after every step, traced, stoppable from outside.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use super::{Printing, model, show};
use crate::cli::exit::{Exit, Failure};
use crate::cli::signals::Interrupt;
use crate::clock::{Clock, ClockKind, RealClock, Signal, VirtualClock};
use crate::event::Observer as _;
use crate::files::open_plain;
use crate::run::{CheckpointError, Harness, Machine, RunState, StopReason, Watchers, drive};
use crate::store::{CatalogKind, Folders, Hold, Launch, Record, Store};
use crate::tools::{Catalog, Workspace};
use crate::trace::TraceWriter;

/// How often a request to stop is looked for while the run waits on the real clock.
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

/// A store, and the run in it that this process drives.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    store: &'a dyn Store,
    hold: &'a Hold,
}

impl<'a> Held<'a> {
    pub(super) fn new(store: &'a dyn Store, hold: &'a Hold) -> Self {
        Self { store, hold }
    }
}

/// Obeys a request to stop that was left while nobody drove the run: it is saved as cancelled, and
/// nothing of it is executed. Says whether there was such a request; a run that is over has no use
/// for one.
pub(super) fn obey_request(held: Held<'_>, record: &mut Record) -> Result<bool, Failure> {
    let (folders, id) = (held.store.folders(), record.run.run_id.clone());
    let Some(reason) = folders.stop_requested(&id) else {
        return Ok(false);
    };
    if !record.run.status.is_resumable() {
        folders.clear_stop_request(&id)?;
        return Ok(false);
    }
    let (catalog, elapsed) = (catalog(record.launch.catalog), record.run.elapsed);
    let mut machine = Machine::new(record.run.clone(), &catalog);
    machine.on_cancelled(reason);
    let events = machine.take_events();
    record.run = machine.into_state();
    held.store.save(held.hold, record)?;
    // Forgotten only when it is saved: a process that dies between the two obeys it twice.
    folders.clear_stop_request(&id)?;
    let mut trace = TraceWriter::new(open_trace(folders, &id)?);
    for event in &events {
        trace.observe(&id, elapsed, event);
    }
    finish(trace, &id)?;
    Ok(true)
}

/// Lets `begin` put the run into its next state, then drives it until it stops, and prints it.
pub(super) fn to_its_exit(
    held: Held<'_>,
    record: Record,
    printing: &Printing,
    begin: impl FnOnce(&mut Machine<'_>) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let Record { launch, run } = record;
    let catalog = catalog(launch.catalog);
    let mut machine = Machine::new(run, &catalog);
    begin(&mut machine)?;
    let signalled = run_it(held, &launch, &mut machine)?;
    let run = machine.into_state();
    if let Some(StopReason::Cancelled { .. }) = &run.interruption {
        held.store.folders().clear_stop_request(&run.run_id)?;
    }
    show::summary(&run, printing)?;
    Ok(if signalled { Exit::Stopped } else { Exit::Fine })
}

fn catalog(kind: CatalogKind) -> Catalog {
    match kind {
        CatalogKind::Chapter => Catalog::chapter(),
        CatalogKind::IdempotencyKeys => Catalog::chapter_with_idempotency_keys(),
    }
}

/// Whether a signal of the operating system ended the run.
fn run_it(held: Held<'_>, launch: &Launch, machine: &mut Machine<'_>) -> Result<bool, Failure> {
    let folders = held.store.folders();
    let id = machine.state().run_id.clone();
    let provider = model::provider(&launch.model)?;
    let workspace = Workspace::open_folder(&folders.workspace(&id)?)
        .map_err(|error| Failure::could_not_do(&error))?;
    let clock = clock(launch.clock, machine.state().elapsed);
    let signal = Signal::new();
    let harness = Harness {
        provider: provider.as_ref(),
        catalog: &catalog(launch.catalog),
        workspace: &workspace,
        clock: clock.as_ref(),
        signal: &signal,
    };
    let mut trace = TraceWriter::new(open_trace(folders, &id)?);
    let mut save = |run: &RunState| save(held, launch, run, &signal);
    save(machine.state()).map_err(|error| Failure::could_not_do(&error))?;
    let mut watchers = Watchers::none().observed_by(&mut trace).saved_by(&mut save);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::could_not_do(&error))?;
    // A thread of its own hears signals while a long reply is counted on this one.
    let pressed = signal.clone();
    let interrupt = Interrupt::and_then(move |_, name| pressed.stop(name));
    let driven = runtime.block_on(async {
        let mut driving = std::pin::pin!(drive(machine, harness, &mut watchers));
        loop {
            tokio::select! {
                biased;
                driven = &mut driving => break driven,
                reason = stop_requested(folders, &id), if launch.clock == ClockKind::Real => {
                    signal.stop(&reason);
                }
            }
        }
    });
    drop(watchers);
    driven.map_err(|error| Failure::could_not_do(&error))?;
    finish(trace, &id)?;
    Ok(interrupt.is_requested())
}

fn finish(trace: TraceWriter<File>, id: &str) -> Result<(), Failure> {
    let finished = trace.finish().map(drop);
    finished.map_err(|error| {
        Failure::CouldNotDo(format!("the trace of run {id} is incomplete: {error}"))
    })
}

fn clock(kind: ClockKind, elapsed: Duration) -> Box<dyn Clock> {
    match kind {
        ClockKind::Virtual => Box::new(VirtualClock::starting_at(elapsed)),
        ClockKind::Real => Box::new(RealClock::starting_at(elapsed)),
    }
}

fn open_trace(folders: &Folders, id: &str) -> Result<File, Failure> {
    let path = folders.trace(id)?;
    let open = || -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        let mut file = open_plain(&path, &options)?;
        // A killed process may have left half a line; what follows begins one of its own.
        let torn = match file.seek(SeekFrom::End(-1)) {
            Ok(_) => {
                let mut last = [0];
                file.read_exact(&mut last)?;
                last != *b"\n"
            }
            Err(_) => false,
        };
        if torn {
            file.write_all(b"\n")?;
        }
        Ok(file)
    };
    open().map_err(|error| Failure::CouldNotDo(format!("cannot write {}: {error}", path.display())))
}

/// Saves the run, and obeys a request to stop that somebody has left.
fn save(
    held: Held<'_>,
    launch: &Launch,
    run: &RunState,
    signal: &Signal,
) -> Result<(), CheckpointError> {
    let record = Record {
        launch: launch.clone(),
        run: run.clone(),
    };
    let saved = held.store.save(held.hold, &record);
    saved.map_err(|error| CheckpointError(error.into()))?;
    if let Some(reason) = held.store.folders().stop_requested(&run.run_id) {
        signal.stop(&reason);
    }
    Ok(())
}

/// Waits until somebody leaves a request to stop, then until the run has had time to obey.
async fn stop_requested(folders: &Folders, id: &str) -> String {
    let (clock, never) = (RealClock::starting_at(Duration::ZERO), Signal::new());
    loop {
        // A private signal that nobody presses: the wait always runs its course.
        let _ = clock.sleep(LOOK_FOR_STOP, &never).await;
        if let Some(reason) = folders.stop_requested(id) {
            return reason;
        }
    }
}
