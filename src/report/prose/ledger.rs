//! What is known: every quantity that a number in a text can be.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use rust_decimal::{Decimal, RoundingStrategy};

use super::constants::{Constants, Declared, unit_of_id};
use super::edition::Standing;
use super::near::{Slip, significant, slip, spelled};
use super::scan::Day;
use super::unit::Unit;
use crate::clock::ClockKind;
use crate::experiment::Experiments;
use crate::results::claims::{Claim, Computation};
use crate::results::parse_decimal;

/// Where a quantity comes from, the one that says most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Somebody published it, and an experiment or a quotation holds it.
    Claim,
    /// It is declared.
    Constant,
    /// It stands in an experiment's table.
    Row,
}

/// One number that a text can contain.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The claim, the constant, or the table and its column.
    pub id: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its value.
    pub value: Decimal,
    /// As it was published.
    pub text: String,
    /// Its unit, where it has one that a text can show.
    pub unit: Option<Unit>,
    /// Whether the claim has this number alone.
    pub(super) alone: bool,
}

/// A value under which a quantity can be quoted.
#[derive(Clone, Copy, Debug)]
struct Form {
    quantity: usize,
    unit: Option<Unit>,
}

/// Everything that is known.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    quantities: Vec<Quantity>,
    forms: BTreeMap<Decimal, Vec<Form>>,
    /// Other units for the same: seconds for milliseconds, cents for dollars.
    scaled: BTreeMap<Decimal, Vec<Form>>,
    /// The spellings of claims and rows, by their length.
    spellings: BTreeMap<usize, BTreeMap<String, Vec<usize>>>,
    /// The same by the digits that count.
    digits: BTreeMap<String, Vec<usize>>,
    literals: Vec<(String, String)>,
    dates: Vec<(String, Day)>,
    /// Experiments whose rows are another machine's: nobody quotes those from this one.
    real_clock: BTreeSet<String>,
}

/// Why what is known could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A quoted claim and one of an experiment have one name and two values.
    #[error(
        "the claim `{id}` is {here} among the constants and {there} in an experiment: remove one of the two"
    )]
    TwoValues {
        /// The claim.
        id: String,
        /// Among the constants.
        here: String,
        /// In the experiment.
        there: String,
    },
    /// A table of results could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Results {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Ledger {
    /// What the claims of experiments and the declared constants know.
    ///
    /// # Errors
    /// [`LedgerError::TwoValues`].
    pub fn new(experiments: &Experiments, constants: &Constants) -> Result<Self, LedgerError> {
        let mut ledger = Self {
            literals: constants.literals.clone(),
            dates: constants.dates.clone(),
            real_clock: experiments
                .iter()
                .filter(|experiment| experiment.clock() == ClockKind::Real)
                .map(|experiment| experiment.name().to_owned())
                .collect(),
            ..Self::default()
        };
        let computed: BTreeMap<&str, &Claim> = experiments
            .iter()
            .flat_map(|experiment| &experiment.readout().claims)
            .map(|claim| (claim.id.as_str(), claim))
            .collect();
        for experiment in experiments {
            for claim in &experiment.readout().claims {
                let declared = Declared {
                    id: claim.id.clone(),
                    published: claim.published.clone(),
                    unit: unit_of(claim),
                };
                ledger.declare(Origin::Claim, &declared);
            }
        }
        for quoted in &constants.claims {
            match computed.get(quoted.id.as_str()) {
                None => ledger.declare(Origin::Claim, quoted),
                Some(claim) if claim.published.values == quoted.published.values => {}
                Some(claim) => {
                    let (id, here) = (quoted.id.clone(), quoted.published.to_string());
                    let there = claim.published.to_string();
                    return Err(LedgerError::TwoValues { id, here, there });
                }
            }
        }
        for constant in &constants.numbers {
            ledger.declare(Origin::Constant, constant);
        }
        Ok(ledger)
    }

    fn declare(&mut self, origin: Origin, declared: &Declared) {
        let values = &declared.published.values;
        for value in values {
            let alone = values.len() == 1;
            let text = if alone {
                declared.published.text.clone()
            } else {
                value.to_string()
            };
            let (id, unit) = (declared.id.clone(), declared.unit);
            self.add(Quantity {
                id,
                origin,
                value: *value,
                text,
                unit,
                alone,
            });
        }
    }

    /// Adds the numbers of the tables that the folder of results holds, one folder for each
    /// experiment. A folder that is not there adds nothing; nor does an experiment on the real
    /// clock, whose rows are of the machine that made them.
    ///
    /// # Errors
    /// [`LedgerError::Results`] for a table that is there and cannot be read.
    pub fn add_results(&mut self, folder: &Path) -> Result<(), LedgerError> {
        let failed = |path: &Path, source| LedgerError::Results {
            path: path.to_owned(),
            source,
        };
        if !folder.is_dir() {
            return Ok(());
        }
        let entries = folder
            .read_dir()
            .and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut tables: Vec<PathBuf> = entries
            .map_err(|source| failed(folder, source))?
            .iter()
            .filter(|entry| {
                !self
                    .real_clock
                    .contains(&*entry.file_name().to_string_lossy())
            })
            .map(|entry| entry.path().join("table.csv"))
            .collect();
        tables.retain(|table| table.is_file());
        tables.sort();
        for table in tables {
            let read = csv::Reader::from_path(&table)
                .and_then(|mut reader| self.add_table(&table, &mut reader));
            read.map_err(|error| failed(&table, error.into()))?;
        }
        Ok(())
    }

    fn add_table(
        &mut self,
        path: &Path,
        reader: &mut csv::Reader<std::fs::File>,
    ) -> Result<(), csv::Error> {
        let experiment = path
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let columns = reader.headers()?.clone();
        for record in reader.records() {
            for (column, cell) in columns.iter().zip(&record?) {
                let exact = parse_decimal(cell);
                // Nobody prints all six decimals of a ratio.
                let shown = [1, 2].into_iter().filter(|_| column.ends_with("_ratio"));
                let shown = shown.filter_map(|decimals| rounded(exact?, decimals));
                let shown = shown.map(|value| (value, value.to_string()));
                for (value, text) in exact
                    .map(|value| (value, cell.to_owned()))
                    .into_iter()
                    .chain(shown)
                {
                    let (id, unit) = (format!("{experiment}.{column}"), Unit::of_name(column));
                    self.add(Quantity {
                        id,
                        origin: Origin::Row,
                        value,
                        text,
                        unit,
                        alone: false,
                    });
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, quantity: Quantity) {
        let index = self.quantities.len();
        let (value, unit) = (quantity.value.abs(), quantity.unit);
        let known = self.forms.entry(value).or_default();
        let same = |form: &Form| {
            self.quantities
                .get(form.quantity)
                .is_some_and(|other| other.id == quantity.id)
        };
        if known.iter().any(same) {
            return;
        }
        known.push(Form {
            quantity: index,
            unit,
        });
        let scaled = match unit {
            Some(Unit::Ms) => value
                .checked_div(Decimal::ONE_THOUSAND)
                .map(|value| (value, Some(Unit::Seconds))),
            Some(Unit::Usd) => value
                .checked_mul(Decimal::ONE_HUNDRED)
                .map(|value| (value, None)),
            _ => None,
        };
        if let Some((value, unit)) = scaled {
            self.scaled.entry(value).or_default().push(Form {
                quantity: index,
                unit,
            });
        }
        if quantity.origin != Origin::Constant {
            let spelling = spelled(value);
            let digits = significant(&spelling);
            self.digits.entry(digits).or_default().push(index);
            // As published too: `2.10` is nearer to `2.00` than to `2`.
            for spelling in BTreeSet::from([spelling, value.to_string()]) {
                let by_length = self.spellings.entry(spelling.len()).or_default();
                by_length.entry(spelling).or_default().push(index);
            }
        }
        self.quantities.push(quantity);
    }

    /// Every quantity, claims first.
    #[must_use]
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    /// Whether a number of this standing can be a claim.
    pub(super) fn has_claim(&self, standing: &Standing) -> bool {
        let Standing::Covered(quantities) = standing else {
            return false;
        };
        let mut known = quantities
            .iter()
            .filter_map(|index| self.quantities.get(*index));
        known.any(|quantity| quantity.origin == Origin::Claim)
    }

    pub(super) fn literals(&self) -> &[(String, String)] {
        &self.literals
    }

    /// The declared date that one of `days` is, also in a year of the Buddhist era.
    pub(super) fn date(&self, days: &[Day]) -> Option<&str> {
        let era = |(year, month, day): Day| (year.saturating_add(543), month, day);
        let is = |known: &Day| days.iter().any(|day| day == known || *day == era(*known));
        self.dates
            .iter()
            .find(|(_, known)| is(known))
            .map(|(id, _)| id.as_str())
    }

    /// The quantities that a number of this value and unit can be, those that say most first.
    pub(super) fn matching(&self, value: Decimal, unit: Option<Unit>) -> Vec<usize> {
        let fits = |form: &&Form| unit.is_none_or(|unit| unit.allows(form.unit));
        let of = |forms: &BTreeMap<Decimal, Vec<Form>>| -> Vec<usize> {
            forms
                .get(&value)
                .into_iter()
                .flatten()
                .filter(fits)
                .map(|form| form.quantity)
                .collect()
        };
        let mut found = of(&self.forms);
        if found.is_empty() {
            found = of(&self.scaled);
        }
        found.sort_by_key(|index| self.quantities.get(*index).map(|quantity| quantity.origin));
        found
    }

    /// The claims that are `value` when rounded to its last digit, which counts `10^exponent`
    /// where it has no decimals. One digit is too few to be told by.
    pub(super) fn rounded(&self, value: Decimal, exponent: i32, unit: Option<Unit>) -> Vec<usize> {
        if significant(&spelled(value)).len() < 2 {
            return Vec::new();
        }
        let decimals = i64::from(value.scale()) - i64::from(exponent);
        let is_rounded = |quantity: &Quantity| {
            let exact = match (unit, quantity.unit) {
                (Some(Unit::Seconds), Some(Unit::Ms)) => {
                    quantity.value.checked_div(Decimal::ONE_THOUSAND)
                }
                (Some(unit), known) if !unit.allows(known) => return false,
                _ => Some(quantity.value),
            };
            exact.and_then(|exact| rounded(exact, decimals)) == Some(value.normalize())
        };
        let all = self.quantities.iter().enumerate();
        all.filter(|(_, quantity)| quantity.origin == Origin::Claim && is_rounded(quantity))
            .map(|(index, _)| index)
            .collect()
    }

    /// The quantities that a number of this value and unit was perhaps meant to be, and by which
    /// slip it misses them.
    pub(super) fn near(&self, value: Decimal, unit: Option<Unit>) -> Option<(Slip, Vec<usize>)> {
        let mut slips = Vec::new();
        for written in BTreeSet::from([spelled(value), value.to_string()]) {
            let len = written.len();
            let similar = self
                .spellings
                .range(len.saturating_sub(1)..=len + 1)
                .flat_map(|(_, same)| same);
            // One digit is one slip away from any other.
            let similar = similar.filter(|(spelling, _)| spelling.len() > 1);
            slips.extend(
                similar
                    .filter_map(|(spelling, indices)| Some((slip(&written, spelling)?, indices))),
            );
        }
        let same_digits = self
            .digits
            .get(&significant(&spelled(value)))
            .map(|indices| (Slip::Scale, indices));
        let mut found: BTreeMap<Slip, Vec<usize>> = BTreeMap::new();
        for (slip, indices) in slips.into_iter().chain(same_digits) {
            let fitting = indices
                .iter()
                .filter(|index| self.is_slip_of(slip, **index, unit));
            found.entry(slip).or_default().extend(fitting);
        }
        found.into_iter().find(|(_, fitting)| !fitting.is_empty())
    }

    /// Whether a slip is one of this quantity, and not another number that is short too.
    fn is_slip_of(&self, slip: Slip, index: usize, unit: Option<Unit>) -> bool {
        let Some(quantity) = self.quantities.get(index) else {
            return false;
        };
        let digits = significant(&quantity.text).len();
        let same_unit = unit.is_some_and(|unit| {
            matches!(unit, Unit::Usd | Unit::Percent | Unit::Tokens) && unit.allows(quantity.unit)
        });
        let fits = unit.is_none_or(|unit| unit.allows(quantity.unit));
        let enough = match (slip, quantity.origin) {
            (Slip::Digit, Origin::Claim) => {
                digits >= 3 || same_unit || digits == 2 && quantity.value.scale() > 0
            }
            (_, Origin::Claim) => digits >= 3,
            _ => digits >= 4,
        };
        fits && enough
    }
}

/// The value rounded to so many decimals, or, where they are negative, to tens and hundreds.
fn rounded(value: Decimal, decimals: i64) -> Option<Decimal> {
    let nearest = |value: Decimal, decimals: u32| {
        value.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero)
    };
    if let Ok(decimals) = u32::try_from(decimals) {
        return Some(nearest(value, decimals).normalize());
    }
    let tens = u32::try_from(-decimals).ok()?;
    let step = Decimal::from(10_u64.checked_pow(tens)?);
    let whole = nearest(value.checked_div(step)?, 0);
    Some(whole.checked_mul(step)?.normalize())
}

/// The unit of a claim's number: a ratio has none, whatever it is a ratio of.
fn unit_of(claim: &Claim) -> Option<Unit> {
    match claim.computed {
        Computation::Ratio { .. } => None,
        Computation::PercentChange { .. } => Some(Unit::Percent),
        _ => unit_of_id(&claim.id),
    }
}
