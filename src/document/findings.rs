//! What a caller finds wrong in a document beyond what its schema says.

use std::collections::BTreeSet;

use super::mend::{Doubt, Doubts};
use super::problem::{Problem, Problems};
use super::{Document, child, parent};

/// Collects problems of a document, and keeps to itself those that only follow from others: a
/// finding about a value that is in doubt is dropped.
#[derive(Debug)]
pub struct Findings<'d> {
    document: &'d Document,
    doubts: Doubts,
    reported: BTreeSet<String>,
    problems: Vec<Problem>,
}

impl<'d> Findings<'d> {
    /// Nothing found yet, nothing in doubt.
    #[must_use]
    pub fn new(document: &'d Document) -> Self {
        Self::with(document, Doubts::default(), Vec::new())
    }

    pub(super) const fn with(
        document: &'d Document,
        doubts: Doubts,
        problems: Vec<Problem>,
    ) -> Self {
        Self {
            document,
            doubts,
            reported: BTreeSet::new(),
            problems,
        }
    }

    /// The document that is searched.
    #[must_use]
    pub const fn document(&self) -> &'d Document {
        self.document
    }

    /// The value at a JSON pointer is wrong; `help` says what would be right.
    pub fn add(&mut self, pointer: &str, message: &str, help: &str) {
        if self.is_certain(pointer) {
            let problem = self.document.problem(pointer, message, Some(help));
            self.report(pointer, problem);
        }
    }

    /// The key at a JSON pointer is wrong, whatever its value.
    pub fn add_to_key(&mut self, pointer: &str, message: &str, help: &str) {
        if self.is_key_certain(pointer) {
            let problem = self.document.problem_with_key(pointer, message, Some(help));
            self.report(pointer, problem);
        }
    }

    /// The table at a JSON pointer is wrong as a whole, which is shown at its `key` where that
    /// can be read.
    pub fn add_to_table(&mut self, table: &str, key: &str, message: &str, help: &str) {
        let named = child(table, key);
        let is_named = self.is_certain(&named);
        self.add(if is_named { &named } else { table }, message, help);
    }

    fn report(&mut self, pointer: &str, problem: Problem) {
        self.reported.insert(pointer.to_owned());
        self.problems.push(problem);
    }

    /// Problems found elsewhere.
    pub fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.problems.extend(problems);
    }

    /// Whether what stands at a JSON pointer, or that nothing stands there, is what the text
    /// says and not what was put in the place of something wrong.
    #[must_use]
    pub fn is_certain(&self, pointer: &str) -> bool {
        self.doubts.of(pointer).is_none()
    }

    /// Whether a key stands at a JSON pointer, or that none stands there, is what the text says,
    /// whatever is wrong with the key's value.
    #[must_use]
    pub fn is_key_certain(&self, pointer: &str) -> bool {
        let is_written = || self.document.source_at(pointer).is_some();
        self.is_certain(pointer) || (is_written() && self.is_certain(parent(pointer)))
    }

    /// Whether all `keys` of the table at a JSON pointer are certain, those that are absent too.
    #[must_use]
    pub fn are_certain(&self, table: &str, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.is_certain(&child(table, key)))
    }

    /// Whether the text has something wrong at a JSON pointer of which it cannot be guessed what
    /// was meant.
    #[must_use]
    pub fn is_unreadable(&self, pointer: &str) -> bool {
        self.doubts.of(pointer) == Some(Doubt::Unreadable)
    }

    /// Whether the value at a JSON pointer is certain with everything in it, and nothing in it
    /// was reported.
    #[must_use]
    pub fn is_sound(&self, pointer: &str) -> bool {
        let within = format!("{pointer}/");
        let reported_within = self
            .reported
            .range(within.clone()..)
            .next()
            .is_some_and(|next| next.starts_with(&within));
        self.is_certain(pointer)
            && !self.doubts.any_within(&within)
            && !reported_within
            && !self.reported.contains(pointer)
    }

    /// Ends the search.
    ///
    /// # Errors
    ///
    /// Something was found.
    pub fn finish(self) -> Result<(), Problems> {
        Problems::check(self.problems)
    }
}
