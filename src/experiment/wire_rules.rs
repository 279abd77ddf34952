//! What must hold of the settings of cells that ask their model over a wire, or a real one.

use regex::Regex;

use super::rules::Rule;
use super::seam::{ModelSource, Transport};
use super::settings::Settings;

/// What must hold on any clock.
pub(super) const RULES: &[Rule] = &[
    Rule {
        looks_at: &["provider", "scenario"],
        blames: "scenario",
        broken: |settings| {
            let script = settings.scenario.is_some();
            (asks_endpoint(settings) && script)
                .then(|| "a scenario beside an endpoint, which follows no script".to_owned())
        },
        help: "leave `scenario` out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["provider", "transport"],
        blames: "transport",
        broken: |settings| {
            let in_process = settings.transport == Transport::InProcess;
            (asks_endpoint(settings) && in_process)
                .then(|| "an endpoint is not in this process".to_owned())
        },
        help: "set `transport` to `http` or `http_stream`",
    },
    Rule {
        looks_at: &["provider", "latency", "latency_ms"],
        blames: "latency_ms",
        broken: |settings| {
            let injected = settings.latency_ms.is_some() || settings.latency.is_some();
            (asks_endpoint(settings) && injected)
                .then(|| "a latency for an endpoint, which takes its own time".to_owned())
        },
        help: "leave the latency out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["provider", "compare_with"],
        blames: "compare_with",
        broken: |settings| {
            (asks_endpoint(settings) && settings.compare_with.is_some())
                .then(|| "a bare socket to compare an endpoint with".to_owned())
        },
        help: "leave `compare_with` out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["expected_answer"],
        blames: "expected_answer",
        broken: |settings| {
            let expected = settings.expected_answer.as_deref()?;
            let error = Regex::new(expected).err()?;
            Some(format!("not a regular expression: {error}"))
        },
        help: "escape what is meant letter by letter, such as `errors\\\\.log`",
    },
];

/// What must hold on the virtual clock alone.
pub(super) const ON_VIRTUAL_CLOCK: &[Rule] = &[Rule {
    looks_at: &["transport"],
    blames: "transport",
    broken: |settings| {
        (settings.transport != Transport::InProcess)
            .then(|| "sockets on the virtual clock, which they do not wait for".to_owned())
    },
    help: "set `clock = \"real\"`, or `transport = \"in_process\"`",
}];

fn asks_endpoint(settings: &Settings) -> bool {
    settings.provider == ModelSource::Endpoint
}
