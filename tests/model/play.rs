//! The real run: driven, cut off, taken up from what was saved, decided, until it is over.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{LazyLock, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use loopmeter::clock::{BoxFuture, VirtualClock};
use loopmeter::event::{Event, Metering, Observer};
use loopmeter::message::{FinishReason, Message};
use loopmeter::pricing::{CHAPTER_PRICE, Price, PriceList};
use loopmeter::provider::{Provider, ProviderContext, ProviderError, Reply, Request};
use loopmeter::run::{
    CheckpointError, Harness, Machine, Need, RunSettings, RunState, Status, StopReason, Watchers,
    drive,
};
use loopmeter::scenario;
use loopmeter::tools::{Catalog, Template, Workspace};

use crate::chance::Chance;
use crate::fate::Fate;
use crate::reference::{self, Expected};
use crate::script::{Plan, Said};
use crate::tools::{self, Bench, World};

/// The id of every run.
pub(crate) const ID: &str = "m";

/// How many processes may meet with an accident before one is left alone.
const MOST_ACCIDENTS: u32 = 12;

/// What happened to the runs.
#[derive(Default)]
pub(crate) struct Accidents {
    deaths: u32,
    stops: u32,
    approved: u32,
    rejected: u32,
    settled_done: u32,
    settled_retry: u32,
    refused: u32,
    saved: u64,
}

impl Accidents {
    pub(crate) fn all_happened(&self) -> bool {
        let all = [
            self.deaths,
            self.stops,
            self.approved,
            self.rejected,
            self.settled_done,
            self.settled_retry,
            self.refused,
        ];
        all.iter().all(|count| *count > 0)
    }
}

impl fmt::Display for Accidents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} deaths, {} stops, {} approvals, {} rejections; of writes with an unknown outcome \
             {} were done and {} were not; {} senseless decisions refused; {} states looked at",
            self.deaths,
            self.stops,
            self.approved,
            self.rejected,
            self.settled_done,
            self.settled_retry,
            self.refused,
            self.saved
        )
    }
}

/// A run that is over, and what it wrote.
pub(crate) struct Played {
    run: RunState,
    writes: Vec<String>,
}

/// The run before its first request.
pub(crate) fn beginning(plan: &Plan) -> RunState {
    static PRICE: LazyLock<Price> = LazyLock::new(|| {
        let prices = PriceList::builtin().unwrap();
        prices.get(CHAPTER_PRICE).unwrap().clone()
    });
    let mut settings = RunSettings::new(PRICE.clone()).with_policy(plan.policy);
    settings.stop.clone_from(&plan.stop);
    RunState::new(ID, settings, "", "go")
}

pub(crate) fn compare(played: &Played, expected: &Expected) {
    let run = &played.run;
    assert_eq!(run.messages, expected.messages);
    let reason = run.interruption.as_ref().map(StopReason::as_str);
    assert_eq!((run.status, reason), (expected.status, expected.reason));
    assert_eq!(run.turns, expected.turns);
    assert_eq!(run.cost.pico(), expected.cost);
    assert_eq!(run.output, expected.output);
    assert_eq!(played.writes, expected.writes, "each once, in order");
}

pub(crate) fn play(
    (plan, bench): (&Plan, &Bench),
    chance: &mut Chance,
    accidents: &mut Accidents,
) -> Played {
    let world = World::default();
    // What outlives a process: the last state that was saved, as bytes.
    let disk = Disk::default();
    disk.save(&beginning(plan));
    let mut processes = 0;
    loop {
        let run: RunState = serde_json::from_slice(&disk.load()).unwrap();
        let over = !matches!(
            run.interruption,
            Some(
                StopReason::Approval { .. }
                    | StopReason::UnknownOutcome { .. }
                    | StopReason::Cancelled { .. }
            )
        );
        if run.status != Status::Running && over {
            let writes = world.writes();
            return Played { run, writes };
        }
        let calm = processes >= MOST_ACCIDENTS || chance.happens(1, 4);
        let fate = if calm {
            Fate::none()
        } else {
            Fate::random(chance)
        };
        processes += 1;
        bench.set(&world, &fate);
        let process = Process {
            plan,
            catalog: &bench.catalog,
            world: &world,
            disk: &disk,
            fate: &fate,
        };
        process.live(run, accidents);
        if fate.is_dead() {
            accidents.deaths += 1;
        }
    }
}

#[derive(Default)]
struct Disk(Mutex<Vec<u8>>);

impl Disk {
    fn save(&self, run: &RunState) {
        *self.0.lock().unwrap() = serde_json::to_vec(run).unwrap();
    }

    fn load(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

struct Process<'a> {
    plan: &'a Plan,
    catalog: &'a Catalog,
    world: &'a World,
    disk: &'a Disk,
    fate: &'a Fate,
}

impl Process<'_> {
    fn live(&self, run: RunState, accidents: &mut Accidents) {
        let mut machine = Machine::new(run, self.catalog);
        refuse_nonsense(&mut machine, accidents);
        self.decide(&mut machine, accidents);
        let provider = Model {
            plan: self.plan,
            fate: self.fate.clone(),
        };
        let mut exits = Exits(0);
        let driven = self.drive(&mut machine, &provider, (&mut exits, accidents));
        match driven {
            Poll::Ready(Ok(())) => {
                assert_eq!(exits.0, 1, "exactly one exit");
                assert!(Status::EXITS.contains(&machine.state().status));
                assert_eq!(machine.next(Duration::ZERO), Need::Nothing);
                if let Some(StopReason::Cancelled { .. }) = machine.state().interruption {
                    accidents.stops += 1;
                }
            }
            Poll::Ready(Err(_)) | Poll::Pending => {
                assert!(self.fate.is_dead(), "only death keeps a run from its exit");
            }
        }
    }

    /// What the person says who takes the run up.
    fn decide(&self, machine: &mut Machine<'_>, accidents: &mut Accidents) {
        match machine.state().interruption.clone() {
            Some(StopReason::Approval { call_id, .. }) if self.plan.approves(&call_id) => {
                accidents.approved += 1;
                machine.approve(&call_id).unwrap();
            }
            Some(StopReason::Approval { call_id, .. }) => {
                accidents.rejected += 1;
                machine.reject(&call_id, "not now").unwrap();
            }
            Some(StopReason::UnknownOutcome {
                call_id,
                tool_name,
                args,
            }) => {
                if self.world.has(&format!("{ID}/{call_id}")) {
                    accidents.settled_done += 1;
                    let result = tools::result(&tool_name, &args["n"]).unwrap();
                    machine.done(&call_id, Some(&result)).unwrap();
                } else {
                    accidents.settled_retry += 1;
                    machine.retry(&call_id).unwrap();
                }
            }
            _ => machine.take_up().unwrap(),
        }
    }

    fn drive(
        &self,
        machine: &mut Machine<'_>,
        provider: &Model<'_>,
        (exits, accidents): (&mut Exits, &mut Accidents),
    ) -> Poll<Result<(), CheckpointError>> {
        let harness = Harness {
            provider,
            catalog: self.catalog,
            workspace: &Workspace::in_memory(&Template::default()),
            clock: &VirtualClock::starting_at(machine.state().elapsed),
            signal: &self.fate.signal,
        };
        let mut save = |run: &RunState| {
            accidents.saved += 1;
            is_legal(run, self.plan);
            if !self.fate.passes() {
                return Err(CheckpointError("died before the write".into()));
            }
            self.disk.save(run);
            if !self.fate.passes() {
                return Err(CheckpointError("died after the write".into()));
            }
            Ok(())
        };
        // As a process does that takes up a run: what was decided is saved first.
        if let Err(died) = save(machine.state()) {
            return Poll::Ready(Err(died));
        }
        let mut watchers = Watchers::none().observed_by(exits).saved_by(&mut save);
        let mut driving = pin!(drive(machine, harness, &mut watchers));
        driving
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }
}

/// Decisions about calls that there are not, or that do not wait, change nothing.
fn refuse_nonsense(machine: &mut Machine<'_>, accidents: &mut Accidents) {
    let before = machine.state().clone();
    let refused = [
        machine.approve("nobody").is_err(),
        machine.reject("nobody", "no").is_err(),
        machine.retry("nobody").is_err(),
        machine.done("nobody", None).is_err(),
    ];
    assert_eq!(refused, [true; 4]);
    assert_eq!(machine.state(), &before);
    accidents.refused += 4;
}

/// What holds of every state that is ever saved.
fn is_legal(run: &RunState, plan: &Plan) {
    let mut paid = 0;
    for turn in 0..usize::try_from(run.turns).unwrap() {
        paid += reference::cost(&plan.turn(turn).1);
    }
    assert_eq!(run.cost.pico(), paid, "the cost is that of the turns");
    let mut open: Vec<&str> = Vec::new();
    for message in &run.messages {
        match message {
            Message::Assistant { tool_calls, .. } => {
                assert!(open.is_empty(), "a call was left without a result");
                open = tool_calls.iter().map(|call| call.id.as_str()).collect();
            }
            Message::Tool { tool_call_id, .. } => {
                assert_eq!(open.first(), Some(&tool_call_id.as_str()), "in order");
                open.remove(0);
            }
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    if run.status == Status::Completed {
        assert!(open.is_empty(), "a completed run leaves nothing open");
    }
    if let Some(in_flight) = &run.in_flight {
        assert_eq!(
            open.first(),
            Some(&in_flight.as_str()),
            "what is in flight is next"
        );
    }
}

/// Counts exits.
struct Exits(u32);

impl Observer for Exits {
    fn observe(&mut self, _run_id: &str, _at: Duration, event: &Event) {
        if let Event::RunStopped { .. } = event {
            self.0 += 1;
        }
    }
}

/// Says what the plan says; the turn is read off the transcript.
struct Model<'a> {
    plan: &'a Plan,
    fate: Fate,
}

impl Provider for Model<'_> {
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            self.fate.moment().await;
            context.signal.check(context.clock.now())?;
            let said = |message: &&Message| matches!(message, Message::Assistant { .. });
            let turn = request.messages.iter().filter(said).count();
            let (said, usage) = self.plan.turn(turn);
            let message = match said {
                Said::Broken => return Err(ProviderError::Failed("broken".to_owned())),
                Said::Nothing => None,
                Said::Prose(text) => Some(scenario::Said {
                    content: Some(text),
                    tool_calls: Vec::new(),
                }),
                Said::Calls(prose, tool_calls) => Some(scenario::Said {
                    content: prose,
                    tool_calls,
                }),
            };
            self.fate.moment().await;
            Ok(Reply {
                message,
                finish: Some(FinishReason::Stop),
                usage,
                metering: Metering::reported(usage),
            })
        })
    }
}
