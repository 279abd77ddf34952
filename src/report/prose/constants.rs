//! The file of declared constants: numbers that a text may contain because its author put them
//! there, not because anything measured them; and published numbers that nothing here computes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::scan::Day;
use super::unit::Unit;
use crate::clock::ClockKind;
use crate::document::{Document, Findings, Problems};
use crate::results::claims::Published;
use crate::results::parse_decimal;

/// The file that ships with the program.
const EMBEDDED: &str = include_str!("../../../experiments/prose/constants.toml");

/// Declared constants and quoted claims.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    pub(super) numbers: Vec<Declared>,
    pub(super) claims: Vec<Declared>,
    pub(super) literals: Vec<(String, String)>,
    pub(super) dates: Vec<(String, Day)>,
}

/// A number or a list of numbers under one name.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) id: String,
    pub(super) published: Published,
    pub(super) unit: Option<Unit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    constant: Vec<Constant>,
    #[serde(default)]
    literal: Vec<Literal>,
    #[serde(default)]
    date: Vec<Date>,
    #[serde(default)]
    claim: Vec<Claim>,
}

/// Numbers that may stand in a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Constant {
    id: String,
    /// What they are.
    #[expect(dead_code, reason = "for people")]
    about: String,
    #[expect(dead_code, reason = "read digit by digit from the source text instead")]
    value: Value,
    /// The unit that they have; with none, a number that shows a unit is not one of these.
    unit: Option<Unit>,
}

/// Words with digits in them, such as a version, that stand in a text as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Literal {
    id: String,
    #[expect(dead_code, reason = "for people")]
    about: String,
    text: String,
}

/// A day, in whatever order and words a language writes it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Date {
    id: String,
    #[expect(dead_code, reason = "for people")]
    about: String,
    /// `YYYY-MM-DD`.
    on: String,
}

/// A published number that is quoted and not computed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    #[expect(dead_code, reason = "read digit by digit from the source text instead")]
    value: Value,
    #[expect(dead_code, reason = "for people: which clock made it")]
    #[serde(default)]
    clock: ClockKind,
}

impl Constants {
    /// The constants that ship with the program.
    ///
    /// # Errors
    /// Never, which a test holds.
    pub fn embedded() -> Result<Self, Problems> {
        Self::from_document(&Document::parse("<embedded constants.toml>", EMBEDDED)?)
    }

    /// Reads constants from a document.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn from_document(document: &Document) -> Result<Self, Problems> {
        let file: File = document.decode()?;
        let mut findings = Findings::new(document);
        let mut read = Self::default();
        for (index, constant) in file.constant.into_iter().enumerate() {
            if let Some(published) =
                published(document, &mut findings, &format!("/constant/{index}/value"))
            {
                read.numbers.push(Declared {
                    id: constant.id,
                    published,
                    unit: constant.unit,
                });
            }
        }
        for (index, claim) in file.claim.into_iter().enumerate() {
            if let Some(published) =
                published(document, &mut findings, &format!("/claim/{index}/value"))
            {
                read.claims.push(Declared {
                    unit: unit_of_id(&claim.id),
                    id: claim.id,
                    published,
                });
            }
        }
        for (index, literal) in file.literal.into_iter().enumerate() {
            if !literal.text.bytes().any(|byte| byte.is_ascii_digit()) {
                findings.add(
                    &format!("/literal/{index}/text"),
                    "no digit in it",
                    "leave it out: only numbers are checked",
                );
            }
            read.literals.push((literal.id, literal.text));
        }
        for (index, date) in file.date.into_iter().enumerate() {
            match day(&date.on) {
                Some(day) => read.dates.push((date.id, day)),
                None => findings.add(
                    &format!("/date/{index}/on"),
                    "not a date",
                    "write it as 2026-09-07",
                ),
            }
        }
        findings.finish()?;
        Ok(read)
    }
}

/// The unit of a claim, by the last part of its name.
pub(super) fn unit_of_id(id: &str) -> Option<Unit> {
    Unit::of_name(id.rsplit('.').next().unwrap_or(id))
}

fn published(document: &Document, findings: &mut Findings<'_>, pointer: &str) -> Option<Published> {
    let read = Published::parse(document.source_at(pointer)?);
    if let Err(error) = &read {
        findings.add(pointer, &error.to_string(), "write the digits as published");
    }
    read.ok()
}

fn day(text: &str) -> Option<Day> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none()
        && [year, month, day]
            .iter()
            .all(|part| parse_decimal(part).is_some());
    is_whole.then(|| Some((year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_that_ship_are_read() {
        let constants = Constants::embedded().unwrap_or_else(|error| panic!("{error}"));
        assert!(!constants.numbers.is_empty() && !constants.claims.is_empty());
    }

    #[test]
    fn everything_wrong_is_found_at_once() {
        let text = "[[constant]]\nid = \"a\"\nabout = \"b\"\nvalue = 1e3\n\n[[literal]]\nid = \"c\"\nabout = \"d\"\n\
                    text = \"e\"\n\n[[date]]\nid = \"f\"\nabout = \"g\"\non = \"7 May\"\n";
        let document = Document::parse("c.toml", text).unwrap();
        let problems = Constants::from_document(&document).unwrap_err().to_string();
        for place in [
            "c.toml:4:9: ",
            "c.toml:9:8: no digit",
            "c.toml:14:6: not a date",
        ] {
            assert!(problems.contains(place), "{problems}");
        }
    }

    #[test]
    fn a_day_is_three_numbers_and_a_claim_is_in_the_unit_of_its_last_part() {
        assert_eq!(day("2026-05-07"), Some((2026, 5, 7)));
        for text in ["2026-05", "2026-05-07-1", "2026-May-07"] {
            assert_eq!(day(text), None, "{text}");
        }
        assert_eq!(unit_of_id("loop.cost_usd"), Unit::of_name("cost_usd"));
        assert!(unit_of_id("loop.cost_usd").is_some());
    }
}
