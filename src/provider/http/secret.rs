//! The key of an endpoint, and its way out of every text that the endpoint sends.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use reqwest::header::HeaderValue;

use super::endpoint::EndpointError;

/// A shorter key is a placeholder that local servers are given, and no secret.
const SHORTEST_SECRET: usize = 8;

/// JSON within JSON is searched this deep: a tool reads its arguments once, and what it finds in
/// them may be read once more by others.
const DEEPEST: usize = 4;

/// What stands where the key stood.
const REDACTED: &str = "[secret]";

/// An API key. Nothing prints it: it has no `Display`, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// `text` without the secret, should somebody have repeated it: as it is, or so escaped that
    /// whoever reads `text` as JSON would find it. JSON stays JSON, and all else as it was.
    pub(super) fn redact(&self, text: String) -> String {
        let found = self.places(&text);
        if found.is_empty() {
            return text;
        }
        let mut clean = String::with_capacity(text.len());
        let mut done = 0;
        for Range { start, end } in found {
            clean.push_str(text.get(done..start).unwrap_or_default());
            clean.push_str(REDACTED);
            done = end;
        }
        clean.push_str(text.get(done..).unwrap_or_default());
        clean
    }

    /// Whether `text` repeats the secret, escaped or not.
    pub(super) fn is_in(&self, text: &str) -> bool {
        !self.places(text).is_empty()
    }

    /// Where the secret stands in `text`, in order and apart from each other. An escape that it
    /// touches is part of the place.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        if self.0.len() < SHORTEST_SECRET {
            return Vec::new();
        }
        let plain = text.match_indices(&self.0);
        let mut found: Vec<_> = plain.map(|(start, key)| start..start + key.len()).collect();
        if !text.contains('\\') {
            return found;
        }
        found.extend(escapes_touched(text, &found));
        for depth in 1..=DEEPEST {
            let before = found.len();
            let mut escapes = false;
            let mut window = Window::new(&self.0);
            for read in meaning(text, depth) {
                escapes |= read.letter == '\\';
                found.extend(window.push(read));
            }
            // What holds no backslash means itself.
            if !escapes && found.len() == before {
                break;
            }
        }
        merged(found)
    }

    pub(super) fn bearer(&self) -> Result<HeaderValue, EndpointError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .map_err(|_| EndpointError::BadKey)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A letter, and the bytes of the text that mean it.
#[derive(Clone, Debug)]
struct Read {
    letter: char,
    place: Range<usize>,
}

/// The letters of `text` after it was read as JSON so many times.
fn meaning(text: &str, depth: usize) -> Box<dyn Iterator<Item = Read> + '_> {
    let letters = text.char_indices().map(|(start, letter)| Read {
        letter,
        place: start..start + letter.len_utf8(),
    });
    (0..depth).fold(Box::new(letters), |letters, _| {
        Box::new(Unescaped {
            letters,
            ahead: VecDeque::new(),
        })
    })
}

/// Letters without the escapes of JSON. What is no escape stays as it is.
struct Unescaped<I> {
    letters: I,
    /// Letters that were looked at and not yet given.
    ahead: VecDeque<Read>,
}

impl<I: Iterator<Item = Read>> Unescaped<I> {
    /// The letter so many places ahead.
    fn peek(&mut self, at: usize) -> Option<char> {
        while self.ahead.len() <= at {
            self.ahead.push_back(self.letters.next()?);
        }
        self.ahead.get(at).map(|read| read.letter)
    }

    /// What the escape behind a backslash means, and how many letters it has.
    fn escape(&mut self) -> Option<(char, usize)> {
        let letter = match self.peek(0)? {
            letter @ ('"' | '\\' | '/') => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let mut code = 0;
                for at in 1..=4 {
                    code = code * 16 + self.peek(at)?.to_digit(16)?;
                }
                // Half a character is part of no key.
                let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                return Some((letter, 5));
            }
            _ => return None,
        };
        Some((letter, 1))
    }
}

impl<I: Iterator<Item = Read>> Iterator for Unescaped<I> {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        let read = self.ahead.pop_front().or_else(|| self.letters.next())?;
        if read.letter != '\\' {
            return Some(read);
        }
        let Some((letter, length)) = self.escape() else {
            return Some(read);
        };
        let end = self.ahead.drain(..length).next_back();
        let end = end.map_or(read.place.end, |last| last.place.end);
        Some(Read {
            letter,
            place: read.place.start..end,
        })
    }
}

/// The last letters of a text, as many as a key has.
struct Window<'a> {
    key: &'a str,
    length: usize,
    last: VecDeque<Read>,
}

impl<'a> Window<'a> {
    fn new(key: &'a str) -> Self {
        Self {
            key,
            length: key.chars().count(),
            last: VecDeque::new(),
        }
    }

    /// Adds a letter; where the key ends with it, the place of the whole key.
    fn push(&mut self, read: Read) -> Option<Range<usize>> {
        if self.last.len() == self.length {
            self.last.pop_front();
        }
        let end = read.place.end;
        let may_end = self.key.ends_with(read.letter);
        self.last.push_back(read);
        let start = self.last.front()?.place.start;
        let is_key = may_end
            && self
                .key
                .chars()
                .eq(self.last.iter().map(|read| read.letter));
        is_key.then_some(start..end)
    }
}

/// The escapes of `text` of which some of the places in order hold a part: half an escape left
/// behind would spoil the JSON.
fn escapes_touched(text: &str, places: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut places = places.iter().peekable();
    let mut touched = Vec::new();
    if places.peek().is_none() {
        return touched;
    }
    for Read { place, .. } in meaning(text, 1).filter(|read| read.place.len() > 1) {
        while places.next_if(|next| next.end <= place.start).is_some() {}
        let is_escape = text.as_bytes().get(place.start) == Some(&b'\\');
        if is_escape && places.peek().is_some_and(|next| next.start < place.end) {
            touched.push(place);
        }
    }
    touched
}

/// The same places in order, those that overlap made one.
fn merged(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match merged.last_mut().filter(|last| place.start < last.end) {
            Some(last) => last.end = last.end.max(place.end),
            None => merged.push(place),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "sk-a-very-secret-key";

    fn redacted(text: &str) -> String {
        Secret::new(KEY).redact(text.to_owned())
    }

    /// `text` as JSON could spell it, every letter for which `which` holds as four digits.
    fn spelled(text: &str, which: impl Fn(usize) -> bool) -> String {
        let letters = text.chars().enumerate();
        let spell = letters.map(|(at, letter)| match letter {
            _ if which(at) => format!("\\u{:04X}", u32::from(letter)),
            '"' | '\\' => format!("\\{letter}"),
            _ => letter.to_string(),
        });
        spell.collect()
    }

    /// Every string and every name in a value.
    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::Object(fields) => fields
                .iter()
                .flat_map(|(name, value)| [vec![name.clone()], texts(value)].concat())
                .collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_key_is_found_however_it_is_escaped() {
        let all = spelled(KEY, |_| true);
        for (text, clean) in [
            (KEY.to_owned(), "[secret]"),
            (format!("{{\"{KEY}{KEY}\":1}}"), "{\"[secret][secret]\":1}"),
            (
                format!("[{{\"a\":[\"\\n{all}\\n\"]}}]"),
                "[{\"a\":[\"\\n[secret]\\n\"]}]",
            ),
            (format!("{{\"{all}\":\"{all}"), "{\"[secret]\":\"[secret]"),
            // JSON in JSON, its backslashes doubled or spelled.
            (format!("\"{}\"", all.replace('\\', "\\\\")), "\"[secret]\""),
            (
                format!("\"{}\"", all.replace('\\', "\\u005c")),
                "\"[secret]\"",
            ),
            (spelled(&all, |_| true), "[secret]"),
        ] {
            assert_eq!(redacted(&text), clean, "{text}");
        }
    }

    #[test]
    fn no_half_of_an_escape_is_left_behind() {
        let key = Secret::new("night-key-0073");
        for (text, clean) in [
            (r#""\night-key-0073""#, r#""[secret]""#),
            (r#""\\night-key-0073""#, r#""\\[secret]""#),
        ] {
            assert_eq!(key.redact(text.to_owned()), clean);
        }
        let key = Secret::new("0073k-canary");
        assert_eq!(
            key.redact(r#""\u0073k-canary""#.to_owned()),
            r#""[secret]""#
        );
        let key = Secret::new(r#"quo"ted\key"#);
        assert_eq!(
            key.redact(r#"{"a":"quo\"ted\\key"}"#.to_owned()),
            r#"{"a":"[secret]"}"#
        );
    }

    #[test]
    fn what_only_looks_like_the_key_stays_to_the_byte() {
        for text in [
            r#"{"path":"\u0073k-a-very-secret-kex","\ud83d":"\u00"}"#,
            r#"{"path":"\nsk-a-very-secret\u002d"}"#,
            r"\\\u0073\q\",
            "sk-a-very-secret-ke",
            "",
        ] {
            assert_eq!(redacted(text), text);
        }
        let placeholder = Secret::new("local");
        assert_eq!(placeholder.redact("\\u006cocal".to_owned()), "\\u006cocal");
    }

    proptest! {
        #[test]
        fn decoded_arguments_hold_the_key_nowhere(
            which in any::<u32>(), before in ".{0,6}", after in ".{0,6}", nested in any::<bool>()
        ) {
            let key = spelled(KEY, |at| which >> at & 1 == 1);
            let [before, after] = [before, after].map(|text| {
                let quoted = json!(text).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            });
            let mut text = format!(r#"{{"a{before}{key}":["{before}{key}{after}",{{"b":"{key}"}}]}}"#);
            if nested {
                text = json!({"inner": text}).to_string();
            }
            let clean: Value = serde_json::from_str(&redacted(&text)).unwrap();
            let mut found = texts(&clean);
            if nested {
                let inner: Value = serde_json::from_str(&found[1]).unwrap();
                found.extend(texts(&inner));
            }
            prop_assert!(found.iter().all(|text| !text.contains(KEY)), "{:?}", found);
            prop_assert!(found.iter().any(|text| text.contains("[secret]")), "{:?}", found);
        }

        #[test]
        fn a_text_without_the_key_is_left_alone(text in r#"([a-z{}":,]|\\["\\/bfnrtu]|\\u00[2-7][0-9a-f]){0,40}"#) {
            prop_assert_eq!(redacted(&text), text);
        }
    }
}
