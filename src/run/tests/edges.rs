//! The edges: what is just admitted, what is told of an edit, what a verdict leaves behind.

use std::sync::Arc;

use super::started::killed_inside;
use super::*;
use crate::clock::BoxFuture;
use crate::event::{Attempt, AttemptOutcome};
use crate::pricing::{CacheTerms, CacheUnit};
use crate::provider::{ProviderContext, ProviderError, Request};
use crate::run::context::{ContextPolicy, LEFT_OUT};
use crate::tools::{Access, Tool};

/// A machine whose model has called a tool in each of so many turns, and read the results.
fn read_for(turns: usize, policy: ContextPolicy, catalog: &Catalog) -> Machine<'_> {
    let settings = RunSettings::new(price()).with_context(policy);
    let mut machine = Machine::new(RunState::new("t", settings, "", "go"), catalog);
    for turn in 0..turns {
        machine.next(Duration::ZERO);
        let wanted = call(&format!("c{turn}"), "list_files", "{}");
        machine.on_reply(reply(None, std::slice::from_ref(&wanted)), Duration::ZERO);
        let long = format!(
            "result {turn}, {}",
            "which is longer than its stand-in ".repeat(9)
        );
        machine.on_tool(&wanted, Ok(long), Duration::ZERO);
    }
    machine.next(Duration::ZERO);
    machine
}

fn sent_whole(machine: &Machine<'_>) -> Vec<bool> {
    let contents = machine.sent().iter().filter_map(|message| match message {
        Message::Tool { content, .. } => Some(content != LEFT_OUT),
        _ => None,
    });
    contents.collect()
}

fn edits(machine: &mut Machine<'_>) -> Vec<(u32, u32)> {
    let events = machine.take_events().into_iter();
    let edits = events.filter_map(|event| match event {
        Event::ContextEdited { turn, results } => Some((turn, results)),
        _ => None,
    });
    edits.collect()
}

#[test]
fn results_older_than_so_many_turns_are_left_out_and_younger_ones_are_not() {
    let catalog = Catalog::chapter();
    let mut machine = read_for(4, ContextPolicy::ElideOlder(2), &catalog);
    assert_eq!(sent_whole(&machine), [false, false, true, true]);
    // The result of turn 1 is two turns old when turn 4 is asked for.
    assert_eq!(edits(&mut machine), [(4, 1), (5, 1)]);
}

#[test]
fn an_edit_is_told_once_with_what_it_left_out_and_nothing_is_told_of_none() {
    let catalog = Catalog::chapter();
    let mut machine = read_for(4, ContextPolicy::LastResults(1), &catalog);
    assert_eq!(sent_whole(&machine), [false, false, false, true]);
    let told = edits(&mut machine);
    assert_eq!(told.iter().map(|(_, results)| results).sum::<u32>(), 3);
    assert!(told.iter().all(|(_, results)| *results == 1), "{told:?}");
}

#[test]
fn of_rows_of_equal_calls_that_are_as_long_the_first_is_the_reason() {
    let stop = [StopCondition::RepeatedCall { times: 2 }];
    let catalog = Catalog::chapter();
    let state = RunState::new("t", settings(Policy::default(), &stop), "", "go");
    let mut machine = Machine::new(state, &catalog);
    let calls = [("a", 1), ("b", 1), ("c", 2), ("d", 2)]
        .map(|(id, path)| call(id, "read_file", &format!("{{\"path\":{path}}}")));
    machine.on_reply(reply(None, &calls), Duration::ZERO);
    assert_eq!(machine.next(Duration::ZERO), Need::Nothing);
    let Some(StopReason::RepeatedCall { args, k, .. }) = &machine.state().interruption else {
        panic!("{:?}", machine.state().interruption);
    };
    assert_eq!((args.as_str(), *k), ("{\"path\":1}", 2));
}

#[test]
fn a_turn_that_fits_a_reserved_budget_to_the_last_pico_is_admitted() {
    let catalog = Catalog::chapter();
    let admits = |usd: PicoUsd| {
        let check = BudgetCheck::Reserve;
        let mut settings = settings(
            Policy::default(),
            &[StopCondition::MaxBudget { usd, check }],
        );
        settings.max_completion_tokens = Some(30);
        let mut machine = Machine::new(RunState::new("t", settings, "", "go"), &catalog);
        match machine.next(Duration::ZERO) {
            Need::Reply { prompt_tokens } => Some(prompt_tokens),
            _ => None,
        }
    };
    let prompt_tokens = admits(usd("1")).unwrap();
    let worst = price().worst_cost(prompt_tokens, 30);
    assert!(admits(worst).is_some());
    assert!(admits(worst - PicoUsd::from_pico(1)).is_none());
}

#[test]
fn a_verdict_is_used_up_by_its_call() {
    let mut bench = Bench::default();
    let waiting = bench.run(
        &scripted("destructive"),
        settings(Policy::default(), &cap(20)),
    );
    let run = bench.drive(&scripted("destructive"), waiting, |machine| {
        machine.approve("c2").unwrap();
        assert_eq!(machine.state().approved, ["c2"]);
    });
    assert_eq!(run.status, Status::Completed);
    assert_eq!(run.approved, Vec::<String>::new());
}

#[test]
fn a_call_that_is_tried_again_counts_as_approved_once() {
    let (mut bench, mut killed) = killed_inside("destructive", "c2", Catalog::chapter());
    killed.settings.policy.approval = Approval::Ask;
    for approved in [vec![], vec!["c2".to_owned()]] {
        let mut killed = killed.clone();
        killed.approved = approved;
        let mut machine = Machine::new(killed, &bench.catalog);
        machine.retry("c2").unwrap();
        assert_eq!(machine.state().approved, ["c2"]);
    }
    let run = bench.drive(&scripted("destructive"), killed, |machine| {
        machine.retry("c2").unwrap();
    });
    assert_eq!(run.status, Status::Completed, "nobody is asked again");
}

#[test]
fn a_call_in_flight_that_is_not_the_pending_one_is_not_settled() {
    let (bench, mut killed) = killed_inside("destructive", "c2", Catalog::chapter());
    killed.in_flight = Some("c7".to_owned());
    let mut machine = Machine::new(killed, &bench.catalog);
    for id in ["c2", "c7"] {
        let refused = machine.retry(id);
        assert!(
            matches!(refused, Err(DecisionError::OtherCall { .. })),
            "{id}"
        );
    }
}

/// A provider that needs two attempts for every reply.
struct Flaky(Scripted);

impl Provider for Flaky {
    fn complete<'a>(
        &'a self,
        request: Request<'a>,
        context: ProviderContext<'a>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        for number in 1..=2 {
            let (waited, took) = (Duration::ZERO, Duration::ZERO);
            let outcome = AttemptOutcome::Reset;
            context.note(Attempt {
                number,
                outcome,
                waited,
                took,
            });
        }
        self.0.complete(request, context)
    }
}

#[test]
fn attempts_on_the_wire_are_counted_apart_from_requests() {
    let run = Bench::default().run(
        &Flaky(scripted("plan")),
        settings(Policy::default(), &cap(20)),
    );
    assert_eq!((run.turns, run.requests, run.attempts), (3, 3, 6));
}

#[test]
fn no_more_is_written_to_a_cache_than_was_sent() {
    let terms = CacheTerms {
        min_tokens: 1,
        unit: CacheUnit::Blocks(1),
        ..CacheTerms::OPENAI
    };
    let run = Bench::default().run(
        &scripted("plan"),
        settings(Policy::default(), &cap(20)).with_cache(terms),
    );
    let (read, written) = (run.usage.cached_tokens, run.usage.cache_write_tokens);
    let (read, written) = (read.unwrap(), written.unwrap());
    assert!(read > 0 && written > 0);
    assert!(
        read + written <= run.usage.prompt_tokens,
        "{read} and {written}"
    );
}

#[test]
fn what_is_not_set_is_not_stored() {
    let json = serde_json::to_value(RunSettings::new(price())).unwrap();
    assert_eq!((json.get("context"), json.get("cache")), (None, None));
}

#[test]
fn a_sub_agent_writes_if_one_of_its_tools_does() {
    let access = |catalog: Catalog| {
        let provider = Arc::new(scripted("plan"));
        let names = ("ask", "Asks another.");
        let catalog = Arc::new(catalog);
        SubAgent::new(names, "", provider, catalog, RunSettings::new(price())).access()
    };
    assert_eq!(access(Catalog::chapter()), Access::Write);
    assert_eq!(access(Catalog::default()), Access::ReadOnly);
    let reader = crate::tools::FnTool::new(
        ("look", "Looks."),
        serde_json::json!({"type": "object"}),
        Access::ReadOnly,
        |_| Ok(String::new()),
    );
    let readers = Catalog::new(vec![Arc::new(reader)]).unwrap();
    assert_eq!(access(readers), Access::ReadOnly);
}

#[cfg(feature = "cli")]
#[test]
fn more_words_of_the_person_take_up_a_completed_run_and_no_other() {
    let catalog = Catalog::chapter();
    let state = RunState::new("t", settings(Policy::default(), &cap(20)), "", "go");
    let mut machine = Machine::new(state, &catalog);
    machine.on_reply(reply(Some("Done."), &[]), Duration::ZERO);
    assert_eq!(machine.state().status, Status::Completed);
    machine.on_user("And now?".to_owned());
    assert_eq!(machine.state().status, Status::Running);
    assert_eq!(machine.state().output, None);
    let last = machine.state().messages.last();
    assert!(matches!(last, Some(Message::User { content }) if content == "And now?"));
    machine.on_cancelled("enough".to_owned());
    machine.on_user("Go on.".to_owned());
    assert_eq!(machine.state().status, Status::Interrupted);
}

#[test]
fn a_trial_plays_a_scenario_with_the_chapters_tools_files_and_price() {
    let plan = || Trial::of(Scenario::builtin("plan").unwrap());
    let trial = plan()
        .catalog(Catalog::chapter())
        .files(Template::chapter())
        .policy(Policy::default())
        .prompt(world::SYSTEM, world::USER)
        .max_turns(20);
    let run = trial.run().unwrap();
    let expected = (Status::Completed, 3, 2, 815, "0.002470".to_owned());
    assert_eq!(facts(&run), expected);
    let priced = plan().catalog(Catalog::chapter()).price(price()).run();
    assert_eq!(facts(&priced.unwrap()), expected);
}
