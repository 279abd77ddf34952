//! Money as whole pico-dollars (10⁻¹² USD), so that no float ever holds it.
//!
//! A price of *p* USD per million tokens is *p* × 10⁶ pico-dollars per token, which is a whole
//! number for every published price; a bill is then a sum of products of integers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const PICO_DIGITS: usize = 12;
const PICO_PER_USD: i64 = 1_000_000_000_000;

/// An amount of money in pico-dollars; saturates at about ±9.2 million USD instead of wrapping.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PicoUsd(i64);

/// Why a text is not an amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not a plain decimal number such as `0.010780`.
    #[error("not a decimal amount of dollars: {0:?}")]
    NotADecimal(String),
    /// Finer than a pico-dollar or beyond nine million dollars.
    #[error("out of range for dollars (12 decimals, 9,000,000 at most): {0:?}")]
    OutOfRange(String),
}

impl PicoUsd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// An amount of `pico` pico-dollars.
    #[must_use]
    pub const fn from_pico(pico: i64) -> Self {
        Self(pico)
    }

    /// The amount in pico-dollars.
    #[must_use]
    pub const fn pico(self) -> i64 {
        self.0
    }

    /// The amount in dollars with every digit that is not a trailing zero: `0.00157`.
    #[must_use]
    pub fn to_shortest(self) -> String {
        let text = self.to_decimals(PICO_DIGITS);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    fn to_decimals(self, decimals: usize) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let pico = self.0.unsigned_abs();
        let whole = pico / PICO_PER_USD.unsigned_abs();
        let fraction = format!("{:012}", pico % PICO_PER_USD.unsigned_abs());
        format!("{sign}{whole}.{}", &fraction[..decimals])
    }
}

/// Dollars with six decimals, or as many more as the amount needs: `0.010780`, `0.0000001425`.
impl fmt::Display for PicoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.to_decimals(PICO_DIGITS);
        let point = all.find('.').unwrap_or(all.len());
        let significant = all.trim_end_matches('0').len();
        f.write_str(&all[..significant.max(point + 1 + 6)])
    }
}

impl FromStr for PicoUsd {
    type Err = MoneyError;

    /// Reads plain decimal dollars (`0.01`, `-3`, `1_000.5`) without going through a float.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let not_a_decimal = || MoneyError::NotADecimal(text.to_owned());
        let out_of_range = || MoneyError::OutOfRange(text.to_owned());
        let plain = text.replace('_', "");
        let (negative, digits) = match plain.strip_prefix(['-', '+']) {
            Some(rest) => (plain.starts_with('-'), rest),
            None => (false, plain.as_str()),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) {
            return Err(not_a_decimal());
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > PICO_DIGITS {
            return Err(out_of_range());
        }
        let pico: i64 = format!("{whole}{fraction:0<PICO_DIGITS$}")
            .parse()
            .map_err(|_| out_of_range())?;
        Ok(Self(if negative { -pico } else { pico }))
    }
}

impl Add for PicoUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for PicoUsd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for PicoUsd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// A price per token times a number of tokens.
impl Mul<u64> for PicoUsd {
    type Output = Self;
    fn mul(self, tokens: u64) -> Self {
        Self(
            self.0
                .saturating_mul(i64::try_from(tokens).unwrap_or(i64::MAX)),
        )
    }
}

impl Sum for PicoUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_six_decimals_or_as_many_as_needed() {
        let print = |pico| PicoUsd::from_pico(pico).to_string();
        assert_eq!(print(10_780_000_000), "0.010780");
        assert_eq!(print(142_500), "0.0000001425");
        assert_eq!(print(0), "0.000000");
        assert_eq!(print(-1_050_000_000), "-0.001050");
        assert_eq!(PicoUsd::from_pico(1_570_000_000).to_shortest(), "0.00157");
        assert_eq!(PicoUsd::ZERO.to_shortest(), "0");
    }

    #[test]
    fn reads_what_it_prints() {
        for pico in [0, 1, -1, 999_999_999_999, PICO_PER_USD, 12_345_678_901_234] {
            let money = PicoUsd::from_pico(pico);
            assert_eq!(money.to_string().parse(), Ok(money));
            assert_eq!(money.to_shortest().parse(), Ok(money));
        }
        assert_eq!(
            "1_000.5".parse(),
            Ok(PicoUsd::from_pico(1_000_500_000_000_000))
        );
    }

    #[test]
    fn refuses_what_is_not_an_amount() {
        for text in [
            "", ".", "nan", "inf", "1e3", "0x10", "1.", ".5", "--1", "1,5", "٣",
        ] {
            assert!(
                matches!(text.parse::<PicoUsd>(), Err(MoneyError::NotADecimal(_))),
                "{text}"
            );
        }
        for text in ["0.0000000000001", "9999999999"] {
            assert!(
                matches!(text.parse::<PicoUsd>(), Err(MoneyError::OutOfRange(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn sums_differences_and_products_are_those_of_the_whole_numbers() {
        let [five, three] = [5, 3].map(PicoUsd::from_pico);
        let mut sum = five;
        sum += three;
        assert_eq!(sum, PicoUsd::from_pico(8));
        assert_eq!(three - five, PicoUsd::from_pico(-2));
        assert_eq!([five, three, three].into_iter().sum::<PicoUsd>().pico(), 11);
        assert_eq!(five * 3, PicoUsd::from_pico(15));
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        let most = PicoUsd::from_pico(i64::MAX);
        assert_eq!(most + most, most);
        assert_eq!(PicoUsd::from_pico(2) * u64::MAX, most);
    }
}
