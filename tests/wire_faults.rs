//! Every fault of the scripted endpoint against our own client: each ends the run in its exit,
//! with a legal transcript and a ledger that agrees with what the endpoint saw, and none hangs.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]

#[path = "wire/served.rs"]
mod served;

use std::time::Duration;

use loopmeter::event::AttemptOutcome;
use loopmeter::message::Message;
use loopmeter::provider::http::{RetryPolicy, Timeouts};
use loopmeter::provider::wire::Delivery;
use loopmeter::run::{RunState, Status, StopReason};
use loopmeter::scenario::{Fault, FaultKind};
use loopmeter::server::{Config, Exchange};
use loopmeter::tools::Catalog;

use served::{Care, Seen, Way, provider, run, settings, timeless};

const WAYS: [Delivery; 2] = [Delivery::Whole, Delivery::StreamedWithUsage];

/// Waits of milliseconds, and a patience with silence that a test can wait for.
fn care() -> Care {
    Care {
        retry: RetryPolicy {
            base: Duration::from_millis(4),
            total_wait: Duration::from_secs(2),
            ..RetryPolicy::default()
        },
        timeouts: Timeouts {
            idle: Duration::from_millis(400),
            ..Timeouts::default()
        },
    }
}

/// The run of `plan` against an endpoint that fails as `fault` says, and what the endpoint saw.
fn plan(fault: Fault, delivery: Delivery) -> (RunState, Seen, Vec<Exchange>) {
    let config = Config {
        faults: vec![fault],
        ..Config::default()
    };
    served::with_server(config, async |served| {
        let way = Way::Http(delivery);
        let provider = provider(way, &served.base_url("one"), "plan", care());
        let (state, seen) = run(provider.as_ref(), &Catalog::chapter(), settings()).await;
        let exchanges = served.exchanges(seen.ledger.attempts.len()).await;
        (state, seen, exchanges)
    })
}

/// What becomes of a fault of this kind: how its attempt ends, and whether another follows.
fn expected(kind: FaultKind) -> (AttemptOutcome, bool) {
    match kind {
        FaultKind::Unauthorized => (AttemptOutcome::Refused { status: 401 }, false),
        FaultKind::NotFound => (AttemptOutcome::Refused { status: 404 }, false),
        FaultKind::RequestTimeout => (AttemptOutcome::Refused { status: 408 }, true),
        FaultKind::Conflict => (AttemptOutcome::Refused { status: 409 }, true),
        FaultKind::RateLimited => (AttemptOutcome::Refused { status: 429 }, true),
        FaultKind::ServerError => (AttemptOutcome::Refused { status: 500 }, true),
        FaultKind::Unavailable => (AttemptOutcome::Refused { status: 503 }, true),
        FaultKind::NotJson => (AttemptOutcome::Unreadable, false),
        FaultKind::Stall => (AttemptOutcome::Stalled, true),
        FaultKind::Cut => (AttemptOutcome::Cut, true),
        FaultKind::Reset => (AttemptOutcome::Reset, true),
        FaultKind::EmptyChoices => (AttemptOutcome::Answered, false),
    }
}

/// Every call is answered once, in order, before the model speaks again.
fn assert_legal(run: &RunState) {
    let mut open: Vec<&str> = Vec::new();
    for message in &run.messages {
        match message {
            Message::Tool { tool_call_id, .. } => assert_eq!(open.remove(0), tool_call_id),
            Message::Assistant { tool_calls, .. } => {
                assert!(open.is_empty(), "{open:?} is unanswered");
                open.extend(tool_calls.iter().map(|call| call.id.as_str()));
            }
            Message::System { .. } | Message::User { .. } => assert!(open.is_empty()),
        }
    }
    assert!(open.is_empty(), "{open:?} is unanswered");
}

/// The endpoint saw the attempts that the client noted, and the same of them as retries.
fn assert_agreed(run: &RunState, seen: &Seen, exchanges: &[Exchange]) {
    assert_eq!(seen.ledger.attempts.len(), exchanges.len());
    assert_eq!(u32::try_from(exchanges.len()), Ok(run.attempts));
    let repeats = |exchange: &&Exchange| exchange.asked.as_ref().is_some_and(|a| a.attempt > 1);
    assert_eq!(
        seen.ledger.retries(),
        exchanges.iter().filter(repeats).count()
    );
    assert_eq!(u32::try_from(seen.ledger.requests()), Ok(run.requests));
    assert_eq!(seen.ledger.turns, run.turns);
}

fn in_process() -> (RunState, Seen) {
    served::with_server(Config::default(), async |_| {
        let provider = provider(Way::InProcess, "", "plan", care());
        run(provider.as_ref(), &Catalog::chapter(), settings()).await
    })
}

#[test]
fn a_fault_that_passes_costs_an_attempt_and_nothing_else() {
    let undisturbed = timeless(in_process());
    for kind in FaultKind::ALL {
        let (outcome, passes) = expected(kind);
        if !passes {
            continue;
        }
        for delivery in WAYS {
            let fault = Fault {
                turn: Some(1),
                first: Some(1),
                ..Fault::always(kind)
            };
            let (state, seen, exchanges) = plan(fault, delivery);
            assert_legal(&state);
            assert_agreed(&state, &seen, &exchanges);
            let attempts = seen.ledger.attempts.iter();
            let attempts: Vec<_> = attempts
                .map(|(turn, a)| (*turn, a.number, a.outcome))
                .collect();
            let answered = |turn, number| (turn, number, AttemptOutcome::Answered);
            let noted = [
                answered(1, 1),
                (2, 1, outcome),
                answered(2, 2),
                answered(3, 1),
            ];
            assert_eq!(attempts, noted, "{kind}, {delivery:?}");
            assert_eq!(timeless((state, seen)), undisturbed, "{kind}, {delivery:?}");
        }
    }
}

#[test]
fn a_fault_that_stays_fails_the_run_after_as_many_attempts_as_make_sense() {
    for kind in FaultKind::ALL {
        let (outcome, passes) = expected(kind);
        for delivery in WAYS {
            let fault = Fault {
                turn: Some(1),
                ..Fault::always(kind)
            };
            let (state, seen, exchanges) = plan(fault, delivery);
            assert_legal(&state);
            assert_agreed(&state, &seen, &exchanges);
            assert_eq!(state.status, Status::Failed, "{kind}, {delivery:?}");
            assert_eq!(state.interruption, Some(StopReason::ProviderError));
            assert!(state.error.is_some());
            let last = if passes { 3 } else { 1 };
            let attempts = seen.ledger.attempts.iter().filter(|(turn, _)| *turn == 2);
            let outcomes: Vec<_> = attempts.map(|(_, attempt)| attempt.outcome).collect();
            assert_eq!(outcomes, vec![outcome; last], "{kind}, {delivery:?}");
            // A reply without a choice was billed; whatever else came was none.
            let turns = if kind == FaultKind::EmptyChoices {
                2
            } else {
                1
            };
            assert_eq!(state.turns, turns, "{kind}, {delivery:?}");
        }
    }
}

#[test]
fn the_wait_is_the_one_that_the_endpoint_asks_for() {
    for (asks, waited) in [
        ("retry_after_ms=7", 7),
        ("retry_after=0", 0),
        ("retry_after=1", 1_000),
    ] {
        let fault: Fault = format!("turn=0,first=1,kind=429,{asks}").parse().unwrap();
        let (state, seen, exchanges) = plan(fault, Delivery::Whole);
        assert_agreed(&state, &seen, &exchanges);
        assert_eq!(state.status, Status::Completed);
        let (_, retry) = seen.ledger.attempts[1];
        assert_eq!(retry.waited, Duration::from_millis(waited), "{asks}");
    }
}

#[test]
fn a_date_further_off_than_is_waited_is_not_waited_for() {
    for kind in ["429", "503"] {
        let fault: Fault = format!("kind={kind},retry_after_date=600").parse().unwrap();
        let (state, seen, exchanges) = plan(fault, Delivery::StreamedWithUsage);
        assert_agreed(&state, &seen, &exchanges);
        assert_eq!(state.attempts, 1);
        let error = state.error.unwrap();
        assert!(error.contains("the next attempt would be in "), "{error}");
    }
}
