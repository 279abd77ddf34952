//! Progress on a terminal: how many runs of an experiment are done.

use indicatif::{ProgressBar, ProgressStyle};

use super::output;
use super::signals::Interrupt;
use crate::experiment::{Experiment, Go};

/// A bar that shows the experiment at work; nothing is drawn where nobody watches.
pub(super) struct Progress {
    bar: ProgressBar,
    interrupt: Interrupt,
}

impl Progress {
    pub(super) fn new(interrupt: Interrupt) -> Self {
        let bar = if output::is_watched() {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{msg:24} {wide_bar} {pos}/{len} {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar, interrupt }
    }

    /// Shows that `done` runs of `experiment` are done; says whether to go on.
    pub(super) fn show(&self, experiment: &Experiment, done: u64) -> Go {
        self.bar.set_length(experiment.runs());
        self.bar.set_message(experiment.name().to_owned());
        self.bar.set_position(done);
        if self.interrupt.is_requested() {
            Go::Stop
        } else {
            Go::On
        }
    }

    /// Takes the bar off the screen, so that results can be printed.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
