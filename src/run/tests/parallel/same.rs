//! At once and one after the other are the same but for the time, and the time is the longest.

use proptest::prelude::*;

use super::*;

/// The mean time of one turn of `k` tools whose times are drawn from `latency`, over `runs` runs.
fn mean_ms(tool_execution: ToolExecution, k: u32, (latency, runs): (&Latency, u32)) -> f64 {
    let policy = Policy {
        tool_execution,
        ..PARALLEL
    };
    let wait = Wait(ToolDefinition {
        name: "wait".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    });
    let catalog = Catalog::new(vec![Arc::new(wait)]).unwrap();
    let mut bench = Bench {
        catalog,
        ..Bench::default()
    };
    let mut all = Duration::ZERO;
    for run in 0..runs {
        let calls: Vec<_> = (0..k)
            .map(|at| {
                let us = latency.of_turn(run * k + at).as_micros();
                call(&format!("c{at}"), "wait", &format!("{{\"us\":{us}}}"))
            })
            .collect();
        bench.clock = VirtualClock::new();
        bench.run(&one_turn(&calls), settings(policy, &[]));
        all += bench.clock.now();
    }
    all.as_secs_f64() * 1_000.0 / f64::from(runs)
}

struct Wait(ToolDefinition);

impl Tool for Wait {
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
            let span = Duration::from_micros(arguments["us"].as_u64().unwrap());
            context.clock.sleep(span, context.signal).await?;
            Ok(String::new())
        })
    }
}

#[test]
fn of_exponential_tools_a_turn_takes_their_sum_or_the_mean_of_their_maximum() {
    // The maximum of k exponential times of mean m has the mean m (1 + 1/2 + … + 1/k).
    let latency = Latency::gamma(100.0, 1.0, 11).unwrap();
    for k in [2, 4, 8] {
        let harmonic: f64 = (1..=k).map(|i| 1.0 / f64::from(i)).sum();
        let serial = mean_ms(ToolExecution::Serial, k, (&latency, 1_000));
        let parallel = mean_ms(ToolExecution::Parallel, k, (&latency, 1_000));
        // Four standard errors: √k·m/√n of the sum, and at most m·√(π²/6)/√n of the maximum.
        let error = 4.0 * 100.0 / 1_000_f64.sqrt();
        let of_sum = error * f64::from(k).sqrt();
        assert!(
            (serial - 100.0 * f64::from(k)).abs() < of_sum,
            "{k}: {serial}"
        );
        assert!(
            (parallel - 100.0 * harmonic).abs() < error * 1.29,
            "{k}: {parallel}"
        );
    }
}

/// Everything that a run is but its times.
fn but_times(mut run: RunState) -> RunState {
    run.elapsed = Duration::ZERO;
    run.settings.policy.tool_execution = ToolExecution::Serial;
    run
}

fn any_call() -> impl Strategy<Value = (String, String)> {
    let ms = prop::sample::select(vec![1_u64, 2, 30, 30, 403, 404]);
    prop_oneof![
        6 => ms.prop_map(|ms| ("read".to_owned(), format!("{{\"ms\":{ms}}}"))),
        2 => prop::sample::select(vec!["access.log", "notes.txt", "nothing"])
            .prop_map(|path| ("delete_file".to_owned(), format!("{{\"path\":\"{path}\"}}"))),
        1 => Just(("list_files".to_owned(), "{}".to_owned())),
        1 => Just(("research".to_owned(), r#"{"question":"?"}"#.to_owned())),
        1 => Just(("read".to_owned(), r#"{"ms":"#.to_owned())),
        1 => Just(("nobody".to_owned(), "{}".to_owned())),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    use prop::sample::select;
    let errors = vec![ToolErrors::Worded, ToolErrors::Generic, ToolErrors::Fatal];
    let permanent = vec![PermanentErrors::Return, PermanentErrors::Stop];
    let dedupe = vec![Dedupe::Off, Dedupe::All, Dedupe::ReadOnly];
    let approval = vec![Approval::Granted, Approval::Ask];
    (
        select(errors),
        select(permanent),
        select(dedupe),
        select(approval),
    )
        .prop_map(|(tool_errors, permanent_errors, dedupe, approval)| Policy {
            tool_errors,
            permanent_errors,
            dedupe,
            approval,
            ..PARALLEL
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn at_once_is_said_done_and_billed_what_is_one_after_the_other(
        turns in prop::collection::vec(prop::collection::vec((any_call(), 0_u8..12), 1..6), 1..5),
        policy in any_policy(),
        times in 2_u32..5,
    ) {
        let mut next = 0;
        let replies = turns.iter().map(|calls| {
            let calls = calls.iter().map(|((name, arguments), chance)| {
                // Now and then an id is used again.
                next += u32::from(*chance > 0);
                call(&format!("c{next}"), name, arguments)
            });
            reply(None, &calls.collect::<Vec<_>>())
        });
        let replies: Vec<_> = replies.chain([reply(Some("done"), &[])]).collect();
        let stop = [StopCondition::RepeatedCall { times }];
        let of = |tool_execution| {
            let policy = Policy { tool_execution, ..policy };
            let mut bench = bench();
            let run = bench.run(&Recorded::new(replies.clone()), settings(policy, &stop));
            (bench.clock.now(), but_times(run), bench.deleted())
        };
        let (serial, parallel) = (of(ToolExecution::Serial), of(ToolExecution::Parallel));
        prop_assert_eq!(&serial.1, &parallel.1);
        prop_assert_eq!(&serial.2, &parallel.2);
        prop_assert!(parallel.0 <= serial.0);
    }
}
