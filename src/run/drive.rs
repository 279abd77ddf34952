//! The driver: does for a run what the step machine asks for, and shows everybody what happened.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Signal, Stopped};
use crate::event::{Event, Observer};
use crate::provider::{Provider, ProviderContext, ProviderError, Reply, Request};
use crate::run::execute::execute;
use crate::run::machine::{Machine, Need};
use crate::run::policy::CancelReaches;
use crate::run::state::RunState;
use crate::scenario::ask_for_summary;
use crate::tools::{Catalog, Workspace};

/// What a run is run with.
#[derive(Clone, Copy)]
pub struct Harness<'a> {
    /// Who answers.
    pub provider: &'a dyn Provider,
    /// The tools; the same that the machine was made with.
    pub catalog: &'a Catalog,
    /// What the tools work on.
    pub workspace: &'a Workspace,
    /// Whose time it takes.
    pub clock: &'a dyn Clock,
    /// The Stop button.
    pub signal: &'a Signal,
}

/// Saves a run after a step.
pub type Checkpoint<'a> = &'a mut (dyn FnMut(&RunState) -> Result<(), CheckpointError> + Send);

/// The run could not be saved, so it does not go on.
#[derive(Debug, thiserror::Error)]
#[error("the run could not be saved")]
pub struct CheckpointError(#[source] pub Box<dyn Error + Send + Sync>);

/// Who watches a run, and who saves it.
#[derive(Default)]
pub struct Watchers<'a> {
    observers: Observers<'a>,
    checkpoint: Option<Checkpoint<'a>>,
}

/// Observers behind a lock, because a running tool reports its progress from where it is.
#[derive(Default)]
pub(super) struct Observers<'a>(Mutex<Vec<&'a mut dyn Observer>>);

impl Observers<'_> {
    pub(super) fn show(&self, run_id: &str, at: Duration, event: &Event) {
        // An observer that panicked has seen its last event; the others go on.
        let mut observers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for observer in observers.iter_mut() {
            observer.observe(run_id, at, event);
        }
    }
}

impl<'a> Watchers<'a> {
    /// Nobody.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// One more who sees every event.
    #[must_use]
    pub fn observed_by(mut self, observer: &'a mut dyn Observer) -> Self {
        let observers = self
            .observers
            .0
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        observers.push(observer);
        self
    }

    /// Saves the run by `checkpoint` after every step.
    #[must_use]
    pub fn saved_by(mut self, checkpoint: Checkpoint<'a>) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    fn after_step(
        &mut self,
        machine: &mut Machine<'_>,
        at: Duration,
    ) -> Result<(), CheckpointError> {
        let events = machine.take_events();
        for event in &events {
            self.observers.show(&machine.state().run_id, at, event);
        }
        // Whatever changes a run is an event, so a step without one left nothing to save.
        match &mut self.checkpoint {
            Some(save) if !events.is_empty() => save(machine.state()),
            _ => Ok(()),
        }
    }
}

/// Runs `machine` until it has taken one of its exits.
///
/// # Errors
/// [`CheckpointError`] where the run cannot be saved; nothing more is asked or executed then.
pub async fn drive(
    machine: &mut Machine<'_>,
    harness: Harness<'_>,
    watchers: &mut Watchers<'_>,
) -> Result<(), CheckpointError> {
    loop {
        let need = machine.next(harness.clock.now());
        watchers.after_step(machine, harness.clock.now())?;
        match need {
            Need::Nothing => return Ok(()),
            Need::Reply { prompt_tokens } => {
                ask(machine, harness, &watchers.observers, prompt_tokens).await;
            }
            Need::Summary {
                prompt_tokens,
                most_tokens,
            } => {
                let length = (prompt_tokens, most_tokens);
                summarise(machine, harness, &watchers.observers, length).await;
            }
            Need::Tool {
                call,
                arguments,
                beside,
            } => {
                let calls = [vec![(call, arguments)], beside].concat();
                if let Some(Stopped { reason }) = stopped_before_a_tool(machine, harness) {
                    machine.on_cancelled(reason);
                } else {
                    match calls.as_slice() {
                        [(call, _)] => machine.on_tool_start(call),
                        several => machine.on_reads_start(several.iter().map(|(call, _)| call)),
                    }
                    watchers.after_step(machine, harness.clock.now())?;
                    execute(machine, harness, &watchers.observers, &calls).await;
                }
            }
        }
        watchers.after_step(machine, harness.clock.now())?;
    }
}

/// Stop, where it was pressed before a tool was started: a tool that waits for nothing would not
/// notice, and the call would count as started.
fn stopped_before_a_tool(machine: &Machine<'_>, harness: Harness<'_>) -> Option<Stopped> {
    match machine.state().settings.policy.cancel_reaches {
        CancelReaches::Everything => harness.signal.check(harness.clock.now()).err(),
        CancelReaches::ProviderOnly | CancelReaches::Nothing => None,
    }
}

async fn ask(
    machine: &mut Machine<'_>,
    harness: Harness<'_>,
    observers: &Observers<'_>,
    prompt_tokens: u64,
) {
    machine.on_request();
    let request = Request {
        messages: machine.sent(),
        tools: harness.catalog.definitions(),
        prompt_tokens,
        max_completion_tokens: machine.state().settings.max_completion_tokens,
    };
    let (asked, attempts) = complete(machine, harness, observers, request).await;
    machine.on_attempts(attempts);
    match asked {
        Ok((reply, took)) => machine.on_reply(reply, took),
        Err(error) => give_up(machine, error),
    }
}

/// Asks for a summary: what is sent, and the question for it.
async fn summarise(
    machine: &mut Machine<'_>,
    harness: Harness<'_>,
    observers: &Observers<'_>,
    (prompt_tokens, most_tokens): (u64, u64),
) {
    machine.on_request();
    let messages = [machine.sent(), &[ask_for_summary(most_tokens)]].concat();
    let request = Request {
        messages: &messages,
        tools: harness.catalog.definitions(),
        prompt_tokens,
        // A reply without calls has one token more than its prose, as it is counted here.
        max_completion_tokens: Some(most_tokens.saturating_add(1)),
    };
    let (asked, attempts) = complete(machine, harness, observers, request).await;
    machine.on_attempts(attempts);
    match asked {
        Ok((summary, took)) => machine.on_summary(summary, took),
        Err(error) => give_up(machine, error),
    }
}

fn give_up(machine: &mut Machine<'_>, error: ProviderError) {
    match error {
        ProviderError::Stopped(Stopped { reason }) => machine.on_cancelled(reason),
        ProviderError::Failed(error) => machine.on_provider_error(error),
    }
}

/// What came of a request, how long that took, and how often it was sent.
async fn complete(
    machine: &Machine<'_>,
    harness: Harness<'_>,
    observers: &Observers<'_>,
    request: Request<'_>,
) -> (Result<(Reply, Duration), ProviderError>, u32) {
    let never = Signal::new();
    let signal = match machine.state().settings.policy.cancel_reaches {
        CancelReaches::Everything | CancelReaches::ProviderOnly => harness.signal,
        CancelReaches::Nothing => &never,
    };
    let attempts = AtomicU32::new(0);
    let (run_id, turn) = (
        &machine.state().run_id,
        machine.state().turns.saturating_add(1),
    );
    let note = |attempt| {
        attempts.fetch_add(1, Ordering::Relaxed);
        observers.show(
            run_id,
            harness.clock.now(),
            &Event::Attempt { turn, attempt },
        );
    };
    let context = ProviderContext::new(harness.clock, signal, &note);
    let start = harness.clock.now();
    let reply = harness.provider.complete(request, context).await;
    let took = harness.clock.now().saturating_sub(start);
    let attempts = attempts.load(Ordering::Relaxed);
    (reply.map(|reply| (reply, took)), attempts)
}
