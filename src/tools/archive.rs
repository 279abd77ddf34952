//! A tool that is slow on purpose: it shows progress, and Stop reaches it.

use std::time::Duration;

use serde_json::Value;

use super::{Access, Tool, ToolContext, ToolFailure, definitions};
use crate::clock::BoxFuture;
use crate::message::ToolDefinition;

const FILES: u32 = 1_200;
const BATCH_FILES: u32 = 200;
const BATCH_TIME: Duration = Duration::from_millis(500);

/// Goes through 1,200 archived files in 3,000 ms of the run's clock, and says so every 200 files.
#[derive(Clone, Debug)]
pub struct ScanArchive {
    definition: ToolDefinition,
}

impl Default for ScanArchive {
    fn default() -> Self {
        Self {
            definition: definitions::scan_archive(),
        }
    }
}

impl Tool for ScanArchive {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn run<'a>(
        &'a self,
        _: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move {
            for scanned in (1..=FILES / BATCH_FILES).map(|batch| batch * BATCH_FILES) {
                context.clock.sleep(BATCH_TIME, context.signal).await?;
                context.progress(&format!("scanned {scanned} of {FILES} files"));
            }
            Ok(format!("scanned {FILES} files"))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::clock::{Clock, Signal, Stopped, VirtualClock};
    use crate::tools::{Template, Workspace};

    /// Scans under `signal`: the outcome, the labels with their times, and the time at the end.
    fn scan(signal: &Signal) -> (Result<String, ToolFailure>, Vec<(u128, String)>, Duration) {
        let clock = VirtualClock::new();
        let labels = Mutex::new(Vec::new());
        let report = |label: &str| {
            let label = (clock.now().as_millis(), label.to_owned());
            labels.lock().unwrap().push(label);
        };
        let workspace = Workspace::in_memory(&Template::chapter());
        let context = ToolContext::new(&clock, signal, &workspace, &report);
        let outcome = pollster::block_on(ScanArchive::default().run(&json!({}), &context));
        let labels = labels.lock().unwrap().clone();
        (outcome, labels, clock.now())
    }

    #[test]
    fn it_takes_three_seconds_and_speaks_twice_a_second() {
        let (outcome, labels, end) = scan(&Signal::new());
        assert_eq!(outcome, Ok("scanned 1200 files".to_owned()));
        assert_eq!(end, Duration::from_secs(3));
        let times: Vec<_> = labels.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [500, 1_000, 1_500, 2_000, 2_500, 3_000]);
        assert_eq!(labels[0].1, "scanned 200 of 1200 files");
        assert_eq!(labels[5].1, "scanned 1200 of 1200 files");
    }

    #[test]
    fn stop_ends_it_at_once() {
        let pressed_at = Duration::from_millis(1_200);
        let (outcome, labels, end) = scan(&Signal::scheduled(pressed_at, "user pressed Stop"));
        let reason = "user pressed Stop".to_owned();
        assert_eq!(outcome, Err(ToolFailure::Stopped(Stopped { reason })));
        assert_eq!(end, pressed_at);
        assert_eq!(labels.len(), 2);
    }
}
