//! Progress on a terminal: how many runs of an experiment are done.

use indicatif::{ProgressBar, ProgressStyle};

use super::output;
use crate::experiment::Experiment;

/// A bar that shows the experiment at work; nothing is drawn where nobody watches.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(super) fn new() -> Self {
        let bar = if output::is_watched() {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{msg:24} {wide_bar} {pos}/{len} {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Shows that `done` runs of `experiment` are done.
    pub(super) fn show(&self, experiment: &Experiment, done: u64) {
        self.show_of(experiment, (done, experiment.runs()));
    }

    /// Shows that `done` of `all` runs of a part of `experiment` are done.
    pub(super) fn show_of(&self, experiment: &Experiment, (done, all): (u64, u64)) {
        self.bar.set_length(all);
        self.bar.set_message(experiment.name().to_owned());
        self.bar.set_position(done);
    }

    /// Takes the bar off the screen, so that results can be printed.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
