//! Broken input from outside: each is refused with where it is, what is wrong and what to do.

use std::fmt::Write as _;
use std::fs::{self, File};

use crate::common::Folder;

/// An experiment in which `{}` stands for more settings and what follows them.
const EXPERIMENT: &str = "title = \"A\"\nabout = \"B\"\n[settings]\nscenario = \"plan\"\n\
                          max_turns = 9\n{}\n";

fn experiment(more: &str) -> String {
    EXPERIMENT.replace("{}", more)
}

/// What is said of an experiment file.
#[track_caller]
fn said_of(content: impl AsRef<[u8]>) -> String {
    let folder = Folder::empty();
    folder.write("x.toml", content);
    let said = folder.run(&["run", "x.toml"]).refused();
    assert_eq!(folder.files("").len(), 1, "nothing is written");
    said
}

#[test]
fn every_verb_refuses_a_broken_file_alike() {
    let folder = Folder::empty();
    folder.write("x.toml", experiment("seed = true"));
    let said = folder.run(&["run", "x.toml"]).refused();
    assert_eq!(folder.run(&["check", "x.toml"]).refused(), said);
    let list = folder.run(&["list", "experiments", "x.toml"]);
    assert_eq!(list.refused(), said);
}

/// What is wrong, and more of [`EXPERIMENT`] in which it is.
const BROKEN: &[(&str, &str)] = &[
    ("an unknown key", "max_turn = 9"),
    ("a wrong type", "max_tokens = \"many\""),
    ("an empty axis", "[[axis]]\nsetting = \"seed\"\nvalues = []"),
    (
        "an axis of nothing",
        "[[axis]]\nsetting = \"sead\"\nvalues = [1]",
    ),
    (
        "an axis twice",
        "[[axis]]\nsetting = \"seed\"\nvalues = [1]\n[[axis]]\nsetting = \"seed\"\nvalues = [2]",
    ),
    (
        "a zip of two lengths",
        "[[axis]]\nsetting = \"seed\"\nvalues = [1]\n[[axis]]\nsetting = \"latency_ms\"\nvalues = [2, 3]\n[[case]]\nname = \"c\"",
    ),
    (
        "a wrong value in an axis",
        "[[axis]]\nsetting = \"dedupe\"\nvalues = [\"off\", \"readonly\"]",
    ),
    (
        "a claim on no column",
        "[[claim]]\nid = \"c\"\nvalue = 3\ncell = { column = \"turn\" }",
    ),
    (
        "a claim on no cell",
        "[[axis]]\nsetting = \"seed\"\nvalues = [1, 2]\n[[claim]]\nid = \"c\"\nvalue = 3\ncell = { column = \"turns\", where = { seed = 3 } }",
    ),
    (
        "a claim on two cells",
        "[[axis]]\nsetting = \"seed\"\nvalues = [1, 2]\n[[claim]]\nid = \"c\"\nvalue = 3\ncell = { column = \"turns\" }",
    ),
    (
        "a claim twice",
        "[[claim]]\nid = \"c\"\nvalue = 3\ncell = { column = \"turns\" }\n[[claim]]\nid = \"c\"\nvalue = 3\ncell = { column = \"turns\" }",
    ),
    (
        "a table of no column",
        "[table]\ncaption = \"T\"\ncolumns = [\"turns\", \"cost\"]",
    ),
    ("a negative cap", "max_tokens = -5"),
    ("a budget of nan", "max_budget_usd = nan"),
    (
        "a budget with too many digits",
        "max_budget_usd = 0.0000000000001",
    ),
    ("a negative budget", "max_budget_usd = -0.01"),
    (
        "a cycle of sub-agents",
        "[[subagent]]\nname = \"a\"\ntools = [\"b\"]\ndescription = \"d\"\nscenario = \"plan\"\nmax_turns = 2\n\
             [[subagent]]\nname = \"b\"\ntools = [\"a\"]\ndescription = \"d\"\nscenario = \"plan\"\nmax_turns = 2",
    ),
    (
        "reserve without a cap",
        "max_budget_usd = 1\nbudget_check = \"reserve\"",
    ),
    ("no such price", "price = \"free\""),
    ("no such tool", "tools = [\"read_file\", \"write_file\"]"),
    ("no such folder", "workspace = \"nowhere\""),
    ("a key twice", "max_turns = 8"),
    ("no value", "seed ="),
];

#[test]
fn every_broken_experiment_is_told_with_its_place_and_what_would_be_right() {
    let mut told = String::new();
    for &(case, more) in BROKEN {
        let said = said_of(experiment(more));
        assert!(said.starts_with("x.toml:"), "{case}: {said}");
        let _ = writeln!(told, "# {case}\n{said}");
    }
    insta::assert_snapshot!("errors_experiment", told);
}

#[test]
fn every_problem_of_every_file_is_told_at_once() {
    let folder = Folder::empty();
    folder
        .write("experiments/b.toml", experiment("seed = true"))
        .write(
            "experiments/a.toml",
            "title = 'x'\nabout = 'y'\ncolour = 'red'\n[settings]\nscenario = 'plann'\n\
             price = 'gold'\nmax_turns = -1\nmax_budget_usd = nan\n[[axis]]\nsetting = 'seed'\n\
             values = [1, 2]\n[[claim]]\nid = 'c'\nvalue = 3\n\
             cell = { column = 'nope', where = { seed = 3 } }\n",
        )
        .write("experiments/notes.md", "not an experiment");
    insta::assert_snapshot!("errors_several", folder.run(&["run"]).refused());
}

#[test]
fn a_scenario_is_looked_for_and_its_problems_are_its_own() {
    let folder = Folder::empty();
    let scenario = |name: &str| EXPERIMENT.replace("plan", name).replace("{}", "");
    let mut told = String::new();
    for (name, content) in [
        ("plann", None),
        ("own.toml", None),
        (
            "own.toml",
            Some(
                "title = \"T\"\n[[step]]\nturns = 0\nsay = \"a\"\n[[step]]\nwhen = \"(\"\nsay = \"b\"\n",
            ),
        ),
        (
            "own.toml",
            Some("title = \"T\"\n[[step]]\nturn = 1\nsay = \"a\"\n"),
        ),
        (
            "own.toml",
            Some("title = \"T\"\n[[step]]\nwhen = \"a\"\nsay = \"b\"\nunless = \"[\"\n"),
        ),
        ("own.toml", Some("")),
        ("own.toml", Some("\u{feff}title = ")),
    ] {
        folder.write("x.toml", scenario(name));
        if let Some(content) = content {
            folder.write("own.toml", content);
        }
        let _ = writeln!(told, "# {name}: {content:?}");
        let said = folder.run(&["run", "x.toml"]).refused();
        let _ = writeln!(told, "{said}");
    }
    insta::assert_snapshot!("errors_scenario", told);
}

#[test]
fn what_cannot_be_a_text_is_refused_without_reading_it() {
    let folder = Folder::empty();
    folder.write(
        "x.toml",
        EXPERIMENT.replace("plan", "big.toml").replace("{}", ""),
    );
    let big = File::create(folder.path().join("big.toml")).unwrap();
    big.set_len(100 * 1024 * 1024).unwrap();
    folder.write("bytes.toml", b"title = \"\xff\xfe\"\n");
    fs::create_dir(folder.path().join("folder.toml")).unwrap();
    let mut told = String::new();
    for path in [
        "x.toml",
        "big.toml",
        "bytes.toml",
        "nowhere.toml",
        "nowhere/",
    ] {
        let said = folder.run(&["run", path]).refused();
        let _ = writeln!(told, "# {path}\n{said}");
    }
    insta::assert_snapshot!("errors_unreadable", told);
    for name in [".toml", "..toml", "...toml", "x.txt", "x\ny.toml"] {
        folder.write(name, experiment(""));
        let said = folder.run(&["run", name]).refused();
        assert!(said.contains("the name of an experiment"), "{said}");
    }
    let folder_is_empty = folder.run(&["list", "experiments", "folder.toml"]).ok();
    assert_eq!(folder_is_empty, "");
}

#[test]
fn two_experiments_of_one_name_are_refused() {
    let folder = Folder::empty();
    let claim = "[[claim]]\nid = \"c\"\nvalue = 3\ncell = { column = \"turns\" }";
    folder
        .write("one/x.toml", experiment(claim))
        .write("two/x.toml", experiment(""))
        .write("two/y.toml", experiment(claim));
    insta::assert_snapshot!("errors_names", folder.run(&["run", "one", "two"]).refused());
}

#[test]
fn a_name_that_no_experiment_has_is_told_with_those_that_there_are() {
    let folder = Folder::empty();
    let said = folder.run(&["run", "--only", "turncap"]).refused();
    assert!(
        said.starts_with("error: no experiment \"turncap\"; did you mean `turn-cap`?"),
        "{said}"
    );
    let said = folder
        .run(&["check", "--only", "plan", "--only", ""])
        .refused();
    assert!(said.contains("`budget-checks`"), "{said}");
}

#[test]
fn a_scenario_among_experiments_is_told_where_to_go() {
    let said = said_of("title = \"S\"\n[[step]]\nsay = \"done\"\n");
    assert!(said.contains("x.toml:2:1: this is a scenario"), "{said}");
    assert!(said.contains("into a folder `scenarios`"), "{said}");
    assert!(!said.contains("missing key"), "{said}");
}
