use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::document::Document;
use crate::experiment::{CellRows, Execution, Experiment, Home, Host};

const LATENCY: &str = "latency = \"ttft=log_normal(800ms,0.6),per_token=gamma(20ms,4)\"\n";

fn load(text: &str) -> Result<Experiment, Vec<String>> {
    let document = Document::parse("x.toml", &format!("title = \"t\"\nabout = \"a\"\n{text}"));
    let document = document.map_err(|problems| vec![problems.to_string()])?;
    Experiment::from_document("x", &document, &Home::Embedded).map_err(|problems| {
        let problems = problems.iter();
        problems.map(|problem| problem.message.clone()).collect()
    })
}

/// The cells of an experiment with these settings.
fn cells(settings: &str, jobs: usize) -> Vec<BTreeMap<String, String>> {
    let experiment = load(&format!("[settings]\nmax_turns = 6\n{LATENCY}{settings}")).unwrap();
    let names: Vec<String> = experiment
        .cell_columns()
        .into_iter()
        .map(|c| c.name)
        .collect();
    let execution = Execution {
        jobs,
        host: &Host::here(),
        progress: &mut |_| {},
        stop: &|| false,
    };
    let mut rows = Vec::new();
    let mut take = |taken: CellRows| -> Result<(), String> {
        let cells = taken.cell.iter().map(ToString::to_string);
        rows.push(names.iter().cloned().zip(cells).collect());
        Ok(())
    };
    experiment.execute(execution, &mut take).unwrap();
    rows
}

fn number(cell: &BTreeMap<String, String>, column: &str) -> f64 {
    cell[column].parse().unwrap_or(f64::NAN)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn times_that_are_drawn_again_are_those_of_runs_of_their_own(
        seed in 0_u64..1_000_000, samples in 1_u32..150,
        scenario in prop::sample::select(vec!["plan", "parallel", "archive", "runaway", "denied"]),
        shown in prop::sample::select(vec!["whole", "streamed"]),
        tools in prop::sample::select(vec![
            "",
            "tool_latency = \"log_normal(400ms,0.8)\"\n",
            "tool_latency = \"gamma(500ms,1)\"\ntool_execution = \"parallel\"\n",
        ]),
    ) {
        let settings = format!(
            "scenario = \"{scenario}\"\nanswer_shown = \"{shown}\"\nseed = {seed}\nsamples = {samples}\n{tools}"
        );
        let drawn = cells(&settings, 2);
        // A limit on the time that no run reaches: each sample is run to see that it does not.
        let run = cells(&format!("{settings}max_wall_ms = 86400000\n"), 2);
        prop_assert_eq!(drawn, run);
    }
}

#[test]
fn the_bytes_do_not_depend_on_how_many_work_at_a_time() {
    let settings = "scenario = \"plan\"\nsamples = 500\n";
    assert_eq!(cells(settings, 1), cells(settings, 4));
}

#[test]
fn the_first_sample_is_the_run_of_the_cell_itself() {
    let one = &cells("scenario = \"plan\"\nsamples = 1\nseed = 9\n", 1)[0];
    let wall = number(one, "wall_ms");
    assert!((number(one, "p50_wall_ms") - wall).abs() < 0.001, "{one:?}");
    assert_eq!(one["n"], "1");
}

#[test]
fn a_quantile_without_enough_samples_is_missing() {
    let few = &cells("scenario = \"plan\"\nsamples = 98\n", 1)[0];
    assert!(!few["p95_wall_ms"].is_empty());
    assert_eq!(few["p99_wall_ms"], "");
    let enough = &cells("scenario = \"plan\"\nsamples = 99\n", 1)[0];
    assert!(!enough["p99_wall_ms"].is_empty());
}

#[test]
fn streaming_brings_the_first_word_forward_and_not_the_end() {
    let of = |shown: &str| {
        let settings = format!("scenario = \"plan\"\nsamples = 200\nanswer_shown = \"{shown}\"\n");
        cells(&settings, 2).remove(0)
    };
    let (whole, streamed) = (of("whole"), of("streamed"));
    assert_eq!(whole["p50_wall_ms"], streamed["p50_wall_ms"]);
    assert_eq!(whole["p50_first_word_ms"], whole["p50_wall_ms"]);
    assert!(number(&streamed, "p50_first_word_ms") < number(&whole, "p50_first_word_ms"));
}

#[test]
fn a_run_without_an_answer_has_no_first_word() {
    let runaway = &cells("scenario = \"runaway\"\nsamples = 200\n", 2)[0];
    assert_eq!(runaway["p50_first_word_ms"], "");
    // One of six calls is slow with 1 - 0.95^6 = 26.5 %; 200 samples are within 13 points of it.
    let slow = number(runaway, "slow_call_percent");
    assert!((slow - 26.5).abs() < 13.0, "{slow}");
}

#[test]
fn tools_at_once_take_the_longest_of_the_times_that_they_take_one_after_the_other() {
    let of = |execution: &str| {
        let settings = format!(
            "scenario = \"parallel\"\nsamples = 200\ntool_latency = \"log_normal(400ms,0.8)\"\n\
             tool_execution = \"{execution}\"\n"
        );
        cells(&settings, 2).remove(0)
    };
    let (serial, parallel) = (of("serial"), of("parallel"));
    assert_eq!(
        serial["tool_ms"], parallel["tool_ms"],
        "each takes its own time"
    );
    let saved = number(&serial, "wall_ms") - number(&parallel, "wall_ms");
    let sum = number(&serial, "tool_ms");
    assert!(
        saved > 0.0 && saved <= sum / 2.0,
        "{saved} of {sum}: the shorter of two"
    );
    assert!(number(&parallel, "p95_wall_ms") < number(&serial, "p95_wall_ms"));
    for column in ["transcript_sha256", "cost_usd", "tool_runs", "p50_call_ms"] {
        assert_eq!(serial[column], parallel[column], "{column}");
    }
}

#[test]
fn a_time_of_tools_that_is_no_distribution_is_refused() {
    let refused =
        load("[settings]\nscenario = \"plan\"\nmax_turns = 5\ntool_latency = \"normal(1ms,1)\"\n");
    let [message] = &refused.err().unwrap_or_default()[..] else {
        panic!("one problem");
    };
    assert!(message.contains("is not a distribution"), "{message}");
}

#[test]
fn samples_in_which_nothing_is_drawn_are_refused() {
    let plan = "[settings]\nscenario = \"plan\"\nmax_turns = 5\n";
    let refused = |text: &str| load(text).err().unwrap_or_default();
    assert_eq!(
        refused(&format!("{plan}samples = 10\nlatency_ms = 5\n")),
        ["samples of a run in which nothing is drawn: all are the same"]
    );
    assert_eq!(
        refused(&format!("clock = \"real\"\n{plan}samples = 10\n{LATENCY}")),
        ["samples on the real clock, which simulates nothing"]
    );
    assert_eq!(
        refused(&format!("{plan}latency = \"ttft=5ms,seed=3\"\n")),
        ["a `seed` in the line, where the cell has its own"]
    );
    let [message] = &refused(&format!("{plan}latency = \"normal(1ms,1)\"\n"))[..] else {
        panic!("one problem");
    };
    assert!(message.contains("is not a distribution"), "{message}");
}
