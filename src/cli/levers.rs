//! `loopmeter levers`: what makes a bill smaller, on scripted runs and on recorded ones.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use super::{output, prices, whatif};
use crate::experiment::Experiments;
use crate::files::write_file;
use crate::pricing::{CHAPTER_PRICE, Price};
use crate::record::{Import, SuccessMark, record_files};
use crate::results::Cell;
use crate::whatif::{Lever, Marks, PERMANENT, Report, Sweep, lever_cases, lever_policies, levers};

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter levers                              # what the experiments say
  loopmeter levers runs.jsonl                   # and what each lever does to recorded runs
  loopmeter levers --price openai/gpt-4o --out levers/ ~/runs

A change of the bill in percent: below 0 it is a saving. Scripted runs: the claims of the
experiments, which `loopmeter check` holds to their rows, at the prices of the experiments. Recorded runs: their replies as they
were, see `loopmeter whatif --help`; without the definitions of tools is the most that fewer tools
could save. What recorded runs cannot say is left empty.

Exit code: 0; 2 for wrong usage or where there is no recorded run; 3 if a file cannot be read or
written; 130 if loopmeter was stopped.";

/// `loopmeter levers`.
#[derive(Debug, Args)]
pub(super) struct LeversArgs {
    /// Records of runs, or folders of them
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What bills them: a model of `loopmeter list prices`
    #[arg(long, value_name = "NAME", default_value = CHAPTER_PRICE)]
    price: String,
    /// Write table.md and table.csv into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The columns of the table.
const COLUMNS: [&str; 5] = [
    "lever",
    "scripted_cost_percent",
    "recorded_cost_percent",
    "recorded_successes_lost",
    "risk",
];

/// Does what `args` ask for.
pub(super) fn run(args: &LeversArgs) -> Result<Exit, Failure> {
    let price = prices::price(&args.price)?;
    let levers = levers();
    let report = match args.files.as_slice() {
        [] => None,
        files => Some(replayed(files, levers, &price)?),
    };
    let rows = rows(levers, report.as_ref(), &price)?;
    let markdown = markdown(&rows, report.as_ref(), &price);
    if let Some(folder) = &args.out {
        let csv = rows.iter().map(csv_line).collect::<String>();
        let csv = format!("{}\n{csv}", COLUMNS.join(","));
        for (name, text) in [("table.md", &markdown), ("table.csv", &csv)] {
            write_file(&folder.join(name), text.as_bytes())
                .map_err(|error| Failure::could_not_do(&error))?;
        }
    }
    output::line(markdown.trim_end())?;
    Ok(Exit::Fine)
}

fn replayed(files: &[PathBuf], levers: &[Lever], price: &Price) -> Result<Report, Failure> {
    let marks = Marks::new(PERMANENT, &[]).map_err(|error| Failure::could_not_do(&error))?;
    let sweep = Sweep::new(lever_cases(levers), (price.clone(), None), marks);
    let sweep = sweep.map_err(|error| Failure::could_not_do(&error))?;
    let found = record_files(files).map_err(|error| Failure::CouldNotDo(error.to_string()))?;
    for unreadable in &found.unreadable {
        output::note(format_args!("{unreadable}; left out"));
    }
    let import = Import {
        files: found.files,
        format: None,
        success: SuccessMark::Usual,
    };
    let (_, report, _) = whatif::read(&import, (&sweep, price))?;
    match report.recorded.runs {
        0 => Err(Failure::WrongInput(
            "no recorded run in the files".to_owned(),
        )),
        _ => Ok(report),
    }
}

/// A line of the table.
struct Row {
    lever: &'static str,
    scripted: String,
    recorded: String,
    lost: String,
    is_bound: bool,
    risk: &'static str,
}

fn rows(levers: &[Lever], report: Option<&Report>, price: &Price) -> Result<Vec<Row>, Failure> {
    let experiments = Experiments::load(&[]).map_err(|error| Failure::could_not_do(&error))?;
    let claimed = |id: &str| {
        let mut claims = experiments.iter().flat_map(|one| &one.readout().claims);
        let claim = claims.find(|claim| claim.id == id);
        claim.map_or_else(String::new, |claim| claim.published.to_string())
    };
    let rows = levers.iter().map(|lever| {
        let on_records = report.and_then(|report| lever.on_records(report, price));
        let recorded = on_records.as_ref().map(|on| &on.cost_percent);
        let lost = on_records.as_ref().and_then(|on| on.successes_lost);
        Row {
            lever: lever.name,
            scripted: claimed(lever.claim),
            recorded: recorded.map_or_else(String::new, Cell::to_string),
            lost: lost.map_or_else(String::new, |(lost, of)| format!("{lost} of {of}")),
            is_bound: on_records.is_some_and(|on| on.is_bound),
            risk: lever.risk,
        }
    });
    Ok(rows.collect())
}

fn markdown(rows: &[Row], report: Option<&Report>, price: &Price) -> String {
    let headings = [
        "lever",
        "scripted runs",
        "recorded runs",
        "successes lost",
        "what it risks",
    ];
    let percent = |number: &str| match number {
        "" => "—".to_owned(),
        number if number.starts_with('-') => format!("{} %", number.replace('-', "−")),
        number if number.chars().all(|digit| matches!(digit, '0' | '.')) => format!("{number} %"),
        number => format!("+{number} %"),
    };
    let mut lines = vec![headings.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        let bound = if row.is_bound { "at most " } else { "" };
        let lost = if row.lost.is_empty() {
            "—"
        } else {
            &row.lost
        };
        [
            row.lever.to_owned(),
            percent(&row.scripted),
            format!("{bound}{}", percent(&row.recorded)),
            lost.to_owned(),
            row.risk.to_owned(),
        ]
    }));
    let mut text = String::from("How the bill changes\n\n");
    text.push_str(&output::markdown_table(&lines));
    if let Some(report) = report {
        let _ = writeln!(
            text,
            "\n{} recorded runs, ${} as they were; price: {} ({}, {})",
            report.recorded.runs, report.recorded.cost, price.name, price.source, price.date
        );
        if price.has_cache_rates() {
            text.push_str(
                "\nBoth caches are billed at this price's own rates of cached tokens; what differs \
                 is what they find.\n",
            );
        }
        let _ = writeln!(text, "\nPolicies on recorded runs: {}.", lever_policies());
    }
    text
}

fn csv_line(row: &Row) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    format!(
        "{},{},{},{},{}\n",
        quoted(row.lever),
        row.scripted,
        row.recorded,
        row.lost,
        quoted(row.risk)
    )
}
