use super::*;
use crate::results::claims::Published;
use crate::results::{Column, Filter, Kind, Schema, parse_decimal};

const CELLS: &str = "scenario,turns,prompt_tokens,cost_usd,status,wall_ms\n\
    once,2,446,0.001400,completed,1202\n\
    repeat,3,833,0.002450,completed,\n\
    runaway,50,88649,0.191200,max_turns_exceeded,3015\n\
    runaway,100,337299,0.702900,max_turns_exceeded,0\n";
const TURNS: &str = "cell,turn,prompt_tokens\n0,1,204\n0,2,269\n0,3,342\n";

fn rows(csv: &str) -> RowSet {
    RowSet::from_reader("x", csv.as_bytes(), Schema::ByName).unwrap()
}

fn pick(column: &str, by: &str, equals: &str) -> Pick {
    Pick {
        rows: RowsRef::Cells,
        column: column.to_owned(),
        filter: Filter::of(by, equals),
    }
}

fn everywhere(rows: RowsRef, column: &str) -> Pick {
    Pick {
        rows,
        column: column.to_owned(),
        filter: Filter::default(),
    }
}

fn outcome(
    published: &str,
    decimals: Option<u32>,
    rule: Rule,
    computed: Computation,
) -> ClaimOutcome {
    let (cells, turns) = (rows(CELLS), rows(TURNS));
    let claim = Claim {
        id: "x".to_owned(),
        published: Published::parse(published).unwrap(),
        decimals,
        rule,
        computed,
    };
    let sources = RowSources {
        cells: &cells,
        turns: Some(&turns),
        summary: None,
    };
    let settings = |path: &str| (path == "price.input").then(|| Decimal::new(200, 2));
    evaluate(&[claim], sources, &settings).remove(0)
}

fn verdict(published: &str, decimals: Option<u32>, computed: Computation) -> Verdict {
    outcome(published, decimals, Rule::Exact, computed).verdict
}

fn broken(computed: Computation) -> String {
    match verdict("1", None, computed) {
        Verdict::Broken(error) => error.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_cell_is_exact_to_the_last_digit() {
    let cost = || Computation::Cell(pick("cost_usd", "scenario", "once"));
    assert_eq!(verdict("0.001400", None, cost()), Verdict::Held);
    assert_eq!(verdict("0.0014", None, cost()), Verdict::Held);
    assert_eq!(verdict("0.001401", None, cost()), Verdict::NotHeld);
    assert_eq!(verdict("0.001", Some(3), cost()), Verdict::Held);
    assert_eq!(verdict("0.0014", Some(3), cost()), Verdict::NotHeld);
}

#[test]
fn a_list_must_agree_in_every_value_and_in_length() {
    let list = || Computation::Cells(everywhere(RowsRef::Turns, "prompt_tokens"));
    assert_eq!(verdict("[204, 269, 342]", None, list()), Verdict::Held);
    assert_eq!(verdict("[204, 342, 269]", None, list()), Verdict::NotHeld);
    assert_eq!(verdict("[204, 269]", None, list()), Verdict::NotHeld);
    let measured = outcome("[1]", None, Rule::Exact, list()).measured_text();
    assert_eq!(measured.as_deref(), Some("[204, 269, 342]"));
}

#[test]
fn ratios_differences_and_percentages_are_rounded_as_they_were_published() {
    let ratio = |column| Computation::Ratio {
        of: pick(column, "turns", "100"),
        to: pick(column, "turns", "50"),
    };
    assert_eq!(
        verdict("3.8", Some(1), ratio("prompt_tokens")),
        Verdict::Held
    );
    assert_eq!(verdict("3.7", Some(1), ratio("cost_usd")), Verdict::Held);
    assert_eq!(
        verdict("3.8", None, ratio("prompt_tokens")),
        Verdict::NotHeld
    );
    let (once, repeat) = (
        || pick("cost_usd", "scenario", "once"),
        || pick("cost_usd", "scenario", "repeat"),
    );
    let extra = Computation::Difference {
        of: repeat(),
        less: once(),
    };
    assert_eq!(verdict("0.001050", None, extra), Verdict::Held);
    let percent = Computation::PercentChange {
        from: once(),
        to: repeat(),
    };
    assert_eq!(verdict("75", Some(0), percent), Verdict::Held);
}

#[test]
fn counts_sums_and_settings_are_values_too() {
    let filter = Filter::of("status", "completed");
    let count = Computation::Count {
        rows: RowsRef::Cells,
        filter,
    };
    assert_eq!(verdict("2", None, count), Verdict::Held);
    let none = Computation::Count {
        rows: RowsRef::Cells,
        filter: Filter::of("status", "failed"),
    };
    assert_eq!(verdict("0", None, none), Verdict::Held);
    let distinct = |column| Computation::CountDistinct(everywhere(RowsRef::Cells, column));
    assert_eq!(verdict("2", None, distinct("status")), Verdict::Held);
    assert_eq!(verdict("3", None, distinct("wall_ms")), Verdict::Held);
    let sum = Computation::Sum(everywhere(RowsRef::Turns, "prompt_tokens"));
    assert_eq!(verdict("815", None, sum), Verdict::Held);
    let setting = |path: &str| Computation::Setting {
        path: path.to_owned(),
    };
    assert_eq!(verdict("2", None, setting("price.input")), Verdict::Held);
    assert_eq!(
        broken(setting("price.x")),
        "no setting `price.x` that is a number"
    );
}

#[test]
fn rules_of_kind_compare_without_being_exact() {
    let rule = |published: &str, rule| {
        let stop = Computation::Cell(pick("wall_ms", "scenario", "once"));
        outcome(published, None, rule, stop).verdict
    };
    assert_eq!(rule("1203", Rule::Below), Verdict::Held);
    assert_eq!(rule("1202", Rule::Below), Verdict::NotHeld);
    assert_eq!(
        rule("1200", Rule::WithinPercent(Decimal::ONE)),
        Verdict::Held
    );
    assert_eq!(
        rule("1100", Rule::WithinPercent(Decimal::ONE)),
        Verdict::NotHeld
    );
    assert_eq!(rule("2", Rule::AtMost(Decimal::from(1202))), Verdict::Held);
    assert_eq!(
        rule("9999", Rule::AtMost(Decimal::from(1201))),
        Verdict::NotHeld
    );
}

#[test]
fn an_external_claim_is_quoted() {
    let outcome = outcome("945", None, Rule::Exact, Computation::External);
    assert_eq!(
        (outcome.verdict, outcome.measured),
        (Verdict::External, None)
    );
}

#[test]
fn a_claim_that_is_wrong_about_the_rows_says_how() {
    let cell = |column, by, equals| broken(Computation::Cell(pick(column, by, equals)));
    assert!(cell("cost", "scenario", "once").starts_with("cells: no column `cost`"));
    assert!(cell("turns", "scenarios", "once").contains("did you mean `scenario`?"));
    assert!(cell("turns", "scenario", "onec").contains("did you mean `once`?"));
    assert_eq!(
        cell("turns", "scenario", "runaway"),
        "cells: 2 rows match where one is meant: add a condition"
    );
    assert_eq!(
        cell("status", "scenario", "once"),
        "cells: column `status` has \"completed\" where a number is meant"
    );
    assert_eq!(
        cell("wall_ms", "scenario", "repeat"),
        "cells: column `wall_ms` has no value where a number is meant"
    );
    let ratio = Computation::Ratio {
        of: pick("wall_ms", "scenario", "once"),
        to: pick("wall_ms", "turns", "100"),
    };
    assert_eq!(broken(ratio), "divides by zero");
}

#[test]
fn one_broken_claim_hides_no_other() {
    let cells = rows(CELLS);
    let claim = |computed| Claim {
        id: "x".to_owned(),
        published: Published {
            values: vec![parse_decimal("2").unwrap()],
            text: "2".to_owned(),
        },
        decimals: None,
        rule: Rule::Exact,
        computed,
    };
    let claims = [
        claim(Computation::Cells(everywhere(RowsRef::Turns, "turn"))),
        claim(Computation::Cell(pick("turns", "scenario", "once"))),
    ];
    let outcomes = evaluate(
        &claims,
        RowSources {
            cells: &cells,
            turns: None,
            summary: None,
        },
        &|_| None,
    );
    assert_eq!(outcomes[0].verdict, Verdict::Broken(ClaimError::NoTurns));
    assert_eq!(outcomes[1].verdict, Verdict::Held);
}

#[test]
fn a_cell_of_several_numbers_counts_as_a_list_of_them() {
    let mut cells = RowSet::new(vec![Column::new("progress_ms_list", Kind::Text)]).unwrap();
    cells.push(vec![Cell::from("500 1000")]).unwrap();
    let claim = |computed| Claim {
        id: "x".to_owned(),
        published: Published::parse("[500, 1000]").unwrap(),
        decimals: None,
        rule: Rule::Exact,
        computed,
    };
    let pick = everywhere(RowsRef::Cells, "progress_ms_list");
    let claims = [
        claim(Computation::Cells(pick.clone())),
        claim(Computation::Cell(pick)),
    ];
    let sources = RowSources {
        cells: &cells,
        turns: None,
        summary: None,
    };
    let outcomes = evaluate(&claims, sources, &|_| None);
    assert_eq!(outcomes[0].verdict, Verdict::Held);
    assert!(matches!(outcomes[1].verdict, Verdict::Broken(_)));
}
