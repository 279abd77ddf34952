//! Files beside the report: the report in other forms, and what was measured in the forms of
//! services that draw it over time.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum as _;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Format;
use crate::cli::exit::Failure;
use crate::files::write_file;
use crate::lab::gate::Gate;
use crate::lab::series::{Series, Unit};

pub(super) const HELP: &str = "\
Also write the report, or what was measured, into a file; may be given several times.
FORMAT is text, markdown, json, junit or github: the report;
bmf: what was measured, as Bencher Metric Format (JSON);
github-action-benchmark: the same for that action, as `customSmallerIsBetter`";

/// A file that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Export {
    content: Content,
    file: PathBuf,
}

/// What stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Report(Format),
    Bmf,
    GithubActionBenchmark,
}

impl FromStr for Export {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = text
            .split_once('=')
            .filter(|(_, file)| !file.is_empty())
            .ok_or("write a format and a file, such as junit=junit.xml")?;
        let content = match format {
            "bmf" => Content::Bmf,
            "github-action-benchmark" => Content::GithubActionBenchmark,
            report => Content::Report(Format::from_str(report, false).map_err(|_| {
                "the formats are text, markdown, json, junit, github, bmf and \
                 github-action-benchmark"
            })?),
        };
        Ok(Self {
            content,
            file: file.into(),
        })
    }
}

impl Export {
    /// Whether it is made from what was measured.
    pub(super) fn is_of_series(&self) -> bool {
        !matches!(self.content, Content::Report(_))
    }

    pub(super) fn write(&self, gate: &Gate, series: &[Series]) -> Result<(), Failure> {
        let text = match self.content {
            Content::Report(format) => format.render(gate),
            Content::Bmf => bmf(series),
            Content::GithubActionBenchmark => github_action_benchmark(series),
        };
        put(&self.file, text.as_bytes())
    }
}

/// Writes to where `path` leads. A device or a pipe is written to and not replaced; a link stays
/// one.
fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_special = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    if !fs::metadata(&path).is_ok_and(is_special) {
        write_file(&path, bytes).map_err(|error| Failure::could_not_do(&error))?;
        return Ok(());
    }
    let written = fs::OpenOptions::new().write(true).open(&path);
    let written = written.and_then(|mut device| device.write_all(bytes));
    written.map_err(|error| {
        Failure::CouldNotDo(format!("{}: cannot be written: {error}", path.display()))
    })
}

#[derive(Serialize)]
struct Metric {
    value: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<Box<RawValue>>,
}

/// Bencher Metric Format: metrics by measure, by benchmark.
fn bmf(series: &[Series]) -> String {
    let mut benchmarks: BTreeMap<&str, BTreeMap<&str, Metric>> = BTreeMap::new();
    for one in series {
        let Some(value) = number(&one.value) else {
            continue;
        };
        let bound = |text: &Option<String>| text.as_deref().and_then(number);
        let metric = Metric {
            value,
            lower_value: bound(&one.low),
            upper_value: bound(&one.high),
        };
        let measures = benchmarks.entry(&one.benchmark).or_default();
        measures.insert(&one.measure, metric);
    }
    pretty(&benchmarks)
}

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
}

/// A list of values of which the smaller is the better.
fn github_action_benchmark(series: &[Series]) -> String {
    let entries = series.iter().filter_map(|one| {
        let bounds = one.low.as_ref().zip(one.high.as_ref());
        Some(Entry {
            name: format!("{}: {}", one.benchmark, one.measure),
            unit: unit(one.unit),
            value: number(&one.value)?,
            range: bounds.map(|(low, high)| format!("{low} to {high}")),
        })
    });
    pretty(&entries.collect::<Vec<_>>())
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Usd => "USD",
        Unit::Tokens => "tokens",
        Unit::Ms => "ms",
        Unit::Count => "count",
    }
}

/// The digits of a measurement as a number of JSON, so that none passes through a float.
fn number(digits: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(digits.to_owned()).ok()
}

fn pretty(value: &impl Serialize) -> String {
    // Texts and numbers always have a form in JSON.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Vec<Series> {
        let of = |measure: &str, unit, value: &str, bounds: Option<(&str, &str)>| Series {
            benchmark: "a max_turns=8".to_owned(),
            measure: measure.to_owned(),
            unit,
            value: value.to_owned(),
            low: bounds.map(|(low, _)| low.to_owned()),
            high: bounds.map(|(_, high)| high.to_owned()),
        };
        vec![
            of("cost_usd", Unit::Usd, "0.0000001425", None),
            of("wall_ms", Unit::Ms, "1.500", Some(("1.250", "2.000"))),
        ]
    }

    #[test]
    fn bmf_names_metrics_by_benchmark_and_measure_digit_by_digit() {
        assert_eq!(
            bmf(&series()).replace([' ', '\n'], ""),
            concat!(
                r#"{"amax_turns=8":{"cost_usd":{"value":0.0000001425},"#,
                r#""wall_ms":{"value":1.500,"lower_value":1.250,"upper_value":2.000}}}"#
            )
        );
    }

    #[test]
    fn the_action_gets_a_list_with_units_and_ranges() {
        let text = github_action_benchmark(&series());
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!([
            { "name": "a max_turns=8: cost_usd", "unit": "USD", "value": 0.000_000_142_5 },
            {
                "name": "a max_turns=8: wall_ms", "unit": "ms", "value": 1.5,
                "range": "1.250 to 2.000",
            },
        ]);
        assert_eq!(read, expected);
        assert!(text.contains("0.0000001425"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_to_and_links_are_followed() {
        use std::os::unix::fs::FileTypeExt;
        put(Path::new("/dev/null"), b"text").unwrap();
        let kind = fs::metadata("/dev/null").unwrap().file_type();
        assert!(kind.is_char_device());
        let full = put(Path::new("/dev/full"), b"text").unwrap_err();
        assert!(matches!(full, Failure::CouldNotDo(words) if words.starts_with("/dev/full: ")));
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        put(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_format_that_is_none_is_refused_with_those_that_are() {
        let refused = |text: &str| text.parse::<Export>().unwrap_err();
        assert!(refused("xml=a").contains("junit"), "{}", refused("xml=a"));
        assert!(refused("junit").contains("junit=junit.xml"));
        assert!(refused("junit=").contains("junit=junit.xml"));
        let export: Export = "bmf=a=b.json".parse().unwrap();
        assert_eq!(export.file, PathBuf::from("a=b.json"));
    }
}
