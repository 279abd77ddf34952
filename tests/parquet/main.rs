//! The Parquet files hold what the CSV files hold, value by value.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::path::Path;
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

const SWEEP: &str = r#"
title = "All kinds of columns"
about = "Words, counts, dollars, decimals, and what is missing."
[settings]
scenario = "denied"
latency = { distribution = "log_normal", median_ms = 800, sigma = 0.5 }
max_turns = 9
[[axis]]
setting = "max_budget_usd"
values = [0.0001, 0.005, 0.01]
[[axis]]
setting = "tool_errors"
values = ["worded", "fatal"]
[[axis]]
setting = "seed"
values = [1, 2, 3]
"#;

/// A value as CSV prints it, but for trailing zeros.
fn printed(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Bool(flag) => flag.to_string(),
        Field::Long(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        Field::Decimal(decimal) => {
            let bytes: [u8; 16] = decimal.data().try_into().unwrap();
            let pico = i128::from_be_bytes(bytes);
            assert_eq!(decimal.scale(), 12);
            let text = format!(
                "{}.{:012}",
                pico / 1_000_000_000_000,
                pico % 1_000_000_000_000
            );
            text.trim_end_matches('0').to_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn csv_printed(text: &str, field: &Field) -> String {
    match field {
        Field::Decimal(_) => text.trim_end_matches('0').to_owned(),
        Field::Double(_) => text.parse::<f64>().unwrap().to_string(),
        _ => text.to_owned(),
    }
}

/// Compares a Parquet file with the CSV file; returns how many values were missing.
fn compare(csv: &Path, parquet: &Path) -> usize {
    let mut csv = csv::Reader::from_path(csv).unwrap();
    let header = csv.headers().unwrap().clone();
    let reader = SerializedFileReader::new(File::open(parquet).unwrap()).unwrap();
    let mut rows = reader.get_row_iter(None).unwrap();
    let (mut compared, mut missing) = (0, 0);
    for record in csv.records() {
        let (record, row) = (record.unwrap(), rows.next().unwrap().unwrap());
        for ((name, text), (column, field)) in header.iter().zip(&record).zip(row.get_column_iter())
        {
            assert_eq!(column, name);
            assert_eq!(printed(field), csv_printed(text, field), "{name}");
            missing += usize::from(text.is_empty());
            compared += 1;
        }
    }
    assert!(rows.next().is_none());
    assert!(compared > 100, "{compared}");
    missing
}

#[test]
fn parquet_files_hold_what_the_csv_files_hold() {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    std::fs::write(at("kinds.toml"), SWEEP).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_loopmeter"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    };
    run(&["run", "kinds.toml", "--out", "out", "--parquet", "columns"]);
    let missing = compare(
        &at("out/kinds/cells.csv"),
        &at("columns/kinds/cells.parquet"),
    );
    assert!(missing > 0, "nothing was missing");
    compare(
        &at("out/kinds/turns.csv"),
        &at("columns/kinds/turns.parquet"),
    );
    for shard in ["1/2", "2/2"] {
        run(&["run", "kinds.toml", "--out", "parts", "--shard", shard]);
    }
    run(&[
        "merge",
        "parts",
        "--out",
        "merged",
        "--parquet",
        "of-merged",
    ]);
    for file in ["cells.parquet", "turns.parquet"] {
        let read = |folder: &str| std::fs::read(at(folder).join("kinds").join(file)).unwrap();
        assert!(read("columns") == read("of-merged"), "{file}");
    }
}
