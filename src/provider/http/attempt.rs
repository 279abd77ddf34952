//! One attempt on the wire: sent, and read to its end or to what went wrong.

use std::future::Future;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response};
use serde::de::DeserializeOwned;

use super::assemble::{Assembly, Brought, TooManyCalls};
use super::endpoint::Endpoint;
use super::read::Read;
use super::retry;
use super::sse::EventParser;
use crate::clock::{Stopped, since_1970};
use crate::event::AttemptOutcome;
use crate::provider::ProviderContext;
use crate::provider::wire::{Chunk, Completion, DONE, ErrorBody, MOST_CALLS, has_too_many};

/// The most bytes of a reply that are read.
const MOST_BYTES: usize = 32 << 20;
/// The most bytes of a refusal that are read.
const MOST_REFUSAL_BYTES: usize = 64 << 10;

/// Why an attempt gave no reply.
#[derive(Debug)]
pub(super) enum Ended {
    /// Somebody pressed Stop.
    Stopped(Stopped),
    /// It failed.
    Failed(Failure),
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    /// How it failed, for the ledger.
    pub(super) outcome: AttemptOutcome,
    /// How it failed, for a person.
    pub(super) words: String,
    /// Whether the same request is worth sending again.
    pub(super) again: Again,
}

/// Whether a failed request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail the same way.
    Never,
    /// After the policy's own wait.
    Soon,
    /// After the wait that the endpoint asks for.
    After(Duration),
}

impl From<Stopped> for Ended {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<TooManyCalls> for Failure {
    fn from(TooManyCalls: TooManyCalls) -> Self {
        let words =
            format!("the reply makes more than {MOST_CALLS} calls; none of them was executed");
        Self::lasting(AttemptOutcome::TooLarge, words)
    }
}

impl Failure {
    /// A failure of the wire, which may pass.
    fn passing(outcome: AttemptOutcome, words: impl Into<String>) -> Self {
        Self {
            outcome,
            words: words.into(),
            again: Again::Soon,
        }
    }

    /// A failure that would repeat itself.
    fn lasting(outcome: AttemptOutcome, words: impl Into<String>) -> Self {
        Self {
            outcome,
            words: words.into(),
            again: Again::Never,
        }
    }
}

/// An attempt under way.
pub(super) struct Attempt<'a> {
    endpoint: &'a Endpoint,
    context: ProviderContext<'a>,
    began: Duration,
}

impl<'a> Attempt<'a> {
    /// An attempt that begins now.
    pub(super) fn new(endpoint: &'a Endpoint, context: ProviderContext<'a>) -> Self {
        let began = context.clock.now();
        Self {
            endpoint,
            context,
            began,
        }
    }

    /// Time since it began.
    pub(super) fn age(&self) -> Duration {
        self.context.clock.now().saturating_sub(self.began)
    }

    /// Sends `body` and reads what comes. Whatever ends it early drops the connection.
    pub(super) async fn run(&self, client: &Client, body: String) -> Result<Read, Ended> {
        let request = client
            .post(self.endpoint.completions_url())
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .send();
        let sent = self.within(Duration::MAX, request).await?;
        let response = sent.map_err(|error| self.not_sent(&error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await?.into());
        }
        if self.comes_in_events(response.headers()) {
            self.read_events(response).await
        } else {
            self.read_whole(response).await
        }
    }

    /// Awaits `work` for at most `limit`, and never past the end of the attempt.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Result<T, Ended> {
        let ProviderContext { clock, signal, .. } = self.context;
        let whole = self.endpoint.timeouts().attempt;
        let left = whole.saturating_sub(self.age());
        tokio::select! {
            biased;
            done = work => Ok(done),
            slept = clock.sleep(limit.min(left), signal) => {
                slept?;
                let words = if limit < left {
                    format!("nothing came for {} ms", limit.as_millis())
                } else {
                    format!("there was no whole reply within {} ms", whole.as_millis())
                };
                Err(Failure::passing(AttemptOutcome::Stalled, words).into())
            }
        }
    }

    /// The next bytes of a reply; none at its end.
    async fn piece(&self, response: &mut Response) -> Result<Option<Vec<u8>>, Ended> {
        let idle = self.endpoint.timeouts().idle;
        match self.within(idle, response.chunk()).await? {
            Ok(bytes) => Ok(bytes.map(Into::into)),
            Err(error) => {
                let words = format!("the reply broke off: {}", self.words(&error));
                Err(Failure::passing(AttemptOutcome::Cut, words).into())
            }
        }
    }

    fn not_sent(&self, error: &reqwest::Error) -> Failure {
        let words = self.words(error);
        if error.is_connect() || error.is_timeout() {
            return Failure::passing(AttemptOutcome::Unreachable, words);
        }
        Failure::passing(AttemptOutcome::Reset, words)
    }

    /// An error of the HTTP client and its causes, the address kept out.
    fn words(&self, error: &reqwest::Error) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            // The client's own words name the address, which stands before them already.
            let text = error.to_string();
            let text = text.split(" for url (").next().unwrap_or_default();
            if !words.iter().any(|said| said.contains(text)) {
                words.push(text.to_owned());
            }
            cause = error.source();
        }
        self.endpoint.quote(&words.join(": "))
    }

    /// Whether the reply is a stream: as its type says, or as was asked where that is no help.
    fn comes_in_events(&self, headers: &HeaderMap) -> bool {
        match headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes) {
            Some(kind) if kind.starts_with(b"text/event-stream") => true,
            Some(kind) if kind.starts_with(b"application/json") => false,
            Some(kind) if kind.starts_with(b"text/html") => false,
            _ => self.endpoint.delivery().is_streamed(),
        }
    }

    async fn refusal(&self, mut response: Response) -> Result<Failure, Ended> {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        // What the endpoint says of its refusal is worth having, and not worth failing over.
        let body = match self.read_all(&mut response, MOST_REFUSAL_BYTES).await {
            Err(stopped @ Ended::Stopped(_)) => return Err(stopped),
            Err(Ended::Failed(_)) => String::new(),
            Ok(body) => body,
        };
        let message = match ErrorBody::read(&body) {
            Some(error) if !error.message.is_empty() => error.message,
            _ => body,
        };
        let message = self.reason(&message);
        let again = match retry::asked_wait(&headers, since_1970()) {
            _ if !retry::is_passing(status) => Again::Never,
            Some(wait) => Again::After(wait),
            None => Again::Soon,
        };
        Ok(Failure {
            outcome: AttemptOutcome::Refused { status },
            words: format!("the endpoint refused with {status}: {message}"),
            again,
        })
    }

    /// An error inside a reply that began as a success.
    fn late_refusal(&self, message: &str) -> Failure {
        let words = format!(
            "the endpoint replied with an error: {}",
            self.reason(message)
        );
        Failure::lasting(AttemptOutcome::Refused { status: 200 }, words)
    }

    fn reason(&self, message: &str) -> String {
        match self.endpoint.quote(message.trim()) {
            nothing if nothing.is_empty() => "no reason given".to_owned(),
            reason => reason,
        }
    }

    async fn read_all(&self, response: &mut Response, most: usize) -> Result<String, Ended> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece(response).await? {
            body.extend_from_slice(&piece);
            if body.len() > most {
                return Err(too_large(most).into());
            }
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    async fn read_whole(&self, mut response: Response) -> Result<Read, Ended> {
        let body = self.read_all(&mut response, MOST_BYTES).await?;
        let completion: Completion = self.object(&body)?;
        if completion.choices.is_empty()
            && let Some(error) = ErrorBody::read(&body)
        {
            return Err(self.late_refusal(&error.message).into());
        }
        let calls = completion.choices.first();
        if calls.is_some_and(|choice| choice.message.tool_calls.len() > MOST_CALLS) {
            return Err(Failure::from(TooManyCalls).into());
        }
        Ok(completion.into())
    }

    /// `text` as a JSON object; a struct would also be read from a list.
    fn object<T: DeserializeOwned>(&self, text: &str) -> Result<T, Failure> {
        if has_too_many(text.as_bytes()) {
            let words = "the reply holds more JSON values than any that is meant";
            return Err(Failure::lasting(AttemptOutcome::TooLarge, words));
        }
        let object = text.trim_start().starts_with('{');
        serde_json::from_str(text)
            .ok()
            .filter(|_| object)
            .ok_or_else(|| self.unreadable(text))
    }

    fn unreadable(&self, body: &str) -> Failure {
        const SHOWN: usize = 120;
        let start: String = self.endpoint.quote(body).chars().take(SHOWN).collect();
        let words = format!("the reply is not a chat completion in JSON; it begins {start:?}");
        Failure::lasting(AttemptOutcome::Unreadable, words)
    }

    async fn read_events(&self, mut response: Response) -> Result<Read, Ended> {
        let mut stream = Stream::default();
        let mut events = Vec::new();
        loop {
            let piece = match self.piece(&mut response).await {
                // Everything but a formal end has come, so nothing is missing.
                Err(Ended::Failed(_)) if stream.assembly.is_finished() => None,
                piece => piece?,
            };
            let Some(piece) = piece else { break };
            stream.count(piece.len())?;
            let pushed = stream.parser.push(&piece, &mut events);
            for event in events.drain(..) {
                if event == DONE {
                    self.see_off(response).await;
                    return Ok(stream.into_read());
                }
                self.take_event(&mut stream, &event)?;
            }
            pushed.map_err(|_| too_large(MOST_BYTES))?;
        }
        let parser = std::mem::take(&mut stream.parser);
        match parser.finish() {
            Some(event) if event == DONE => return Ok(stream.into_read()),
            // The last event may have been cut, and is no loss where the reply is whole.
            Some(event) => match self.take_event(&mut stream, &event) {
                Err(Ended::Failed(failure)) if failure.outcome == AttemptOutcome::Unreadable => {}
                taken => taken?,
            },
            None => {}
        }
        if stream.assembly.is_finished() {
            return Ok(stream.into_read());
        }
        let words = "the stream ended before the reply was complete";
        Err(Failure::passing(AttemptOutcome::Cut, words).into())
    }

    /// Reads the formal end of a reply that is whole, so that its connection can serve again; an
    /// endpoint that holds it open is not waited for.
    async fn see_off(&self, mut response: Response) {
        const PATIENCE: Duration = Duration::from_millis(20);
        // The reply is here, whatever comes of its connection.
        let _ = self.within(PATIENCE, response.chunk()).await;
    }

    fn take_event(&self, stream: &mut Stream, event: &str) -> Result<(), Ended> {
        let chunk: Chunk = self.object(event)?;
        if chunk.choices.is_empty()
            && let Some(error) = ErrorBody::read(event)
        {
            return Err(self.late_refusal(&error.message).into());
        }
        if stream.assembly.push(chunk).map_err(Failure::from)? == Brought::Speech {
            stream.first_token.get_or_insert_with(|| self.age());
        }
        Ok(())
    }
}

/// A streamed reply under way.
#[derive(Default)]
struct Stream {
    parser: EventParser,
    assembly: Assembly,
    bytes: usize,
    first_token: Option<Duration>,
}

impl Stream {
    fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES {
            return Err(too_large(MOST_BYTES));
        }
        Ok(())
    }

    fn into_read(self) -> Read {
        Read {
            first_token: self.first_token,
            ..self.assembly.into_read()
        }
    }
}

fn too_large(most: usize) -> Failure {
    let words = format!("the reply is larger than {most} bytes");
    Failure::lasting(AttemptOutcome::TooLarge, words)
}
