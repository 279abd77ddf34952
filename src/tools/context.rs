//! What a running tool has to hand: time, the stop signal, the workspace, a place for progress,
//! and a place for the bill of a tool that has a whole run behind it.

use std::fmt;
use std::ops::AddAssign;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::workspace::Workspace;
use crate::clock::{Clock, Signal};
use crate::message::Usage;
use crate::money::PicoUsd;

/// What the runs behind a tool took: kept apart from the caller's own cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// How many runs there were.
    pub runs: u32,
    /// Their turns.
    pub turns: u32,
    /// Requests meant.
    #[serde(default)]
    pub requests: u32,
    /// Attempts on the wire.
    #[serde(default)]
    pub attempts: u32,
    /// Tool bodies that they started.
    pub tool_runs: u32,
    /// Their tokens.
    pub usage: Usage,
    /// Their cost.
    pub cost: PicoUsd,
}

/// Two bills on one; every number saturates instead of wrapping.
impl AddAssign for Bill {
    fn add_assign(&mut self, other: Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.turns = self.turns.saturating_add(other.turns);
        self.requests = self.requests.saturating_add(other.requests);
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.tool_runs = self.tool_runs.saturating_add(other.tool_runs);
        self.usage += other.usage;
        self.cost += other.cost;
    }
}

/// What one call of a tool can use.
pub struct ToolContext<'a> {
    /// The run's time.
    pub clock: &'a dyn Clock,
    /// The stop signal, as far as it reaches the tool.
    pub signal: &'a Signal,
    /// The files that the tool acts on.
    pub workspace: &'a Workspace,
    report: &'a (dyn Fn(&str) + Send + Sync),
    operation: Option<String>,
    bill: Mutex<Bill>,
}

impl<'a> ToolContext<'a> {
    /// A context whose progress labels go to `report`.
    #[must_use]
    pub fn new(
        clock: &'a dyn Clock,
        signal: &'a Signal,
        workspace: &'a Workspace,
        report: &'a (dyn Fn(&str) + Send + Sync),
    ) -> Self {
        Self {
            clock,
            signal,
            workspace,
            report,
            operation: None,
            bill: Mutex::default(),
        }
    }

    /// The same for the call that is known as `operation`.
    #[must_use]
    pub fn for_operation(mut self, operation: String) -> Self {
        self.operation = Some(operation);
        self
    }

    /// What the call is known as, `<run>/<call>`: the same whenever this one call is executed, and
    /// no other's, so a tool that writes can recognise a repetition by it.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// Says how far the tool is, in words for a person.
    pub fn progress(&self, label: &str) {
        (self.report)(label);
    }

    /// Adds what a run behind the tool took; it counts even where the tool then fails.
    pub fn add_bill(&self, bill: Bill) {
        *self.bill() += bill;
    }

    /// Everything added so far; the context is left with an empty bill.
    #[must_use]
    pub fn take_bill(&self) -> Bill {
        std::mem::take(&mut *self.bill())
    }

    /// A panic elsewhere cannot leave a bill half-added, so a poisoned lock still holds a sum.
    fn bill(&self) -> MutexGuard<'_, Bill> {
        self.bill.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("now", &self.clock.now())
            .field("bill", &self.bill())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::VirtualClock;
    use crate::tools::Template;

    fn one_run() -> Bill {
        Bill {
            runs: 1,
            turns: 3,
            requests: 3,
            attempts: 5,
            tool_runs: 2,
            usage: Usage {
                prompt_tokens: 815,
                completion_tokens: 70,
                ..Usage::default()
            },
            cost: PicoUsd::from_pico(2_470_000_000),
        }
    }

    fn with_context(test: impl FnOnce(&ToolContext<'_>)) {
        let (clock, signal) = (VirtualClock::new(), Signal::new());
        let workspace = Workspace::in_memory(&Template::chapter());
        test(&ToolContext::new(&clock, &signal, &workspace, &|_| {}));
    }

    #[test]
    fn bills_add_up_and_are_taken_once() {
        with_context(|context| {
            context.add_bill(one_run());
            context.add_bill(one_run());
            let bill = context.take_bill();
            assert_eq!((bill.runs, bill.turns, bill.tool_runs), (2, 6, 4));
            assert_eq!((bill.requests, bill.attempts), (6, 10));
            assert_eq!(bill.usage.total_tokens(), 2 * 885);
            assert_eq!(bill.cost, PicoUsd::from_pico(4_940_000_000));
            assert_eq!(context.take_bill(), Bill::default());
        });
    }

    #[test]
    fn a_poisoned_lock_keeps_the_bill() {
        with_context(|context| {
            context.add_bill(one_run());
            std::thread::scope(|scope| {
                let poison = scope.spawn(|| {
                    let _guard = context.bill.lock();
                    std::panic::resume_unwind(Box::new("poison"));
                });
                assert!(poison.join().is_err());
            });
            assert!(context.bill.is_poisoned());
            assert_eq!(context.take_bill(), one_run());
        });
    }

    #[test]
    fn a_context_can_be_held_across_a_wait_in_a_send_future() {
        with_context(|context| {
            fn is_send<T: Send>(future: T) -> T {
                future
            }
            let future = is_send(async {
                context.add_bill(one_run());
                let waited = context
                    .clock
                    .sleep(Duration::from_millis(5), context.signal);
                assert_eq!(waited.await, Ok(()));
                context.take_bill()
            });
            assert_eq!(pollster::block_on(future), one_run());
        });
    }
}
