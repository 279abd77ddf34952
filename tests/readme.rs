//! The README and the docs show commands that were run and the output that was seen.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use loopmeter::experiment::{Experiments, Host};
use loopmeter::lab::{Lab, Measured, Reading};
use loopmeter::report::plot;

const BEGIN: &str = "<!-- figures: rewritten by `UPDATE=1 cargo test --test readme` -->\n";
const END: &str = "<!-- end of figures -->";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The published numbers that are reproduced exactly, as the README shows them.
fn figures() -> String {
    let published = fs::read_to_string(root().join("tests/data/figures.toml")).unwrap();
    let mut table =
        String::from("| figure | published | measured | experiment |\n|---|--:|--:|---|\n");
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let host = Host::here();
    for experiment in &experiments {
        if experiment.clock() == loopmeter::clock::ClockKind::Real {
            continue;
        }
        let mut lab = Lab {
            results: Path::new("."),
            jobs: 1,
            host: &host,
            progress: &mut |_, _| (),
            draw: &plot::committed,
            stop: &|| false,
        };
        let rows = Measured::of(experiment, &mut lab).unwrap();
        for claim in Reading::of(experiment, &rows, lab.draw).unwrap().claims {
            if published.contains(&format!("id = \"{}\"", claim.id)) {
                assert!(claim.holds(), "{claim}");
                let (id, measured) = (&claim.id, claim.measured_text().unwrap());
                let (said, name) = (&claim.published, experiment.name());
                writeln!(table, "| `{id}` | {said} | {measured} | {name} |").unwrap();
            }
        }
    }
    table
}

#[test]
#[expect(clippy::disallowed_methods, reason = "UPDATE=1 asks for a new table")]
fn the_table_of_figures_is_what_the_experiments_give() {
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let fresh = format!("\n{}\n", figures());
    if std::env::var("UPDATE").is_ok() {
        fs::write(&path, format!("{before}{BEGIN}{fresh}{END}{after}")).unwrap();
    } else {
        assert_eq!(shown, fresh, "run UPDATE=1 cargo test --test readme");
    }
}

/// A fenced block: what stands after the backticks, and the lines between.
struct Fence {
    info: String,
    line: usize,
    text: String,
}

fn fences(markdown: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut open: Option<Fence> = None;
    for (number, line) in markdown.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Fence {
                    info: info.to_owned(),
                    line: number + 1,
                    text: String::new(),
                });
            }
            (Some(_), Some("")) => fences.extend(open.take()),
            (Some(fence), _) => {
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            (None, None) => {}
        }
    }
    fences
}

/// Runs every `$ command` of a console block and compares what it prints.
fn replay(fence: &Fence, folder: &Path, name: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_loopmeter")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display());
    for block in fence.text.split("$ ").skip(1) {
        let (command, expected) = block.split_once('\n').unwrap();
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let place = format!("{name}:{}: {command}", fence.line);
        assert_eq!(printed.trim_end(), expected.trim_end(), "{place}\n{errors}");
    }
}

/// The recorded runs that pages show, where their commands find them.
#[cfg(unix)]
fn lend_records(folder: &Path) {
    std::os::unix::fs::symlink(root().join("experiments/records"), folder.join("records")).unwrap();
}

#[cfg(unix)]
#[test]
fn every_console_block_prints_what_it_shows() {
    let mut pages = vec![root().join("README.md")];
    pages.extend(
        fs::read_dir(root().join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    let mut replayed = 0;
    for page in pages {
        let folder = tempfile::tempdir().unwrap();
        lend_records(folder.path());
        for fence in fences(&fs::read_to_string(&page).unwrap()) {
            if let Some(file) = fence.info.strip_prefix("toml ") {
                fs::write(folder.path().join(file), &fence.text).unwrap();
            }
            if fence.info == "console" {
                replay(&fence, folder.path(), &page.display().to_string());
                replayed += 1;
            }
        }
    }
    assert!(replayed >= 4, "only {replayed} blocks were found");
}

#[test]
fn the_rust_example_is_the_one_that_is_compiled() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let shown = fences(&readme)
        .into_iter()
        .find(|fence| fence.info == "rust")
        .unwrap()
        .text;
    let compiled: String = library
        .lines()
        .skip_while(|line| !line.starts_with("//! ```"))
        .skip(1)
        .take_while(|line| !line.starts_with("//! ```"))
        .map(|line| {
            line.strip_prefix("//! ")
                .or(line.strip_prefix("//!"))
                .unwrap()
                .to_owned()
                + "\n"
        })
        .collect();
    let hidden = |line: &&str| !line.starts_with("# ");
    let shown: Vec<_> = shown.lines().filter(hidden).collect();
    let compiled: Vec<_> = compiled.lines().filter(hidden).collect();
    assert_eq!(shown, compiled);
}
