//! A line of a program's output is of one run.

use std::sync::LazyLock;

use super::*;

/// Two runs, one of which was published twice, and a list.
static KNOWN: LazyLock<Ledger> = LazyLock::new(|| {
    Known::claims(&[
        ("short.cost_usd", "0.001570"),
        ("short.prompt_tokens", "665"),
        ("short.turns", "2"),
        ("short.messages", "6"),
        ("long.cost_usd", "0.002470"),
        ("long.turns", "3"),
        ("long.messages", "8"),
        ("wide.first_turns", "4"),
        ("wide.second_turns", "5"),
        ("wide.prompt_tokens", "88649"),
        ("listed.prompt_tokens", "[204, 269, 342]"),
        ("listed.turns", "3"),
        ("alone", "945"),
        ("low.cost_usd", "0.25"),
        ("limit.turns", "2"),
        ("low.turns", "8"),
    ])
    .constants("limit.prompt_tokens", "512", None)
    .constants("caps", "[1, 2, 3, 4, 5, 6, 8]", None)
    .constants("caps.turns", "[1, 2, 3, 8, 945]", Some("turns"))
    .ledger()
});

fn wrong(text: &str) -> Vec<String> {
    let report = check(edition(text, &KNOWN), None, &KNOWN).unwrap();
    let numbers = report.edition.numbers.iter();
    let of_neighbours = numbers.filter(|number| {
        matches!(&number.standing, Standing::Contradicts(told) if told.cause == Cause::Neighbours)
    });
    of_neighbours.map(|number| report.message(number)).collect()
}

#[test]
fn a_count_of_another_run_contradicts_the_cost_beside_it() {
    let told = "the numbers beside it are of that run";
    assert_eq!(
        wrong("turns=3  cost=$0.001570  messages=6"),
        [format!("3 contradicts 2 (short.turns): {told}")]
    );
    assert_eq!(
        wrong("turns=2  messages=8  cost=$0.001570"),
        [format!("8 contradicts 6 (short.messages): {told}")]
    );
    assert_eq!(
        wrong("turns=3  in=88,649"),
        [format!(
            "3 contradicts 4 or 5 (wide.first_turns, wide.second_turns): {told}"
        )]
    );
    assert_eq!(
        wrong("x = 4711\nturns=3 cost=$0.001570\nturns=2 cost=$0.002470"),
        [
            format!("3 contradicts 2 (short.turns): {told}"),
            format!("2 contradicts 3 (long.turns): {told}"),
        ]
    );
}

#[test]
fn a_line_whose_numbers_are_of_one_run_is_right() {
    for text in [
        "turns=2  cost=$0.001570  messages=6",
        "turns=3  cost=$0.002470  messages=8",
        "in=665 turns=2",
        "turns=4  in=88,649",
        "turns=5  in=88,649",
    ] {
        assert_eq!(wrong(text), [""; 0], "{text}");
    }
}

#[test]
fn only_a_name_and_a_number_that_tells_runs_apart_hold_a_count_to_a_run() {
    for (text, why) in [
        ("cost=$0.001570, so 3", "a number without a name"),
        ("3 cost=$0.001570", "nor has this one"),
        ("turns=3 and 665", "a number of prose"),
        (
            "turns=3 665 cost=$0.001570",
            "a number of prose between them",
        ),
        ("turns=3 messages=6", "two small numbers"),
        ("turns=3 cost=$0.25", "two digits"),
        ("turns=3 cost=$0.001580", "the cost itself is wrong"),
        ("turns=2 in=269", "one of a list"),
        ("turns=3 total=945", "a claim of no run"),
        ("turns=3 in=512", "a constant"),
        ("tools=3 cost=$0.001570", "the run has no such count"),
        ("wall=3 cost=$0.001570", "no count at all"),
        ("price=$7 in=665", "a price is no count"),
        (
            "turns=3 turns=2 cost=$0.001570",
            "one name twice is a table",
        ),
        ("turns=3\ncost=$0.001570", "another line"),
    ] {
        assert_eq!(wrong(text), [""; 0], "{why}");
    }
}

#[test]
fn numbers_of_one_line_stand_at_most_twenty_four_characters_apart() {
    let apart = |blanks: usize| wrong(&format!("turns=3{}cost=$0.001570", " ".repeat(blanks)));
    // The name and the sign stand between the numbers, too.
    assert_eq!(apart(24 - "cost=$".len()).len(), 1);
    assert_eq!(apart(25 - "cost=$".len()).len(), 0);
}

#[test]
fn the_last_line_of_one_file_and_the_first_of_the_next_are_two() {
    let locale = Locale::parse("ar").unwrap();
    let mut edition = Edition::default();
    edition.add("one.txt", "cost=$0.001570", &locale, &KNOWN);
    edition.add("two.txt", "turns=3 status=1", &locale, &KNOWN);
    let report = check(edition, None, &KNOWN).unwrap();
    assert_eq!(contradictions(&report), [""; 0]);
}
