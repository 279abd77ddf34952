//! An edition beside one that was checked before.

use std::sync::LazyLock;

use super::*;

/// Claims of two runs; every number up to twenty is a constant.
static KNOWN: LazyLock<Ledger> = LazyLock::new(|| {
    Known::claims(&[
        ("low.prompt_tokens", "88649"),
        ("high.prompt_tokens", "337299"),
        ("cost_usd", "0.010780"),
        ("ratio", "3.7"),
        ("other_ratio", "3.8"),
        ("share_percent", "75"),
        ("cap", "30"),
        ("other_cap", "50"),
        ("run.turns", "3"),
        ("other.turns", "2"),
    ])
    .constants(
        "small",
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]",
        None,
    )
    .ledger()
});

/// What of `text` contradicts the reference, each as `WRITTEN for EXPECTED`.
fn wrong(text: &str, reference: &str) -> Vec<String> {
    let reference = edition(reference, &KNOWN);
    let report = check(edition(text, &KNOWN), Some(&reference), &KNOWN).unwrap();
    let numbers = report.edition.numbers.iter();
    let told = numbers.filter_map(|number| match &number.standing {
        Standing::Contradicts(told) if told.cause == Cause::Reference => {
            Some(format!("{} for {}", number.text, told.expected.join(" ")))
        }
        _ => None,
    });
    told.collect()
}

/// Texts beside references: what is wrong with each.
fn assert_wrong(cases: &[(&str, &str, &[&str])]) {
    for (text, reference, expected) in cases {
        assert_eq!(wrong(text, reference), *expected, "{text} / {reference}");
    }
}

#[test]
fn a_known_number_in_the_place_of_another_contradicts_the_reference() {
    let reference = edition("From 88,649 to 337,299: times 3.7.", &KNOWN);
    let text = "Von 88.649 auf 337.299: mal 3,8.";
    let report = check(edition(text, &KNOWN), Some(&reference), &KNOWN).unwrap();
    assert_eq!(
        contradictions(&report),
        ["3,8 contradicts the reference, which has 3.7 (ratio)"]
    );
    let reference = edition("It was 4711.", &KNOWN);
    let report = check(edition("Es war 4712.", &KNOWN), Some(&reference), &KNOWN).unwrap();
    assert_eq!(
        contradictions(&report),
        ["4712 contradicts the reference, which has 4711"]
    );
}

#[test]
fn the_same_numbers_in_any_style_and_unit_do_not_contradict() {
    assert_wrong(&[
        ("", "1 2 345", &[]),
        ("1 2 345", "", &[]),
        ("337.299 und 0,01078 $", "337,299 and $0.010780", &[]),
        ("1,078 cents", "$0.010780", &[]),
        ("1,345 and 678", "1.345 and 678", &[]),
    ]);
}

#[test]
fn any_long_number_stands_for_the_one_in_its_place_and_a_short_one_only_as_a_slip() {
    assert_wrong(&[
        ("345", "678", &["345 for 678"]),
        ("1 345 2", "1 678 2", &["345 for 678"]),
        // Two digits say too little.
        ("67", "345", &[]),
        ("345", "67", &[]),
        ("2500", "678", &[]),
        ("14", "5", &[]),
        // Which of two it stands for is not known.
        ("345", "678; 912", &[]),
        ("345; 912", "678", &[]),
        ("346", "345; 890", &["346 for 345"]),
        ("891", "345; 890", &["891 for 890"]),
        // By its value, or by its digits.
        ("3.46", "345; 890", &["3.46 for 345"]),
        ("34.5", "345; 890", &["34.5 for 345"]),
        // One number of the reference is one number of the edition.
        ("346; 347", "345", &["346 for 345"]),
    ]);
}

#[test]
fn a_number_of_another_unit_is_another_number() {
    assert_wrong(&[
        ("$345", "678 ms", &[]),
        ("$345", "$678", &["345 for 678"]),
        ("345", "678 ms", &["345 for 678"]),
        ("$345", "678", &["345 for 678"]),
        ("$346", "345 ms 890", &[]),
    ]);
}

#[test]
fn what_a_program_prints_under_one_name_is_one_number() {
    assert_wrong(&[
        ("turns=14", "turns=5", &["14 for 5"]),
        ("turns=14", "tools=5", &[]),
        ("k=7", "n=5 k=6", &["7 for 6"]),
        // A large number may lose its name, and a small one is then one of many.
        ("tokens=678; 345", "tokens=345", &[]),
        ("345 tokens=678", "tokens=345", &[]),
        ("turns=2 3", "turns=3", &["2 for 3"]),
        ("3 turns=2", "turns=3", &["2 for 3"]),
        ("2 turns=3 2", "3 turns=2", &["3 for 2"]),
        ("count=345", "total=345", &[]),
        ("n=16 10", "14 10", &[]),
    ]);
}

#[test]
fn a_number_that_moved_at_most_twenty_four_steps_is_the_same() {
    let between = |count: usize| "1 2 ".repeat(12)[..2 * count].to_owned();
    for (count, expected) in [(23, vec![]), (24, vec!["678 for 345"])] {
        let same = between(count);
        let later = (format!("678 {same}"), format!("345 {same}678"));
        assert_eq!(wrong(&later.0, &later.1), expected, "{count} later");
        let earlier = (format!("{same}678"), format!("678 {same}345"));
        assert_eq!(wrong(&earlier.0, &earlier.1), expected, "{count} earlier");
    }
    assert_wrong(&[
        ("337,299 1 88,649", "88,649 1 337,299", &[]),
        ("2 345 1 678", "2 678 1 345", &[]),
        ("2 14 1 15", "2 15 1 14", &[]),
    ]);
}

#[test]
fn a_small_number_is_held_to_its_place_where_the_three_around_it_are_the_same() {
    for (text, reference, is_held) in [
        ("1 2 3 9 6 7 8", "1 2 3 5 6 7 8", true),
        ("9 6 7 8", "5 6 7 8", true),
        ("1 2 3 9", "1 2 3 5", true),
        ("9", "5", true),
        ("1 2 3 9 6 7 8", "11 1 2 3 5 6 7 8", true),
        ("2 3 9 6 7 8", "11 2 3 5 6 7 8", false),
        ("3 9 6 7 8", "11 3 5 6 7 8", false),
        ("1 2 3 9 6 7 8", "1 2 3 5 6 7 8 11", true),
        ("1 2 3 9 6 7", "1 2 3 5 6 7 11", false),
        ("1 2 3 9 6", "1 2 3 5 6 11", false),
        ("1 2 3 9 6 7 8", "1 2 3 5 10 6 7 8", false),
        // Two that are wrong at once.
        ("1 2 3 9 8", "1 2 3 5 7", false),
    ] {
        let expected: &[&str] = if is_held { &["9 for 5"] } else { &[] };
        assert_eq!(wrong(text, reference), expected, "{text} / {reference}");
    }
}

#[test]
fn among_other_changes_a_small_number_is_held_to_a_claim_or_to_what_is_as_unknown() {
    // The reference has a number more in front, so that the place alone says nothing.
    assert_wrong(&[
        ("1 50", "11 1 30", &["50 for 30"]),
        ("1 40", "11 1 30", &["40 for 30"]),
        ("1 19", "11 1 18", &[]),
        ("1 71", "11 1 61", &["71 for 61"]),
        ("1 18", "11 1 68", &[]),
        // Not one each: a unit or a fraction is needed.
        ("1 50", "11 1 30 12", &[]),
        ("1 76%", "11 1 75% 12", &["76 for 75"]),
        ("1 76", "11 1 75% 12", &["76 for 75"]),
        ("1 76%", "11 1 75 12", &["76 for 75"]),
        ("1 3.8", "11 1 3.7 12", &["3.8 for 3.7"]),
        ("1 2000", "11 1 1.000 12", &[]),
        // One digit, or two that are swapped.
        ("1 57", "11 1 75", &["57 for 75"]),
        ("1 7", "11 1 75", &[]),
        ("1 86", "11 1 75", &[]),
    ]);
}

#[test]
fn texts_whose_differences_are_too_far_apart_are_refused() {
    let ledger = Ledger::default();
    let numbers = |text: &str| {
        let mut edition = edition(text, &ledger);
        edition.numbers = vec![edition.numbers[0].clone(); 8192];
        edition
    };
    let error = check(numbers("7"), Some(&numbers("8")), &ledger).unwrap_err();
    assert_eq!(
        error.to_string(),
        "8192 numbers against 8192 of the reference are too many to align: check a chapter at a time"
    );
    assert!(check(numbers("7"), Some(&numbers("7")), &ledger).is_ok());
}
