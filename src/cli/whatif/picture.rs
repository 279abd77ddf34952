//! The answer as a picture: what each setting costs, and what it keeps.

use super::args::PlotFile;
use super::{Answer, Failure};
use crate::files::write_file;
use crate::report::Locale;
use crate::report::plot::{Frontier, FrontierLine, Joined};
use crate::results::Cell;
use crate::whatif::{Axis, Case, Setting, Tally};

/// How many policies are named below the picture, one by one.
const MOST_NAMED: usize = 8;

/// Draws it into a file.
pub(super) fn write(file: &PlotFile, answer: &Answer<'_>) -> Result<(), Failure> {
    let english = Locale::load("en").map_err(|error| Failure::could_not_do(&error))?;
    let bytes = frontier(answer)
        .write(&english, file.format)
        .map_err(|error| Failure::could_not_do(&error))?;
    write_file(&file.path, &bytes)
        .map(|_| ())
        .map_err(|error| Failure::could_not_do(&error))
}

fn frontier(answer: &Answer<'_>) -> Frontier {
    let (report, price) = (answer.report, answer.price);
    let cheapest = report.cheapest(answer.keep);
    let mut groups: Vec<(Vec<Axis>, Vec<&(Case, Tally)>)> = Vec::new();
    for case in &report.cases {
        let axes = case.0.axes();
        match groups.iter_mut().find(|(known, _)| *known == axes) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((axes, vec![case])),
        }
    }
    let unlimited = point(&report.recorded);
    let is_saving = |chosen: &((f64, f64), String)| chosen.0.0 < unlimited.0;
    let lines = groups.into_iter().map(|(axes, cases)| {
        let points = cases.iter().map(|(_, tally)| point(tally)).collect();
        if !axes.iter().any(|axis| axis.is_limit()) {
            return policies(&cases, points);
        }
        let found = cheapest.iter().find(|cheapest| cheapest.axes == axes);
        let found = found.and_then(|cheapest| cheapest.found);
        let chosen = found.map(|(case, tally)| (point(tally), label(case)));
        FrontierLine {
            chosen: chosen.filter(is_saving),
            ..limits(&axes, points)
        }
    });
    let lines = lines.collect();
    let runs = report.recorded.runs;
    let kept = match report.recorded.successes {
        0 => "runs that do not end early, %",
        _ => "successes kept, %",
    };
    let keep = super::text::percent(answer.keep);
    Frontier {
        choice: format!("the cheapest that keeps {keep} % of the successes"),
        title: format!("{runs} recorded runs: what limits cost, and what they keep"),
        spent: "cost of all runs, $".to_owned(),
        kept: kept.to_owned(),
        lines,
        unlimited: (unlimited, "as recorded".to_owned()),
        made: format!("price: {} ({}, {})", price.name, price.source, price.date),
    }
}

/// Settings of limits, which a line joins.
fn limits(axes: &[Axis], points: Vec<(f64, f64)>) -> FrontierLine {
    let name = named(axes);
    let (name, joined) = match axes {
        [_] => (name, Joined::All),
        _ => (format!("{name}; the line joins the best"), Joined::Best),
    };
    FrontierLine {
        name,
        points,
        joined,
        chosen: None,
    }
}

/// Policies, which are told apart by what they cost.
fn policies(cases: &[&(Case, Tally)], points: Vec<(f64, f64)>) -> FrontierLine {
    let mut by_cost = cases.to_vec();
    by_cost.sort_by_key(|(_, tally)| tally.cost);
    let values = |case: &Case| -> String {
        let values: Vec<String> = case.settings().iter().map(Setting::value).collect();
        values.join(" with ")
    };
    let values: Vec<String> = by_cost.iter().map(|(case, _)| values(case)).collect();
    let name = named(
        &by_cost
            .first()
            .map_or_else(Vec::new, |(case, _)| case.axes()),
    );
    FrontierLine {
        name: match values.as_slice() {
            [value] => format!("{name}: {value}"),
            many if many.len() <= MOST_NAMED => {
                format!("{name}, from the left: {}", many.join("; "))
            }
            many => format!("{name}: {} policies", many.len()),
        },
        points,
        joined: Joined::None,
        chosen: None,
    }
}

/// `turn cap with budget`
fn named(axes: &[Axis]) -> String {
    let words: Vec<&str> = axes.iter().copied().map(Axis::words).collect();
    words.join(" with ")
}

/// `turn cap 12`, or several of those.
fn label(case: &Case) -> String {
    let names = case.settings().iter().map(Setting::words);
    names.collect::<Vec<_>>().join(", ")
}

/// What is spent, and how many hundredths are kept.
fn point(tally: &Tally) -> (f64, f64) {
    let float = |cell: Cell| cell.to_f64().unwrap_or(0.0);
    let number = |number: u64| float(Cell::Integer(i128::from(number)));
    let (kept, all) = match tally.successes {
        0 => (tally.runs.saturating_sub(tally.cut), tally.runs),
        all => (tally.successes_kept, all),
    };
    let share = number(kept) / number(all.max(1)) * 100.0;
    (float(Cell::Usd(tally.cost)), share)
}
