//! One value of a row, and the kind of value that a column holds.

use std::fmt;
use std::time::Duration;

use rust_decimal::Decimal;

use super::decimal::{parse_decimal, with_decimals, without_negative_zero};
use crate::money::PicoUsd;

/// What a column holds; the unit of a number is also in the column's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A number of things.
    Count,
    /// A number of tokens: `*_tokens`.
    Tokens,
    /// Money: `*_usd`.
    Usd,
    /// Milliseconds: `*_ms`.
    Ms,
    /// How many times as much: `*_ratio`.
    Ratio,
    /// Hundredths: `*_percent`.
    Percent,
    /// Any other number without a unit.
    Number,
    /// Words. An empty text is a missing value: CSV has one way to write both.
    Text,
    /// `true` or `false`.
    Flag,
}

/// A value; [`Cell::Missing`] is an empty CSV cell and never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Not measured, or not applicable.
    Missing,
    /// A whole number.
    Integer(i128),
    /// An amount of money.
    Usd(PicoUsd),
    /// A number with decimals; printed with the decimals that it has.
    Decimal(Decimal),
    /// Words.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

/// A value that does not belong into a column of that kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {kind}")]
pub struct NotOfKind {
    /// What the column holds.
    pub kind: Kind,
    /// The value as it is printed.
    pub text: String,
}

impl Kind {
    /// The kind that the unit at the end of a column's name says, if there is one.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let unit = name.rsplit_once('_').map_or(name, |(_, unit)| unit);
        match unit {
            "tokens" => Some(Self::Tokens),
            "usd" => Some(Self::Usd),
            "ms" => Some(Self::Ms),
            "ratio" => Some(Self::Ratio),
            "percent" => Some(Self::Percent),
            _ => None,
        }
    }

    /// Whether values of this kind are numbers.
    #[must_use]
    pub const fn is_number(self) -> bool {
        !matches!(self, Self::Text | Self::Flag)
    }

    /// Reads a CSV cell of a column of this kind.
    ///
    /// # Errors
    /// [`NotOfKind`] if the text is no such value.
    pub fn parse(self, text: &str) -> Result<Cell, NotOfKind> {
        if text.is_empty() {
            return Ok(Cell::Missing);
        }
        let cell = match self {
            Self::Text => Some(Cell::Text(text.to_owned())),
            Self::Flag => text.parse().ok().map(Cell::Flag),
            Self::Usd => text.parse().ok().map(Cell::Usd),
            _ => parse_number(text),
        };
        cell.ok_or_else(|| self.refuse(text.to_owned()))
    }

    /// The cell in the one form that this kind has for its value, so that what is written and
    /// what is read back are equal.
    pub(super) fn admit(self, cell: Cell) -> Result<Cell, NotOfKind> {
        match (self, cell) {
            (_, Cell::Missing) => Ok(Cell::Missing),
            (_, Cell::Text(text)) if text.is_empty() => Ok(Cell::Missing),
            (Self::Text, cell @ Cell::Text(_))
            | (Self::Flag, cell @ Cell::Flag(_))
            | (Self::Usd, cell @ Cell::Usd(_)) => Ok(cell),
            (Self::Text, cell) => Ok(Cell::Text(cell.to_string())),
            (Self::Flag | Self::Usd, cell) => Err(self.refuse(cell.to_string())),
            (_, cell @ Cell::Integer(_)) => Ok(cell),
            (_, Cell::Decimal(value)) => Ok(Cell::number(value)),
            (_, cell) => Err(self.refuse(cell.to_string())),
        }
    }

    const fn refuse(self, text: String) -> NotOfKind {
        NotOfKind { kind: self, text }
    }
}

fn parse_number(text: &str) -> Option<Cell> {
    let whole = text.parse::<i128>().ok().map(Cell::Integer);
    whole
        .filter(|cell| cell.to_string() == text)
        .or_else(|| parse_decimal(text).map(Cell::number))
}

/// Names what the value should be, as in "is not …".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "a count",
            Self::Tokens => "a number of tokens",
            Self::Usd => "an amount of dollars",
            Self::Ms => "a number of milliseconds",
            Self::Ratio => "a ratio",
            Self::Percent => "a percentage",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Flag => "`true` or `false`",
        })
    }
}

impl Cell {
    /// A number; one without decimals is an integer.
    #[must_use]
    pub fn number(value: Decimal) -> Self {
        match value.scale() {
            0 => Self::Integer(value.mantissa()),
            _ => Self::Decimal(without_negative_zero(value)),
        }
    }

    /// A duration in milliseconds: whole, or with up to three decimals.
    #[must_use]
    pub fn ms(span: Duration) -> Self {
        let micros = (span.as_nanos() + 500) / 1_000;
        // The longest duration has 26 digits in microseconds, and a decimal holds 28.
        let micros = i128::try_from(micros).unwrap_or(i128::MAX);
        Decimal::try_from_i128_with_scale(micros, 3).map_or(Self::Integer(micros / 1_000), |ms| {
            Self::number(ms.normalize())
        })
    }

    /// A statistic with exactly so many decimals; missing if it is not finite or is too large
    /// for a decimal. The half is decided on the exact value of the float.
    #[must_use]
    pub fn statistic(value: f64, decimals: u32) -> Self {
        let digits = usize::try_from(decimals).unwrap_or(usize::MAX).min(28);
        parse_decimal(&format!("{value:.digits$}")).map_or(Self::Missing, Self::number)
    }

    /// The value as a number; `None` for words, flags and what is missing.
    #[must_use]
    pub fn to_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Integer(value) => Decimal::try_from_i128_with_scale(*value, 0).ok(),
            Self::Usd(amount) => Some(Decimal::new(amount.pico(), 12)),
            Self::Decimal(value) => Some(*value),
            Self::Missing | Self::Text(_) | Self::Flag(_) => None,
        }
    }

    /// The float nearest to the value; `None` for words, flags and what is missing.
    #[must_use]
    pub fn to_f64(&self) -> Option<f64> {
        // By way of the text, whose conversion is correctly rounded everywhere.
        self.to_decimal()?.to_string().parse().ok()
    }

    /// Whether two values are the same: numbers by value, everything else by what is printed.
    pub(super) fn is(&self, expected: &str) -> bool {
        match (self.to_decimal(), parse_decimal(expected)) {
            (Some(value), Some(expected)) => value == expected,
            _ => self.to_string() == expected,
        }
    }

    /// The value with at most so many decimals, if it is a decimal.
    pub(super) fn with_at_most(self, decimals: u32) -> Self {
        match self {
            Self::Decimal(value) if value.scale() > decimals => {
                Self::number(with_decimals(value, decimals))
            }
            cell => cell,
        }
    }
}

/// The value as its CSV cell holds it, before quoting.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Integer(value) => value.fmt(f),
            Self::Usd(amount) => amount.fmt(f),
            Self::Decimal(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

macro_rules! cell_from {
    ($($from:ty => $cell:expr),+ $(,)?) => {$(
        impl From<$from> for Cell {
            fn from(value: $from) -> Self {
                $cell(value)
            }
        }
    )+};
}

cell_from! {
    u32 => |n| Self::Integer(i128::from(n)),
    u64 => |n| Self::Integer(i128::from(n)),
    i64 => |n| Self::Integer(i128::from(n)),
    PicoUsd => Self::Usd,
    Decimal => Self::number,
    bool => Self::Flag,
    String => Self::Text,
    &str => |text: &str| Self::Text(text.to_owned()),
}

/// Nothing is a missing value.
impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_in_its_unit() {
        assert_eq!(Kind::of_name("prompt_tokens"), Some(Kind::Tokens));
        assert_eq!(Kind::of_name("tokens"), Some(Kind::Tokens));
        assert_eq!(Kind::of_name("cost_usd"), Some(Kind::Usd));
        assert_eq!(Kind::of_name("wall_ms"), Some(Kind::Ms));
        assert_eq!(Kind::of_name("items"), None);
        assert_eq!(Kind::of_name("tokens_kind"), None);
    }

    #[test]
    fn durations_are_whole_milliseconds_or_have_up_to_three_decimals() {
        let print = |nanos| Cell::ms(Duration::from_nanos(nanos)).to_string();
        assert_eq!(print(0), "0");
        assert_eq!(print(6_000_000_000), "6000");
        assert_eq!(print(1_500_000), "1.5");
        assert_eq!(print(1_234_567), "1.235");
        assert_eq!(print(999_999_999), "1000");
        assert_eq!(Cell::ms(Duration::MAX).to_string().len(), 23);
    }

    #[test]
    fn money_prints_six_decimals_and_missing_prints_nothing() {
        assert_eq!(
            Cell::from(PicoUsd::from_pico(10_780_000_000)).to_string(),
            "0.010780"
        );
        assert_eq!(Cell::from(None::<u32>).to_string(), "");
    }

    #[test]
    fn numbers_are_equal_by_value_and_words_by_letters() {
        assert!(Cell::from(PicoUsd::from_pico(10_000_000_000)).is("0.010"));
        assert!(Cell::from(8_u32).is("8.0"));
        assert!(!Cell::from(8_u32).is("80"));
        assert!(!Cell::from("8").is("8.0"));
        assert!(Cell::Missing.is(""));
        assert!(!Cell::Missing.is("0"));
        assert!(Cell::from(true).is("true"));
    }

    #[test]
    fn a_statistic_that_is_no_number_is_missing() {
        assert_eq!(Cell::statistic(1.0 / 3.0, 3).to_string(), "0.333");
        assert_eq!(Cell::statistic(-0.0001, 3).to_string(), "0.000");
        assert_eq!(Cell::statistic(f64::NAN, 3), Cell::Missing);
        assert_eq!(Cell::statistic(f64::MAX, 3), Cell::Missing);
    }

    #[test]
    fn each_kind_refuses_what_it_does_not_hold() {
        for (kind, text) in [
            (Kind::Usd, "0.0x"),
            (Kind::Tokens, "1 000"),
            (Kind::Flag, "yes"),
            (Kind::Count, "1e3"),
        ] {
            assert!(kind.parse(text).is_err(), "{kind}: {text}");
            assert_eq!(kind.parse(""), Ok(Cell::Missing));
        }
        assert!(Kind::Usd.admit(Cell::from(1_u32)).is_err());
        assert!(Kind::Tokens.admit(Cell::from("many")).is_err());
        assert_eq!(Kind::Text.admit(Cell::from(8_u32)), Ok(Cell::from("8")));
    }
}
