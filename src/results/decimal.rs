//! Exact decimals: how they are read and rounded.

use rust_decimal::{Decimal, RoundingStrategy};

/// Reads a plain decimal such as `-0.010780`; `None` for anything else (exponents, separators,
/// a leading `+`, a bare point) and for more than 28 significant digits.
#[must_use]
pub fn parse_decimal(text: &str) -> Option<Decimal> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    Decimal::from_str_exact(text)
        .ok()
        .map(without_negative_zero)
}

/// Rounds to so many decimals, a half away from zero; never adds digits.
#[must_use]
pub fn round_half_away(value: Decimal, decimals: u32) -> Decimal {
    let strategy = RoundingStrategy::MidpointAwayFromZero;
    without_negative_zero(value.round_dp_with_strategy(decimals, strategy))
}

/// The value with exactly so many decimals, rounded or padded with zeros.
pub(super) fn with_decimals(value: Decimal, decimals: u32) -> Decimal {
    let mut rounded = round_half_away(value, decimals);
    rounded.rescale(decimals);
    rounded
}

/// There is one zero, and it has no sign.
pub(super) fn without_negative_zero(mut value: Decimal) -> Decimal {
    if value.is_zero() {
        value.set_sign_positive(true);
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_plain_decimals_are_read() {
        assert_eq!(parse_decimal("-0.50"), Some(Decimal::new(-50, 2)));
        assert_eq!(
            parse_decimal("-0.0").map(|d| d.to_string()).as_deref(),
            Some("0.0")
        );
        for text in [
            "", "-", "+1", "1e3", ".5", "1.", "1_000", "1,5", "nan", " 1", "--1", "٣",
        ] {
            assert_eq!(parse_decimal(text), None, "{text:?}");
        }
        assert_eq!(parse_decimal(&"9".repeat(40)), None);
    }

    #[test]
    fn a_half_goes_away_from_zero() {
        let round = |text: &str, decimals| {
            parse_decimal(text).map(|d| round_half_away(d, decimals).to_string())
        };
        assert_eq!(round("2.5", 0).as_deref(), Some("3"));
        assert_eq!(round("-2.5", 0).as_deref(), Some("-3"));
        assert_eq!(round("0.0385", 3).as_deref(), Some("0.039"));
        assert_eq!(round("0.03849999", 3).as_deref(), Some("0.038"));
        assert_eq!(round("-0.4", 0).as_deref(), Some("0"));
        assert_eq!(with_decimals(Decimal::from(3), 2).to_string(), "3.00");
    }

    /// Half away from zero in whole numbers: the oracle.
    fn rounded_quotient(dividend: i128, divisor: i128) -> i128 {
        let sign = if (dividend < 0) == (divisor < 0) {
            1
        } else {
            -1
        };
        let (dividend, divisor) = (dividend.abs(), divisor.abs());
        sign * ((2 * dividend + divisor) / (2 * divisor))
    }

    proptest! {
        #[test]
        fn rounding_agrees_with_whole_number_arithmetic(
            mantissa in any::<i64>(), scale in 0_u32..18, decimals in 0_u32..18,
        ) {
            let rounded = round_half_away(Decimal::new(mantissa, scale), decimals);
            let kept = scale.min(decimals);
            let expected = rounded_quotient(i128::from(mantissa), 10_i128.pow(scale - kept));
            prop_assert_eq!(rounded, Decimal::from_i128_with_scale(expected, kept));
        }

        #[test]
        fn a_rounded_ratio_agrees_with_whole_number_arithmetic(
            of in any::<i64>(), to in prop_oneof![1_i64..1_000, any::<i64>()], decimals in 0_u32..6,
        ) {
            prop_assume!(to != 0);
            let (of, to) = (i128::from(of) / 1_000_000, i128::from(to));
            let ratio = Decimal::from_i128_with_scale(of, 0) / Decimal::from_i128_with_scale(to, 0);
            let expected = rounded_quotient(of * 10_i128.pow(decimals), to);
            prop_assert_eq!(
                round_half_away(ratio, decimals),
                Decimal::from_i128_with_scale(expected, decimals)
            );
        }
    }
}
