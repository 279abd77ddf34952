//! The elements of an array, one by one, however long the array is.

use std::io::{self, BufRead};

use super::source::MOST;

/// Where in an array reading is.
#[derive(Debug)]
pub(super) struct Elements {
    /// Of the next byte, from 1.
    line: u64,
    /// How many bytes stand before the next one in its line.
    before: usize,
    /// Elements that were begun.
    number: u64,
}

/// What comes next in an array.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// An element, whole as far as its brackets and quotes say.
    Element {
        line: u64,
        before: usize,
        bytes: Vec<u8>,
    },
    /// An element that is longer than is read.
    TooLong { line: u64 },
    /// The closing bracket.
    End,
    /// The file ends without one.
    Cut,
}

/// An element that is being read.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    is_too_long: bool,
    depth: usize,
    text: Text,
}

/// Whether a byte is part of a text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

/// What a byte means for the element that it is read in.
#[derive(PartialEq, Eq)]
enum Byte {
    /// It is part of it.
    Part,
    /// It is the last of it.
    Last,
    /// It stands behind it.
    Behind,
}

impl Elements {
    /// An array of which this was read, its bracket last.
    pub(super) fn after(begin: &[u8]) -> Self {
        let mut at = Self {
            line: 1,
            before: 0,
            number: 0,
        };
        for byte in begin {
            at.pass(*byte);
        }
        at
    }

    pub(super) const fn line(&self) -> u64 {
        self.line
    }

    /// The number of the element that was begun last, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    fn pass(&mut self, byte: u8) {
        if byte == b'\n' {
            self.line += 1;
            self.before = 0;
        } else {
            self.before += 1;
        }
    }

    /// What comes next, and how many bytes it took.
    pub(super) fn next(&mut self, reader: &mut impl BufRead) -> io::Result<(Next, u64)> {
        let (found, skipped) = self.skip(reader)?;
        match found {
            None => return Ok((Next::Cut, skipped)),
            Some(b']') => {
                reader.consume(1);
                self.pass(b']');
                return Ok((Next::End, skipped + 1));
            }
            Some(_) => self.number += 1,
        }
        let (line, before) = (self.line, self.before);
        let (open, read) = self.read(reader)?;
        let next = if open.is_too_long {
            Next::TooLong { line }
        } else {
            let bytes = open.bytes;
            Next::Element {
                line,
                before,
                bytes,
            }
        };
        Ok((next, skipped.saturating_add(read)))
    }

    /// Passes what stands between elements; the byte behind it, and how many were passed.
    fn skip(&mut self, reader: &mut impl BufRead) -> io::Result<(Option<u8>, u64)> {
        let mut skipped = 0;
        loop {
            let buffer = reader.fill_buf()?;
            let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
            let between = buffer.iter().take_while(|byte| is_between(byte)).count();
            let found = buffer.get(between).copied();
            let is_end = buffer.is_empty();
            for byte in &buffer[..between] {
                self.pass(*byte);
            }
            reader.consume(between);
            skipped += between as u64;
            if found.is_some() || is_end {
                return Ok((found, skipped));
            }
        }
    }

    /// Reads an element to its end, or to that of the file.
    fn read(&mut self, reader: &mut impl BufRead) -> io::Result<(Open, u64)> {
        let mut open = Open::default();
        let mut read = 0_u64;
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok((open, read));
            }
            let (mut taken, mut is_done) = (buffer.len(), false);
            for (at, byte) in buffer.iter().enumerate() {
                let byte = open.see(*byte);
                if byte != Byte::Part {
                    taken = if byte == Byte::Last { at + 1 } else { at };
                    is_done = true;
                    break;
                }
            }
            for byte in &buffer[..taken] {
                self.pass(*byte);
            }
            open.keep(&buffer[..taken]);
            reader.consume(taken);
            read = read.saturating_add(taken as u64);
            if is_done {
                return Ok((open, read));
            }
        }
    }
}

impl Open {
    /// Keeps the bytes, as long as there are not too many.
    fn keep(&mut self, bytes: &[u8]) {
        let length = self.bytes.len().saturating_add(bytes.len()) as u64;
        if self.is_too_long || length >= MOST {
            self.is_too_long = true;
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn see(&mut self, byte: u8) -> Byte {
        match self.text {
            Text::Inside if byte == b'\\' => self.text = Text::Escaped,
            Text::Inside if byte == b'"' => {
                self.text = Text::Outside;
                return self.after_value();
            }
            Text::Inside => {}
            Text::Escaped => self.text = Text::Inside,
            Text::Outside => return self.see_outside(byte),
        }
        Byte::Part
    }

    fn see_outside(&mut self, byte: u8) -> Byte {
        match byte {
            b'"' => self.text = Text::Inside,
            b'{' | b'[' => self.depth += 1,
            b',' | b']' if self.depth == 0 => return Byte::Behind,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.after_value();
            }
            _ => {}
        }
        Byte::Part
    }

    /// What the byte is that ended a value.
    const fn after_value(&self) -> Byte {
        if self.depth == 0 {
            Byte::Last
        } else {
            Byte::Part
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The elements of a text, read a few bytes at a time.
    fn elements(text: &str, at_once: usize) -> (Vec<String>, Next) {
        let (_, rest) = text.split_once('[').unwrap();
        let mut reader = BufReader::with_capacity(at_once, rest.as_bytes());
        let mut array = Elements::after(b"[");
        let mut found = Vec::new();
        loop {
            match array.next(&mut reader).unwrap().0 {
                Next::Element { bytes, .. } => found.push(String::from_utf8(bytes).unwrap()),
                end => return (found, end),
            }
        }
    }

    #[test]
    fn quotes_and_brackets_in_texts_end_nothing() {
        let text = r#"[{"a": "]}\"[{"}, [1, [2]], "x\\", 3 , null]"#;
        let (found, end) = elements(text, 1);
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(end, Next::End);
        assert_eq!(found[1], "[1, [2]]");
    }

    #[test]
    fn an_array_that_is_cut_off_keeps_its_good_elements_and_says_so() {
        let (found, end) = elements(r#"[{"a":1},{"b":"#, 3);
        assert_eq!(found, [r#"{"a":1}"#, r#"{"b":"#]);
        assert_eq!(end, Next::Cut);
        assert_eq!(elements("[1,", 1).1, Next::Cut);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            "[\\PC\n\"\\\\\\[\\]{},]{0,8}".prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a\"{]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_array_has_the_elements_that_a_whole_reading_gives(
            values in proptest::collection::vec(value(), 0..6), at_once in 1..9_usize, pretty: bool,
        ) {
            let array = Value::Array(values.clone());
            let text = if pretty { serde_json::to_string_pretty(&array).unwrap() } else { array.to_string() };
            let (found, end) = elements(&text, at_once);
            let read: Vec<Value> = found.iter().map(|one| serde_json::from_str(one).unwrap()).collect();
            prop_assert_eq!(read, values);
            prop_assert_eq!(end, Next::End);
        }
    }
}
