//! The command line from outside: the built program in folders of its own, what it prints, what
//! it writes, and how it ends.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod common;
mod errors;
mod fit;
mod gate;
mod list;
mod prices;
mod run;
mod shards;
