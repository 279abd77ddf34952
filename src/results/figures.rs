//! How a reader sees a value: separators, signs and units.

use std::borrow::Cow;

use rust_decimal::{Decimal, RoundingStrategy};

use super::cell::{Cell, Kind};
use super::decimal::{parse_decimal, round_half_away, with_decimals};

/// Whether a number shows a plus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Only a minus is shown: the number is an amount.
    Amount,
    /// Plus or minus: the number is a change.
    Change,
}

/// The sign that a number is shown with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownSign {
    /// None: a zero, or an amount above it.
    None,
    /// A change above zero.
    Plus,
    /// Anything below zero.
    Minus,
}

/// What stands beside a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing; the column's heading may name a unit.
    None,
    /// The mark of US dollars.
    Usd,
    /// The mark of a factor.
    Times,
    /// The percent sign.
    Percent,
}

/// A number as it is shown, rounded, with the decimals that are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The number.
    pub value: Decimal,
    /// What stands beside it.
    pub unit: Unit,
    /// Whether it is a change.
    pub sign: Sign,
}

/// What a cell says to a reader, before anybody's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure<'c> {
    /// Nothing was measured.
    Missing,
    /// Yes or no.
    Flag(bool),
    /// Words out of the rows.
    Words(Cow<'c, str>),
    /// A number.
    Number(Amount),
}

impl Amount {
    /// The sign that it is shown with: a zero has none.
    #[must_use]
    pub fn shown_sign(&self) -> ShownSign {
        match self.sign {
            _ if self.value.is_zero() => ShownSign::None,
            _ if self.value.is_sign_negative() => ShownSign::Minus,
            Sign::Change => ShownSign::Plus,
            Sign::Amount => ShownSign::None,
        }
    }
}

impl<'c> Figure<'c> {
    /// What `cell` says in a column of that kind: ratios and percentages are rounded here, once
    /// for all languages.
    #[must_use]
    pub fn of(cell: &'c Cell, kind: Kind, sign: Sign) -> Self {
        let value = match cell {
            Cell::Missing => return Self::Missing,
            Cell::Text(text) => return Self::Words(Cow::Borrowed(text)),
            Cell::Flag(flag) => return Self::Flag(*flag),
            // The decimals of money are those that it is printed with.
            Cell::Usd(amount) => parse_decimal(&amount.to_string()),
            Cell::Integer(_) | Cell::Decimal(_) => cell.to_decimal(),
        };
        let Some(value) = value else {
            // A whole number too long for a decimal: its digits are still right.
            return Self::Words(Cow::Owned(cell.to_string()));
        };
        let (value, unit) = match (kind, sign) {
            (Kind::Usd, _) => (value, Unit::Usd),
            (Kind::Ratio, _) => (ratio(value), Unit::Times),
            (Kind::Percent, Sign::Change) => (round_half_away(value, 0), Unit::Percent),
            (Kind::Percent, Sign::Amount) => (with_decimals(value, 1), Unit::Percent),
            _ => (value, Unit::None),
        };
        Self::Number(Amount { value, unit, sign })
    }
}

/// The marks of one language's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Between the whole part and the decimals.
    pub point: &'static str,
    /// Between groups of three digits.
    pub group: &'static str,
    /// Before a negative number.
    pub minus: &'static str,
    /// Before an amount of money.
    pub dollar: &'static str,
    /// After a ratio.
    pub times: &'static str,
    /// After a percentage.
    pub percent: &'static str,
    /// In the place of what is missing.
    pub missing: &'static str,
    /// For `true` and `false`.
    pub flags: [&'static str; 2],
}

impl Figures {
    /// English figures: `88,649`, `$0.010780`, `3.7×`, `+75 %`.
    pub const ENGLISH: Self = Self {
        point: ".",
        group: ",",
        minus: "−",
        dollar: "$",
        times: "×",
        percent: " %",
        missing: "—",
        flags: ["yes", "no"],
    };

    /// A figure in these marks. Words are given as they are.
    #[must_use]
    pub fn say(&self, figure: &Figure<'_>) -> String {
        match figure {
            Figure::Missing => self.missing.to_owned(),
            Figure::Words(words) => words.clone().into_owned(),
            Figure::Flag(flag) => self.flags[usize::from(!*flag)].to_owned(),
            Figure::Number(amount) => {
                let marks = match amount.unit {
                    Unit::None => ["", ""],
                    Unit::Usd => [self.dollar, ""],
                    Unit::Times => ["", self.times],
                    Unit::Percent => ["", self.percent],
                };
                self.number(amount, marks)
            }
        }
    }

    /// Puts sign, marks and separators around plain digits.
    fn number(&self, amount: &Amount, [before, after]: [&str; 2]) -> String {
        let sign = match amount.shown_sign() {
            ShownSign::None => "",
            ShownSign::Plus => "+",
            ShownSign::Minus => self.minus,
        };
        let digits = amount.value.abs().to_string();
        format!("{sign}{before}{}{after}", self.grouped(&digits))
    }

    fn grouped(&self, digits: &str) -> String {
        let (whole, decimals) = match digits.split_once('.') {
            Some((whole, decimals)) => (whole, Some(decimals)),
            None => (digits, None),
        };
        let mut text = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                text.push_str(self.group);
            }
            text.push(digit);
        }
        if let Some(decimals) = decimals {
            text.push_str(self.point);
            text.push_str(decimals);
        }
        text
    }
}

/// One decimal, or two significant digits where one decimal would say next to nothing.
fn ratio(value: Decimal) -> Decimal {
    if value.is_zero() || value.abs() >= Decimal::new(1, 1) {
        return with_decimals(value, 1);
    }
    let strategy = RoundingStrategy::MidpointAwayFromZero;
    value.round_sf_with_strategy(2, strategy).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::PicoUsd;
    use crate::results::parse_decimal;

    fn show(kind: Kind, sign: Sign, text: &str) -> String {
        Figures::ENGLISH.say(&Figure::of(&kind.parse(text).unwrap(), kind, sign))
    }

    #[test]
    fn every_kind_has_its_marks() {
        assert_eq!(show(Kind::Tokens, Sign::Amount, "88649"), "88,649");
        assert_eq!(show(Kind::Tokens, Sign::Amount, "999"), "999");
        assert_eq!(show(Kind::Count, Sign::Amount, "-1234567"), "−1,234,567");
        assert_eq!(show(Kind::Usd, Sign::Amount, "0.01078"), "$0.010780");
        assert_eq!(show(Kind::Usd, Sign::Amount, "1234.5"), "$1,234.500000");
        assert_eq!(show(Kind::Usd, Sign::Change, "-0.00105"), "−$0.001050");
        assert_eq!(show(Kind::Usd, Sign::Change, "0.00105"), "+$0.001050");
        assert_eq!(show(Kind::Ms, Sign::Amount, "3000.25"), "3,000.25");
        assert_eq!(show(Kind::Ratio, Sign::Amount, "3.65"), "3.7×");
        assert_eq!(show(Kind::Ratio, Sign::Amount, "4"), "4.0×");
        assert_eq!(show(Kind::Percent, Sign::Change, "74.6"), "+75 %");
        assert_eq!(show(Kind::Percent, Sign::Change, "-74.6"), "−75 %");
        assert_eq!(show(Kind::Percent, Sign::Change, "0.4"), "0 %");
        assert_eq!(show(Kind::Percent, Sign::Amount, "97.94"), "97.9 %");
        assert_eq!(show(Kind::Number, Sign::Amount, "0.70"), "0.70");
        assert_eq!(show(Kind::Flag, Sign::Amount, "true"), "yes");
        assert_eq!(show(Kind::Usd, Sign::Amount, ""), "—");
    }

    #[test]
    fn a_small_ratio_is_not_shown_as_nothing() {
        let shown = |text| ratio(parse_decimal(text).unwrap()).to_string();
        assert_eq!(shown("0.0123"), "0.012");
        assert_eq!(shown("0.1"), "0.1");
        assert_eq!(shown("0"), "0.0");
    }

    #[test]
    fn the_extremes_of_money_keep_all_digits() {
        let least = Cell::Usd(PicoUsd::from_pico(i64::MIN));
        let shown = Figures::ENGLISH.say(&Figure::of(&least, Kind::Usd, Sign::Amount));
        assert_eq!(shown, "−$9,223,372.036854775808");
    }
}
