//! Texts that match a regular expression.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};

/// The longest text that is made, in characters, about.
const MOST_CHARS: usize = 4_096;
/// How often an open repetition is repeated beyond its least.
const MORE: u64 = 3;

/// A text that matches `pattern`; none where the pattern is of a syntax that we do not read.
pub(super) fn text(pattern: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write(&hir, &mut text, rng);
    Some(text)
}

fn write(hir: &Hir, text: &mut String, rng: &mut ChaCha8Rng) {
    if text.len() > MOST_CHARS {
        return;
    }
    match hir.kind() {
        // What must stand around a match is left to chance: most anchors hold at the ends.
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => text.extend(character(class, rng)),
        HirKind::Class(Class::Bytes(class)) => {
            let first = class
                .ranges()
                .first()
                .map(|range| char::from(range.start()));
            text.extend(first);
        }
        HirKind::Repetition(repetition) => {
            for _ in 0..times(repetition, rng) {
                let before = text.len();
                write(&repetition.sub, text, rng);
                // What adds nothing once adds nothing a million times.
                if text.len() == before {
                    break;
                }
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, text, rng),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, text, rng)),
        HirKind::Alternation(parts) => {
            if let Some(part) = super::schema::choose(parts, rng) {
                write(part, text, rng);
            }
        }
    }
}

fn times(repetition: &Repetition, rng: &mut ChaCha8Rng) -> u64 {
    let least = u64::from(repetition.min);
    let most = repetition.max.map_or(least + MORE, u64::from);
    let spread = most.saturating_sub(least).min(MORE);
    // More than can be written is not counted out.
    (least + rng.next_u64() % (spread + 1)).min(MOST_CHARS as u64)
}

/// A character of the class: a plain one if it has any.
fn character(class: &ClassUnicode, rng: &mut ChaCha8Rng) -> Option<char> {
    let has = |c: char| {
        let mut ranges = class.ranges().iter();
        ranges.any(|range| range.start() <= c && c <= range.end())
    };
    let plain = |c: &char| c.is_ascii_alphanumeric() && has(*c);
    let printable = |c: &char| matches!(c, ' '..='~') && has(*c);
    let mut fit: Vec<char> = ('0'..='z').filter(plain).collect();
    if fit.is_empty() {
        fit = (' '..='~').filter(printable).collect();
    }
    let first = || class.ranges().first().map(ClassUnicodeRange::start);
    super::schema::choose(&fit, rng).copied().or_else(first)
}
