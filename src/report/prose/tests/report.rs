//! What is printed, and what scripts read.

use std::sync::LazyLock;

use super::*;

/// A claim, a list, a row, constants, a literal and a date.
static KNOWN: LazyLock<Ledger> = LazyLock::new(|| {
    Known::claims(&[
        ("cap.prompt_tokens", "337299"),
        ("cap.steps", "[204, 269, 342]"),
        ("cap.turns", "100"),
    ])
    .constants("chapters", "[13, 14]", None)
    .literal("server", "7.0.93")
    .date("read", "2026-09-07")
    .table("cap", "turns,wall_ms\n100,6908\n")
    .ledger()
});

fn report(text: &str) -> Report {
    check(edition(text, &KNOWN), None, &KNOWN).unwrap()
}

#[test]
fn each_number_is_named_with_what_covers_it() {
    let report = report("337,299 and 14, 7.0.93 on 2026-09-07: 6908, 337,229, 61");
    assert_eq!(
        messages(&report),
        [
            "337,299 claim cap.prompt_tokens",
            "14 constant chapters",
            "7.0.93 constant server",
            "2026-09-07 constant read",
            "6908 row cap.wall_ms",
            "337,229 contradicts 337299 (cap.prompt_tokens): one digit differs",
            "61 is covered by nothing: correct it, or declare it as a claim or a constant",
        ]
    );
    let tally = Tally {
        numbers: 7,
        claims: 1,
        rows: 1,
        constants: 3,
        contradictions: 1,
        uncovered: 1,
    };
    assert_eq!(report.tally(), tally);
}

#[test]
fn what_is_wrong_is_shown_in_its_surroundings_and_what_is_right_in_one_line() {
    let report = report("Chapter 14.\nFrom 337,229 to 61.");
    let lines: Vec<String> = report
        .edition
        .numbers
        .iter()
        .map(|number| report.line(number))
        .collect();
    assert_eq!(
        lines,
        [
            "text.txt:1:9: 14 constant chapters".to_owned(),
            "text.txt:2:6: 337,229 contradicts 337299 (cap.prompt_tokens): one digit differs\n    \
             … From 337,229 to 61. …"
                .to_owned(),
            format!("text.txt:2:17: 61 {UNCOVERED}\n    … From 337,229 to 61. …"),
        ]
    );
}

#[test]
fn an_annotation_is_an_error_and_of_an_uncovered_number_a_warning_if_that_is_wanted() {
    let mut edition = Edition::default();
    let locale = Locale::parse("ar").unwrap();
    edition.add("a:b,c%.txt", "14 337,229 50%\r", &locale, &KNOWN);
    let report = check(edition, None, &KNOWN).unwrap();
    let annotations = |lenient| {
        let numbers = report.edition.numbers.iter();
        let all = numbers.map(|number| report.annotation(number, lenient));
        all.collect::<Vec<_>>()
    };
    let file = "file=a%3Ab%2Cc%25.txt,line=1";
    let near = format!(
        "::error {file},col=4,title=contradicted number::337,229 contradicts 337299 \
         (cap.prompt_tokens): one digit differs … 14 337,229 50%25 …"
    );
    let uncovered = |level: &str| {
        format!(
            "::{level} {file},col=12,title=uncovered number::50 {UNCOVERED} … 14 337,229 50%25 …"
        )
    };
    let strict = [None, Some(near.clone()), Some(uncovered("error"))];
    assert_eq!(annotations(false), strict);
    let lenient = [None, Some(near), Some(uncovered("warning"))];
    assert_eq!(annotations(true), lenient);
}

#[test]
fn the_end_of_a_line_does_not_end_an_annotation() {
    let mut edition = Edition::default();
    let locale = Locale::parse("ar").unwrap();
    edition.add("a\r\nb", "61", &locale, &KNOWN);
    let report = check(edition, None, &KNOWN).unwrap();
    let annotation = report.annotation(&report.edition.numbers[0], false);
    assert!(annotation.unwrap().starts_with("::error file=a%0D%0Ab,"));
}

#[test]
fn the_summary_counts_numbers_and_names_the_claims_that_are_not_quoted() {
    let summary = "4 numbers: 3 match a claim, 0 a row, 0 a declared constant; \
                   0 contradict, 1 covered by nothing\n\
                   3 claims: 1 quoted; 1 partly: cap.steps; 1 missing: cap.turns";
    assert_eq!(report("337,299, 204, 342, 61").summary(), summary);
    let all = report("337,299; 204, 269, 342; 100 as $n^2$ c1 o200k_base");
    assert_eq!(
        all.summary(),
        "5 numbers: 5 match a claim, 0 a row, 0 a declared constant; 0 contradict, 0 covered by nothing\n\
         not read as numbers: 1 in formulas, 2 in names\n\
         3 claims: 3 quoted"
    );
}

#[test]
fn of_each_claim_it_is_told_which_of_its_numbers_are_missing() {
    let claims = report("204 and 342, 100").claims;
    let told: Vec<_> = claims
        .iter()
        .map(|claim| (claim.id.as_str(), claim.status, claim.missing.join(" ")))
        .collect();
    assert_eq!(
        told,
        [
            ("cap.prompt_tokens", Quotation::Missing, "337299".into()),
            ("cap.steps", Quotation::Partly, "269".into()),
            ("cap.turns", Quotation::Quoted, String::new()),
        ]
    );
    assert_eq!(claims[1].published, ["204", "269", "342"]);
}

#[test]
fn at_most_three_names_are_listed() {
    let names = ["a.x", "b.x", "c.x", "d.x", "e.x"];
    for (count, covering) in [
        (1, "a.x"),
        (3, "a.x, b.x, c.x"),
        (4, "a.x, b.x, c.x and 1 more"),
        (5, "a.x, b.x, c.x and 2 more"),
    ] {
        let claims: Vec<_> = names[..count].iter().map(|name| (*name, "88649")).collect();
        let ledger = Known::claims(&claims).ledger();
        assert_eq!(
            said("88,649", &ledger),
            [format!("88,649 claim {covering}")]
        );
    }
}

#[test]
fn a_number_that_can_be_several_things_is_counted_as_what_says_most() {
    let ledger = Known::claims(&[("a.x", "6908")])
        .constants("c", "6908", None)
        .table("t", "y\n6908\n")
        .ledger();
    let report = check(edition("6908", &ledger), None, &ledger).unwrap();
    let number = &report.edition.numbers[0];
    assert_eq!(report.status(number), Status::Claim);
    assert_eq!(report.covering(number), ["a.x", "c", "t.y"]);
}

#[test]
fn values_that_are_expected_twice_are_named_once() {
    let ledger = Known::claims(&[("a.x", "337299"), ("b.x", "337299")]).ledger();
    assert_eq!(
        said("337,229", &ledger),
        ["337,229 contradicts 337299 (a.x, b.x): one digit differs"]
    );
}

#[test]
fn json_tells_of_each_number_what_it_is_and_what_it_should_be() {
    let json = report("turns=100, 337,229 $7 c1").to_json("uk");
    assert_eq!(json["locale"], "uk");
    assert_eq!(json["files"][0], "text.txt");
    assert_eq!(json["asides"]["identifier"], 1);
    assert_eq!(json["tally"]["numbers"], 3);
    assert_eq!(json["claims"][2]["status"], "quoted");
    let turns = &json["numbers"][0];
    let expected = serde_json::json!({
        "file": "text.txt", "line": 1, "column": 7, "text": "100",
        "around": "turns=100, 337,229 $7 c1", "values": ["100"], "unit": "turns", "key": "turns",
        "status": "claim", "matches": ["cap.turns"], "contradicts": null,
    });
    assert_eq!(*turns, expected);
    let near = &json["numbers"][1];
    let expected = serde_json::json!({
        "cause": "near_miss", "ids": ["cap.prompt_tokens"], "expected": ["337299"],
    });
    assert_eq!(near["contradicts"], expected);
    assert_eq!(near["status"], "contradiction");
    assert_eq!(json["numbers"][2]["unit"], "usd");
    assert_eq!(json["numbers"][2]["status"], "uncovered");
}
