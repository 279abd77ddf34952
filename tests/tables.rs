//! `loopmeter tables`: the committed rows in the readers' languages.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use loopmeter::clock::ClockKind;
use loopmeter::experiment::Experiments;
use loopmeter::lab::Measured;
use loopmeter::report::{ExperimentTable, Format, Locale};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn tables(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("loopmeter").unwrap();
    command.arg("tables").args(args).current_dir(root());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// The tables of these experiments, one after the other.
fn written(tag: &str, format: Format, names: &[&str]) -> String {
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let locale = Locale::load(tag).unwrap();
    let one = |name: &&str| {
        let experiment = experiments.get(name).unwrap();
        let rows = Measured::read(experiment, &root().join("results").join(name)).unwrap();
        let table = ExperimentTable::of(experiment, &rows).unwrap().unwrap();
        table.write(&locale, format).unwrap()
    };
    names.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// One with a fit, one with lists and missing values, one with changes, one with answers.
const SHOWN: [&str; 4] = ["turn-cap", "cancel", "repeat", "approval"];

#[test]
fn the_tables_read_well_in_six_scripts() {
    for tag in ["en", "uk", "el", "ar", "ja", "hi"] {
        insta::assert_snapshot!(
            format!("markdown_{tag}"),
            written(tag, Format::Markdown, &SHOWN)
        );
    }
}

#[test]
fn html_has_a_direction_and_isolates_what_runs_the_other_way() {
    for tag in ["en", "ar", "he"] {
        insta::assert_snapshot!(
            format!("html_{tag}"),
            written(tag, Format::Html, &["approval", "repeat"])
        );
    }
}

#[test]
fn latex_and_csv() {
    for tag in ["uk", "ar"] {
        insta::assert_snapshot!(
            format!("latex_{tag}"),
            written(tag, Format::Latex, &["approval", "repeat"])
        );
        insta::assert_snapshot!(
            format!("csv_{tag}"),
            written(tag, Format::Csv, &["approval", "repeat"])
        );
    }
}

#[test]
fn nothing_that_has_a_translation_is_left_in_english() {
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let (en, uk) = (Locale::load("en").unwrap(), Locale::load("uk").unwrap());
    for experiment in &experiments {
        let rows = Measured::read(experiment, &root().join("results").join(experiment.name()));
        // Rows of the real clock are taken when somebody has the machine for it.
        let Ok(rows) = rows else {
            assert_eq!(experiment.clock(), ClockKind::Real, "{}", experiment.name());
            continue;
        };
        let table = ExperimentTable::of(experiment, &rows).unwrap().unwrap();
        let (english, ukrainian) = (table.shown(&en), table.shown(&uk));
        let name = experiment.name();
        assert_ne!(english.caption.text(), ukrainian.caption.text(), "{name}");
        for heading in &english.headings {
            let raw = matches!(heading, loopmeter::results::Words::Data(_));
            assert!(!raw, "{name}: no heading for {}", heading.text());
        }
        for (column, heading) in english.headings.iter().enumerate() {
            for cells in &english.rows {
                // What stays as it is in every language: names of scenarios, answers, files.
                let data = [
                    "scenario",
                    "answer",
                    "deleted",
                    "error",
                    "finish reason",
                    "agent",
                    "faults",
                    "model",
                    // Settings as an experiment's file writes them.
                    "prompt cache",
                    "sent",
                ];
                let raw = matches!(cells[column], loopmeter::results::Words::Data(_));
                let meant = data.contains(&heading.text());
                assert!(
                    !raw || meant,
                    "{name}: {}: {:?}",
                    heading.text(),
                    cells[column]
                );
            }
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn all_languages_and_formats_are_written_whole() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("tables");
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let exact = experiments
        .iter()
        .filter(|e| e.clock() == ClockKind::Virtual);
    let only: Vec<&str> = exact.flat_map(|e| ["--only", e.name()]).collect();
    for (format, extension) in [
        ("markdown", "md"),
        ("html", "html"),
        ("csv", "csv"),
        ("latex", "tex"),
    ] {
        let to = folder.to_str().unwrap();
        let all = ["--locale", "all", "--format", format, "--out", to];
        let output = tables(&[all.as_slice(), &only].concat());
        assert!(output.status.success(), "{}", said(&output));
        for language in files(&folder) {
            let made = files(&language);
            let of_format = made
                .iter()
                .filter(|path| path.extension().unwrap() == extension);
            assert_eq!(
                of_format.clone().count(),
                only.len() / 2,
                "{}",
                language.display()
            );
            for path in of_format {
                let text = fs::read_to_string(path).unwrap();
                // Nothing unfilled, and no key in the place of a message.
                let unfilled = ["{n}", "table.", "{x}", "{column}", "column."]
                    .iter()
                    .any(|sign| text.contains(sign));
                assert!(!unfilled, "{}: {text}", path.display());
            }
        }
    }
    assert_eq!(files(&folder).len(), Locale::tags().len());
}

/// Rows of a table of samples, as the laboratory would take them.
const SAMPLES: &str = "title = \"Samples\"\nabout = \"x\"\nclock = \"real\"\nrepeat = 2\n\
    [settings]\nscenario = \"plan\"\nmax_turns = 5\n\
    [summary]\ncolumns = [\"prompt_tokens\"]\nsame = [\"status\"]\n\
    [table]\ncaption = \"Samples\"\nrows = \"summary\"\n\
    columns = [\"n\", \"median_prompt_tokens\", \"low_prompt_tokens\", \"status\"]\n";

#[test]
fn a_table_of_samples_says_how_sure_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.toml");
    fs::write(&file, SAMPLES).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.path().join("out"));
    let out = out.to_str().unwrap();
    let mut run = Command::cargo_bin("loopmeter").unwrap();
    let ran = run
        .args(["run", file, "--quiet", "--out", out])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
    let to = folder.path().join("t");
    let args = [
        file,
        "--results",
        out,
        "--out",
        to.to_str().unwrap(),
        "--locale",
        "uk",
    ];
    let output = tables(&args);
    assert!(output.status.success(), "{}", said(&output));
    let text = fs::read_to_string(to.join("uk/samples.md")).unwrap();
    for words in [
        "prompt tokens, медіана",
        "prompt tokens, нижня межа",
        "інтервал медіани 95%",
        "2 000 вибірок",
        "Без інтервалу, де n = 2",
    ] {
        assert!(
            text.replace('\u{a0}', " ").contains(words),
            "{words}: {text}"
        );
    }
}

#[test]
fn a_csv_holds_the_values_of_the_program_under_translated_headings() {
    let text = written("uk", Format::Csv, &["turn-cap"]);
    let committed = fs::read_to_string(root().join("results/turn-cap/table.csv")).unwrap();
    let rows = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&text), rows(&committed));
    assert!(text.starts_with("# Некерований запуск"), "{text}");
}

#[test]
fn without_rows_it_says_what_makes_them() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let output = tables(&["--only", "plan", "--results", folder, "--out", folder]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("`loopmeter run --only plan` makes them"),
        "{}",
        said(&output)
    );
    assert!(files(out.path()).is_empty());
}

#[test]
fn an_unknown_language_is_wrong_input_and_nothing_is_written() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("tables");
    let output = tables(&["--locale", "uk", "tlh", "--out", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("no locale \"tlh\""),
        "{}",
        said(&output)
    );
    assert!(!folder.exists());
}

#[test]
fn words_of_an_experiment_of_ones_own_stay_and_cannot_become_markup() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let text = "title = \"Mine\"\nabout = \"x\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
        [table]\ncaption = \"a <b> & 50 % of $x_1$ \u{202e}\"\ncolumns = [\"turns\", \"cost_usd\"]\n\
        [table.headings]\nturns = \"my|turns\"\n";
    fs::write(&file, text).unwrap();
    let out = folder.path().join("out");
    let run = [
        "run",
        file.to_str().unwrap(),
        "--quiet",
        "--out",
        out.to_str().unwrap(),
    ];
    let ran = Command::cargo_bin("loopmeter")
        .unwrap()
        .args(run)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
    let mut shown = String::new();
    for format in ["markdown", "html", "csv", "latex"] {
        let (out, tables_in) = (out.to_str().unwrap(), folder.path().join("t"));
        let to = tables_in.to_str().unwrap();
        let args = [
            file.to_str().unwrap(),
            "--results",
            out,
            "--out",
            to,
            "--format",
            format,
            "--locale",
            "uk",
        ];
        let output = tables(&args);
        assert!(output.status.success(), "{}", said(&output));
    }
    for path in files(&folder.path().join("t/uk")) {
        shown += &fs::read_to_string(path).unwrap();
        shown += "\n";
    }
    insta::assert_snapshot!("of_ones_own", shown);
}

#[test]
fn the_languages_are_listed() {
    let mut command = Command::cargo_bin("loopmeter").unwrap();
    let output = command.args(["list", "locales"]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed.lines().count(), Locale::tags().len());
    assert!(listed.contains("uk       Українська\n"), "{listed}");
}
