//! Calls that were started and never answered: what a run that was killed inside a tool does next.

use super::*;

/// `scenario` up to the moment in which the tool of `call_id` is about to run, as it was saved.
pub(super) fn killed_inside(scenario: &str, call_id: &str, catalog: Catalog) -> (Bench, RunState) {
    let policy = Policy {
        approval: Approval::Granted,
        ..Policy::default()
    };
    let bench = Bench {
        catalog,
        ..Bench::default()
    };
    let state = RunState::new("t", settings(policy, &cap(20)), world::SYSTEM, world::USER);
    let mut machine = Machine::new(state, &bench.catalog);
    let provider = scripted(scenario);
    let harness = Harness {
        provider: &provider,
        catalog: &bench.catalog,
        workspace: &bench.workspace,
        clock: &bench.clock,
        signal: &bench.signal,
    };
    let mut saved = None;
    let mut save = |state: &RunState| {
        saved = Some(serde_json::to_vec(state).unwrap());
        if state.in_flight.as_deref() == Some(call_id) {
            return Err(CheckpointError("killed".into()));
        }
        Ok(())
    };
    let mut watchers = Watchers::none().saved_by(&mut save);
    pollster::block_on(drive(&mut machine, harness, &mut watchers)).unwrap_err();
    drop(watchers);
    let state = serde_json::from_slice(&saved.unwrap()).unwrap();
    drop(machine);
    (bench, state)
}

fn unknown(run: &RunState) -> Option<&str> {
    match &run.interruption {
        Some(StopReason::UnknownOutcome { call_id, .. }) => Some(call_id),
        _ => None,
    }
}

#[test]
fn a_stop_that_was_pressed_before_a_call_was_started_is_obeyed_before_it() {
    let mut bench = Bench::default();
    let provider = scripted("destructive");
    let waiting = bench.run(&provider, settings(Policy::default(), &cap(20)));
    bench.signal.stop("enough");
    let stopped = bench.drive(&provider, waiting, |machine| {
        machine.approve("c2").unwrap();
    });
    let reason = StopReason::Cancelled {
        reason: "enough".to_owned(),
    };
    assert_eq!(stopped.interruption, Some(reason));
    assert_eq!((stopped.tool_runs, stopped.in_flight.as_deref()), (1, None));
    assert_eq!(bench.deleted(), Vec::<String>::new());
    bench.signal = Signal::new();
    let taken_up = bench.drive(&provider, stopped, |machine| machine.take_up().unwrap());
    assert_eq!(taken_up.status, Status::Completed);
    assert_eq!(bench.deleted(), ["access.log"]);
}

#[test]
fn a_write_that_was_started_and_not_confirmed_stops_the_run_until_a_person_settles_it() {
    let (mut bench, killed) = killed_inside("destructive", "c2", Catalog::chapter());
    let stopped = bench.drive(&scripted("destructive"), killed, |_| ());
    assert_eq!(
        (stopped.status, unknown(&stopped)),
        (Status::Interrupted, Some("c2"))
    );
    let again = bench.drive(&scripted("destructive"), stopped.clone(), |m| {
        m.take_up().unwrap();
    });
    assert_eq!(unknown(&again), Some("c2"));
    assert_eq!(bench.deleted(), Vec::<String>::new());

    let retried = bench.drive(&scripted("destructive"), stopped.clone(), |m| {
        m.retry("c2").unwrap();
    });
    assert_eq!(retried.status, Status::Completed);
    assert_eq!(bench.deleted(), ["access.log"]);

    let done = bench.drive(&scripted("destructive"), stopped, |m| {
        m.done("c2", Some("deleted access.log")).unwrap();
    });
    assert_eq!(done.messages, retried.messages);
    assert_eq!(done.in_flight, None);
    assert_eq!(bench.deleted().len(), 1, "what is done is not done again");
}

#[test]
fn a_call_that_was_done_without_a_known_result_is_told_so() {
    let (mut bench, killed) = killed_inside("destructive", "c2", Catalog::chapter());
    let done = bench.drive(&scripted("destructive"), killed, |m| {
        m.done("c2", None).unwrap();
    });
    assert_eq!(results(&done).last(), Some(&RESULT_UNKNOWN));
    assert_eq!(bench.deleted(), Vec::<String>::new());
}

#[test]
fn a_read_that_was_started_and_not_confirmed_is_run_again() {
    let (mut bench, killed) = killed_inside("plan", "c2", Catalog::chapter());
    let resumed = bench.drive(&scripted("plan"), killed, |_| ());
    let straight = run("plan", Policy::default(), &cap(20));
    assert_eq!(resumed.status, Status::Completed);
    assert_eq!(resumed.messages, straight.messages);
    assert_eq!(resumed.cost, straight.cost);
    assert_eq!(
        resumed.tool_runs,
        straight.tool_runs + 1,
        "its tool started twice"
    );
}

#[test]
fn a_write_with_an_idempotency_key_is_run_again_and_done_once() {
    for executed_before in [false, true] {
        let catalog = Catalog::chapter_with_idempotency_keys();
        let (mut bench, killed) = killed_inside("delete-twice-two-keys", "c1", catalog);
        if executed_before {
            let deleted = bench.workspace.delete_as("access.log", Some("t/c1"));
            assert_eq!(deleted.unwrap(), "access.log");
        }
        let resumed = bench.drive(&scripted("delete-twice-two-keys"), killed, |_| ());
        assert_eq!(resumed.status, Status::Completed);
        assert_eq!(results(&resumed), ["deleted access.log"; 2]);
        assert_eq!(bench.deleted().len(), 2, "one for each key");
    }
}

#[test]
fn a_write_that_a_stop_ended_may_have_been_done() {
    let parameters = serde_json::json!({"type": "object"});
    let tool = crate::tools::FnTool::new(
        ("scan_archive", "Writes until it is stopped."),
        parameters,
        crate::tools::Access::Write,
        |_| Ok("written".to_owned()),
    );
    let catalog = Catalog::new(vec![std::sync::Arc::new(tool)]).unwrap();
    let mut machine = Machine::new(
        RunState::new("t", settings(Policy::default(), &cap(20)), "", "go"),
        &catalog,
    );
    let wanted = call("c1", "scan_archive", "{}");
    machine.on_reply(reply(None, std::slice::from_ref(&wanted)), Duration::ZERO);
    machine.on_tool_start(&wanted);
    machine.on_cancelled("enough".to_owned());
    machine.take_up().unwrap();
    assert_eq!(machine.next(Duration::ZERO), Need::Nothing);
    assert_eq!(unknown(machine.state()), Some("c1"));
}

#[test]
fn a_call_of_tools_that_are_gone_is_not_answered_as_if_it_had_never_run() {
    let (_, killed) = killed_inside("destructive", "c2", Catalog::chapter());
    let none = Catalog::default();
    let mut machine = Machine::new(killed, &none);
    assert_eq!(machine.next(Duration::ZERO), Need::Nothing);
    assert_eq!(unknown(machine.state()), Some("c2"));
}

#[test]
fn settling_what_needs_no_settling_is_refused() {
    let (bench, killed) = killed_inside("destructive", "c2", Catalog::chapter());
    let mut machine = Machine::new(killed, &bench.catalog);
    for refused in [machine.retry("c1"), machine.done("c1", None)] {
        assert!(matches!(refused, Err(DecisionError::OtherCall { .. })));
    }
    machine.done("c2", None).unwrap();
    for refused in [machine.retry("c2"), machine.done("c2", None)] {
        assert_eq!(refused, Err(DecisionError::Answered("c2".to_owned())));
    }
    assert_eq!(
        machine.retry("c9"),
        Err(DecisionError::NothingToSettle("running"))
    );
    let over = run("plan", Policy::default(), &cap(20));
    let mut machine = Machine::new(over, &bench.catalog);
    assert_eq!(machine.retry("c2"), Err(DecisionError::Over("completed")));
}

#[test]
fn a_verdict_is_given_once() {
    type Verdict = fn(&mut Machine<'_>) -> Result<(), DecisionError>;
    let mut bench = Bench::default();
    let waiting = bench.run(
        &scripted("destructive"),
        settings(Policy::default(), &cap(20)),
    );
    let verdicts: [Verdict; 2] = [|m| m.approve("c2"), |m| m.reject("c2", "no")];
    for verdict in verdicts {
        let decided = bench.drive(&scripted("destructive"), waiting.clone(), |m| {
            verdict(m).unwrap();
        });
        let mut machine = Machine::new(decided, &bench.catalog);
        let answered = Err(DecisionError::Answered("c2".to_owned()));
        assert_eq!(machine.approve("c2"), answered);
        assert_eq!(machine.reject("c2", "no"), answered);
    }
}

#[test]
fn an_approval_outlives_a_crash_before_the_call_is_answered() {
    let mut bench = Bench::default();
    let waiting = bench.run(
        &scripted("destructive"),
        settings(Policy::default(), &cap(20)),
    );
    let mut machine = Machine::new(waiting, &bench.catalog);
    machine.approve("c2").unwrap();
    let approved = machine.into_state();
    let resumed = bench.drive(&scripted("destructive"), approved, |m| m.take_up().unwrap());
    assert_eq!(resumed.status, Status::Completed);
    assert_eq!(bench.deleted(), ["access.log"]);
}
