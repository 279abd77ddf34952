//! That all mistakes of a scenario are reported at once, and nothing that only follows.

use super::*;
use crate::document::faults::{Fault, every_two_are_reported};

fn read(text: &str) -> Result<(), Problems> {
    Scenario::from_toml("s", text).map(drop)
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
[[step]]
turn = 0
say = "zero"
[[step]]
turn = 1
when = "a"
say = "one"
[[step]]
turn = 2
unless = "b"
calls = [
    { id = "c1", tool = "t", arguments = { x = 1 } },
    { id = "c2", tool = "t" },
    { id = "c3", tool = "t", arguments = { x = 3 } },
    { id = "c4", tool = "t", arguments_text = "4" },
]
[[step]]
turn = 3
say = "three"
[[step]]
from_turn = 4
when = "d"
say = "four"
[[step]]
turn = 5
when = "e"
calls = [{ id = "e{turn}", tool = "t" }]
[[step]]
say = "end"
"#;

const FAULTS: &[Fault] = &[
    ("title = \"t\"", "title = ''", &[(0, "must not be empty")]),
    (
        "turn = 0\nsay = \"zero\"",
        "turn = 0\nsay = ''",
        &[(1, "the step has no reply")],
    ),
    (
        "when = \"a\"",
        "when = '('",
        &[(0, "not a regular expression: unclosed group")],
    ),
    (
        "say = \"one\"",
        "say = 1",
        &[(0, "expected a text in quotes, found the number 1")],
    ),
    (
        "unless = \"b\"",
        "unles = 'b'",
        &[(0, "unknown key `unles`")],
    ),
    (
        "\"c1\", tool = \"t\", arguments = { x = 1 }",
        "\"c1\", tool = \"t\", arguments = { x = 1 }, arguments_text = ''",
        &[(0, "`arguments` and `arguments_text` in one call")],
    ),
    (
        "\"c2\", tool = \"t\"",
        "\"c2\", tol = \"t\"",
        &[(0, "missing key `tool`"), (0, "unknown key `tol`")],
    ),
    (
        "id = \"e{turn}\"",
        "id = 'c3'",
        &[(0, "the id `c3` is also that of a call at turn 2")],
    ),
    (
        "arguments_text = \"4\"",
        "arguments_text = 4",
        &[(0, "expected a text in quotes, found the number 4")],
    ),
    ("turn = 3", "turn = -3", &[(0, "must be 0 or more")]),
    (
        "when = \"d\"",
        "turn = 4",
        &[(1, "`turn` and `from_turn` in one step")],
    ),
    (
        "[[step]]\nsay = \"end\"",
        "[[step]]\nunless = 'f'",
        &[
            (0, "the last step does not match every conversation"),
            (0, "the step has no reply"),
        ],
    ),
];

#[test]
fn each_mistake_is_reported_beside_any_other() {
    every_two_are_reported(RIGHT, FAULTS, read);
}

#[test]
fn one_mistake_of_every_layer_is_reported_at_its_place() {
    check(
        "titel = 't'\n[[step]]\nturn = 0\nwhen = '('\nsya = 'x'\n\
         [[step]]\nturn = 1\ncalls = [{ id = 'a', tool = 5 }, { id = 'a', tool = 't' }]\n\
         [[step]]\nturn = 1\nsay = 'never'\n\
         [[step]]\nwhen = 'x'\nsay = 'end'\n",
        &[
            "1:1: missing key `title`",
            "1:1: unknown key `titel`",
            "4:8: not a regular expression: unclosed group",
            "5:1: unknown key `sya`",
            "8:29: expected a text in quotes, found the number 5",
            "8:41: the id `a` comes twice in one step",
            "9:1: the step is never reached: steps before it reply to all that it matches",
            "12:1: the last step does not match every conversation",
        ],
    );
}

#[test]
fn what_only_follows_from_a_mistake_is_not_reported() {
    let end = "[[step]]\nsay = 'end'\n";
    for (steps, problem) in [
        // It has a reply, a turn and conditions, which are misspelt.
        ("turn = 0\nsya = 'x'\n", "4:1: unknown key `sya`"),
        ("turn = 0\ntext = 'x'\n", "4:1: unknown key `text`"),
        ("trun = 0\nsay = 'x'\n", "3:1: unknown key `trun`"),
        (
            "trun = 0\ncalls = [{ id = 'a', tool = 't' }]\n",
            "3:1: unknown key `trun`",
        ),
        ("whem = 'a'\nsay = 'x'\n", "3:1: unknown key `whem`"),
        (
            "turn = '0'\nsay = 'x'\n[[step]]\nturn = 0\nsay = 'y'\n",
            "3:8: expected a whole number, found a text",
        ),
        // One of the two turns goes.
        (
            "turn = 0\nsay = 'x'\n[[step]]\nturn = 0\nfrom_turn = 1\nwhen = 'x'\nsay = 'y'\n",
            "7:1: `turn` and `from_turn` in one step",
        ),
    ] {
        check(&format!("title = 't'\n[[step]]\n{steps}{end}"), &[problem]);
    }
    check(
        "step = 5\n",
        &[
            "1:1: missing key `title`",
            "1:8: expected a list, found the number 5",
        ],
    );
    check(
        "title = 't'\nstep = [5, { say = 'end' }]\n",
        &["2:9: expected a table, found the number 5"],
    );
}
