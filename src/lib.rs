//! What an LLM agent loop costs and how long it takes, measured deterministically.

pub mod clock;
pub mod document;
pub mod event;
pub mod message;
pub mod money;
pub mod run;
