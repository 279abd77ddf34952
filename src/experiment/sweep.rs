//! The sweep: which cells an experiment has, in which order, computed one at a time.
//!
//! A sweep is never written out: a cell is found from its index, digit by digit as in a number
//! whose digits have different bases, so that ten million cells need no more memory than ten.

use serde_json::{Map, Value};

use super::harness::ENV;
use super::settings::{Dollars, Settings};
use crate::results::{Cell as Printed, Kind};

/// The most cells that one experiment may have.
pub const MAX_CELLS: u64 = 100_000_000;

/// One point of a sweep: a pure value, with the same rows wherever and whenever it is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its place in the order of rows, from 0.
    pub index: u64,
    /// What it is called: `max_turns=8 dedupe=all`, a case's name, or `cell` for an only one.
    pub id: String,
    /// The values of the label columns, as [`Sweep::labels`] names them.
    pub labels: Vec<Printed>,
    /// What it runs with.
    pub settings: Settings,
}

/// Why there is no such cell; one of a checked file, below [`Sweep::len`], always is.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The sweep is shorter.
    #[error("no cell {0}")]
    Beyond(u64),
    /// Its settings cannot be read.
    #[error("cell {index} has settings that cannot be read: {source}")]
    Settings {
        /// The cell's index.
        index: u64,
        /// What is wrong with them.
        source: serde_json::Error,
    },
}

/// All cells of an experiment.
#[derive(Clone, Debug)]
pub struct Sweep {
    base: Map<String, Value>,
    shape: Shape,
}

/// How the cells come about.
#[derive(Clone, Debug)]
pub enum Shape {
    /// One cell, nothing swept.
    Single,
    /// Every value with every value of the other axes; the last axis changes fastest.
    Product(Vec<SweptAxis>),
    /// The n-th values of all axes together.
    Zip(Vec<SweptAxis>),
    /// One by one.
    Cases(Vec<NamedCase>),
}

/// A setting and the values that it takes.
#[derive(Clone, Debug)]
pub struct SweptAxis {
    /// The setting's key.
    pub setting: String,
    /// Its values; money is a text with the number's digits.
    pub values: Vec<Value>,
}

/// A cell with a name.
#[derive(Clone, Debug)]
pub struct NamedCase {
    /// The name.
    pub name: String,
    /// What differs from the base.
    pub settings: Map<String, Value>,
}

impl Sweep {
    /// The cells of `shape` over the settings `base`.
    #[must_use]
    pub const fn new(base: Map<String, Value>, shape: Shape) -> Self {
        Self { base, shape }
    }

    /// How many cells there are; saturates far above [`MAX_CELLS`].
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.shape {
            Shape::Single => 1,
            Shape::Product(axes) => axes.iter().map(SweptAxis::len).fold(1, u64::saturating_mul),
            Shape::Zip(axes) => axes.iter().map(SweptAxis::len).min().unwrap_or(1),
            Shape::Cases(cases) => length(cases),
        }
    }

    /// Whether an axis has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the cells come about.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The axes, in the order of the file; none where cells come one by one.
    #[must_use]
    pub fn axes(&self) -> &[SweptAxis] {
        match &self.shape {
            Shape::Product(axes) | Shape::Zip(axes) => axes,
            Shape::Single | Shape::Cases(_) => &[],
        }
    }

    /// What every cell has, before its own values are written over it.
    #[must_use]
    pub const fn base(&self) -> &Map<String, Value> {
        &self.base
    }

    /// Whether any cell sets `setting`.
    #[must_use]
    pub fn mentions(&self, setting: &str) -> bool {
        !self.values_of(setting).is_empty()
    }

    /// Every value that some cell gives `setting`.
    #[must_use]
    pub fn values_of(&self, setting: &str) -> Vec<&Value> {
        let swept: Vec<&Value> = match &self.shape {
            Shape::Single => Vec::new(),
            Shape::Product(axes) | Shape::Zip(axes) => axes
                .iter()
                .filter(|axis| axis.setting == setting)
                .flat_map(|axis| &axis.values)
                .collect(),
            Shape::Cases(cases) => cases
                .iter()
                .filter_map(|case| case.settings.get(setting))
                .collect(),
        };
        self.base.get(setting).into_iter().chain(swept).collect()
    }

    /// What each cell, or each value of an axis, gives `setting`; none where it has the default.
    #[must_use]
    pub fn in_cells(&self, setting: &str) -> Vec<Option<&Value>> {
        let base = self.base.get(setting);
        match &self.shape {
            Shape::Single => vec![base],
            Shape::Product(axes) | Shape::Zip(axes) => {
                let swept = axes.iter().find(|axis| axis.setting == setting);
                swept.map_or_else(|| vec![base], |axis| axis.values.iter().map(Some).collect())
            }
            Shape::Cases(cases) => {
                let of_case = cases.iter().map(|case| case.settings.get(setting).or(base));
                of_case.collect()
            }
        }
    }

    /// The label columns and what they hold: one per axis, or `case`.
    #[must_use]
    pub fn labels(&self) -> Vec<(&str, Kind)> {
        match &self.shape {
            Shape::Single => Vec::new(),
            Shape::Product(axes) | Shape::Zip(axes) => axes
                .iter()
                .map(|axis| (axis.setting.as_str(), axis.kind()))
                .collect(),
            Shape::Cases(_) => vec![("case", Kind::Text)],
        }
    }

    /// The labels of the cell at `index`, without the work of reading its settings; none beyond
    /// the last cell.
    #[must_use]
    pub fn labels_at(&self, index: u64) -> Option<Vec<Printed>> {
        let swept = self.swept_at(index)?;
        Some(match &self.shape {
            Shape::Cases(cases) => {
                let case = cases.get(usize::try_from(index).ok()?)?;
                vec![Printed::from(case.name.as_str())]
            }
            _ => swept
                .iter()
                .map(|(setting, value)| printed(setting, value))
                .collect(),
        })
    }

    /// The cell at `index`.
    ///
    /// # Errors
    /// [`CellError`] beyond the last cell, and where its settings cannot be read.
    pub fn cell(&self, index: u64) -> Result<Cell, CellError> {
        let beyond = || CellError::Beyond(index);
        let labels = self.labels_at(index).ok_or_else(beyond)?;
        let mut settings = self.base.clone();
        for (setting, value) in self.swept_at(index).ok_or_else(beyond)? {
            write_over(&mut settings, setting, value);
        }
        let settings = serde_json::from_value(Value::Object(settings));
        let settings = settings.map_err(|source| CellError::Settings { index, source })?;
        Ok(Cell {
            index,
            id: self.id(&labels),
            labels,
            settings,
        })
    }

    /// All cells in order.
    pub fn cells(&self) -> impl Iterator<Item = Result<Cell, CellError>> + '_ {
        (0..self.len()).map(|index| self.cell(index))
    }

    /// What a cell is called, in one line whatever its values are.
    fn id(&self, labels: &[Printed]) -> String {
        let axes = match &self.shape {
            Shape::Single => return "cell".to_owned(),
            Shape::Cases(_) => return labels.iter().map(ToString::to_string).collect(),
            Shape::Product(axes) | Shape::Zip(axes) => axes,
        };
        let pairs = axes
            .iter()
            .zip(labels)
            .map(|(axis, label)| format!("{}={label}", axis.setting));
        let id = pairs.collect::<Vec<_>>().join(" ");
        let in_one_line = |letter: char| match letter {
            letter if letter.is_control() => letter.escape_default().to_string(),
            letter => letter.to_string(),
        };
        id.chars().map(in_one_line).collect()
    }

    /// Which value of each axis, or which case, makes the cell at `index`; none beyond the last.
    #[must_use]
    pub fn positions(&self, index: u64) -> Option<Vec<usize>> {
        if index >= self.len() {
            return None;
        }
        match &self.shape {
            Shape::Single => Some(Vec::new()),
            Shape::Product(axes) => {
                let mut rest = index;
                let mut positions = Vec::with_capacity(axes.len());
                for axis in axes.iter().rev() {
                    positions.push(usize::try_from(rest % axis.len()).ok()?);
                    rest /= axis.len();
                }
                positions.reverse();
                Some(positions)
            }
            Shape::Zip(axes) => axes.iter().map(|_| usize::try_from(index).ok()).collect(),
            Shape::Cases(_) => Some(vec![usize::try_from(index).ok()?]),
        }
    }

    /// Cells in which the given settings take every combination of values that they take in any
    /// cell, at most `most` of them.
    #[must_use]
    pub fn representatives(&self, settings: &[&str], most: usize) -> Vec<u64> {
        let Shape::Product(axes) = &self.shape else {
            return (0..self.len()).take(most).collect();
        };
        let mut indices = vec![0];
        let mut stride: u64 = 1;
        for axis in axes.iter().rev() {
            if settings.contains(&axis.setting.as_str()) {
                let steps = (0..axis.len()).map(|digit| stride.saturating_mul(digit));
                let at_step = |step| indices.iter().map(move |at: &u64| at.saturating_add(step));
                let combined = steps.flat_map(at_step);
                indices = combined.take(most).collect();
            }
            stride = stride.saturating_mul(axis.len());
        }
        indices.sort_unstable();
        indices
    }

    /// What the cell at `index` sets over the base, in the order of the file.
    fn swept_at(&self, index: u64) -> Option<Vec<(&str, &Value)>> {
        let positions = self.positions(index)?;
        match &self.shape {
            Shape::Single => Some(Vec::new()),
            Shape::Product(axes) | Shape::Zip(axes) => {
                let pairs = axes.iter().zip(positions);
                let values = pairs.map(|(axis, at)| Some((&*axis.setting, axis.values.get(at)?)));
                values.collect()
            }
            Shape::Cases(cases) => {
                let case = cases.get(*positions.first()?)?;
                Some(
                    case.settings
                        .iter()
                        .map(|(key, value)| (key.as_str(), value))
                        .collect(),
                )
            }
        }
    }
}

impl SweptAxis {
    fn len(&self) -> u64 {
        length(&self.values)
    }

    fn kind(&self) -> Kind {
        let numbers = self.values.iter().all(|value| {
            let label = printed(&self.setting, value);
            label.to_decimal().is_some()
        });
        match Kind::of_name(&self.setting) {
            _ if !numbers => Kind::Text,
            Some(kind) => kind,
            None => Kind::Count,
        }
    }
}

/// Gives a setting its value in a cell. Variables of an environment are written one by one, all
/// other values are replaced as a whole.
fn write_over(settings: &mut Map<String, Value>, setting: &str, value: &Value) {
    let variables = match (setting.strip_prefix(ENV), value) {
        (Some(name), value) => Map::from_iter([(name.to_owned(), value.clone())]),
        (None, Value::Object(variables)) if setting == "env" => variables.clone(),
        (None, value) => {
            settings.insert(setting.to_owned(), value.clone());
            return;
        }
    };
    let env = settings
        .entry("env")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(env) = env {
        env.extend(variables);
    }
}

fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

/// A setting's value as its label column prints it.
pub(super) fn printed(setting: &str, value: &Value) -> Printed {
    if Kind::of_name(setting) == Some(Kind::Usd)
        && let Ok(Dollars(amount)) = serde_json::from_value(value.clone())
    {
        return Printed::from(amount);
    }
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(whole) => Printed::from(whole),
            None => Printed::from(number.to_string()),
        },
        other => Printed::from(words(other)),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Object(table) => {
            let pairs = table
                .iter()
                .map(|(key, value)| format!("{key}={}", words(value)));
            pairs.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn axis(setting: &str, values: &[u64]) -> SweptAxis {
        let values = values.iter().map(|&value| json!(value)).collect();
        SweptAxis {
            setting: setting.to_owned(),
            values,
        }
    }

    const SETTINGS: [&str; 4] = ["max_turns", "max_tokens", "latency_ms", "seed"];

    /// All combinations by nested loops, the last axis fastest: the oracle.
    fn naive_product(axes: &[Vec<u64>]) -> Vec<Vec<u64>> {
        axes.iter().fold(vec![vec![]], |rows, values| {
            let extend = |row: Vec<u64>| {
                values
                    .iter()
                    .map(move |&value| [row.clone(), vec![value]].concat())
            };
            rows.into_iter().flat_map(extend).collect()
        })
    }

    proptest! {
        #[test]
        fn a_product_is_enumerated_in_the_order_of_nested_loops(
            axes in prop::collection::vec(prop::collection::vec(1_u64..1000, 1..5), 1..=4)
        ) {
            let swept = axes.iter().zip(SETTINGS).map(|(values, name)| axis(name, values));
            let sweep = Sweep::new(Map::new(), Shape::Product(swept.collect()));
            let expected = naive_product(&axes);
            prop_assert_eq!(sweep.len(), length(&expected));
            let cells: Vec<Cell> = sweep.cells().collect::<Result<_, _>>().unwrap();
            let labels: Vec<_> = cells.iter().map(|cell| cell.labels.clone()).collect();
            let expected: Vec<Vec<Printed>> = expected
                .into_iter()
                .map(|row| row.into_iter().map(Printed::from).collect())
                .collect();
            prop_assert_eq!(labels, expected);
            for cell in &cells {
                let turns = cell.settings.max_turns.map(Printed::from);
                prop_assert_eq!(turns.as_ref(), cell.labels.first());
            }
            prop_assert!(matches!(sweep.cell(sweep.len()), Err(CellError::Beyond(_))));
        }
    }

    #[test]
    fn a_cell_of_ten_million_million_is_found_without_the_others() {
        let values: Vec<u64> = (1..=10_000).collect();
        let axes = ["max_turns", "max_tokens", "seed"].map(|name| axis(name, &values));
        let sweep = Sweep::new(Map::new(), Shape::Product(axes.to_vec()));
        let last = sweep.cell(sweep.len() - 1).unwrap();
        assert_eq!(last.id, "max_turns=10000 max_tokens=10000 seed=10000");
    }

    #[test]
    fn a_zip_takes_the_nth_values_together() {
        let axes = vec![axis("max_turns", &[1, 2]), axis("seed", &[7, 8])];
        let sweep = Sweep::new(Map::new(), Shape::Zip(axes));
        let ids: Vec<String> = sweep.cells().map(|cell| cell.unwrap().id).collect();
        assert_eq!(ids, ["max_turns=1 seed=7", "max_turns=2 seed=8"]);
    }

    #[test]
    fn a_case_writes_its_settings_over_the_base() {
        let base = json!({ "scenario": "plan", "max_turns": 20 });
        let case = NamedCase {
            name: "short".to_owned(),
            settings: json!({ "max_turns": 2 }).as_object().unwrap().clone(),
        };
        let sweep = Sweep::new(base.as_object().unwrap().clone(), Shape::Cases(vec![case]));
        let cell = sweep.cell(0).unwrap();
        assert_eq!(cell.id, "short");
        assert_eq!(cell.settings.scenario.as_deref(), Some("plan"));
        assert_eq!(cell.settings.max_turns, Some(2));
    }

    #[test]
    fn money_lists_and_tables_have_one_printed_form() {
        let print = |setting, value| printed(setting, &value).to_string();
        assert_eq!(print("max_budget_usd", json!("0.010")), "0.010000");
        assert_eq!(print("tools", json!(["a", "b"])), "a b");
        let latency = json!({ "distribution": "log_normal", "median_ms": 800, "sigma": 0.5 });
        assert_eq!(
            print("latency", latency),
            "distribution=log_normal median_ms=800 sigma=0.5"
        );
        assert_eq!(print("dedupe", json!("off")), "off");
    }
}
