//! From the parser's tree to a JSON value and the place of everything in it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use super::problem::{Problem, Source};
use super::{Document, Place, child};

/// How many tables and arrays may stand in each other.
const MAX_DEPTH: usize = 64;

/// A syntax mistake in our words where the parser's are short.
pub(super) fn syntax_problem(source: &Arc<Source>, mistake: &toml::de::Error) -> Problem {
    let span = mistake.span().unwrap_or(0..0);
    let named = source.text().get(span.clone()).unwrap_or_default();
    let (message, help) = match mistake.message() {
        "duplicate key" => (
            format!("duplicate key `{named}`"),
            Some("keep one of the two".to_owned()),
        ),
        "recursion limit" | "cannot recurse further; max recursion depth met" => {
            ("nested too deeply".to_owned(), None)
        }
        other if other.starts_with("string values must be quoted") => match named {
            "" => ("missing value".to_owned(), None),
            _ => (
                format!("`{named}` is not a value"),
                Some("a text is written in quotes".to_owned()),
            ),
        },
        other => (other.to_owned(), None),
    };
    Problem::new(source, span, &message, help)
}

pub(super) fn convert(source: Arc<Source>, tree: &Spanned<DeTable<'_>>) -> Document {
    let mut walk = Walk {
        source: &source,
        places: BTreeMap::new(),
        unusable: BTreeMap::new(),
    };
    walk.places.insert(
        String::new(),
        Place {
            key: None,
            value: 0..0,
        },
    );
    let json = walk.table("", tree.get_ref(), 0);
    let Walk {
        places, unusable, ..
    } = walk;
    Document {
        source,
        json,
        places,
        unusable,
    }
}

struct Walk<'s> {
    source: &'s Arc<Source>,
    places: BTreeMap<String, Place>,
    unusable: BTreeMap<String, Problem>,
}

impl Walk<'_> {
    fn table(&mut self, pointer: &str, table: &DeTable<'_>, depth: usize) -> Value {
        let mut map = Map::new();
        for (key, value) in table {
            let pointer = child(pointer, key.get_ref());
            let json = self.value(&pointer, Some(key.span()), value, depth);
            map.insert(key.get_ref().to_string(), json);
        }
        Value::Object(map)
    }

    fn value(
        &mut self,
        pointer: &str,
        key: Option<Range<usize>>,
        value: &Spanned<DeValue<'_>>,
        depth: usize,
    ) -> Value {
        let span = value.span();
        let place = Place {
            key,
            value: span.clone(),
        };
        self.places.insert(pointer.to_owned(), place);
        let converted = match value.get_ref() {
            DeValue::Table(_) | DeValue::Array(_) if depth >= MAX_DEPTH => {
                Err(("nested too deeply", "64 levels at most"))
            }
            DeValue::Table(table) => Ok(self.table(pointer, table, depth + 1)),
            DeValue::Array(array) => {
                let entries = array.iter().enumerate().map(|(index, entry)| {
                    self.value(&format!("{pointer}/{index}"), None, entry, depth + 1)
                });
                Ok(Value::Array(entries.collect()))
            }
            DeValue::String(text) => Ok(Value::String(text.to_string())),
            DeValue::Boolean(bool) => Ok(Value::Bool(*bool)),
            DeValue::Integer(integer) => whole_number(integer),
            DeValue::Float(float) => finite_number(float),
            DeValue::Datetime(_) => {
                Err(("a date is not used here", "write it as a text in quotes"))
            }
        };
        converted.unwrap_or_else(|(message, help)| {
            let problem = Problem::new(self.source, span, message, Some(help.to_owned()));
            self.unusable.insert(pointer.to_owned(), problem);
            Value::Null
        })
    }
}

type Converted = Result<Value, (&'static str, &'static str)>;

fn whole_number(integer: &DeInteger<'_>) -> Converted {
    let (digits, radix) = (integer.as_str(), integer.radix());
    i64::from_str_radix(digits, radix)
        .map(Value::from)
        .or_else(|_| u64::from_str_radix(digits, radix).map(Value::from))
        .map_err(|_| ("number out of range", "whole numbers have 64 bits"))
}

fn finite_number(float: &DeFloat<'_>) -> Converted {
    float
        .as_str()
        .parse()
        .ok()
        .and_then(Number::from_f64)
        .map(Value::Number)
        .ok_or(("not a finite number", "write a number with digits"))
}
