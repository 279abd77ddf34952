//! The answer as a picture: what each setting costs, and what it keeps.

use super::args::PlotFile;
use super::{Answer, Failure};
use crate::files::write_file;
use crate::report::Locale;
use crate::report::plot::{Frontier, FrontierLine, Joined};
use crate::results::Cell;
use crate::whatif::{Axis, Case, Setting, Tally};

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
    let mut lines: Vec<(Vec<Axis>, FrontierLine)> = Vec::new();
    let with_limit = |(case, _): &&(Case, Tally)| case.axes().into_iter().any(Axis::is_limit);
    for (case, tally) in report.cases.iter().filter(with_limit) {
        let axes = case.axes();
        let known = lines.iter().position(|(known, _)| *known == axes);
        let at = known.unwrap_or_else(|| {
            let found = cheapest.iter().find(|cheapest| cheapest.axes == axes);
            let found = found.and_then(|cheapest| cheapest.found);
            lines.push((axes, line(case, found)));
            lines.len() - 1
        });
        if let Some((_, line)) = lines.get_mut(at) {
            line.points.push(point(tally));
        }
    }
    let unlimited = point(&report.recorded);
    let is_saving = |chosen: &((f64, f64), String)| chosen.0.0 < unlimited.0;
    for (_, line) in &mut lines {
        line.chosen = line.chosen.take().filter(is_saving);
    }
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
        lines: lines.into_iter().map(|(_, line)| line).collect(),
        unlimited: (unlimited, "as recorded".to_owned()),
        made: format!("price: {} ({}, {})", price.name, price.source, price.date),
    }
}

fn line(case: &Case, chosen: Option<(&Case, &Tally)>) -> FrontierLine {
    let words: Vec<&str> = case.axes().into_iter().map(Axis::words).collect();
    let name = words.join(" with ");
    FrontierLine {
        name: match words.as_slice() {
            [_] => name,
            _ => format!("{name}; the line joins the best"),
        },
        points: Vec::new(),
        joined: match case.settings() {
            [_] => Joined::All,
            _ => Joined::Best,
        },
        chosen: chosen.map(|(case, tally)| (point(tally), label(case))),
    }
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
