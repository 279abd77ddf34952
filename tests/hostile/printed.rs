//! What is printed and rendered of hostile words, and what it takes to handle them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;

use crate::wire::{Canned, json, refusal};

/// Words that clear a screen, change a title, colour by a single byte, turn text around, begin a
/// line of their own, and mean something to HTML, Markdown and a workflow's log.
pub(crate) const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}gpj.exe\u{2067}\u{2066}\u{2068}\u{2069}\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{2028}\r::error::x</script><b>`|\u{7f}\u{8}";

/// Whether something in a text acts on a terminal or turns its direction around.
fn acting(text: &str) -> Option<char> {
    let acts = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}')
    };
    text.chars().find(|letter| acts(*letter))
}

/// The same in a page, in which figures are isolated, and where a text ends with its element.
fn acting_in_a_page(text: &str) -> Option<char> {
    let ours = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2066}', '\u{2069}'];
    acting(&text.replace(ours, ""))
}

pub(crate) struct Done {
    pub(crate) text: String,
    pub(crate) code: Option<i32>,
    peak_kib: u64,
}

/// Runs `loopmeter` to its end. The peak of its memory is read while it runs, every millisecond
/// or so, from what Linux keeps of it; elsewhere it is 0.
pub(crate) fn loopmeter(folder: &Path, server: Option<&Canned>, args: &[&str]) -> Done {
    let log = |name: &str| fs::File::create(folder.join(name)).unwrap();
    let mut command = Command::new(cargo_bin!("loopmeter"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command.stdout(log("stdout")).stderr(log("stderr"));
    for name in [
        "LLM_BASE_URL",
        "LLM_API_KEY",
        "LLM_MODEL",
        "LOOPMETER_TOKEN",
    ] {
        command.env_remove(name);
    }
    if let Some(server) = server {
        command.env("LLM_BASE_URL", server.base_url());
        command.env("LLM_MODEL", "m");
    }
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let code = loop {
        peak_kib = peak_kib.max(peak(&status));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.code();
        }
        std::thread::yield_now();
    };
    let read = |name: &str| String::from_utf8(fs::read(folder.join(name)).unwrap()).unwrap();
    Done {
        text: read("stdout") + &read("stderr"),
        code,
        peak_kib,
    }
}

fn peak(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

pub(crate) fn reply(message: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#)
}

#[test]
fn nothing_that_an_agent_verb_prints_of_a_hostile_model_acts_on_a_terminal() {
    let words = serde_json::to_string(HOSTILE).unwrap();
    let answer = reply(&format!(r#"{{"content":{words}}}"#));
    let call = reply(&format!(
        r#"{{"content":{words},"tool_calls":[{{"id":{words},"function":{{"name":{words},"arguments":{words}}}}}]}}"#
    ));
    let wrong = format!(r#"{{"error":{{"message":{words}}}}}"#);
    let endings = [
        vec![json(&answer)],
        vec![json(&call), json(&answer)],
        vec![refusal(400, "", &wrong)],
        vec![json(HOSTILE)],
    ];
    for replies in endings {
        let folder = tempfile::tempdir().unwrap();
        let server = Canned::new(replies);
        for (server, args) in [
            (Some(&server), &["agent", "start", "--id", "r"][..]),
            (None, &["agent", "show", "r"]),
            (None, &["agent", "show", "r", "--json"]),
            (None, &["agent", "show", "r", "--trace"]),
            (None, &["agent", "list"]),
            (None, &["agent", "list", "--json"]),
            (None, &["whatif", ".loopmeter/runs/r/trace.jsonl"]),
            (None, &["whatif", ".loopmeter/runs/r/trace.jsonl", "--json"]),
        ] {
            let done = loopmeter(folder.path(), server, args);
            assert_eq!(acting(&done.text), None, "{args:?}: {:?}", done.text);
            assert!(
                matches!(done.code, Some(0..=3)),
                "{args:?}: {:?}",
                done.code
            );
            if args.contains(&"--json") && args.contains(&"show") {
                let shown: serde_json::Value = serde_json::from_str(&done.text).unwrap();
                assert!(shown["messages"].is_array(), "{args:?}");
            }
        }
        for name in ["trace.jsonl", "run.json"] {
            let file = folder.path().join(".loopmeter/runs/r").join(name);
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(acting(&text), None, "{name}: {text:?}");
        }
    }
}

#[test]
fn nothing_is_hidden_in_the_call_that_a_person_is_asked_about() {
    let unseen =
        "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{e0041}\u{e007f}\u{e0100}\u{2066}";
    let seen = "\u{2764}\u{fe0f}";
    let arguments = format!(r#"{{"path":"access.log","why":"{unseen}{seen}"}}"#);
    let arguments = serde_json::to_string(&arguments).unwrap();
    let call = reply(&format!(
        r#"{{"content":null,"tool_calls":[{{"id":"c{unseen}","function":{{"name":"delete_file","arguments":{arguments}}}}}]}}"#
    ));
    let folder = tempfile::tempdir().unwrap();
    let server = Canned::new([json(&call)]);
    for (server, args) in [
        (Some(&server), &["agent", "start", "--id", "r"][..]),
        (None, &["agent", "show", "r"]),
    ] {
        let done = loopmeter(folder.path(), server, args);
        assert!(
            done.text.contains("approval -> delete_file"),
            "{}",
            done.text
        );
        assert!(
            !done.text.contains(|letter| unseen.contains(letter)),
            "{:?}",
            done.text
        );
        let shown =
            r"\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{e0041}\u{e007f}\u{e0100}\u{2066}";
        assert!(done.text.matches(shown).count() >= 2, "{}", done.text);
        assert!(done.text.contains(seen), "{}", done.text);
    }
}

/// Every verb that renders what a file of experiments says.
const RENDERING: [&[&str]; 13] = [
    &["run"],
    &["check"],
    &["check", "--format", "json"],
    &["check", "--format", "github"],
    &["check", "--format", "markdown"],
    &["check", "--format", "junit"],
    &["tables", "--locale", "en", "--out", "tables"],
    &[
        "tables", "--format", "html", "--locale", "ar", "--out", "tables",
    ],
    &[
        "tables", "--format", "csv", "--locale", "en", "--out", "tables",
    ],
    &[
        "tables", "--format", "latex", "--locale", "en", "--out", "tables",
    ],
    &["plots", "--locale", "en", "--out", "plots"],
    &["report", "--locale", "en", "--out", "report.html"],
    &["list", "experiments"],
];

/// An experiment whose every text is hostile, and the model's answer too.
fn write_experiment(folder: &Path) {
    let words = serde_json::to_string(&HOSTILE.replace(['\u{7f}', '\u{8}'], "")).unwrap();
    // TOML spells these escapes as JSON does.
    let words = words
        .replace('\u{9b}', "\\u009b")
        .replace('\u{7f}', "\\u007f");
    let experiments = folder.join("experiments");
    fs::create_dir_all(experiments.join("scenarios")).unwrap();
    let scenario = format!("title = \"Own\"\n[[step]]\nsay = {words}\n");
    fs::write(experiments.join("scenarios/own.toml"), scenario).unwrap();
    let text = format!(
        "title = {words}\nabout = {words}\n\n[settings]\nscenario = \"scenarios/own.toml\"\n\n\
         [[axis]]\nsetting = \"max_turns\"\nvalues = [1, 2]\n\n\
         [table]\ncaption = {words}\ncolumns = [\"max_turns\", \"turns\", \"answer\"]\n\
         headings = {{ turns = {words} }}\n\n\
         [plot]\nkind = \"input_bill\"\ntitle = {words}\n"
    );
    fs::write(experiments.join("hostile.toml"), text).unwrap();
}

/// Holds every rendered file below `folder`, and says how many there are.
fn assert_inert(folder: &Path) -> usize {
    let mut rendered = 0;
    for file in files(folder) {
        let name = file.display().to_string();
        let kind = file
            .extension()
            .and_then(|kind| kind.to_str())
            .unwrap_or_default();
        // Rows hold values as they are.
        let is_of_rows = kind == "csv" && file.starts_with(folder.join("results"));
        if !matches!(kind, "md" | "html" | "svg" | "csv" | "tex") || is_of_rows {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let found = match kind {
            "html" | "svg" => acting_in_a_page(&text),
            _ => acting(&text),
        };
        assert_eq!(found, None, "{name}");
        // A caption is its author's Markdown, markup and all.
        if matches!(kind, "html" | "svg") {
            assert!(!text.contains("</script><b>"), "{name}");
        }
        rendered += 1;
    }
    rendered
}

#[test]
fn nothing_that_is_rendered_from_a_hostile_file_acts_or_is_markup() {
    let folder = tempfile::tempdir().unwrap();
    write_experiment(folder.path());
    for args in RENDERING {
        let done = loopmeter(folder.path(), None, args);
        assert_eq!(acting(&done.text), None, "{args:?}: {:?}", done.text);
        assert!(matches!(done.code, Some(0..=1)), "{args:?}: {}", done.text);
    }
    let rendered = assert_inert(folder.path());
    assert!(rendered >= 7, "{rendered} files");
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// What a reply may take: some times its bytes, and the program itself.
const MOST_KIB: u64 = 300 << 10;

#[test]
fn memory_stays_in_proportion_to_the_reply() {
    let big = "word ".repeat(1 << 20);
    let numbers = format!("[{}1]", "1,".repeat(15 << 20));
    for (name, message) in [
        ("prose", format!(r#"{{"content":"{big}"}}"#)),
        ("values", format!(r#"{{"content":{numbers}}}"#)),
        ("unknown values", format!(r#"{{"other":{numbers}}}"#)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = Canned::new([json(&reply(&message))]);
        let done = loopmeter(
            folder.path(),
            Some(&server),
            &["agent", "start", "--id", "r"],
        );
        assert_eq!(done.code, Some(0), "{name}");
        assert!(done.peak_kib < MOST_KIB, "{name}: {} KiB", done.peak_kib);
        println!("{name}: {} KiB at most", done.peak_kib);
    }
}
