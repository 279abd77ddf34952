//! Processes that left the group of the command that started them.
//!
//! A process can leave its group and its parent, and hardly anything else of its origin is left
//! to it but its environment. So each command is started with a mark there, which all that it
//! starts inherit.

use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that holds the mark.
pub(super) const VARIABLE: &str = "LOOPMETER_COMMAND";

/// A mark that no other command of this machine has.
pub(super) fn mark() -> String {
    static COMMANDS: AtomicU64 = AtomicU64::new(0);
    let command = COMMANDS.fetch_add(1, Ordering::Relaxed);
    format!("{}-{command}", std::process::id())
}

/// The ids of the processes with this mark that are there and may be looked at.
#[cfg(target_os = "linux")]
pub(super) fn marked(mark: &str) -> Vec<i32> {
    let entry = format!("{VARIABLE}={mark}");
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &i32| {
        // One that has ended, or is somebody else's, cannot be read.
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == entry.as_bytes())
    })
    .collect()
}

/// Other systems do not show the environment of a process.
#[cfg(not(target_os = "linux"))]
pub(super) const fn marked(_mark: &str) -> Vec<i32> {
    Vec::new()
}
