//! `loopmeter plots`: the committed rows as pictures, in the readers' languages.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use loopmeter::report::Locale;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn loopmeter(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("loopmeter").unwrap();
    command.args(args).current_dir(root());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn what_it_is_told_and_how() {
    insta::assert_snapshot!("help", said(&loopmeter(&["plots", "--help"])));
}

#[test]
fn every_plot_is_written_in_every_language() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("plots");
    let to = folder.to_str().unwrap();
    let output = loopmeter(&["plots", "--locale", "all", "--out", to]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).starts_with("693 plots in 33 languages; files in "),
        "{}",
        said(&output)
    );
    assert_eq!(names(&folder), Locale::tags());
    let english = names(&folder.join("en"));
    insta::assert_snapshot!("files", english.join("\n"));
    for tag in Locale::tags() {
        assert_eq!(names(&folder.join(tag)), english, "{tag}");
        for name in &english {
            let svg = fs::read_to_string(folder.join(tag).join(name)).unwrap();
            assert!(svg.contains(&format!("lang=\"{tag}\"")), "{tag}/{name}");
            let rtl = ["ar", "fa", "he"].contains(&tag);
            assert_eq!(svg.contains("direction=\"rtl\""), rtl, "{tag}/{name}");
            // Nothing unfilled, and no key in the place of a message.
            for sign in ["{n}", "{formula}", "plot.t", "table.", "column."] {
                assert!(!svg.contains(sign), "{tag}/{name}: {sign}");
            }
        }
    }
}

#[test]
fn a_png_is_one() {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().to_str().unwrap();
    let args = [
        "plots", "--only", "plan", "--locale", "th,ko", "--format", "png", "--out", to,
    ];
    let output = loopmeter(&args);
    assert_eq!(
        said(&output),
        format!("2 plots in 2 languages; files in {to}\n")
    );
    for tag in ["th", "ko"] {
        let bytes = fs::read(out.path().join(tag).join("plan.png")).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{tag}");
    }
}

#[test]
fn digits_and_marks_are_those_that_were_asked_for() {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().to_str().unwrap();
    let args = [
        "plots", "--only", "turn-cap", "--locale", "ar", "--digits", "native", "--out", to,
    ];
    assert!(loopmeter(&args).status.success());
    let svg = fs::read_to_string(out.path().join("ar/turn-cap.svg")).unwrap();
    assert!(svg.contains("٣٣٧٬٢٩٩"), "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_told_and_nothing_is_written() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("plots");
    let to = folder.to_str().unwrap();
    let unknown = loopmeter(&["plots", "--locale", "tlh", "--out", to]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        said(&unknown).contains("no locale \"tlh\""),
        "{}",
        said(&unknown)
    );
    let none = loopmeter(&["plots", "--only", "plan", "--results", to, "--out", to]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        said(&none).contains("`loopmeter run --only plan` makes them"),
        "{}",
        said(&none)
    );
    assert!(!folder.exists());
}

#[test]
fn a_plot_that_the_rows_cannot_give_is_refused_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = "title = \"Mine\"\nabout = \"x\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
        [plot]\nkind = \"answers\"\n";
    fs::write(&file, text).unwrap();
    let output = loopmeter(&[
        "run",
        file.to_str().unwrap(),
        "--out",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    let told = said(&output).replace(&folder.path().display().to_string(), "");
    insta::assert_snapshot!("refused", told);
}

#[test]
fn a_plot_of_ones_own_experiment_has_its_own_title() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = "title = \"Mine <&>\"\nabout = \"x\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
        [plot]\nkind = \"prompt_tokens\"\n";
    fs::write(&file, text).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.path().join("out"));
    let out = out.to_str().unwrap();
    let ran = loopmeter(&["run", file, "--quiet", "--out", out]);
    assert!(ran.status.success(), "{}", said(&ran));
    let svg = fs::read_to_string(folder.path().join("out/mine/plot.svg")).unwrap();
    assert!(
        svg.contains("<title id=\"plot-mine-title\">Mine &lt;&amp;&gt;</title>"),
        "{svg}"
    );
    // Another picture in its place is seen.
    fs::write(
        folder.path().join("out/mine/plot.svg"),
        svg.replace("204", "205"),
    )
    .unwrap();
    let checked = loopmeter(&["check", file, "--against", out]);
    assert_eq!(checked.status.code(), Some(1));
    let told = "mine: plot.svg: another picture than the rows give";
    assert!(said(&checked).contains(told), "{}", said(&checked));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_between_two_files_and_leaves_whole_ones_alone() {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("plots");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_loopmeter"));
    command
        .args(["plots", "--locale", "all", "--format", "png", "--out"])
        .arg(&to)
        .current_dir(root());
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    while !to.join("el/budget.png").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let files: Vec<_> = names(&to)
        .iter()
        .flat_map(|tag| names(&to.join(tag)))
        .collect();
    assert!(!files.is_empty() && files.len() < 330, "{}", files.len());
    let is_whole = |name: &String| Path::new(name).extension().is_some_and(|end| end == "png");
    assert!(files.iter().all(is_whole), "{files:?}");
}
