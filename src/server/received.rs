//! A request's body, understood and counted.

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

impl Received {
    pub(super) fn read(body: &[u8], memo: &Memo) -> Result<Self, RequestError> {
        let incoming = Incoming::parse(body)?;
        let texts: Vec<_> = incoming
            .message_texts()
            .map(|json| (hash(json.as_bytes()), json))
            .collect();
        let tools = incoming.tools_text();
        Ok(Self {
            body: BodyHash(hash(body)),
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

    /// The text of all tool results, joined by line breaks.
    pub(super) fn results_text(&self) -> String {
        let results = self.incoming.received().filter_map(|message| {
            (message.role == Role::Tool).then(|| message.text.unwrap_or_default())
        });
        results.collect::<Vec<_>>().join("\n")
    }
}
