//! One request and its response a line, as logging proxies write them.
//!
//! A line belongs to the conversation whose last request its own begins with; every line is a
//! turn. A request that begins with none begins a conversation of its own.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::draft::{Draft, tools_tokens};
use super::import::{Importer, Piece, Taken};
use super::message::{Wrong, read};
use super::reported::Reported;
use super::value::{at, dollars_at, first_name, take, take_array};
use super::{Format, SuccessMark};
use crate::message::{Message, to_json};

/// How many conversations are kept open at once; the one that waits longest is closed for another.
const OPEN: usize = 256;

const IDS: &[&str] = &[
    "conversation_id",
    "session_id",
    "run_id",
    "trace_id",
    "task_id",
    "request.conversation_id",
    "request.metadata.conversation_id",
];

pub(super) struct Pairs {
    success: SuccessMark,
    /// The one that was added to last is the last.
    open: Vec<Open>,
    closed: Vec<Draft>,
    /// The tools of the last line, and what they cost.
    tools: (Vec<Value>, u64),
}

/// A conversation that may go on.
struct Open {
    draft: Draft,
    /// How many messages the last request had, and the digest of them.
    sent: (usize, u64),
    reply: Message,
}

impl Pairs {
    pub(super) fn new(success: SuccessMark) -> Self {
        Self {
            success,
            open: Vec::new(),
            closed: Vec::new(),
            tools: (Vec::new(), 0),
        }
    }

    /// Which open conversation goes on with these messages, or has them already.
    fn find(&self, id: Option<&str>, digests: &[u64]) -> Option<usize> {
        let begins = |open: &Open| {
            let (length, digest) = open.sent;
            open.draft.id.as_deref() == id && digests.get(length) == Some(&digest)
        };
        let mut found = self
            .open
            .iter()
            .enumerate()
            .filter(|(_, open)| begins(open));
        // The longest of them: a shorter one is where that began.
        let first = found.next()?;
        let longest = found.fold(first, |best, next| {
            if next.1.sent.0 >= best.1.sent.0 {
                next
            } else {
                best
            }
        });
        Some(longest.0)
    }

    fn tools_tokens(&mut self, tools: Vec<Value>) -> u64 {
        if tools != self.tools.0 {
            self.tools = (tools.clone(), tools_tokens(tools));
        }
        self.tools.1
    }

    fn begin(&mut self, open: Open) {
        if self.open.len() == OPEN {
            let oldest = self.open.remove(0);
            self.closed.push(oldest.draft);
        }
        self.open.push(open);
    }
}

impl Importer for Pairs {
    fn take(&mut self, piece: Piece) -> Result<Taken, Wrong> {
        let Piece {
            place, mut value, ..
        } = piece;
        let id = first_name(&value, IDS);
        let success = self.success.read(&value);
        let reply = reply(&mut value)?;
        let mut request = request(&mut value)?;
        let mut draft = Draft::new(&place, Format::Pairs);
        draft.id = id;
        let messages = take_array(&mut request, "messages");
        draft.read_all(messages, Draft::read_as_sent)?;
        draft.tools_tokens = self.tools_tokens(take_array(&mut request, "tools"));
        let digests = digests(&draft.messages);
        let sent = draft.messages.len();
        let read = read(reply.message, &mut draft.oddities)?;
        let Some(at) = draft.push(read) else {
            return Err("the response is not of the assistant".into());
        };
        let Some(said) = draft.messages.get(at).cloned() else {
            return Err("the response has no message".into());
        };
        let digest = digests.get(sent).copied().unwrap_or_default();
        let mut open = Open {
            draft,
            sent: (sent, digest),
            reply: said,
        };
        if let Some(found) = self.find(open.draft.id.as_deref(), &digests) {
            let before = &self.open[found];
            let again = before.sent == open.sent;
            if again && before.reply == open.reply {
                return Ok(Taken::Duplicate);
            }
            if !again
                && matches!(
                    open.draft.messages.get(before.sent.0),
                    Some(Message::Assistant { .. })
                )
            {
                let before = self.open.remove(found).draft;
                open.draft.id = before.id;
                open.draft.place = before.place;
                open.draft.turns = before.turns;
                open.draft.success = before.success;
                // What was odd in a request is odd in every one that repeats it.
            }
        }
        open.draft.success = success.or(open.draft.success);
        open.draft.turn(at, reply.reported);
        self.begin(open);
        Ok(Taken::Used)
    }

    fn closed(&mut self, at_end: bool) -> Vec<Draft> {
        if at_end {
            let open = std::mem::take(&mut self.open);
            self.closed.extend(open.into_iter().map(|open| open.draft));
        }
        std::mem::take(&mut self.closed)
    }
}

/// A response, read.
struct Reply {
    message: Value,
    reported: Reported,
}

/// The request: an object of its own, whose body may lie in another, or the line itself.
fn request(value: &mut Value) -> Result<Value, Wrong> {
    let mut request = take(value, "request").unwrap_or_else(|| value.take());
    let request = take(&mut request, "body").unwrap_or(request);
    if at(&request, "messages").is_some_and(Value::is_array) {
        Ok(request)
    } else {
        Err("the request has no `messages`".into())
    }
}

/// The response: an object of its own, whose body may lie in another, or the line itself.
fn reply(value: &mut Value) -> Result<Reply, Wrong> {
    let has_choices = at(value, "choices").is_some();
    let mut response = match take(value, "response") {
        Some(response) => response,
        None if has_choices => {
            let choices = take(value, "choices").unwrap_or_default();
            let usage = take(value, "usage").unwrap_or_default();
            serde_json::json!({"choices": choices, "usage": usage})
        }
        None => return Err("no `response`".into()),
    };
    let mut response = take(&mut response, "body").unwrap_or(response);
    if response.is_string() {
        response = serde_json::json!({"role": "assistant", "content": response});
    }
    let mut reported = Reported::of_openai(at(&response, "usage"));
    reported.cost = reported
        .cost
        .or_else(|| dollars_at(value, "cost"))
        .or_else(|| dollars_at(value, "cost_usd"));
    let first = take_array(&mut response, "choices").into_iter().next();
    let message = match first {
        Some(mut choice) => take(&mut choice, "message"),
        None if at(&response, "role").is_some() => Some(response),
        None => take(&mut response, "message"),
    };
    let Some(message) = message else {
        return Err("the response has no message".into());
    };
    Ok(Reply { message, reported })
}

/// The digest of the first messages, for every number of them.
fn digests(messages: &[Message]) -> Vec<u64> {
    let mut hasher = DefaultHasher::new();
    let mut digests = vec![hasher.finish()];
    for message in messages {
        to_json(message).hash(&mut hasher);
        digests.push(hasher.finish());
    }
    digests
}
