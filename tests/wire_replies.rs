//! The client against an endpoint that says exactly what a test wants: every shape of reply has
//! one outcome, a legal transcript and the right ledger.
#![cfg(feature = "client")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]

#[path = "wire/mod.rs"]
mod wire;

use std::time::Duration;

use loopmeter::event::{AttemptOutcome, UsageSource};
use loopmeter::provider::http::{RetryPolicy, Timeouts};
use loopmeter::provider::wire::Delivery;
use loopmeter::run::{Status, StopReason};

use wire::{Act, Asked, Canned, ask, json, refusal, sse};

const ANSWER: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":4}}"#;

fn outcomes(asked: &Asked) -> Vec<AttemptOutcome> {
    let attempts = asked.ledger.attempts.iter();
    attempts.map(|(_, attempt)| attempt.outcome).collect()
}

fn failed(asked: &Asked) -> &str {
    assert_eq!(asked.run.status, Status::Failed);
    assert_eq!(asked.run.interruption, Some(StopReason::ProviderError));
    asked.run.error.as_deref().unwrap()
}

#[test]
fn a_plain_reply_is_billed_as_reported_and_counted_beside_it() {
    let asked = ask(&Canned::new([json(ANSWER)]), Delivery::Whole);
    assert_eq!(asked.run.status, Status::Completed);
    assert_eq!(asked.run.output.as_deref(), Some("done."));
    assert_eq!(asked.run.usage.prompt_tokens, 30);
    assert_eq!(asked.run.counted.prompt_tokens, 204);
    let metering = asked.meterings[0];
    assert_eq!(metering.source, UsageSource::Reported);
    assert_eq!(metering.first_token, None);
    assert_eq!(
        (asked.run.turns, asked.run.requests, asked.run.attempts),
        (1, 1, 1)
    );
}

#[test]
fn a_streamed_reply_is_whole_wherever_its_bytes_are_split_and_whatever_ends_its_lines() {
    let events = concat!(
        ": hello\r\n\r\n",
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        "\r\n\r\n",
        r#"data: {"choices":[{"index":0,"delta":{"content":"né"}}]}"#,
        "\r\n\r\n",
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "\r\n\r\n",
        r#"data: {"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":4}}"#,
        "\r\n\r\ndata: [DONE]\r\n\r\n"
    );
    for size in [1, 7, 4_096] {
        let mut acts = vec![Act::Send(wire::SSE_HEAD.as_bytes().to_vec())];
        acts.extend(
            events
                .as_bytes()
                .chunks(size)
                .map(|piece| Act::Send(piece.to_vec())),
        );
        let asked = ask(&Canned::new([acts]), Delivery::StreamedWithUsage);
        assert_eq!(asked.run.output.as_deref(), Some("né"), "{size}");
        assert_eq!(asked.run.usage.prompt_tokens, 30);
        assert!(asked.meterings[0].first_token.is_some());
    }
}

#[test]
fn the_first_token_is_not_the_role() {
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
    let word = r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    let pause = Duration::from_millis(60);
    let mut acts = vec![Act::Send(wire::SSE_HEAD.as_bytes().to_vec())];
    acts.extend([
        Act::Send(format!("data: {role}\n\n").into_bytes()),
        Act::Pause(pause),
        Act::Send(format!("data: {word}\n\ndata: [DONE]\n\n").into_bytes()),
    ]);
    let asked = ask(&Canned::new([acts]), Delivery::StreamedWithUsage);
    assert!(asked.meterings[0].first_token.unwrap() >= pause);
}

#[test]
fn a_stream_that_said_why_it_stops_needs_no_done_and_no_usage() {
    let word = r#"{"choices":[{"index":0,"delta":{"content":"done."},"finish_reason":"stop"}]}"#;
    let asked = ask(&Canned::new([sse(&[word])]), Delivery::StreamedWithUsage);
    assert_eq!(asked.run.status, Status::Completed);
    assert_eq!(asked.meterings[0].source, UsageSource::Counted);
    assert_eq!(asked.run.usage, asked.run.counted);
    assert_eq!(asked.run.usage.prompt_tokens, 204);
}

#[test]
fn a_plain_reply_to_a_streamed_request_is_read_as_what_it_is() {
    let asked = ask(&Canned::new([json(ANSWER)]), Delivery::StreamedWithUsage);
    assert_eq!(asked.run.output.as_deref(), Some("done."));
}

#[test]
fn a_refusal_that_lasts_fails_the_run_at_once_with_the_endpoints_words_and_without_the_key() {
    for status in [400, 401, 403, 404, 302] {
        let body = format!(r#"{{"error":{{"message":"bad key {}"}}}}"#, wire::KEY);
        let asked = ask(&Canned::new([refusal(status, "", &body)]), Delivery::Whole);
        let error = failed(&asked);
        assert!(
            error.contains(&format!("refused with {status}: bad key [secret]")),
            "{error}"
        );
        assert_eq!(outcomes(&asked), [AttemptOutcome::Refused { status }]);
        assert!(!format!("{:?}", asked.run).contains(wire::KEY));
        assert_eq!(asked.run.cost.to_string(), "0.000000");
    }
}

#[test]
fn a_refusal_that_may_pass_is_tried_again_after_the_wait_that_it_asks_for() {
    for status in [408, 409, 429, 500, 503] {
        let server = Canned::new([refusal(status, "retry-after-ms: 7\r\n", "{}"), json(ANSWER)]);
        let asked = ask(&server, Delivery::Whole);
        assert_eq!(asked.run.status, Status::Completed, "{status}");
        let expected = [AttemptOutcome::Refused { status }, AttemptOutcome::Answered];
        assert_eq!(outcomes(&asked), expected);
        assert_eq!(asked.ledger.attempts[1].1.waited, Duration::from_millis(7));
        assert_eq!(
            (asked.run.turns, asked.run.requests, asked.run.attempts),
            (1, 1, 2)
        );
        assert_eq!((asked.ledger.requests(), asked.ledger.retries()), (1, 1));
        let requests = server.requests();
        assert_eq!(requests[0], requests[1], "a retry repeats the request");
    }
}

#[test]
fn a_wait_longer_than_is_waited_is_not_begun() {
    let server = Canned::new([refusal(429, "retry-after: 3600\r\n", "{}")]);
    let asked = ask(&server, Delivery::Whole);
    let error = failed(&asked);
    assert!(
        error.contains("the next attempt would be in 3600000 ms"),
        "{error}"
    );
    assert_eq!(asked.run.attempts, 1);
}

#[test]
fn attempts_are_bounded_and_their_waits_are_the_seeds() {
    let server = Canned::new([
        refusal(500, "", ""),
        refusal(500, "", ""),
        refusal(500, "", ""),
    ]);
    let asked = ask(&server, Delivery::Whole);
    let error = failed(&asked);
    assert!(
        error.contains("500: no reason given; gave up after 3 attempts"),
        "{error}"
    );
    let waited: Vec<_> = asked
        .ledger
        .attempts
        .iter()
        .map(|(_, a)| a.waited)
        .collect();
    let policy = wire::retry();
    assert_eq!(
        waited,
        [Duration::ZERO, policy.delay(0, 1), policy.delay(0, 2)]
    );
}

#[test]
fn a_connection_that_breaks_is_tried_again() {
    for broken in [Act::Reset, Act::Close] {
        let asked = ask(&Canned::new([vec![broken], json(ANSWER)]), Delivery::Whole);
        assert_eq!(asked.run.status, Status::Completed);
        let expected = [AttemptOutcome::Reset, AttemptOutcome::Answered];
        assert_eq!(outcomes(&asked), expected);
    }
}

#[test]
fn nobody_there_fails_the_run_with_the_address() {
    let server = Canned::nobody();
    let asked = ask(&server, Delivery::Whole);
    let error = failed(&asked);
    assert!(error.starts_with(&server.base_url()), "{error}");
    assert_eq!(outcomes(&asked), [AttemptOutcome::Unreachable; 3]);
}

#[test]
fn a_reply_that_never_begins_a_silent_one_and_a_cut_one_are_tried_again() {
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"list_files","arguments":"{\"pa"}}]}}]}"#;
    let mut stalled = sse(&[call]);
    stalled.pop();
    stalled.push(Act::Hold);
    let cases = [
        (vec![Act::Hold], AttemptOutcome::Stalled),
        (stalled, AttemptOutcome::Stalled),
        (sse(&[call]), AttemptOutcome::Cut),
        (
            wire::promised(900, &format!("data: {call}\n\n")),
            AttemptOutcome::Cut,
        ),
    ];
    for (acts, outcome) in cases {
        let asked = ask(
            &Canned::new([acts, json(ANSWER)]),
            Delivery::StreamedWithUsage,
        );
        assert_eq!(asked.run.status, Status::Completed);
        assert_eq!(outcomes(&asked), [outcome, AttemptOutcome::Answered]);
        assert_eq!(
            asked.run.messages.len(),
            3,
            "nothing of the lost reply is kept"
        );
        assert_eq!(asked.run.turns, 1);
    }
}

#[test]
fn a_reply_that_is_no_completion_fails_the_run_and_shows_its_beginning() {
    for body in ["<html>oops</html>", "", "[]", "\"done.\"", "{\"choices\""] {
        let asked = ask(&Canned::new([json(body)]), Delivery::Whole);
        let error = failed(&asked);
        assert!(
            error.contains("is not a chat completion in JSON"),
            "{body}: {error}"
        );
        assert_eq!(outcomes(&asked), [AttemptOutcome::Unreadable]);
        assert_eq!(asked.run.turns, 0);
    }
    let asked = ask(
        &Canned::new([sse(&["<oops>"])]),
        Delivery::StreamedWithUsage,
    );
    assert_eq!(outcomes(&asked), [AttemptOutcome::Unreadable]);
}

#[test]
fn a_reply_without_a_choice_costs_what_it_reports_and_ends_the_run() {
    let body = r#"{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":4}}"#;
    for (acts, delivery) in [
        (json(body), Delivery::Whole),
        (sse(&[body, "[DONE]"]), Delivery::StreamedWithUsage),
    ] {
        let asked = ask(&Canned::new([acts]), delivery);
        assert_eq!(failed(&asked), "the reply has no choices");
        assert_eq!(asked.run.cost.to_string(), "0.000108");
        assert_eq!((asked.run.turns, asked.run.attempts), (1, 1));
    }
}

#[test]
fn an_error_inside_a_reply_fails_the_run_with_its_words() {
    let body = r#"{"error":{"message":"overloaded"}}"#;
    for (acts, delivery) in [
        (json(body), Delivery::Whole),
        (sse(&[body]), Delivery::StreamedWithUsage),
    ] {
        let asked = ask(&Canned::new([acts]), delivery);
        let error = failed(&asked);
        assert!(
            error.ends_with("replied with an error: overloaded"),
            "{error}"
        );
    }
}

#[test]
fn an_unknown_reason_to_stop_and_a_content_in_parts_are_understood() {
    let body = r#"{"choices":[{"message":{"content":[{"type":"text","text":"do"},{"type":"text","text":"ne."}]},"finish_reason":"eos"}]}"#;
    let asked = ask(&Canned::new([json(body)]), Delivery::Whole);
    assert_eq!(asked.run.output.as_deref(), Some("done."));
    assert_eq!(asked.meterings[0].source, UsageSource::Counted);
}

#[test]
fn a_reply_larger_than_is_read_is_refused() {
    let piece = vec![b' '; 1 << 20];
    let mut acts = vec![Act::Send(wire::JSON_HEAD.as_bytes().to_vec())];
    acts.extend((0..40).map(|_| Act::Send(piece.clone())));
    let asked = ask(&Canned::new([acts]), Delivery::Whole);
    assert_eq!(outcomes(&asked), [AttemptOutcome::TooLarge]);
    assert!(failed(&asked).contains("larger than"));
}

#[test]
fn a_press_of_stop_drops_the_connection_and_interrupts_the_run() {
    let words = r#"{"choices":[{"index":0,"delta":{"content":"so far"}}]}"#;
    let mut begun = sse(&[words]);
    begun.pop();
    begun.push(Act::Hold);
    for acts in [vec![Act::Hold], begun] {
        let server = Canned::new([acts]);
        let asked = server.ask_and_stop(Delivery::StreamedWithUsage);
        assert_eq!(asked.run.status, Status::Interrupted);
        let reason = "enough".to_owned();
        assert_eq!(
            asked.run.interruption,
            Some(StopReason::Cancelled { reason })
        );
        assert_eq!(outcomes(&asked), [AttemptOutcome::Aborted]);
        assert_eq!(asked.run.messages.len(), 2);
        assert!(asked.over, "the connection is held");
    }
}

#[test]
fn a_press_of_stop_ends_the_wait_for_a_retry() {
    let patient = RetryPolicy {
        total_wait: Duration::from_secs(7_200),
        ..wire::retry()
    };
    let server = Canned::new([refusal(429, "retry-after: 3600\r\n", "{}")]);
    let asked = server.ask_with(Delivery::Whole, patient, wire::timeouts(), true);
    assert_eq!(asked.run.status, Status::Interrupted);
    assert_eq!(outcomes(&asked), [AttemptOutcome::Refused { status: 429 }]);
}

#[test]
fn a_reply_that_trickles_for_ever_ends_with_the_attempt() {
    let mut acts = vec![Act::Send(wire::SSE_HEAD.as_bytes().to_vec())];
    for _ in 0..100 {
        acts.extend([
            Act::Send(b": still here\n\n".to_vec()),
            Act::Pause(Duration::from_millis(5)),
        ]);
    }
    let short = Timeouts {
        attempt: Duration::from_millis(40),
        ..wire::timeouts()
    };
    let server = Canned::new([acts]);
    let asked = server.ask_with(Delivery::Streamed, RetryPolicy::never(), short, false);
    let error = failed(&asked);
    assert!(error.contains("no whole reply within 40 ms"), "{error}");
    assert_eq!(outcomes(&asked), [AttemptOutcome::Stalled]);
}
