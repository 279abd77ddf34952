//! What an experiment's rows are made from, as a text that is committed beside them.
//!
//! A row that changed says that something changed; the inputs say what. They are one flat JSON
//! object with a line for each input, so that a difference of two versions reads like a sentence.
//! The program's version is none of them: it changes with every release, and rows do not.

mod change;
mod gather;

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub use change::{InputChange, Reach};

/// The inputs of one experiment by name, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    entries: Map<String, Value>,
}

/// A text that is no list of inputs.
#[derive(Debug, thiserror::Error)]
#[error("not the inputs of an experiment: {0}; `loopmeter run --only NAME` writes them anew")]
pub struct NotInputs(#[from] serde_json::Error);

impl Inputs {
    /// Reads what [`Inputs::to_text`] writes.
    ///
    /// # Errors
    /// [`NotInputs`] where the text is no JSON object.
    pub fn parse(text: &[u8]) -> Result<Self, NotInputs> {
        let entries = serde_json::from_slice(text)?;
        Ok(Self { entries })
    }

    /// The inputs as JSON, one line each.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from("{");
        for (index, (name, value)) in self.entries.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let name = Value::from(name.as_str());
            let _ = write!(text, "{comma}\n  {name}: {value}");
        }
        text.push_str("\n}\n");
        text
    }

    /// What is different in `now`, in the order of the names there, and then what is gone.
    #[must_use]
    pub fn changes_to(&self, now: &Self) -> Vec<InputChange> {
        let fresh = now.entries.iter().map(|(name, is)| InputChange {
            name: name.clone(),
            was: self.value(name).cloned(),
            is: Some(is.clone()),
        });
        let gone = self.entries.iter();
        let gone = gone.filter(|(name, _)| now.value(name).is_none() && !now.sweeps(name));
        let gone = gone.map(|(name, was)| InputChange {
            name: name.clone(),
            was: Some(was.clone()),
            is: None,
        });
        let changes = fresh.chain(gone).filter(|change| change.was != change.is);
        changes.filter(InputChange::tells_something).collect()
    }

    /// The value of an input. A setting has its default where the file says nothing.
    fn value(&self, name: &str) -> Option<&Value> {
        let other = match name.split_once('.') {
            Some(("settings", setting)) => format!("default.{setting}"),
            Some(("default", setting)) => format!("settings.{setting}"),
            _ => String::new(),
        };
        self.entries.get(name).or_else(|| self.entries.get(&other))
    }

    /// Whether a default is left to no cell, because there is an axis of the setting.
    fn sweeps(&self, name: &str) -> bool {
        let setting = name.strip_prefix("default.");
        setting.is_some_and(|setting| self.entries.contains_key(&format!("axis.{setting}")))
    }

    fn add(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.entries.insert(name.into(), value.into());
    }
}

#[cfg(test)]
mod tests;
