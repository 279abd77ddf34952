//! A locale's file as it is written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Names and what they mean; tables in it group them.
pub(super) type Section = Map<String, Value>;

/// One language.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LocaleFile {
    /// The language's name in the language itself.
    pub(super) name: String,
    pub(super) direction: Written,
    pub(super) numbers: NumbersFile,
    #[serde(default)]
    pub(super) house: HouseFile,
    /// Headings of columns, by the column's name.
    pub(super) column: Section,
    /// Headings of columns that compare with the first row, by the way of comparing.
    pub(super) compared: Section,
    /// Values in words, by column and value.
    pub(super) value: Section,
    /// Cases of experiments, by their English name.
    pub(super) case: Section,
    /// What stands below a table.
    pub(super) table: Section,
    /// Titles, axes and labels of plots.
    pub(super) plot: Section,
    /// The page.
    pub(super) report: Section,
    /// Title, question and caption of the experiments, by their name.
    pub(super) experiment: Section,
}

/// Which way it is written.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Written {
    /// From left to right.
    Ltr,
    /// From right to left.
    Rtl,
}

/// What CLDR says of the locale that has no stable formatter. In the patterns `{n}` is the number.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NumbersFile {
    /// An amount of US dollars.
    pub(super) usd: String,
    /// The same with Latin digits, where that is written in another way.
    pub(super) usd_latin: Option<String>,
    /// A percentage.
    pub(super) percent: String,
    /// The Unicode name of the script's own digits, such as `arab`.
    pub(super) native: Option<String>,
}

/// Where published translations depart from CLDR.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HouseFile {
    /// How dollars are written.
    pub(super) dollars: Dollars,
    /// A percentage.
    pub(super) percent: Option<String>,
    /// What stands between groups of digits.
    pub(super) group: Option<String>,
    /// What stands between the whole part and the decimals.
    pub(super) decimal: Option<String>,
    pub(super) grouping: Grouping,
}

/// How dollars are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Dollars {
    /// As the program prints them: `$0.010780`.
    Program,
    /// As CLDR says.
    #[default]
    Locale,
}

/// Whether a number of four digits is grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grouping {
    /// As CLDR says.
    #[default]
    Locale,
    /// Yes: `3.431`.
    Always,
    /// No: `3431`, and `88.649`.
    Five,
}
