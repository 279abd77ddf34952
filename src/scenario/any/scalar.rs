//! Texts and numbers that a JSON Schema allows.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde_json::{Map, Value, json};

use super::pattern;
use super::schema::choose;

const WORDS: [&str; 8] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron",
];
/// The longest text that is padded to its least length, in characters.
const MOST_CHARS: u64 = 1 << 16;
/// How far numbers reach beyond a bound where there is no other.
const REACH: f64 = 100.0;

/// A short text.
pub(super) fn word(rng: &mut ChaCha8Rng) -> &'static str {
    choose(&WORDS, rng).copied().unwrap_or("amber")
}

pub(super) fn string(schema: &Map<String, Value>, rng: &mut ChaCha8Rng) -> String {
    let word_of = |key: &str| schema.get(key).and_then(Value::as_str);
    let size = |key: &str| schema.get(key).and_then(Value::as_u64);
    if let Some(text) = word_of("pattern").and_then(|pattern| pattern::text(pattern, rng)) {
        return text;
    }
    if let Some(text) = word_of("format").and_then(|format| formatted(format, rng)) {
        return text;
    }
    let mut text = word(rng).to_owned();
    let least = size("minLength").unwrap_or(0).min(MOST_CHARS);
    while (text.len() as u64) < least {
        text.push(' ');
        text.push_str(word(rng));
    }
    if let Some(most) = size("maxLength").and_then(|most| usize::try_from(most).ok()) {
        text.truncate(most);
    }
    text
}

/// A text of a named format; none of a format that we do not know.
fn formatted(format: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let mut below = |most: u64| rng.next_u64() % most;
    let (day, hour, minute) = (1 + below(28), below(24), below(60));
    let octet = 1 + below(254);
    let date = format!("2025-01-{day:02}");
    let time = format!("{hour:02}:{minute:02}:00Z");
    Some(match format {
        "date-time" => format!("{date}T{time}"),
        "date" => date,
        "time" => time,
        "duration" => format!("PT{}M", 1 + minute),
        "email" | "idn-email" => format!("user{octet}@example.com"),
        "hostname" | "idn-hostname" => format!("host{octet}.example.com"),
        "ipv4" => format!("192.0.2.{octet}"),
        "ipv6" => format!("2001:db8::{octet:x}"),
        "uri" | "iri" | "url" | "uri-reference" | "iri-reference" => {
            format!("https://example.com/{octet}")
        }
        "uri-template" => "https://example.com/{id}".to_owned(),
        "uuid" => {
            let (high, low) = (rng.next_u64() >> 32, rng.next_u64() >> 16);
            format!("{high:08x}-0000-4000-8000-{low:012x}")
        }
        "json-pointer" => format!("/{octet}"),
        "relative-json-pointer" => format!("{octet}/a"),
        "regex" => "^a+$".to_owned(),
        _ => return None,
    })
}

/// The bounds of a number, both included; `step` is what an excluded bound is left by.
fn bounds(schema: &Map<String, Value>, step: f64) -> (f64, f64) {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let excluded = |key: &str, step: f64| bound(key).map(|bound| bound + step);
    // In the oldest drafts, an excluded bound is a flag beside the bound.
    let flagged = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let least = bound("minimum").map(|least| {
        if flagged("exclusiveMinimum") {
            least + step
        } else {
            least
        }
    });
    let most = bound("maximum").map(|most| {
        if flagged("exclusiveMaximum") {
            most - step
        } else {
            most
        }
    });
    let least = [least, excluded("exclusiveMinimum", step)];
    let most = [most, excluded("exclusiveMaximum", -step)];
    let least = least.into_iter().flatten().reduce(f64::max);
    let most = most.into_iter().flatten().reduce(f64::min);
    match (least, most) {
        (Some(least), Some(most)) => (least, most.max(least)),
        (Some(least), None) => (least, least + REACH),
        (None, Some(most)) => (most - REACH, most),
        (None, None) => (0.0, REACH),
    }
}

pub(super) fn integer(schema: &Map<String, Value>, rng: &mut ChaCha8Rng) -> Value {
    let step = multiple_of(schema)
        .filter(|step| *step >= 1.0)
        .unwrap_or(1.0);
    let (least, most) = bounds(schema, 1.0);
    let value = on_grid(least, most, step, rng);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and is checked later"
    )]
    let whole = libm::round(value) as i64;
    json!(whole)
}

pub(super) fn number(schema: &Map<String, Value>, rng: &mut ChaCha8Rng) -> Value {
    let (least, most) = bounds(schema, 0.5);
    if let Some(step) = multiple_of(schema) {
        return json!(on_grid(least, most, step, rng));
    }
    let share = choose(&[0.25, 0.5, 0.75], rng).copied().unwrap_or(0.5);
    json!(least + (most - least) * share)
}

fn multiple_of(schema: &Map<String, Value>) -> Option<f64> {
    let step = schema.get("multipleOf").and_then(Value::as_f64);
    step.filter(|step| step.is_finite() && *step > 0.0)
}

/// A multiple of `step` from `least` to `most`, or the first one after `least`.
fn on_grid(least: f64, most: f64, step: f64, rng: &mut ChaCha8Rng) -> f64 {
    let first = libm::ceil(least / step);
    let count = (libm::floor(most / step) - first).clamp(0.0, 1e9);
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    #[expect(clippy::cast_sign_loss, reason = "clamped")]
    let count = count as u64 + 1;
    #[expect(clippy::cast_precision_loss, reason = "at most a thousand million")]
    let offset = (rng.next_u64() % count) as f64;
    (first + offset) * step
}
