//! What an LLM agent loop costs and how long it takes, measured deterministically.

pub mod clock;
pub mod document;
pub mod event;
pub mod files;
pub mod message;
pub mod money;
pub mod pricing;
pub mod provider;
pub mod run;
pub mod scenario;
pub mod store;
pub mod tokens;
pub mod tools;
pub mod trace;
pub mod world;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod meter;
#[cfg(feature = "cli")]
pub mod server;
