//! Finding the digits of a text, and which of them may belong together.

use std::collections::BTreeMap;
use std::ops::Range;

use super::characters::{Separator, digit, is_latin, myriad};
use super::names;
use super::text::{Aside, Glyph, Kind};

/// Digits in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Where they stand among the glyphs.
    pub(super) range: Range<usize>,
    /// The digits, as ASCII.
    pub(super) digits: String,
}

/// Groups of digits with one separator between each two: one number or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) groups: Vec<Group>,
    /// One fewer than groups.
    pub(super) separators: Vec<Separator>,
    /// Whether a mark before the first group makes it a fraction: `.5`.
    pub(super) bare_fraction: bool,
    /// The power of ten that follows: `e6`, or an East Asian numeral.
    pub(super) power: Option<Power>,
}

/// A power of ten after a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Power {
    /// The exponent.
    pub(super) exponent: i32,
    /// What is added to the power: the `7299` of `33万7299`.
    pub(super) units: u32,
    /// How many glyphs it takes.
    pub(super) glyphs: usize,
}

impl Run {
    /// Where the run stands among the glyphs, its power included.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.groups.first().map_or(0, |group| group.range.start);
        let end = self.groups.last().map_or(start, |group| group.range.end);
        start..end + self.power.map_or(0, |power| power.glyphs)
    }
}

/// A date in digits, and the days that it can mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dated {
    pub(super) range: Range<usize>,
    pub(super) days: Vec<Day>,
}

/// Year, month and day.
pub(super) type Day = (u16, u8, u8);

/// Something in digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Run(Run),
    Date(Dated),
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) found: Vec<Found>,
    /// Digits that are no numbers, by reason.
    pub(super) asides: BTreeMap<Aside, usize>,
}

/// Reads all digits of a text.
pub(super) fn scan(glyphs: &[Glyph]) -> Scanned {
    let mut scanned = Scanned::default();
    let mut at = 0;
    while let Some(glyph) = glyphs.get(at) {
        if glyph.kind == Kind::Prose && is_superscript(glyph.c) {
            *scanned.asides.entry(Aside::Footnote).or_default() += 1;
            at += glyphs
                .iter()
                .skip(at)
                .take_while(|glyph| is_superscript(glyph.c))
                .count();
            continue;
        }
        if digit(glyph.c).is_none() {
            at += 1;
            continue;
        }
        if let Some(date) = date_at(glyphs, at) {
            at = date.range.end;
            scanned.found.push(Found::Date(date));
            continue;
        }
        let run = run_at(glyphs, at);
        let aside = match glyph.kind {
            Kind::Aside(why) => Some(why),
            Kind::Prose | Kind::Code => names::aside(glyphs, &run),
        };
        let Some(why) = aside else {
            at = run.range().end;
            scanned.found.push(Found::Run(run));
            continue;
        };
        *scanned.asides.entry(why).or_default() += 1;
        at = if why == Aside::Identifier {
            names::end(glyphs, &run)
        } else {
            run.range().end
        };
    }
    scanned
}

const fn is_superscript(c: char) -> bool {
    matches!(c, '⁰' | '¹' | '²' | '³' | '⁴'..='⁹')
}

/// Whether the digits at `at` are as much text as those of the run so far.
fn is_same(glyphs: &[Glyph], at: usize, kind: Kind) -> bool {
    let aside = |kind| matches!(kind, Kind::Aside(_));
    glyphs
        .get(at)
        .is_some_and(|glyph| aside(glyph.kind) == aside(kind))
}

fn group_at(glyphs: &[Glyph], at: usize, kind: Kind) -> Option<Group> {
    let same = glyphs
        .iter()
        .enumerate()
        .skip(at)
        .take_while(|(at, _)| is_same(glyphs, *at, kind));
    let digits: String = same.map_while(|(_, glyph)| digit(glyph.c)).collect();
    let range = at..at + digits.len();
    (!digits.is_empty()).then_some(Group { range, digits })
}

fn run_at(glyphs: &[Glyph], at: usize) -> Run {
    let kind = glyphs.get(at).map_or(Kind::Prose, |glyph| glyph.kind);
    let mut run = Run {
        bare_fraction: is_bare_fraction(glyphs, at),
        ..Run::default()
    };
    let mut next = group_at(glyphs, at, kind);
    while let Some(group) = next {
        let (end, first) = (group.range.end, run.groups.is_empty());
        let short = group.digits.len() <= 3;
        run.groups.push(group);
        let separator = glyphs.get(end).and_then(|glyph| Separator::of(glyph.c));
        next = separator.and_then(|separator| {
            let group = group_at(glyphs, end + 1, kind)?;
            let thousands = group.digits.len() == 3 && (short || !first);
            if separator.is_blank() && !thousands {
                return None;
            }
            run.separators.push(separator);
            Some(group)
        });
    }
    run.power = power_after(glyphs, run.range().end);
    run
}

/// The date that begins at `at`: three numbers with one mark, the year first or last.
fn date_at(glyphs: &[Glyph], at: usize) -> Option<Dated> {
    let kind = glyphs
        .get(at)
        .map(|glyph| glyph.kind)
        .filter(|kind| !matches!(kind, Kind::Aside(_)))?;
    let mark = |at: usize| {
        glyphs
            .get(at)
            .map(|glyph| glyph.c)
            .filter(|c| matches!(c, '-' | '/' | '.'))
    };
    let first = group_at(glyphs, at, kind)?;
    let sign = mark(first.range.end)?;
    let second = group_at(glyphs, first.range.end + 1, kind)?;
    mark(second.range.end).filter(|other| *other == sign)?;
    let third = group_at(glyphs, second.range.end + 1, kind)?;
    let end = third.range.end;
    let goes_on = mark(end).is_some()
        && glyphs
            .get(end + 1)
            .is_some_and(|glyph| digit(glyph.c).is_some());
    let number = |group: &Group| group.digits.parse::<u16>().ok();
    let (a, b, c) = (number(&first)?, number(&second)?, number(&third)?);
    let orders = match (first.digits.len(), third.digits.len()) {
        (4, 1..=2) => [(a, b, c), (a, c, b)],
        (1..=2, 4) => [(c, b, a), (c, a, b)],
        _ => return None,
    };
    let day = |(year, month, day): (u16, u16, u16)| {
        let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        let is_day =
            (1300..2700).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        is_day.then_some((year, month, day))
    };
    let days: Vec<Day> = orders.into_iter().filter_map(day).collect();
    (!days.is_empty() && !goes_on).then_some(Dated {
        range: at..end,
        days,
    })
}

/// A point before the first digit that nothing stands before.
fn is_bare_fraction(glyphs: &[Glyph], at: usize) -> bool {
    let before = |back: usize| {
        at.checked_sub(back)
            .and_then(|at| glyphs.get(at))
            .map(|glyph| glyph.c)
    };
    before(1) == Some('.')
        && before(2).is_none_or(|c| matches!(c, ' ' | '$' | '(' | '=' | '~' | '≈' | '\n'))
}

/// The digits that an East Asian numeral at `at` goes on with, up to what it counts, and how many
/// glyphs they take: none if they are a number of their own.
fn units_after(glyphs: &[Glyph], at: usize) -> (u32, usize) {
    let c = |at: usize| glyphs.get(at).map(|glyph| glyph.c);
    // Korean has a blank there.
    let blanks = usize::from(c(at) == Some('만') && c(at + 1) == Some(' '));
    let start = at + 1 + blanks;
    let digits_from = |at: usize| -> String {
        let rest = glyphs.iter().skip(at);
        rest.map_while(|glyph| digit(glyph.c)).take(5).collect()
    };
    let mut digits = digits_from(start);
    let mut end = start + digits.len();
    // The thousand may be set off: `33만 7,299`.
    if digits.len() == 1 && c(end) == Some(',') {
        let rest = digits_from(end + 1);
        if rest.len() == 3 {
            digits.push_str(&rest);
            end += 4;
        }
    }
    let goes_on = c(end).is_some_and(|c| Separator::of(c).is_some() || myriad(c).is_some())
        && c(end + 1).is_some_and(|c| digit(c).is_some());
    let counts = matches!(c(at), Some('万' | '萬' | '만')) && digits.len() <= 4 && !goes_on;
    match digits.parse() {
        Ok(units) if counts => (units, end - at - 1),
        _ => (0, 0),
    }
}

fn power_after(glyphs: &[Glyph], end: usize) -> Option<Power> {
    let c = |at: usize| glyphs.get(at).map(|glyph| glyph.c);
    // Some set the numeral off from digits, as they do any word: `33.7 万`.
    let blanks = usize::from(c(end) == Some(' ') && c(end + 1).and_then(myriad).is_some());
    if let Some(exponent) = c(end + blanks).and_then(myriad) {
        let (units, digits) = units_after(glyphs, end + blanks);
        return Some(Power {
            exponent: i32::try_from(exponent).ok()?,
            units,
            glyphs: blanks + 1 + digits,
        });
    }
    c(end).filter(|c| matches!(c, 'e' | 'E'))?;
    let (sign, signs) = match c(end + 1)? {
        '-' | '−' => (-1, 1),
        '+' => (1, 1),
        _ => (1, 0),
    };
    let digits: String = glyphs
        .iter()
        .skip(end + 1 + signs)
        .map_while(|glyph| digit(glyph.c))
        .take(3)
        .collect();
    let exponent: i32 = digits.parse().ok().filter(|exponent| *exponent <= 20)?;
    let glyphs_taken = 1 + signs + digits.len();
    let ends = c(end + glyphs_taken).is_none_or(|next| !is_latin(next) && digit(next).is_none());
    ends.then_some(Power {
        exponent: sign * exponent,
        units: 0,
        glyphs: glyphs_taken,
    })
}

#[cfg(test)]
mod tests {
    use super::super::text::{Markup, Visible};
    use super::*;

    /// Each run of a text, with its groups joined by bars.
    fn runs(text: &str) -> Vec<String> {
        let scanned = scan(&Visible::of(text, Markup::Plain).glyphs);
        let join = |run: &Run| {
            run.groups
                .iter()
                .map(|group| group.digits.as_str())
                .collect::<Vec<_>>()
                .join("|")
        };
        let print = |found: &Found| match found {
            Found::Run(run) => join(run),
            Found::Date(date) => format!("{:?}", date.days[0]),
        };
        scanned.found.iter().map(print).collect()
    }

    #[test]
    fn digits_with_one_mark_between_them_are_one_run() {
        for (text, groups) in [
            ("88.649", "88|649"),
            ("88 649", "88|649"),
            ("88\u{202F}649", "88|649"),
            ("3,37,299", "3|37|299"),
            ("88’649", "88|649"),
            ("٨٨٬٦٤٩", "88|649"),
            ("$0.010780", "0|010780"),
            ("7.0.93", "7|0|93"),
            ("約3,015ミリ秒", "3|015"),
            ("و337,299", "337|299"),
            ("ל100", "100"),
            ("t+506 ms", "506"),
            ("0.5B", "0|5"),
            ("100'den", "100"),
            ("v7.0.93", "7|0|93"),
            ("x3.7", "3|7"),
            ("5.2×", "5|2"),
            ("$.038", "038"),
        ] {
            assert_eq!(runs(text), [groups], "{text}");
        }
        assert_eq!(runs("204, 269, 342"), ["204", "269", "342"]);
        assert_eq!(runs("2026 945 turn 8 20"), ["2026", "945", "8", "20"]);
        assert_eq!(runs("26–28, 14:30, 0.x"), ["26", "28", "14", "30", "0"]);
    }

    #[test]
    fn a_date_is_one_number_however_it_is_written() {
        for text in ["2026-09-06", "06.09.2026", "6/9/2026", "２０２６/９/６"] {
            assert_eq!(runs(text), ["(2026, 9, 6)"], "{text}");
        }
        assert_eq!(runs("7.0.93 and 1-2-3"), ["7|0|93", "1", "2", "3"]);
        assert_eq!(runs("2026-13-45"), ["2026", "13", "45"]);
        assert_eq!(runs("on 2026-09-06."), ["(2026, 9, 6)"]);
        assert_eq!(runs("2026-09-06-5"), ["2026", "09", "06", "5"]);
    }

    #[test]
    fn a_number_does_not_grow_together_with_one_that_is_set_aside() {
        let glyphs = Visible::of("# 23.1 204 tokens", Markup::Markdown).glyphs;
        let Scanned { found, asides } = scan(&glyphs);
        let [Found::Run(run)] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(run.groups[0].digits, "204");
        assert_eq!(asides, BTreeMap::from([(Aside::Section, 1)]));
    }

    #[test]
    fn a_power_of_ten_belongs_to_its_number() {
        for (text, expected) in [
            ("1e6;", Some((6, 0, 2))),
            ("1e+6", Some((6, 0, 3))),
            ("2.5E-3", Some((-3, 0, 3))),
            ("1e20", Some((20, 0, 3))),
            ("1e21", None),
            ("1e6x", None),
            ("1e0061", None),
            ("5 eels", None),
            ("5億", Some((8, 0, 1))),
            ("33.7 万", Some((4, 0, 2))),
            ("33、万", None),
            // What is added to ten thousands.
            ("33万7299", Some((4, 7299, 5))),
            ("33 万7299", Some((4, 7299, 6))),
            ("33万7299.", Some((4, 7299, 5))),
            ("33万7,299", Some((4, 7299, 6))),
            ("8만 8649", Some((4, 8649, 6))),
            ("33万72,", Some((4, 72, 3))),
            // A number of its own.
            ("33万 299", Some((4, 0, 1))),
            ("33万,345", Some((4, 0, 1))),
            ("33万7 299", Some((4, 0, 1))),
            ("33万7,29", Some((4, 0, 1))),
            ("33万7299.5", Some((4, 0, 1))),
            ("33万72999", Some((4, 0, 1))),
            ("33億7299", Some((8, 0, 1))),
        ] {
            let scanned = scan(&Visible::of(text, Markup::Plain).glyphs);
            let power = scanned.found.first().and_then(|found| match found {
                Found::Run(run) => run.power,
                Found::Date(_) => None,
            });
            let power = power.map(|power| (power.exponent, power.units, power.glyphs));
            assert_eq!(power, expected, "{text}");
        }
    }
}
