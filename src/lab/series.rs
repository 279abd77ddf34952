//! What was measured, one number for each cell and measure, for services that draw it over time.

use crate::experiment::Experiment;
use crate::results::stats::{Bootstrap, Sample};
use crate::results::{Cell, Column, Kind, RowSet};

/// Decimals of a median.
const DECIMALS: u32 = 6;
/// What is counted of a run and worth drawing.
const COUNTED: [&str; 4] = ["turns", "prompt_tokens", "completion_tokens", "cost_usd"];

/// One number of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The experiment and the cell: `turn-cap max_turns=50`.
    pub benchmark: String,
    /// The column.
    pub measure: String,
    /// Its unit.
    pub unit: Unit,
    /// The value, or the median of the samples, digit by digit.
    pub value: String,
    /// The lower bound of the median, at 95 %, where there are samples enough.
    pub low: Option<String>,
    /// The upper bound.
    pub high: Option<String>,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Dollars.
    Usd,
    /// Tokens.
    Tokens,
    /// Milliseconds.
    Ms,
    /// Things.
    Count,
}

/// The numbers of an experiment: what its runs used, and how long they took where that is not
/// nothing. Samples of a cell become their median.
#[must_use]
pub fn series_of(experiment: &Experiment, cells: &RowSet) -> Vec<Series> {
    let labels = experiment.sweep().labels();
    let labels: Vec<&str> = labels.into_iter().map(|(name, _)| name).collect();
    let columns: Vec<(usize, &Column)> = cells
        .columns()
        .iter()
        .enumerate()
        .filter(|(_, column)| !labels.contains(&&*column.name))
        .filter(|(_, column)| COUNTED.contains(&&*column.name) || column.kind == Kind::Ms)
        .collect();
    let mut groups: Vec<(String, Vec<&[Cell]>)> = Vec::new();
    for row in cells.rows() {
        let name = benchmark(experiment.name(), cells, row, &labels);
        // Samples of one cell follow each other.
        match groups.last_mut() {
            Some((last, group)) if *last == name => group.push(row),
            _ => groups.push((name, vec![row])),
        }
    }
    let mut series = Vec::new();
    for (name, group) in groups {
        for &(at, column) in &columns {
            let values: Vec<&Cell> = group.iter().filter_map(|row| row.get(at)).collect();
            series.extend(one(&name, column, &values));
        }
    }
    series
}

fn one(benchmark: &str, column: &Column, values: &[&Cell]) -> Option<Series> {
    let (value, bounds) = match values {
        [first, rest @ ..] if rest.iter().all(|cell| cell == first) => (first.to_string(), None),
        values => {
            let numbers: Option<Vec<f64>> = values.iter().map(|cell| cell.to_f64()).collect();
            let sample = Sample::new(numbers?).ok()?;
            let bounds = sample.median_interval(Bootstrap::default()).ok();
            let digits = |value| Cell::statistic(value, DECIMALS).to_string();
            let bounds = bounds.map(|bounds| (digits(bounds.low), digits(bounds.high)));
            (digits(sample.median().ok()?), bounds)
        }
    };
    let takes_no_time = column.kind == Kind::Ms && value == "0";
    if value.is_empty() || takes_no_time {
        return None;
    }
    let (low, high) = bounds.unzip();
    Some(Series {
        benchmark: benchmark.to_owned(),
        measure: column.name.clone(),
        unit: match column.kind {
            Kind::Usd => Unit::Usd,
            Kind::Tokens => Unit::Tokens,
            Kind::Ms => Unit::Ms,
            _ => Unit::Count,
        },
        value,
        low,
        high,
    })
}

fn benchmark(name: &str, cells: &RowSet, row: &[Cell], labels: &[&str]) -> String {
    let pairs = labels.iter().filter_map(|label| {
        let at = cells.index_of(label).ok()?;
        Some(format!(" {label}={}", row.get(at)?))
    });
    let pairs: String = pairs.collect();
    format!("{name}{pairs}")
}
