//! That all mistakes of an experiment file are reported at once, and nothing that only follows.

use super::*;
use crate::document::Document;
use crate::document::faults::{Fault, every_half_is_reported};

fn read(text: &str) -> Result<(), Problems> {
    let document = Document::parse("x.toml", text)?;
    Experiment::from_document("x", &document, &Home::Embedded).map(drop)
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = read(text).err().map(Problems::into_vec).unwrap_or_default();
    let found: Vec<String> = problems
        .iter()
        .map(|p| format!("{}:{}: {}", p.line, p.column, p.message))
        .collect();
    assert_eq!(found, expected, "{text}");
}

const RIGHT: &str = r#"title = "t"
about = "a"
clock = "virtual"
combine = "product"
[settings]
scenario = "delegate"
price = "chapter"
workspace = "experiments/world"
max_budget_usd = 0.05
tool_errors = "worded"
budget_check = "reserve"
max_completion_tokens = 500
latency_ms = 5
approval = "ask"
verdict_reason = "r"
tools = ["research"]
[[axis]]
setting = "max_turns"
values = [1, 2, 3]
[[axis]]
setting = "dedupe"
values = ["off", "all"]
[[axis]]
setting = "seed"
values = [7]
[[axis]]
setting = "stop_reason"
values = ["a", "b"]
[[axis]]
setting = "system"
values = ["s"]
[[subagent]]
name = "research"
description = "looks into it"
scenario = "research"
max_turns = 2
tools = ["read_file"]
[[subagent]]
name = "second"
description = "looks again"
scenario = "once"
max_budget_usd = 0.01
tools = ["list_files"]
[[subagent]]
name = "third"
description = "looks thrice"
scenario = "plan"
max_turns = 3
tools = ["scan_archive"]
[table]
caption = "c"
columns = ["turns", "cost_usd"]
headings.turns = "Turns"
[[table.compared]]
column = "cost_usd"
show = "times_first"
heading = "Times"
[fit]
x = "turns"
y = "prompt_tokens"
[[claim]]
id = "one"
value = 1
cell = { column = "turns", where = { max_turns = 1, dedupe = "off", stop_reason = "a" } }
[[claim]]
id = "two"
value = 2.0
count = { where = { status = "failed" } }
[[claim]]
id = "three"
value = 3
ratio = { column = "cost_usd", of = { max_turns = 2, dedupe = "all", stop_reason = "b" }, to = { max_turns = 1, dedupe = "all", stop_reason = "b" } }
[[claim]]
id = "four"
value = 4
setting = "max_budget_usd"
[[claim]]
id = "five"
value = 5
sum = { column = "child_turns" }
[[claim]]
id = "six"
value = 6
decimals = 0
cells = { column = "wall_ms" }
[[claim]]
id = "seven"
value = 7
count_distinct = { column = "status" }
clock = "real"
rule = { below = true }
"#;

/// One of every kind, no two of which have to do with each other.
const FAULTS: &[Fault] = &[
    (
        r#"title = "t""#,
        "title = 1",
        &[(0, "expected a text in quotes, found the number 1")],
    ),
    (
        r#"about = "a""#,
        r#"abuot = "a""#,
        &[(1, "missing key `about`"), (0, "unknown key `abuot`")],
    ),
    (
        r#"clock = "virtual""#,
        r#"clock = "virtul""#,
        &[(0, "unknown value `virtul`")],
    ),
    (
        r#"combine = "product""#,
        r#"colour = "red""#,
        &[(0, "unknown key `colour`")],
    ),
    (
        r#"scenario = "delegate""#,
        r#"scenario = "delegat""#,
        &[(0, "no scenario `delegat`")],
    ),
    (
        r#"price = "chapter""#,
        r#"price = "chaptr""#,
        &[(0, "no price `chaptr`")],
    ),
    (
        r#"workspace = "experiments/world""#,
        r#"workspace = "no-such""#,
        &[(0, "no-such: No such file or directory (os error 2)")],
    ),
    (
        "max_budget_usd = 0.05",
        "max_budget_usd = 1e-3",
        &[(0, r#"not a decimal amount of dollars: "1e-3""#)],
    ),
    (
        r#"tool_errors = "worded""#,
        r#"tool_eror = "worded""#,
        &[(0, "unknown key `tool_eror`")],
    ),
    (
        "budget_check = \"reserve\"\nmax_completion_tokens = 500",
        "budget_check = \"reserve\"\n",
        &[(0, "`reserve` does not know the most that a reply can cost")],
    ),
    (
        r#"approval = "ask""#,
        r#"approval = "aks""#,
        &[(0, "unknown value `aks`")],
    ),
    (
        r#"verdict_reason = "r""#,
        r#"latency = { distribution = "constant", median_ms = 2 }"#,
        &[(0, "`latency` beside `latency_ms`")],
    ),
    (
        r#"tools = ["research"]"#,
        r#"tools = ["reserch"]"#,
        &[(0, "no tool `reserch`")],
    ),
    (
        "values = [1, 2, 3]",
        "values = [1, 2, 0]",
        &[(0, "must be 1 or more")],
    ),
    (
        r#"setting = "dedupe""#,
        r#"seting = "dedupe""#,
        &[(1, "missing key `setting`"), (0, "unknown key `seting`")],
    ),
    (
        r#"setting = "seed""#,
        r#"setting = "sed""#,
        &[(0, "unknown value `sed`")],
    ),
    (
        r#"values = ["s"]"#,
        r#"values = ["s", "s"]"#,
        &[(0, "this value was there before")],
    ),
    (
        r#"description = "looks into it""#,
        r#"description = ["looks into it"]"#,
        &[(0, "expected a text in quotes, found a list")],
    ),
    (
        r#"tools = ["read_file"]"#,
        r#"tools = ["read_file", "research"]"#,
        &[(0, "a cycle of sub-agents: research → research")],
    ),
    (
        r#"scenario = "once""#,
        r#"scenario = "onec""#,
        &[(0, "no scenario `onec`")],
    ),
    (
        "max_budget_usd = 0.01",
        r#"system = "s""#,
        &[(3, "a sub-agent without a limit")],
    ),
    (
        r#"tools = ["list_files"]"#,
        r#"tools = ["list_file"]"#,
        &[(0, "no tool `list_file`")],
    ),
    (
        r#"name = "third""#,
        r#"name = "second""#,
        &[(0, "two tools are called `second`")],
    ),
    (
        r#"caption = "c""#,
        r#"capton = "c""#,
        &[(1, "missing key `caption`"), (0, "unknown key `capton`")],
    ),
    (
        r#"columns = ["turns", "cost_usd"]"#,
        r#"columns = ["turns", "cost"]"#,
        &[(0, "no column `cost`")],
    ),
    (
        "column = \"cost_usd\"\nshow",
        "column = \"status\"\nshow",
        &[(
            3,
            "column `status` holds no numbers, so nothing can be computed from it: show its value",
        )],
    ),
    (
        r#"heading = "Times""#,
        "heading = true",
        &[(0, "expected a text in quotes, found `true`")],
    ),
    (
        r#"x = "turns""#,
        r#"x = "turn""#,
        &[(0, "no column `turn`")],
    ),
    (
        r#"y = "prompt_tokens""#,
        r#"z = "prompt_tokens""#,
        &[(2, "missing key `y`"), (0, "unknown key `z`")],
    ),
    (
        "value = 1\n",
        "value = \"1\"\n",
        &[(0, "expected a number or a list, found a text")],
    ),
    (
        r#"column = "turns", where = { max_turns = 1"#,
        r#"column = "turns", where = { max_turn = 1"#,
        &[(0, "no column `max_turn`")],
    ),
    ("count = {", "cuont = {", &[(0, "unknown key `cuont`")]),
    (
        r#"id = "three""#,
        r#"id = "two""#,
        &[(0, "two claims are called `two`")],
    ),
    (
        r#"stop_reason = "b" }, to"#,
        r#"stop_reason = "c" }, to"#,
        &[(
            0,
            r#"no row has `stop_reason` = "c" (did you mean `a`?); rows have: a, b"#,
        )],
    ),
    (
        r#"setting = "max_budget_usd""#,
        r#"setting = "prices.chapter""#,
        &[(0, "no setting `prices.chapter`")],
    ),
    (
        r#"sum = { column = "child_turns" }"#,
        r#"sum = { column = "child_turnz" }"#,
        &[(0, "no column `child_turnz`")],
    ),
    (
        "decimals = 0",
        r#"sum = { column = "turns" }"#,
        &[(2, "2 ways to compute the claim where one is meant")],
    ),
    (
        "rule = { below = true }",
        "rule = { below = true, at_most = 5 }",
        &[(0, "2 rules where one is meant")],
    ),
];

#[test]
fn each_mistake_is_reported_beside_any_other() {
    every_half_is_reported(RIGHT, FAULTS, read);
}

#[test]
fn one_mistake_of_every_layer_is_reported_at_its_place() {
    check(
        "title = \"t\"\nabout = \"a\"\nclok = \"real\"\n\
         [settings]\nscenario = \"pln\"\nmax_turns = 0\nmax_budget_usd = 1e-3\n\
         budget_check = \"reserve\"\n\
         [[axis]]\nsetting = \"dedupe\"\nvalues = [\"off\", \"al\", \"off\"]\n\
         [[subagent]]\nname = \"a\"\ndescription = \"d\"\nscenario = \"once\"\ntools = [\"a\"]\n\
         [[claim]]\nid = \"c\"\nvalue = 1\ncell = { column = \"trns\", where = { dedupe = \"all\" } }\n",
        &[
            "3:1: unknown key `clok`",
            "5:12: no scenario `pln`",
            "6:13: must be 1 or more",
            "7:18: not a decimal amount of dollars: \"1e-3\"",
            "8:16: `reserve` does not know the most that a reply can cost",
            "11:18: unknown value `al`",
            "11:24: this value was there before",
            "13:8: a sub-agent without a limit",
            "16:9: a cycle of sub-agents: a → a",
            "20:19: no column `trns`",
        ],
    );
}

const PLAN: &str = "[settings]\nscenario = \"plan\"\nmax_turns = 3\n";

fn axis(setting: &str, values: &str) -> String {
    format!("[[axis]]\nsetting = \"{setting}\"\nvalues = {values}\n")
}

/// A claim of a cell in which `setting` is 2.
fn claim_where(setting: &str) -> String {
    claim(&format!(
        "cell = {{ column = \"turns\", where = {{ {setting} = 2 }} }}"
    ))
}

fn claim(computed: &str) -> String {
    format!("[[claim]]\nid = \"c\"\nvalue = 1\n{computed}\n")
}

/// The text has one mistake, which is on this line after the head.
#[track_caller]
fn check_one(text: &str, line: usize) {
    let text = format!("title = \"t\"\nabout = \"a\"\n{text}");
    let problems = read(&text).unwrap_err();
    let lines: Vec<_> = problems.iter().map(|p| p.line - 2).collect();
    assert_eq!(lines, [line], "{text}\n{problems}");
}

#[test]
fn what_is_misspelt_is_not_missing() {
    check_one("[settings]\nscenari = \"plan\"\nmax_turns = 3\n", 2);
    check_one("[settings]\nscenario = \"plan\"\nmax_turn = 3\n", 3);
    check_one("[setings]\nscenario = \"plan\"\nmax_turns = 3\n", 1);
    let capped = format!("{PLAN}budget_check = \"reserve\"\nmax_completion_token = 9\n");
    check_one(&capped, 5);
    check_one(&format!("clock = \"rael\"\nrepeat = 2\n{PLAN}"), 1);
    let child = "[[subagent]]\nname = \"look\"\ndescription = \"d\"\nscenario = \"once\"\n";
    check_one(&format!("{PLAN}{child}max_turn = 1\n"), 8);
    let named = child.replace("name", "name = 1 #").replace("look", "x");
    check_one(
        &format!("{PLAN}tools = [\"look\"]\n{named}max_turns = 1\n"),
        6,
    );
}

#[test]
fn a_column_of_something_misspelt_is_not_missing() {
    let two = "[1, 2]";
    for setting in ["sed", "qqq"] {
        let text = [PLAN, &axis(setting, two), &claim_where("seed")].concat();
        check_one(&text, 5);
    }
    let text = [PLAN, &axis("seed", "[1, -2]"), &claim_where("seed")].concat();
    check_one(&text, 6);
    let case = format!("{PLAN}[[cas]]\nname = \"2\"\n");
    check_one(&(case + &claim_where("case")), 4);
    let child = format!("{PLAN}[[subagents]]\nname = \"a\"\n");
    check_one(&(child + &claim("cells = { column = \"child_turns\" }")), 4);
    let killed = format!("{PLAN}restart_after_trn = 1\n");
    check_one(
        &(killed + &claim("cells = { column = \"restored_turns\" }")),
        4,
    );
    let real = format!("clok = \"real\"\n{PLAN}");
    check_one(&(real + &claim("cells = { column = \"sample\" }")), 1);
}

#[test]
fn the_name_of_a_case_is_one_line() {
    let text = format!("{PLAN}[[case]]\nname = \"a\\n::error::b\"\n");
    check_one(&text, 5);
}

#[test]
fn cells_that_a_wrong_sweep_does_not_have_are_not_missed() {
    let two = |setting: &str| axis(setting, "[1, 2]");
    let twice = axis("seed", "[1]") + &axis("seed", "[2]");
    check_one(&(PLAN.to_owned() + &twice + &claim_where("seed")), 8);
    let uneven = axis("seed", "[1]") + &two("latency_ms");
    let uneven = format!("combine = \"zip\"\n{PLAN}{uneven}");
    check_one(&(uneven + &claim_where("latency_ms")), 10);
    let cases = [PLAN, &two("seed"), "[[case]]\nname = \"x\"\n"].concat();
    check_one(&(cases + &claim_where("seed")), 7);
    let zipped = two("seed") + &two("latency_ms");
    let zipped = format!("cmbine = \"zip\"\n{PLAN}{zipped}");
    check_one(&(zipped + &claim_where("seed")), 1);
}

#[test]
fn a_claim_with_a_misspelt_key_is_not_without_it() {
    for (wrong, line) in [
        ("cel = { column = \"turns\" }", 7),
        (
            "sum = { column = \"turns\" }\nclock = \"real\"\nrul = { below = true }",
            9,
        ),
        ("sum = { column = \"turns\" }\nrule = { belw = true }", 8),
        ("external = \"yes\"", 7),
    ] {
        check_one(&(PLAN.to_owned() + &claim(wrong)), line);
    }
    let price = format!("{PLAN}price = \"chaptr\"\n");
    check_one(
        &(price + &claim("setting = \"price.input_usd_per_million\"")),
        4,
    );
}

#[test]
fn a_list_or_table_of_the_wrong_kind_is_one_problem() {
    for wrong in [
        "axis = 5",
        "axis = [5]",
        "case = 5",
        "case = [5]",
        "claim = [5]",
        "claim = 5",
        "subagent = [5]",
        "table = 5",
        "fit = 5",
        "settings = 5",
        "axis = [{}]",
        "clock = 1979-05-27",
        "subagent = [nan]",
        "claim = [nan]",
    ] {
        let rest = "[settings]\nscenario = \"plan\"\nmax_turns = 3\n";
        let rest = if wrong.starts_with("settings") {
            ""
        } else {
            rest
        };
        let found = read(&format!("title = \"t\"\nabout = \"a\"\n{wrong}\n{rest}")).unwrap_err();
        assert!(found.iter().all(|p| p.line == 3), "{wrong}: {found}");
    }
}
