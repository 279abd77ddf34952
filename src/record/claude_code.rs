//! Session files of Claude Code: one line for each piece of a message.
//!
//! The pieces of one reply share its `message.id` and repeat its usage, of which the last counts;
//! `input_tokens` is what was neither read from the cache nor written to it. A sub-agent's lines
//! (`isSidechain`) are a run of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::draft::Draft;
use super::import::{Importer, Piece, Taken};
use super::message::{Oddity, Wrong, read};
use super::reported::Reported;
use super::value::{at, first_name, take, text_at};
use super::{Format, SuccessMark};

pub(super) struct Sessions {
    success: SuccessMark,
    /// By session and sub-agent, in the order in which they began.
    open: Vec<Session>,
    /// The lines so far, by digest of their `uuid`: a resumed session repeats some.
    lines: BTreeSet<u64>,
}

struct Session {
    name: String,
    draft: Draft,
    /// The turn of each reply, by `message.id`.
    turns: BTreeMap<String, usize>,
}

impl Sessions {
    pub(super) fn new(success: SuccessMark) -> Self {
        Self {
            success,
            open: Vec::new(),
            lines: BTreeSet::new(),
        }
    }

    fn session(&mut self, piece: &Piece) -> Option<&mut Session> {
        let session = first_name(&piece.value, &["sessionId"]).unwrap_or_default();
        let name = if at(&piece.value, "isSidechain") == Some(&Value::Bool(true)) {
            let agent = first_name(&piece.value, &["agentId"]);
            format!("{session}/{}", agent.as_deref().unwrap_or("sidechain"))
        } else {
            session
        };
        let found = self.open.iter().position(|open| open.name == name);
        let found = found.unwrap_or_else(|| {
            let mut draft = Draft::new(&piece.place, Format::ClaudeCode);
            draft.id = Some(name.clone()).filter(|name| !name.is_empty());
            self.open.push(Session {
                name,
                draft,
                turns: BTreeMap::new(),
            });
            self.open.len() - 1
        });
        self.open.get_mut(found)
    }
}

impl Importer for Sessions {
    fn take(&mut self, piece: Piece) -> Result<Taken, Wrong> {
        let Some(kind) = text_at(&piece.value, "type").map(str::to_owned) else {
            return Err("no `type`".into());
        };
        if let Some(uuid) = text_at(&piece.value, "uuid")
            && !self.lines.insert(digest(uuid))
        {
            return Ok(Taken::Duplicate);
        }
        let success = self.success.read(&piece.value);
        if !matches!(kind.as_str(), "user" | "assistant") && success.is_none() {
            // Titles, snapshots, notes of the program: nothing of them was sent.
            return Ok(Taken::Used);
        }
        let Some(session) = self.session(&piece) else {
            return Ok(Taken::Used);
        };
        session.draft.success = success.or(session.draft.success);
        let Piece { mut value, .. } = piece;
        if at(&value, "isCompactSummary") == Some(&Value::Bool(true)) {
            session.draft.oddities.see(Oddity::Compacted);
        }
        match (kind.as_str(), take(&mut value, "message")) {
            ("user", Some(message)) => session.draft.read(message).map(|()| Taken::Used),
            ("assistant", Some(message)) => session.reply(message).map(|()| Taken::Used),
            ("user" | "assistant", None) => Err("no `message`".into()),
            _ => Ok(Taken::Used),
        }
    }

    fn closed(&mut self, at_end: bool) -> Vec<Draft> {
        if !at_end {
            return Vec::new();
        }
        let open = std::mem::take(&mut self.open).into_iter();
        let with_messages = open.filter(|session| !session.draft.messages.is_empty());
        with_messages.map(|session| session.draft).collect()
    }
}

impl Session {
    fn reply(&mut self, message: Value) -> Result<(), Wrong> {
        if text_at(&message, "model") == Some("<synthetic>") {
            self.draft.oddities.see(Oddity::Synthetic);
            return Ok(());
        }
        let id = text_at(&message, "id").unwrap_or_default().to_owned();
        let reported = Reported::of_anthropic(at(&message, "usage"));
        let read = read(message, &mut self.draft.oddities)?;
        let turn = self.turns.get(&id).copied().filter(|_| !id.is_empty());
        if let Some(turn) = turn
            && let Some(known) = self.draft.turns.get_mut(turn)
        {
            known.reported = reported.or(known.reported);
            let reply = known.reply;
            self.draft.extend_reply(reply, read);
            return Ok(());
        }
        if let Some(reply) = self.draft.push(read) {
            self.turns.insert(id, self.draft.turns.len());
            self.draft.turn(reply, reported);
        }
        Ok(())
    }
}

fn digest(uuid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uuid.hash(&mut hasher);
    hasher.finish()
}
