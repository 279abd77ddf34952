//! From what a file says to a sweep: swept values are checked like the settings that they stand
//! for, and every number that is money is taken from its source text.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::format::{Axis, Combine, ExperimentFile, SettingName};
use super::harness::{ENV, EnvValue};
use super::settings::{Dollars, Settings};
use super::sweep::{MAX_CELLS, NamedCase, Shape, Sweep, SweptAxis};
use crate::document::{Document, Findings, Mended, child, property_schema, schema_of};
use crate::results::Kind;

/// Checks swept values against the settings that they stand for, and mends them.
pub(super) fn mend_axes(mended: &mut Mended) {
    let schema = schema_of::<Settings>();
    let axes = mended.document().json().get("axis").cloned();
    for (index, axis) in axes
        .iter()
        .filter_map(Value::as_array)
        .flatten()
        .enumerate()
    {
        let pointer = format!("/axis/{index}");
        let setting = axis.get("setting").and_then(Value::as_str);
        let list = list_schema(&schema, setting.unwrap_or_default());
        let values = child(&pointer, "values");
        if mended.is_certain(&child(&pointer, "setting")) {
            mended.fit(&values, &list);
        } else {
            mended.replace(&values, &list);
        }
    }
}

/// The schema of a list of values of one setting.
fn list_schema(settings: &Value, setting: &str) -> Value {
    let mut item = match setting.strip_prefix(ENV) {
        Some(_) => EnvValue::schema(),
        None => property_schema(settings, setting).unwrap_or(Value::Bool(true)),
    };
    let definitions = item.as_object_mut().and_then(|item| item.remove("$defs"));
    let definitions = definitions.unwrap_or_else(|| json!({}));
    json!({ "type": "array", "minItems": 1, "items": item, "$defs": definitions })
}

/// Makes the sweep that the file describes, as far as it is right; what is wrong with its
/// settings, axes and cases goes into `findings`.
pub(super) fn read_sweep(findings: &mut Findings<'_>, file: &ExperimentFile) -> Sweep {
    check_axes(findings, file);
    check_cases(findings, file);
    check_values(findings, file);
    let document = findings.document();
    let base = with_readable_money(document, "/settings", &file.settings);
    let sweep = Sweep::new(base, shape(document, file));
    if sweep.len() > MAX_CELLS {
        let message = format!("{} cells are too many", sweep.len());
        let help = format!("{MAX_CELLS} at most; leave out values or an axis");
        findings.add_to_key("/axis", &message, &help);
    }
    sweep
}

/// Everything that the file says of one setting, with the JSON pointer of where.
pub(super) fn occurrences<'f>(file: &'f ExperimentFile, setting: &str) -> Vec<(String, &'f Value)> {
    let fixed = |at: &str, settings: &'f Map<String, Value>| {
        let value = settings.get(setting)?;
        Some((child(at, setting), value))
    };
    let mut found: Vec<_> = fixed("/settings", &file.settings).into_iter().collect();
    for (index, axis) in file.axis.iter().enumerate() {
        if axis.setting.0 == setting {
            let values = axis.values.iter().enumerate();
            found.extend(values.map(|(at, value)| (format!("/axis/{index}/values/{at}"), value)));
        }
    }
    let cases = file.case.iter().enumerate();
    found.extend(
        cases.filter_map(|(index, case)| fixed(&format!("/case/{index}/settings"), &case.settings)),
    );
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

fn check_axes(findings: &mut Findings<'_>, file: &ExperimentFile) {
    if let (Some(_), Some(_)) = (file.axis.first(), file.case.first()) {
        let help = "keep the axes, or write each cell as a `[[case]]`";
        findings.add_to_key("/case", "cases beside axes", help);
    }
    let mut seen = BTreeSet::new();
    for (index, axis) in file.axis.iter().enumerate() {
        let place = format!("/axis/{index}/setting");
        let setting = axis.setting.0.as_str();
        if findings.is_certain(&place) && !seen.insert(setting) {
            let message = format!("`{setting}` is swept twice");
            findings.add(&place, &message, "put all its values in one axis");
        }
        let mut before = BTreeSet::new();
        for (at, value) in axis.values.iter().enumerate() {
            let place = format!("/axis/{index}/values/{at}");
            if findings.is_certain(&place) && !before.insert(value.to_string()) {
                findings.add(&place, "this value was there before", "keep it once");
            }
        }
    }
    check_zip(findings, file);
}

fn check_zip(findings: &mut Findings<'_>, file: &ExperimentFile) {
    let Some(first) = file.axis.first().filter(|_| file.combine == Combine::Zip) else {
        return;
    };
    if !findings.is_certain("/axis/0/values") {
        return;
    }
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
        if case.name.contains(char::is_control) {
            findings.add(
                &pointer,
                "the name of a case has a line break or another control character",
                "a name is one line of text",
            );
        }
        if !seen.insert(case.name.as_str()) {
            let message = format!("two cases are called `{}`", case.name);
            findings.add(&pointer, &message, "rename one");
        }
    }
}

/// Reads every value once in its place, so that no cell can fail to be read later.
fn check_values(findings: &mut Findings<'_>, file: &ExperimentFile) {
    for setting in SettingName::all() {
        for (pointer, value) in occurrences(file, setting) {
            let value = written_money(findings.document(), &pointer, setting, value);
            let alone = Map::from_iter([(setting.clone(), value)]);
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
            settings: with_readable_money(
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
        let pointer = format!("{pointer}/values/{index}");
        readable_money(document, &pointer, &setting, value)
    });
    SweptAxis {
        values: values.collect(),
        setting,
    }
}

fn with_readable_money(
    document: &Document,
    pointer: &str,
    settings: &Map<String, Value>,
) -> Map<String, Value> {
    let written = settings.iter().map(|(setting, value)| {
        let value = readable_money(document, &child(pointer, setting), setting, value);
        (setting.clone(), value)
    });
    written.collect()
}

/// Money as its cells read it: where it is wrong, which was reported, it is no money at all.
fn readable_money(document: &Document, pointer: &str, setting: &str, value: &Value) -> Value {
    let written = written_money(document, pointer, setting, value);
    if is_money(setting, value) && serde_json::from_value::<Dollars>(written.clone()).is_err() {
        return Value::from("0");
    }
    written
}

/// A number that is money becomes the text that it is written with; all else stays.
fn written_money(document: &Document, pointer: &str, setting: &str, value: &Value) -> Value {
    match written_number(document, pointer).filter(|_| is_money(setting, value)) {
        Some(text) => Value::String(text),
        None => value.clone(),
    }
}

fn is_money(setting: &str, value: &Value) -> bool {
    Kind::of_name(setting) == Some(Kind::Usd) && value.is_number()
}
