//! The scripted model as an OpenAI-compatible endpoint, and what it sees of those who use it.
//!
//! It answers `/v1/chat/completions`, `/v1/models` and `/health`, and the same below
//! `/runs/<id>/`, where each run is told from the others. What it answers is the scripted model's
//! reply in process, with the same tokens. What it sees becomes an [`Exchange`] each, in a [`Log`].
//!
//! Whatever a client does, the server holds bounded memory: bodies, headers, connections and
//! waits have limits, and what it remembers of runs is forgotten from the oldest on.

mod answer;
mod body;
mod chat;
mod config;
mod connections;
mod exchange;
mod host;
mod key;
mod ledger;
mod listen;
mod log;
mod memo;
mod oddity;
mod received;
mod route;
mod socket;
mod stream;
mod turned_away;
mod turns;

pub use self::config::{Config, Library, Limits, Script};
pub use self::exchange::{Asked, BodyHash, Channel, Exchange, Outcome, SeenResult};
pub use self::key::{Key, NotAKey};
pub use self::listen::Server;
pub use self::log::Log;
pub use self::oddity::Oddity;
pub use self::turns::{TurnIndex, Turns};

/// When all models and replies were made, in seconds since 1970: replies are a function of the
/// request, so it is fixed, at the first second of 2025.
pub const CREATED: u64 = 1_735_689_600;

/// What a scenario's name is prefixed with to become a model's name.
pub const MODEL_PREFIX: &str = "scripted/";

/// The header that carries a fault for one request, such as `kind=429,first=1`.
pub const FAULT_HEADER: &str = "x-loopmeter-fault";

/// The header that carries a latency for one request, such as `ttft=200ms`.
pub const LATENCY_HEADER: &str = "x-loopmeter-latency";
