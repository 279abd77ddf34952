use std::cell::Cell;
use std::fs;

use super::*;

fn builtin(name: &str) -> Scenario {
    Scenario::builtin(name).unwrap()
}

/// A reply on one line: its prose, or its calls.
fn shown(said: &Said) -> String {
    let calls = said
        .tool_calls
        .iter()
        .map(|call| format!("{}: {} {}", call.id, call.name, call.arguments));
    let parts: Vec<_> = said.content.iter().cloned().chain(calls).collect();
    parts.join(" | ")
}

const HINT: &str = "Error: no such file: timeout.log. Call list_files to see what exists.";
const DECLINED: &str = "[]\nThe user declined this call: not today";

/// Scenario, turn, the tool results so far, and the reply.
#[rustfmt::skip]
const REPLIES: &[(&str, u32, &str, &str)] = &[
    ("plan", 0, "", "c1: list_files {}"),
    ("plan", 1, "[]", r#"c2: read_file {"path":"errors.log"}"#),
    ("plan", 2, "[]\nx", "errors.log mentions a timeout: worker 7 timed out after 30000 ms."),
    ("plan", 9, "[]\nx", "errors.log mentions a timeout: worker 7 timed out after 30000 ms."),
    ("runaway", 0, "", "c0: list_files {}"),
    ("runaway", 4_000_000_000, "x", "c4000000000: list_files {}"),
    ("recover", 0, "", r#"c1: read_file {"path":"timeout.log"}"#),
    ("recover", 1, HINT, "c2: list_files {}"),
    ("recover", 2, HINT, r#"c3: read_file {"path":"errors.log"}"#),
    ("recover", 3, HINT, "errors.log mentions a timeout."),
    ("recover", 1, "Error", "I could not read the file, so I do not know."),
    ("denied", 0, "", r#"c0: read_file {"path":"/etc/shadow"}"#),
    ("denied", 11, "Error", r#"c11: read_file {"path":"/etc/shadow"}"#),
    ("once", 0, "", r#"c1: read_file {"path":"errors.log"}"#),
    ("once", 1, "x", "errors.log mentions a timeout."),
    ("repeat", 0, "", r#"c1: read_file {"path":"errors.log"}"#),
    ("repeat", 1, "x", r#"c2: read_file {"path":"errors.log"}"#),
    ("repeat", 2, "x\nx", "errors.log mentions a timeout."),
    ("destructive", 0, "", "c1: list_files {}"),
    ("destructive", 1, "[]", r#"c2: delete_file {"path":"access.log"}"#),
    ("destructive", 2, "[]\nok", "Deleted access.log to free space."),
    ("destructive", 2, "[]\n", "Deleted access.log to free space."),
    ("destructive", 2, DECLINED, "I did not delete anything: you declined the deletion."),
    ("delete-twice", 0, "", r#"c1: delete_file {"path":"access.log"}"#),
    ("delete-twice", 1, "ok", r#"c2: delete_file {"path":"access.log"}"#),
    ("delete-twice", 2, "ok\nok", "Deleted access.log."),
    ("archive", 0, "", "c1: scan_archive {}"),
    ("archive", 1, "ok", "The archive is scanned."),
    ("parallel", 0, "", r#"c1: list_files {} | c2: read_file {"path":"errors.log"}"#),
    ("parallel", 1, "[]\nx", "errors.log mentions a timeout: worker 7 timed out after 30000 ms."),
    ("delegate", 0, "", r#"c1: research {"question":"Which file mentions a timeout?"}"#),
    ("delegate", 1, "a timeout", "errors.log mentions a timeout."),
    ("delegate", 1, "Error", "The research found no timeout."),
    ("research", 0, "", r#"c1: read_file {"path":"errors.log"}"#),
    ("research", 1, "x", r#"c2: read_file {"path":"notes.txt"}"#),
];

#[test]
fn every_embedded_scenario_replies_as_it_should() {
    for (name, turn, results, reply) in REPLIES {
        let said = builtin(name).reply(*turn, &|| (*results).to_owned());
        assert_eq!(
            shown(&said),
            *reply,
            "{name} at turn {turn} after {results:?}"
        );
        assert_eq!(
            said.content.is_none(),
            !said.tool_calls.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn deletions_with_a_key_differ_in_their_keys_only() {
    let arguments = |name, turn| {
        let said = builtin(name).reply(turn, &String::new);
        said.tool_calls[0].arguments.clone()
    };
    let key = |n| format!(r#"{{"path":"access.log","idempotency_key":"free-space-{n}"}}"#);
    assert_eq!(arguments("delete-twice-same-key", 0), key(1));
    assert_eq!(arguments("delete-twice-same-key", 1), key(1));
    assert_eq!(arguments("delete-twice-two-keys", 0), key(1));
    assert_eq!(arguments("delete-twice-two-keys", 1), key(2));
}

#[test]
fn all_embedded_scenarios_are_right_and_bear_their_file_names() {
    assert_eq!(builtin_names().len(), 22);
    for name in builtin_names() {
        assert_eq!(builtin(name).name(), name);
        assert!(!builtin(name).title().is_empty(), "{name}");
    }
    assert!(Scenario::builtin("nothing").is_none());
}

#[test]
fn the_turn_fills_every_text_of_a_reply() {
    let scenario = Scenario::from_toml(
        "s",
        r#"
        title = "t"
        [[step]]
        say = "{turn}, {turn} and {turns}"
        calls = [
            { id = "a{turn}", tool = "x", arguments = { n = 1.0, deep = [{ s = "\"{turn}\"" }] } },
            { id = "b{turn}", tool = "x", arguments_text = "{turn}: not json" },
        ]
        "#,
    );
    let said = scenario.unwrap().reply(7, &String::new);
    assert_eq!(said.content.as_deref(), Some("7, 7 and {turns}"));
    let calls: Vec<_> = said
        .tool_calls
        .iter()
        .map(|c| (&*c.id, &*c.arguments))
        .collect();
    assert_eq!(
        calls,
        [
            ("a7", r#"{"n":1,"deep":[{"s":"\"7\""}]}"#),
            ("b7", "7: not json")
        ]
    );
}

#[test]
fn results_are_asked_for_once_and_only_where_a_step_depends_on_them() {
    let asked = Cell::new(0);
    let results = || {
        asked.set(asked.get() + 1);
        String::new()
    };
    let total = |name, turn| {
        let _ = builtin(name).reply(turn, &results);
        asked.take()
    };
    assert_eq!(total("runaway", 1), 0);
    assert_eq!(total("recover", 0), 0);
    assert_eq!(total("recover", 1), 1);
    assert_eq!(total("destructive", 1), 0);
}

#[test]
fn unless_excludes_what_it_matches() {
    let text = "title = 't'\n[[step]]\nwhen = 'a'\nunless = 'b'\nsay = 'yes'\n[[step]]\nsay = 'no'";
    let scenario = Scenario::from_toml("s", text).unwrap();
    let says = |results: &str| scenario.reply(0, &|| results.to_owned()).content;
    assert_eq!(says("a").as_deref(), Some("yes"));
    assert_eq!(says("a\nb").as_deref(), Some("no"));
    assert_eq!(says("").as_deref(), Some("no"));
}

#[test]
fn a_conversation_tells_its_turn_and_its_results() {
    let result = |content: &str| Message::Tool {
        tool_call_id: "c".to_owned(),
        name: "t".to_owned(),
        content: content.to_owned(),
    };
    let spoken = || Message::Assistant {
        content: Some("x".to_owned()),
        tool_calls: vec![],
    };
    let messages = [spoken(), result("a"), result(""), spoken(), result("b")];
    assert_eq!(turn_index(&messages), 2);
    assert_eq!(results_text(&messages), "a\n\nb");
    assert_eq!((turn_index(&[]), results_text(&[])), (0, String::new()));
}

/// The problems of a scenario whose last step is right, in lines counted from its first step.
#[track_caller]
fn check(steps: &str, expected: &[&str]) {
    let text = format!("title = 't'\n{steps}\n[[step]]\nsay = 'end'\n");
    check_file(&text, expected);
}

#[track_caller]
fn check_file(text: &str, expected: &[&str]) {
    let found: Vec<_> = match Scenario::from_toml("s", text) {
        Ok(_) => vec![],
        Err(problems) => problems
            .iter()
            .map(|p| format!("{}:{}: {}", p.line, p.column, p.message))
            .collect(),
    };
    assert_eq!(found, expected, "{text}");
}

const UNREACHED: &str = "the step is never reached: steps before it reply to all that it matches";

#[test]
fn several_problems_are_reported_at_once() {
    check(
        "[[step]]\nturn = 0\nfrom_turn = 0\nwhen = '('\nsay = ''\n[[step]]\nunless = '[a'\n\
         calls = [{ id = 'x', tool = 't', arguments = {}, arguments_text = '' }]",
        &[
            "2:1: the step has no reply",
            "4:1: `turn` and `from_turn` in one step",
            "5:8: not a regular expression: unclosed group",
            "8:10: not a regular expression: unclosed character class",
            "9:17: the id `x` would come again at every turn of this step",
            "9:50: `arguments` and `arguments_text` in one call",
        ],
    );
}

#[test]
fn the_last_step_must_match_every_conversation() {
    let message = "the last step does not match every conversation";
    for condition in ["turn = 0", "from_turn = 1", "when = 'a'", "unless = 'a'"] {
        let text = format!("title = 't'\n[[step]]\n{condition}\nsay = 'x'\n");
        check_file(&text, &[&format!("2:1: {message}")]);
    }
    check_file("title = 't'\n[[step]]\nfrom_turn = 0\nsay = 'x'\n", &[]);
    check_file("title = 't'\nstep = []\n", &["2:8: must not be empty"]);
}

#[test]
fn a_step_that_is_never_reached_is_a_problem() {
    let step = |conditions: &str| format!("[[step]]\n{conditions}\nsay = 'x'\n");
    let reached = |steps: &[&str]| steps.iter().map(|s| step(s)).collect::<Vec<_>>().concat();
    check(
        &reached(&["", "turn = 3"]),
        &[&format!("5:1: {UNREACHED}"), &format!("9:1: {UNREACHED}")],
    );
    check(
        &reached(&["turn = 3", "turn = 3\nwhen = 'a'"]),
        &[&format!("5:1: {UNREACHED}")],
    );
    check(
        &reached(&["when = 'a'", "turn = 3\nwhen = 'a'"]),
        &[&format!("5:1: {UNREACHED}")],
    );
    check(
        &reached(&["turn = 1", "turn = 0", "from_turn = 2"]),
        &[&format!("12:1: {UNREACHED}")],
    );
    check(&reached(&["turn = 0", "from_turn = 2"]), &[]);
    check(
        &reached(&["when = 'a'", "turn = 3\nunless = 'a'", "turn = 3"]),
        &[],
    );
    check(
        &reached(&["when = 'a'\nunless = 'a'"]),
        &["2:1: the step is never reached: its `when` and `unless` are the same"],
    );
}

#[test]
fn ids_that_would_come_twice_in_a_run_are_a_problem() {
    let step = |turn: &str, ids: &[&str]| {
        let calls: Vec<_> = ids
            .iter()
            .map(|id| format!("{{ id = '{id}', tool = 't' }}"))
            .collect();
        format!("[[step]]\n{turn}\ncalls = [{}]\n", calls.join(", "))
    };
    let two = |a: (&str, &str), b: (&str, &str)| step(a.0, &[a.1]) + &step(b.0, &[b.1]);
    check(
        &step("turn = 0", &["a", "a"]),
        &["4:43: the id `a` comes twice in one step"],
    );
    check(
        &step("when = 'x'", &["a"]),
        &["4:17: the id `a` would come again at every turn of this step"],
    );
    check(
        &two(("turn = 0", "a"), ("turn = 1", "a")),
        &["7:17: the id `a` is also that of a call at turn 0"],
    );
    check(
        &two(("turn = 0", "c1"), ("from_turn = 1\nwhen = 'x'", "c{turn}")),
        &["4:17: the id `c1` is also that of a call at turn 1"],
    );
    check(
        &two(("turn = 0", "c1"), ("from_turn = 2\nwhen = 'x'", "c{turn}")),
        &[],
    );
    check(&two(("turn = 2", "c01"), ("when = 'x'", "c{turn}")), &[]);
    check(&two(("turn = 0\nwhen = 'x'", "a"), ("turn = 0", "a")), &[]);
    check(&two(("turn = 0", "c{turn}"), ("turn = 1", "c{turn}")), &[]);
}

#[test]
fn keys_and_values_of_the_wrong_form_are_problems() {
    check(
        "[[step]]\nturns = 0\nturn = -1\nsay = 5\n[[step]]\n\
         calls = [{ id = '', name = 't', tool = '', arguments = 'x' }]",
        &[
            "3:1: unknown key `turns`",
            "4:8: must be 0 or more",
            "5:7: expected a text in quotes, found the number 5",
            "7:17: must not be empty",
            "7:21: unknown key `name`",
            "7:40: must not be empty",
            "7:56: expected a table, found a text",
            &format!("8:1: {UNREACHED}"),
        ],
    );
    check_file(
        "title = ''\n",
        &["1:1: missing key `step`", "1:9: must not be empty"],
    );
    check(
        "[[step]]\nturn = 0\nsay = 'x",
        &["4:9: invalid literal string, expected `'`"],
    );
}

#[test]
fn a_name_means_a_file_of_the_folder_before_an_embedded_scenario() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("scenarios");
    fs::create_dir(&folder).unwrap();
    let text = |title| format!("title = '{title}'\n[[step]]\nsay = 'x'\n");
    fs::write(folder.join("plan.toml"), text("my plan")).unwrap();
    fs::write(base.path().join("other.toml"), text("my other")).unwrap();
    let title = |reference| {
        let scenario = Scenario::load(reference, base.path()).unwrap();
        format!("{}: {}", scenario.name(), scenario.title())
    };
    assert_eq!(title("plan"), "plan: my plan");
    assert_eq!(title("other.toml"), "other: my other");
    assert_eq!(title("once"), format!("once: {}", builtin("once").title()));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones_and_the_nearest() {
    let base = tempfile::tempdir().unwrap();
    let error = |reference| Scenario::load(reference, base.path()).unwrap_err();
    let text = error("runawy").to_string();
    assert!(
        text.starts_with(
            "unknown scenario `runawy`\n  help: did you mean `runaway`? known scenarios: `archive`, "
        ),
        "{text}"
    );
    for outside in ["../plan", "", ".", "/etc/passwd"] {
        let error = error(outside);
        assert!(matches!(error, ScenarioError::Unknown { .. }), "{error}");
    }
    let error = error("none.toml");
    assert!(
        matches!(error, ScenarioError::Read(ReadError::Io { .. })),
        "{error}"
    );
}

#[test]
fn a_very_large_scenario_is_refused_unread() {
    let base = tempfile::tempdir().unwrap();
    let file = fs::File::create(base.path().join("s.toml")).unwrap();
    file.set_len(100 << 20).unwrap();
    let error = Scenario::load("s.toml", base.path()).unwrap_err();
    assert!(
        matches!(error, ScenarioError::Read(ReadError::TooLarge { .. })),
        "{error}"
    );
}

#[test]
fn the_schema_describes_every_key() {
    let schema = Scenario::schema();
    for definition in ["StepFile", "CallFile"] {
        let properties = schema["$defs"][definition]["properties"]
            .as_object()
            .unwrap();
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{key}");
        }
    }
}

const FAILING: &str = r#"
title = "Slow, and fails at first"
latency = "ttft=200ms,per_token=10ms"
faults = ["turn=1,first=2,kind=429,retry_after=3", "kind=500,turn=7"]

[[step]]
turn = 0
say = "Thinking."
usage = { cached_tokens = 100, reasoning_tokens = 20 }

[[step]]
say = "Done."
usage = { prompt_tokens = 5, completion_tokens = 6 }
"#;

#[test]
fn latency_faults_and_usage_are_part_of_a_script() {
    let scenario = Scenario::from_toml("failing", FAILING).unwrap();
    assert_eq!(scenario.pace().of_turn(0, 3).as_millis(), 230);
    let kinds: Vec<_> = scenario.faults().iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::RateLimited, FaultKind::ServerError]);
    let counted = Usage {
        prompt_tokens: 60,
        completion_tokens: 3,
        ..Usage::default()
    };
    let usage = |turn| scenario.answer(turn, &String::new).usage.apply(counted);
    let first = Usage {
        prompt_tokens: 60,
        completion_tokens: 23,
        cached_tokens: Some(60),
        cache_write_tokens: None,
        reasoning_tokens: 20,
    };
    let second = Usage {
        prompt_tokens: 5,
        completion_tokens: 6,
        cached_tokens: Some(0),
        ..Usage::default()
    };
    assert_eq!((usage(0), usage(1)), (first, second));
}

#[test]
fn a_wrong_line_is_reported_where_it_stands() {
    let text = FAILING
        .replace("ttft=200ms", "ttft=200")
        .replace("kind=500", "kind=teapot");
    let problems = Scenario::from_toml("failing", &text).unwrap_err();
    let places: Vec<_> = problems
        .iter()
        .map(|problem| (problem.line, problem.column, problem.message.as_str()))
        .collect();
    let why = "`200` is not a time of at most a day with its unit, `us`, `ms` or `s`";
    assert_eq!(
        places,
        [(3, 11, why), (4, 52, "`teapot` is not a kind of fault")]
    );
}
