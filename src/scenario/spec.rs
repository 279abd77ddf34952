//! The one-line form in which latency and faults are written: `key=value,key=value`.

use std::time::Duration;

/// Why a line is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` {why}\n  help: {help}")]
pub struct SpecError {
    /// The part of the line that is wrong.
    pub part: String,
    /// What is wrong with it, so that it reads on after the part.
    pub why: String,
    /// What would be right.
    pub help: &'static str,
}

impl SpecError {
    pub(super) fn new(part: &str, why: &str, help: &'static str) -> Self {
        Self {
            part: part.to_owned(),
            why: why.to_owned(),
            help,
        }
    }
}

/// One `key=value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a str,
}

/// The longest line that is read, in bytes.
const MOST_BYTES: usize = 1 << 16;

/// The items of a line; commas in parentheses do not separate, and a value that stands alone is
/// that of `main`.
pub(super) fn items<'a>(
    line: &'a str,
    main: &'a str,
    help: &'static str,
) -> Result<Vec<Item<'a>>, SpecError> {
    if line.len() > MOST_BYTES {
        return Err(SpecError::new("the line", "is too long", help));
    }
    let mut items: Vec<Item<'a>> = Vec::new();
    let mut depth = 0_i32;
    let parts = line.split(|character| {
        depth += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        character == ',' && depth == 0
    });
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((main, part));
        let (key, value) = (key.trim(), value.trim());
        if value.is_empty() {
            return Err(SpecError::new(part, "has no value", help));
        }
        if items.iter().any(|item| item.key == key) {
            return Err(SpecError::new(part, "comes a second time", help));
        }
        items.push(Item { key, value });
    }
    Ok(items)
}

/// A whole number.
pub(super) fn whole<T: std::str::FromStr>(text: &str, help: &'static str) -> Result<T, SpecError> {
    let not_whole = |_| SpecError::new(text, "is not a whole number, or too large", help);
    text.parse().map_err(not_whole)
}

/// A finite number.
pub(super) fn number(text: &str, help: &'static str) -> Result<f64, SpecError> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| SpecError::new(text, "is not a number", help))
}

/// A span of at most a day with its unit: `us`, `ms` or `s`.
pub(super) fn duration(text: &str, help: &'static str) -> Result<Duration, SpecError> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let read = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        let seconds = number * seconds;
        (0.0..=86_400.0)
            .contains(&seconds)
            .then(|| Duration::from_secs_f64(seconds))
    });
    let why = "is not a time of at most a day with its unit, `us`, `ms` or `s`";
    read.ok_or_else(|| SpecError::new(text, why, help))
}

/// Reads a limit: a span of at most a day with its unit, as `120s` or `250ms`, and not nothing.
///
/// # Errors
/// [`SpecError`] where the text is no such span.
pub fn parse_limit(text: &str) -> Result<Duration, SpecError> {
    let help = "write a number and its unit, such as `120s` or `250ms`";
    match duration(text, help)? {
        Duration::ZERO => Err(SpecError::new(text, "leaves no time at all", help)),
        span => Ok(span),
    }
}
