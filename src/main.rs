//! The `loopmeter` binary.

use std::process::ExitCode;

/// A run is many small allocations, and so is a request to the endpoint.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    loopmeter::cli::main()
}
