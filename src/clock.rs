//! Time and the stop signal: both enter a run as values.
//!
//! A [`Clock`] is virtual (exact and instant, the default) or real. A [`Signal`] is the one Stop
//! button of a run; whoever waits does so through [`Clock::sleep`], which the signal can end.
//! This is the only module that reads the machine's clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A boxed future, the shape in which object-safe traits await.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Tells the time since the run began, and waits.
pub trait Clock: Send + Sync {
    /// Time since the clock was made.
    fn now(&self) -> Duration;

    /// Waits for `span`.
    ///
    /// # Errors
    /// [`Stopped`] as soon as `signal` says so, with its reason.
    fn sleep<'a>(
        &'a self,
        span: Duration,
        signal: &'a Signal,
    ) -> BoxFuture<'a, Result<(), Stopped>>;

    /// A clock for one of several things that begin now and go on at the same time, where time
    /// passes only for whoever waits: each waits on its own, and [`Clock::advance_to`] brings this
    /// one to the latest end. None where time passes for all alike, as it does by default: they
    /// share this clock.
    fn fork(&self) -> Option<VirtualClock> {
        None
    }

    /// Shows `time`, unless it is later already. Does nothing where time passes by itself.
    fn advance_to(&self, time: Duration) {
        let _ = time;
    }
}

/// Which clock a run lives by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "cli",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
pub enum ClockKind {
    /// Time passes only when somebody waits: exact, and instant.
    #[default]
    Virtual,
    /// The machine's clock.
    Real,
}

/// Somebody pressed Stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped: {reason}")]
pub struct Stopped {
    /// What the one who stopped it gave as the reason.
    pub reason: String,
}

/// The one stop signal of a run; clones share it.
#[derive(Clone, Debug)]
pub struct Signal {
    scheduled: Option<(Duration, Arc<str>)>,
    pressed: watch::Sender<Option<String>>,
}

impl Default for Signal {
    fn default() -> Self {
        Self {
            scheduled: None,
            pressed: watch::Sender::new(None),
        }
    }
}

impl Signal {
    /// A signal that nobody has pressed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A signal that will be pressed when the clock shows `at`.
    #[must_use]
    pub fn scheduled(at: Duration, reason: &str) -> Self {
        Self {
            scheduled: Some((at, reason.into())),
            ..Self::default()
        }
    }

    /// Presses Stop now. The first reason stands.
    pub fn stop(&self, reason: &str) {
        self.pressed.send_if_modified(|pressed| {
            let first = pressed.is_none();
            pressed.get_or_insert_with(|| reason.to_owned());
            first
        });
    }

    /// Fails if Stop was pressed at or before `now`.
    ///
    /// # Errors
    /// [`Stopped`] with the reason.
    pub fn check(&self, now: Duration) -> Result<(), Stopped> {
        if let Some(reason) = self.pressed.borrow().clone() {
            return Err(Stopped { reason });
        }
        match &self.scheduled {
            Some((at, reason)) if *at <= now => Err(Stopped {
                reason: reason.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Resolves when somebody calls [`Signal::stop`]; scheduled stops are the clock's affair.
    pub async fn pressed(&self) -> Stopped {
        let mut watcher = self.pressed.subscribe();
        let pressed = watcher
            .wait_for(Option::is_some)
            .await
            .map(|reason| reason.clone());
        match pressed {
            Ok(reason) => Stopped {
                reason: reason.unwrap_or_default(),
            },
            // Unreachable while `self` holds the sender: wait for a press that cannot come.
            Err(_) => std::future::pending().await,
        }
    }

    fn scheduled_within(&self, end: Duration) -> Option<(Duration, Stopped)> {
        let (at, reason) = self.scheduled.as_ref()?;
        (*at < end).then(|| {
            (
                *at,
                Stopped {
                    reason: reason.to_string(),
                },
            )
        })
    }
}

/// The time of day, since the first second of 1970; nothing if the machine's clock is before it.
/// Only what the outside world dates needs it: a run has its [`Clock`].
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the home of the real clock")]
pub fn since_1970() -> Duration {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Time that passes only when somebody waits: exact to the nanosecond, and instant.
#[derive(Debug, Default)]
pub struct VirtualClock {
    now_ns: AtomicU64,
}

impl VirtualClock {
    /// A virtual clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A virtual clock that shows `at`, for a run that is resumed.
    #[must_use]
    pub fn starting_at(at: Duration) -> Self {
        Self {
            now_ns: AtomicU64::new(nanos(at)),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(Ordering::SeqCst))
    }

    fn sleep<'a>(
        &'a self,
        span: Duration,
        signal: &'a Signal,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move {
            let start = self.now();
            signal.check(start)?;
            let end = start.saturating_add(span);
            if let Some((at, stopped)) = signal.scheduled_within(end) {
                self.advance_to(at);
                return Err(stopped);
            }
            self.advance_to(end);
            Ok(())
        })
    }

    fn fork(&self) -> Option<VirtualClock> {
        Some(Self::starting_at(self.now()))
    }

    fn advance_to(&self, time: Duration) {
        self.now_ns.fetch_max(nanos(time), Ordering::SeqCst);
    }
}

/// The machine's monotonic clock; needs a tokio runtime with time enabled.
#[derive(Debug)]
pub struct RealClock {
    start: std::time::Instant,
    offset: Duration,
}

impl RealClock {
    /// A real clock that shows `offset` now: zero for a new run, the time already spent for a
    /// resumed one.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the home of the real clock")]
    pub fn starting_at(offset: Duration) -> Self {
        Self {
            start: std::time::Instant::now(),
            offset,
        }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Duration {
        self.offset + self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the home of the real clock")]
    fn sleep<'a>(
        &'a self,
        span: Duration,
        signal: &'a Signal,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move {
            let start = self.now();
            signal.check(start)?;
            if span.is_zero() {
                // A timer's granularity is a millisecond, which would be charged to every turn.
                return Ok(());
            }
            let (wait, stopped) = match signal.scheduled_within(start.saturating_add(span)) {
                Some((at, stopped)) => (at.saturating_sub(start), Err(stopped)),
                None => (span, Ok(())),
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => stopped,
                pressed = signal.pressed() => Err(pressed),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn virtual_time_is_exact_and_a_scheduled_stop_cuts_a_wait() {
        let clock = VirtualClock::new();
        let signal = Signal::scheduled(ms(1_200), "user pressed Stop");
        assert_eq!(pollster::block_on(clock.sleep(ms(500), &signal)), Ok(()));
        let stopped = pollster::block_on(clock.sleep(ms(5_000), &signal));
        assert_eq!(
            stopped,
            Err(Stopped {
                reason: "user pressed Stop".to_owned()
            })
        );
        assert_eq!(clock.now(), ms(1_200));
    }

    #[test]
    fn a_wait_that_ends_at_the_scheduled_moment_is_not_cut_but_the_next_one_is() {
        let clock = VirtualClock::new();
        let signal = Signal::scheduled(ms(100), "late");
        assert_eq!(pollster::block_on(clock.sleep(ms(100), &signal)), Ok(()));
        assert!(pollster::block_on(clock.sleep(ms(1), &signal)).is_err());
        assert_eq!(clock.now(), ms(100));
    }

    #[test]
    fn what_goes_on_at_the_same_time_ends_with_the_longest() {
        let clock = VirtualClock::starting_at(ms(10));
        let signal = Signal::scheduled(ms(500), "late");
        let ends = [(300, 310), (50, 60), (900, 500)];
        let own = ends.map(|_| clock.fork().unwrap());
        for (own, (span, end)) in own.iter().zip(ends) {
            let waited = pollster::block_on(own.sleep(ms(span), &signal));
            assert_eq!((own.now(), waited.is_ok()), (ms(end), end == 10 + span));
        }
        assert_eq!(clock.now(), ms(10), "each waits on its own");
        for own in own {
            clock.advance_to(own.now());
        }
        assert_eq!(clock.now(), ms(500));
        assert!(RealClock::starting_at(ms(0)).fork().is_none());
    }

    #[test]
    fn the_first_reason_stands() {
        let signal = Signal::new();
        assert_eq!(signal.check(ms(9)), Ok(()));
        signal.stop("first");
        signal.stop("second");
        assert_eq!(
            signal.check(ms(0)),
            Err(Stopped {
                reason: "first".to_owned()
            })
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_press_ends_a_real_wait() {
        let clock = RealClock::starting_at(ms(0));
        let signal = Signal::new();
        let (outcome, ()) = tokio::join!(clock.sleep(ms(60_000), &signal), async {
            signal.stop("enough");
        });
        assert_eq!(
            outcome,
            Err(Stopped {
                reason: "enough".to_owned()
            })
        );
    }
}
