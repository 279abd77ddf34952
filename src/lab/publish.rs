//! Making an experiment's results: rows stream into files, and what is read from them follows.

use std::fs;
use std::path::Path;

use crate::clock::ClockKind;
use crate::experiment::{CellRows, Experiment, Purse};
use crate::files::{Commit, write_file};
use crate::lab::needed::Needed;
use crate::lab::{
    CELLS, Draw, INPUTS, Lab, LabError, Measured, PLOT, Reading, SUMMARY, TABLE_CSV, TABLE_MD,
    TURNS, remove_left,
};
use crate::results::claims::{ClaimError, ClaimOutcome, Verdict};
use crate::results::digest::{DIGESTS_FILE, write_digests};
use crate::results::summary::N;
use crate::results::{CsvFile, RowSet};

/// What was made.
#[derive(Clone, Debug)]
pub struct Published {
    /// What was read from the rows; absent where the experiment asks for nothing.
    pub reading: Option<Reading>,
    /// Whether any file has other bytes than before.
    pub changed: Commit,
}

/// Runs `experiment` and writes its folder of results. Rows are written as they come, so memory
/// does not grow with the sweep; no file appears before it is whole. What killed processes were just
/// writing there is removed.
///
/// # Errors
/// [`LabError`]; the files that were there before then stand as they were.
pub fn publish(experiment: &Experiment, lab: &mut Lab<'_>) -> Result<Published, LabError> {
    publish_within(experiment, lab, None)
}

/// The same, as far as a purse goes. Where the sweep is not run to its end, the rows so far are
/// put into [`Lab::partial_folder`], and the results stand as they were.
///
/// # Errors
/// [`LabError`]; [`LabError::Spent`] where a run does not fit into the purse any more.
pub fn publish_within(
    experiment: &Experiment,
    lab: &mut Lab<'_>,
    purse: Option<&mut Purse>,
) -> Result<Published, LabError> {
    let folder = lab.folder(experiment);
    remove_left(lab.results, &folder);
    let mut cells = CsvFile::create(&folder.join(CELLS), experiment.cell_columns())?;
    let mut turns = CsvFile::create(&folder.join(TURNS), experiment.turn_columns())?;
    let mut take = |rows: CellRows| {
        cells.append(rows.cell)?;
        for turn in rows.turns {
            turns.append(turn)?;
        }
        Ok(())
    };
    let is_paid = purse.is_some();
    let ran = match purse {
        Some(purse) => lab.rows_within(purse, experiment, &mut take),
        None => lab.rows_of(experiment, &mut take),
    };
    if let Err(error) = ran {
        // Rows that were paid for are not thrown away, whatever ended the sweep.
        if is_paid {
            let partial = lab.partial_folder(experiment);
            cells.commit_as(&partial.join(CELLS))?;
            turns.commit_as(&partial.join(TURNS))?;
        }
        return Err(error);
    }
    let published = finish(
        experiment,
        (&folder, lab.draw),
        [cells.commit()?, turns.commit()?],
    )?;
    // Rows of a sweep that did not end are of no use beside those of one that did.
    let partial = lab.partial_folder(experiment);
    for file in [CELLS, TURNS] {
        let _ = fs::remove_file(partial.join(file));
    }
    let _ = fs::remove_dir(partial);
    Ok(published)
}

/// Makes what follows from the rows that were just put into `folder`.
pub(super) fn finish(
    experiment: &Experiment,
    (folder, draw): (&Path, Draw<'_>),
    rows: [Commit; 2],
) -> Result<Published, LabError> {
    let mut commits = rows.to_vec();
    let derived = derive(experiment, folder, draw)?;
    commits.extend(derived.commits);
    let written = commits.contains(&Commit::Written);
    let changed = if written {
        Commit::Written
    } else {
        Commit::Unchanged
    };
    Ok(Published {
        reading: derived.reading,
        changed,
    })
}

/// What was made of rows that stand in a folder.
pub(super) struct Derived {
    pub(super) reading: Option<Reading>,
    /// Every file of the results, in the order in which it was written, the digests last.
    pub(super) files: Vec<&'static str>,
    commits: Vec<Commit>,
}

/// Writes everything that follows from the rows in `folder`, and what they were made from.
pub(super) fn derive(
    experiment: &Experiment,
    folder: &Path,
    draw: Draw<'_>,
) -> Result<Derived, LabError> {
    let inputs = experiment.inputs().to_text();
    let mut commits = vec![write_file(&folder.join(INPUTS), inputs.as_bytes())?];
    let mut files = vec![CELLS, TURNS, INPUTS];
    let reading = read_back(experiment, folder, draw)?;
    if let Some(summary) = reading.as_ref().and_then(|read| read.summary.as_ref()) {
        commits.push(write_file(&folder.join(SUMMARY), summary.as_bytes())?);
        files.push(SUMMARY);
    }
    if let Some(table) = reading.as_ref().and_then(|read| read.table.as_ref()) {
        commits.push(write_file(&folder.join(TABLE_CSV), table.csv.as_bytes())?);
        commits.push(write_file(
            &folder.join(TABLE_MD),
            table.markdown.as_bytes(),
        )?);
        files.extend([TABLE_CSV, TABLE_MD]);
    }
    if let Some(plot) = reading.as_ref().and_then(|read| read.plot.as_ref()) {
        commits.push(write_file(&folder.join(PLOT), plot.as_bytes())?);
        files.push(PLOT);
    }
    if experiment.clock() == ClockKind::Real {
        commits.push(write_digests(folder, &files)?);
        files.push(DIGESTS_FILE);
    }
    Ok(Derived {
        reading,
        files,
        commits,
    })
}

/// What is read from the rows that were just written, from the files themselves.
fn read_back(
    experiment: &Experiment,
    folder: &Path,
    draw: Draw<'_>,
) -> Result<Option<Reading>, LabError> {
    let readout = experiment.readout();
    let asks = readout.table.is_some() || readout.plot.is_some() || readout.summary.is_some();
    if !asks && readout.claims.is_empty() {
        return Ok(None);
    }
    // A plot is of all rows, and so are the notes on samples; nobody draws a million.
    let mut columns = experiment.cell_columns().into_iter();
    if readout.plot.is_some() || columns.any(|column| column.name == N) {
        let measured = Measured::read(experiment, folder)?;
        return Ok(Some(Reading::of(experiment, &measured, draw)?));
    }
    let needed = Needed::of(experiment);
    let read = |file: &str, columns: &[_], wanted: &_| {
        RowSet::read_wanted(&folder.join(file), columns, wanted)
    };
    let measured = Measured {
        cells: read(CELLS, &experiment.cell_columns(), &needed.cells)?,
        turns: read(TURNS, &experiment.turn_columns(), &needed.turns)?,
    };
    let reading = Reading::of(experiment, &measured, draw)?;
    // What is said of a filter that leaves no row lists the values that other rows have.
    let finds_none =
        |claim: &ClaimOutcome| matches!(&claim.verdict, Verdict::Broken(ClaimError::NoRow { .. }));
    if reading.claims.iter().any(finds_none) {
        let measured = Measured::read(experiment, folder)?;
        return Ok(Some(Reading::of(experiment, &measured, draw)?));
    }
    Ok(Some(reading))
}
