//! The numbers of a text, with their places and what was declared.

use super::*;

/// Each number of a text with the name that covers it; `-` if none does.
fn named(text: &str, ledger: &Ledger) -> Vec<String> {
    let report = check(edition(text, ledger), None, ledger).unwrap();
    let numbers = report.edition.numbers.iter();
    let named = numbers.map(|number| {
        let names = report.covering(number).join(",");
        format!(
            "{} {}",
            number.text,
            if names.is_empty() { "-" } else { &names }
        )
    });
    named.collect()
}

#[test]
fn a_literal_covers_the_digits_in_it_and_no_others() {
    let ledger = Known::default()
        .literal("server", "7.0.93")
        .literal("model", "o3 of 2026")
        .constants("small", "[3, 7]", None)
        .ledger();
    for (text, expected) in [
        ("version 7.0.93, 7", vec!["7.0.93 server", "7 small"]),
        ("version ٧.٠.٩٣", vec!["٧.٠.٩٣ server"]),
        ("o3 of 2026", vec!["2026 model"]),
        ("o3 of 2027", vec!["2027 -"]),
        ("7.0.94", vec!["7.0.94 -"]),
        ("17.0.93", vec!["17.0.93 -"]),
        ("7.0.931", vec!["7.0.931 -"]),
        ("7.0.93.", vec!["7.0.93 server"]),
        (".7.0.93", vec!["7.0.93 server"]),
        ("v7.0.93 (7.0.93)", vec!["7.0.93 server", "7.0.93 server"]),
    ] {
        assert_eq!(named(text, &ledger), expected, "{text}");
    }
}

#[test]
fn words_whose_outer_digits_go_on_are_no_literal() {
    let ledger = Known::default()
        .literal("words", "4.0 of 2026 in 5")
        .ledger();
    for (text, is_literal) in [
        ("4.0 of 2026 in 5", true),
        ("4.0 of 2026 in 5.", true),
        ("4.0 of 2026 in 5, 6", true),
        ("so .4.0 of 2026 in 5", true),
        ("so, 4.0 of 2026 in 5", true),
        ("14.0 of 2026 in 5", false),
        ("1.4.0 of 2026 in 5", false),
        ("1,4.0 of 2026 in 5", false),
        ("4.0 of 2026 in 51", false),
        ("4.0 of 2026 in 5.1", false),
        ("4.0 of 2026 in 5,1", false),
    ] {
        let year = named(text, &ledger)
            .into_iter()
            .find(|name| name.starts_with("2026"));
        assert_eq!(year.unwrap() == "2026 words", is_literal, "{text}");
    }
}

#[test]
fn of_literals_in_one_place_the_longest_names_it() {
    let ledger = Known::default()
        .literal("short", "GPT 4")
        .literal("long", "GPT 4 of 2024")
        .literal("inner", "4 of")
        .literal("crossing", "2024, 7")
        .ledger();
    assert_eq!(named("GPT 4 of 2024", &ledger), ["4 long", "2024 long"]);
    assert_eq!(named("GPT 4", &ledger), ["4 short"]);
    assert_eq!(
        named("GPT 4 in 2024, 7", &ledger),
        ["4 short", "2024 crossing", "7 crossing"]
    );
}

#[test]
fn a_date_is_known_by_its_day_and_is_the_same_in_any_order() {
    let ledger = Known::default().date("read", "2026-09-07").ledger();
    assert_eq!(
        named("2026-09-07 7.9.2026", &ledger),
        ["2026-09-07 read", "7.9.2026 read"]
    );
    assert_eq!(named("2026-09-08", &ledger), ["2026-09-08 -"]);
    let same = |one: &str, other: &str| {
        edition(one, &ledger).numbers[0].is_same(&edition(other, &ledger).numbers[0])
    };
    assert!(same("2025-03-04", "4.3.2025"));
    assert!(!same("2025-03-04", "5.3.2025"));
    // Where it is declared, in the Buddhist era too.
    assert!(same("2026-09-07", "7.9.2569"));
}

#[test]
fn two_numbers_are_the_same_by_value_day_quantity_or_digits() {
    let ledger = Known::claims(&[("cost_usd", "0.25"), ("other_usd", "0.75")])
        .literal("server", "7.0.93")
        .literal("other", "8.0.1")
        .ledger();
    let first = |text: &str| edition(text, &ledger).numbers[0].clone();
    for (one, other, is_same) in [
        ("345", "345.0", true),
        ("1,345", "1.345", true),
        ("345", "346", false),
        ("$0.25", "25 cents", true),
        ("$0.25", "75 cents", false),
        ("7.0.93", "7.0.93", true),
        ("7.0.93", "8.0.1", false),
        // No numbers: versions that nobody declared.
        ("9.9.9", "9.9.9", true),
        ("9.9.9", "٩.٩.٩", true),
        ("9.9.9", "9.9.8", false),
        ("9.9.9", "999", false),
    ] {
        assert_eq!(
            first(one).is_same(&first(other)),
            is_same,
            "{one} / {other}"
        );
    }
}

#[test]
fn a_number_has_its_file_line_and_column() {
    let ledger = Ledger::default();
    let locale = Locale::parse("de").unwrap();
    let mut edition = Edition::default();
    edition.add("a.txt", "1\nβ 22, 3\n\n4", &locale, &ledger);
    edition.add("b.md", "**5** und 6", &locale, &ledger);
    let places: Vec<_> = edition
        .numbers
        .iter()
        .map(|number| {
            format!(
                "{}:{} {}",
                edition.files[number.file], number.place, number.text
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            "a.txt:1:1 1",
            "a.txt:2:3 22",
            "a.txt:2:7 3",
            "a.txt:4:1 4",
            "b.md:1:3 5",
            "b.md:1:11 6"
        ]
    );
    let rows: Vec<_> = edition.numbers.iter().map(|number| number.row).collect();
    assert_eq!(rows, [0, 1, 1, 3, 0, 0]);
}

#[test]
fn the_digits_that_are_no_numbers_are_counted_over_all_files() {
    let ledger = Ledger::default();
    let locale = Locale::parse("de").unwrap();
    let mut edition = Edition::default();
    edition.add("a.txt", "c1 c2 § 3", &locale, &ledger);
    edition.add("b.txt", "c4", &locale, &ledger);
    let asides: Vec<_> = edition.asides.into_iter().collect();
    assert_eq!(asides, [(Aside::Section, 1), (Aside::Identifier, 3)]);
}

#[test]
fn a_number_is_shown_with_twenty_eight_characters_of_its_line_on_each_side() {
    let ledger = Ledger::default();
    let around = |text: &str| edition(text, &ledger).numbers[0].around.clone();
    let long = |count: usize| "x ".repeat(count);
    assert_eq!(
        around(&format!("{}and 61 but {}", long(30), long(30))),
        format!("{}and 61 but {}", long(12), long(12).trim_end())
    );
    assert_eq!(around("above\nso 61 it is\nbelow"), "so 61 it is");
    assert_eq!(around("above\rso 61 it\tis\rbelow"), "so 61 it is");
    // Nothing stands where markup was.
    let locale = Locale::parse("de").unwrap();
    let mut edition = Edition::default();
    edition.add("a.md", "so[^1] 61", &locale, &ledger);
    assert_eq!(edition.numbers[0].around, "so[^1] 61");
}

#[test]
fn a_number_that_is_what_it_should_be_is_fine() {
    let ledger = Known::claims(&[("x", "337299")])
        .literal("server", "7.0.93")
        .ledger();
    let fine = |text: &str| edition(text, &ledger).numbers[0].is_fine();
    assert!(fine("337299") && fine("7.0.93"));
    assert!(!fine("337229") && !fine("61"));
}

#[test]
fn the_language_says_which_reading_comes_first() {
    let values = |tag: &str| edition_in(tag, "3,431", &Ledger::default()).numbers[0].values[0];
    assert_eq!(values("de-CH").to_string(), "3.431");
    assert_eq!(values("EN").to_string(), "3431");
}
