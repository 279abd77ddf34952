//! The experiments that ship: they load, they run, and their claims are the published figures.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use loopmeter::clock::ClockKind;
use loopmeter::document::Document;
use loopmeter::experiment::{CellRows, ExecuteError, Execution, Experiment, Experiments, Host};
use loopmeter::results::claims::{Claim, Computation, RowSources, Rule, Verdict, evaluate};
use loopmeter::results::{RowSet, RowsError, Table};

struct Rows {
    cells: RowSet,
    turns: RowSet,
}

impl Rows {
    fn take(&mut self, rows: CellRows) -> Result<(), RowsError> {
        self.cells.push(rows.cell)?;
        rows.turns
            .into_iter()
            .try_for_each(|turn| self.turns.push(turn))
    }

    fn of(&self, kind: loopmeter::experiment::RowKind) -> &RowSet {
        match kind {
            loopmeter::experiment::RowKind::Cells => &self.cells,
            loopmeter::experiment::RowKind::Turns => &self.turns,
            loopmeter::experiment::RowKind::Summary => panic!("no virtual experiment has one"),
        }
    }
}

fn run(experiment: &Experiment, jobs: usize) -> Rows {
    let mut rows = Rows {
        cells: RowSet::new(experiment.cell_columns()).unwrap(),
        turns: RowSet::new(experiment.turn_columns()).unwrap(),
    };
    let execution = Execution {
        jobs,
        host: &Host::here(),
        progress: &mut |_| {},
        stop: &|| false,
    };
    experiment
        .execute(execution, &mut |taken| rows.take(taken))
        .unwrap();
    rows
}

fn shipped() -> Experiments {
    Experiments::load(&[PathBuf::from("experiments")]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_claim_of_a_virtual_experiment_holds() {
    let experiments = shipped();
    let mut broken = Vec::new();
    for experiment in experiments
        .iter()
        .filter(|e| e.clock() == ClockKind::Virtual)
    {
        let rows = run(experiment, 2);
        let sources = RowSources {
            cells: &rows.cells,
            turns: Some(&rows.turns),
            summary: None,
        };
        let setting = |path: &str| experiment.setting(path);
        for outcome in evaluate(&experiment.readout().claims, sources, &setting) {
            if outcome.verdict != Verdict::Held {
                broken.push(format!("{}: {outcome:?}", experiment.name()));
            }
        }
        if let Some((table, kind)) = &experiment.readout().table {
            Table::build(table, rows.of(*kind)).unwrap();
        }
        let fits = experiment.readout().fit.iter();
        for (_, fit) in fits.flat_map(|spec| spec.fits(&rows.cells)) {
            let fit = fit.unwrap();
            assert!(
                fit.r_squared.is_some_and(|share| share > 0.999_9),
                "{}: {fit}",
                experiment.name()
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_published_figure_is_a_claim_with_the_digits_as_published() {
    let experiments = shipped();
    let claims = experiments
        .iter()
        .flat_map(|experiment| &experiment.readout().claims);
    let claims: BTreeMap<&str, &Claim> = claims.map(|claim| (claim.id.as_str(), claim)).collect();
    let text = fs::read_to_string("tests/data/figures.toml").unwrap();
    let document = Document::parse("figures.toml", &text).unwrap();
    let figures = document.json()["figure"].as_array().unwrap();
    let mut checked = 0;
    for (index, figure) in figures.iter().enumerate() {
        let id = figure["id"].as_str().unwrap();
        let claim = claims.get(id).unwrap_or_else(|| panic!("no claim `{id}`"));
        let written = document
            .source_at(&format!("/figure/{index}/value"))
            .unwrap();
        assert_eq!(claim.published.text, written, "{id}");
        let decimals = figure.get("decimals").and_then(serde_json::Value::as_u64);
        assert_eq!(claim.decimals.map(u64::from), decimals, "{id}");
        let real = figure.get("clock").is_some_and(|clock| clock == "real");
        let quoted = claim.computed == Computation::External;
        assert_eq!(claim.rule != Rule::Exact || quoted, real, "{id}");
        checked += 1;
    }
    assert_eq!(checked, figures.len());
}

#[test]
fn rows_are_the_same_whatever_runs_beside_them() {
    for experiment in shipped().iter().filter(|e| e.clock() == ClockKind::Virtual) {
        let (one, eight) = (run(experiment, 1), run(experiment, 8));
        assert_eq!(one.cells, eight.cells, "{}", experiment.name());
        assert_eq!(one.turns, eight.turns, "{}", experiment.name());
    }
}

#[test]
fn the_embedded_experiments_are_those_of_the_folder() {
    let embedded = Experiments::embedded().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(embedded.names(), shipped().names());
    assert_eq!(embedded.names().len(), 35);
}

#[test]
fn the_example_sweep_has_ten_thousand_cells_and_can_be_stopped() {
    let path = PathBuf::from("experiments/examples/sweep-10k.toml");
    let experiments = Experiments::load(&[path]).unwrap_or_else(|error| panic!("{error}"));
    let sweep = experiments.get("sweep-10k").unwrap();
    assert_eq!(sweep.runs(), 10_000);
    let mut taken = 0_u64;
    let stopped = AtomicBool::new(false);
    let execution = Execution {
        jobs: 1,
        host: &Host::here(),
        progress: &mut |_| stopped.store(true, Ordering::SeqCst),
        stop: &|| stopped.load(Ordering::SeqCst),
    };
    let stopped = sweep.execute(execution, &mut |rows: CellRows| -> Result<(), RowsError> {
        assert_eq!(rows.index, taken);
        taken += 1;
        Ok(())
    });
    assert!(
        matches!(stopped, Err(ExecuteError::Stopped { done, all: 10_000 }) if done == taken)
            && taken > 0,
        "{stopped:?}"
    );
}

#[test]
fn names_and_claims_are_unique_across_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |place: &str, claim: &str| {
        let path = folder.path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            "title = \"t\"\nabout = \"a\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
             [[claim]]\nid = \"{claim}\"\nvalue = 3\ncell = {{ column = \"turns\" }}\n"
        );
        fs::write(&path, text).unwrap();
        path
    };
    let paths = [
        file("a/one.toml", "x"),
        file("b/one.toml", "y"),
        file("b/two.toml", "x"),
    ];
    let error = Experiments::load(&paths).unwrap_err().to_string();
    assert!(
        error.contains("b/one.toml:1:1: an experiment `one` is in"),
        "{error}"
    );
    assert!(
        error.contains("b/two.toml:7:6: a claim `x` is in"),
        "{error}"
    );
    assert!(Experiments::load(&paths[..1]).is_ok());
}

#[test]
fn a_folder_of_somebody_needs_no_rust() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("notes/todo.txt", "water the plants");
    write(
        "scenarios/gardener.toml",
        "title = \"Reads and answers\"\n[[step]]\nturn = 0\ncalls = [{ id = \"c1\", tool = \
         \"read_file\", arguments = { path = \"todo.txt\" } }]\n[[step]]\nwhen = \"plants\"\nsay = \
         \"Water them.\"\n[[step]]\nsay = \"Nothing to do.\"\n",
    );
    write(
        "garden.toml",
        "title = \"t\"\nabout = \"a\"\n[settings]\nscenario = \"gardener\"\nworkspace = \"notes\"\n\
         max_turns = 5\n",
    );
    let experiments = Experiments::load(&[folder.path().to_owned()]);
    let experiments = experiments.unwrap_or_else(|error| panic!("{error}"));
    let rows = run(experiments.get("garden").unwrap(), 1);
    let answers: Vec<String> = rows
        .cells
        .cells("answer")
        .unwrap()
        .map(ToString::to_string)
        .collect();
    assert_eq!(answers, ["Water them."]);
}

#[test]
fn files_that_cannot_be_read_are_all_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("latin.toml"), b"title = \"caf\xe9\"\n").unwrap();
    fs::write(path("large.toml"), "#".repeat(2 << 20)).unwrap();
    let error = Experiments::load(&[path("latin.toml"), path("large.toml"), path("gone.toml")]);
    let error = error.unwrap_err();
    assert_eq!(error.errors().len(), 3, "{error}");
    for said in [
        "latin.toml:1:13: not UTF-8",
        "large.toml: too large",
        "gone.toml: cannot be read",
    ] {
        assert!(error.to_string().contains(said), "{error}");
    }
}
