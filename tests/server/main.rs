//! The endpoint, asked over real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod client;
mod door;
mod faults;
mod hardship;
mod hosts;
mod replies;
mod turns;
