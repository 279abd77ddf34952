//! The small world that every chapter scenario plays in: what the agent is told and asked.
//!
//! Every published token count depends on each character of these texts.

/// The system prompt.
pub const SYSTEM: &str = include_str!("../experiments/world/system.txt");

/// What the user asks.
pub const USER: &str = include_str!("../experiments/world/user.txt");
