//! Reading a TOML file so that all its problems are found at once, each where it is.
//!
//! A file becomes a JSON value plus the place of every key and value in the text. The value is
//! checked against the JSON Schema of the type that it should become, which finds every unknown
//! key and wrong value in one go; what a schema cannot say, the caller checks in the [`Mended`]
//! document and reports through [`Findings`], at the same kind of place.

mod excerpt;
#[cfg(test)]
pub(crate) mod faults;
mod findings;
mod mend;
mod problem;
mod read;
mod schema;
mod stand_in;
mod tree;
mod wording;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::findings::Findings;
pub use self::mend::Mended;
pub use self::problem::{Problem, Problems};
pub use self::read::{MAX_BYTES, ReadError};
pub use self::schema::{property_schema, schema_of};
pub use self::wording::suggest;

use self::problem::Source;

/// A TOML text whose syntax is right, with the place of everything in it.
#[derive(Clone, Debug)]
pub struct Document {
    source: Arc<Source>,
    json: Value,
    places: BTreeMap<String, Place>,
    unusable: BTreeMap<String, Problem>,
}

/// Where one value stands, as byte ranges of the text.
#[derive(Clone, Debug)]
struct Place {
    /// The key before it; entries of an array have none.
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl Document {
    /// Reads a TOML file of at most [`MAX_BYTES`].
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not a regular file, is too large, is not UTF-8 or is not TOML.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let bytes = read::read_limited(path)?;
        let origin = path.display().to_string();
        let text = read::utf8(&origin, &bytes).map_err(ReadError::Invalid)?;
        Self::parse(&origin, text).map_err(ReadError::Invalid)
    }

    /// Parses a TOML text; `origin` is what problems call it, such as a path.
    ///
    /// # Errors
    ///
    /// Every mistake in the text's syntax.
    pub fn parse(origin: &str, text: &str) -> Result<Self, Problems> {
        let source = Arc::new(Source::new(origin, text));
        let (tree, mistakes) = toml::de::DeTable::parse_recoverable(text);
        let mistakes = mistakes
            .into_iter()
            .map(|mistake| tree::syntax_problem(&source, &mistake))
            .collect();
        Problems::check(mistakes)?;
        Ok(tree::convert(source, &tree))
    }

    /// The whole text as a value of type `T`.
    ///
    /// # Errors
    ///
    /// Every key and value that `T` does not take.
    pub fn decode<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, Problems> {
        let mended = self.mended::<T>();
        let value = mended.decode()?;
        mended.findings().finish()?;
        Ok(value)
    }

    /// The text as JSON. `null`, which TOML does not have, stands for what JSON does not have: a
    /// date, or a number that is not finite; [`Document::mended`] reports those.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// What problems call this text.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.source.origin()
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// The value at a JSON pointer as it is written, `0.010780` for example, so that a decimal
    /// can be read without a float.
    #[must_use]
    pub fn source_at(&self, pointer: &str) -> Option<&str> {
        let place = self.places.get(pointer)?;
        self.source.text().get(place.value.clone())
    }

    /// A problem with the value at a JSON pointer, or with the nearest table around it that is
    /// in the text.
    #[must_use]
    pub fn problem(&self, pointer: &str, message: &str, help: Option<&str>) -> Problem {
        let span = self.place(pointer).map(|place| place.value.clone());
        self.problem_in(span, message, help)
    }

    /// A problem with the key at a JSON pointer rather than with its value.
    #[must_use]
    pub fn problem_with_key(&self, pointer: &str, message: &str, help: Option<&str>) -> Problem {
        let span = self
            .place(pointer)
            .map(|place| place.key.as_ref().unwrap_or(&place.value).clone());
        self.problem_in(span, message, help)
    }

    fn problem_in(&self, span: Option<Range<usize>>, message: &str, help: Option<&str>) -> Problem {
        Problem::new(
            &self.source,
            span.unwrap_or(0..0),
            message,
            help.map(str::to_owned),
        )
    }

    fn place(&self, pointer: &str) -> Option<&Place> {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.places.get(pointer) {
                return Some(place);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// The JSON pointer of `key` in the table at `pointer`.
#[must_use]
pub fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The JSON pointer of the table or list in which the value at `pointer` stands.
fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests;
