//! What is refused in an experiment file, and where; and what a small one gives.

use super::*;
use crate::document::Document;

const HEAD: &str = "title = \"t\"\nabout = \"a\"\n";

fn load(text: &str) -> Result<Experiment, Problems> {
    let document = Document::parse("x.toml", &format!("{HEAD}{text}"))?;
    Experiment::from_document("x", &document, &Home::Embedded)
}

/// `line:column: message` of every problem, lines counted from the first after the head.
fn problems(text: &str) -> Vec<String> {
    let Err(problems) = load(text) else {
        return Vec::new();
    };
    let print = |problem: &crate::document::Problem| {
        let line = problem.line.saturating_sub(HEAD.lines().count());
        format!("{line}:{}: {}", problem.column, problem.message)
    };
    problems.iter().map(print).collect()
}

const PLAN: &str = "[settings]\nscenario = \"plan\"\nmax_turns = 5\n";

#[test]
fn a_small_file_is_an_experiment() {
    let experiment = load(PLAN).unwrap();
    assert_eq!(experiment.runs(), 1);
    let cell = experiment.sweep().cell(0).unwrap();
    assert_eq!(
        (cell.id.as_str(), cell.settings.max_turns),
        ("cell", Some(5))
    );
}

#[test]
fn all_problems_of_a_file_are_found_at_once() {
    let text = "clock = \"sundial\"\n[settings]\nscenario = \"plan\"\nmax_turn = 5\nmax_turns = -1\n\
                max_budget_usd = nan\ntool_errors = \"loud\"\n";
    let found = problems(text);
    let lines: Vec<&str> = found.iter().filter_map(|p| p.split(':').next()).collect();
    assert_eq!(lines, ["1", "4", "5", "6", "7"], "{found:#?}");
}

#[test]
fn caps_and_budgets_are_positive_numbers() {
    for wrong in [
        "max_turns = -1",
        "max_turns = 0",
        "max_turns = 1.5",
        "max_turns = \"8\"",
        "max_budget_usd = -0.01",
        "max_budget_usd = nan",
        "max_budget_usd = inf",
        "max_budget_usd = 1e-3",
        "max_budget_usd = 0.00000000000001",
        "repeated_call = 1",
        "max_tokens = 0",
    ] {
        let text = format!("[settings]\nscenario = \"plan\"\nseed = 1\n{wrong}\n");
        let found = problems(&text);
        assert!(
            found.iter().any(|p| p.starts_with("4:")),
            "{wrong}: {found:?}"
        );
    }
}

#[test]
fn swept_values_are_checked_like_the_setting_that_they_stand_for() {
    let text = format!(
        "{PLAN}[[axis]]\nsetting = \"dedupe\"\nvalues = [\"off\", \"of\"]\n\
         [[axis]]\nsetting = \"max_turns\"\nvalues = [1, 0, -3]\n"
    );
    let found = problems(&text);
    let places: Vec<String> = found
        .iter()
        .map(|p| p.splitn(3, ':').take(2).collect::<Vec<_>>().join(":"))
        .collect();
    assert_eq!(places, ["6:18", "9:14", "9:17"], "{found:#?}");
}

#[test]
fn axes_are_refused_that_make_no_sweep() {
    let axis = |setting: &str, values: &str| {
        format!("[[axis]]\nsetting = \"{setting}\"\nvalues = {values}\n")
    };
    let check = |before: &str, axes: &[String], expected: &str| {
        let found = problems(&format!("{before}{PLAN}{}", axes.concat()));
        assert!(
            found.iter().any(|problem| problem.contains(expected)),
            "{expected}: {found:?}"
        );
    };
    check("", &[axis("max_turns", "[]")], "6:10:");
    check("", &[axis("max_turn", "[1]")], "5:11:");
    check(
        "",
        &[axis("seed", "[1]"), axis("seed", "[2]")],
        "8:11: `seed` is swept twice",
    );
    check(
        "",
        &[axis("seed", "[1, 2, 1]")],
        "6:17: this value was there before",
    );
    let uneven = [axis("seed", "[1, 2]"), axis("max_turns", "[1]")];
    check(
        "combine = \"zip\"\n",
        &uneven,
        "1 values beside 2 of `seed`",
    );
    let case = "[[case]]\nname = \"a\"\n".to_owned();
    check(
        "",
        &[axis("seed", "[1]"), case.clone()],
        "cases beside axes",
    );
    check("", &[case.clone(), case], "two cases are called `a`");
    let many: Vec<String> = (0..10_001).map(|n| n.to_string()).collect();
    let many = format!("[{}]", many.join(", "));
    check(
        "",
        &[axis("seed", &many), axis("latency_ms", &many)],
        "100020001 cells are too many",
    );
}

#[test]
fn settings_that_contradict_each_other_are_found_in_the_cell_that_has_them() {
    assert_eq!(
        problems("[settings]\nmax_turns = 1\n")[0],
        "1:1: no scenario: nobody plays the model"
    );
    let reserve =
        format!("{PLAN}[[axis]]\nsetting = \"budget_check\"\nvalues = [\"before\", \"reserve\"]\n");
    let found = problems(&reserve);
    assert_eq!(
        found,
        ["6:21: `reserve` does not know the most that a reply can cost"]
    );
    assert_eq!(
        problems(&format!(
            "{PLAN}[[case]]\nname = \"a\"\nsettings = {{ latency_ms = 1, latency = {{ distribution = \"constant\", median_ms = 2 }} }}\n"
        )),
        ["6:40: `latency` beside `latency_ms`"]
    );
    let unlimited = problems("[settings]\nscenario = \"plan\"\n");
    assert_eq!(
        unlimited,
        ["1:1: no limit: a model that never answers would never stop"]
    );
    assert_eq!(problems(&format!("repeat = 2\n{PLAN}")).len(), 1);
}

#[test]
fn what_a_file_names_must_exist() {
    let found = problems(
        "[settings]\nscenario = \"plann\"\nmax_turns = 1\ntools = [\"list_file\"]\n\
         price = \"chapters\"\nworkspace = \"/no/such/folder\"\n",
    );
    let starts = [
        "2:12: no scenario `plann`",
        "4:10: no tool `list_file`",
        "5:9: no price",
        "6:13:",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (problem, start) in found.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem} / {start}");
    }
}

fn sub_agent(name: &str, tools: &str) -> String {
    format!(
        "[[subagent]]\nname = \"{name}\"\ndescription = \"d\"\nscenario = \"research\"\n\
         max_turns = 2\ntools = {tools}\n"
    )
}

#[test]
fn sub_agents_must_not_lead_back_to_themselves() {
    let cyclic = [
        sub_agent("a", "[\"b\"]"),
        sub_agent("b", "[\"list_files\", \"a\"]"),
    ]
    .concat();
    let found = problems(&format!("{PLAN}{cyclic}"));
    assert_eq!(
        found,
        [
            "9:9: a cycle of sub-agents: a → b → a",
            "15:9: a cycle of sub-agents: b → a → b",
        ]
    );
    let itself = problems(&format!("{PLAN}{}", sub_agent("a", "[\"a\"]")));
    assert_eq!(itself, ["9:9: a cycle of sub-agents: a → a"]);
    let unknown = problems(&format!("{PLAN}{}", sub_agent("a", "[\"c\"]")));
    assert_eq!(unknown, ["9:10: no tool `c`"]);
    assert!(load(&format!("{PLAN}{}", sub_agent("a", "[\"list_files\"]"))).is_ok());
}

fn swept(claim: &str) -> String {
    format!(
        "{PLAN}[[axis]]\nsetting = \"max_turns\"\nvalues = [1, 2]\n\
         [[axis]]\nsetting = \"dedupe\"\nvalues = [\"off\", \"all\"]\n\
         [[claim]]\nid = \"c\"\nvalue = 1\n{claim}\n"
    )
}

#[test]
fn a_claim_speaks_of_columns_and_cells_that_exist() {
    for (claim, expected) in [
        (
            "cell = { column = \"turn\", where = { max_turns = 1, dedupe = \"off\" } }",
            "no column `turn`",
        ),
        (
            "cell = { column = \"turns\", where = { max_turns = 3 } }",
            "no row has `max_turns`",
        ),
        (
            "cell = { column = \"turns\", where = { max_turns = 1 } }",
            "2 cells match where one is meant",
        ),
        (
            "cell = { column = \"turns\", where = { max_turn = 1 } }",
            "no column `max_turn`",
        ),
        (
            "cells = { column = \"child_turns\" }",
            "no column `child_turns`",
        ),
        ("count = { where = { nothing = 1 } }", "no column `nothing`"),
        ("setting = \"price.input\"", "no setting `price.input`"),
        (
            "setting = \"subagent.a.max_turns\"",
            "no setting `subagent.a.max_turns`",
        ),
        (
            "ratio = { column = \"turns\", of = { max_turns = 9 }, to = { max_turns = 1 } }",
            "no row has",
        ),
        ("", "0 ways to compute the claim"),
        (
            "sum = { column = \"turns\" }\nsetting = \"max_turns\"",
            "2 ways to compute the claim",
        ),
        (
            "clock = \"real\"\nsum = { column = \"turns\" }",
            "without a rule",
        ),
        (
            "rule = { below = true, at_most = 2 }\nsum = { column = \"turns\" }",
            "2 rules where one",
        ),
    ] {
        let found = problems(&swept(claim));
        assert!(
            found.iter().any(|problem| problem.contains(expected)),
            "{claim}: {found:?}"
        );
    }
    assert!(
        load(&swept(
            "cell = { column = \"turns\", where = { max_turns = 1, dedupe = \"off\" } }"
        ))
        .is_ok()
    );
    assert!(load(&swept("count = { where = { status = \"failed\" } }")).is_ok());
}

#[test]
fn tables_and_fits_speak_of_columns_that_exist() {
    let found = problems(&format!(
        "{PLAN}[table]\ncaption = \"c\"\ncolumns = [\"turns\", \"cost\"]\n[fit]\nx = \"turns\"\ny = \"tokens\"\n"
    ));
    assert_eq!(found, ["6:21: no column `cost`", "9:5: no column `tokens`"]);
}

#[test]
fn a_column_is_left_out_where_nothing_could_fill_it() {
    let names = |text: &str| -> Vec<String> {
        load(text)
            .unwrap()
            .cell_columns()
            .into_iter()
            .map(|column| column.name)
            .collect()
    };
    let plain = names(PLAN);
    for column in [
        "budget_overshoot_usd",
        "restored_turns",
        "child_turns",
        "sample",
        "deleted",
    ] {
        assert!(!plain.iter().any(|name| name == column), "{column}");
    }
    let budget = names(&format!("{PLAN}max_budget_usd = 0.01\n"));
    assert!(budget.iter().any(|name| name == "budget_overshoot_usd"));
    let real = names(&format!("clock = \"real\"\n{PLAN}"));
    assert_eq!(real[..5], ["sample", "n", "cpu_model", "cores", "os"]);
}

#[test]
fn the_schema_names_every_setting_and_describes_it() {
    let schema = schema_of::<Settings>();
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(properties.len(), 44);
    for (key, property) in properties {
        assert!(property["description"].is_string(), "{key}");
    }
    assert_eq!(format::SettingName::all().len(), properties.len());
}

/// The rows of all cells, by column.
fn rows_of(text: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let experiment = load(text).unwrap();
    let names: Vec<String> = experiment
        .cell_columns()
        .into_iter()
        .map(|c| c.name)
        .collect();
    let mut rows = Vec::new();
    let execution = Execution {
        jobs: 2,
        host: &Host::here(),
        progress: &mut |_| {},
        stop: &|| false,
    };
    let taken = experiment.execute(execution, &mut |taken: CellRows| -> Result<(), String> {
        let cells = taken.cell.iter().map(ToString::to_string);
        rows.push(names.iter().cloned().zip(cells).collect());
        Ok(())
    });
    taken.unwrap();
    rows
}

#[test]
fn a_run_killed_after_any_turn_ends_like_one_that_never_was() {
    let scenarios =
        r#"["plan", "recover", "repeat", "delete-twice", "archive", "parallel", "runaway"]"#;
    let settings = "[settings]\nmax_turns = 5\napproval = \"granted\"\nlatency_ms = 7\n";
    let axis = format!("[[axis]]\nsetting = \"scenario\"\nvalues = {scenarios}\n");
    let killed = "[[axis]]\nsetting = \"restart_after_turn\"\nvalues = [1, 2, 3, 4, 5, 6]\n";
    let whole = rows_of(&format!("{settings}{axis}"));
    let killed = rows_of(&format!("{settings}{axis}{killed}"));
    assert_eq!(killed.len(), whole.len() * 6);
    for row in &killed {
        let same = whole
            .iter()
            .find(|whole| whole["scenario"] == row["scenario"])
            .unwrap();
        for (column, value) in same {
            assert_eq!(row[column], *value, "{column} of {row:?}");
        }
    }
    let restored: Vec<&str> = killed
        .iter()
        .take(6)
        .map(|row| row["restored_turns"].as_str())
        .collect();
    assert_eq!(restored, ["1", "2", "", "", "", ""]);
}

#[test]
fn a_stop_reaches_the_run_behind_a_tool() {
    let text = format!(
        "[settings]\nscenario = \"delegate\"\nmax_turns = 5\nlatency_ms = 100\nstop_at_ms = 250\n{}",
        sub_agent("research", "[\"read_file\"]")
    );
    let rows = rows_of(&text);
    assert_eq!(rows[0]["status"], "interrupted");
    assert_eq!(rows[0]["wall_ms"], "250");
    assert_eq!(
        (rows[0]["turns"].as_str(), rows[0]["child_turns"].as_str()),
        ("1", "1")
    );
}
