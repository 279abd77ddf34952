//! Runs one cell: from its settings to what was seen of the run.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::Experiment;
use super::bare::{self, Relay};
use super::execute::Stop;
use super::harness::BETWEEN_LOOKS;
use super::ledger::Ledger;
use super::loopback::Loopback;
use super::measured::{Measured, Restored};
use super::resources::{ResourceError, Resources};
use super::samples::{Samples, Times};
use super::seam::{CompareWith, Seam, Transport};
use super::settings::{Settings, Verdict};
use crate::clock::ClockKind;
use crate::clock::{Clock, RealClock, Signal, VirtualClock};
use crate::message::{Message, to_json};
use crate::meter::LaunchError;
use crate::provider::Provider;
use crate::results::digest::short_digest;
use crate::results::stats::NoStatistic;
use crate::run::{
    CheckpointError, DecisionError, Harness, Machine, RunState, Status, StopReason, Watchers, drive,
};
use crate::tools::{Action, Catalog, Workspace, WorkspaceError};
use crate::world;

/// Why a cell could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CellRunError {
    /// It asks for what its experiment does not have.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// Its state could not be written down or read back.
    #[error("the state could not be kept: {0}")]
    State(#[from] serde_json::Error),
    /// The driver refused to go on.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A verdict came at the wrong moment.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// What was written could not be read back.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Its command could not be run.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The machine gives no timer or socket.
    #[error("the real clock cannot be used: {0}")]
    Runtime(#[from] io::Error),
    /// The times of its samples cannot be summed up.
    #[error(transparent)]
    Samples(#[from] NoStatistic),
    /// The bytes of the run could not be exchanged without it.
    #[error("no bare connection to compare with: {0}")]
    Bare(#[source] io::Error),
}

/// Where the runs of one execution take place. Dropped from the top: connections end before
/// their server.
pub(super) struct Venue<'e> {
    resources: &'e Resources,
    time: Time,
    seam: Seam,
    loopback: Option<Loopback>,
    stop: Stop<'e>,
}

/// Whose time passes.
#[derive(Debug)]
enum Time {
    Virtual,
    Real(Runtime),
}

impl<'e> Venue<'e> {
    /// Prepares what the runs of `experiment` share: timers, sockets, a server where a cell asks
    /// a scripted model over HTTP.
    ///
    /// # Errors
    /// The system gives no timer, port or thread.
    pub(super) fn prepare(experiment: &'e Experiment, stop: Stop<'e>) -> io::Result<Self> {
        let resources = &experiment.resources;
        let time = match experiment.clock() {
            ClockKind::Virtual => Time::Virtual,
            ClockKind::Real => Time::Real(Builder::new_current_thread().enable_all().build()?),
        };
        let scripted = !(resources.scenarios.is_empty() && resources.children.is_empty());
        let served = scripted && experiment.sweep().mentions("transport");
        let loopback = served.then(|| Loopback::serve(resources)).transpose()?;
        let seam = Seam::new(experiment, loopback.as_ref().map(Loopback::address));
        Ok(Self {
            resources,
            time,
            seam,
            loopback,
            stop,
        })
    }

    /// A place where nothing leaves the process and no time passes, whatever the experiment's
    /// own clock is.
    pub(super) fn rehearsal(experiment: &'e Experiment, stop: Stop<'e>) -> Self {
        Self {
            resources: &experiment.resources,
            time: Time::Virtual,
            seam: Seam::new(experiment, None),
            loopback: None,
            stop,
        }
    }

    /// How models are reached from here.
    pub(super) const fn seam(&self) -> &Seam {
        &self.seam
    }

    /// Whether somebody asked for a stop.
    pub(super) fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// Runs one cell on a clock of its own and waits for its end.
    pub(super) fn run<'s>(
        &self,
        settings: &'s Settings,
        run_id: &str,
    ) -> Result<Measured<'s>, CellRunError> {
        let stage = Stage::set(settings, (self.resources, &self.seam), run_id)?;
        let Time::Real(runtime) = &self.time else {
            let mut measured = self.simulate(stage)?;
            if let Some(count) = settings.samples {
                let again = |settings: &Settings| {
                    let stage = Stage::set(settings, (self.resources, &self.seam), run_id)?;
                    Times::of(&self.simulate(stage)?)
                };
                measured.samples = Some(Samples::of(&measured, count, again)?);
            }
            return Ok(measured);
        };
        let clock = RealClock::starting_at(Duration::ZERO);
        let mut measured = runtime.block_on(stage.play_until(&clock, self.stop))?;
        if settings.compare_with == Some(CompareWith::BareSocket)
            && settings.transport != Transport::InProcess
            && let Some(loopback) = &self.loopback
        {
            let exchanges = runtime.block_on(self.overhear(settings, loopback))?;
            let bare = bare::round_trips(&exchanges).map_err(CellRunError::Bare)?;
            measured.bare_socket = Some(bare);
        }
        Ok(measured)
    }

    /// Plays a run in virtual time.
    fn simulate<'s>(&self, stage: Stage<'s>) -> Result<Measured<'s>, CellRunError> {
        pollster::block_on(stage.play(&VirtualClock::new(), self.stop))
    }

    /// Runs the cell once more, for what is said on the wire.
    async fn overhear(
        &self,
        settings: &Settings,
        loopback: &Loopback,
    ) -> Result<Vec<bare::Exchange>, CellRunError> {
        let relay = Relay::to(loopback.address()).await;
        let relay = relay.map_err(CellRunError::Bare)?;
        let seam = Seam::by_way_of(relay.address());
        let stage = Stage::set(settings, (self.resources, &seam), "overheard")?;
        let clock = RealClock::starting_at(Duration::ZERO);
        stage.play_until(&clock, self.stop).await?;
        Ok(relay.finish())
    }
}

/// Everything that a run needs but its clock.
struct Stage<'s> {
    settings: &'s Settings,
    state: RunState,
    provider: Arc<dyn Provider>,
    catalog: Arc<Catalog>,
    workspace: Workspace,
    signal: Signal,
}

impl<'s> Stage<'s> {
    fn set(
        settings: &'s Settings,
        (resources, seam): (&Resources, &Seam),
        run_id: &str,
    ) -> Result<Self, ResourceError> {
        let system = settings.system.as_deref().unwrap_or(world::SYSTEM);
        let system = world::with_rules(system, settings.filler_rules);
        let user = settings.user.as_deref().unwrap_or(world::USER);
        let signal = settings.stop_at_ms.map_or_else(Signal::new, |ms| {
            Signal::scheduled(Duration::from_millis(ms), &settings.stop_reason)
        });
        Ok(Self {
            settings,
            state: RunState::new(run_id, resources.run_settings(settings)?, &system, user),
            provider: resources.provider(settings, seam)?,
            catalog: resources.catalog(settings, seam)?,
            workspace: Workspace::in_memory(&resources.workspace(settings)?),
            signal,
        })
    }

    /// Plays a run on the machine's clock, and lets go of whatever it waits for once somebody asks
    /// for a stop: a reply may take minutes.
    async fn play_until(
        self,
        clock: &RealClock,
        stop: Stop<'_>,
    ) -> Result<Measured<'s>, CellRunError> {
        let (looks, never) = (RealClock::starting_at(Duration::ZERO), Signal::new());
        let mut playing = pin!(self.play(clock, stop));
        loop {
            tokio::select! {
                biased;
                played = &mut playing => return played,
                _ = looks.sleep(BETWEEN_LOOKS, &never) => go_on(stop)?,
            }
        }
    }

    async fn play(self, clock: &dyn Clock, stop: Stop<'_>) -> Result<Measured<'s>, CellRunError> {
        let harness = Harness {
            provider: self.provider.as_ref(),
            catalog: &self.catalog,
            workspace: &self.workspace,
            clock,
            signal: &self.signal,
        };
        let mut ledger = Ledger::default();
        let mut seen = Seen {
            ledger: &mut ledger,
            stop,
        };
        let (state, restored) = match self.settings.restart_after_turn {
            None => (self.state, None),
            Some(turn) => run_until_killed(self.state, turn, harness, &mut seen).await?,
        };
        let mut machine = Machine::new(state, &self.catalog);
        let asked_at_turn = decide(&mut machine, self.settings, harness, &mut seen).await?;
        let wall = clock.now();
        let journal = self.workspace.journal()?;
        let deleted = journal
            .into_iter()
            .filter(|entry| entry.action == Action::Deleted);
        Ok(Measured {
            settings: self.settings,
            sent_digest: short_digest(
                to_json(&(self.catalog.definitions(), machine.sent())).as_bytes(),
            ),
            state: machine.into_state(),
            catalog: self.catalog,
            ledger,
            wall,
            deleted: deleted.map(|entry| entry.path).collect(),
            asked_at_turn,
            restored,
            bare_socket: None,
            samples: None,
        })
    }
}

/// Drives a run to its end, with the settings' verdict on every call that asks for one. Returns
/// after which turn a person was first asked, if ever.
async fn decide(
    machine: &mut Machine<'_>,
    settings: &Settings,
    harness: Harness<'_>,
    seen: &mut Seen<'_>,
) -> Result<Option<u32>, CellRunError> {
    let mut asked_at_turn = None;
    loop {
        let stop = seen.stop;
        let mut go_on = |_: &RunState| go_on(stop);
        let watchers = Watchers::none().observed_by(seen.ledger);
        drive(machine, harness, &mut watchers.saved_by(&mut go_on)).await?;
        let Some(StopReason::Approval { call_id, .. }) = machine.state().interruption.clone()
        else {
            return Ok(asked_at_turn);
        };
        asked_at_turn.get_or_insert(machine.state().turns);
        match settings.verdict {
            Verdict::None => return Ok(asked_at_turn),
            Verdict::Approve => machine.approve(&call_id)?,
            Verdict::Reject => machine.reject(&call_id, &settings.verdict_reason)?,
        }
    }
}

/// Who sees a run, and may end it.
struct Seen<'a> {
    ledger: &'a mut Ledger,
    stop: Stop<'a>,
}

/// The process is gone, or should be; not a failure of saving.
#[derive(Debug, thiserror::Error)]
#[error("killed")]
struct Killed;

/// Ends the run where it is if somebody asked for that.
fn go_on(stop: Stop<'_>) -> Result<(), CheckpointError> {
    if stop() {
        Err(CheckpointError(Box::new(Killed)))
    } else {
        Ok(())
    }
}

/// Runs until `turn` and its tools are done, keeps nothing but the bytes of the state at that
/// moment, and reads the run back from them. A run that ends earlier is not killed.
async fn run_until_killed(
    state: RunState,
    turn: u32,
    harness: Harness<'_>,
    seen: &mut Seen<'_>,
) -> Result<(RunState, Option<Restored>), CellRunError> {
    let stop = seen.stop;
    let mut saved = None;
    let mut save = |state: &RunState| {
        if state.status != Status::Running || state.turns < turn || awaits_tools(state) {
            return go_on(stop);
        }
        let failed = |error| CheckpointError(Box::new(error));
        saved = Some(serde_json::to_vec(state).map_err(failed)?);
        Err(CheckpointError(Box::new(Killed)))
    };
    let mut machine = Machine::new(state, harness.catalog);
    let mut watchers = Watchers::none()
        .observed_by(seen.ledger)
        .saved_by(&mut save);
    let driven = drive(&mut machine, harness, &mut watchers).await;
    drop(watchers);
    let Some(bytes) = saved else {
        driven?;
        return Ok((machine.into_state(), None));
    };
    drop(machine);
    let state: RunState = serde_json::from_slice(&bytes)?;
    let restored = Restored {
        turns: state.turns,
        messages: state.messages.len(),
        cost: state.cost,
    };
    Ok((state, Some(restored)))
}

/// Whether calls of the last reply have no result yet.
fn awaits_tools(state: &RunState) -> bool {
    let results = state.messages.iter().rev();
    let results = results
        .take_while(|message| matches!(message, Message::Tool { .. }))
        .count();
    let last_reply = state.messages.iter().rev().nth(results);
    match last_reply {
        Some(Message::Assistant { tool_calls, .. }) => results < tool_calls.len(),
        _ => false,
    }
}
