use std::fs;
use std::io::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;

mod mend;

/// What a file about a fruit stall may say.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stall {
    /// Who sells.
    owner: String,
    #[schemars(range(min = 1))]
    max_crates: Option<u32>,
    price: Option<f64>,
    level: Option<i8>,
    ripeness: Option<Ripeness>,
    packing: Option<Packing>,
    #[serde(default)]
    open: bool,
    #[serde(default)]
    crates: Vec<Crate>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Crate {
    #[schemars(length(min = 1))]
    fruit: String,
    count: u16,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Ripeness {
    /// Wait.
    Green,
    /// Eat.
    Ripe,
    Rotten,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Packing {
    Bag { litres: u32 },
    Box { sides: Vec<u32> },
}

fn parse(text: &str) -> Document {
    Document::parse("stall.toml", text).unwrap()
}

/// What is wrong with a stall, one problem a line.
fn problems(text: &str) -> String {
    match Document::parse("stall.toml", text) {
        Ok(document) => document.decode::<Stall>().unwrap_err().to_string(),
        Err(problems) => problems.to_string(),
    }
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(problems(text), expected.join("\n"));
}

#[test]
fn a_right_text_becomes_its_type() {
    let document = parse(
        "owner = 'Ann'\nmax_crates = 0x10\nprice = 2\nripeness = 'ripe'\npacking.type = 'bag'\n\
         packing.litres = 1_000\n[[crates]]\nfruit = 'fig'\ncount = 65535\n",
    );
    let stall: Stall = document.decode().unwrap();
    assert_eq!(
        stall,
        Stall {
            owner: "Ann".to_owned(),
            max_crates: Some(16),
            price: Some(2.0),
            level: None,
            ripeness: Some(Ripeness::Ripe),
            packing: Some(Packing::Bag { litres: 1000 }),
            open: false,
            crates: vec![Crate {
                fruit: "fig".to_owned(),
                count: 65535
            }],
        }
    );
}

#[test]
fn all_problems_are_found_at_once_in_the_order_of_the_text() {
    check(
        "max_crate = 3\nripeness = 'rpe'\nprice = 'much'\nlevel = nan\n\n[[crates]]\nfruit = ''\n\
         cuont = 1\n",
        &[
            "stall.toml:1:1: missing key `owner`\n  help: add `owner`: Who sells.",
            "stall.toml:1:1: unknown key `max_crate`\n  help: did you mean `max_crates`? known keys \
             here: `owner`, `max_crates`, `price`, `level`, `ripeness`, `packing`, `open`, `crates`",
            "stall.toml:2:12: unknown value `rpe`\n  help: did you mean `ripe`? one of: `rotten`, \
             `green`, `ripe`",
            "stall.toml:3:9: expected a number, found a text",
            "stall.toml:4:9: not a finite number\n  help: write a number with digits",
            "stall.toml:6:1: missing key `count`\n  help: add `count`",
            "stall.toml:7:9: must not be empty",
            "stall.toml:8:1: unknown key `cuont`\n  help: did you mean `count`? known keys here: \
             `fruit`, `count`",
        ],
    );
}

#[test]
fn wrong_types_say_what_was_expected_and_what_to_write() {
    check(
        "owner = 5\nmax_crates = '5'\nopen = 'true'\ncrates = 7\nprice = [1]\n",
        &[
            "stall.toml:1:9: expected a text in quotes, found the number 5\n  help: write \"5\"",
            "stall.toml:2:14: expected a whole number, found a text\n  help: write 5 without quotes",
            "stall.toml:3:8: expected `true` or `false`, found a text\n  help: write true without \
             quotes",
            "stall.toml:4:10: expected a list, found the number 7\n  help: put it in square brackets",
            "stall.toml:5:9: expected a number, found a list",
        ],
    );
    check(
        "owner = ''\nripeness = 3\npacking = 'bag'",
        &[
            "stall.toml:2:12: expected a text in quotes, found the number 3\n  help: one of: \
             `rotten`, `green`, `ripe`",
            "stall.toml:3:11: expected a table, found a text",
        ],
    );
}

#[test]
fn numbers_out_of_range_say_the_limit() {
    let at = |line: &str| problems(&format!("owner = ''\n{line}"));
    for (line, expected) in [
        ("max_crates = 0", "2:14: must be 1 or more"),
        ("max_crates = -3", "2:14: must be 1 or more"),
        (
            "max_crates = 4294967296",
            "2:14: must be 4294967295 or less",
        ),
        (
            "max_crates = 5.0",
            "2:14: expected a whole number, found the number 5.0",
        ),
        (
            "max_crates = 5.5",
            "2:14: expected a whole number, found the number 5.5",
        ),
        ("level = 128", "2:9: must be 127 or less"),
        ("level = -129", "2:9: must be -128 or more"),
        ("level = 18446744073709551615", "2:9: must be 127 or less"),
        (
            "crates = [{ fruit = 'x', count = 65536 }]",
            "2:34: must be 65535 or less",
        ),
        (
            "price = 99999999999999999999",
            "2:9: number out of range\n  help: whole numbers have 64 bits",
        ),
        (
            "price = 1e999",
            "2:9: not a finite number\n  help: write a number with digits",
        ),
        (
            "price = 2020-01-01",
            "2:9: a date is not used here\n  help: write it as a text in quotes",
        ),
    ] {
        assert_eq!(at(line), format!("stall.toml:{expected}"), "{line}");
    }
}

#[test]
fn of_several_forms_the_one_that_was_meant_is_explained() {
    let at = |line: &str| problems(&format!("owner = ''\n{line}"));
    for (line, expected) in [
        (
            "packing = { type = 'bog', litres = 1 }",
            "2:20: unknown value `bog`\n  help: did you mean `box`? one of: `bag`, `box`",
        ),
        (
            "packing = { type = 'bag', litres = 'a' }",
            "2:36: expected a whole number, found a text",
        ),
        (
            "packing = { type = 'box', sides = [1, true] }",
            "2:39: expected a whole number, found `true`",
        ),
        (
            "packing = { litres = 3 }",
            "2:11: missing key `type`\n  help: add `type`",
        ),
    ] {
        assert_eq!(at(line), format!("stall.toml:{expected}"), "{line}");
    }
}

#[test]
fn all_syntax_mistakes_are_found_at_once() {
    let text = problems("owner = \nprice = 1 2\nopen = true\nopen = false\n[crates\n");
    let places: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("stall.toml"))
        .collect();
    assert_eq!(
        places,
        [
            "stall.toml:1:9: missing value",
            "stall.toml:2:9: `1 2` is not a value",
            "stall.toml:4:1: duplicate key `open`",
            "stall.toml:5:8: unclosed table, expected `]`",
        ]
    );
}

#[test]
fn columns_count_characters_and_spans_bytes() {
    let document = parse("\u{feff}# ü\r\nowner = 'ä'\r\ncrates = [{ 'fruit ü' = 1, x = 2 }]");
    let problems = document.decode::<Stall>().unwrap_err().into_vec();
    let at: Vec<_> = problems
        .iter()
        .map(|p| (p.line, p.column, &p.source()[p.span.clone()]))
        .collect();
    assert_eq!(
        at,
        [
            (3, 11, "{ 'fruit ü' = 1, x = 2 }"),
            (3, 11, "{ 'fruit ü' = 1, x = 2 }"),
            (3, 13, "'fruit ü'"),
            (3, 28, "x")
        ]
    );
}

#[test]
fn the_text_of_a_value_is_kept_as_written() {
    let document = parse("[a]\n\"b/c~\" = [0.010780, 1_0]\n");
    assert_eq!(document.source_at("/a/b~1c~0/0"), Some("0.010780"));
    assert_eq!(document.source_at("/a/b~1c~0/1"), Some("1_0"));
    assert_eq!(document.source_at("/a/x"), None);
    assert_eq!(child("/a", "b/c~"), "/a/b~1c~0");
}

#[test]
fn a_problem_with_what_is_missing_stands_at_the_table_around_it() {
    let document = parse("x = 1\n[a]\nb = 2\n");
    let place = |pointer| {
        let problem = document.problem(pointer, "m", None);
        (problem.line, problem.column)
    };
    assert_eq!(place("/a/b"), (3, 5));
    assert_eq!(place("/a/c/d"), (2, 1));
    assert_eq!(place("/z"), (1, 1));
    assert_eq!(place(""), (1, 1));
}

#[test]
fn a_value_can_be_checked_as_if_it_were_another_key() {
    let schema = schema_of::<Stall>();
    let check = |line: &str, key: &str| -> Vec<String> {
        let document = parse(&format!("owner = ''\ncrates = []\n{line}"));
        let mut mended = document.mended::<serde_json::Map<String, Value>>();
        let item = property_schema(&schema, key).unwrap();
        let definitions = &schema["$defs"];
        mended.fit("/list", &json!({ "items": item, "$defs": definitions }));
        let list = mended.document().json()["list"].clone();
        assert!(schema::faults(&list, &json!({ "items": item, "$defs": definitions })).is_empty());
        let problems = mended.findings().finish().unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        check("list = [1, 0, 'x', nan]", "max_crates"),
        [
            "stall.toml:3:12: must be 1 or more",
            "stall.toml:3:15: expected a whole number, found a text",
            "stall.toml:3:20: not a finite number\n  help: write a number with digits",
        ]
    );
    assert_eq!(
        check("list = ['ripe', 'green', 'blue']", "ripeness"),
        ["stall.toml:3:26: unknown value `blue`\n  help: one of: `rotten`, `green`, `ripe`"]
    );
    assert_eq!(property_schema(&schema, "nothing"), None);
}

#[test]
fn a_schema_that_is_wrong_is_a_problem_too() {
    let document = parse("x = 1");
    let mut mended = document.mended::<serde_json::Map<String, Value>>();
    mended.fit("/x", &json!({"type": 5}));
    let problems = mended.findings().finish().unwrap_err().into_vec();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.starts_with("the schema is unusable"));
}

#[test]
fn findings_of_a_caller_are_reported_together() {
    let document = parse("a = 1\nb = 2\n");
    let mut findings = Findings::new(&document);
    findings.add("/b", "second", "do this");
    findings.add_to_key("/a", "first", "do that");
    findings.extend([document.problem("/b", "third", None)]);
    assert_eq!(
        findings.finish().unwrap_err().to_string(),
        "stall.toml:1:1: first\n  help: do that\nstall.toml:2:5: second\n  help: do this\n\
         stall.toml:2:5: third"
    );
    assert_eq!(Findings::new(&document).finish(), Ok(()));
}

#[test]
fn deep_nesting_is_refused_without_overflowing_the_stack() {
    for text in [
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{ a = ".repeat(100_000)),
        format!("{}b = 1", "a.".repeat(100_000)),
        format!("[{}b]", "a.".repeat(100_000)),
        format!("a = {}1{}", "[".repeat(70), "]".repeat(70)),
    ] {
        let message = problems(&text);
        assert!(message.contains("nested too deeply"), "{message:.200}");
    }
    let a_bit = format!("a = {}1{}", "[".repeat(60), "]".repeat(60));
    assert!(parse(&a_bit).json()["a"].is_array());
}

#[test]
fn of_very_many_problems_a_hundred_are_listed_and_the_rest_counted() {
    let lines: Vec<_> = (0..250).map(|n| format!("k{n} = 1")).collect();
    let problems = parse(&lines.join("\n")).decode::<Stall>().unwrap_err();
    assert_eq!(problems.iter().count(), 100);
    assert_eq!(problems.left_out(), 151);
    assert!(problems.to_string().ends_with("\n… and 151 more"));
}

#[test]
fn a_file_that_is_too_large_is_refused_by_its_size_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.toml");
    let file = fs::File::create(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    let error = Document::read(&path).unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { .. }), "{error}");
    file.set_len(MAX_BYTES).unwrap();
    let error = Document::read(&path).unwrap_err();
    assert!(matches!(error, ReadError::Invalid(_)), "{error}");
}

#[test]
fn a_missing_file_and_a_folder_are_told_apart_from_a_wrong_text() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Document::read(&folder.path().join("none.toml")).unwrap_err();
    assert!(matches!(missing, ReadError::Io { .. }), "{missing}");
    let not_a_file = Document::read(folder.path()).unwrap_err();
    assert!(
        matches!(not_a_file, ReadError::NotAFile { .. }),
        "{not_a_file}"
    );
}

#[test]
fn bytes_that_are_not_utf8_are_found_by_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.toml");
    fs::File::create(&path)
        .and_then(|mut file| file.write_all(b"a = 'x'\n\xc3\xbc = 'M\xfcller'\nb = '\xff'\n"))
        .unwrap();
    let ReadError::Invalid(problems) = Document::read(&path).unwrap_err() else {
        panic!("the text is wrong");
    };
    let at: Vec<_> = problems
        .iter()
        .map(|p| (p.line, p.column, p.message.as_str()))
        .collect();
    assert_eq!(
        at,
        [
            (2, 7, "not UTF-8: byte 0xFC"),
            (3, 6, "not UTF-8: byte 0xFF")
        ]
    );
}

proptest::proptest! {
    #[test]
    fn no_text_makes_reading_fail_in_any_other_way_than_by_problems(text in "[a-c\\[\\]{}=.,'\"\n0-9#ü\\\\ ]{0,60}") {
        let places = match Document::parse("x", &text) {
            Ok(document) => document.decode::<Stall>().map_or_else(Problems::into_vec, |_| vec![]),
            Err(problems) => problems.into_vec(),
        };
        for problem in places {
            proptest::prop_assert!(problem.source().get(problem.span.clone()).is_some());
        }
    }

    #[test]
    fn a_column_is_the_number_of_characters_since_the_line_break(
        text in "[aüフ🦀\n]{0,3000}",
        offset in 0_usize..9000,
    ) {
        let problem = Problem::new(&Arc::new(Source::new("x", &text)), offset..offset, "", None);
        let before = &text[..problem.span.start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        proptest::prop_assert_eq!(problem.column, line.chars().count() + 1);
        proptest::prop_assert_eq!(problem.line, before.matches('\n').count() + 1);
    }
}
