//! Checking committed results: run again in memory and compare, or verify against digests.

use std::fmt;
use std::path::Path;

use crate::clock::ClockKind;
use crate::experiment::{Experiment, Inputs};
use crate::lab::attribution::{Attribution, changed_inputs};
use crate::lab::bill::Changes;
use crate::lab::timed::{self, Outcome, Timing};
use crate::lab::{
    CELLS, INPUTS, Lab, LabError, Measured, PLOT, Reading, SUMMARY, TABLE_CSV, TABLE_MD, TURNS,
    committed_bytes,
};
use crate::results::RowSet;
use crate::results::claims::ClaimOutcome;
use crate::results::compare::{self, Comparison, Difference, LineDifference};
use crate::results::digest::{Mismatch, verify_digests};

/// How many differences of one file are told one by one.
const MOST_TOLD: usize = 20;

/// One thing that is not as it should be.
#[derive(Clone, Debug)]
pub enum Finding {
    /// A committed file is not there.
    Missing {
        /// The file.
        file: &'static str,
    },
    /// A committed value differs from the one measured now.
    Row {
        /// The file.
        file: &'static str,
        /// What differs.
        difference: Difference,
    },
    /// More values differ than are told one by one.
    More {
        /// The file.
        file: &'static str,
        /// How many more.
        count: usize,
    },
    /// A committed text differs from the one made now.
    Line {
        /// The file.
        file: &'static str,
        /// The first line that differs.
        difference: LineDifference,
    },
    /// A committed plot differs from the one made now. Its lines would say little to a reader.
    Drawing {
        /// The file.
        file: &'static str,
    },
    /// A committed file is not what its digest says.
    Digest(Mismatch),
    /// A committed file cannot be read as what it should be.
    Unreadable {
        /// What is wrong.
        problem: String,
    },
    /// A published number does not come out.
    Claim(ClaimOutcome),
    /// A time is longer than it was.
    Slower(Timing),
}

/// What becomes of an experiment on the real clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// Its committed files are held against their digests.
    Held,
    /// It is measured again, and the measurements are compared.
    Again,
}

/// What became of checking one experiment.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// Everything that is not as it should be.
    pub findings: Vec<Finding>,
    /// What became of every claim.
    pub claims: Vec<ClaimOutcome>,
    /// Which cells say something else, and which inputs differ.
    pub attribution: Attribution,
    /// What became of every time that was measured again.
    pub timings: Vec<Timing>,
    /// The rows that were compared with the committed ones, or those that were made sure of.
    pub rows: Option<Measured>,
    /// Whether these rows were made now.
    pub is_fresh: bool,
}

/// Checks the committed results of `experiment`. One in virtual time is run again; one on the
/// real clock is held against its digests, its table and claims are made from its rows, and
/// where `timed` asks for it, it is measured again too.
///
/// # Errors
/// [`LabError`] where the check could not be made; what it finds is no error.
pub fn check(experiment: &Experiment, lab: &mut Lab<'_>, timed: Timed) -> Result<Check, LabError> {
    match (experiment.clock(), timed) {
        (ClockKind::Virtual, _) => check_again(experiment, lab),
        (ClockKind::Real, Timed::Held) => check_digests(experiment, lab),
        (ClockKind::Real, Timed::Again) => measure_again(experiment, lab),
    }
}

fn check_again(experiment: &Experiment, lab: &mut Lab<'_>) -> Result<Check, LabError> {
    let fresh = Measured::of(experiment, lab)?;
    let reading = Reading::of(experiment, &fresh, lab.draw)?;
    let folder = lab.folder(experiment);
    let labels = labels(experiment);
    let of_turn = [labels.as_slice(), &["turn"]].concat();
    let mut check = Check::default();
    check.rows(&folder, CELLS, (&fresh.cells, &labels))?;
    check.rows(&folder, TURNS, (&fresh.turns, &of_turn))?;
    check.read_from_rows(&folder, experiment, &reading)?;
    check.judge(reading);
    check.attribution = Attribution::of(&folder, experiment, (&fresh.cells, &labels, &labels))?;
    match committed_bytes(&folder, INPUTS)? {
        None => check.findings.push(Finding::Missing { file: INPUTS }),
        Some(bytes) => {
            let damage = Inputs::parse(&bytes).err();
            check
                .findings
                .extend(damage.map(|error| Finding::Unreadable {
                    problem: format!(
                        "{INPUTS}: {error}; `loopmeter check --update --only {}` writes it anew",
                        experiment.name()
                    ),
                }));
        }
    }
    check.keep(fresh);
    Ok(check)
}

/// Measures again what is on the real clock: what was counted has to be the same, and times are
/// compared as samples. The claims are held against what was measured now.
fn measure_again(experiment: &Experiment, lab: &mut Lab<'_>) -> Result<Check, LabError> {
    let mut check = check_digests(experiment, lab)?;
    let fresh = Measured::of(experiment, lab)?;
    if let Some(committed) = check.rows.take() {
        let labels = labels(experiment);
        let (was, is) = (timed::counted(&committed)?, timed::counted(&fresh)?);
        let (was, is) = timed::in_both(&was, &is)?;
        let key = [labels.as_slice(), &["sample"]].concat();
        let of_turn = [key.as_slice(), &["turn"]].concat();
        check.compared(CELLS, compare::rows(&was.cells, &is.cells, &key, MOST_TOLD));
        check.compared(
            TURNS,
            compare::rows(&was.turns, &is.turns, &of_turn, MOST_TOLD),
        );
        let folder = lab.folder(experiment);
        check.attribution = Attribution {
            changes: Changes::between(&was.cells, &is.cells, &key, &labels),
            inputs: changed_inputs(&folder, experiment)?,
        };
        check.timings = timed::timings(experiment, &committed, &fresh);
        let slower = check.timings.iter();
        let slower = slower.filter(|timing| matches!(timing.outcome, Outcome::Slower(_)));
        let slower: Vec<_> = slower.cloned().map(Finding::Slower).collect();
        check.findings.extend(slower);
    }
    let is_claim = |finding: &Finding| matches!(finding, Finding::Claim(_));
    check.findings.retain(|finding| !is_claim(finding));
    check.judge(Reading::of(experiment, &fresh, lab.draw)?);
    check.keep(fresh);
    Ok(check)
}

fn check_digests(experiment: &Experiment, lab: &Lab<'_>) -> Result<Check, LabError> {
    let folder = lab.folder(experiment);
    let mut check = Check::default();
    let needed = [CELLS, TURNS]
        .into_iter()
        .filter(|file| !folder.join(file).exists());
    check
        .findings
        .extend(needed.map(|file| Finding::Missing { file }));
    if !check.findings.is_empty() {
        return Ok(check);
    }
    match verify_digests(&folder) {
        Ok(mismatches) => {
            let mismatches = mismatches.into_iter().map(Finding::Digest);
            check.findings.extend(mismatches);
        }
        Err(error) => check.findings.push(Finding::Unreadable {
            problem: error.to_string(),
        }),
    }
    match Measured::read(experiment, &folder) {
        Ok(rows) => {
            let reading = Reading::of(experiment, &rows, lab.draw)?;
            check.read_from_rows(&folder, experiment, &reading)?;
            check.judge(reading);
            check.rows = Some(rows);
            check.attribution.inputs = changed_inputs(&folder, experiment)?;
        }
        Err(error) => {
            let problem = error.to_string();
            check.findings.push(Finding::Unreadable { problem });
        }
    }
    Ok(check)
}

impl Check {
    /// Whether everything is as it should be.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    fn keep(&mut self, fresh: Measured) {
        self.rows = Some(fresh);
        self.is_fresh = true;
    }

    fn compared(&mut self, file: &'static str, comparison: Comparison) {
        let told = comparison.differences.len();
        let differences = comparison.differences.into_iter();
        self.findings
            .extend(differences.map(|difference| Finding::Row { file, difference }));
        if comparison.total > told {
            let count = comparison.total - told;
            self.findings.push(Finding::More { file, count });
        }
    }

    fn rows(
        &mut self,
        folder: &Path,
        file: &'static str,
        (fresh, key): (&RowSet, &[&str]),
    ) -> Result<(), LabError> {
        let Some(bytes) = committed_bytes(folder, file)? else {
            self.findings.push(Finding::Missing { file });
            return Ok(());
        };
        let name = folder.join(file).display().to_string();
        let comparison = match compare::csv(&name, &bytes, fresh, key, MOST_TOLD) {
            Ok(comparison) => comparison,
            Err(error) => {
                let problem = error.to_string();
                self.findings.push(Finding::Unreadable { problem });
                return Ok(());
            }
        };
        self.compared(file, comparison);
        Ok(())
    }

    /// Compares what is made from the rows: summary, table, plot.
    fn read_from_rows(
        &mut self,
        folder: &Path,
        experiment: &Experiment,
        reading: &Reading,
    ) -> Result<(), LabError> {
        if let Some(summary) = &reading.summary {
            self.text(folder, SUMMARY, summary)?;
        }
        if let Some(plot) = &reading.plot {
            self.drawing(folder, PLOT, plot)?;
        }
        let Some(table) = &reading.table else {
            return Ok(());
        };
        self.rows(folder, TABLE_CSV, (&table.rows, &labels(experiment)))?;
        self.text(folder, TABLE_MD, &table.markdown)
    }

    fn text(&mut self, folder: &Path, file: &'static str, fresh: &str) -> Result<(), LabError> {
        let Some(bytes) = committed_bytes(folder, file)? else {
            self.findings.push(Finding::Missing { file });
            return Ok(());
        };
        let committed = String::from_utf8_lossy(&bytes);
        let difference = compare::text_lines(&committed, fresh);
        self.findings
            .extend(difference.map(|difference| Finding::Line { file, difference }));
        Ok(())
    }

    fn drawing(&mut self, folder: &Path, file: &'static str, fresh: &str) -> Result<(), LabError> {
        match committed_bytes(folder, file)? {
            None => self.findings.push(Finding::Missing { file }),
            Some(bytes) if bytes == fresh.as_bytes() => (),
            Some(_) => self.findings.push(Finding::Drawing { file }),
        }
        Ok(())
    }

    fn judge(&mut self, reading: Reading) {
        let broken = reading.broken().cloned();
        self.findings.extend(broken.map(Finding::Claim));
        self.claims = reading.claims;
    }
}

/// The columns that tell the cells of an experiment apart.
fn labels(experiment: &Experiment) -> Vec<&str> {
    let labels = experiment.sweep().labels().into_iter();
    labels.map(|(name, _)| name).collect()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { file } => {
                write!(
                    f,
                    "{file} is not there; `loopmeter run --only NAME` makes it"
                )
            }
            Self::Row { file, difference } => write!(f, "{file}: {difference}"),
            Self::More { file, count } => write!(f, "{file}: and {count} more differences"),
            Self::Line { file, difference } => write!(f, "{file}: {difference}"),
            Self::Drawing { file } => write!(f, "{file}: another picture than the rows give"),
            Self::Digest(mismatch) => write!(f, "{mismatch}"),
            Self::Unreadable { problem } => f.write_str(problem),
            Self::Claim(claim) => write!(f, "claim {claim}"),
            Self::Slower(timing) => write!(f, "{timing}"),
        }
    }
}
