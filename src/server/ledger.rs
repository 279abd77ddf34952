//! What is remembered of each run, so that retries, turns and oddities can be told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exchange::{BodyHash, Channel, MOST_LISTED, SeenResult, cut_name, cut_one_of, cut_text};
use super::memo::hash;
use super::oddity::Oddity;
use super::received::Received;
use super::turns::Turns;
use crate::message::ToolCall;
use crate::provider::wire::{ReceivedMessage, Role};

/// The runs; of too many, those that were not heard of for longest are forgotten.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    by_key: BTreeMap<Key, Run>,
    /// The runs, the one that was not heard of for longest first.
    by_age: BTreeMap<u64, Key>,
    clock: u64,
    /// How much is remembered of all runs.
    entries: usize,
}

const MOST_RUNS: usize = 16_384;
/// The most that is remembered of all runs together: many short ones, or some long ones.
const MOST_ENTRIES: usize = 1 << 20;
/// The most bodies, ids and results that are remembered of one run.
const MOST_OF_RUN: usize = 4_096;

/// What makes a run: its path, if it has one of its own, and the scenario that is played.
type Key = (Option<String>, String);

/// The run on this path that plays this scenario.
pub(super) fn key(path: Option<&str>, scenario: &str) -> Key {
    (path.map(str::to_owned), scenario.to_owned())
}

/// Where a request stands in its run.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) attempt: u32,
    pub(super) turns: Turns,
    pub(super) messages_kept: usize,
    pub(super) results: Vec<SeenResult>,
    pub(super) oddities: Vec<Oddity>,
}

/// Whether runs are told apart by their paths, so that counting along one means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathCount {
    Counts,
    IsMeaningless,
}

impl Ledger {
    /// Takes note of a request.
    pub(super) fn seat(&self, run: &Key, received: &Received, path: PathCount) -> Seat {
        self.lock().with(run, |run| run.seat(received, path))
    }

    /// Takes note of what a request was answered with at a turn.
    pub(super) fn issued(&self, run: &Key, turn: u32, calls: &[ToolCall]) {
        self.lock().with(run, |run| run.issued(turn, calls));
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runs {
    fn with<T>(&mut self, key: &Key, work: impl FnOnce(&mut Run) -> T) -> T {
        self.clock += 1;
        let run = self.by_key.entry(key.clone()).or_default();
        self.by_age.remove(&run.heard_of);
        self.by_age.insert(self.clock, key.clone());
        run.heard_of = self.clock;
        self.entries -= run.entries();
        let done = work(run);
        self.entries += run.entries();
        self.forget();
        done
    }

    /// Forgets the oldest runs, as long as there is too much.
    fn forget(&mut self) {
        while self.by_key.len() > MOST_RUNS || self.entries > MOST_ENTRIES {
            let Some((_, oldest)) = self.by_age.pop_first() else {
                return;
            };
            if let Some(run) = self.by_key.remove(&oldest) {
                self.entries -= run.entries();
            }
        }
    }
}

/// What is remembered of one run.
#[derive(Debug, Default)]
struct Run {
    heard_of: u64,
    bodies: Bounded<BodyHash, Body>,
    /// How many different bodies there were.
    distinct: u32,
    /// The turn at which each call id was issued.
    issued: Bounded<String, u32>,
    /// The messages of the last request.
    last: Vec<u128>,
    /// How many messages the conversation began with.
    opening: usize,
    /// The last of them that is the user's, as it was in the last request.
    request: Option<Text>,
    /// The turn and the call ids of the last reply.
    reply: Option<(u32, Vec<String>)>,
    results: Bounded<u128, ()>,
}

/// A text of a message, known again where more is added to it.
#[derive(Clone, Copy, Debug)]
struct Text {
    /// The message, from 0.
    message: usize,
    bytes: usize,
    hash: u128,
}

impl Text {
    /// The user's last words among the first `opening` messages.
    fn last_of_user(messages: &[ReceivedMessage<'_>], opening: usize) -> Option<Self> {
        let mut first = messages.iter().take(opening).enumerate();
        let (message, received) = first.rfind(|(_, message)| message.role == Role::User)?;
        let text = received.text.as_deref().unwrap_or_default();
        Some(Self {
            message,
            bytes: text.len(),
            hash: hash(text.as_bytes()),
        })
    }

    /// What was added to it, if something was.
    fn added<'m>(&self, messages: &'m [ReceivedMessage<'_>]) -> Option<&'m str> {
        let message = messages.get(self.message)?;
        let (before, added) = message.text.as_deref()?.split_at_checked(self.bytes)?;
        let is_it = message.role == Role::User && hash(before.as_bytes()) == self.hash;
        (is_it && !before.is_empty() && !added.is_empty()).then_some(added)
    }
}

#[derive(Clone, Copy, Debug)]
struct Body {
    /// How many different bodies came before it.
    position: u32,
    attempts: u32,
}

impl Run {
    /// How much is remembered of it.
    fn entries(&self) -> usize {
        self.bodies.len() + self.issued.len() + self.results.len() + self.last.len()
    }

    fn seat(&mut self, received: &Received, path: PathCount) -> Seat {
        let body = self.attempt(received.body);
        let view = View::of(received, self);
        let conversation = received.spoken();
        let turns = Turns {
            conversation,
            ids: self.turn_by_ids(&view.messages, conversation),
            path: (path == PathCount::Counts).then_some(body.position),
        };
        let mut oddities = Vec::new();
        if !turns.agree() {
            oddities.push(Oddity::TurnsDisagree(turns));
        }
        if body.attempts == 1 {
            view.look_at_messages(&mut oddities);
            view.look_at_reply(turns.conversation, &mut oddities);
        }
        let unknown = &received.incoming.unknown;
        if !unknown.is_empty() {
            let names = unknown.iter().take(MOST_LISTED);
            let names = names.map(|name| cut_name(name)).collect();
            oddities.push(Oddity::UnknownParameters { names });
        }
        let media = received.incoming.media();
        if !media.is_empty() {
            let kinds = media.into_iter().take(MOST_LISTED);
            let kinds = kinds.map(cut_name).collect();
            oddities.push(Oddity::MediaCountedAsText { kinds });
        }
        oddities.truncate(MOST_LISTED);
        let messages_kept = view.kept;
        let (opening, found) = (view.opening, view.results());
        let request = Text::last_of_user(&view.messages, opening);
        let results = self.unseen(found, messages_kept < self.last.len());
        self.opening = opening;
        self.request = request;
        self.last.clone_from(&received.messages);
        Seat {
            attempt: body.attempts,
            turns,
            messages_kept,
            results,
            oddities,
        }
    }

    fn attempt(&mut self, hash: BodyHash) -> Body {
        let position = self.distinct;
        let mut body = self.bodies.get(&hash).copied().unwrap_or(Body {
            position,
            attempts: 0,
        });
        if body.attempts == 0 {
            self.distinct = self.distinct.saturating_add(1);
        }
        body.attempts = body.attempts.saturating_add(1);
        self.bodies.insert(hash, body);
        body
    }

    fn issued(&mut self, turn: u32, calls: &[ToolCall]) {
        let ids = calls.iter().take(MOST_LISTED).map(|call| call.id.clone());
        let ids: Vec<String> = ids.collect();
        for id in &ids {
            self.issued.insert(id.clone(), turn);
        }
        self.reply = Some((turn, ids));
    }

    /// The turn after the last one of which a call id comes back. Turns that called nothing leave
    /// no ids, so for those that follow, the conversation is believed.
    fn turn_by_ids(&self, messages: &[ReceivedMessage<'_>], conversation: u32) -> Option<u32> {
        if self.issued.is_empty() {
            return None;
        }
        let turns = messages
            .iter()
            .flat_map(ids_of)
            .filter_map(|id| self.issued.get(id))
            .map(|turn| turn.saturating_add(1));
        let after = turns.max().unwrap_or(0);
        let mut missing = self.issued.values().filter(|turn| **turn >= after);
        let skipped = missing.any(|turn| *turn < conversation);
        Some(if skipped {
            after
        } else {
            after.max(conversation)
        })
    }

    /// Those of `found` that are new. Where history was rewritten, what was seen before is told
    /// from what is new by its text.
    fn unseen(&mut self, found: Vec<SeenResult>, rewritten: bool) -> Vec<SeenResult> {
        let fresh = |result: &SeenResult, seen: &mut Bounded<u128, ()>| {
            let id = result.call_id.as_deref().unwrap_or_default();
            let key = hash(format!("{id}\n{}", result.text).as_bytes());
            let known = seen.get(&key).is_some();
            seen.insert(key, ());
            !(rewritten && known)
        };
        let seen = &mut self.results;
        found.into_iter().filter(|one| fresh(one, seen)).collect()
    }
}

/// All call ids that a message mentions.
fn ids_of<'a>(message: &'a ReceivedMessage<'_>) -> impl Iterator<Item = &'a str> {
    let made = message.calls.iter().map(|call| call.id);
    message.tool_call_id.into_iter().chain(made)
}

/// A request beside the one before it.
#[derive(Debug)]
struct View<'a> {
    messages: Vec<ReceivedMessage<'a>>,
    /// How many messages, from the first on, are as they were.
    kept: usize,
    /// How many there were.
    before: usize,
    opening: usize,
    goes_on: bool,
    /// What was added to the user's words among the first messages, as some frameworks do that
    /// drop a failed turn.
    added: Option<SeenResult>,
    reply: Option<&'a (u32, Vec<String>)>,
}

impl<'a> View<'a> {
    fn of(received: &'a Received, run: &'a Run) -> Self {
        let pairs = received.messages.iter().zip(&run.last);
        let kept = pairs.take_while(|(now, then)| now == then).count();
        let messages: Vec<_> = received.incoming.received().collect();
        let longer = kept >= run.opening && messages.len() > run.opening && run.opening > 0;
        let issued = |id: &str| run.issued.get(id).is_some();
        let added = run.request.and_then(|request| {
            let text = cut_text(request.added(&messages)?.trim_start());
            Some(SeenResult {
                channel: Channel::User,
                call_id: None,
                text,
            })
        });
        let goes_on = longer || added.is_some() || messages.iter().flat_map(ids_of).any(issued);
        let opening = if goes_on { run.opening } else { messages.len() };
        Self {
            kept,
            before: run.last.len(),
            opening,
            goes_on,
            added,
            reply: run.reply.as_ref().filter(|_| goes_on),
            messages,
        }
    }

    /// The messages that are not as they were, with their places.
    fn new_messages(&self) -> impl Iterator<Item = (usize, &ReceivedMessage<'a>)> {
        self.messages.iter().enumerate().skip(self.kept)
    }

    fn look_at_messages(&self, oddities: &mut Vec<Oddity>) {
        let made: BTreeSet<&str> = self
            .messages
            .iter()
            .flat_map(|message| message.calls.iter().map(|call| call.id))
            .collect();
        let answered: BTreeSet<&str> = self
            .messages
            .iter()
            .filter_map(|message| message.tool_call_id)
            .collect();
        if self.goes_on && self.kept < self.before.min(self.messages.len()) {
            let message = self.kept;
            oddities.push(Oddity::HistoryRewritten { message });
        }
        for (message, received) in self.new_messages() {
            match (received.role, received.tool_call_id) {
                (Role::Tool, None) => oddities.push(Oddity::ResultWithoutId { message }),
                (Role::Tool, Some(id)) if !made.contains(id) => {
                    oddities.push(Oddity::ResultOfUnknownCall { id: cut_name(id) });
                }
                _ => {}
            }
            let open = received
                .calls
                .iter()
                .filter(|call| !answered.contains(call.id));
            oddities.extend(open.map(|call| Oddity::CallWithoutResult {
                id: cut_name(call.id),
            }));
        }
    }

    /// Compares the request with the reply before it.
    fn look_at_reply(&self, conversation: u32, oddities: &mut Vec<Oddity>) {
        let Some((turn, ids)) = self.reply else {
            return;
        };
        if conversation <= *turn && self.new_messages().next().is_some() {
            oddities.push(Oddity::AssistantTurnDropped { turn: *turn });
        }
        let answers: Vec<&str> = self
            .messages
            .iter()
            .filter_map(|message| message.tool_call_id)
            .filter(|answered| ids.iter().any(|id| id == answered))
            .collect();
        let mut later = self.new_messages().filter(|(at, _)| *at >= self.opening);
        let spoke = self.added.is_some() || later.any(|(_, message)| message.role == Role::User);
        if !ids.is_empty() && answers.is_empty() && spoke {
            let ids = ids.iter().map(|id| cut_name(id)).collect();
            oddities.push(Oddity::ResultsAsUserText { ids });
        }
        let in_order = answers
            .iter()
            .map(|answer| ids.iter().position(|id| id == answer))
            .is_sorted();
        if !in_order {
            let ids = answers.iter().take(MOST_LISTED);
            let ids = ids.map(|id| cut_name(id)).collect();
            oddities.push(Oddity::ResultsOutOfOrder { ids });
        }
    }

    /// Results, and text of the user once the conversation has begun, among the new messages.
    fn results(&self) -> Vec<SeenResult> {
        let channel = |(at, message): &(usize, &ReceivedMessage<'a>)| match message.role {
            Role::Tool => Some(Channel::Tool),
            Role::User if *at >= self.opening => Some(Channel::User),
            _ => None,
        };
        let count = self.new_messages().filter_map(|one| channel(&one)).count();
        let seen = self.new_messages().filter_map(|one| {
            Some(SeenResult {
                channel: channel(&one)?,
                call_id: one.1.tool_call_id.map(cut_name),
                text: cut_one_of(count, one.1.text.as_deref().unwrap_or_default()),
            })
        });
        let added = self.added.iter().cloned();
        added.chain(seen).take(MOST_LISTED).collect()
    }
}

/// A map that forgets what was put into it first.
#[derive(Debug)]
struct Bounded<K, V> {
    values: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Ord + Clone, V> Bounded<K, V> {
    fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.values.get(key)
    }

    fn values(&self) -> impl Iterator<Item = &V> {
        self.values.values()
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn insert(&mut self, key: K, value: V) {
        if self.values.insert(key.clone(), value).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MOST_OF_RUN
            && let Some(first) = self.order.pop_front()
        {
            self.values.remove(&first);
        }
    }
}
