//! The model behind an OpenAI-compatible endpoint.
//!
//! A socket takes real time, so this provider belongs with a
//! [`RealClock`](crate::clock::RealClock): under a virtual one every limit passes at once.
//!
//! Each way in which a reply can be wrong has one outcome. A refusal that may pass (408, 409, 429,
//! 5xx), a connection that cannot be made or breaks, a stall and a stream that breaks off are
//! tried again, as often and as patiently as the [`RetryPolicy`] says. Any other refusal, an error
//! inside a reply, a reply that is no JSON object, one that is too large and one that makes more
//! than 256 calls end the run at once.
//! A reply without a choice is billed, and then ends the run. A reply without a usage is billed by
//! our own count. A stream that has said why it stops is whole, with or without `[DONE]`.

mod assemble;
mod attempt;
mod endpoint;
mod read;
mod retry;
mod secret;
mod sse;

pub use endpoint::{Endpoint, EndpointError, Timeouts};
pub use retry::RetryPolicy;
pub use secret::Secret;

use std::time::Duration;

use reqwest::Client;

use self::attempt::{Again, Attempt, Ended, Failure};
use self::read::Read;
use crate::clock::BoxFuture;
use crate::event::{self, AttemptOutcome};
use crate::provider::wire::ChatRequest;
use crate::provider::{Provider, ProviderContext, ProviderError, Reply, Request};
use crate::scenario::turn_index;

/// Asks an [`Endpoint`].
#[derive(Clone, Debug)]
pub struct HttpProvider {
    endpoint: Endpoint,
    client: Client,
}

impl HttpProvider {
    /// A provider that asks `endpoint`; nothing is sent yet. Clones share their connections.
    ///
    /// # Errors
    /// [`EndpointError`] where the key cannot be sent or HTTPS cannot be prepared.
    pub fn new(endpoint: Endpoint) -> Result<Self, EndpointError> {
        let client = endpoint.client()?;
        Ok(Self { endpoint, client })
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    async fn ask(
        &self,
        request: Request<'_>,
        context: ProviderContext<'_>,
    ) -> Result<Reply, ProviderError> {
        let body = ChatRequest {
            model: self.endpoint.model(),
            request,
            delivery: self.endpoint.delivery(),
        }
        .body();
        let mut patience = Patience::new(&self.endpoint, turn_index(request.messages));
        loop {
            // What is stopped before it is sent is no attempt.
            context.signal.check(context.clock.now())?;
            if !patience.wait.is_zero() {
                context.clock.sleep(patience.wait, context.signal).await?;
            }
            let attempt = Attempt::new(&self.endpoint, context);
            let ended = attempt.run(&self.client, body.clone()).await;
            context.note(event::Attempt {
                number: patience.number,
                outcome: outcome(&ended),
                waited: patience.wait,
                took: attempt.age(),
            });
            match ended {
                Ok(read) => {
                    let read = read.cleaned(|text| self.endpoint.without_key(text));
                    return Ok(read.into_reply(request));
                }
                Err(Ended::Stopped(stopped)) => return Err(stopped.into()),
                Err(Ended::Failed(failure)) => patience.try_again(failure)?,
            }
        }
    }
}

impl Provider for HttpProvider {
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(self.ask(request, context))
    }
}

fn outcome(ended: &Result<Read, Ended>) -> AttemptOutcome {
    match ended {
        Ok(_) => AttemptOutcome::Answered,
        Err(Ended::Stopped(_)) => AttemptOutcome::Aborted,
        Err(Ended::Failed(failure)) => failure.outcome,
    }
}

/// What is left of the patience with one request.
struct Patience<'a> {
    endpoint: &'a Endpoint,
    turn: u32,
    /// The attempt's number, from 1.
    number: u32,
    /// The wait before it.
    wait: Duration,
    /// All waits so far.
    waited: Duration,
}

impl<'a> Patience<'a> {
    fn new(endpoint: &'a Endpoint, turn: u32) -> Self {
        Self {
            endpoint,
            turn,
            number: 1,
            wait: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// Prepares another attempt, or says why there is none.
    fn try_again(&mut self, failure: Failure) -> Result<(), ProviderError> {
        let policy = self.endpoint.retry();
        let Failure { words, again, .. } = failure;
        let url = self.endpoint.base_url();
        let failed = |why: &str| Err(ProviderError::Failed(format!("{url}: {words}{why}")));
        let wait = match again {
            Again::Never => return failed(""),
            Again::Soon => policy.delay(self.turn, self.number),
            Again::After(wait) => wait,
        };
        if self.number >= policy.attempts {
            return match self.number {
                1 => failed(""),
                number => failed(&format!("; gave up after {number} attempts")),
            };
        }
        if self.waited.saturating_add(wait) > policy.total_wait {
            let (wait, most) = (wait.as_millis(), policy.total_wait.as_millis());
            return failed(&format!(
                "; the next attempt would be in {wait} ms, and a request waits {most} ms at most"
            ));
        }
        self.number += 1;
        self.wait = wait;
        self.waited += wait;
        Ok(())
    }
}
