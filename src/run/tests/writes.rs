//! Who may write and how often; what is saved; runs behind tools.

use super::*;

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
