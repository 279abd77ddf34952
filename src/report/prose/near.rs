//! How a wrong number differs from the right one.

use rust_decimal::Decimal;

/// A slip that a hand makes: what was done to the right number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slip {
    /// One digit is another.
    Digit,
    /// Two neighbouring digits changed places.
    Swapped,
    /// One digit is missing.
    Dropped,
    /// One digit is too much.
    Added,
    /// The digits are right, and the decimal mark is elsewhere.
    Scale,
}

impl std::fmt::Display for Slip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Digit => "one digit differs",
            Self::Swapped => "two digits are swapped",
            Self::Dropped => "a digit is missing",
            Self::Added => "a digit is too much",
            Self::Scale => "the decimal mark is elsewhere",
        })
    }
}

/// A value in the one spelling that is compared: no zeros that say nothing.
pub(super) fn spelled(value: Decimal) -> String {
    value.normalize().to_string()
}

/// The digits that count: without a mark, without zeros at either end.
pub(super) fn significant(spelled: &str) -> String {
    let digits: String = spelled.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// The one slip by which `written` comes from `right`, if there is one. Both are spelled by
/// [`spelled`], or are digits alone.
pub(super) fn slip(written: &str, right: &str) -> Option<Slip> {
    let (wrong, known) = (written.as_bytes(), right.as_bytes());
    let prefix = wrong.iter().zip(known).take_while(|(a, b)| a == b).count();
    let tail = |bytes: &[u8]| bytes.len() - prefix;
    let suffix = wrong
        .iter()
        .rev()
        .zip(known.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let suffix = suffix.min(tail(wrong)).min(tail(known));
    let end = |bytes: &[u8]| bytes.len() - suffix;
    let wrong_middle = wrong.get(prefix..end(wrong)).unwrap_or_default();
    let known_middle = known.get(prefix..end(known)).unwrap_or_default();
    if !wrong_middle
        .iter()
        .chain(known_middle)
        .all(u8::is_ascii_digit)
    {
        return scale(written, right);
    }
    match (wrong_middle, known_middle) {
        ([_], [_]) => Some(Slip::Digit),
        ([_, _], [second, first]) if wrong_middle == [*first, *second] => Some(Slip::Swapped),
        ([], [_]) => Some(Slip::Dropped),
        ([_], []) => Some(Slip::Added),
        _ => scale(written, right),
    }
}

fn scale(written: &str, right: &str) -> Option<Slip> {
    let digits = significant(written);
    (written != right && digits.len() >= 3 && digits == significant(right)).then_some(Slip::Scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_slip_is_told_from_the_others() {
        for (written, right, expected) in [
            ("337229", "337299", Some(Slip::Digit)),
            ("373299", "337299", Some(Slip::Swapped)),
            ("37299", "337299", Some(Slip::Dropped)),
            ("3372999", "337299", Some(Slip::Added)),
            ("337.299", "337299", Some(Slip::Scale)),
            ("0.1078", "0.01078", Some(Slip::Dropped)),
            ("10.78", "0.01078", Some(Slip::Scale)),
            ("337299", "337299", None),
            ("337228", "337299", None),
            ("3.8", "38", None),
        ] {
            assert_eq!(slip(written, right), expected, "{written} for {right}");
        }
    }

    proptest! {
        #[test]
        fn one_changed_digit_is_always_seen(right in "[1-9][0-9]{0,9}", at in any::<prop::sample::Index>(), by in 1_u8..10) {
            let at = at.index(right.len());
            let mut written = right.clone().into_bytes();
            written[at] = b'0' + (written[at] - b'0' + by) % 10;
            let written = String::from_utf8(written).unwrap();
            prop_assert_eq!(slip(&written, &right), Some(Slip::Digit));
        }
    }

    #[test]
    fn zeros_that_say_nothing_are_not_spelled_and_every_slip_has_its_words() {
        assert_eq!(spelled(Decimal::new(37_500, 3)), "37.5");
        let slips = [
            Slip::Digit,
            Slip::Swapped,
            Slip::Dropped,
            Slip::Added,
            Slip::Scale,
        ];
        let words = slips.map(|slip| slip.to_string());
        assert_eq!(words[0], "one digit differs");
        assert!(
            words
                .iter()
                .all(|word| words.iter().filter(|other| *other == word).count() == 1)
        );
    }
}
