//! What is left of a run when its process dies, at every point at which it can, and what becomes
//! of it then.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::print_stdout,
    reason = "how many points were tried is worth reading"
)]

mod camera;
mod case;
mod full_disk;
mod matrix;
mod stage;
