//! Six samples in six scripts, and two hundred mistakes in them.

use std::collections::BTreeMap;
use std::fs;

use loopmeter::document::Document;
use loopmeter::report::prose::{Number, Status, check};

use super::{LEDGER, complaints, edition, root};

const SAMPLES: [&str; 6] = ["en.md", "uk.md", "el.txt", "ar.html", "hi.md", "ja.md"];

/// Of two hundred wrong digits, how many are found without an edition to compare with. The others
/// are numbers of one or two digits that happen to be another known number.
const FOUND_ALONE: usize = 130;

fn sample(name: &str) -> String {
    fs::read_to_string(root().join("tests/fixtures/prose").join(name)).unwrap()
}

#[test]
fn the_unchanged_samples_have_nothing_wrong_whichever_of_them_is_the_reference() {
    for name in SAMPLES {
        for reference in SAMPLES {
            let reference = edition(reference, &sample(reference));
            let report = check(edition(name, &sample(name)), Some(&reference), &LEDGER);
            assert_eq!(complaints(&report.unwrap()), [""; 0], "{name}");
        }
        let report = check(edition(name, &sample(name)), None, &LEDGER).unwrap();
        assert_eq!(complaints(&report), [""; 0], "{name}");
    }
}

#[test]
fn every_sample_quotes_every_published_figure() {
    let figures = fs::read_to_string(root().join("tests/data/figures.toml")).unwrap();
    let figures = Document::parse("figures.toml", &figures).unwrap();
    let ids = figures.json()["figure"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|figure| figure["id"].as_str().unwrap()).collect();
    for name in SAMPLES {
        let report = check(edition(name, &sample(name)), None, &LEDGER).unwrap();
        let missing: BTreeMap<&str, &[String]> = report
            .claims
            .iter()
            .map(|claim| (claim.id.as_str(), claim.missing.as_slice()))
            .collect();
        for id in &ids {
            assert_eq!(missing.get(id), Some(&[].as_slice()), "{name}: {id}");
        }
    }
}

/// A generator of numbers that are the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let below = (mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap();
        usize::try_from(below).unwrap()
    }
}

/// The zero of the script that a digit belongs to.
fn zero_of(digit: char) -> Option<char> {
    let zeros = ['0', '٠', '०', '０'];
    zeros
        .into_iter()
        .find(|zero| (0..10).contains(&(i64::from(u32::from(digit)) - i64::from(u32::from(*zero)))))
}

/// The text with one digit of a number changed, and what the number was and is.
fn with_one_wrong_digit(text: &str, number: &Number, dice: &mut Dice) -> (String, String) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let above: usize = lines[..number.place.line - 1]
        .iter()
        .map(|line| line.len())
        .sum();
    let line = lines[number.place.line - 1].char_indices();
    let start = above + line.clone().nth(number.place.column - 1).unwrap().0;
    let digits: Vec<(usize, char)> = text[start..]
        .char_indices()
        .filter(|(_, c)| zero_of(*c).is_some())
        .take(
            number
                .text
                .chars()
                .filter(|c| zero_of(*c).is_some())
                .count(),
        )
        .collect();
    let (at, old) = digits[dice.below(digits.len())];
    let zero = zero_of(old).unwrap();
    let value = u32::from(old) - u32::from(zero);
    let other = (value + 1 + u32::try_from(dice.below(9)).unwrap()) % 10;
    let new = char::from_u32(u32::from(zero) + other).unwrap();
    let at = start + at;
    let changed = format!("{}{new}{}", &text[..at], &text[at + old.len_utf8()..]);
    (
        changed,
        format!(
            "{}:{} {}: {old} → {new}",
            number.place, number.text, number.around
        ),
    )
}

#[test]
fn two_hundred_wrong_digits_are_all_found_beside_a_reference_and_many_without() {
    let mut dice = Dice(20_260_907);
    let mut alone = 0;
    let mut missed = Vec::new();
    for round in 0..200 {
        let name = SAMPLES[round % SAMPLES.len()];
        let reference = if name == "en.md" { "el.txt" } else { "en.md" };
        let reference = edition(reference, &sample(reference));
        let text = sample(name);
        let whole = check(edition(name, &text), None, &LEDGER).unwrap();
        let quoted: Vec<&Number> = whole
            .edition
            .numbers
            .iter()
            .filter(|number| whole.status(number) == Status::Claim)
            .collect();
        let number = quoted[dice.below(quoted.len())];
        let (changed, what) = with_one_wrong_digit(&text, number, &mut dice);
        let by_itself = check(edition(name, &changed), None, &LEDGER).unwrap();
        let found_alone = !complaints(&by_itself).is_empty();
        let beside = check(edition(name, &changed), Some(&reference), &LEDGER).unwrap();
        let found_beside = beside
            .edition
            .numbers
            .iter()
            .any(|number| number.place.line == quoted_line(&what) && !number.is_fine());
        println!("{name}:{what}  alone: {found_alone}, beside a reference: {found_beside}");
        alone += usize::from(found_alone);
        if !found_beside {
            missed.push(format!("{name}:{what}"));
        }
    }
    println!(
        "found of 200: {} beside a reference, {alone} alone",
        200 - missed.len()
    );
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
    assert!(alone >= FOUND_ALONE, "only {alone} found alone");
}

/// The line of a change.
fn quoted_line(what: &str) -> usize {
    what.split(':').next().unwrap().parse().unwrap()
}
