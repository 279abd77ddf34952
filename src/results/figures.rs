//! How a reader sees a value: separators, signs and units.

use rust_decimal::{Decimal, RoundingStrategy};

use super::cell::{Cell, Kind};
use super::decimal::{round_half_away, with_decimals};

/// Whether a number shows a plus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Only a minus is shown: the number is an amount.
    Amount,
    /// Plus or minus: the number is a change.
    Change,
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

    /// The value of a cell in a column of that kind. Words are given as they are.
    #[must_use]
    pub fn show(&self, cell: &Cell, kind: Kind, sign: Sign) -> String {
        match (cell, cell.to_decimal()) {
            (Cell::Missing, _) => self.missing.to_owned(),
            (Cell::Text(text), _) => text.clone(),
            (Cell::Flag(flag), _) => self.flags[usize::from(!*flag)].to_owned(),
            (Cell::Usd(amount), Some(value)) => self.number(
                value,
                &unsigned(&amount.to_string()),
                [self.dollar, ""],
                sign,
            ),
            (_, Some(value)) => self.number_of(value, kind, sign),
            // A whole number too long for a decimal: its digits are still right.
            (_, None) => cell.to_string(),
        }
    }

    fn number_of(&self, value: Decimal, kind: Kind, sign: Sign) -> String {
        let (rounded, marks) = match (kind, sign) {
            (Kind::Ratio, _) => (ratio(value), ["", self.times]),
            (Kind::Percent, Sign::Change) => (round_half_away(value, 0), ["", self.percent]),
            (Kind::Percent, Sign::Amount) => (with_decimals(value, 1), ["", self.percent]),
            _ => (value, ["", ""]),
        };
        self.number(rounded, &unsigned(&rounded.to_string()), marks, sign)
    }

    /// Puts sign, marks and separators around plain digits.
    fn number(&self, value: Decimal, digits: &str, marks: [&str; 2], sign: Sign) -> String {
        let sign = match sign {
            _ if value.is_zero() => "",
            _ if value.is_sign_negative() => self.minus,
            Sign::Change => "+",
            Sign::Amount => "",
        };
        let [before, after] = marks;
        format!("{sign}{before}{}{after}", self.grouped(digits))
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

fn unsigned(number: &str) -> String {
    number.trim_start_matches('-').to_owned()
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
        Figures::ENGLISH.show(&kind.parse(text).unwrap(), kind, sign)
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
        let shown = Figures::ENGLISH.show(&least, Kind::Usd, Sign::Amount);
        assert_eq!(shown, "−$9,223,372.036854775808");
    }
}
