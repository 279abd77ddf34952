//! What ends a run, and what a reply or a tool error turns into.

use super::*;

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
