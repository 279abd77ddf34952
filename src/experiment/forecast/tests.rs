use proptest::prelude::*;

use super::*;
use crate::document::Document;
use crate::experiment::Home;

fn experiment(text: &str) -> Experiment {
    let document = Document::parse("t.toml", &format!("title = \"t\"\nabout = \"t\"\n{text}"));
    Experiment::from_document("t", &document.unwrap(), &Home::Embedded).unwrap()
}

/// An experiment that asks a real model.
fn endpoint(settings: &str) -> Experiment {
    experiment(&format!(
        "clock = \"real\"\n[settings]\nprovider = \"endpoint\"\ntransport = \"http\"\n{settings}"
    ))
}

fn forecast(experiment: &Experiment) -> Forecast {
    experiment.rehearsal(&|| false).forecast(0).unwrap()
}

fn most(settings: &str) -> PicoUsd {
    match forecast(&endpoint(settings)).worst {
        Worst::AtMost(most) => most,
        Worst::Unbounded(missing) => panic!("unbounded: {missing}"),
    }
}

#[test]
fn a_scripted_run_is_known_to_the_last_digit() {
    let plan = experiment("[settings]\nscenario = \"plan\"\nmax_turns = 20\n");
    let Forecast {
        expected, worst, ..
    } = forecast(&plan);
    let bill: PicoUsd = "0.00247".parse().unwrap();
    assert_eq!(expected, Expected::Rehearsed(bill));
    assert_eq!(worst, Worst::AtMost(bill));
}

#[test]
fn a_scripted_run_is_rehearsed_in_process_whatever_its_wire_and_clock() {
    let timed = experiment(
        "clock = \"real\"\n[settings]\nscenario = \"archive\"\ntransport = \"http\"\n\
         max_turns = 3\nlatency_ms = 60000\n",
    );
    assert!(matches!(forecast(&timed).expected, Expected::Rehearsed(_)));
}

#[test]
fn what_a_cell_does_not_state_has_no_bound_and_is_named() {
    let missing = |settings: &str| match forecast(&endpoint(settings)).worst {
        Worst::Unbounded(missing) => missing,
        Worst::AtMost(most) => panic!("at most {most}"),
    };
    assert_eq!(
        missing("max_budget_usd = 0.01"),
        Missing::ReplyLengthAndReplies
    );
    assert_eq!(missing("max_turns = 3"), Missing::ReplyLength);
    // A budget that is compared before each turn does not bound the turn.
    let budget = "max_completion_tokens = 50\nmax_budget_usd = 0.01";
    assert_eq!(missing(budget), Missing::Replies);
    for (missing, key) in [
        (Missing::ReplyLength, "max_completion_tokens"),
        (Missing::Replies, "max_turns"),
    ] {
        assert!(missing.to_string().contains(key));
    }
}

#[test]
fn each_limit_that_a_cell_states_makes_the_bound_no_larger() {
    let turns = most("max_turns = 8\nmax_completion_tokens = 128");
    let fewer = most("max_turns = 7\nmax_completion_tokens = 128");
    let shorter = most("max_turns = 8\nmax_completion_tokens = 100");
    assert!(fewer < turns && shorter < turns);
    let budget = |check: &str| {
        most(&format!(
            "max_turns = 8\nmax_completion_tokens = 128\nmax_budget_usd = 0.01\n\
             budget_check = \"{check}\""
        ))
    };
    assert_eq!(budget("reserve").to_string(), "0.010000");
    assert!(budget("reserve") < budget("before"));
    assert!(budget("before") < budget("after"));
    assert!(budget("after") <= turns);
    let tokens = most("max_tokens = 1000\nmax_completion_tokens = 128");
    assert!(tokens < turns && tokens > PicoUsd::ZERO);
}

#[test]
fn one_turn_costs_its_prompt_and_the_longest_reply() {
    let one = most("max_turns = 1\nmax_completion_tokens = 100");
    // 204 tokens are sent first in every built-in scenario.
    assert_eq!(one.to_string(), "0.001608");
}

#[test]
fn a_command_has_neither_an_expectation_nor_a_bound() {
    let command =
        experiment("[harness]\ncommand = [\"true\"]\n[settings]\nscenario = \"any-once\"\n");
    let Forecast {
        expected, worst, ..
    } = forecast(&command);
    assert_eq!(expected, Expected::Unknown);
    assert_eq!(worst, Worst::Unbounded(Missing::Nothing));
}

#[test]
fn what_is_assumed_of_a_real_model_is_within_the_bound() {
    for turns in 1..6 {
        let limits = format!("max_turns = {turns}\nmax_completion_tokens = 60");
        let Expected::Assumed(assumed) = forecast(&endpoint(&limits)).expected else {
            panic!("not assumed");
        };
        assert!(assumed > PicoUsd::ZERO && assumed <= most(&limits));
    }
}

/// The scenarios whose replies are shorter than a hundred tokens: each could be a real model's.
const PLAYED: [&str; 6] = ["plan", "runaway", "recover", "denied", "once", "repeat"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_model_that_keeps_to_the_limits_is_dearer_than_the_bound(
        played in 0..PLAYED.len(), turns in 1_u32..40, price in 0..3_usize,
    ) {
        let price = ["chapter", "openai/gpt-5.4", "anthropic/claude-sonnet-4-5"][price];
        let limits = format!("max_turns = {turns}\nprice = \"{price}\"\n");
        let played = experiment(&format!(
            "[settings]\nscenario = \"{}\"\n{limits}", PLAYED[played]
        ));
        let Expected::Rehearsed(cost) = forecast(&played).expected else {
            panic!("not rehearsed");
        };
        let bound = most(&format!("{limits}max_completion_tokens = 100"));
        prop_assert!(cost <= bound, "{cost} is more than {bound}");
    }
}
