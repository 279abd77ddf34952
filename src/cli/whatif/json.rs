//! The answer as JSON: plain integers, dollars as decimal numbers, stable keys.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Answer;
use crate::message::to_json;
use crate::record::{Format, OfFormat};
use crate::results::Cell;
use crate::whatif::{Axis, Cheapest, NamedCell, of_case};

/// A value as it is printed.
type Raw = Box<RawValue>;

/// An object with its keys in order.
struct Object(Vec<(&'static str, Raw)>);

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Shown {
    read: Read,
    price: Priced,
    recorded: Object,
    reported: Vec<Object>,
    marked_runs: u64,
    successes: Option<u64>,
    calls: Calls,
    tools_tokens: Option<u64>,
    runs_without_texts: u64,
    settings: Vec<Object>,
    keep_percent: Raw,
    cheapest: Vec<Object>,
    assumed_max_completion_tokens: Option<u64>,
}

#[derive(Serialize)]
struct Read {
    files: u64,
    unreadable: u64,
    bytes: u64,
    skipped: u64,
    duplicates: u64,
    oddities: Object,
}

#[derive(Serialize)]
struct Priced {
    name: String,
    source: String,
    date: String,
}

#[derive(Serialize)]
struct Calls {
    all: u64,
    repeated: u64,
    runs_with_repeats: u64,
    most_in_a_row: u64,
}

/// The columns of a setting that the recorded runs have too.
const RECORDED: [&str; 5] = [
    "runs",
    "turns",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
];

/// The answer as one JSON object.
pub(super) fn of(answer: &Answer<'_>) -> String {
    let (imported, report) = (answer.imported, answer.report);
    let recorded = of_case(report, None, &report.recorded);
    let recorded = recorded
        .into_iter()
        .filter(|(name, ..)| RECORDED.contains(name));
    let oddities = imported.oddities.iter();
    let (sum, formats) = (report.recorded, imported.formats.iter());
    to_json(&Shown {
        read: Read {
            files: imported.files,
            unreadable: answer.unreadable,
            bytes: imported.bytes,
            skipped: imported.skipped,
            duplicates: imported.duplicates,
            oddities: Object(
                oddities
                    .map(|(odd, number)| (odd.key(), raw(number)))
                    .collect(),
            ),
        },
        price: Priced {
            name: answer.price.name.clone(),
            source: answer.price.source.clone(),
            date: answer.price.date.clone(),
        },
        recorded: object(recorded),
        reported: formats
            .map(|(format, of)| reported(*format, of, answer))
            .collect(),
        marked_runs: sum.marked,
        successes: (sum.marked > 0).then_some(sum.successes),
        calls: Calls {
            all: report.repeated.calls,
            repeated: report.repeated.repeated,
            runs_with_repeats: report.runs_with_repeats,
            most_in_a_row: report.repeated.in_a_row,
        },
        tools_tokens: (report.tools_tokens > 0).then_some(report.tools_tokens),
        runs_without_texts: report.without_texts,
        settings: settings(answer),
        keep_percent: keep(answer),
        cheapest: report.cheapest(answer.keep).iter().map(cheapest).collect(),
        assumed_max_completion_tokens: answer.max_completion_tokens,
    })
}

fn settings(answer: &Answer<'_>) -> Vec<Object> {
    let cases = answer.report.cases.iter().map(|(case, tally)| {
        let mut object = object(of_case(answer.report, Some(case), tally).into_iter());
        object.0.insert(0, ("setting", raw_text(&case.to_string())));
        object
    });
    cases.collect()
}

/// What the records of a format say themselves, beside what is counted.
fn reported(format: Format, of: &OfFormat, answer: &Answer<'_>) -> Object {
    let or_null = |number: Option<u64>| number.map_or_else(null, raw);
    let reported = &of.reported;
    Object(vec![
        ("format", raw_text(format.as_str())),
        ("runs", raw(of.runs)),
        ("counted_turns", raw(of.turns)),
        ("counted_prompt_tokens", raw(of.counted.prompt_tokens)),
        (
            "counted_completion_tokens",
            raw(of.counted.completion_tokens),
        ),
        (
            "counted_cost_usd",
            answer.costs.get(&format).map_or_else(null, raw),
        ),
        ("reporting_runs", raw(of.reporting)),
        ("turns", or_null(reported.turns)),
        ("prompt_tokens", or_null(reported.prompt_tokens)),
        ("completion_tokens", or_null(reported.completion_tokens)),
        ("cached_tokens", or_null(reported.cached_tokens)),
        ("cache_write_tokens", or_null(reported.cache_write_tokens)),
        ("reasoning_tokens", or_null(reported.reasoning_tokens)),
        ("cost_usd", reported.cost.map_or_else(null, raw)),
    ])
}

fn cheapest(cheapest: &Cheapest<'_>) -> Object {
    let axes: Vec<&str> = cheapest.axes.iter().copied().map(Axis::as_str).collect();
    let found = cheapest.found;
    let setting = found.map_or_else(null, |(case, _)| raw_text(&case.to_string()));
    let cost = found.map_or_else(null, |(_, tally)| raw(tally.cost));
    let kept = found.map_or_else(null, |(_, tally)| raw(tally.successes_kept));
    Object(vec![
        ("axes", raw(to_json(&axes))),
        ("setting", setting),
        ("cost_usd", cost),
        ("successes_kept", kept),
    ])
}

fn object(cells: impl Iterator<Item = NamedCell>) -> Object {
    let values = cells.map(|(name, _, cell)| {
        let value = match &cell {
            Cell::Missing => null(),
            Cell::Text(text) => raw_text(text),
            other => raw(other),
        };
        (name, value)
    });
    Object(values.collect())
}

/// The percentage that has to be kept.
fn keep(answer: &Answer<'_>) -> Raw {
    raw(super::text::percent(answer.keep))
}

/// A number in its own digits, not by way of a float.
fn raw(value: impl std::fmt::Display) -> Raw {
    RawValue::from_string(value.to_string()).unwrap_or_else(|_| null())
}

fn raw_text(text: &str) -> Raw {
    raw(to_json(text))
}

fn null() -> Raw {
    RawValue::NULL.to_owned()
}
