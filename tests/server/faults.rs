//! What is refused, how it fails when it is told to, and how long it takes.

use std::time::Duration;

use loopmeter::scenario::{FaultKind, Scenario};
use loopmeter::server::{Config, Exchange, Library, Outcome, Script};
use serde_json::{Value, json};

use super::client::{End, Got, Running, Sent, ask, start, with};

async fn with_header(server: &Running, name: &str, value: &str, body: &Value) -> Got {
    let body = body.to_string();
    server
        .send(Sent {
            headers: &[(name, value)],
            ..Sent::chat(&body)
        })
        .await
}

async fn faulted(server: &Running, fault: &str, body: &Value) -> Got {
    with_header(server, "x-loopmeter-fault", fault, body).await
}

/// A request to the right place, a status, a code and the parameter that is to blame.
#[rustfmt::skip]
const WRONG_BODIES: &[(&str, u16, &str, Option<&str>)] = &[
    ("{", 400, "invalid_json", None),
    ("{}", 400, "missing_required_parameter", Some("model")),
    (r#"{"model":"scripted/plan","messages":7}"#, 400, "invalid_type", Some("messages")),
    (r#"{"model":"gpt-4o","messages":[{"role":"user","content":""}]}"#, 404, "model_not_found", Some("model")),
];

async fn check(server: &Running, sent: Sent<'_>, status: u16, code: &str, param: Option<&str>) {
    let shown = format!("{sent:?}");
    let got = server.send(sent).await;
    assert_eq!(got.status, Some(status), "{shown}");
    let error = got.error();
    assert_eq!(error.code.as_deref(), Some(code), "{shown}");
    assert_eq!(error.param.as_deref(), param, "{shown}");
    assert!(!error.message.is_empty() && error.kind.is_some(), "{shown}");
}

#[tokio::test]
async fn wrong_requests_get_the_error_object_and_the_right_status() {
    let server = start(Config::default()).await;
    for (body, status, code, param) in WRONG_BODIES {
        check(&server, Sent::chat(body), *status, code, *param).await;
    }
    let body = ask("scripted/plan").to_string();
    let put = Sent {
        method: "PUT",
        ..Sent::chat(&body)
    };
    check(&server, put, 405, "method_not_allowed", None).await;
    let elsewhere = Sent {
        path: "/v1/responses",
        ..Sent::chat(&body)
    };
    check(&server, elsewhere, 404, "unknown_url", None).await;
    for (header, status, code) in [
        (("content-encoding", "gzip"), 415, "unsupported_encoding"),
        (("x-loopmeter-fault", "kind=418"), 400, "invalid_value"),
        (("x-loopmeter-latency", "soon"), 400, "invalid_value"),
    ] {
        let sent = Sent {
            headers: &[header],
            ..Sent::chat(&body)
        };
        check(&server, sent, status, code, None).await;
    }
    let seen = server.stop().await;
    let refused =
        |exchange: &&std::sync::Arc<Exchange>| matches!(exchange.outcome, Outcome::Refused { .. });
    assert_eq!(seen.iter().filter(refused).count(), seen.len());
    assert_eq!(seen.len(), WRONG_BODIES.len() + 5);
}

#[tokio::test]
async fn a_key_is_asked_for_where_there_is_one() {
    let server = start(Config {
        key: Some(loopmeter::server::Key::new("sesame").unwrap()),
        ..Config::default()
    })
    .await;
    let body = ask("scripted/plan");
    let refused = server.chat(&body).await;
    assert_eq!(refused.status, Some(401));
    assert_eq!(refused.error().code.as_deref(), Some("invalid_api_key"));
    for (key, status) in [
        ("Bearer sesam", 401),
        ("sesame", 401),
        ("Bearer sesame", 200),
        ("bearer sesame", 200),
        ("BEARER sesame", 200),
        ("bearer Sesame", 401),
    ] {
        let got = with_header(&server, "authorization", key, &body).await;
        assert_eq!(got.status, Some(status), "{key}");
    }
    let text = body.to_string();
    let (right, wrong) = (
        ("authorization", "Bearer sesame"),
        ("authorization", "Bearer x"),
    );
    for headers in [[right, wrong], [wrong, right], [right, right]] {
        let sent = Sent {
            headers: &headers,
            ..Sent::chat(&text)
        };
        assert_eq!(server.send(sent).await.status, Some(401), "{headers:?}");
    }
    assert_eq!(server.send(Sent::get("/health")).await.status, Some(200));
    assert_eq!(server.send(Sent::get("/v1/models")).await.status, Some(401));
}

#[tokio::test]
async fn a_request_to_two_hosts_is_refused() {
    let server = start(Config::default()).await;
    let body = ask("scripted/plan").to_string();
    let headers: &[_] = &[("host", "other")];
    for sent in [Sent::chat(&body), Sent::get("/health")] {
        check(&server, Sent { headers, ..sent }, 400, "invalid_host", None).await;
    }
}

#[tokio::test]
async fn a_body_that_is_encoded_by_any_of_its_headers_is_refused() {
    let server = start(Config::default()).await;
    let body = ask("scripted/plan").to_string();
    let (plain, gzip) = (
        ("content-encoding", "Identity"),
        ("content-encoding", "gzip"),
    );
    for (headers, status) in [
        ([plain, gzip], 415),
        ([gzip, plain], 415),
        ([plain, plain], 200),
    ] {
        let sent = Sent {
            headers: &headers,
            ..Sent::chat(&body)
        };
        assert_eq!(server.send(sent).await.status, Some(status), "{headers:?}");
    }
}

#[tokio::test]
async fn a_model_with_an_endless_name_is_refused_and_the_name_is_not_repeated() {
    let plan = Scenario::builtin("plan").unwrap();
    let only = Library::Only(Script::Written(std::sync::Arc::new(plan)));
    for library in [Library::default(), only] {
        let server = start(Config {
            library,
            ..Config::default()
        })
        .await;
        let fits = server.chat(&ask(&"m".repeat(256))).await;
        assert_ne!(fits.status, Some(400));
        let long = "m".repeat(10_000);
        let streamed = with(ask(&long), "stream", json!(true)).to_string();
        let path = format!("/v1/models/{long}");
        for sent in [Sent::chat(&streamed), Sent::get(&path)] {
            let got = server.send(sent).await;
            assert_eq!(got.status, Some(400));
            assert_eq!(got.error().param.as_deref(), Some("model"));
            assert!(got.body.len() < 1_000, "{}", got.body);
        }
    }
}

#[tokio::test]
async fn each_status_can_be_had_with_each_way_to_say_when_to_retry() {
    let server = start(Config::default()).await;
    let body = ask("scripted/plan");
    for kind in FaultKind::ALL {
        let Some(status) = kind.status() else {
            continue;
        };
        let got = faulted(&server, &format!("kind={kind}"), &body).await;
        assert_eq!(got.status, Some(status));
        assert!(got.error().message.contains("injected"), "{}", got.body);
    }
    let header = async |spec: &str, name: &str| {
        let got = faulted(&server, &format!("kind=429,{spec}"), &body).await;
        got.headers.get(name).cloned()
    };
    assert_eq!(
        header("retry_after=3", "retry-after").await.as_deref(),
        Some("3")
    );
    assert_eq!(
        header("retry_after_ms=50", "retry-after-ms")
            .await
            .as_deref(),
        Some("50")
    );
    let date = header("retry_after_date=60", "retry-after").await.unwrap();
    assert!(date.ends_with(" GMT"), "{date}");
}

#[tokio::test]
async fn the_first_attempts_of_a_turn_fail_in_each_run_for_itself() {
    let server = start(Config {
        faults: vec!["turn=0,first=2,kind=500".parse().unwrap()],
        ..Config::default()
    })
    .await;
    let body = ask("scripted/plan").to_string();
    let mut statuses = Vec::new();
    for path in ["/runs/a/v1/chat/completions", "/runs/b/v1/chat/completions"] {
        for _ in 0..3 {
            let got = server
                .send(Sent {
                    path,
                    ..Sent::chat(&body)
                })
                .await;
            statuses.push(got.status.unwrap());
        }
    }
    assert_eq!(statuses, [500, 500, 200, 500, 500, 200]);
    let seen = server.stop().await;
    let of_a: Vec<_> = seen
        .iter()
        .filter(|exchange| exchange.run.as_deref() == Some("a"))
        .map(|exchange| {
            (
                exchange.asked.as_ref().unwrap().attempt,
                exchange.outcome.clone(),
            )
        })
        .collect();
    let kind = FaultKind::ServerError;
    assert_eq!(of_a[0], (1, Outcome::Faulted { kind }));
    assert_eq!(of_a[1], (2, Outcome::Faulted { kind }));
    assert!(matches!(of_a[2], (3, Outcome::Replied { .. })));
}

#[tokio::test]
async fn replies_can_be_useless_in_each_way() {
    let mut config = Config::default();
    config.limits.stall_time = Duration::from_millis(30);
    let server = start(config).await;
    let plain = ask("scripted/parallel");
    let streamed = with(plain.clone(), "stream", json!(true));

    let page = faulted(&server, "kind=not_json", &plain).await;
    assert_eq!(page.status, Some(200));
    assert!(serde_json::from_str::<Value>(&page.body).is_err());

    let empty = faulted(&server, "kind=empty_choices", &plain).await;
    assert!(empty.body.contains(r#""choices":[]"#) && empty.end == End::Whole);
    let (chunks, done) = faulted(&server, "kind=empty_choices", &streamed)
        .await
        .chunks();
    assert!(done && chunks.iter().all(|chunk| chunk.choices.is_empty()));

    let reset = faulted(&server, "kind=reset", &plain).await;
    assert_eq!((reset.status, reset.end), (None, End::Reset));

    for kind in ["cut", "stall"] {
        let fault = format!("kind={kind}");
        let half = faulted(&server, &fault, &plain).await;
        assert_eq!(
            (half.status, half.end),
            (Some(200), End::BrokenOff),
            "{kind}"
        );
        assert!(!half.body.is_empty(), "{kind}");
        let got = faulted(&server, &fault, &streamed).await;
        assert_eq!(got.end, End::BrokenOff, "{kind}");
        let (chunks, done) = got.chunks();
        assert!(!done, "{kind}");
        let last = chunks.last().unwrap().choices[0].delta.tool_calls[0].clone();
        assert_eq!(last.index, Some(1), "{kind}");
        assert!(
            chunks
                .iter()
                .all(|chunk| chunk.choices[0].finish_reason.is_none())
        );
    }
    let seen = server.stop().await;
    assert!(
        seen.iter()
            .all(|exchange| matches!(exchange.outcome, Outcome::Faulted { .. }))
    );
    assert_eq!(seen.len(), 8);
}

#[tokio::test]
async fn replies_take_at_least_the_time_that_they_are_told_to() {
    let scenario = Scenario::from_toml(
        "slow",
        "title = \"Slow\"\nlatency = \"ttft=30ms\"\n\
         faults = [\"turn=5,kind=500\"]\n[[step]]\nsay = \"one two three\"\n\
         usage = { cached_tokens = 1, reasoning_tokens = 5 }",
    )
    .unwrap();
    let script = Script::Written(std::sync::Arc::new(scenario));
    let server = start(Config {
        library: Library::Only(script),
        ..Config::default()
    })
    .await;
    let completion = server.completion(&ask("any-name")).await;
    let usage = completion.usage.unwrap().usage().unwrap();
    assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (Some(1), 5));
    let streamed = with(ask("m"), "stream", json!(true));
    server.chat(&streamed).await;
    with_header(
        &server,
        "x-loopmeter-latency",
        "ttft=40ms,per_token=2ms",
        &streamed,
    )
    .await;
    with_header(&server, "x-loopmeter-latency", "0ms", &ask("m")).await;
    let seen = server.stop().await;
    let took = |at: usize| seen[at].ended.saturating_sub(seen[at].started);
    assert!(took(0) >= Duration::from_millis(30));
    assert!(took(1) >= Duration::from_millis(30));
    let tokens = u32::try_from(usage.completion_tokens).unwrap();
    assert!(took(2) >= Duration::from_millis(40) + Duration::from_millis(2) * (tokens - 5));
}

#[tokio::test]
async fn a_run_among_hundreds_is_known_again() {
    const RUNS: usize = 600;
    let server = start(Config::default()).await;
    let body = ask("scripted/plan").to_string();
    for run in (0..RUNS).chain(0..RUNS) {
        let path = format!("/runs/r{run}/v1/chat/completions");
        let sent = Sent {
            path: &path,
            ..Sent::chat(&body)
        };
        assert_eq!(server.send(sent).await.status, Some(200));
    }
    let seen = server.stop().await;
    let asked = seen.iter().map(|exchange| exchange.asked.as_ref().unwrap());
    let attempts: Vec<u32> = asked.map(|asked| asked.attempt).collect();
    assert_eq!(attempts, [[1; RUNS], [2; RUNS]].concat());
}
