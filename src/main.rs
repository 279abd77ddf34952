//! The `loopmeter` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    loopmeter::cli::main()
}
