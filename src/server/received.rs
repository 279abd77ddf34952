//! A request's body, understood and counted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::exchange::BodyHash;
use super::memo::{Memo, hash};
use crate::provider::wire::{Incoming, RequestError, Role};

/// What a body says, and what it costs. Making one takes time in proportion to the body.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) incoming: Incoming,
    pub(super) body: BodyHash,
    /// Tells messages apart, one each.
    pub(super) messages: Vec<u128>,
    pub(super) messages_tokens: u64,
    pub(super) tools_tokens: u64,
}

/// The small bodies that came last, understood: clients repeat a body to try again.
#[derive(Debug, Default)]
pub(super) struct Recent {
    bodies: Mutex<VecDeque<Arc<Received>>>,
}

/// How many bodies are kept.
const MOST_RECENT: usize = 32;
/// The largest body that is kept, in bytes.
const MOST_BYTES: usize = 32 << 10;

impl Recent {
    /// What `body` says, as [`Received::read`] does, or as it did.
    pub(super) fn read(&self, body: &[u8], memo: &Memo) -> Result<Arc<Received>, RequestError> {
        let key = BodyHash(hash(body));
        if body.len() > MOST_BYTES {
            return Received::read(key, body, memo).map(Arc::new);
        }
        let known = self.lock().iter().find(|known| known.body == key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let received = Arc::new(Received::read(key, body, memo)?);
        let mut bodies = self.lock();
        if bodies.len() >= MOST_RECENT {
            bodies.pop_back();
        }
        bodies.push_front(Arc::clone(&received));
        Ok(received)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Received>>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Received {
    fn read(key: BodyHash, body: &[u8], memo: &Memo) -> Result<Self, RequestError> {
        let incoming = Incoming::parse(body)?;
        let texts: Vec<_> = incoming
            .message_texts()
            .map(|json| (hash(json.as_bytes()), json))
            .collect();
        let tools = incoming.tools_text();
        Ok(Self {
            body: key,
            messages_tokens: memo.messages(&texts),
            tools_tokens: tools.map_or(0, |tools| memo.text(&tools)),
            messages: texts.into_iter().map(|(key, _)| key).collect(),
            incoming,
        })
    }

    /// How many messages are the model's.
    pub(super) fn spoken(&self) -> u32 {
        let spoken = self
            .incoming
            .received()
            .filter(|message| message.role == Role::Assistant);
        u32::try_from(spoken.count()).unwrap_or(u32::MAX)
    }

    /// The text of all tool results, joined by line breaks. Some frameworks give results in the
    /// user's name: whatever that says once the model has spoken is a result, too.
    pub(super) fn results_text(&self) -> String {
        let mut spoken = false;
        let results = self.incoming.received().filter_map(|message| {
            spoken |= message.role == Role::Assistant;
            let is_result = match message.role {
                Role::Tool => true,
                Role::User => spoken,
                Role::System | Role::Assistant => false,
            };
            is_result.then(|| message.text.unwrap_or_default())
        });
        results.collect::<Vec<_>>().join("\n")
    }
}
