//! From what a file says to a sweep: swept values are checked like the settings that they stand
//! for, and every number that is money is taken from its source text.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::format::{Axis, Combine, ExperimentFile};
use super::harness::{ENV, EnvValue};
use super::settings::Settings;
use super::sweep::{MAX_CELLS, NamedCase, Shape, Sweep, SweptAxis};
use crate::document::{Document, Findings, child, property_schema, schema_of};
use crate::results::Kind;

/// A sweep, and whether its cells can be told apart by their labels.
pub(super) struct Read {
    pub(super) sweep: Sweep,
    pub(super) is_sound: bool,
}

/// Makes the sweep that the file describes. What is wrong with its axes and cases goes into
/// `findings`, and what is wrong with their values, where nothing else was found before.
pub(super) fn read_sweep(
    findings: &mut Findings<'_>,
    document: &Document,
    file: &ExperimentFile,
) -> Read {
    let mut of_shape = Findings::new(document);
    check_axes(&mut of_shape, document, file);
    check_cases(&mut of_shape, file);
    let base = with_written_money(document, "/settings", &file.settings);
    let sweep = Sweep::new(base, shape(document, file));
    let is_sound = of_shape.is_empty() && !sweep.is_empty();
    findings.append(of_shape);
    if sweep.len() > MAX_CELLS {
        let message = format!("{} cells are too many", sweep.len());
        let help = format!("{MAX_CELLS} at most; leave out values or an axis");
        findings.add_to_key("/axis", &message, &help);
    }
    if findings.is_empty() {
        check_values(findings, &sweep);
    }
    Read { sweep, is_sound }
}

/// Everything that the file says of one setting, with the JSON pointer of where.
pub(super) fn occurrences<'s>(sweep: &'s Sweep, setting: &str) -> Vec<(String, &'s Value)> {
    let base = sweep
        .base()
        .get(setting)
        .map(|value| (child("/settings", setting), value));
    let mut found: Vec<_> = base.into_iter().collect();
    match sweep.shape() {
        Shape::Single => {}
        Shape::Product(axes) | Shape::Zip(axes) => {
            let swept = axes
                .iter()
                .enumerate()
                .filter(|(_, axis)| axis.setting == setting);
            found.extend(swept.flat_map(|(axis_index, axis)| {
                let pointer = move |index| format!("/axis/{axis_index}/values/{index}");
                axis.values
                    .iter()
                    .enumerate()
                    .map(move |(index, value)| (pointer(index), value))
            }));
        }
        Shape::Cases(cases) => {
            found.extend(cases.iter().enumerate().filter_map(|(index, case)| {
                let pointer = child(&format!("/case/{index}/settings"), setting);
                Some((pointer, case.settings.get(setting)?))
            }));
        }
    }
    found
}

/// The JSON pointer of what gives `setting` its value in the cell at `index`, or of the place
/// where it could be given one.
pub(super) fn pointer_of(sweep: &Sweep, index: u64, setting: &str) -> String {
    let positions = sweep.positions(index).unwrap_or_default();
    let swept = match sweep.shape() {
        Shape::Single => None,
        Shape::Product(axes) | Shape::Zip(axes) => axes
            .iter()
            .position(|axis| axis.setting == setting)
            .and_then(|axis| Some(format!("/axis/{axis}/values/{}", positions.get(axis)?))),
        Shape::Cases(cases) => positions.first().and_then(|&at| {
            let case = format!("/case/{at}/settings");
            cases
                .get(at)?
                .settings
                .contains_key(setting)
                .then(|| child(&case, setting))
        }),
    };
    swept.unwrap_or_else(|| child("/settings", setting))
}

/// The number at a JSON pointer as it is written, without separators between its digits.
pub(super) fn written_number(document: &Document, pointer: &str) -> Option<String> {
    document
        .source_at(pointer)
        .map(|text| text.replace('_', ""))
}

fn check_axes(findings: &mut Findings<'_>, document: &Document, file: &ExperimentFile) {
    if let (Some(_), Some(_)) = (file.axis.first(), file.case.first()) {
        let help = "keep the axes, or write each cell as a `[[case]]`";
        findings.add_to_key("/case", "cases beside axes", help);
    }
    let schema = schema_of::<Settings>();
    let mut seen = BTreeSet::new();
    for (index, axis) in file.axis.iter().enumerate() {
        let pointer = format!("/axis/{index}");
        let setting = axis.setting.0.as_str();
        if !seen.insert(setting) {
            let message = format!("`{setting}` is swept twice");
            findings.add(
                &child(&pointer, "setting"),
                &message,
                "put all its values in one axis",
            );
        }
        let values = format!("{pointer}/values");
        let list = Value::Array(axis.values.clone());
        findings.extend(document.check_against(&values, &list, &list_schema(&schema, setting)));
        let mut before = BTreeSet::new();
        for (at, value) in axis.values.iter().enumerate() {
            if !before.insert(value.to_string()) {
                let place = format!("{values}/{at}");
                findings.add(&place, "this value was there before", "keep it once");
            }
        }
    }
    check_zip(findings, file);
}

/// The schema of a list of values of one setting; an unknown setting was reported before.
fn list_schema(settings: &Value, setting: &str) -> Value {
    let mut item = match setting.strip_prefix(ENV) {
        Some(_) => EnvValue::schema(),
        None => property_schema(settings, setting).unwrap_or(Value::Bool(true)),
    };
    let definitions = item.as_object_mut().and_then(|item| item.remove("$defs"));
    json!({ "items": item, "$defs": definitions.unwrap_or_else(|| json!({})) })
}

fn check_zip(findings: &mut Findings<'_>, file: &ExperimentFile) {
    let Some(first) = file.axis.first().filter(|_| file.combine == Combine::Zip) else {
        return;
    };
    let expected = first.values.len();
    for (index, axis) in file.axis.iter().enumerate().skip(1) {
        let found = axis.values.len();
        if found != expected {
            let message = format!("{found} values beside {expected} of `{}`", first.setting.0);
            let pointer = format!("/axis/{index}/values");
            findings.add(&pointer, &message, "zipped axes have equally many values");
        }
    }
}

fn check_cases(findings: &mut Findings<'_>, file: &ExperimentFile) {
    let mut seen = BTreeSet::new();
    for (index, case) in file.case.iter().enumerate() {
        let pointer = format!("/case/{index}/name");
        if case.name.is_empty() {
            findings.add(
                &pointer,
                "a case without a name",
                "say what is special about it",
            );
        }
        if !seen.insert(case.name.as_str()) {
            let message = format!("two cases are called `{}`", case.name);
            findings.add(&pointer, &message, "rename one");
        }
    }
}

/// Reads every value once in its place, so that no cell can fail to be read later.
fn check_values(findings: &mut Findings<'_>, sweep: &Sweep) {
    let keys = super::format::SettingName::all();
    for setting in &keys {
        for (pointer, value) in occurrences(sweep, setting) {
            let alone = Map::from_iter([(setting.clone(), value.clone())]);
            if let Err(error) = serde_json::from_value::<Settings>(Value::Object(alone)) {
                let help = "see the setting's description in `loopmeter schema`";
                findings.add(&pointer, &error.to_string(), help);
            }
        }
    }
}

fn shape(document: &Document, file: &ExperimentFile) -> Shape {
    if !file.case.is_empty() {
        let cases = file.case.iter().enumerate().map(|(index, case)| NamedCase {
            name: case.name.clone(),
            settings: with_written_money(
                document,
                &format!("/case/{index}/settings"),
                &case.settings,
            ),
        });
        return Shape::Cases(cases.collect());
    }
    if file.axis.is_empty() {
        return Shape::Single;
    }
    let axes = file.axis.iter().enumerate();
    let axes = axes
        .map(|(index, axis)| swept(document, &format!("/axis/{index}"), axis))
        .collect();
    match file.combine {
        Combine::Product => Shape::Product(axes),
        Combine::Zip => Shape::Zip(axes),
    }
}

fn swept(document: &Document, pointer: &str, axis: &Axis) -> SweptAxis {
    let setting = axis.setting.0.clone();
    let values = axis.values.iter().enumerate().map(|(index, value)| {
        written_money(
            document,
            &format!("{pointer}/values/{index}"),
            &setting,
            value,
        )
    });
    SweptAxis {
        values: values.collect(),
        setting,
    }
}

fn with_written_money(
    document: &Document,
    pointer: &str,
    settings: &Map<String, Value>,
) -> Map<String, Value> {
    let written = settings.iter().map(|(setting, value)| {
        let value = written_money(document, &child(pointer, setting), setting, value);
        (setting.clone(), value)
    });
    written.collect()
}

/// A number that is money becomes the text that it is written with; all else stays.
fn written_money(document: &Document, pointer: &str, setting: &str, value: &Value) -> Value {
    let money = Kind::of_name(setting) == Some(Kind::Usd) && value.is_number();
    match written_number(document, pointer).filter(|_| money) {
        Some(text) => Value::String(text),
        None => value.clone(),
    }
}
