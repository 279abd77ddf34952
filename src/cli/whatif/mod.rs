//! `loopmeter whatif`: recorded runs under other limits.

mod args;
mod json;
mod picture;
mod text;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

pub(super) use args::{EXAMPLES, WhatifArgs};

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::signals::Interrupt;
use crate::money::PicoUsd;
use crate::pricing::Price;
use crate::record::{Format, Import, ImportStopped, Imported, Seen, Skipped, record_files};
use crate::results::stats::Thousandths;
use crate::results::{Column, CsvFile, WriteError};
use crate::whatif::{Report, Sweep, of_case};

/// So many pieces that could not be read are named; the others are counted.
const NAMED: u64 = 20;

/// Dollars by format.
type Costs = BTreeMap<Format, PicoUsd>;

/// Everything that is printed.
struct Answer<'a> {
    imported: &'a Imported,
    /// Files of folders that cannot be read.
    unreadable: u64,
    report: &'a Report,
    /// What the counted runs of each format cost, request by request.
    costs: &'a Costs,
    price: &'a Price,
    /// The key of success that was asked for.
    success: Option<&'a str>,
    keep: Thousandths,
    /// The assumption of budgets that reserve.
    max_completion_tokens: Option<u64>,
}

/// Reads the records, replays them and prints what came of it.
pub(super) fn run(args: &WhatifArgs) -> Result<Exit, Failure> {
    let price = super::prices::price(&args.price)?;
    let sweep = args.sweep(&price)?;
    let found = record_files(&args.files);
    let found = found.map_err(|error| Failure::CouldNotDo(error.to_string()))?;
    args.spare_inputs(&found.files)?;
    for unreadable in &found.unreadable {
        output::note(format_args!("{unreadable}; left out"));
    }
    if found.again > 0 {
        let files = counted(found.again, "file");
        output::note(format_args!("{files} named more than once, read once"));
    }
    let import = Import {
        files: found.files,
        format: args.from,
        success: args.success.clone().unwrap_or_default(),
    };
    let (imported, report, costs) = read(&import, (&sweep, &price))?;
    if report.recorded.runs == 0 {
        let files = counted(imported.files, "file");
        return Err(Failure::WrongInput(format!(
            "no recorded run in {files}; --from FORMAT says what they are"
        )));
    }
    let answer = Answer {
        imported: &imported,
        unreadable: found.unreadable.len() as u64,
        report: &report,
        costs: &costs,
        price: &price,
        success: import.success.named(),
        keep: args.keep.0,
        max_completion_tokens: args.reserved(),
    };
    output::line(if args.json {
        output::json(&json::of(&answer))
    } else {
        text::of(&answer)
    })?;
    if let Some(path) = &args.csv {
        csv(path, &report).map_err(|error| Failure::could_not_do(&error))?;
    }
    if let Some(file) = &args.plot {
        picture::write(file, &answer)?;
    }
    Ok(Exit::Fine)
}

/// Replays every record as it is read.
pub(super) fn read(
    import: &Import,
    (sweep, price): (&Sweep, &Price),
) -> Result<(Imported, Report, Costs), Failure> {
    let interrupt = Interrupt::listen_while_reading();
    let bar = bar(import);
    let mut skipped = 0;
    let mut watch = |seen: Seen<'_>| {
        match seen {
            Seen::Bytes(bytes) => bar.set_position(bytes),
            Seen::Skipped(piece) => {
                skipped += 1;
                if skipped <= NAMED {
                    bar.suspend(|| tell(piece));
                }
            }
        }
        if interrupt.is_requested() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let (mut report, mut costs) = (sweep.report(), Costs::new());
    let imported = import.each(
        &mut watch,
        |recording| {
            let cost = recording.cost(price);
            (recording.format, cost, sweep.replay(&recording))
        },
        |(format, cost, run)| {
            *costs.entry(format).or_default() += cost;
            report.add(&run);
        },
    );
    bar.finish_and_clear();
    if skipped > NAMED {
        output::note(format_args!("… and {} more left out", skipped - NAMED));
    }
    imported
        .map(|imported| (imported, report, costs))
        .map_err(|ImportStopped| Failure::Stopped)
}

fn tell(Skipped { place, what }: &Skipped) {
    output::note(format_args!("{place}: {what}; left out"));
}

/// A bar over the bytes of all files; nothing is drawn where nobody watches.
fn bar(import: &Import) -> ProgressBar {
    if !output::is_watched() {
        return ProgressBar::hidden();
    }
    let sizes = import.files.iter().map(|file| file.metadata());
    let bar = ProgressBar::new(sizes.flatten().map(|metadata| metadata.len()).sum());
    let style = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

/// A row for the runs as they were, and one for each case.
fn csv(path: &Path, report: &Report) -> Result<(), WriteError> {
    let recorded = of_case(report, None, &report.recorded);
    let columns = recorded
        .iter()
        .map(|(name, kind, _)| Column::new(*name, *kind));
    let mut file = CsvFile::create(path, columns.collect())?;
    let cases = report
        .cases
        .iter()
        .map(|(case, tally)| of_case(report, Some(case), tally));
    for row in std::iter::once(recorded).chain(cases) {
        file.append(row.into_iter().map(|(_, _, cell)| cell).collect())?;
    }
    file.commit().map(|_| ())
}
