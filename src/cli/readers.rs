//! Whom something is written for: languages, and how their numbers look.

use clap::Args;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::exit::Failure;
use super::signals::Interrupt;
use crate::report::{Digits, Locale, NumberStyle};

/// The locale that stands for all of them.
const ALL: &str = "all";

/// The languages that are meant.
#[derive(Debug, Args)]
pub(super) struct Readers {
    /// The languages, as `loopmeter list locales` names them, or `all`
    #[arg(long, value_name = "TAG", num_args = 1.., value_delimiter = ',', default_value = "en")]
    locale: Vec<String>,
    /// Whose rules numbers follow
    #[arg(long, value_enum, default_value_t)]
    numbers: NumberStyle,
    /// Which digits numbers have
    #[arg(long, value_enum, default_value_t)]
    digits: Digits,
}

impl Readers {
    /// The tags of the languages, each once.
    pub(super) fn tags(&self) -> Result<Vec<&'static str>, Failure> {
        if self.locale.iter().any(|tag| tag == ALL) {
            return Ok(Locale::tags());
        }
        let found = self.locale.iter().map(|tag| Locale::find(tag));
        let mut tags = found
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Failure::wrong_input(&error))?;
        tags.sort_unstable();
        tags.dedup();
        Ok(tags)
    }

    /// One of the languages, with its numbers as they are wanted.
    pub(super) fn locale(&self, tag: &str) -> Result<Locale, Failure> {
        let locale = Locale::load(tag).map_err(|error| Failure::wrong_input(&error))?;
        Ok(locale.with_numbers(self.numbers, self.digits))
    }
}

/// Writes for each language. Writing waits for the disk, which takes many waiting writers at once:
/// one per language. What `write` does between two files is to ask whether to go on.
pub(super) fn for_each(
    tags: &[&str],
    write: impl Fn(&str, &Interrupt) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let interrupt = Interrupt::listen();
    let writers = ThreadPoolBuilder::new().num_threads(tags.len()).build();
    let writers = writers.map_err(|error| Failure::could_not_do(&error))?;
    writers.install(|| tags.par_iter().map(|tag| write(tag, &interrupt)).collect())
}
