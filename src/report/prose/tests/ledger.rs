//! What is known, and how near a number is to it.

use std::path::Path;

use super::*;

/// What a text of one number is said to be.
fn verdict(ledger: &Ledger, text: &str) -> String {
    let said = said(text, ledger);
    let [only] = said.as_slice() else {
        panic!("{text}: {said:?}")
    };
    let rest = only.split_once(' ').map_or("", |(_, rest)| rest);
    if rest == UNCOVERED {
        "unknown".to_owned()
    } else {
        rest.to_owned()
    }
}

fn assert_verdicts(known: &Known, cases: &[(&str, &str)]) {
    let ledger = known.ledger();
    for (text, expected) in cases {
        assert_eq!(verdict(&ledger, text), *expected, "{text}");
    }
}

#[test]
fn a_quantity_is_known_in_other_units_for_the_same() {
    let known = Known::claims(&[
        ("wall_ms", "1202"),
        ("cost_usd", "0.25"),
        ("in_tokens", "945"),
        ("other_ms", "1250"),
    ]);
    assert_verdicts(
        &known,
        &[
            ("1202 ms", "claim wall_ms"),
            ("1.202 s", "claim wall_ms"),
            ("1.202", "claim wall_ms"),
            ("1.25", "claim other_ms"),
            (
                "120.2 ms",
                "contradicts 1202 (wall_ms): the decimal mark is elsewhere",
            ),
            ("$0.25", "claim cost_usd"),
            ("25", "claim cost_usd"),
            ("$25", "unknown"),
            (
                "0.945",
                "contradicts 945 (in_tokens): the decimal mark is elsewhere",
            ),
            ("$945", "unknown"),
            ("945 ms", "unknown"),
        ],
    );
}

#[test]
fn a_quantity_of_its_own_value_comes_before_one_in_another_unit() {
    let known = Known::claims(&[("wall_ms", "2500"), ("ratio", "2.5")]);
    assert_verdicts(
        &known,
        &[
            ("2.5", "claim ratio"),
            ("2.5 s", "claim wall_ms"),
            ("2500", "claim wall_ms"),
        ],
    );
}

#[test]
fn a_number_of_a_list_is_known_alone_and_as_it_was_published() {
    let known = Known::claims(&[("steps", "[204, 2.10]"), ("one", "4.70")]);
    assert_verdicts(
        &known,
        &[
            ("2.10", "claim steps"),
            ("2.1", "claim steps"),
            ("205", "contradicts 204 (steps): one digit differs"),
            ("4.71", "contradicts 4.70 (one): one digit differs"),
            // Nearer to 2.10 as published than without its last zero.
            ("2.00", "contradicts 2.10 (steps): one digit differs"),
        ],
    );
}

#[test]
fn the_sign_of_a_quantity_is_not_looked_at() {
    let known = Known::claims(&[("change_percent", "-4.5")]);
    assert_verdicts(
        &known,
        &[
            ("-4.5 %", "claim change_percent"),
            ("4.5 %", "claim change_percent"),
        ],
    );
}

#[test]
fn a_near_number_needs_three_digits_or_the_same_unit_or_a_fraction() {
    let known = Known::claims(&[
        ("share_percent", "75"),
        ("cap", "61"),
        ("ratio", "3.7"),
        ("wall_ms", "48"),
        ("long", "8649"),
        ("few_tokens", "9"),
    ])
    .constants("declared", "[5555]", None);
    assert_verdicts(
        &known,
        &[
            ("76 %", "contradicts 75 (share_percent): one digit differs"),
            ("76", "unknown"),
            ("62", "unknown"),
            ("3.6", "contradicts 3.7 (ratio): one digit differs"),
            ("7.3", "unknown"),
            ("49 ms", "unknown"),
            ("57 %", "unknown"),
            ("8648", "contradicts 8649 (long): one digit differs"),
            ("8469", "contradicts 8649 (long): two digits are swapped"),
            ("849", "contradicts 8649 (long): a digit is missing"),
            ("86494", "contradicts 8649 (long): a digit is too much"),
            (
                "86.49",
                "contradicts 8649 (long): the decimal mark is elsewhere",
            ),
            ("8649 ms", "unknown"),
            ("8648 ms", "unknown"),
            ("8 tokens", "unknown"),
            // Of a constant nobody is near.
            ("5556", "unknown"),
        ],
    );
    assert_eq!(
        verdict(&known.ledger(), "tokens=8"),
        "unknown",
        "one digit is near to all"
    );
}

#[test]
fn a_number_is_near_to_a_row_of_four_digits_at_least() {
    let known = Known::default().table("t", "x,y\n8649,345\n");
    assert_verdicts(
        &known,
        &[
            ("8649", "row t.x"),
            ("8648", "contradicts 8649 (t.x): one digit differs"),
            ("345", "row t.y"),
            ("346", "unknown"),
        ],
    );
}

#[test]
fn the_smallest_slip_is_the_one_that_is_told() {
    let known = Known::claims(&[
        ("digit", "1234"),
        ("swapped", "1243"),
        ("dropped", "12354"),
        ("other_digit", "1235"),
        ("added", "567"),
        ("digit_too", "5679"),
        ("scale", "12.36"),
    ]);
    let told = "contradicts 1234 or 1235 (digit, other_digit): one digit differs";
    assert_verdicts(
        &known,
        &[
            (
                "1233",
                "contradicts 1234 or 1235 or 1243 (digit, other_digit, swapped): one digit differs",
            ),
            ("1236", told),
            ("5678", "contradicts 5679 (digit_too): one digit differs"),
            ("1254", "contradicts 1234 (digit): one digit differs"),
            ("2143", "contradicts 1243 (swapped): two digits are swapped"),
            ("2354", "contradicts 12354 (dropped): a digit is missing"),
            (
                "123.6",
                "contradicts 12.36 (scale): the decimal mark is elsewhere",
            ),
        ],
    );
}

#[test]
fn a_rounded_number_is_a_claim_and_shows_two_digits_at_least() {
    let known = Known::claims(&[
        ("mean_ms", "6908"),
        ("half_ms", "1250"),
        ("in_tokens", "337299"),
        ("cost_usd", "345678"),
        ("seconds", "8.14"),
    ])
    .constants("declared", "[9349]", Some("ms"));
    assert_verdicts(
        &known,
        &[
            ("6.9 s", "claim mean_ms"),
            ("6.91 s", "claim mean_ms"),
            ("7 s", "unknown"),
            ("6.8 s", "unknown"),
            ("1.3 s", "claim half_ms"),
            ("1.2 s", "unknown"),
            ("33.7万", "claim in_tokens"),
            ("34万", "claim in_tokens"),
            ("33万", "unknown"),
            ("30万", "unknown"),
            ("34.6万 $", "claim cost_usd"),
            ("33.7万 $", "unknown"),
            ("8.1 s", "unknown"),
            ("9.3 s", "unknown"),
        ],
    );
}

#[test]
fn a_ratio_in_a_table_is_known_with_one_and_two_decimals() {
    let known = Known::default().table("t", "cost_ratio,cost_usd\n3.814159,0.814159\n");
    assert_verdicts(
        &known,
        &[
            ("3.814159", "row t.cost_ratio"),
            ("3.81", "row t.cost_ratio"),
            ("3.8", "row t.cost_ratio"),
            ("3.814", "unknown"),
            ("0.81", "unknown"),
            ("$0.814159", "row t.cost_usd"),
        ],
    );
}

#[test]
fn cells_without_a_number_are_passed_over_and_each_column_names_a_value_once() {
    let known = Known::default().table("t", "turns,reason\n8649,\n8649,max_turns\n4711,4712\n");
    let ledger = known.ledger();
    let ids: Vec<String> = ledger
        .quantities()
        .iter()
        .map(|quantity| format!("{}={}", quantity.id, quantity.text))
        .collect();
    assert_eq!(ids, ["t.turns=8649", "t.turns=4711", "t.reason=4712"]);
}

#[test]
fn a_date_is_known_in_the_buddhist_era_too() {
    let known = Known::default()
        .date("read", "2026-09-07")
        .date("other", "2025-01-02");
    assert_verdicts(
        &known,
        &[
            ("7.9.2026", "constant read"),
            ("9/7/2026", "constant read"),
            ("2569-09-07", "constant read"),
            ("2026-09-08", "unknown"),
            ("2570-09-07", "unknown"),
            ("2025-01-02", "constant other"),
        ],
    );
}

/// Some of the experiments that ship with the program.
fn experiments(names: &[&str]) -> Experiments {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    let files = names.iter().map(|name| folder.join(format!("{name}.toml")));
    Experiments::load(&files.collect::<Vec<_>>()).unwrap()
}

fn document(toml: &str) -> Constants {
    Constants::from_document(&Document::parse("known.toml", toml).unwrap()).unwrap()
}

#[test]
fn a_quoted_claim_that_an_experiment_computes_has_to_be_the_same() {
    let experiments = experiments(&["turn-cap"]);
    let claim = |value: &str| {
        let toml = format!("[[claim]]\nid = \"turn_cap.100.prompt_tokens\"\nvalue = {value}\n");
        Ledger::new(&experiments, &document(&toml))
    };
    let error = claim("337298").unwrap_err().to_string();
    assert_eq!(
        error,
        "the claim `turn_cap.100.prompt_tokens` is 337298 among the constants and 337299 in an \
         experiment: remove one of the two"
    );
    let ledger = claim("337299").unwrap();
    let ids = ledger
        .quantities()
        .iter()
        .filter(|known| known.id == "turn_cap.100.prompt_tokens");
    assert_eq!(ids.count(), 1);
}

#[test]
fn a_computed_ratio_has_no_unit_and_a_change_is_in_percent() {
    let experiments = experiments(&["turn-cap", "brakes"]);
    let ledger = Ledger::new(&experiments, &Constants::default()).unwrap();
    let unit = |id: &str| {
        let known = ledger.quantities().iter().find(|known| known.id == id);
        known.unwrap_or_else(|| panic!("no claim {id}")).unit
    };
    assert_eq!(unit("brakes.denied.cost_percent"), Some(Unit::Percent));
    assert_eq!(unit("turn_cap.100.prompt_tokens"), Some(Unit::Tokens));
    assert_eq!(unit("turn_cap.100_over_50.prompt_tokens"), None);
}

#[test]
fn rows_of_experiments_on_the_real_clock_are_not_known() {
    let results = tempfile::tempdir().unwrap();
    for experiment in ["cancel", "cancel-real"] {
        let folder = results.path().join(experiment);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("table.csv"), "x\n8649\n").unwrap();
    }
    std::fs::write(results.path().join("notes.txt"), "9").unwrap();
    let experiments = experiments(&["cancel", "cancel-real"]);
    let mut ledger = Ledger::new(&experiments, &Constants::default()).unwrap();
    ledger.add_results(results.path()).unwrap();
    ledger.add_results(&results.path().join("gone")).unwrap();
    let rows = ledger
        .quantities()
        .iter()
        .filter(|known| known.origin == Origin::Row);
    let rows: Vec<&str> = rows.map(|row| row.id.as_str()).collect();
    assert_eq!(rows, ["cancel.x"]);
}

#[test]
fn a_table_that_is_there_and_cannot_be_read_is_named() {
    let results = tempfile::tempdir().unwrap();
    let folder = results.path().join("torn");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("table.csv"), "x,y\n1\n").unwrap();
    let error = Ledger::default().add_results(results.path()).unwrap_err();
    assert!(
        error.to_string().contains("torn/table.csv: cannot be read"),
        "{error}"
    );
}
