//! What a run does, fact by fact, over the chapter's scenarios.

use std::time::Duration;

use super::policy::{
    Approval, BudgetCheck, CancelReaches, Dedupe, PermanentErrors, Policy, StopCondition,
    ToolErrors, VerdictWording,
};
use super::*;
use crate::clock::{Clock, Signal, VirtualClock};
use crate::event::{Event, Metering, Observer};
use crate::message::{FinishReason, Message, ToolCall, Usage};
use crate::money::PicoUsd;
use crate::pricing::{CHAPTER_PRICE, Price, PriceList};
use crate::provider::{Latency, Provider, Recorded, Reply, Scripted};
use crate::scenario::{Said, Scenario};
use crate::tools::{Catalog, Template, Workspace};
use crate::world;

fn price() -> Price {
    PriceList::builtin()
        .unwrap()
        .get(CHAPTER_PRICE)
        .unwrap()
        .clone()
}

fn usd(text: &str) -> PicoUsd {
    text.parse().unwrap()
}

fn scripted(scenario: &str) -> Scripted {
    Scripted::new(Scenario::builtin(scenario).unwrap().into())
}

fn settings(policy: Policy, stop: &[StopCondition]) -> RunSettings {
    RunSettings {
        stop: stop.to_vec(),
        ..RunSettings::new(price()).with_policy(policy)
    }
}

/// A run and everything around it that a test may look at afterwards.
struct Bench {
    catalog: Catalog,
    workspace: Workspace,
    clock: VirtualClock,
    signal: Signal,
    events: Recorder,
}

#[derive(Default)]
struct Recorder(Vec<(Duration, Event)>);

impl Observer for Recorder {
    fn observe(&mut self, _run_id: &str, at: Duration, event: &Event) {
        self.0.push((at, event.clone()));
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            catalog: Catalog::chapter(),
            workspace: Workspace::in_memory(&Template::chapter()),
            clock: VirtualClock::new(),
            signal: Signal::new(),
            events: Recorder::default(),
        }
    }
}

impl Bench {
    fn drive(
        &mut self,
        provider: &dyn Provider,
        state: RunState,
        begin: impl FnOnce(&mut Machine<'_>),
    ) -> RunState {
        let mut machine = Machine::new(state, &self.catalog);
        begin(&mut machine);
        let harness = Harness {
            provider,
            catalog: &self.catalog,
            workspace: &self.workspace,
            clock: &self.clock,
            signal: &self.signal,
        };
        let mut watchers = Watchers::none().observed_by(&mut self.events);
        pollster::block_on(drive(&mut machine, harness, &mut watchers)).unwrap();
        drop(watchers);
        machine.into_state()
    }

    fn run(&mut self, provider: &dyn Provider, settings: RunSettings) -> RunState {
        let state = RunState::new("t", settings, world::SYSTEM, world::USER);
        self.drive(provider, state, |_| ())
    }

    fn deleted(&self) -> Vec<String> {
        self.workspace
            .journal()
            .unwrap()
            .into_iter()
            .map(|entry| entry.path)
            .collect()
    }
}

fn run(scenario: &str, policy: Policy, stop: &[StopCondition]) -> RunState {
    Bench::default().run(&scripted(scenario), settings(policy, stop))
}

fn cap(turns: u32) -> [StopCondition; 1] {
    [StopCondition::MaxTurns { turns }]
}

fn budget(dollars: &str, check: BudgetCheck) -> [StopCondition; 1] {
    [StopCondition::MaxBudget {
        usd: usd(dollars),
        check,
    }]
}

fn facts(run: &RunState) -> (Status, u32, u32, u64, String) {
    (
        run.status,
        run.turns,
        run.tool_runs,
        run.usage.prompt_tokens,
        run.cost.to_string(),
    )
}

#[test]
fn plan_takes_three_turns_and_a_quarter_of_a_cent() {
    let run = run("plan", Policy::default(), &cap(20));
    assert_eq!(
        facts(&run),
        (Status::Completed, 3, 2, 815, "0.002470".to_owned())
    );
    assert_eq!(run.usage.completion_tokens, 70);
    let answer = "errors.log mentions a timeout: worker 7 timed out after 30000 ms.";
    assert_eq!(run.output.as_deref(), Some(answer));
    assert_eq!(run.interruption, None);
}

#[test]
fn a_cap_of_n_turns_executes_the_tools_of_one_less() {
    let run = run("runaway", Policy::default(), &cap(8));
    assert_eq!(
        facts(&run),
        (Status::MaxTurnsExceeded, 8, 7, 3_431, "0.009070".to_owned())
    );
    assert_eq!(run.interruption, Some(StopReason::MaxTurns));
}

#[test]
fn a_capped_run_goes_on_under_a_higher_cap_as_if_it_had_never_stopped() {
    let mut bench = Bench::default();
    let mut stopped = bench.run(&scripted("runaway"), settings(Policy::default(), &cap(8)));
    stopped.settings.stop = cap(20).to_vec();
    let resumed = bench.drive(&scripted("runaway"), stopped, |machine| {
        machine.take_up().unwrap();
    });
    let straight = run("runaway", Policy::default(), &cap(20));
    assert_eq!(
        (resumed.cost, resumed.messages),
        (straight.cost, straight.messages)
    );
}

#[test]
fn a_budget_checked_before_the_call_overshoots_by_less_than_a_turn_and_after_by_less_than_two() {
    let before = run(
        "runaway",
        Policy::default(),
        &budget("0.01", BudgetCheck::Before),
    );
    assert_eq!(
        (before.status, before.cost),
        (Status::BudgetExceeded, usd("0.010780"))
    );
    let after = run(
        "runaway",
        Policy::default(),
        &budget("0.01", BudgetCheck::After),
    );
    assert_eq!(after.turns, before.turns + 1);
    assert_eq!(after.interruption, Some(StopReason::MaxBudget));
}

#[test]
fn a_reserved_budget_is_never_overshot_whatever_it_is() {
    for thousandths in 0..40 {
        let limit = PicoUsd::from_pico(thousandths * 500_000_000 + 1);
        let stop = [StopCondition::MaxBudget {
            usd: limit,
            check: BudgetCheck::Reserve,
        }];
        let mut settings = settings(Policy::default(), &stop);
        settings.max_completion_tokens = Some(30);
        let run = Bench::default().run(&scripted("runaway"), settings);
        assert_eq!(run.status, Status::BudgetExceeded);
        assert!(run.cost <= limit, "{} of {limit}", run.cost);
    }
}

#[test]
fn the_wording_of_a_tool_error_decides_whether_the_model_recovers() {
    let with = |tool_errors| {
        run(
            "recover",
            Policy {
                tool_errors,
                ..Policy::default()
            },
            &cap(12),
        )
    };
    let fatal = with(ToolErrors::Fatal);
    assert_eq!((fatal.status, fatal.turns), (Status::Failed, 1));
    assert_eq!(fatal.interruption, Some(StopReason::ToolError));
    let error = "no such file: timeout.log. Call list_files to see what exists.";
    assert_eq!(fatal.error.as_deref(), Some(error));
    let generic = with(ToolErrors::Generic);
    let gave_up = "I could not read the file, so I do not know.";
    assert_eq!(
        (generic.turns, generic.output.as_deref()),
        (2, Some(gave_up))
    );
    let worded = with(ToolErrors::Worded);
    let answer = "errors.log mentions a timeout.";
    assert_eq!((worded.turns, worded.output.as_deref()), (4, Some(answer)));
}

#[test]
fn a_permanent_error_costs_the_cap_or_stops_at_once() {
    let capped = run("denied", Policy::default(), &cap(12));
    assert_eq!(
        facts(&capped),
        (
            Status::MaxTurnsExceeded,
            12,
            11,
            7_079,
            "0.018622".to_owned()
        )
    );
    let policy = Policy {
        permanent_errors: PermanentErrors::Stop,
        ..Policy::default()
    };
    let stopped = run("denied", policy, &cap(12));
    assert_eq!(
        (stopped.status, stopped.turns, stopped.tool_runs),
        (Status::Failed, 1, 1)
    );
    assert_eq!(stopped.interruption, Some(StopReason::PermanentError));
    assert_eq!(
        stopped.error.as_deref(),
        Some("permission denied: /etc/shadow")
    );
}

#[test]
fn deduplication_saves_the_execution_and_none_of_the_money() {
    let off = run("repeat", Policy::default(), &cap(20));
    let policy = Policy {
        dedupe: Dedupe::ReadOnly,
        ..Policy::default()
    };
    let deduped = run("repeat", policy, &cap(20));
    assert_eq!((off.tool_runs, deduped.tool_runs), (2, 1));
    assert_eq!((off.cost, &off.messages), (deduped.cost, &deduped.messages));
}

fn deletions(scenario: &str, dedupe: Dedupe) -> (u32, u32, usize) {
    let mut bench = Bench {
        catalog: Catalog::chapter_with_idempotency_keys(),
        ..Bench::default()
    };
    let policy = Policy {
        dedupe,
        approval: Approval::Granted,
        ..Policy::default()
    };
    let run = bench.run(&scripted(scenario), settings(policy, &cap(20)));
    (run.turns, run.tool_runs, bench.deleted().len())
}

#[test]
fn a_write_is_deduplicated_by_arguments_or_by_key() {
    let mut bench = Bench::default();
    let policy = Policy {
        dedupe: Dedupe::All,
        approval: Approval::Granted,
        ..Policy::default()
    };
    let all = bench.run(&scripted("delete-twice"), settings(policy, &cap(20)));
    assert_eq!((all.turns, all.tool_runs, bench.deleted().len()), (3, 1, 1));
    let mut bench = Bench::default();
    let policy = Policy {
        dedupe: Dedupe::ReadOnly,
        ..policy
    };
    let reads = bench.run(&scripted("delete-twice"), settings(policy, &cap(20)));
    assert_eq!(
        (reads.turns, reads.tool_runs, bench.deleted().len()),
        (3, 2, 2)
    );
    assert_eq!(
        deletions("delete-twice-same-key", Dedupe::IdempotencyKey),
        (3, 1, 1)
    );
    assert_eq!(
        deletions("delete-twice-two-keys", Dedupe::IdempotencyKey),
        (3, 2, 2)
    );
}

fn verdict(
    wording: VerdictWording,
    decide: impl FnOnce(&mut Machine<'_>),
) -> (RunState, Vec<String>) {
    let mut bench = Bench::default();
    let policy = Policy {
        verdict_wording: wording,
        ..Policy::default()
    };
    let stopped = bench.run(&scripted("destructive"), settings(policy, &cap(20)));
    assert_eq!((stopped.status, stopped.turns), (Status::Interrupted, 2));
    assert!(
        matches!(&stopped.interruption, Some(StopReason::Approval { call_id, .. }) if call_id == "c2")
    );
    assert_eq!(bench.deleted(), Vec::<String>::new());
    let run = bench.drive(&scripted("destructive"), stopped, decide);
    let deleted = bench.deleted();
    (run, deleted)
}

#[test]
fn a_verdict_decides_and_its_wording_decides_what_the_user_is_told() {
    let (run, deleted) = verdict(VerdictWording::Reason, |m| m.approve("c2").unwrap());
    assert_eq!((run.turns, deleted), (3, vec!["access.log".to_owned()]));
    assert_eq!(
        run.output.as_deref(),
        Some("Deleted access.log to free space.")
    );
    let (run, deleted) = verdict(VerdictWording::Reason, |m| m.reject("c2", "no").unwrap());
    assert_eq!((run.turns, deleted.len()), (3, 0));
    let honest = "I did not delete anything: you declined the deletion.";
    assert_eq!(run.output.as_deref(), Some(honest));
    let (run, deleted) = verdict(VerdictWording::Empty, |m| m.reject("c2", "no").unwrap());
    assert_eq!((run.turns, deleted.len()), (3, 0));
    assert_eq!(
        run.output.as_deref(),
        Some("Deleted access.log to free space.")
    );
}

#[test]
fn verdicts_that_make_no_sense_are_refused() {
    let mut bench = Bench::default();
    let waiting = bench.run(
        &scripted("destructive"),
        settings(Policy::default(), &cap(20)),
    );
    let catalog = Catalog::chapter();
    let mut machine = Machine::new(waiting, &catalog);
    assert!(matches!(
        machine.approve("c9"),
        Err(DecisionError::OtherCall { .. })
    ));
    machine.approve("c2").unwrap();
    assert!(matches!(
        machine.approve("c2"),
        Err(DecisionError::NothingToDecide("running"))
    ));
    let done = run("plan", Policy::default(), &cap(20));
    let mut machine = Machine::new(done, &catalog);
    assert_eq!(machine.take_up(), Err(DecisionError::Over("completed")));
    assert!(machine.reject("c1", "no").is_err());
}

#[test]
fn a_run_without_a_verdict_waits_again() {
    let mut bench = Bench::default();
    let waiting = bench.run(
        &scripted("destructive"),
        settings(Policy::default(), &cap(20)),
    );
    let again = bench.drive(&scripted("destructive"), waiting, |m| m.take_up().unwrap());
    assert!(matches!(
        again.interruption,
        Some(StopReason::Approval { .. })
    ));
    assert_eq!(again.turns, 2);
}

fn cancelled(reaches: CancelReaches) -> (Status, Duration, Option<StopReason>) {
    let signal = Signal::scheduled(Duration::from_millis(1_200), "user pressed Stop");
    let mut bench = Bench {
        signal,
        ..Bench::default()
    };
    let policy = Policy {
        cancel_reaches: reaches,
        ..Policy::default()
    };
    let run = bench.run(&scripted("archive"), settings(policy, &cap(20)));
    (run.status, bench.clock.now(), run.interruption)
}

#[test]
fn stop_takes_effect_where_the_signal_reaches() {
    let reason = Some(StopReason::Cancelled {
        reason: "user pressed Stop".to_owned(),
    });
    let ms = Duration::from_millis;
    let everything = cancelled(CancelReaches::Everything);
    assert_eq!(everything, (Status::Interrupted, ms(1_200), reason.clone()));
    let provider = cancelled(CancelReaches::ProviderOnly);
    assert_eq!(provider, (Status::Interrupted, ms(3_000), reason));
    assert_eq!(
        cancelled(CancelReaches::Nothing),
        (Status::Completed, ms(3_000), None)
    );
}

#[test]
fn a_run_takes_turns_times_latency() {
    let mut bench = Bench::default();
    let provider = scripted("plan").with_latency(Latency::Constant { ms: 2_000 });
    let run = bench.run(&provider, settings(Policy::default(), &cap(20)));
    assert_eq!(run.elapsed, Duration::from_secs(6));
}

#[test]
fn tokens_time_repeats_and_predicates_of_a_user_stop_a_run() {
    let tokens = run(
        "runaway",
        Policy::default(),
        &[StopCondition::MaxTokens { tokens: 500 }],
    );
    assert_eq!((tokens.status, tokens.turns), (Status::BudgetExceeded, 2));
    assert_eq!(tokens.interruption, Some(StopReason::MaxTokens));
    let slow = scripted("runaway").with_latency(Latency::Constant { ms: 100 });
    let wall = settings(
        Policy::default(),
        &[StopCondition::MaxWall { wall_ms: 250 }],
    );
    let wall = Bench::default().run(&slow, wall);
    assert_eq!((wall.status, wall.turns), (Status::Interrupted, 3));
    let repeat = run(
        "denied",
        Policy::default(),
        &[StopCondition::RepeatedCall { times: 3 }],
    );
    assert_eq!(
        (repeat.status, repeat.turns, repeat.tool_runs),
        (Status::Interrupted, 3, 2)
    );
    let args = r#"{"path":"/etc/shadow"}"#.to_owned();
    let tool_name = "read_file".to_owned();
    assert_eq!(
        repeat.interruption,
        Some(StopReason::RepeatedCall {
            tool_name,
            args,
            k: 3
        })
    );
    let custom = settings(
        Policy::default(),
        &[StopCondition::Custom {
            name: "odd".to_owned(),
        }],
    );
    let catalog = Catalog::chapter();
    let state = RunState::new("t", custom, "", "go");
    let mut machine =
        Machine::new(state, &catalog).with_custom_stop("odd", &|run: &RunState| run.turns % 2 == 1);
    assert!(matches!(machine.next(Duration::ZERO), Need::Reply { .. }));
    machine.on_reply(
        reply(None, &[call("c1", "list_files", "{}")]),
        Duration::ZERO,
    );
    assert_eq!(machine.next(Duration::ZERO), Need::Nothing);
    let name = "odd".to_owned();
    assert_eq!(
        machine.state().interruption,
        Some(StopReason::Custom { name })
    );
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn reply(content: Option<&str>, calls: &[ToolCall]) -> Reply {
    let content = content.map(str::to_owned);
    Reply {
        message: Some(Said {
            content,
            tool_calls: calls.to_vec(),
        }),
        finish: Some(FinishReason::ToolCalls),
        usage: Usage {
            prompt_tokens: 100,
            completion_tokens: 10,
            ..Usage::default()
        },
        metering: Metering::reported(Usage::default()),
    }
}

fn results(run: &RunState) -> Vec<&str> {
    run.messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn calls_that_cannot_be_executed_are_answered_with_what_is_wrong() {
    let calls = [
        call("a", "fly", "{}"),
        call("b", "read_file", "{path}"),
        call("c", "read_file", r#"{"path":7}"#),
        call("d", "list_files", "{}"),
        call("d", "list_files", "{}"),
    ];
    let provider = Recorded::new(vec![reply(None, &calls), reply(Some("done"), &[])]);
    let run = Bench::default().run(&provider, settings(Policy::default(), &cap(5)));
    assert_eq!((run.status, run.tool_runs), (Status::Completed, 1));
    let results = results(&run);
    assert_eq!(results.len(), 5);
    assert!(
        results[0].starts_with("Error: ") && results[0].contains("fly"),
        "{}",
        results[0]
    );
    assert!(
        results[1].starts_with("Error: ") && results[1].contains("JSON"),
        "{}",
        results[1]
    );
    assert!(
        results[2].starts_with("Error: ") && results[2].contains("path"),
        "{}",
        results[2]
    );
    assert!(results[3].contains("errors.log"));
    assert!(
        results[4].starts_with("Error: call id \"d\" was used before"),
        "{}",
        results[4]
    );
}

#[test]
fn a_reply_without_a_choice_is_paid_for_and_fails_the_run() {
    let usage = Usage {
        prompt_tokens: 100,
        completion_tokens: 10,
        ..Usage::default()
    };
    let provider = Recorded::new(vec![Reply {
        message: None,
        finish: None,
        usage,
        metering: Metering::reported(usage),
    }]);
    let run = Bench::default().run(&provider, settings(Policy::default(), &cap(5)));
    assert_eq!(
        facts(&run),
        (Status::Failed, 1, 0, 100, "0.000320".to_owned())
    );
    assert_eq!(run.interruption, Some(StopReason::ProviderError));
}

#[test]
fn a_provider_that_runs_dry_fails_the_run_with_what_it_said() {
    let provider = Recorded::new(Vec::new());
    let run = Bench::default().run(&provider, settings(Policy::default(), &cap(5)));
    assert_eq!((run.status, run.turns), (Status::Failed, 0));
    assert!(run.error.unwrap().contains("0 replies"));
}

#[test]
fn a_run_restored_from_its_bytes_after_any_step_ends_as_if_nothing_had_happened() {
    let straight = run("recover", Policy::default(), &cap(12));
    let mut saved = Vec::new();
    let catalog = Catalog::chapter();
    let workspace = Workspace::in_memory(&Template::chapter());
    let state = RunState::new(
        "t",
        settings(Policy::default(), &cap(12)),
        world::SYSTEM,
        world::USER,
    );
    let mut machine = Machine::new(state, &catalog);
    let provider = scripted("recover");
    let (clock, signal) = (VirtualClock::new(), Signal::new());
    let harness = Harness {
        provider: &provider,
        catalog: &catalog,
        workspace: &workspace,
        clock: &clock,
        signal: &signal,
    };
    let mut save = |state: &RunState| {
        saved.push(serde_json::to_vec(state).unwrap());
        Ok(())
    };
    let mut watchers = Watchers::none().saved_by(&mut save);
    pollster::block_on(drive(&mut machine, harness, &mut watchers)).unwrap();
    drop(watchers);
    assert_eq!(
        saved.len(),
        4 + 3 * 2,
        "each reply, each tool's start and end"
    );
    for bytes in saved {
        let restored: RunState = serde_json::from_slice(&bytes).unwrap();
        let resumed = match restored.status {
            Status::Running => Bench::default().drive(&scripted("recover"), restored, |_| ()),
            _ => restored,
        };
        assert_eq!(resumed.messages, straight.messages);
        assert_eq!(
            (resumed.cost, resumed.turns),
            (straight.cost, straight.turns)
        );
    }
}

#[test]
fn a_run_that_cannot_be_saved_does_not_go_on() {
    let catalog = Catalog::chapter();
    let state = RunState::new("t", settings(Policy::default(), &cap(12)), "", "go");
    let mut machine = Machine::new(state, &catalog);
    let provider = scripted("runaway");
    let harness = Harness {
        provider: &provider,
        catalog: &catalog,
        workspace: &Workspace::in_memory(&Template::chapter()),
        clock: &VirtualClock::new(),
        signal: &Signal::new(),
    };
    let mut full = |_: &RunState| Err(CheckpointError("the disk is full".into()));
    let mut watchers = Watchers::none().saved_by(&mut full);
    let driven = pollster::block_on(drive(&mut machine, harness, &mut watchers));
    assert!(driven.is_err());
    assert_eq!((machine.state().turns, machine.state().tool_runs), (1, 0));
}

#[test]
fn a_sub_agent_has_its_own_transcript_and_a_bill_apart() {
    let child_settings = settings(
        Policy::default(),
        &[
            StopCondition::MaxTurns { turns: 6 },
            StopCondition::MaxBudget {
                usd: usd("0.05"),
                check: BudgetCheck::Before,
            },
        ],
    );
    let research = SubAgent::new(
        (
            "research",
            "Investigate one question and return a short summary.",
        ),
        "You investigate one question.",
        std::sync::Arc::new(scripted("research")),
        std::sync::Arc::new(Catalog::chapter()),
        child_settings,
    );
    let catalog = Catalog::chapter()
        .with(std::sync::Arc::new(research))
        .unwrap();
    let mut bench = Bench {
        catalog,
        ..Bench::default()
    };
    let run = bench.run(&scripted("delegate"), settings(Policy::default(), &cap(20)));
    assert_eq!(run.status, Status::Completed);
    assert_eq!(run.children.runs, 1);
    assert!(run.children.turns > 1 && run.children.cost > PicoUsd::ZERO);
    assert_eq!(run.tree_cost(), run.cost + run.children.cost);
    assert_eq!(results(&run).len(), 1, "the parent reads only the summary");
}

#[test]
fn a_stop_ends_the_whole_tree() {
    let research = SubAgent::new(
        ("research", "Investigate."),
        "",
        std::sync::Arc::new(scripted("archive")),
        std::sync::Arc::new(Catalog::chapter()),
        settings(Policy::default(), &cap(6)),
    );
    let catalog = Catalog::chapter()
        .with(std::sync::Arc::new(research))
        .unwrap();
    let signal = Signal::scheduled(Duration::from_millis(700), "enough");
    let mut bench = Bench {
        catalog,
        signal,
        ..Bench::default()
    };
    let run = bench.run(&scripted("delegate"), settings(Policy::default(), &cap(20)));
    assert_eq!(run.status, Status::Interrupted);
    assert_eq!(run.elapsed, Duration::from_millis(700));
    assert_eq!((run.children.runs, run.children.turns), (1, 1));
}

#[test]
fn the_trace_of_progress_shows_when_it_happened() {
    let mut bench = Bench::default();
    bench.run(&scripted("archive"), settings(Policy::default(), &cap(20)));
    let progress: Vec<_> = bench
        .events
        .0
        .iter()
        .filter_map(|(at, event)| match event {
            Event::ToolProgress { label, .. } => Some((at.as_millis(), label.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(progress[0], (500, "scanned 200 of 1200 files"));
    assert_eq!(progress[1], (1_000, "scanned 400 of 1200 files"));
    assert_eq!(progress.len(), 6);
}

#[test]
fn a_capped_completion_breaks_off_and_is_never_longer_than_the_cap() {
    for most in 1..40 {
        let mut settings = settings(Policy::default(), &cap(3));
        settings.max_completion_tokens = Some(most);
        let mut bench = Bench::default();
        let run = bench.run(&scripted("once"), settings);
        for (_, event) in &bench.events.0 {
            if let Event::Turn { usage, .. } = event {
                assert!(usage.completion_tokens <= most, "{usage:?} over {most}");
            }
        }
        assert_ne!(run.status, Status::Running);
    }
}
