//! Which turn a request is for, derived in three ways.

/// How the turn is derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TurnIndex {
    /// From the conversation: how many messages are the model's.
    #[default]
    Conversation,
    /// From the call ids that were issued: the turn after the last one whose ids come back.
    Ids,
    /// From the run's path: how many other requests came before it.
    Path,
}

/// The turn of a request, from 0, by each derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// How many messages of the conversation are the model's.
    pub conversation: u32,
    /// The turn after the last one of which an issued call id comes back; none before a call was
    /// issued.
    pub ids: Option<u32>,
    /// How many requests with other bodies came before it in its run; none outside a run's path,
    /// unless the server goes by it.
    pub path: Option<u32>,
}

impl Turns {
    /// The turn by one derivation; by the conversation where that has nothing to say.
    #[must_use]
    pub fn by(&self, index: TurnIndex) -> u32 {
        match index {
            TurnIndex::Conversation => None,
            TurnIndex::Ids => self.ids,
            TurnIndex::Path => self.path,
        }
        .unwrap_or(self.conversation)
    }

    /// Whether all derivations that say something say the same.
    #[must_use]
    pub fn agree(&self) -> bool {
        let same = |turn: Option<u32>| turn.is_none_or(|turn| turn == self.conversation);
        same(self.ids) && same(self.path)
    }
}
