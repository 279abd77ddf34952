//! Executes the calls that a run is to make next: one, or several that only read.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use serde_json::Value;

use crate::clock::{BoxFuture, Clock, Signal, Stopped, VirtualClock};
use crate::event::Event;
use crate::message::ToolCall;
use crate::run::drive::{Harness, Observers};
use crate::run::machine::Machine;
use crate::run::policy::CancelReaches;
use crate::tools::{Bill, Tool, ToolContext, ToolFailure};

/// What came of one call.
struct Outcome {
    result: Result<String, ToolFailure>,
    bill: Bill,
    /// How long its tool took.
    took: Duration,
    /// What its clock shows at its end.
    end: Duration,
}

/// Where the calls of one step run.
struct Stage<'a, 'w> {
    harness: Harness<'a>,
    observers: &'a Observers<'w>,
    run_id: &'a str,
    /// Progress of tools that have clocks of their own, until it can be told in order.
    told_later: Mutex<Vec<(Duration, Event)>>,
}

/// Runs the tools of `calls` at the same time and hands their results to the machine in order.
/// Where Stop ends one of them, the calls behind it stay unanswered, whatever came of them: they
/// only read, and are made again when the run is taken up.
pub(super) async fn execute(
    machine: &mut Machine<'_>,
    harness: Harness<'_>,
    observers: &Observers<'_>,
    calls: &[(ToolCall, Value)],
) {
    let tools = calls.iter().map(|(call, _)| {
        let tool = harness.catalog.get(&call.name);
        tool.map(AsRef::as_ref).ok_or(&call.name)
    });
    let tools: Vec<&dyn Tool> = match tools.collect() {
        Ok(tools) => tools,
        // The machine asks only for tools of its own catalog; another catalog here is a mix-up.
        Err(name) => return machine.on_provider_error(format!("no tool {name:?} in the harness")),
    };
    let never = Signal::new();
    let signal = match machine.state().settings.policy.cancel_reaches {
        CancelReaches::Everything => harness.signal,
        CancelReaches::ProviderOnly | CancelReaches::Nothing => &never,
    };
    let run_id = machine.state().run_id.clone();
    let stage = Stage {
        harness: Harness { signal, ..harness },
        observers,
        run_id: &run_id,
        told_later: Mutex::default(),
    };
    let several = calls.len() > 1;
    let clocks = calls
        .iter()
        .map(|_| several.then(|| harness.clock.fork()).flatten());
    let clocks: Vec<Option<VirtualClock>> = clocks.collect();
    let running = calls.iter().zip(tools).zip(&clocks);
    let running = running.map(|((call, tool), clock)| stage.run(call, tool, clock.as_ref()));
    let outcomes = all(running.collect()).await;
    stage.tell();
    for outcome in &outcomes {
        harness.clock.advance_to(outcome.end);
        machine.on_bill(outcome.bill);
    }
    for ((call, _), outcome) in calls.iter().zip(outcomes) {
        match outcome.result {
            Ok(text) => machine.on_tool(call, Ok(text), outcome.took),
            Err(ToolFailure::Error(error)) => machine.on_tool(call, Err(error), outcome.took),
            Err(ToolFailure::Stopped(Stopped { reason })) => return machine.on_cancelled(reason),
        }
    }
}

impl Stage<'_, '_> {
    /// Runs one call, on a clock of its own where it has one.
    fn run<'a>(
        &'a self,
        (call, arguments): &'a (ToolCall, Value),
        tool: &'a dyn Tool,
        own: Option<&'a VirtualClock>,
    ) -> BoxFuture<'a, Outcome> {
        let clock = own.map_or(self.harness.clock, |own| own as &dyn Clock);
        Box::pin(async move {
            let progress = |label: &str| {
                let (tool_name, label) = (call.name.clone(), label.to_owned());
                let event = Event::ToolProgress { tool_name, label };
                if own.is_some() {
                    self.keep(clock.now(), event);
                } else {
                    self.observers.show(self.run_id, clock.now(), &event);
                }
            };
            let (signal, workspace) = (self.harness.signal, self.harness.workspace);
            let context = ToolContext::new(clock, signal, workspace, &progress)
                .for_operation(format!("{}/{}", self.run_id, call.id));
            let start = clock.now();
            let result = tool.run(arguments, &context).await;
            let end = clock.now();
            Outcome {
                result,
                bill: context.take_bill(),
                took: end.saturating_sub(start),
                end,
            }
        })
    }

    fn keep(&self, at: Duration, event: Event) {
        // Whoever panicked has pushed a whole event or none.
        let mut later = self
            .told_later
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        later.push((at, event));
    }

    /// Shows what was kept, in the order of time; at one time, in the order of the calls.
    fn tell(&self) {
        let mut later = self
            .told_later
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        later.sort_by_key(|(at, _)| *at);
        for (at, event) in later.drain(..) {
            self.observers.show(self.run_id, at, &event);
        }
    }
}

/// Waits for all of `running`, which go on at the same time on this one thread.
async fn all<T>(mut running: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, done) in running.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(outcome) = future.as_mut().poll(context)
            {
                *done = Some(outcome);
            }
        }
        if done.iter().all(Option::is_some) {
            Poll::Ready(done.drain(..).flatten().collect())
        } else {
            Poll::Pending
        }
    })
    .await
}
