//! The machine that real-clock rows were measured on.

use std::fs;
use std::thread::available_parallelism;

use crate::results::{Cell as Printed, Column, Kind};

/// What is said of a machine beside the times that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The processor's name, where the system tells it.
    pub cpu_model: Option<String>,
    /// How many threads it runs at once, where the system tells it.
    pub cores: Option<u64>,
    /// The operating system and the processor's family: `linux x86_64`.
    pub os: String,
}

impl Host {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        let cores = available_parallelism()
            .ok()
            .and_then(|cores| u64::try_from(cores.get()).ok());
        let os = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        let cpu_model = fs::read_to_string("/proc/cpuinfo").ok();
        Self {
            cpu_model: cpu_model.as_deref().and_then(cpu_model_in),
            cores,
            os,
        }
    }

    /// What this machine is called, where the system tells it. It is in no row, as the same
    /// machine may be called anything.
    #[must_use]
    pub fn name() -> Option<String> {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    pub(super) fn columns() -> [Column; 3] {
        [
            Column::new("cpu_model", Kind::Text),
            Column::new("cores", Kind::Count),
            Column::new("os", Kind::Text),
        ]
    }

    pub(super) fn values(&self) -> [Printed; 3] {
        [
            self.cpu_model.clone().into(),
            self.cores.into(),
            self.os.clone().into(),
        ]
    }
}

/// The name in a text of the form of `/proc/cpuinfo`.
fn cpu_model_in(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut models = lines.filter(|(key, _)| key.trim() == "model name");
    models
        .next()
        .map(|(_, name)| name.trim().to_owned())
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_model_name_counts_and_an_empty_one_is_none() {
        let text = "processor\t: 0\nmodel name\t: Fast CPU @ 3\nmodel name\t: other\n";
        assert_eq!(cpu_model_in(text).as_deref(), Some("Fast CPU @ 3"));
        assert_eq!(cpu_model_in("model name :\n"), None);
        assert_eq!(cpu_model_in("BogoMIPS: 50\n"), None);
    }
}
