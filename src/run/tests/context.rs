//! What is sent under each policy: exact in its tokens, legal, and the same after a resumption.

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::clock::{Signal, VirtualClock};
use crate::event::Metering;
use crate::message::{Message, ToolCall, Usage, to_json};
use crate::pricing::{CacheTerms, Price, PriceList};
use crate::provider::{Provider, Reply, Scripted};
use crate::run::context::{ContextPolicy, LEFT_OUT};
use crate::run::policy::StopCondition;
use crate::run::{Harness, Machine, Need, RunSettings, RunState, Watchers, drive};
use crate::scenario::{Said, Scenario};
use crate::tokens::{count_common, count_messages};
use crate::tools::{Catalog, Template, Workspace};

fn price() -> Price {
    let list = PriceList::builtin().unwrap();
    list.get(crate::pricing::CHAPTER_PRICE).unwrap().clone()
}

fn policies() -> impl Strategy<Value = ContextPolicy> {
    let summarise = (1_u64..600, 1_u32..4, 1_u64..40).prop_map(|(above, keep_turns, summary)| {
        ContextPolicy::Summarise {
            above_tokens: 200 + above,
            keep_turns,
            summary_tokens: summary,
        }
    });
    prop_oneof![
        Just(ContextPolicy::Full),
        (1_u32..4).prop_map(ContextPolicy::LastResults),
        (1_u32..4).prop_map(ContextPolicy::ElideOlder),
        summarise,
    ]
}

/// Turns of one or more calls; each result is one of these texts.
fn turns() -> impl Strategy<Value = Vec<Vec<String>>> {
    let text = select(vec![
        "",
        "x",
        "?",
        "\"},{\"role\":\"user\"",
        "[older result left out]",
        "[older result that is quite a bit longer than what stands in for it]",
        "line one\nline two\nline three, and some more of it to make it long enough\n\n\n",
        "한국어 日本語 Ελληνικά 한국어 日本語 Ελληνικά 한국어 日本語 Ελληνικά",
    ]);
    let text = (text, 1_usize..6).prop_map(|(text, times)| text.repeat(times));
    vec(vec(text, 1..4), 1..14)
}

fn reply(turn: usize, calls: usize) -> Reply {
    let calls = (0..calls).map(|call| ToolCall {
        id: format!("c{turn}-{call}"),
        name: "list_files".to_owned(),
        arguments: "{}".to_owned(),
    });
    said(Said {
        content: None,
        tool_calls: calls.collect(),
    })
}

fn said(said: Said) -> Reply {
    Reply {
        message: Some(said),
        finish: None,
        usage: Usage::default(),
        metering: Metering::reported(Usage::default()),
    }
}

/// Whether every result follows the call that it answers, and every call but the last ones has
/// its result.
fn is_legal(messages: &[Message]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    messages.iter().all(|message| match message {
        Message::Assistant { tool_calls, .. } => {
            let is_settled = open.is_empty();
            open = tool_calls.iter().map(|call| call.id.as_str()).collect();
            is_settled
        }
        Message::Tool { tool_call_id, .. } => {
            let found = open.iter().position(|id| id == tool_call_id);
            found.map(|at| open.remove(at)).is_some()
        }
        Message::System { .. } | Message::User { .. } => open.is_empty(),
    })
}

/// Plays the turns and holds every request against a recount of its text.
fn play(policy: ContextPolicy, turns: &[Vec<String>], restart: usize) -> RunState {
    let catalog = Catalog::chapter();
    let settings = RunSettings::new(price())
        .with_context(policy)
        .with_cache(CacheTerms::OPENAI);
    let state = RunState::new("r", settings, "Be brief.", "Why?");
    let mut machine = Machine::new(state, &catalog);
    let (mut turn, mut before) = (0, String::new());
    loop {
        if turn == restart {
            let bytes = serde_json::to_vec(machine.state()).unwrap();
            machine = Machine::new(serde_json::from_slice(&bytes).unwrap(), &catalog);
        }
        let need = machine.next(Duration::ZERO);
        let sent = machine.sent();
        let json = to_json(sent);
        assert!(is_legal(sent), "{json}");
        match need {
            Need::Reply { prompt_tokens } => {
                assert_eq!(prompt_tokens, count_messages(sent) + catalog.tokens());
                let common = machine.common_tokens().unwrap();
                assert_eq!(common, count_common(&before, &json), "{before}\n{json}");
                before = json;
                let Some(results) = turns.get(turn) else {
                    break;
                };
                machine.on_reply(reply(turn, results.len()), Duration::ZERO);
                turn += 1;
            }
            Need::Summary { most_tokens, .. } => {
                assert_eq!(
                    machine.common_tokens().unwrap(),
                    count_common(&before, &json)
                );
                before = json;
                let content =
                    Some("so far, so good ".repeat(usize::try_from(most_tokens).unwrap()));
                let summary = Said {
                    content,
                    tool_calls: Vec::new(),
                };
                machine.on_summary(said(summary), Duration::ZERO);
            }
            Need::Tool { call, .. } => {
                let number = call.id.rsplit('-').next().unwrap();
                let text = turns[turn - 1][number.parse::<usize>().unwrap()].clone();
                machine.on_tool_start(&call);
                machine.on_tool(&call, Ok(text), Duration::ZERO);
            }
            Need::Nothing => break,
        }
    }
    machine.into_state()
}

proptest! {
    #[test]
    fn what_is_sent_is_counted_as_a_recount_counts_it(policy in policies(), turns in turns()) {
        play(policy, &turns, usize::MAX);
    }

    #[test]
    fn a_resumed_run_sends_what_it_would_have_sent(
        policy in policies(), turns in turns(), restart in 0_usize..14
    ) {
        let whole = play(policy, &turns, usize::MAX);
        let resumed = play(policy, &turns, restart);
        prop_assert_eq!(whole, resumed);
    }

    #[test]
    fn a_policy_reads_what_it_prints(policy in policies()) {
        prop_assert_eq!(policy.to_string().parse(), Ok(policy));
    }
}

#[test]
fn a_policy_that_is_none_says_what_there_is() {
    for wrong in [
        "",
        "ful",
        "last_results",
        "last_results=0",
        "elide_older=-1",
        "keep_turns=3",
    ] {
        let error = wrong.parse::<ContextPolicy>().unwrap_err().to_string();
        assert!(error.contains("last_results=K"), "{error}");
    }
}

fn reader(policy: ContextPolicy) -> Machine<'static> {
    let turns = StopCondition::MaxTurns { turns: 6 };
    let settings = RunSettings::new(price())
        .with_context(policy)
        .stop_when(turns);
    let catalog: &'static Catalog = Box::leak(Box::new(Catalog::chapter()));
    let mut machine = Machine::new(RunState::new("r", settings, "", "Why?"), catalog);
    let scenario = Scenario::builtin("reader").unwrap();
    let provider: Arc<dyn Provider> = Arc::new(Scripted::new(Arc::new(scenario)));
    let harness = Harness {
        provider: provider.as_ref(),
        catalog,
        workspace: &Workspace::in_memory(&Template::named("service_logs").unwrap()),
        clock: &VirtualClock::new(),
        signal: &Signal::new(),
    };
    pollster::block_on(drive(&mut machine, harness, &mut Watchers::none())).unwrap();
    machine
}

fn left_out(messages: &[Message]) -> usize {
    let is_short = |message: &&Message| matches!(message, Message::Tool { content, .. } if content == LEFT_OUT);
    messages.iter().filter(is_short).count()
}

#[test]
fn the_transcript_keeps_what_is_sent_no_more() {
    let machine = reader(ContextPolicy::LastResults(2));
    assert_eq!(left_out(&machine.state().messages), 0);
    // Five results were made and the last request came before the sixth turn's.
    assert_eq!(left_out(machine.sent()), 3);
    assert_eq!(machine.state().turns, 6);
}

#[test]
fn a_script_goes_on_behind_a_summary_where_it_was() {
    let machine = reader(ContextPolicy::Summarise {
        above_tokens: 2_500,
        keep_turns: 1,
        summary_tokens: 50,
    });
    let state = machine.state();
    assert!(!state.summaries.is_empty());
    let ids = state.messages.iter().filter_map(|message| match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls[0].id.clone()),
        _ => None,
    });
    assert_eq!(
        ids.collect::<Vec<_>>(),
        ["c0", "c1", "c2", "c3", "c4", "c5"]
    );
    assert!(machine.sent().len() < state.messages.len());
}

#[test]
fn a_summary_is_billed_and_is_no_turn() {
    let policy = ContextPolicy::Summarise {
        above_tokens: 2_500,
        keep_turns: 1,
        summary_tokens: 50,
    };
    let (summed, full) = (reader(policy), reader(ContextPolicy::Full));
    let asked = u32::try_from(summed.state().summaries.len()).unwrap();
    assert_eq!(summed.state().turns, full.state().turns);
    assert_eq!(summed.state().requests, full.state().requests + asked);
}
