//! A recorded run replayed under a limit is what the run would have been under that limit: the
//! scripted model says what it would have said, so both can be had.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::clock::{Signal, VirtualClock};
use crate::message::{Usage, to_json};
use crate::money::PicoUsd;
use crate::pricing::{CHAPTER_PRICE, Price, PriceList};
use crate::provider::Scripted;
use crate::record::{Import, Recording, SuccessMark};
use crate::run::policy::{Approval, BudgetCheck, Dedupe, Policy, StopCondition};
use crate::run::{Harness, Machine, RunSettings, RunState, Watchers, drive};
use crate::scenario::Scenario;
use crate::tools::{Catalog, Template, Workspace};
use crate::world;

/// Long enough to be without a limit here.
const LONG: u32 = 40;
const COMPLETION_CAP: u64 = 64;

fn price() -> Price {
    let prices = PriceList::builtin().unwrap();
    prices.get(CHAPTER_PRICE).unwrap().clone()
}

/// The run of a scenario in a case.
fn real(scenario: &str, case: &Case) -> RunState {
    let mut settings = RunSettings::new(price());
    settings.policy.approval = Approval::Granted;
    settings.max_completion_tokens = Some(COMPLETION_CAP);
    let settings = case
        .apply(settings)
        .stop_when(StopCondition::MaxTurns { turns: LONG });
    let state = RunState::new("real", settings, world::SYSTEM, world::USER);
    let catalog = Catalog::chapter();
    let mut machine = Machine::new(state, &catalog);
    let files = match scenario {
        "reader" => Template::named("service_logs").unwrap(),
        _ => Template::chapter(),
    };
    let scenario = Scenario::builtin(scenario).unwrap();
    let harness = Harness {
        provider: &Scripted::new(Arc::new(scenario)),
        catalog: &catalog,
        workspace: &Workspace::in_memory(&files),
        clock: &VirtualClock::new(),
        signal: &Signal::new(),
    };
    pollster::block_on(drive(&mut machine, harness, &mut Watchers::none())).unwrap();
    machine.into_state()
}

fn import(lines: &str) -> Vec<Recording> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.jsonl");
    std::fs::write(&path, lines).unwrap();
    let import = Import {
        files: vec![path],
        format: None,
        success: SuccessMark::Usual,
    };
    let mut recordings = Vec::new();
    let mut watch = |_: crate::record::Seen<'_>| ControlFlow::Continue(());
    let read = import.each(&mut watch, |one| one, |one| recordings.push(one));
    assert_eq!(read.unwrap().skipped, 0);
    recordings
}

/// The record of a scenario's run without limits.
fn recorded(scenario: &str) -> Recording {
    let run = real(scenario, &Case::default());
    let tools = Catalog::chapter().definitions().to_vec();
    let line = json!({"messages": run.messages, "tools": tools});
    import(&to_json(&line)).remove(0)
}

fn sweep(cases: Vec<Case>) -> Sweep {
    let read_only = ["list_files", "read_file", "scan_archive"].map(str::to_owned);
    let marks = Marks::new(PERMANENT, &read_only).unwrap();
    Sweep::new(cases, (price(), Some(COMPLETION_CAP)), marks).unwrap()
}

/// The figures of a replay and of the real run, which have to be the same.
fn both(scenario: &str, setting: Setting) -> [(u64, u64, u64, PicoUsd, u64); 2] {
    let case = cases(&[vec![setting]], false).remove(0);
    let run = real(scenario, &case);
    let replays = sweep(vec![case]).replay(&recorded(scenario));
    let mut report = sweep(cases(&[vec![setting]], false)).report();
    report.add(&replays);
    let tally = report.cases[0].1;
    [
        (
            tally.turns,
            tally.usage.prompt_tokens,
            tally.usage.completion_tokens,
            tally.cost,
            tally.tool_runs,
        ),
        (
            u64::from(run.turns),
            run.usage.prompt_tokens,
            run.usage.completion_tokens,
            run.cost,
            u64::from(run.tool_runs),
        ),
    ]
}

const SCENARIOS: &[&str] = &[
    "plan",
    "runaway",
    "recover",
    "denied",
    "once",
    "repeat",
    "destructive",
    "delete-twice",
    "archive",
    "parallel",
];

#[test]
fn a_replay_without_limits_is_the_recorded_run() {
    for scenario in SCENARIOS {
        let [replayed, run] = both(scenario, Setting::MaxTurns(1_000));
        assert_eq!(replayed, run, "{scenario}");
    }
}

#[test]
fn a_replay_under_a_policy_is_the_run_under_that_policy() {
    let policies = [
        Setting::Dedupe(Dedupe::Off),
        Setting::Dedupe(Dedupe::All),
        Setting::Dedupe(Dedupe::ReadOnly),
        Setting::Dedupe(Dedupe::IdempotencyKey),
        Setting::PermanentErrorStop,
        Setting::RepeatedCall(2),
        Setting::RepeatedCall(3),
    ];
    for setting in policies {
        for scenario in SCENARIOS {
            let [replayed, run] = both(scenario, setting);
            assert_eq!(replayed, run, "{scenario} {setting:?}");
        }
    }
}

/// The usage, where to say that nothing was cached is to say nothing.
fn said(usage: Usage) -> Usage {
    Usage {
        cached_tokens: usage.cached_tokens.filter(|tokens| *tokens > 0),
        ..usage
    }
}

#[test]
fn a_replay_with_other_messages_sent_is_the_run_that_sends_them() {
    let policies = [
        "full",
        "last_results=1",
        "last_results=4",
        "elide_older=2",
        "summarise_above=6000,keep_turns=2,summary_tokens=120",
        "summarise_above=300,keep_turns=1,summary_tokens=20",
    ];
    let caches = ["openai", "anthropic", "anthropic_1h"];
    let policies = policies.map(|text| Setting::Context(text.parse().unwrap()));
    let caches = caches.map(|text| Setting::Cache(text.parse().unwrap()));
    let crossed = cases(&[policies.to_vec(), caches.to_vec()], true);
    let alone = cases(&[policies.to_vec(), caches.to_vec()], false);
    for scenario in ["reader", "runaway", "plan", "parallel"] {
        let recording = recorded(scenario);
        for case in crossed.iter().chain(&alone) {
            let sweep = sweep(vec![case.clone()]);
            let mut report = sweep.report();
            report.add(&sweep.replay(&recording));
            let (run, tally) = (real(scenario, case), report.cases[0].1);
            assert_eq!(said(tally.usage), said(run.usage), "{scenario} {case}");
            assert_eq!(tally.cost, run.cost, "{scenario} {case}");
            let cut = report.cases[0].1.changed > 0;
            let is_edited = run.usage.prompt_tokens != report.recorded.usage.prompt_tokens;
            assert_eq!(cut, is_edited, "{scenario} {case}");
        }
    }
}

#[test]
fn a_model_that_needs_what_is_left_out_answers_otherwise_and_the_replay_says_that_it_may() {
    let setting = Setting::Context("last_results=1".parse().unwrap());
    let [replayed, run] = both("recover", setting);
    assert_ne!(replayed, run);
    let sweep = sweep(cases(&[vec![setting]], false));
    let mut report = sweep.report();
    report.add(&sweep.replay(&recorded("recover")));
    assert_eq!(report.cases[0].1.changed, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_replay_under_a_limit_is_the_run_under_that_limit(
        scenario in proptest::sample::select(SCENARIOS),
        turns in 1_u32..LONG,
        microdollars in 1_i64..60_000,
        tokens in 1_u64..50_000,
    ) {
        let usd = PicoUsd::from_pico(microdollars * 1_000_000);
        for setting in [
            Setting::MaxTurns(turns),
            Setting::Budget(usd, BudgetCheck::Before),
            Setting::Budget(usd, BudgetCheck::After),
            Setting::Budget(usd, BudgetCheck::Reserve),
            Setting::TotalTokens(tokens),
        ] {
            let [replayed, run] = both(scenario, setting);
            prop_assert_eq!(replayed, run, "{} {:?}", scenario, setting);
        }
    }
}

/// One run of each line, in every case.
fn tallies(lines: &str, axes: &[Vec<Setting>]) -> Report {
    let sweep = sweep(cases(axes, false));
    let mut report = sweep.report();
    for recording in import(lines) {
        report.add(&sweep.replay(&recording));
    }
    report
}

/// A conversation of so many calls with these results, and an answer.
fn talk(reward: u8, results: &[&str]) -> String {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for (at, result) in results.iter().enumerate() {
        let call = json!({"id": format!("c{at}"), "type": "function",
            "function": {"name": "look", "arguments": "{}"}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": result}));
    }
    messages.push(json!({"role": "assistant", "content": "done"}));
    json!({"reward": reward, "messages": messages}).to_string() + "\n"
}

#[test]
fn a_conversation_of_several_questions_is_one_run_and_may_be_cut_between_two_of_them() {
    let said = |role: &str| json!({"role": role, "content": "x"});
    let messages = [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ];
    let line = json!({"reward": 1, "messages": messages.map(said)}).to_string();
    let caps = (1..=4).map(Setting::MaxTurns).collect();
    let report = tallies(&line, &[caps]);
    assert_eq!(report.recorded.turns, 3);
    let kept: Vec<_> = report
        .cases
        .iter()
        .map(|(_, tally)| (tally.turns, tally.cut, tally.successes_kept))
        .collect();
    assert_eq!(kept, [(1, 1, 0), (2, 1, 0), (3, 0, 1), (3, 0, 1)]);
}

#[test]
fn a_run_that_ends_on_a_call_with_a_result_needs_room_for_one_more_turn() {
    let all = talk(1, &["a", "b"]);
    let without_answer = all.replace(r#",{"role":"assistant","content":"done"}"#, "");
    assert_ne!(all, without_answer);
    let caps = vec![Setting::MaxTurns(2), Setting::MaxTurns(3)];
    let report = tallies(&without_answer, &[caps]);
    let cut: Vec<_> = report
        .cases
        .iter()
        .map(|(_, tally)| (tally.cut, tally.tool_runs))
        .collect();
    assert_eq!((report.recorded.turns, cut), (2, vec![(1, 1), (0, 2)]));
}

#[test]
fn a_call_that_would_have_been_answered_with_another_text_is_told() {
    let lines = talk(1, &["a", "a"]) + &talk(1, &["a", "b", "b"]);
    let report = tallies(&lines, &[vec![Setting::Dedupe(Dedupe::All)]]);
    let tally = report.cases[0].1;
    assert_eq!((tally.changed, tally.cut, tally.tool_runs), (1, 0, 2));
    assert_eq!(report.repeated.repeated, 3);
    assert_eq!(report.runs_with_repeats, 2);
    assert_eq!(report.repeated.in_a_row, 3);
}

#[test]
fn the_cheapest_is_the_one_that_keeps_enough_for_the_least() {
    let mut lines = String::new();
    for turns in 1..=10 {
        // Distinct, so that no line repeats another.
        let results = vec!["x"; turns];
        lines += &talk(u8::from(turns <= 9), &results);
    }
    let caps = (1..=12).map(Setting::MaxTurns).collect();
    let report = tallies(&lines, &[caps, vec![Setting::Dedupe(Dedupe::All)]]);
    let found = |keep| -> Vec<Option<String>> {
        let cheapest = report.cheapest(keep).into_iter();
        let found = cheapest.map(|one| one.found.map(|(case, _)| case.to_string()));
        found.collect()
    };
    // Nine successes of 2 to 10 turns; 99 % of nine are all of them, 85 % are eight.
    assert_eq!(found(990), [Some("max_turns=10".to_owned())]);
    assert_eq!(found(850), [Some("max_turns=9".to_owned())]);
    assert_eq!(found(0), [Some("max_turns=1".to_owned())]);
    let short = tallies(&lines, &[vec![Setting::MaxTurns(2)]]);
    assert_eq!(short.cheapest(990)[0].found, None);
    let unmarked = lines.replace("\"reward\"", "\"grade\"");
    let unmarked = tallies(&unmarked, &[vec![Setting::MaxTurns(2)]]);
    assert!(unmarked.cheapest(990).is_empty());
    assert_eq!(unmarked.recorded.marked, 0);
}

#[test]
fn an_error_in_passing_is_not_permanent_and_neither_is_a_text_about_errors() {
    let stop = || vec![Setting::PermanentErrorStop];
    let cut = |result: &str| tallies(&talk(1, &[result, "b"]), &[stop()]).cases[0].1.cut;
    assert_eq!(cut("Error: permission denied: /etc/shadow"), 1);
    assert_eq!(cut("error 403 Forbidden"), 1);
    assert_eq!(cut("Error: no such file"), 0);
    assert_eq!(cut("errors.log says: permission denied"), 0);
    assert_eq!(cut("permission denied is what the log says"), 0);
}

#[test]
fn policies_that_nothing_is_known_about_are_the_default() {
    assert_eq!(
        Case::default().apply(RunSettings::new(price())).policy,
        Policy::default()
    );
}
