//! Which groups of digits are one number.

use std::sync::LazyLock;

use super::*;

static KNOWN: LazyLock<Ledger> = LazyLock::new(|| {
    Known::claims(&[
        ("high.prompt_tokens", "337299"),
        ("low.prompt_tokens", "88649"),
        ("cost_usd", "0.010780"),
        ("ratio", "3.7"),
        ("steps", "[204, 269, 342, 476]"),
        ("mean_ms", "6908"),
        ("capped_ms", "1202"),
        ("thousand", "2000"),
    ])
    .constants("small", "[1, 2, 3, 4, 8]", None)
    .ledger()
});

/// The numbers that a text in a language has, as they are written.
fn numbers_in(language: &str, text: &str) -> Vec<String> {
    let numbers = edition_in(language, text, &KNOWN).numbers;
    numbers.into_iter().map(|number| number.text).collect()
}

fn numbers(text: &str) -> Vec<String> {
    numbers_in("ar", text)
}

#[test]
fn groups_of_digits_are_split_where_that_explains_them_best() {
    for (text, expected) in [
        ("204 269 342", vec!["204", "269", "342"]),
        ("204,269,342", vec!["204", "269", "342"]),
        ("8 204", vec!["8", "204"]),
        ("337 299", vec!["337 299"]),
        ("2 337 299", vec!["2", "337 299"]),
        ("88 649 337 299", vec!["88 649", "337 299"]),
        (
            "88 649 204 337 299 8 269",
            vec!["88 649", "204", "337 299", "8", "269"],
        ),
        (
            "204 337 299 269 342 476",
            vec!["204", "337 299", "269", "342", "476"],
        ),
        // One number that nobody knows, and not several.
        ("999 999", vec!["999 999"]),
        ("5 999 999", vec!["5 999 999"]),
        // What is known of one part outweighs what is nearly known of the whole.
        ("204 999", vec!["204", "999"]),
        ("337 229", vec!["337 229"]),
        ("8 337 229", vec!["8", "337 229"]),
        // Two that meet at a mark inside a number are one.
        ("204.269", vec!["204.269"]),
    ] {
        assert_eq!(numbers(text), expected, "{text}");
    }
}

#[test]
fn the_language_tells_a_list_from_a_fraction() {
    assert_eq!(numbers_in("en", "3,8"), ["3", "8"]);
    assert_eq!(numbers_in("en", "1,2,3"), ["1", "2", "3"]);
    assert_eq!(numbers_in("de", "3,8"), ["3,8"]);
    assert_eq!(numbers_in("ar", "3,8"), ["3,8"]);
    assert_eq!(numbers_in("en", "3.8"), ["3.8"]);
    assert_eq!(numbers_in("en", "3،8"), ["3", "8"]);
    assert_eq!(numbers_in("en", "337,299"), ["337,299"]);
    assert_eq!(numbers_in("en", "204,8"), ["204", "8"]);
    assert_eq!(numbers_in("en", "3,829"), ["3,829"]);
}

#[test]
fn of_two_readings_the_known_one_is_meant() {
    let values = |text: &str| -> Vec<String> {
        let numbers = edition(text, &KNOWN).numbers;
        numbers[0].values.iter().map(ToString::to_string).collect()
    };
    assert_eq!(values("337,299"), ["337299"]);
    assert_eq!(values("3,431"), ["3431", "3.431"]);
    // The other reading has more decimals than anybody published.
    let ledger = Known::claims(&[("two", "2.0"), ("thousand", "2000"), ("half", "0.5")]).ledger();
    assert_eq!(said("2.000", &ledger), ["2.000 claim thousand"]);
    assert_eq!(said("2.0", &ledger), ["2.0 claim two"]);
    assert_eq!(said("2", &ledger), ["2 claim two"]);
    assert_eq!(said("0.500", &ledger), ["0.500 claim half"]);
    let ledger = Known::default()
        .constants("limit", "1250", Some("ms"))
        .ledger();
    assert_eq!(said("1.250 s", &ledger), ["1.250 constant limit"]);
    let ledger = Known::claims(&[("two", "2.0")]).ledger();
    assert_eq!(said("2.000", &ledger), [format!("2.000 {UNCOVERED}")]);
    let ledger = Known::claims(&[("exact", "2.345"), ("zero", "2.500")]).ledger();
    assert_eq!(said("2.345", &ledger), ["2.345 claim exact"]);
    assert_eq!(said("2.500", &ledger), ["2.500 claim zero"]);
}

#[test]
fn one_reading_can_be_several_quantities_and_each_is_named_once() {
    let ledger = Known::claims(&[("a", "345"), ("b", "345")]).ledger();
    assert_eq!(said("345", &ledger), ["345 claim a, b"]);
}

#[test]
fn seconds_and_powers_of_ten_may_be_rounded_and_other_numbers_may_not() {
    for (text, expected) in [
        ("6.9 s", "6.9 claim mean_ms"),
        ("33.7万", "33.7万 claim high.prompt_tokens"),
        ("8.9万", "8.9万 claim low.prompt_tokens"),
        ("33万7299", "33万7299 claim high.prompt_tokens"),
    ] {
        assert_eq!(said(text, &KNOWN), [expected], "{text}");
    }
    for text in ["6.8 s", "33.8万", "6.9", "6.9 ms", "35"] {
        assert_eq!(
            edition(text, &KNOWN).numbers[0].standing,
            Standing::Uncovered,
            "{text}"
        );
    }
    // The power is of the last of several.
    assert_eq!(numbers("2 33.7万"), ["2", "33.7万"]);
    assert_eq!(
        said("204 337万", &KNOWN),
        ["204 claim steps".to_owned(), format!("337万 {UNCOVERED}")]
    );
}

#[test]
fn numbers_with_a_blank_between_them_are_near_another_by_a_wrong_digit_alone() {
    for (text, slip) in [
        ("337 229", "one digit differs"),
        ("373 299", "two digits are swapped"),
        ("337229", "one digit differs"),
        ("33,729", "a digit is missing"),
        ("3,372,999", "a digit is too much"),
    ] {
        let report = check(edition(text, &KNOWN), None, &KNOWN).unwrap();
        let told = contradictions(&report);
        assert!(told.len() == 1 && told[0].ends_with(slip), "{told:?}");
    }
    for text in ["33 729", "3 372 999"] {
        let report = check(edition(text, &KNOWN), None, &KNOWN).unwrap();
        assert_eq!(contradictions(&report), [""; 0], "{text}");
    }
}
