//! What a number is a number of, as far as signs and names say it that every language shares.

use std::ops::Range;

use super::characters::{digit, is_blank, is_latin};
use super::text::Glyph;

/// What a number counts or measures. Words of a language are not read: a number in prose mostly
/// has no unit here, and then it can be any quantity.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// US dollars.
    Usd,
    /// Hundredths.
    Percent,
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// Tokens of a prompt, a completion or both.
    Tokens,
    /// The index of a turn.
    Turn,
    /// A number of turns.
    Turns,
    /// A number of tool runs.
    ToolRuns,
    /// A number of messages.
    Messages,
}

impl Unit {
    /// The unit that a name implies: of a column, of a claim, or of a key in a program's output.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let words = snake(name);
        let has = |word: &str| words.split('_').any(|other| other == word);
        Some(match words.as_str() {
            "in" | "out" => Self::Tokens,
            "tools" | "toolruns" => Self::ToolRuns,
            "wall" => Self::Ms,
            _ if has("usd") || has("cost") || has("price") => Self::Usd,
            _ if has("percent") => Self::Percent,
            _ if has("ms") => Self::Ms,
            _ if has("tokens") => Self::Tokens,
            _ if words.contains("tool_runs") => Self::ToolRuns,
            _ if has("turns") => Self::Turns,
            _ if words == "turn" || words.ends_with("at_turn") => Self::Turn,
            _ if has("messages") => Self::Messages,
            _ => return None,
        })
    }

    /// Whether a number of this unit in a text can be a quantity of unit `known`.
    #[must_use]
    pub fn allows(self, known: Option<Self>) -> bool {
        known == Some(self) || (self == Self::Turn && known == Some(Self::Turns))
    }

    /// Whether it is a count of few, which programs print under a name.
    #[must_use]
    pub const fn is_count(self) -> bool {
        matches!(self, Self::Turns | Self::ToolRuns | Self::Messages)
    }
}

/// `costUsd` and `PRICE_IN` as `cost_usd` and `price_in`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut previous = '_';
    for c in name.chars() {
        if c.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            snake.push('_');
        }
        snake.push(if c == '-' {
            '_'
        } else {
            c.to_ascii_lowercase()
        });
        previous = c;
    }
    snake
}

/// What stands around a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    pub(super) unit: Option<Unit>,
    /// The name to which a program gave the number: `turns` in `turns=3`.
    pub(super) key: Option<String>,
}

/// Looks at what stands around the glyphs `range`.
pub(super) fn surroundings(glyphs: &[Glyph], range: &Range<usize>) -> Surroundings {
    let before = glyphs.get(..range.start).unwrap_or_default();
    let after = glyphs.get(range.end..).unwrap_or_default();
    let key = key_before(before);
    let named = key.as_deref().and_then(Unit::of_name);
    // A dollar sign directly before a number is the one that is meant.
    let is_dollars = before
        .last()
        .is_some_and(|glyph| matches!(glyph.c, '$' | '＄'));
    let signed = is_dollars
        .then_some(Unit::Usd)
        .or_else(|| unit_after(after))
        .or_else(|| unit_before(before));
    let unit = signed.or(named);
    Surroundings { unit, key }
}

/// How far a unit may stand from its number, in blanks.
const NEAR: usize = 2;

/// A blank between a number and its unit. A tab is none: it parts the cells of a table.
const fn is_gap(c: char) -> bool {
    is_blank(c) && c != '\t'
}

/// Units in other scripts than the Latin one.
const WRITTEN: [(&str, Unit); 7] = [
    ("мс", Unit::Ms),
    ("сек", Unit::Seconds),
    ("ミリ秒", Unit::Ms),
    ("毫秒", Unit::Ms),
    ("밀리초", Unit::Ms),
    ("秒", Unit::Seconds),
    ("초", Unit::Seconds),
];

fn unit_after(after: &[Glyph]) -> Option<Unit> {
    let blanks = after
        .iter()
        .take(NEAR)
        .take_while(|glyph| is_gap(glyph.c))
        .count();
    let rest = after.get(blanks..)?;
    let first = rest.first()?.c;
    let begins_number = |at: usize| rest.get(at).is_some_and(|glyph| digit(glyph.c).is_some());
    match first {
        '%' | '٪' | '％' | '﹪' if blanks == 0 || !begins_number(1) => {
            return Some(Unit::Percent);
        }
        '$' | '＄' if !begins_number(1) && rest.get(1).is_none_or(|next| next.c != '{') => {
            return Some(Unit::Usd);
        }
        _ => {}
    }
    if let Some((_, unit)) = WRITTEN.iter().find(|(sign, _)| {
        let shown = rest.iter().map(|glyph| glyph.c);
        shown.take(sign.chars().count()).eq(sign.chars())
    }) {
        return Some(*unit);
    }
    // In Cyrillic it is a preposition too, which a word follows.
    if first == 'с'
        && rest
            .get(1)
            .is_none_or(|next| !next.c.is_alphabetic() && !is_blank(next.c))
    {
        return Some(Unit::Seconds);
    }
    let word: String = rest
        .iter()
        .map(|glyph| glyph.c)
        .take_while(|c| is_latin(*c))
        .take(4)
        .collect();
    let next = rest.get(word.chars().count()).map(|glyph| glyph.c);
    match word.as_str() {
        // The name of the next number: `$0.002470 ms=89`.
        _ if next == Some('=') => None,
        "ms" => Some(Unit::Ms),
        "s" => Some(Unit::Seconds),
        // `US$` and `USD` after a number belong to the next one if that follows at once.
        "US" if next == Some('$') && !begins_number(3) => Some(Unit::Usd),
        "USD" if blanks == 1 && !begins_number(3) && !(next == Some(' ') && begins_number(4)) => {
            Some(Unit::Usd)
        }
        _ => None,
    }
}

fn unit_before(before: &[Glyph]) -> Option<Unit> {
    let mut near = before.iter().rev().map(|glyph| glyph.c);
    let blanks = before
        .iter()
        .rev()
        .take(NEAR)
        .take_while(|glyph| is_gap(glyph.c))
        .count();
    let sign = near.by_ref().nth(blanks)?;
    // A sign after a number is that number's.
    let follows_number = || {
        let words = near.clone().skip_while(|c| matches!(c, 'U' | 'S'));
        let mut rest = words.skip_while(|c| is_blank(*c));
        rest.next().is_some_and(|c| digit(c).is_some())
    };
    match sign {
        '$' | '＄' if blanks == 0 || !follows_number() => Some(Unit::Usd),
        // As Turkish and Basque write it.
        '%' | '٪' if blanks == 0 && !follows_number() => Some(Unit::Percent),
        'D' => {
            let word: Vec<char> = near.take(3).collect();
            let is_usd = matches!(word.as_slice(), ['S', 'U', rest @ ..] if !rest.iter().any(|c| is_latin(*c)));
            is_usd.then_some(Unit::Usd)
        }
        _ => None,
    }
}

/// The longest name that is read.
const LONGEST_KEY: usize = 40;

/// The name before a number: `name=`, `name = `, `"name":`, and `name:` if it is no word of prose.
fn key_before(before: &[Glyph]) -> Option<String> {
    // The name, and what stands between it and the number.
    let window = before.get(before.len().saturating_sub(2 * LONGEST_KEY)..)?;
    let text: String = window.iter().map(|glyph| glyph.c).collect();
    let text = text.trim_end_matches([' ', '$']);
    let assigned = text.strip_suffix('=').map(str::trim_end);
    let (text, is_name) = match (assigned, text.strip_suffix(':')) {
        (Some(text), _) => (text, true),
        (None, Some(text)) => (text.strip_suffix('"').unwrap_or(text), text.ends_with('"')),
        (None, None) => return None,
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = text.rsplit(|c: char| !is_part(c)).next()?;
    let is_whole = name.len() <= LONGEST_KEY;
    if !is_whole || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let is_code =
        || name.contains('_') || name.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    (is_name || is_code()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::text::{Markup, Visible};
    use super::*;

    /// The surroundings of the first digits of a text.
    fn around(text: &str) -> (Option<Unit>, Option<String>) {
        let glyphs = Visible::of(text, Markup::Plain).glyphs;
        let is_part = |glyph: &Glyph| digit(glyph.c).is_some() || matches!(glyph.c, '.' | ',');
        let start = glyphs
            .iter()
            .position(|glyph| digit(glyph.c).is_some())
            .unwrap();
        let len = glyphs[start..]
            .iter()
            .take_while(|glyph| is_part(glyph))
            .count();
        let Surroundings { unit, key } = surroundings(&glyphs, &(start..start + len));
        (unit, key)
    }

    #[test]
    fn signs_on_either_side_tell_the_unit() {
        for (text, unit) in [
            ("$0.010 x", Unit::Usd),
            ("US$ 0.010", Unit::Usd),
            ("0,010 $", Unit::Usd),
            ("0,010 US$", Unit::Usd),
            ("0,010 $US", Unit::Usd),
            ("‏0.010 ‏US$", Unit::Usd),
            ("USD 5", Unit::Usd),
            ("5 USD", Unit::Usd),
            ("75 %", Unit::Percent),
            ("٧٥٪", Unit::Percent),
            ("75‎%‎", Unit::Percent),
            ("%75", Unit::Percent),
            ("6,908ms", Unit::Ms),
            ("30000 ms.", Unit::Ms),
            ("1.2 s:", Unit::Seconds),
            ("6,908ミリ秒", Unit::Ms),
            ("1.2秒", Unit::Seconds),
            ("506 мс", Unit::Ms),
            ("(6,9 с)", Unit::Seconds),
        ] {
            assert_eq!(around(text).0, Some(unit), "{text}");
        }
        for text in [
            "5 sekunder",
            "5 $0.010",
            "5 US$0.010",
            "88 tokens",
            "5 msx",
            "5 $x",
            "9\t$1",
        ] {
            assert_ne!(
                around(text).0,
                Some(Unit::Usd).filter(|_| text != "5 $x"),
                "{text}"
            );
        }
        assert_eq!(around("5 sekunder").0, None);
    }

    #[test]
    fn a_sign_after_a_number_is_not_the_next_ones() {
        for text in ["0,005 $\t6", "0,005 $ 6", "0,005 US$ 6", "75 %\t6"] {
            let glyphs = Visible::of(text, Markup::Plain).glyphs;
            let last = glyphs.len() - 1..glyphs.len();
            assert_eq!(surroundings(&glyphs, &last).unit, None, "{text}");
        }
    }

    #[test]
    fn names_of_programs_tell_the_unit_and_words_of_prose_do_not() {
        let key = |text| around(text).1;
        assert_eq!(around("turns=3"), (Some(Unit::Turns), Some("turns".into())));
        assert_eq!(
            around("{\"costUsd\":0.00157"),
            (Some(Unit::Usd), Some("costUsd".into()))
        );
        assert_eq!(
            around("wall= 15,260ms"),
            (Some(Unit::Ms), Some("wall".into()))
        );
        assert_eq!(
            around("limits: { maxTurns: 6"),
            (Some(Unit::Turns), Some("maxTurns".into()))
        );
        assert_eq!(
            around("const PRICE_IN = 2.0"),
            (Some(Unit::Usd), Some("PRICE_IN".into()))
        );
        assert_eq!(key("Result: 3"), None);
        assert_eq!(key("結果=3"), None);
        assert_eq!(
            around("cost=$0.002"),
            (Some(Unit::Usd), Some("cost".into()))
        );
    }

    #[test]
    fn a_name_implies_its_unit() {
        for (name, unit) in [
            ("in", Some(Unit::Tokens)),
            ("out", Some(Unit::Tokens)),
            ("promptTokens", Some(Unit::Tokens)),
            ("tools", Some(Unit::ToolRuns)),
            ("toolruns", Some(Unit::ToolRuns)),
            ("tool-runs", Some(Unit::ToolRuns)),
            ("wall", Some(Unit::Ms)),
            ("wall_ms", Some(Unit::Ms)),
            ("max_budget_usd", Some(Unit::Usd)),
            ("cost", Some(Unit::Usd)),
            ("PRICE_IN", Some(Unit::Usd)),
            ("extra_percent", Some(Unit::Percent)),
            ("maxTurns", Some(Unit::Turns)),
            ("turn", Some(Unit::Turn)),
            ("stopped_at_turn", Some(Unit::Turn)),
            ("messages", Some(Unit::Messages)),
            ("reason", None),
            ("return", None),
            ("forms", None),
        ] {
            assert_eq!(Unit::of_name(name), unit, "{name}");
        }
    }

    #[test]
    fn a_unit_allows_itself_and_the_index_of_a_turn_a_number_of_turns() {
        assert!(Unit::Ms.allows(Some(Unit::Ms)));
        assert!(Unit::Turn.allows(Some(Unit::Turns)) && Unit::Turn.allows(Some(Unit::Turn)));
        assert!(!Unit::Turns.allows(Some(Unit::Turn)));
        assert!(!Unit::Ms.allows(Some(Unit::Turns)));
        assert!(!Unit::Turn.allows(Some(Unit::Ms)));
        assert!(!Unit::Turn.allows(None));
    }

    #[test]
    fn a_sign_that_is_the_next_numbers_or_no_sign_at_all_tells_nothing() {
        for text in [
            "50 %75",
            "5 )",
            "5 с половиной",
            "5 сто",
            "5 ms=89",
            "5 USD 7",
            "5 USD7",
            "5  USD7",
            "a % 75",
        ] {
            assert_eq!(around(text).0, None, "{text}");
        }
        assert_eq!(around("75%5 x").0, Some(Unit::Percent));
        assert_eq!(around("5 USD x").0, Some(Unit::Usd));
        assert_eq!(around("5 с").0, Some(Unit::Seconds));
    }

    #[test]
    fn a_name_of_forty_letters_is_read_whole_and_a_longer_one_not_at_all() {
        let key = |letters: usize| around(&format!("{} = 5", "n".repeat(letters))).1;
        assert_eq!(key(40), Some("n".repeat(40)));
        assert_eq!(key(60), None);
    }
}
