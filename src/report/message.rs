//! Messages: texts with named places in them, and the plural forms of those that count.

use std::collections::BTreeMap;

use icu_plurals::{PluralCategory, PluralRules};
use serde_json::Value;

use super::file::Section;
use crate::document::{Document, Problem, child};

/// What is put into the places of a message: `[("n", "3")]` for `{n}`.
pub type Args<'a> = &'a [(&'a str, &'a str)];

/// One form of a message, for whoever checks or collects them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant<'m> {
    /// The message's key, such as `plot.turns`.
    pub key: &'m str,
    /// The plural category, such as `few`; none for a message that does not count.
    pub category: Option<&'m str>,
    /// The text.
    pub text: &'m str,
}

/// The messages of one language by their keys: sections and names joined by points.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(BTreeMap<String, Message>);

/// A text, or one for each plural category.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Message {
    Text(String),
    Plural(BTreeMap<String, String>),
}

/// The plural category that every language has.
const OTHER: &str = "other";

impl Messages {
    /// Adds a section of a file; what is wrong in it goes into `problems`.
    pub(super) fn add(
        &mut self,
        (name, section): (&str, &Section),
        document: &Document,
        problems: &mut Vec<Problem>,
    ) {
        let mut open = vec![(name.to_owned(), format!("/{name}"), section)];
        while let Some((prefix, pointer, section)) = open.pop() {
            for (name, value) in section {
                let key = format!("{prefix}.{name}");
                let pointer = child(&pointer, name);
                match value {
                    Value::String(text) => {
                        self.0.insert(key, Message::Text(text.clone()));
                    }
                    Value::Object(forms) if forms.contains_key(OTHER) => match plural(forms) {
                        Some(forms) => {
                            self.0.insert(key, Message::Plural(forms));
                        }
                        None => problems.push(document.problem(
                            &pointer,
                            "a plural category that does not exist, or is no text",
                            Some("the categories are zero, one, two, few, many, other"),
                        )),
                    },
                    Value::Object(section) => open.push((key, pointer, section)),
                    _ => {
                        problems.push(document.problem(
                            &pointer,
                            "not a text",
                            Some("put it between quotes"),
                        ));
                    }
                }
            }
        }
    }

    /// The text of a message that does not count.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            Message::Text(text) => Some(text),
            Message::Plural(forms) => forms.get(OTHER).map(String::as_str),
        }
    }

    /// The key of the message among those that begin with `prefix` which says exactly `said`.
    pub(super) fn key_of(&self, prefix: &str, said: &str) -> Option<&str> {
        let says = |message: &Message| matches!(message, Message::Text(text) if text == said);
        let mut found = self.0.iter().filter(|(key, _)| key.starts_with(prefix));
        let found = found.find(|(_, message)| says(message));
        found.map(|(key, _)| key.as_str())
    }

    /// The form of a message that counts `number` things.
    pub(super) fn counted(&self, key: &str, number: u64, rules: &PluralRules) -> Option<&str> {
        let Message::Plural(forms) = self.0.get(key)? else {
            return self.get(key);
        };
        let form = forms.get(name(rules.category_for(number)));
        form.or_else(|| forms.get(OTHER)).map(String::as_str)
    }

    /// Every form of every message.
    pub(super) fn variants(&self) -> impl Iterator<Item = Variant<'_>> {
        self.0.iter().flat_map(|(key, message)| {
            let forms: Vec<(Option<&str>, &str)> = match message {
                Message::Text(text) => vec![(None, text)],
                Message::Plural(forms) => {
                    let forms = forms.iter();
                    forms
                        .map(|(name, text)| (Some(name.as_str()), text.as_str()))
                        .collect()
                }
            };
            let variant = move |(category, text)| Variant {
                key,
                category,
                text,
            };
            forms.into_iter().map(variant)
        })
    }
}

fn plural(forms: &Section) -> Option<BTreeMap<String, String>> {
    let forms = forms.iter().map(|(category, text)| {
        PluralCategory::get_for_cldr_string(category)?;
        Some((category.clone(), text.as_str()?.to_owned()))
    });
    forms.collect()
}

pub(super) const fn name(category: PluralCategory) -> &'static str {
    match category {
        PluralCategory::Zero => "zero",
        PluralCategory::One => "one",
        PluralCategory::Two => "two",
        PluralCategory::Few => "few",
        PluralCategory::Many => "many",
        PluralCategory::Other => OTHER,
    }
}

/// Puts `args` into the places of `text`. A place that nothing is given for stays as it is, and
/// what is put in is not searched for places again.
pub(super) fn fill(text: &str, args: Args<'_>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, place)) = rest.split_once('{') {
        filled.push_str(before);
        let known = place.split_once('}').and_then(|(name, after)| {
            let given = args.iter().find(|(given, _)| *given == name);
            given.map(|(_, value)| (*value, after))
        });
        if let Some((value, after)) = known {
            filled.push_str(value);
            rest = after;
        } else {
            filled.push('{');
            rest = place;
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once_and_unknown_ones_stay() {
        assert_eq!(fill("{a} of {b}", &[("a", "{b}"), ("b", "2")]), "{b} of 2");
        assert_eq!(fill("{a}{c} {", &[("a", "1")]), "1{c} {");
        assert_eq!(fill("plain", &[("n", "1")]), "plain");
    }
}
