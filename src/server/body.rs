//! A reply's body as steps in time, and the record that is closed when it ends.

use std::io;
use std::iter::Peekable;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

use super::connections::Busy;
use super::exchange::{Asked, Exchange, Outcome};
use super::log::Log;
use super::socket::timer;
use crate::clock::{Clock, RealClock};

/// What is sent, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// These bytes at once.
    Send(Bytes),
    /// Nothing until so long after the body began.
    Until(Duration),
    /// Nothing for so long, and then the end of the connection.
    Stall(Duration),
    /// The end of the connection, in the middle of the body.
    Break,
}

type Steps = Peekable<Box<dyn Iterator<Item = Step> + Send>>;

/// What goes on after a reply was decided on.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) record: Option<Record>,
    pub(super) busy: Option<Busy>,
    /// Held for as long as the reply is, where that is large.
    pub(super) room: Room,
}

/// A share of the room for bodies.
pub(super) type Room = Vec<OwnedSemaphorePermit>;

/// A body that plays steps.
pub(super) struct ReplyBody {
    steps: Steps,
    began: Option<Instant>,
    waiting: Option<Pin<Box<Sleep>>>,
    bytes: Option<u64>,
    watch: Watch,
}

/// The most bytes that are handed over at once.
const MOST_AT_ONCE: usize = 64 << 10;
/// Before a connection is broken off, what was sent is given so long to leave.
const BEFORE_BREAK: Duration = Duration::from_millis(5);

impl ReplyBody {
    /// The whole body at once, `bytes` long in all.
    pub(super) fn sized(steps: Vec<Step>, bytes: usize, watch: Watch) -> Self {
        Self {
            bytes: u64::try_from(bytes).ok(),
            ..Self::streamed(steps.into_iter(), watch)
        }
    }

    /// A body whose length is not known.
    pub(super) fn streamed(
        steps: impl Iterator<Item = Step> + Send + 'static,
        watch: Watch,
    ) -> Self {
        let steps: Box<dyn Iterator<Item = Step> + Send> = Box::new(steps);
        Self {
            steps: steps.peekable(),
            began: None,
            waiting: None,
            bytes: None,
            watch,
        }
    }

    /// The bytes of this step and of those that follow it without a wait.
    fn gather(&mut self, first: Bytes) -> Bytes {
        if !matches!(self.steps.peek(), Some(Step::Send(_))) {
            return first;
        }
        let mut all = first.to_vec();
        while all.len() < MOST_AT_ONCE
            && let Some(Step::Send(bytes)) = self.steps.next_if(|s| matches!(s, Step::Send(_)))
        {
            all.extend_from_slice(&bytes);
        }
        all.into()
    }

    fn wait_until(&mut self, at: Instant) {
        self.waiting = Some(Box::pin(timer(at)));
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let began = *self.began.get_or_insert_with(Instant::now);
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            match self.steps.next() {
                Some(Step::Send(bytes)) => {
                    let bytes = self.gather(bytes);
                    if let Some(bytes_left) = &mut self.bytes {
                        *bytes_left = bytes_left.saturating_sub(bytes.len() as u64);
                    }
                    if self.steps.peek().is_none() {
                        self.watch.done();
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Until(offset)) if offset.is_zero() => {}
                Some(Step::Until(offset)) => self.wait_until(began + offset),
                Some(Step::Stall(span)) => {
                    self.wait_until(Instant::now() + span);
                    self.steps = broken_off();
                    // What was handed over leaves once there is nothing more for now: that is said
                    // even where the time is over by the next look at the clock.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Break) => {
                    let lost = io::Error::from(io::ErrorKind::ConnectionAborted);
                    return Poll::Ready(Some(Err(lost)));
                }
                None => {
                    self.watch.done();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

/// The steps that follow a stall.
fn broken_off() -> Steps {
    let steps: Box<dyn Iterator<Item = Step> + Send> = Box::new(std::iter::once(Step::Break));
    steps.peekable()
}

/// A pause after which a break loses nothing of what was sent before.
pub(super) fn break_off(after: Duration) -> [Step; 2] {
    [Step::Until(after), Step::Stall(BEFORE_BREAK)]
}

impl Watch {
    fn done(&mut self) {
        if let Some(record) = self.record.take() {
            record.done();
        }
        self.busy = None;
    }
}

/// An exchange that is not over. Dropped, it is logged as it stands: aborted, unless its outcome
/// was decided.
#[derive(Debug)]
pub(super) struct Record {
    exchange: Option<Exchange>,
    when_done: Option<Outcome>,
    log: Log,
    clock: Arc<RealClock>,
}

impl Record {
    pub(super) fn begin(number: u64, run: Option<String>, log: Log, clock: Arc<RealClock>) -> Self {
        let started = clock.now();
        let exchange = Exchange {
            number,
            run,
            started,
            ended: started,
            asked: None,
            outcome: Outcome::Aborted,
        };
        Self {
            exchange: Some(exchange),
            when_done: None,
            log,
            clock,
        }
    }

    pub(super) fn asked(&mut self, asked: Asked) {
        if let Some(exchange) = &mut self.exchange {
            exchange.asked = Some(asked);
        }
    }

    /// The outcome, whether the client takes it all or not.
    pub(super) fn decided(&mut self, outcome: Outcome) {
        if let Some(exchange) = &mut self.exchange {
            exchange.outcome = outcome;
        }
    }

    /// The outcome if all of the reply is handed over.
    pub(super) fn when_done(&mut self, outcome: Outcome) {
        self.when_done = Some(outcome);
    }

    fn done(mut self) {
        if let Some(outcome) = self.when_done.take() {
            self.decided(outcome);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.ended = self.clock.now();
            self.log.push(exchange);
        }
    }
}
