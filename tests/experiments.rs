//! The experiments that ship: they load, they run, and their claims are the published figures.

use std::cell::RefCell;

use loopmeter::experiment::{ClockKind, Execution, Experiment, Experiments, Go, Host};
use loopmeter::results::RowSet;
use loopmeter::results::claims::{RowSources, Verdict, evaluate};

struct Rows {
    cells: RowSet,
    turns: RowSet,
}

fn run(experiment: &Experiment, jobs: usize) -> Rows {
    let rows = RefCell::new(Rows {
        cells: RowSet::new(experiment.cell_columns()).unwrap(),
        turns: RowSet::new(experiment.turn_columns()).unwrap(),
    });
    let execution = Execution { jobs, host: &Host::here(), progress: &mut |_| Go::On };
    let mut sink = |taken: loopmeter::experiment::CellRows| {
        let mut rows = rows.borrow_mut();
        rows.cells.push(taken.cell)?;
        taken.turns.into_iter().try_for_each(|turn| rows.turns.push(turn))
    };
    experiment.execute(execution, &mut sink).unwrap();
    rows.into_inner()
}

#[test]
fn every_claim_of_a_virtual_experiment_holds() {
    let experiments = Experiments::load(&["experiments".into()]).unwrap_or_else(|e| panic!("{e}"));
    let mut broken = Vec::new();
    for experiment in experiments.iter().filter(|e| e.clock() == ClockKind::Virtual) {
        let rows = run(experiment, 2);
        let sources = RowSources { cells: &rows.cells, turns: Some(&rows.turns) };
        let setting = |path: &str| experiment.setting(path);
        for outcome in evaluate(&experiment.readout().claims, sources, &setting) {
            if outcome.verdict != Verdict::Held {
                broken.push(format!("{}: {outcome:?}", experiment.name()));
            }
        }
        println!("{}\n{}", experiment.name(), String::from_utf8(rows.cells.to_csv().unwrap()).unwrap());
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
