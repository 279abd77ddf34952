//! What a sweep costs before it is run, and how much of it may be spent.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;

use super::exit::{Exit, Failure};
use super::output::{self, counted};
use super::prices::{in_words, origin};
use super::progress::Progress;
use super::select::Selected;
use super::signals::Interrupt;
use crate::experiment::{Experiment, Purse, Worst};
use crate::lab::{Basis, Committed, LabError, Outlook, outlook};
use crate::message::to_json;
use crate::money::PicoUsd;

/// What may be spent, and whether anything is.
#[derive(Debug, Args)]
pub(super) struct Spending {
    /// Run nothing: print what it would cost, per cell and in all, expected and at most
    #[arg(long, conflicts_with_all = ["max_spend", "shard"])]
    dry_run: bool,
    /// Print that as JSON
    #[arg(long, requires = "dry_run")]
    json: bool,
    /// Begin a run only if the most that it can cost still fits into so many dollars, all
    /// experiments together
    #[arg(long, value_name = "USD", value_parser = parse_usd, conflicts_with = "shard")]
    max_spend: Option<PicoUsd>,
}

fn parse_usd(text: &str) -> Result<PicoUsd, String> {
    let amount: PicoUsd = text.parse().map_err(|error| format!("{error}"))?;
    if amount < PicoUsd::ZERO {
        return Err("less than nothing cannot be spent".to_owned());
    }
    Ok(amount)
}

impl Spending {
    /// Whether only the bill is asked for.
    pub(super) const fn is_dry(&self) -> bool {
        self.dry_run
    }

    /// The purse that was given. Before anything is run, everything that could empty it without
    /// a bound is refused.
    pub(super) fn purse(&self, selected: &Selected) -> Result<Option<Purse>, Failure> {
        let Some(bound) = self.max_spend else {
            return Ok(None);
        };
        for experiment in meant(selected) {
            let first = experiment.rehearsal(&|| false).first_unbounded();
            let first = first.map_err(|error| Failure::could_not_do(&error))?;
            if let Some((cell, missing)) = first {
                return Err(Failure::WrongInput(format!(
                    "{}: --max-spend cannot hold for the cell `{cell}`, whose bill has no bound: \
                     {missing}",
                    experiment.name()
                )));
            }
        }
        Ok(Some(Purse::of(bound)))
    }

    /// Prints what the selected experiments would cost.
    pub(super) fn forecast(&self, selected: &Selected, results: &Path) -> Result<Exit, Failure> {
        let (interrupt, progress) = (Interrupt::listen(), Progress::new());
        let mut bills = Vec::new();
        for experiment in meant(selected) {
            let show = |done| progress.show(experiment, done);
            let bill = Bill::of(experiment, results, (&interrupt, &show));
            progress.clear();
            let bill = bill?;
            if !self.json {
                bill.print()?;
            }
            bills.push(bill);
        }
        if self.json {
            output::line(to_json(&Shown::new(&bills)))?;
        } else {
            print_sum(&bills)?;
        }
        Ok(Exit::Fine)
    }
}

/// The experiments that would be run.
fn meant(selected: &Selected) -> impl Iterator<Item = &Experiment> {
    selected
        .iter()
        .filter(|experiment| !selected.skips(experiment))
}

/// How a verb ends whose experiment was not run to its end; `paid` is what it was paid from and
/// where its rows are.
pub(super) fn ended(
    error: &LabError,
    name: &str,
    paid: Option<(Purse, &Path)>,
) -> Result<Exit, Failure> {
    let kept = paid.map_or_else(String::new, |(purse, partial)| {
        let folder = partial.display();
        // That the money was spent names the sum itself.
        let spent = match error {
            LabError::Spent(_) => String::new(),
            _ => format!("; spent {purse}"),
        };
        format!("{spent}; its rows so far are in {folder}, and its results stand as they were")
    });
    match error {
        LabError::Stopped { done, all } => {
            output::note(format_args!(
                "stopped in {name} after {done} of {all} runs{kept}"
            ));
            Ok(Exit::Stopped)
        }
        LabError::Spent(spent) => Err(Failure::CouldNotDo(format!(
            "--max-spend ended {name} {spent}{kept}"
        ))),
        error => match Failure::could_not_do(error) {
            Failure::CouldNotDo(message) => Err(Failure::CouldNotDo(message + &kept)),
            other => Err(other),
        },
    }
}

/// What an experiment would cost.
struct Bill<'e> {
    experiment: &'e Experiment,
    cells: Vec<Outlook>,
    committed: Committed,
}

/// The sum of the known bills, and whether some are not known.
#[derive(Clone, Copy, Default)]
struct Sum {
    known: PicoUsd,
    is_whole: bool,
}

impl Sum {
    fn of(bills: impl Iterator<Item = Option<PicoUsd>>) -> Self {
        let whole = Self {
            known: PicoUsd::ZERO,
            is_whole: true,
        };
        bills.fold(whole, |sum, bill| Self {
            known: sum.known + bill.unwrap_or(PicoUsd::ZERO),
            is_whole: sum.is_whole && bill.is_some(),
        })
    }

    /// None where it is not known.
    fn whole(self) -> Option<PicoUsd> {
        self.is_whole.then_some(self.known)
    }

    fn shown(self, without: &str) -> String {
        match self.whole() {
            Some(known) => format!("${known}"),
            None => without.to_owned(),
        }
    }
}

/// The most that all runs of a cell can cost; none without a bound.
fn at_most(outlook: &Outlook) -> Option<PicoUsd> {
    match outlook.forecast.worst {
        Worst::AtMost(most) => Some(most * outlook.runs),
        Worst::Unbounded(_) => None,
    }
}

impl<'e> Bill<'e> {
    fn of(
        experiment: &'e Experiment,
        results: &Path,
        (interrupt, show): (&Interrupt, &dyn Fn(u64)),
    ) -> Result<Self, Failure> {
        let stop = || interrupt.is_requested();
        let rehearsal = experiment.rehearsal(&stop);
        let committed = Committed::of(experiment, results);
        let mut cells = Vec::new();
        for index in 0..experiment.sweep().len() {
            let seen = outlook(experiment, (&rehearsal, &committed), index);
            if stop() {
                return Err(Failure::Stopped);
            }
            let seen = seen.map_err(|error| Failure::could_not_do(&error))?;
            show((index + 1).saturating_mul(seen.runs));
            cells.push(seen);
        }
        Ok(Self {
            experiment,
            cells,
            committed,
        })
    }

    fn expected(&self) -> Sum {
        Sum::of(self.cells.iter().map(|cell| cell.expected))
    }

    fn at_most(&self) -> Sum {
        Sum::of(self.cells.iter().map(at_most))
    }

    fn print(&self) -> Result<(), Failure> {
        let experiment = self.experiment;
        let (title, name) = (experiment.title(), experiment.name());
        output::line(format_args!("# {title} ({name})\n"))?;
        let ids = self.cells.iter().map(|cell| &cell.forecast.cell.id);
        let width = ids.map(|id| id.chars().count()).max().unwrap_or(0);
        let width = width.max("cell".len());
        output::line(format_args!(
            "{:<width$}  {:>5}  {:>14}  {:>14}  {}",
            "cell", "runs", "expected", "at most", "known from"
        ))?;
        for cell in &self.cells {
            let or = |amount: Option<PicoUsd>, other: &str| {
                amount.map_or_else(|| other.to_owned(), |amount| format!("${amount}"))
            };
            output::line(format_args!(
                "{:<width$}  {:>5}  {:>14}  {:>14}  {}",
                cell.forecast.cell.id,
                cell.runs,
                or(cell.expected, "unknown"),
                or(at_most(cell), "unbounded"),
                cell.basis.as_str()
            ))?;
        }
        output::line(format_args!(
            "\n{}: expected {}, at most {}",
            counted(experiment.runs(), "run"),
            self.expected().shown("unknown"),
            self.at_most().shown("unbounded")
        ))?;
        for line in self.remarks() {
            output::line(line)?;
        }
        output::line("")
    }

    /// What a basis means, and of which models the committed rows are.
    fn meaning(&self, basis: Basis) -> String {
        let words = meaning(basis);
        match basis {
            Basis::Committed if !self.committed.models().is_empty() => {
                format!("{words}, by {}", self.models())
            }
            _ => words.to_owned(),
        }
    }

    fn models(&self) -> String {
        let models = self.committed.models().iter();
        let quoted: Vec<String> = models.map(|model| format!("`{model}`")).collect();
        quoted.join(" and ")
    }

    /// What the figures rest on.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for price in self.experiment.prices() {
            let (name, words, origin) = (&price.name, in_words(price), origin(price));
            remarks.push(format!("price {name}: {words}; {origin}"));
        }
        let bases: BTreeSet<Basis> = self.cells.iter().map(|cell| cell.basis).collect();
        remarks.extend(bases.into_iter().map(|basis| self.meaning(basis)));
        if self.committed.is_of_other() {
            let asked = self.experiment.model().unwrap_or_default();
            let models = self.models();
            remarks.push(format!(
                "the results that are there are of {models}, not of `{asked}`, and say nothing of it"
            ));
        }
        let missing = self
            .cells
            .iter()
            .find_map(|cell| match cell.forecast.worst {
                Worst::Unbounded(missing) => Some(missing),
                Worst::AtMost(_) => None,
            });
        remarks.extend(missing.map(|missing| format!("unbounded: {missing}")));
        remarks
    }
}

const fn meaning(basis: Basis) -> &'static str {
    match basis {
        Basis::Rehearsed => {
            "rehearsed: the scripted model was asked in process, so this is the bill, and no money"
        }
        Basis::Committed => "committed: what the same cells cost in the results that are there",
        Basis::Assumed => {
            "assumed: a listing, the largest file and an answer, in replies of 50 tokens"
        }
        Basis::Unknown => "unknown: nothing says what a command will ask",
    }
}

fn print_sum(bills: &[Bill<'_>]) -> Result<(), Failure> {
    let expected = Sum::of(bills.iter().map(|bill| bill.expected().whole()));
    let at_most = Sum::of(bills.iter().map(|bill| bill.at_most().whole()));
    output::line(format_args!(
        "{}: expected {}, at most {}; nothing was sent",
        counted(bills.len() as u64, "experiment"),
        expected.shown("unknown"),
        at_most.shown("unbounded")
    ))
}

type Dollars = Option<Box<RawValue>>;

/// Dollars as a JSON number with every digit.
fn dollars(amount: Option<PicoUsd>) -> Dollars {
    RawValue::from_string(amount?.to_shortest()).ok()
}

#[derive(Serialize)]
struct Shown<'a> {
    experiments: Vec<ShownBill<'a>>,
    expected_usd: Dollars,
    at_most_usd: Dollars,
}

#[derive(Serialize)]
struct ShownBill<'a> {
    name: &'a str,
    prices: Vec<ShownPrice<'a>>,
    cells: Vec<ShownCell<'a>>,
    expected_usd: Dollars,
    at_most_usd: Dollars,
    /// The models that the committed rows are of, used or not.
    committed_models: &'a BTreeSet<String>,
}

#[derive(Serialize)]
struct ShownPrice<'a> {
    name: &'a str,
    source: &'a str,
    date: &'a str,
}

#[derive(Serialize)]
struct ShownCell<'a> {
    cell: &'a str,
    runs: u64,
    expected_usd: Dollars,
    at_most_usd: Dollars,
    known_from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbounded: Option<String>,
}

impl<'a> Shown<'a> {
    fn new(bills: &'a [Bill<'a>]) -> Self {
        let expected = bills.iter().map(|bill| bill.expected().whole());
        let at_most = bills.iter().map(|bill| bill.at_most().whole());
        Self {
            experiments: bills.iter().map(ShownBill::new).collect(),
            expected_usd: dollars(Sum::of(expected).whole()),
            at_most_usd: dollars(Sum::of(at_most).whole()),
        }
    }
}

impl<'a> ShownBill<'a> {
    fn new(bill: &'a Bill<'_>) -> Self {
        let prices = bill.experiment.prices().into_iter();
        let prices = prices.map(|price| ShownPrice {
            name: &price.name,
            source: &price.source,
            date: &price.date,
        });
        Self {
            name: bill.experiment.name(),
            prices: prices.collect(),
            cells: bill.cells.iter().map(ShownCell::new).collect(),
            expected_usd: dollars(bill.expected().whole()),
            at_most_usd: dollars(bill.at_most().whole()),
            committed_models: bill.committed.models(),
        }
    }
}

impl<'a> ShownCell<'a> {
    fn new(cell: &'a Outlook) -> Self {
        Self {
            cell: &cell.forecast.cell.id,
            runs: cell.runs,
            expected_usd: dollars(cell.expected),
            at_most_usd: dollars(at_most(cell)),
            known_from: cell.basis.as_str(),
            unbounded: match cell.forecast.worst {
                Worst::Unbounded(missing) => Some(missing.to_string()),
                Worst::AtMost(_) => None,
            },
        }
    }
}
