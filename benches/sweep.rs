//! How fast sweeps run, and what their rows cost on the way to the disk and back.
//!
//! `benches/README.md` says what each number means.

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use loopmeter::experiment::{Execution, Experiment, Experiments, Host};
use loopmeter::lab::{CELLS, Lab, Measured, publish};
use loopmeter::results::{CsvFile, RowSet, Schema};

/// An experiment that the program ships as an example.
fn example(name: &str) -> Experiments {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/examples");
    let file: PathBuf = folder.join(format!("{name}.toml"));
    Experiments::load(&[file]).expect("the examples are read by a test")
}

fn the_only(experiments: &Experiments) -> &Experiment {
    experiments.iter().next().expect("one experiment a file")
}

/// Makes the rows of all cells and drops them; returns how many there were.
fn rows_of(experiment: &Experiment, jobs: usize) -> usize {
    let execution = Execution {
        jobs,
        host: &Host::here(),
        progress: &mut |_| (),
        stop: &|| false,
    };
    let mut rows = 0_usize;
    let taken = experiment.execute::<std::convert::Infallible>(execution, &mut |cell| {
        rows += 1 + black_box(cell).turns.len();
        Ok(())
    });
    taken.expect("every cell runs");
    rows
}

/// Runs all cells and writes a folder of results.
fn published(experiment: &Experiment, jobs: usize, results: &Path) {
    let mut lab = Lab {
        results,
        jobs,
        host: &Host::here(),
        progress: &mut |_, _| (),
        draw: &|_, _| Ok(None),
        stop: &|| false,
    };
    publish(experiment, &mut lab).expect("the folder can be written");
}

fn sweep(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sweep");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for name in ["sweep-10k", "plan-10k"] {
        let experiments = example(name);
        let experiment = the_only(&experiments);
        group.throughput(Throughput::Elements(experiment.runs()));
        for jobs in [1, 2] {
            group.bench_function(format!("{name}, {jobs} at a time"), |b| {
                b.iter(|| rows_of(experiment, jobs));
            });
        }
    }
    let experiments = example("plan-10k");
    let experiment = the_only(&experiments);
    for jobs in [1, 2] {
        group.bench_function(format!("plan-10k, {jobs} at a time, rows written"), |b| {
            b.iter_with_large_drop(|| {
                let results = tempfile::tempdir().expect("a folder for temporary files");
                published(experiment, jobs, results.path());
                results
            });
        });
    }
    group.finish();
}

fn csv(criterion: &mut Criterion) {
    let experiments = example("plan-10k");
    let experiment = the_only(&experiments);
    let results = tempfile::tempdir().expect("a folder for temporary files");
    published(experiment, 2, results.path());
    let folder = results.path().join(experiment.name());
    let path = folder.join(CELLS);
    let cells = Measured::read(experiment, &folder)
        .expect("they were just written")
        .cells;
    let bytes = std::fs::metadata(&path).expect("it was just read").len();
    let mut group = criterion.benchmark_group("csv");
    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("write 10,000 rows", |b| {
        b.iter(|| black_box(&cells).to_csv().expect("memory takes them"));
    });
    group.bench_function("write 10,000 rows to the disk", |b| {
        let new = results.path().join("new.csv");
        b.iter(|| {
            let _ = std::fs::remove_file(&new);
            let mut file = CsvFile::create(&new, experiment.cell_columns()).expect("a folder");
            for row in cells.rows() {
                file.append(row.clone()).expect("rows of these columns");
            }
            file.commit().expect("room for it")
        });
    });
    let columns = experiment.cell_columns();
    group.bench_function("read 10,000 rows", |b| {
        b.iter(|| RowSet::read_csv(&path, Schema::Given(&columns)).expect("rows of these columns"));
    });
    group.finish();
}

criterion_group!(benches, sweep, csv);
criterion_main!(benches);
