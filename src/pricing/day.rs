//! A day of the calendar, for prices that hold from one day to another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A day, in UTC, written `YYYY-MM-DD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day {
    year: u16,
    month: u8,
    of_month: u8,
}

/// A text that is no day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a day: {0:?}; write YYYY-MM-DD, such as 2026-09-07")]
pub struct NotADay(pub String);

impl FromStr for Day {
    type Err = NotADay;

    fn from_str(text: &str) -> Result<Self, NotADay> {
        let not_a_day = || NotADay(text.to_owned());
        let bytes = text.as_bytes();
        let shaped = bytes.len() == 10
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !shaped {
            return Err(not_a_day());
        }
        let day = Self {
            year: text[..4].parse().map_err(|_| not_a_day())?,
            month: text[5..7].parse().map_err(|_| not_a_day())?,
            of_month: text[8..].parse().map_err(|_| not_a_day())?,
        };
        let exists = day.of_month >= 1 && day.of_month <= day.days_in_month();
        if exists { Ok(day) } else { Err(not_a_day()) }
    }
}

impl Day {
    /// How many days its month has; 0 if there is no such month.
    const fn days_in_month(self) -> u8 {
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match self.month {
            2 => 28 + leap as u8,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.of_month)
    }
}

impl TryFrom<String> for Day {
    type Error = NotADay;

    fn try_from(text: String) -> Result<Self, NotADay> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_exist_are_read_and_no_others() {
        for text in ["2026-11-30", "2024-02-29", "2000-02-29", "0001-01-01"] {
            assert_eq!(text.parse::<Day>().unwrap().to_string(), text);
        }
        for text in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-11-00",
            "2026-11-31",
            "2026-1-1",
            "26-11-30",
            "2026/11/30",
            "2026-11-3٣",
            "",
            "2026-11-30 ",
        ] {
            assert_eq!(text.parse::<Day>(), Err(NotADay(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn days_are_in_the_order_of_the_calendar() {
        let day = |text: &str| text.parse::<Day>().unwrap();
        assert!(day("2025-12-31") < day("2026-01-01"));
        assert!(day("2026-02-10") < day("2026-10-02"));
    }
}
