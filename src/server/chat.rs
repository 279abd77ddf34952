//! One chat completion, from its head to its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, EXPECT, HeaderMap};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::answer::{self, Answered};
use super::body::{Record, Room, Watch};
use super::config::{Config, Script};
use super::connections::Busy;
use super::exchange::{Asked, BodyHash, bytes_of};
use super::host::Hosts;
use super::ledger::{self, Ledger, PathCount, Seat};
use super::log::Log;
use super::memo::Memo;
use super::received::{Received, Recent};
use super::route::{self, MOST_MODEL, Refusal, Response, Route, route};
use super::socket;
use super::stream::Stream;
use super::{FAULT_HEADER, LATENCY_HEADER, TurnIndex};
use crate::clock::{Clock, RealClock, Signal};
use crate::scenario::{Draw, Fault, FaultKind, Pace};

/// What all connections of a server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) log: Log,
    pub(super) clock: Arc<RealClock>,
    memo: Arc<Memo>,
    recent: Arc<Recent>,
    ledger: Ledger,
    exchanges: AtomicU64,
    /// Bytes of bodies that may still be read, in KiB.
    bodies: Arc<Semaphore>,
    /// Large bodies are understood on threads of their own and held as values, which take many
    /// times their bytes, so many at once.
    large: Arc<Semaphore>,
}

/// From this size on, a body is understood on a thread of its own, in bytes.
const LARGE: usize = 64 << 10;
/// A body so many times as large as the largest one is not waited for.
const HOPELESS: usize = 16;
/// How many large bodies are understood, and held as values, at once.
const MOST_LARGE: usize = 2;

/// The connection is to be reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is reset")]
pub(super) struct Reset;

impl Shared {
    pub(super) fn new(config: Config, log: Log) -> Self {
        let bodies = (config.limits.bodies_bytes >> 10).min(Semaphore::MAX_PERMITS);
        Self {
            config,
            log,
            clock: Arc::new(RealClock::starting_at(std::time::Duration::ZERO)),
            memo: Arc::default(),
            recent: Arc::default(),
            ledger: Ledger::default(),
            exchanges: AtomicU64::new(0),
            bodies: Arc::new(Semaphore::new(bodies)),
            large: Arc::new(Semaphore::new(MOST_LARGE)),
        }
    }

    /// Answers a request.
    pub(super) async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        hosts: Hosts,
        ending: &socket::Ending,
        busy: Busy,
    ) -> Result<Response, Reset> {
        let (head, body) = request.into_parts();
        let mut watch = Watch {
            record: None,
            busy: Some(busy),
            room: Room::new(),
        };
        let library = &self.config.library;
        if let Err(refusal) = hosts.check(&head) {
            watch.record = Some(self.begin(None));
            return Ok(refuse(refusal, watch));
        }
        let run = match route(&head.method, head.uri.path()) {
            Route::Health => return Ok(route::health(watch)),
            Route::Refused(refusal) => {
                watch.record = Some(self.begin(None));
                return Ok(refuse(refusal, watch));
            }
            _ if !self.admits(&head.headers) => {
                watch.record = Some(self.begin(None));
                return Ok(refuse(wrong_key(), watch));
            }
            Route::Models => return Ok(route::models(library, watch)),
            Route::Model(name) => return Ok(route::model(&name, library, watch)),
            Route::Chat { run } => run,
        };
        watch.record = Some(self.begin(run.clone()));
        let asking = Asking {
            shared: self,
            headers: &head.headers,
            run: run.as_deref(),
        };
        match asking.understand(body).await {
            Ok(understood) => asking.reply(understood, watch, ending).await,
            Err(refusal) => Ok(refuse(refusal, watch)),
        }
    }

    pub(super) fn begin(&self, run: Option<String>) -> Record {
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        Record::begin(number, run, self.log.clone(), Arc::clone(&self.clock))
    }

    /// Whether the client shows the key, if there is one.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.config.key else {
            return true;
        };
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        // With two, a proxy in front may have looked at the other.
        let (Some(shown), None) = (shown.next(), shown.next()) else {
            return false;
        };
        let shown = shown.as_bytes().split_at_checked(b"Bearer ".len());
        // The word is not case-sensitive (RFC 9110, section 11.1); the key is.
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
        shown.is_some_and(|(_, shown)| key.is(shown))
    }

    async fn received(&self, body: Bytes) -> Result<(Arc<Received>, Turn), Refusal> {
        if body.len() < LARGE {
            return Ok((self.recent.read(&body, &self.memo)?, None));
        }
        let turn = Arc::clone(&self.large).acquire_owned().await.ok();
        let (memo, recent) = (Arc::clone(&self.memo), Arc::clone(&self.recent));
        // A client that goes away meanwhile does not end the work, so the work has the turn.
        let read = move || (recent.read(&body, &memo), turn);
        let read = tokio::task::spawn_blocking(read).await;
        let lost = |_| Refusal::new(500, "server_error", "server_error", "the body was lost");
        let (received, turn) = read.map_err(lost)?;
        Ok((received?, turn))
    }
}

fn refuse(refusal: Refusal, mut watch: Watch) -> Response {
    if let Some(record) = &mut watch.record {
        record.decided(refusal.outcome());
    }
    refusal.respond(watch)
}

fn wrong_key() -> Refusal {
    let message = "the key is missing or wrong: send it once, as `Authorization: Bearer KEY`";
    Refusal::invalid(401, "invalid_api_key", message)
}

/// A chat completion that is being asked for.
struct Asking<'a> {
    shared: &'a Shared,
    headers: &'a HeaderMap,
    run: Option<&'a str>,
}

/// The right to hold a large body as values; small ones need none.
type Turn = Option<OwnedSemaphorePermit>;

/// A request that can be answered. While a reply waits for its time, none of this is held.
struct Understood {
    received: Arc<Received>,
    room: Room,
    _turn: Turn,
    script: Script,
    /// The latency and the fault of this request alone.
    pace: Option<Pace>,
    fault: Option<Fault>,
}

impl Asking<'_> {
    async fn understand(&self, body: Incoming) -> Result<Understood, Refusal> {
        let pace = self.spec(LATENCY_HEADER)?;
        let fault = self.spec(FAULT_HEADER)?;
        let (bytes, room) = self.read(body).await?;
        let (received, turn) = self.shared.received(bytes).await?;
        let library = &self.shared.config.library;
        let model = &received.incoming.model;
        if model.len() > MOST_MODEL {
            return Err(route::long_model());
        }
        let script = library
            .script(model)
            .ok_or_else(|| route::unknown_model(model, library))?
            .clone();
        Ok(Understood {
            received,
            room,
            _turn: turn,
            script,
            pace,
            fault,
        })
    }

    /// The value of a header of ours.
    fn spec<T>(&self, name: &'static str) -> Result<Option<T>, Refusal>
    where
        T: std::str::FromStr<Err = crate::scenario::SpecError>,
    {
        let Some(value) = self.headers.get(name) else {
            return Ok(None);
        };
        let line = String::from_utf8_lossy(value.as_bytes());
        let wrong = |error| {
            let message = format!("the header {name}: {error}");
            Refusal::invalid(400, "invalid_value", &message)
        };
        line.parse().map(Some).map_err(wrong)
    }

    /// The whole body, and its share of the room for bodies.
    async fn read(&self, body: Incoming) -> Result<(Bytes, Room), Refusal> {
        let mut encodings = self.headers.get_all(CONTENT_ENCODING).iter();
        if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let message = "the body is encoded: send it as plain JSON";
            return Err(Refusal::invalid(415, "unsupported_encoding", message));
        }
        let limits = &self.shared.config.limits;
        let most = limits.body_bytes;
        let announced = body.size_hint().lower();
        let too_large = usize::try_from(announced).map_or(true, |bytes| bytes > most);
        let hopeless = usize::try_from(announced).map_or(true, |bytes| bytes / HOPELESS > most);
        if too_large && self.headers.contains_key(EXPECT) || hopeless {
            return Err(oversize(most));
        }
        let late = |_| {
            if too_large {
                return oversize(most);
            }
            Refusal::invalid(408, "request_timeout", "the body came too slowly")
        };
        let read = self.gather(body);
        timeout(limits.body_time, read).await.map_err(late)?
    }

    /// Reads a body. One that is too large is read to its end and forgotten, because many clients
    /// look for an answer only after that.
    async fn gather(&self, mut body: Incoming) -> Result<(Bytes, Room), Refusal> {
        let most = self.shared.config.limits.body_bytes;
        let (mut bytes, mut room) = (Vec::new(), Vec::new());
        let mut refusal = None;
        while let Some(frame) = body.frame().await {
            let broken = |_| Refusal::invalid(400, "invalid_body", "the body breaks off");
            let Ok(data) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            if refusal.is_some() {
                continue;
            }
            let kib = u32::try_from(data.len().div_ceil(1 << 10)).unwrap_or(u32::MAX);
            match Arc::clone(&self.shared.bodies).try_acquire_many_owned(kib) {
                _ if bytes.len() + data.len() > most => refusal = Some(oversize(most)),
                Ok(share) => room.push(share),
                Err(_) => refusal = Some(overloaded()),
            }
            if refusal.is_some() {
                (bytes, room) = (Vec::new(), Vec::new());
            } else {
                bytes.extend_from_slice(&data);
            }
        }
        // What was grown beyond need has no room of its own.
        bytes.shrink_to_fit();
        refusal.map_or_else(|| Ok((bytes.into(), room)), Err)
    }

    /// Replies when it is time to. What was asked is gone by then: what waits is the reply alone.
    async fn reply(
        &self,
        understood: Understood,
        watch: Watch,
        ending: &socket::Ending,
    ) -> Result<Response, Reset> {
        let (answered, fault) = self.decide(understood, watch, ending)?;
        let Stream {
            delivery, timing, ..
        } = answered.stream;
        if !delivery.is_streamed() && fault.is_none_or(|fault| fault.kind.status().is_none()) {
            self.wait(timing.first + timing.writing).await;
        }
        Ok(match fault {
            None => answered.whole(),
            Some(fault) => answered.fault(fault),
        })
    }

    /// What a request is answered with, or the fault that it meets instead.
    fn decide(
        &self,
        understood: Understood,
        mut watch: Watch,
        ending: &socket::Ending,
    ) -> Result<(Answered, Option<Fault>), Reset> {
        let Understood {
            received, script, ..
        } = &understood;
        let run = ledger::key(self.run, script.name());
        let seat = self.shared.ledger.seat(&run, received, self.path());
        let turn = seat.turns.by(self.shared.config.turn_index);
        let attempt = seat.attempt;
        let fault = self.fault(&understood, turn, attempt);
        let place = (turn, self.shared.config.seed);
        let (reply, odd) = answer::reply(script, received, place, &self.shared.memo);
        if fault.is_none() {
            let calls = reply.message.iter().flat_map(|said| &said.tool_calls);
            let calls: Vec<_> = calls.cloned().collect();
            self.shared.ledger.issued(&run, turn, &calls);
        }
        let mut asked = asked(&understood, seat, turn);
        asked.oddities.extend(odd);
        if let Some(record) = &mut watch.record {
            record.asked(asked);
        }
        if let Some(Fault {
            kind: kind @ FaultKind::Reset,
            ..
        }) = fault
        {
            if let Some(record) = &mut watch.record {
                record.decided(super::Outcome::Faulted { kind });
            }
            ending.reset();
            return Err(Reset);
        }
        let draw = Draw {
            turn,
            request: attempt_number(received.body, attempt),
        };
        let timing = answer::timing(self.pace(&understood), draw, reply.usage.completion_tokens);
        let stream = Stream {
            id: format!("chatcmpl-{}", received.body),
            model: received.incoming.model.clone(),
            delivery: received.incoming.delivery,
            timing,
        };
        // A reply that is made of a large request's tools may be as large.
        if reply.message.as_ref().map_or(0, bytes_of) >= LARGE {
            watch.room = understood.room;
        }
        let answered = Answered {
            stream,
            reply,
            watch,
            limits: self.shared.config.limits,
        };
        Ok((answered, fault))
    }

    /// Waits in real time; a client that goes away ends the wait with the request.
    async fn wait(&self, span: std::time::Duration) {
        if !span.is_zero() {
            // A private signal that nobody presses: the wait always runs its course.
            let _ = self.shared.clock.sleep(span, &Signal::new()).await;
        }
    }

    fn path(&self) -> PathCount {
        match (self.run, self.shared.config.turn_index) {
            (Some(_), _) | (None, TurnIndex::Path) => PathCount::Counts,
            (None, TurnIndex::Conversation | TurnIndex::Ids) => PathCount::IsMeaningless,
        }
    }

    /// The first fault that this attempt meets: the request's own, the server's, the script's.
    fn fault(&self, understood: &Understood, turn: u32, attempt: u32) -> Option<Fault> {
        let scripted: &[Fault] = match &understood.script {
            Script::Written(scenario) => scenario.faults(),
            Script::Any(_) | Script::Given(_) => &[],
        };
        let own = understood.fault.iter();
        let mut faults = own.chain(&self.shared.config.faults).chain(scripted);
        faults.find(|fault| fault.meets(turn, attempt)).copied()
    }

    /// The latency: the request's own, or the server's, or the script's.
    fn pace<'p>(&'p self, understood: &'p Understood) -> &'p Pace {
        let ours = understood
            .pace
            .as_ref()
            .or(self.shared.config.pace.as_ref());
        match (ours, &understood.script) {
            (Some(pace), _) => pace,
            (None, Script::Written(scenario)) => scenario.pace(),
            (None, Script::Any(_) | Script::Given(_)) => &Pace::NONE,
        }
    }
}

fn asked(understood: &Understood, seat: Seat, turn: u32) -> Asked {
    let Understood {
        received, script, ..
    } = understood;
    Asked {
        model: received.incoming.model.clone(),
        scenario: script.name().to_owned(),
        delivery: received.incoming.delivery,
        body: received.body,
        attempt: seat.attempt,
        turns: seat.turns,
        turn,
        messages: received.messages.len(),
        messages_kept: seat.messages_kept,
        tools: received.incoming.tools.as_ref().map(Vec::len),
        messages_tokens: received.messages_tokens,
        tools_tokens: received.tools_tokens,
        results: seat.results,
        oddities: seat.oddities,
    }
}

/// Tells the attempts at all requests apart, so that each takes a time of its own where times are
/// drawn.
fn attempt_number(body: BodyHash, attempt: u32) -> u64 {
    u64::try_from(body.0 & u128::from(u64::MAX)).unwrap_or(0) ^ u64::from(attempt)
}

fn oversize(most: usize) -> Refusal {
    let message = format!("the body is too large: {most} bytes at most");
    Refusal::invalid(413, "request_too_large", &message)
}

fn overloaded() -> Refusal {
    let message = "too many bodies are being sent at once: try again";
    Refusal::new(503, "server_error", "overloaded", message).with_header("retry-after", "1".into())
}
