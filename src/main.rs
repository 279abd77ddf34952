//! The `loopmeter` binary.
fn main() {}
