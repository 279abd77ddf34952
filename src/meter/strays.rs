//! Processes that left the group of the command that started them.
//!
//! A process can leave its group and its parent, and hardly anything else of its origin is left
//! to it but its environment. So each command is started with a mark there, which all that it
//! starts inherit. Where a command meters another in its turn, the mark of that one is put behind
//! its own, so that what is inside of both is known to both.
//!
//! A process that left its group and was started with a cleared environment is not found. To be
//! the reaper of such orphans would find it, but not say whose it is where several commands run at
//! once, and leave every orphan of a command to be waited for here.

use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that holds the mark, behind those of the commands that this one is inside of.
pub(super) const VARIABLE: &str = "LOOPMETER_COMMAND";

/// A mark that no other command of this machine has.
pub(super) fn mark() -> String {
    static COMMANDS: AtomicU64 = AtomicU64::new(0);
    let command = COMMANDS.fetch_add(1, Ordering::Relaxed);
    format!("{}-{command}", std::process::id())
}

/// The value of the variable for the command with this mark.
#[expect(
    clippy::disallowed_methods,
    reason = "whom this process belongs to is told by its environment alone"
)]
pub(super) fn value(mark: &str) -> String {
    behind(std::env::var(VARIABLE).ok().as_deref(), mark)
}

fn behind(inherited: Option<&str>, mark: &str) -> String {
    match inherited {
        None | Some("") => mark.to_owned(),
        Some(outer) => format!("{outer},{mark}"),
    }
}

/// Whether a variable, as a process has it, holds this mark.
#[cfg(any(target_os = "linux", test))]
fn holds(variable: &[u8], mark: &str) -> bool {
    let rest = variable.strip_prefix(VARIABLE.as_bytes());
    let marks = rest.and_then(|rest| rest.strip_prefix(b"="));
    marks.is_some_and(|marks| {
        marks
            .split(|byte| *byte == b',')
            .any(|one| one == mark.as_bytes())
    })
}

/// The ids of the processes with this mark that are there and may be looked at.
#[cfg(target_os = "linux")]
pub(super) fn marked(mark: &str) -> Vec<i32> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &i32| {
        // One that has ended, or is somebody else's, cannot be read.
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| holds(variable, mark))
    })
    .collect()
}

/// Other systems do not show the environment of a process.
#[cfg(not(target_os = "linux"))]
pub(super) const fn marked(_mark: &str) -> Vec<i32> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_inside_of_another_has_the_marks_of_both() {
        let value = behind(Some(&behind(None, "7-0")), "8-0");
        let variable = format!("{VARIABLE}={value}");
        assert!(holds(variable.as_bytes(), "7-0"));
        assert!(holds(variable.as_bytes(), "8-0"));
        for other in ["7", "0", "7-0,8-0", "17-0", ""] {
            assert!(!holds(variable.as_bytes(), other), "{other}");
        }
        assert!(!holds(format!("{VARIABLE}S=7-0").as_bytes(), "7-0"));
        assert_eq!(behind(Some(""), "8-0"), "8-0");
    }
}
