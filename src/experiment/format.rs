//! The shape of an experiment file. The doc comments are what editors show while one is written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::harness::{ENV, EnvValue};
use super::settings::{Dollars, Settings};
use crate::clock::ClockKind;
use crate::document::schema_of;

/// An experiment: what is fixed, what is swept, and what is read from the rows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentFile {
    /// The experiment's name for people.
    pub(super) title: String,
    /// The question that it answers and how to read its table, in a sentence or two.
    pub(super) about: String,
    /// Where it stands in a report: smaller numbers first. Default: after all that have one.
    pub(super) order: Option<u32>,
    /// The clock of its runs. Default: `virtual`.
    #[serde(default)]
    pub(super) clock: ClockKind,
    /// How many runs each cell gets; more than one on the real clock only. Default: 1.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub(super) repeat: u32,
    /// What runs the cells. Default: the loop of this program.
    pub(super) harness: Option<HarnessTable>,
    /// How the axes combine. Default: `product`.
    #[serde(default)]
    pub(super) combine: Combine,
    /// What every cell has.
    #[serde(default)]
    #[schemars(with = "Settings")]
    pub(super) settings: serde_json::Map<String, Value>,
    /// What is swept, in order: the last axis changes fastest. Not with `[[case]]`.
    #[serde(default)]
    pub(super) axis: Vec<Axis>,
    /// The cells one by one, instead of axes.
    #[serde(default)]
    pub(super) case: Vec<Case>,
    /// Tools that have a whole run behind them.
    #[serde(default)]
    pub(super) subagent: Vec<Subagent>,
    /// What repeated samples of a cell are summed up in: `summary.csv`.
    pub(super) summary: Option<Summary>,
    /// The table that a reader sees.
    pub(super) table: Option<Table>,
    /// A parabola a + bN + cN² through the cells.
    pub(super) fit: Option<Fit>,
    /// The picture that a reader sees.
    pub(super) plot: Option<Plot>,
    /// Numbers that somebody published and that the rows must show.
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
}

fn once() -> u32 {
    1
}

/// A command that runs the cells, against a scripted endpoint that it finds in its environment
/// (`OPENAI_BASE_URL` and others). It is started in the folder of this file, on the real clock.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HarnessTable {
    /// The program and its arguments.
    #[schemars(length(min = 1))]
    pub(super) command: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub(super) env: BTreeMap<String, EnvValue>,
    /// How long a run may take, in milliseconds, before it is ended. Default: 120000.
    #[serde(default = "two_minutes")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(super) timeout_ms: u64,
    /// How many requests a run may make before it is ended. Default: 1000.
    #[serde(default = "a_thousand")]
    #[schemars(range(min = 1))]
    pub(super) max_requests: u64,
}

fn two_minutes() -> u64 {
    120_000
}

fn a_thousand() -> u64 {
    1_000
}

/// How axes combine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Combine {
    /// Every value of one with every value of the others.
    #[default]
    Product,
    /// The first values together, the second values together, and so on.
    Zip,
}

/// One setting and the values that it takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    /// The setting, or `env.NAME` for one variable of a command's environment.
    pub(super) setting: SettingName,
    /// Its values, each as under `[settings]`.
    #[schemars(length(min = 1))]
    pub(super) values: Vec<Value>,
}

/// The key of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct SettingName(pub(super) String);

impl SettingName {
    /// Every key of the closed set.
    pub(super) fn all() -> &'static [String] {
        static ALL: LazyLock<Vec<String>> = LazyLock::new(|| {
            let schema = schema_of::<Settings>();
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.map_or_else(Vec::new, |keys| keys.keys().cloned().collect())
        });
        &ALL
    }
}

impl JsonSchema for SettingName {
    fn schema_name() -> Cow<'static, str> {
        "SettingName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "if": { "pattern": format!("^{}", ENV.replace('.', r"\.")) },
            "then": { "pattern": r"^env\.[A-Za-z_][A-Za-z0-9_]*$" },
            "else": { "enum": Self::all() }
        })
    }
}

/// One cell with a name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// The name, in the `case` column.
    pub(super) name: String,
    /// What differs from `[settings]`.
    #[serde(default)]
    #[schemars(with = "Settings")]
    pub(super) settings: serde_json::Map<String, Value>,
}

/// A tool with a whole run behind it: its own transcript and limits, its parent's stop signal.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Subagent {
    /// The tool's name.
    pub(super) name: String,
    /// The tool's description, which the parent's model reads.
    pub(super) description: String,
    /// The scripted model of the child: a name, or a path from this file.
    pub(super) scenario: String,
    /// The tools of the child. Default: the built-in tools that write nothing.
    pub(super) tools: Option<Vec<String>>,
    /// The child's turn cap. Default: none.
    #[schemars(range(min = 1))]
    pub(super) max_turns: Option<u32>,
    /// The child's budget in dollars, outside its parent's. Default: none.
    #[schemars(with = "Option<Dollars>")]
    pub(super) max_budget_usd: Option<Value>,
    /// The child's system prompt. Default: a short one.
    pub(super) system: Option<String>,
}

/// One row for all samples of a cell: how many there are, `n`, and of each measurement the median
/// and the bounds between which it probably lies, such as `median_wall_ms`, `low_wall_ms` and
/// `high_wall_ms`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Summary {
    /// Columns of the cells of which the median is taken.
    #[schemars(length(min = 1))]
    pub(super) columns: Vec<String>,
    /// Columns of the cells that are shown where all samples agree. Default: none.
    #[serde(default)]
    pub(super) same: Vec<String>,
}

/// The table that a reader sees: one line per row.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// What the table shows.
    pub(super) caption: String,
    /// Columns of the rows, from left to right.
    #[schemars(length(min = 1))]
    pub(super) columns: Vec<String>,
    /// What stands above a column instead of its name, by the column.
    #[serde(default)]
    pub(super) headings: BTreeMap<String, String>,
    /// Columns that compare each row with the first, at the right.
    #[serde(default)]
    pub(super) compared: Vec<Compared>,
    /// Which rows, by the values of columns. Default: all.
    #[serde(default, rename = "where")]
    pub(super) filter: Where,
    /// Rows of cells, of turns, or of the summary. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}

/// The picture that a reader sees, made from the rows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Plot {
    /// What it shows.
    pub(super) kind: PlotKind,
    /// What stands above it. Default: the experiment's title.
    pub(super) title: Option<String>,
    /// Of `lines`: the column along the horizontal axis.
    pub(super) x: Option<String>,
    /// Of `lines` and `bars`: the column that is shown.
    pub(super) y: Option<String>,
    /// Of `lines`: the column whose values get a line each. Default: one line.
    pub(super) by: Option<String>,
    /// Of `lines` and `bars`: which rows, by the values of columns. Default: all.
    #[serde(default, rename = "where")]
    pub(super) filter: Where,
    /// Of `lines` and `bars`: rows of cells or of turns. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}

/// The closed set of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// Prompt tokens over turns, with a parabola and the straight line that the bill is mistaken
    /// for.
    InputBill,
    /// Cost turn by turn, and how far it goes over `max_budget_usd`.
    Budget,
    /// Cost, and whether there was an answer; needs `expected_answer`.
    Answers,
    /// Tool runs, deletions and cost; needs `dedupe`.
    ToolRuns,
    /// Wall time over `latency_ms`, with a line for each number of turns.
    Latency,
    /// The model, the tool and Stop over time; needs `stop_at_ms`.
    Timeline,
    /// Median, 95th and 99th percentile of the wall time, and of the first word of the answer where
    /// some is seen before the end; needs `samples`.
    Tails,
    /// Prompt tokens of each turn, and how many of them were sent before.
    PromptTokens,
    /// One column over another, with a line for each value of a third.
    Lines,
    /// A bar for each row.
    Bars,
}

/// A column that compares each row with the first.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Compared {
    /// The column that is compared.
    pub(super) column: String,
    /// How.
    pub(super) show: Comparison,
    /// What stands above it.
    pub(super) heading: String,
}

/// How a row is compared with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Comparison {
    /// How many times the first row's value it is.
    TimesFirst,
    /// By how many percent it is over the first row's value.
    PercentOverFirst,
    /// By how much it is over the first row's value.
    MoreThanFirst,
    /// How many percent of the column's sum it is.
    ShareOfTotal,
}

/// A least-squares parabola through the cells.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fit {
    /// The column that is N.
    pub(super) x: String,
    /// The column that is explained.
    pub(super) y: String,
    /// The column whose values get a parabola each. Default: one through all cells.
    pub(super) by: Option<String>,
}

/// Which rows of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// One row per cell: `cells.csv`.
    #[default]
    Cells,
    /// One row per turn: `turns.csv`.
    Turns,
    /// One row for all samples of a cell: `summary.csv`.
    Summary,
}

/// A number that somebody published, and how it comes out of the rows: `cell`, `cells`, `fit`, `count`,
/// `count_distinct`, `setting`, `ratio`, `difference`, `percent_change` or `sum`, exactly one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// The claim's name; no other claim of any experiment has it.
    #[schemars(length(min = 1))]
    pub(super) id: String,
    /// The published number, or the list of them, digit by digit as it was published.
    #[schemars(schema_with = "published_value")]
    #[expect(dead_code, reason = "read digit by digit from the source text instead")]
    value: Value,
    /// To how many decimals it was rounded. Default: not rounded.
    #[schemars(range(max = 12))]
    pub(super) decimals: Option<u32>,
    /// The clock that made the published number. Default: `virtual`.
    #[serde(default)]
    pub(super) clock: ClockKind,
    /// A number that is quoted, not computed. Default: false.
    #[serde(default)]
    pub(super) external: bool,
    /// What the rows must hold where they need not be equal.
    pub(super) rule: Option<Rule>,
    /// The value of one column in one row.
    pub(super) cell: Option<Selection>,
    /// The values of one column in some rows, in order.
    pub(super) cells: Option<Selection>,
    /// A coefficient of the parabola through some cells.
    pub(super) fit: Option<FitClaim>,
    /// How many rows have given values.
    pub(super) count: Option<RowFilter>,
    /// How many different values a column has.
    pub(super) count_distinct: Option<Selection>,
    /// A setting: one of `[settings]`, `price.input_usd_per_million`,
    /// `price.output_usd_per_million`, or a limit such as `subagent.research.max_turns`.
    pub(super) setting: Option<String>,
    /// One row's value divided by another's.
    pub(super) ratio: Option<Ratio>,
    /// One row's value less another's.
    pub(super) difference: Option<Difference>,
    /// By how many percent one row's value exceeds another's.
    pub(super) percent_change: Option<PercentChange>,
    /// The sum of one column over some rows.
    pub(super) sum: Option<Selection>,
}

/// A number or a list of numbers.
fn published_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["number", "array"],
        "items": { "type": "number" },
        "minItems": 1
    })
}

/// What the rows must hold where they need not be equal to the published value; exactly one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// `true`: our value is below the published one.
    pub(super) below: Option<bool>,
    /// Our value is within so many percent of the published one.
    #[schemars(range(min = 0))]
    pub(super) within_percent: Option<u32>,
    /// Our value is at most this.
    #[schemars(range(min = 0))]
    pub(super) at_most: Option<u64>,
}

/// The row or rows whose columns have given values.
pub(super) type Where = BTreeMap<String, Scalar>;

/// A text, a number or a truth value, compared as it is printed in the rows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Scalar(pub(super) Value);

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// One column in some rows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Selection {
    /// The column.
    pub(super) column: String,
    /// Which rows, by the values of other columns. Default: all.
    #[serde(default, rename = "where")]
    pub(super) filter: Where,
    /// Rows of cells or of turns. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}

/// Some rows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RowFilter {
    /// Which rows, by the values of columns. Default: all.
    #[serde(default, rename = "where")]
    pub(super) filter: Where,
    /// Rows of cells or of turns. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}

/// A coefficient of the parabola a + bN + cN² through some cells.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FitClaim {
    /// The column that is N.
    pub(super) x: String,
    /// The column that is explained.
    pub(super) y: String,
    /// Which coefficient.
    pub(super) coefficient: CoefficientName,
    /// Which cells. Default: all.
    #[serde(default, rename = "where")]
    pub(super) filter: Where,
}

/// A coefficient of a parabola.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CoefficientName {
    /// The constant.
    A,
    /// Per N.
    B,
    /// Per N².
    C,
}

/// One row's value divided by another's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ratio {
    /// The column.
    pub(super) column: String,
    /// The row of the dividend.
    pub(super) of: Where,
    /// The row of the divisor.
    pub(super) to: Where,
    /// Rows of cells or of turns. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}

/// One row's value less another's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Difference {
    /// The column.
    pub(super) column: String,
    /// The row from which is subtracted.
    pub(super) of: Where,
    /// The row that is subtracted.
    pub(super) minus: Where,
    /// Rows of cells or of turns. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}

/// By how many percent one row's value exceeds another's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PercentChange {
    /// The column.
    pub(super) column: String,
    /// The row that is 100 %.
    pub(super) from: Where,
    /// The row that is compared with it.
    pub(super) to: Where,
    /// Rows of cells or of turns. Default: `cells`.
    #[serde(default)]
    pub(super) rows: RowKind,
}
