//! What an LLM agent loop costs and how long it takes, measured deterministically.

pub mod clock;
pub mod event;
pub mod message;
pub mod money;
#[cfg(feature = "cli")]
pub mod results;
pub mod run;
