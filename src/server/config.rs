//! What a server plays, how, and within which limits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Key, MODEL_PREFIX, TurnIndex};
use crate::scenario::{AnyScenario, Fault, GivenCalls, Pace, Scenario, builtin_names};

/// How a server behaves.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What it plays.
    pub library: Library,
    /// How it tells which turn a request is for.
    pub turn_index: TurnIndex,
    /// How long replies take, where not as their scenarios say.
    pub pace: Option<Pace>,
    /// How it fails; these come before the faults of the scenarios.
    pub faults: Vec<Fault>,
    /// Seed of the arguments that are made up for unknown tools.
    pub seed: u64,
    /// The key that clients must show; without one, any key or none will do.
    pub key: Option<Key>,
    /// What it bears.
    pub limits: Limits,
}

/// Something to play.
#[derive(Clone, Debug)]
pub enum Script {
    /// A scenario that was written for known tools.
    Written(Arc<Scenario>),
    /// A scenario for the tools that a request declares.
    Any(AnyScenario),
    /// Calls that were given, and then the answer in the way of the tools that a request declares.
    Given(Arc<GivenCalls>),
}

impl Script {
    /// The scenario's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Written(scenario) => scenario.name(),
            Self::Any(any) => any.as_str(),
            Self::Given(_) => "given-calls",
        }
    }
}

/// The scenarios that a server plays, and how one is chosen.
#[derive(Clone, Debug)]
pub enum Library {
    /// One scenario, whatever the model is called.
    Only(Script),
    /// A scenario by the model's name, `scripted/plan` for `plan`.
    ByModel(BTreeMap<String, Script>),
}

/// All scenarios that are part of the library.
impl Default for Library {
    fn default() -> Self {
        let written = builtin_names()
            .into_iter()
            .filter_map(Scenario::builtin)
            .map(|scenario| Script::Written(Arc::new(scenario)));
        Self::by_model(written.chain(AnyScenario::ALL.map(Script::Any)))
    }
}

impl Library {
    /// A library of these scripts; of two with one name, the last is played.
    #[must_use]
    pub fn by_model(scripts: impl IntoIterator<Item = Script>) -> Self {
        let named = |script: Script| (script.name().to_owned(), script);
        Self::ByModel(scripts.into_iter().map(named).collect())
    }

    /// The script that a model plays.
    #[must_use]
    pub fn script(&self, model: &str) -> Option<&Script> {
        match self {
            Self::Only(script) => Some(script),
            Self::ByModel(scripts) => {
                scripts.get(model.strip_prefix(MODEL_PREFIX).unwrap_or(model))
            }
        }
    }

    /// The names of all models.
    #[must_use]
    pub fn models(&self) -> Vec<String> {
        let model = |script: &Script| format!("{MODEL_PREFIX}{}", script.name());
        match self {
            Self::Only(script) => vec![model(script)],
            Self::ByModel(scripts) => scripts.values().map(model).collect(),
        }
    }
}

/// What a server bears from its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body_bytes: usize,
    /// All bodies that are being read at once, in bytes.
    pub bodies_bytes: usize,
    /// The largest head of a request, in bytes; at least 8,192.
    pub head_bytes: usize,
    /// Connections at once, each with one request at a time. A new one takes the place of the one
    /// that was idle longest.
    pub connections: usize,
    /// While a new connection waits for room, all others being at work; then it is answered 503.
    pub room_time: Duration,
    /// Until a request's head is there, and as long a connection may be idle.
    pub head_time: Duration,
    /// Until a request's body is there.
    pub body_time: Duration,
    /// While a client does not read what it is sent: in all, for every 16 KiB of it.
    pub write_time: Duration,
    /// While a stalled reply is held.
    pub stall_time: Duration,
    /// For requests in progress when the server is told to stop.
    pub grace_time: Duration,
    /// Exchanges that the log holds, for whoever looks at them afterwards; of more, the oldest are
    /// forgotten.
    pub exchanges: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            bodies_bytes: 128 << 20,
            head_bytes: 64 << 10,
            connections: 512,
            room_time: Duration::from_millis(250),
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            stall_time: Duration::from_secs(600),
            grace_time: Duration::from_secs(2),
            exchanges: 100_000,
        }
    }
}
