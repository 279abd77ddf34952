//! What groups of digits can mean as one number. Nothing is guessed: `3,431` has two readings,
//! and what is known decides between them.

use std::ops::Range;

use rust_decimal::Decimal;

use super::characters::Separator;
use super::scan::Run;
use crate::results::parse_decimal;

/// Which mark a language puts before a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalMark {
    Point,
    Comma,
}

impl DecimalMark {
    /// The mark of a language, by the CLDR; `None` where it is not known here, or differs from
    /// country to country.
    pub(super) fn of_language(language: &str) -> Option<Self> {
        Some(match language {
            "en" | "ja" | "zh" | "ko" | "th" | "hi" | "bn" | "he" | "mr" | "gu" | "ta" | "te"
            | "ur" | "ne" | "my" | "ms" | "sw" => Self::Point,
            "bg" | "ca" | "cs" | "da" | "de" | "el" | "es" | "fi" | "fr" | "hr" | "hu" | "id"
            | "it" | "ka" | "lt" | "nb" | "nl" | "pl" | "pt" | "ro" | "ru" | "sk" | "sr" | "sv"
            | "tr" | "uk" | "vi" => Self::Comma,
            _ => return None,
        })
    }
}

/// The values that the groups `part` of a run can have as one number, the likeliest in the
/// language first. None if they are no number, such as the `7.0.93` of a version.
pub(super) fn readings(run: &Run, part: &Range<usize>, mark: Option<DecimalMark>) -> Vec<Decimal> {
    let groups = run.groups.get(part.clone()).unwrap_or_default();
    let separators = run
        .separators
        .get(part.start..part.end.saturating_sub(1))
        .unwrap_or_default();
    let digits: Vec<&str> = groups.iter().map(|group| group.digits.as_str()).collect();
    let mut texts = Vec::new();
    if run.bare_fraction && part.start == 0 && digits.len() == 1 {
        texts.push(format!("0.{}", digits.concat()));
    } else {
        if are_thousands(&digits, separators) {
            texts.push(digits.concat());
        }
        if let (Some((fraction, whole)), Some((last, rest))) =
            (digits.split_last(), separators.split_last())
            && last.is_decimal()
            && !rest.contains(last)
            && are_thousands(whole, rest)
        {
            texts.push(format!("{}.{fraction}", whole.concat()));
            let is_likelier = matches!(
                (mark, last),
                (Some(DecimalMark::Point), Separator::Point)
                    | (Some(DecimalMark::Comma), Separator::Comma)
            );
            if is_likelier {
                texts.rotate_right(1);
            }
        }
    }
    let power = run.power.filter(|_| part.end == run.groups.len());
    let scaled = |value: Decimal| match power {
        None => Some(value),
        Some(power) => shifted(value, power.exponent)?.checked_add(Decimal::from(power.units)),
    };
    texts
        .iter()
        .filter_map(|text| parse_decimal(text).and_then(scaled))
        .collect()
}

/// The value times a power of ten.
fn shifted(value: Decimal, exponent: i32) -> Option<Decimal> {
    let power = Decimal::from(10_u64.checked_pow(exponent.unsigned_abs())?);
    if exponent < 0 {
        value.checked_div(power)
    } else {
        value.checked_mul(power)
    }
}

/// Whether the groups are the thousands of one whole number: alone, in threes, or in twos before
/// the last three as in India.
fn are_thousands(digits: &[&str], separators: &[Separator]) -> bool {
    let [first, rest @ ..] = digits else {
        return false;
    };
    let Some((last, middle)) = rest.split_last() else {
        return true;
    };
    let alike =
        |pair: &[Separator]| matches!(pair, [a, b] if a == b || a.is_blank() && b.is_blank());
    let one_mark = separators.windows(2).all(alike);
    let grouping = separators
        .first()
        .is_some_and(|separator| separator.is_grouping());
    let lead = !first.starts_with('0') && (1..=3).contains(&first.len());
    let threes = middle.iter().all(|group| group.len() == 3);
    let indian = separators
        .first()
        .is_some_and(|separator| separator.is_indian());
    let twos = indian && first.len() <= 2 && middle.iter().all(|group| group.len() == 2);
    one_mark && grouping && lead && last.len() == 3 && (threes || twos)
}

#[cfg(test)]
mod tests {
    use super::super::scan::{Found, scan};
    use super::super::text::{Markup, Visible};
    use super::*;

    fn read(text: &str, mark: Option<DecimalMark>) -> Vec<String> {
        let found = scan(&Visible::of(text, Markup::Plain).glyphs).found;
        let [Found::Run(run)] = found.as_slice() else {
            panic!("{text}: {found:?}")
        };
        let values = readings(run, &(0..run.groups.len()), mark);
        values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_style_of_grouping_has_its_reading() {
        for text in [
            "337,299",
            "337.299",
            "337 299",
            "337\u{202F}299",
            "337’299",
            "337'299",
            "3,37,299",
            "٣٣٧٬٢٩٩",
            "३,३७,२९९",
            "337_299",
            "337299",
            "３３７，２９９",
            "337299.000",
        ] {
            assert!(
                read(text, None)
                    .iter()
                    .any(|value| value.trim_end_matches(".000") == "337299"),
                "{text}"
            );
        }
        for text in ["0.010780", "0,010780", "٠٫٠١٠٧٨٠", "0،010780"] {
            assert_eq!(read(text, None), ["0.010780"], "{text}");
        }
        assert_eq!(read("1.234.567,8", None), ["1234567.8"]);
        assert_eq!(read("1 234,5", None), ["1234.5"]);
        assert_eq!(read("1 234,567", None), ["1234.567"]);
        assert_eq!(read("1 234\u{A0}567", None), ["1234567"]);
        assert_eq!(read(".5", None), ["0.5"]);
    }

    #[test]
    fn two_readings_are_both_kept_and_the_language_orders_them() {
        assert_eq!(read("3,431", None), ["3431", "3.431"]);
        assert_eq!(read("3,431", Some(DecimalMark::Comma)), ["3.431", "3431"]);
        assert_eq!(read("3.431", Some(DecimalMark::Point)), ["3.431", "3431"]);
    }

    #[test]
    fn what_is_no_number_has_no_reading() {
        for text in [
            "7.0.93",
            "12.34.56",
            "1.2,3.4",
            "1_2.3_4",
            "123,45,678",
            "1.23.456",
            "1,2345,678",
            &"9".repeat(40),
        ] {
            assert_eq!(read(text, None), [""; 0], "{text}");
        }
    }

    #[test]
    fn powers_of_ten_are_applied() {
        assert_eq!(read("1e6", None), ["1000000"]);
        assert_eq!(read("0.5億", None), ["50000000.0"]);
        assert_eq!(read("2e-3", None), ["0.002"]);
        assert_eq!(read("33万7299", None), ["337299"]);
        assert_eq!(read("8만 8649", None), ["88649"]);
        assert_eq!(read("33만 7,299", None), ["337299"]);
        assert_eq!(read("33万7,299", None), ["337299"]);
        assert_eq!(read("33.7 万", None), read("33.7万", None));
    }

    #[test]
    fn a_language_has_a_point_a_comma_or_is_not_known() {
        for (language, mark) in [
            ("hi", Some(DecimalMark::Point)),
            ("uk", Some(DecimalMark::Comma)),
            ("ar", None),
        ] {
            assert_eq!(DecimalMark::of_language(language), mark, "{language}");
        }
    }
}
