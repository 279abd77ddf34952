//! Claims: published numbers, how each is computed from rows, and what must hold between the two.
//!
//! The computations are a closed set and no expression language: a claim can be read by somebody
//! who has never seen it before.

use std::fmt;

use rust_decimal::Decimal;

use super::decimal::{parse_decimal, round_half_away};
use super::filter::{Filter, FilterError};
use super::fit::NoFit;
use super::rows::{RowSet, UnknownColumn};

pub use super::evaluate::{Settings, evaluate};

/// Decimals at which a measured value is printed when its claim says nothing about rounding.
const PRINTED_DECIMALS: u32 = 12;

/// A number, or a list of numbers, that somebody published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The numbers, exactly as written.
    pub values: Vec<Decimal>,
    /// The source text, such as `0.010780` or `[204, 269, 342]`.
    pub text: String,
}

/// A source text that is no published number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a decimal number: write it as 0.010780 or as a list [204, 269, 342]")]
pub struct NotPublished {
    /// The part that is no number.
    pub text: String,
}

impl Published {
    /// Reads a number or an array of numbers as TOML spells them; no digit passes through a float.
    ///
    /// # Errors
    /// [`NotPublished`] for an empty list and for anything that is not plain decimals, such as an
    /// exponent, a nested list or `inf`.
    pub fn parse(text: &str) -> Result<Self, NotPublished> {
        let text = text.trim();
        let list = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let values: Result<Vec<Decimal>, NotPublished> = match list {
            None => parse_one(text).map(|value| vec![value]),
            Some(inner) => {
                let inner = inner.trim();
                let items = inner.strip_suffix(',').unwrap_or(inner);
                items
                    .split(',')
                    .map(|item| parse_one(item.trim()))
                    .collect()
            }
        };
        Ok(Self {
            values: values?,
            text: text.to_owned(),
        })
    }
}

fn parse_one(text: &str) -> Result<Decimal, NotPublished> {
    let bytes = text.as_bytes();
    // As in TOML, an underscore stands between two digits.
    let between_digits = |at: usize| {
        let digit = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_digit)
        };
        digit(at.checked_sub(1)) && digit(Some(at + 1))
    };
    let well_placed = text.match_indices('_').all(|(at, _)| between_digits(at));
    let unsigned = text
        .strip_prefix('+')
        .filter(|rest| !rest.starts_with('-'))
        .unwrap_or(text);
    let value = parse_decimal(&unsigned.replace('_', "")).filter(|_| well_placed);
    value.ok_or_else(|| NotPublished {
        text: text.to_owned(),
    })
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A published number and what it takes to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name, unique in its experiment.
    pub id: String,
    /// What was published.
    pub published: Published,
    /// To how many decimals the publication rounded it; `None` if it is exact.
    pub decimals: Option<u32>,
    /// What must hold between what is measured and what was published.
    pub rule: Rule,
    /// How the measured value comes out of the rows.
    pub computed: Computation,
}

/// What must hold for every value of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Rounded as the publication is, half away from zero, the measured value is the published one.
    Exact,
    /// The measured value is less than the published one.
    Below,
    /// The measured value is at most so many percent of the published one away from it.
    WithinPercent(Decimal),
    /// The measured value is at most this, whatever was published.
    AtMost(Decimal),
}

/// Which rows of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsRef {
    /// One row per cell of the sweep.
    Cells,
    /// One row per turn.
    Turns,
    /// One row for all samples of a cell.
    Summary,
}

impl fmt::Display for RowsRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cells => "cells",
            Self::Turns => "turns",
            Self::Summary => "summary",
        })
    }
}

/// A column of some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Of which rows.
    pub rows: RowsRef,
    /// Which column.
    pub column: String,
    /// Of which of these rows.
    pub filter: Filter,
}

/// A coefficient of a + bN + cN².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficient {
    /// The constant.
    A,
    /// Per N.
    B,
    /// Per N².
    C,
}

/// How a claim's value is computed. Where one cell is meant, the filter must leave one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Computation {
    /// One cell.
    Cell(Pick),
    /// A list of cells, in row order.
    Cells(Pick),
    /// A coefficient of the parabola through some cells.
    Fit {
        /// The column that is N.
        x: String,
        /// The column that is explained.
        y: String,
        /// Which coefficient.
        coefficient: Coefficient,
        /// Which cells.
        filter: Filter,
    },
    /// How many rows there are.
    Count {
        /// Of which rows.
        rows: RowsRef,
        /// Which of them.
        filter: Filter,
    },
    /// How many different values a column has, what is missing not counted.
    CountDistinct(Pick),
    /// The sum of a column.
    Sum(Pick),
    /// A setting of the experiment, such as a price, by its dotted path.
    Setting {
        /// The path.
        path: String,
    },
    /// One cell divided by another.
    Ratio {
        /// The dividend.
        of: Pick,
        /// The divisor.
        to: Pick,
    },
    /// One cell less another.
    Difference {
        /// What is subtracted from.
        of: Pick,
        /// What is subtracted.
        less: Pick,
    },
    /// By how many percent a cell is over another.
    PercentChange {
        /// What is 100 %.
        from: Pick,
        /// What it became.
        to: Pick,
    },
    /// Not computed here: quoted from elsewhere.
    External,
}

/// The rows that claims are computed from.
#[derive(Clone, Copy, Debug)]
pub struct RowSources<'a> {
    /// One row per cell.
    pub cells: &'a RowSet,
    /// One row per turn, where the experiment has them.
    pub turns: Option<&'a RowSet>,
    /// One row for all samples of a cell, where the experiment sums them up.
    pub summary: Option<&'a RowSet>,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOutcome {
    /// The claim's name.
    pub id: String,
    /// What was published.
    pub published: Published,
    /// To how many decimals the publication rounded it.
    pub decimals: Option<u32>,
    /// What the rows say, with all digits; `None` if it was not or could not be computed.
    pub measured: Option<Vec<Decimal>>,
    /// Whether it holds.
    pub verdict: Verdict,
}

impl ClaimOutcome {
    /// Whether the claim holds, or is one that is quoted and not computed.
    #[must_use]
    pub const fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Held | Verdict::External)
    }

    /// The measured values as the claim rounds them, with the decimals of the published ones.
    #[must_use]
    pub fn shown(&self) -> Option<Vec<Decimal>> {
        let scales = self.published.values.iter().map(Decimal::scale);
        let as_published = scales.max().unwrap_or(0);
        let shown = |value: &Decimal| {
            if let Some(decimals) = self.decimals {
                return round_half_away(*value, decimals);
            }
            let mut exact = round_half_away(*value, PRINTED_DECIMALS).normalize();
            exact.rescale(exact.scale().max(as_published));
            exact
        };
        Some(self.measured.as_ref()?.iter().map(shown).collect())
    }

    /// The measured values as the claim rounds them, spelled like the published ones.
    #[must_use]
    pub fn measured_text(&self) -> Option<String> {
        let shown = self.shown()?;
        let texts: Vec<String> = shown.iter().map(Decimal::to_string).collect();
        match texts.as_slice() {
            [one] if self.published.values.len() == 1 => Some(one.clone()),
            _ => Some(format!("[{}]", texts.join(", "))),
        }
    }
}

/// What was published and what the rows say: `plan.turns: published 3, measured 3`.
impl fmt::Display for ClaimOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: published {}", self.id, self.published)?;
        match (&self.verdict, self.measured_text()) {
            (Verdict::External, _) => f.write_str(", quoted and not computed"),
            (Verdict::Broken(error), _) => write!(f, ", cannot be computed: {error}"),
            (Verdict::Held | Verdict::NotHeld, Some(measured)) => {
                write!(f, ", measured {measured}")
            }
            (Verdict::Held | Verdict::NotHeld, None) => Ok(()),
        }
    }
}

/// Whether a claim holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Held,
    /// It does not.
    NotHeld,
    /// It is quoted and not computed.
    External,
    /// It cannot be computed: the claim is wrong about the rows.
    Broken(ClaimError),
}

/// Why a claim cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// It speaks of a column that does not exist.
    #[error("{rows}: {problem}")]
    Column {
        /// In which rows.
        rows: RowsRef,
        /// Which column.
        problem: UnknownColumn,
    },
    /// Its filter leaves no row.
    #[error("{rows}: {problem}")]
    NoRow {
        /// Of which rows.
        rows: RowsRef,
        /// Why.
        problem: FilterError,
    },
    /// One cell is meant, and the filter leaves several.
    #[error("{rows}: {found} rows match where one is meant: add a condition")]
    ManyRows {
        /// Of which rows.
        rows: RowsRef,
        /// How many are left.
        found: usize,
    },
    /// A cell is missing or holds no number.
    #[error("{rows}: column `{column}` has {found} where a number is meant")]
    NotANumber {
        /// Of which rows.
        rows: RowsRef,
        /// The column.
        column: String,
        /// What the cell holds, quoted, or that it is missing.
        found: String,
    },
    /// The cells give no parabola.
    #[error(transparent)]
    Fit(#[from] NoFit),
    /// The experiment has no rows per turn.
    #[error("the experiment has no rows per turn: compute the claim from its cells")]
    NoTurns,
    /// The experiment does not sum up its samples.
    #[error("the experiment has no `[summary]`: add one, or compute the claim from its cells")]
    NoSummary,
    /// The experiment has no such setting.
    #[error("no setting `{0}` that is a number")]
    NoSetting(String),
    /// It divides by zero.
    #[error("divides by zero")]
    DivisionByZero,
    /// A value has more than 28 digits.
    #[error("a value is too large for a decimal of 28 digits")]
    TooLarge,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers_keep_every_digit_of_their_source() {
        let values = |text| {
            let published = Published::parse(text).unwrap();
            published
                .values
                .iter()
                .map(Decimal::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(values("0.010780"), ["0.010780"]);
        assert_eq!(values("[204, 269,\n 342,]"), ["204", "269", "342"]);
        assert_eq!(values("88_649"), ["88649"]);
        assert_eq!(values("+3"), ["3"]);
        assert_eq!(values("-0.5"), ["-0.5"]);
        assert_eq!(
            values("0.1234567890123456789012345678"),
            ["0.1234567890123456789012345678"]
        );
    }

    #[test]
    fn what_is_no_published_number_is_refused() {
        for text in [
            "", "[]", "[1,,2]", "[[1]]", "1e3", "inf", "nan", "_1", "1_", "1__0", "1._5", "+-1",
            "\"3\"",
        ] {
            assert!(Published::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_measured_is_spelled_like_what_was_published() {
        let told = |published: &str, measured: &[i64]| {
            let outcome = ClaimOutcome {
                id: "c".to_owned(),
                published: Published::parse(published).unwrap(),
                decimals: None,
                measured: Some(measured.iter().copied().map(Decimal::from).collect()),
                verdict: Verdict::NotHeld,
            };
            outcome.to_string()
        };
        assert_eq!(told("3.0", &[4]), "c: published 3.0, measured 4.0");
        assert_eq!(told("[1, 2]", &[4]), "c: published [1, 2], measured [4]");
        assert_eq!(told("3", &[4, 5]), "c: published 3, measured [4, 5]");
    }
}
