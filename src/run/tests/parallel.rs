//! Calls of one turn at the same time: who runs with whom, what it changes, and how long it takes.

mod same;

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::*;
use crate::clock::{BoxFuture, RealClock};
use crate::message::ToolDefinition;
use crate::tools::{Access, Repeat, Tool, ToolContext, ToolError, ToolFailure};

/// Reads for so many milliseconds, says when it is half done, and answers with them. 404 is not
/// there, and 403 is forbidden.
struct Read(ToolDefinition);

impl Tool for Read {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move {
            let ms = arguments["ms"].as_u64().unwrap();
            let half = Duration::from_millis(ms) / 2;
            context.clock.sleep(half, context.signal).await?;
            context.progress(&format!("half of {ms}"));
            context.clock.sleep(half, context.signal).await?;
            match ms {
                404 => Err(ToolError::recoverable("not there").into()),
                403 => Err(ToolError::permanent("forbidden").into()),
                _ => Ok(format!("read for {ms} ms")),
            }
        })
    }
}

fn read() -> Read {
    Read(ToolDefinition {
        name: "read".to_owned(),
        description: String::new(),
        parameters: json!({
            "type": "object",
            "properties": { "ms": { "type": "integer" } },
            "required": ["ms"],
        }),
    })
}

/// `read`, the chapter's tools, and a sub-agent that reads.
fn catalog() -> Catalog {
    static ALL: LazyLock<Catalog> = LazyLock::new(all_tools);
    ALL.clone()
}

fn all_tools() -> Catalog {
    let child = SubAgent::new(
        ("research", ""),
        "",
        Arc::new(scripted("plan").with_latency(Latency::Constant { ms: 100 })),
        Arc::new(
            Catalog::chapter()
                .subset(&["list_files", "read_file"])
                .unwrap(),
        ),
        settings(Policy::default(), &cap(6)),
    );
    let catalog = Catalog::chapter().with(Arc::new(read())).unwrap();
    catalog.with(Arc::new(child)).unwrap()
}

fn bench() -> Bench {
    Bench {
        catalog: catalog(),
        ..Bench::default()
    }
}

const PARALLEL: Policy = Policy {
    tool_errors: ToolErrors::Worded,
    permanent_errors: PermanentErrors::Return,
    dedupe: Dedupe::Off,
    approval: Approval::Granted,
    verdict_wording: VerdictWording::Reason,
    cancel_reaches: CancelReaches::Everything,
    tool_execution: ToolExecution::Parallel,
};

fn reads(id: &str, ms: u64) -> ToolCall {
    call(id, "read", &format!("{{\"ms\":{ms}}}"))
}

fn delete(id: &str, path: &str) -> ToolCall {
    call(id, "delete_file", &format!("{{\"path\":\"{path}\"}}"))
}

/// One turn with these calls, and an answer.
fn one_turn(calls: &[ToolCall]) -> Recorded {
    Recorded::new(vec![reply(None, calls), reply(Some("done"), &[])])
}

/// The ids of the calls that run first, under `settings`.
fn first_group(settings: RunSettings, calls: &[ToolCall]) -> Vec<String> {
    first_group_of(&catalog(), settings, calls)
}

fn first_group_of(catalog: &Catalog, settings: RunSettings, calls: &[ToolCall]) -> Vec<String> {
    let mut machine = Machine::new(RunState::new("t", settings, "", "go"), catalog);
    machine.on_reply(reply(None, calls), Duration::ZERO);
    match machine.next(Duration::ZERO) {
        Need::Tool { call, beside, .. } => {
            let beside = beside.into_iter().map(|(call, _)| call.id);
            [vec![call.id], beside.collect()].concat()
        }
        _ => Vec::new(),
    }
}

fn grouped(policy: Policy, calls: &[ToolCall]) -> Vec<String> {
    first_group(settings(policy, &[]), calls)
}

#[test]
fn reads_side_by_side_run_at_once_and_answer_in_the_order_of_the_calls() {
    let mut bench = bench();
    let calls = [reads("a", 300), reads("b", 100), reads("c", 900)];
    let run = bench.run(&one_turn(&calls), settings(PARALLEL, &[]));
    assert_eq!(
        results(&run),
        ["read for 300 ms", "read for 100 ms", "read for 900 ms"]
    );
    assert_eq!((run.status, run.tool_runs), (Status::Completed, 3));
    assert_eq!(bench.clock.now(), Duration::from_millis(900));
    let spans = bench.events.0.iter().filter_map(|(at, event)| match event {
        Event::ToolResult { took, .. } => Some((at.as_millis(), took.as_millis())),
        _ => None,
    });
    assert_eq!(
        spans.collect::<Vec<_>>(),
        [(900, 300), (900, 100), (900, 900)],
        "each takes its own time, and all are known at the end"
    );
    let progress = bench.events.0.iter().filter_map(|(at, event)| match event {
        Event::ToolProgress { label, .. } => Some((at.as_millis(), label.as_str())),
        _ => None,
    });
    assert_eq!(
        progress.collect::<Vec<_>>(),
        [
            (50, "half of 100"),
            (150, "half of 300"),
            (450, "half of 900")
        ],
        "progress is told in the order of time"
    );
}

#[test]
fn without_the_policy_every_call_runs_alone() {
    let calls = [reads("a", 300), reads("b", 100)];
    assert_eq!(grouped(Policy::default(), &calls), ["a"]);
    let mut bench = bench();
    bench.run(&one_turn(&calls), settings(Policy::default(), &[]));
    assert_eq!(bench.clock.now(), Duration::from_millis(400));
}

/// `read`, as it says of itself.
struct Odd(Read, Access, Repeat, bool);

impl Tool for Odd {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    fn access(&self) -> Access {
        self.1
    }

    fn repeat(&self, _arguments: &Value) -> Repeat {
        self.2
    }

    fn needs_approval(&self) -> bool {
        self.3
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        self.0.run(arguments, context)
    }
}

#[test]
fn a_tool_runs_beside_others_if_it_reads_and_may_be_repeated_and_asks_nobody() {
    let calls = [reads("a", 300), reads("b", 100)];
    for (access, repeat, asks, at_once) in [
        (Access::ReadOnly, Repeat::Harmless, false, 2),
        (Access::Write, Repeat::Harmless, false, 1),
        (Access::ReadOnly, Repeat::Unsafe, false, 1),
        (Access::ReadOnly, Repeat::Harmless, true, 1),
    ] {
        let odd = Arc::new(Odd(read(), access, repeat, asks));
        let catalog = Catalog::chapter().with(odd).unwrap();
        let group = first_group_of(&catalog, settings(PARALLEL, &[]), &calls);
        assert_eq!(group.len(), at_once, "{access:?} {repeat:?} {asks}");
    }
}

#[test]
fn a_call_that_writes_or_asks_runs_alone_and_nothing_overtakes_it() {
    let calls = [
        reads("a", 300),
        reads("b", 200),
        delete("w", "access.log"),
        reads("c", 100),
        reads("d", 50),
    ];
    assert_eq!(grouped(PARALLEL, &calls), ["a", "b"]);
    assert_eq!(grouped(PARALLEL, &calls[2..]), ["w"]);
    let mut bench = bench();
    let mut in_flight = Vec::new();
    let catalog = std::mem::take(&mut bench.catalog);
    let state = RunState::new("t", settings(PARALLEL, &[]), "", "go");
    let mut machine = Machine::new(state, &catalog);
    let provider = one_turn(&calls);
    let harness = Harness {
        provider: &provider,
        catalog: &catalog,
        workspace: &bench.workspace,
        clock: &bench.clock,
        signal: &bench.signal,
    };
    let mut save = |state: &RunState| {
        in_flight.extend(state.in_flight.clone());
        Ok(())
    };
    let mut watchers = Watchers::none().saved_by(&mut save);
    pollster::block_on(drive(&mut machine, harness, &mut watchers)).unwrap();
    drop(watchers);
    assert_eq!(in_flight, ["w"], "only a write is ever of unknown outcome");
    assert_eq!(bench.clock.now(), Duration::from_millis(300 + 100));
    assert_eq!(bench.deleted(), ["access.log"]);
}

#[test]
fn a_call_that_is_answered_without_its_tool_ends_the_group() {
    let refused = [
        call("x", "read", "{}"),
        call("x", "nobody", "{}"),
        call("a", "read", r#"{"ms":5}"#),
    ];
    for refused in refused {
        let calls = [reads("a", 3), reads("b", 2), refused, reads("c", 1)];
        assert_eq!(grouped(PARALLEL, &calls), ["a", "b"]);
        let run = bench().run(&one_turn(&calls), settings(PARALLEL, &[]));
        assert_eq!((run.tool_runs, results(&run).len()), (3, 4));
    }
}

#[test]
fn a_repeated_call_waits_for_the_result_that_may_answer_it() {
    let calls = [
        reads("a", 300),
        reads("b", 300),
        reads("c", 404),
        reads("d", 404),
    ];
    assert_eq!(grouped(PARALLEL, &calls), ["a", "b", "c", "d"]);
    let policy = Policy {
        dedupe: Dedupe::ReadOnly,
        ..PARALLEL
    };
    assert_eq!(grouped(policy, &calls), ["a"]);
    let mut bench = bench();
    let run = bench.run(&one_turn(&calls), settings(policy, &[]));
    assert_eq!(run.tool_runs, 3, "an error is not remembered, so `d` runs");
    let expected = ["read for 300 ms", "read for 300 ms"];
    assert_eq!(results(&run)[..2], expected);
    assert_eq!(bench.clock.now(), Duration::from_millis(300 + 404 + 404));
}

#[test]
fn where_a_result_can_end_the_run_calls_wait_for_it() {
    let calls = [reads("a", 403), reads("b", 1)];
    let fatal = Policy {
        tool_errors: ToolErrors::Fatal,
        ..PARALLEL
    };
    let stops = Policy {
        permanent_errors: PermanentErrors::Stop,
        ..PARALLEL
    };
    for policy in [fatal, stops] {
        assert_eq!(grouped(policy, &calls), ["a"]);
        let run = bench().run(&one_turn(&calls), settings(policy, &[]));
        assert_eq!((run.status, run.tool_runs), (Status::Failed, 1));
    }
    let looks = StopCondition::Custom {
        name: "looks at the results".to_owned(),
    };
    assert_eq!(first_group(settings(PARALLEL, &[looks]), &calls), ["a"]);
}

#[test]
fn stop_ends_all_that_run_and_what_was_read_behind_it_is_read_again() {
    let calls = [reads("a", 100), reads("b", 900), reads("c", 50)];
    let mut bench = Bench {
        signal: Signal::scheduled(Duration::from_millis(200), "enough"),
        ..bench()
    };
    let provider = one_turn(&calls);
    let stopped = bench.run(&provider, settings(PARALLEL, &[]));
    let reason = "enough".to_owned();
    assert_eq!(stopped.interruption, Some(StopReason::Cancelled { reason }));
    assert_eq!(bench.clock.now(), Duration::from_millis(200));
    assert_eq!(results(&stopped), ["read for 100 ms"]);
    assert_eq!((stopped.tool_runs, stopped.in_flight.clone()), (3, None));
    bench.signal = Signal::new();
    let resumed = bench.drive(&provider, stopped, |m| m.take_up().unwrap());
    assert_eq!(
        results(&resumed),
        ["read for 100 ms", "read for 900 ms", "read for 50 ms"]
    );
    assert_eq!((resumed.status, resumed.tool_runs), (Status::Completed, 5));
}

#[test]
fn sub_agents_that_read_run_at_once_and_their_bills_are_added() {
    let calls = [
        call("a", "research", r#"{"question":"one"}"#),
        call("b", "research", r#"{"question":"two"}"#),
    ];
    let of = |policy| {
        let mut bench = bench();
        let run = bench.run(&one_turn(&calls), settings(policy, &[]));
        (bench.clock.now(), run.children, results(&run).join("\n"))
    };
    let (serial, parallel) = (of(Policy::default()), of(PARALLEL));
    assert_eq!((parallel.1.runs, parallel.1), (2, serial.1));
    assert_eq!(parallel.2, serial.2);
    assert_eq!(parallel.0 * 2, serial.0);
}

#[test]
fn a_state_without_the_setting_is_serial_and_a_serial_one_does_not_write_it() {
    let written = serde_json::to_value(Policy::default()).unwrap();
    assert_eq!(written.get("tool_execution"), None);
    assert_eq!(
        serde_json::from_value::<Policy>(written).unwrap(),
        Policy::default()
    );
    let written = serde_json::to_value(PARALLEL).unwrap();
    assert_eq!(written["tool_execution"], "parallel");
    assert_eq!(serde_json::from_value::<Policy>(written).unwrap(), PARALLEL);
}

#[tokio::test(flavor = "current_thread")]
async fn on_the_machines_clock_tools_wait_at_the_same_time_and_a_press_ends_them_all() {
    let (catalog, provider) = (
        catalog(),
        one_turn(&[reads("a", 60_000), reads("b", 60_000)]),
    );
    let state = RunState::new("t", settings(PARALLEL, &[]), "", "go");
    let mut machine = Machine::new(state, &catalog);
    let (signal, clock) = (Signal::new(), RealClock::starting_at(Duration::ZERO));
    let harness = Harness {
        provider: &provider,
        catalog: &catalog,
        workspace: &Workspace::in_memory(&Template::chapter()),
        clock: &clock,
        signal: &signal,
    };
    let mut watchers = Watchers::none();
    let (driven, ()) = tokio::join!(drive(&mut machine, harness, &mut watchers), async {
        signal.stop("enough");
    });
    driven.unwrap();
    assert_eq!(machine.state().tool_runs, 2, "both were started");
    assert!(results(machine.state()).is_empty());
    assert_eq!(machine.state().status, Status::Interrupted);
}
