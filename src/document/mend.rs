//! Going on behind a mistake: what does not fit its schema is reported, and a stand-in that fits
//! is put in its place, so that the rest of the text can be searched in the same go.
//!
//! Everything keeps its place in the text. What was put in is in doubt: no problem is reported of
//! it, and a check that depends on it can ask for that and be left out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::problem::{Problem, Problems};
use super::schema::{self, Fault, Mend};
use super::{Document, Findings, child, schema_of};

/// How often a value is checked again after it was mended. The first round mends nearly all;
/// another is needed where the form of a table was guessed and the table does not have it.
const MOST_ROUNDS: usize = 8;

/// Why a value is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It is what the text most likely means.
    Guessed,
    /// Anything could be meant.
    Unreadable,
}

/// The JSON pointers at which the text does not say what is meant.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts(BTreeMap<String, Doubt>);

impl Doubts {
    /// The doubt at a pointer: its own, or that of the nearest table or list around it.
    pub(super) fn of(&self, pointer: &str) -> Option<Doubt> {
        let mut pointer = pointer;
        loop {
            if let Some(doubt) = self.0.get(pointer) {
                return Some(*doubt);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }

    /// Whether there is a doubt at any pointer that begins with `prefix`.
    pub(super) fn any_within(&self, prefix: &str) -> bool {
        let mut from_there = self.0.range(prefix.to_owned()..);
        from_there
            .next()
            .is_some_and(|(next, _)| next.starts_with(prefix))
    }

    fn add(&mut self, pointer: String, doubt: Doubt) {
        self.0.insert(pointer, doubt);
    }
}

/// A document whose faults have been replaced by stand-ins, and what was wrong with it.
#[derive(Clone, Debug)]
pub struct Mended {
    document: Document,
    doubts: Doubts,
    problems: Vec<Problem>,
}

impl Document {
    /// The text with everything mended that the schema of `T` does not take.
    #[must_use]
    pub fn mended<T: JsonSchema>(&self) -> Mended {
        let mut doubts = Doubts::default();
        for pointer in self.unusable.keys() {
            doubts.add(pointer.clone(), Doubt::Unreadable);
        }
        let mut mended = Mended {
            document: self.clone(),
            doubts,
            problems: self.unusable.values().cloned().collect(),
        };
        mended.fit("", &schema_of::<T>());
        mended
    }
}

impl Mended {
    /// Reports whatever `schema` does not take in the value at a JSON pointer, and mends it: a
    /// swept value, for example, against the schema of the setting that it sweeps.
    pub fn fit(&mut self, pointer: &str, schema: &Value) {
        for round in 0..MOST_ROUNDS {
            let value = self.document.json.pointer(pointer);
            let faults = schema::faults(value.unwrap_or(&Value::Null), schema);
            if faults.is_empty() {
                return;
            }
            if round == 0 {
                // The faults that are left later come of what was put in.
                let found = faults
                    .iter()
                    .filter_map(|fault| self.located(pointer, fault));
                self.problems.extend(found.collect::<Vec<_>>());
            }
            for fault in faults {
                self.mend(&format!("{pointer}{}", fault.pointer), fault.mend);
            }
        }
    }

    /// Puts a stand-in for what `schema` takes at a JSON pointer, and reports nothing.
    pub fn replace(&mut self, pointer: &str, schema: &Value) {
        let value = schema::stand_in(schema, schema);
        self.put(pointer, value, Doubt::Unreadable);
    }

    /// The document as it is now, with the places of the text.
    #[must_use]
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// Whether what stands at a JSON pointer is what the text says.
    #[must_use]
    pub fn is_certain(&self, pointer: &str) -> bool {
        self.doubts.of(pointer).is_none()
    }

    /// The mended text as a value of type `T`.
    ///
    /// # Errors
    ///
    /// All problems so far, if it could not be mended far enough for that.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        serde_json::from_value(self.document.json.clone()).map_err(|error| {
            match Problems::check(self.problems.clone()) {
                Err(problems) => problems,
                Ok(()) => Problems::one(self.document.problem("", &error.to_string(), None)),
            }
        })
    }

    /// The problems so far, to which a caller adds its own.
    #[must_use]
    pub fn findings(&self) -> Findings<'_> {
        Findings::with(&self.document, self.doubts.clone(), self.problems.clone())
    }

    /// The fault as a problem, unless it is one of a value that is in doubt already.
    fn located(&self, prefix: &str, fault: &Fault) -> Option<Problem> {
        let pointer = format!("{prefix}{}", fault.pointer);
        if !self.is_certain(&pointer) {
            return None;
        }
        let help = fault.help.as_deref();
        Some(match &fault.mend {
            Mend::Remove { key, .. } | Mend::Rename { key, .. } => {
                let pointer = child(&pointer, key);
                self.document
                    .problem_with_key(&pointer, &fault.message, help)
            }
            Mend::Add { .. } | Mend::Replace { .. } | Mend::Correct { .. } => {
                self.document.problem(&pointer, &fault.message, help)
            }
        })
    }

    fn mend(&mut self, pointer: &str, mend: Mend) {
        match mend {
            Mend::Replace { value } => self.put(pointer, value, Doubt::Unreadable),
            Mend::Correct { value } => self.put(pointer, value, Doubt::Guessed),
            Mend::Remove { key, meant } => {
                for other in meant {
                    self.doubts.add(child(pointer, &other), Doubt::Guessed);
                }
                if let Some(table) = self.table(pointer) {
                    table.shift_remove(&key);
                }
            }
            Mend::Rename { key, to } => {
                self.doubts.add(child(pointer, &to), Doubt::Guessed);
                if let Some(table) = self.table(pointer)
                    && let Some(value) = table.shift_remove(&key)
                {
                    table.insert(to, value);
                }
            }
            Mend::Add { key, value } => {
                if let Some(table) = self.table(pointer)
                    && !table.contains_key(&key)
                {
                    table.insert(key.clone(), value);
                    self.doubts.add(child(pointer, &key), Doubt::Unreadable);
                }
            }
        }
    }

    fn table(&mut self, pointer: &str) -> Option<&mut Map<String, Value>> {
        self.document.json.pointer_mut(pointer)?.as_object_mut()
    }

    fn put(&mut self, pointer: &str, value: Value, doubt: Doubt) {
        if let Some(place) = self.document.json.pointer_mut(pointer) {
            *place = value;
        }
        self.doubts.add(pointer.to_owned(), doubt);
    }
}
