//! Clients that mean no good, and a server that answers the others.

use std::time::Duration;

use loopmeter::message::to_json;
use loopmeter::server::{Config, Limits, Outcome};
use loopmeter::tokens;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Got, Running, Sent, ask, start, with};

const SOON: Duration = Duration::from_millis(40);

/// Many idle connections, few enough for a system that allows a process 1,024 open files.
const IDLE: usize = 850;

async fn impatient(change: impl FnOnce(&mut Limits)) -> Running {
    let mut config = Config::default();
    change(&mut config.limits);
    start(config).await
}

async fn answers(server: &Running) {
    server.completion(&ask("scripted/plan")).await;
}

/// Reads until the server closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_given_up() {
    let server = impatient(|limits| limits.body_time = SOON).await;
    let mut slow = server.connect().await;
    let head =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900\r\n\r\n{";
    slow.write_all(head.as_bytes()).await.unwrap();
    answers(&server).await;
    let got = Got::read(slow).await;
    assert_eq!(got.status, Some(408));
    assert_eq!(got.error().code.as_deref(), Some("request_timeout"));
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_refused_without_being_waited_for() {
    let server = impatient(|limits| limits.body_time = SOON).await;
    for length in ["99999999999", "40000000"] {
        let mut silent = server.connect().await;
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
        );
        silent.write_all(head.as_bytes()).await.unwrap();
        let got = Got::read(silent).await;
        assert_eq!(got.status, Some(413), "{length}");
    }
}

#[tokio::test]
async fn a_head_that_comes_too_slowly_and_an_idle_connection_are_closed() {
    let server = impatient(|limits| limits.head_time = SOON).await;
    let mut slow = server.connect().await;
    slow.write_all(b"POST /v1/chat").await.unwrap();
    let idle = server.connect().await;
    let mut used = server.connect().await;
    used.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    answers(&server).await;
    until_closed(slow).await;
    until_closed(idle).await;
    assert!(until_closed(used).await.contains("200 OK"));
}

#[tokio::test]
async fn a_client_that_never_reads_is_given_up() {
    let text = "x ".repeat(200_000);
    let scenario = format!("title = \"Long\"\n[[step]]\nsay = \"{text}\"");
    let scenario = loopmeter::scenario::Scenario::from_toml("long", &scenario).unwrap();
    let script = loopmeter::server::Script::Written(std::sync::Arc::new(scenario));
    let mut config = Config {
        library: loopmeter::server::Library::by_model([script]),
        ..Config::default()
    };
    config.limits.write_time = SOON;
    let server = start(config).await;
    let mut news = server.log.subscribe();
    let mut deaf = server.connect().await;
    let body = with(ask("scripted/long"), "stream", json!(true)).to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    deaf.write_all(request.as_bytes()).await.unwrap();
    let exchange = news.recv().await.unwrap();
    assert_eq!(exchange.outcome, Outcome::Aborted);
    let health = server.send(Sent::get("/health")).await;
    assert_eq!(health.status, Some(200));
}

#[tokio::test]
async fn idle_connections_make_room_for_new_ones() {
    let server = impatient(|limits| limits.connections = 64).await;
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        idle.push(server.connect().await);
    }
    for _ in 0..20 {
        answers(&server).await;
    }
    // The last to come are those that are still there.
    let mut last = idle.pop().unwrap();
    drop(idle);
    last.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    until_closed(last).await;
}

#[tokio::test]
async fn a_body_of_fifty_megabytes_is_refused_after_it_was_sent() {
    let server = start(Config::default()).await;
    let big = format!("[\"{}\"]", "x".repeat(50 << 20));
    let got = server.send(Sent::chat(&big)).await;
    assert_eq!(got.status, Some(413));
    assert_eq!(got.error().code.as_deref(), Some("request_too_large"));
    let expecting = Sent {
        headers: &[("expect", "100-continue")],
        ..Sent::chat(&big)
    };
    assert_eq!(server.send(expecting).await.status, Some(413));
    answers(&server).await;
}

#[tokio::test]
async fn bodies_that_together_are_too_large_are_put_off() {
    let server = impatient(|limits| limits.bodies_bytes = 64 << 10).await;
    let big = json!({"role": "user", "content": "x".repeat(100 << 10)});
    let body = json!({"model": "scripted/plan", "messages": [big]});
    let got = server.chat(&body).await;
    assert_eq!(got.status, Some(503));
    assert_eq!(got.headers["retry-after"], "1");
    answers(&server).await;
}

#[tokio::test]
async fn what_is_kept_of_a_request_is_short_however_long_its_names_are() {
    let server = start(Config::default()).await;
    let long = |at: usize, letter: &str| format!("{at}{}", letter.repeat(4_000));
    let mut body = ask("scripted/plan");
    for at in 0..300 {
        body[long(at, "p")] = json!(1);
    }
    let calls: Vec<_> = (0..300)
        .map(|at| json!({"id": long(at, "c"), "type": "function", "function": {"name": "f", "arguments": "{}"}}))
        .collect();
    let answers = (0..300).map(|at| {
        let text = long(at, "t");
        json!({"role": "tool", "tool_call_id": long(at, "u"), "content": text})
    });
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
    messages.extend(answers);
    assert_eq!(server.chat(&body).await.status, Some(200));
    let seen = server.stop().await;
    let asked = seen[0].asked.as_ref().unwrap();
    assert_eq!(asked.results.len(), 256);
    let texts: usize = asked.results.iter().map(|result| result.text.len()).sum();
    assert_eq!(texts, 64 << 10);
    let told: usize = asked.oddities.iter().map(|odd| odd.to_string().len()).sum();
    assert!(told < 128 << 10, "{told}");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let server = impatient(|limits| limits.head_bytes = 8 << 10).await;
    let long = "x".repeat(64 << 10);
    let got = server
        .send(Sent {
            headers: &[("x-long", &long)],
            ..Sent::get("/health")
        })
        .await;
    assert_eq!(got.status, Some(431));
    answers(&server).await;
}

#[tokio::test]
async fn ten_thousand_messages_are_counted_and_others_are_answered_meanwhile() {
    let server = start(Config::default()).await;
    let messages: Vec<Value> = (0..10_000)
        .map(|at| json!({"role": "user", "content": format!("Message {at}?")}))
        .collect();
    let body = json!({"model": "scripted/plan", "messages": messages});
    let (completion, ()) = tokio::join!(server.completion(&body), answers(&server));
    let counted = tokens::count(&to_json(&messages));
    assert_eq!(completion.usage.unwrap().prompt_tokens, Some(counted));
}

#[tokio::test]
async fn sixty_four_clients_at_once_are_all_answered() {
    let server = std::sync::Arc::new(start(Config::default()).await);
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..64 {
        let server = std::sync::Arc::clone(&server);
        clients.spawn(async move {
            for turn in 0..5 {
                let question = format!("{client} asks {turn}?");
                let message = json!({"role": "user", "content": question});
                let body = json!({"model": "scripted/plan", "messages": [message]});
                server.completion(&body).await;
            }
        });
    }
    clients.join_all().await;
    assert_eq!(server.log.snapshot().len(), 320);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_an_aborted_exchange() {
    let server = start(Config::default()).await;
    let mut news = server.log.subscribe();
    for stream in [false, true] {
        let mut hasty = server.connect().await;
        let body = with(ask("scripted/plan"), "stream", json!(stream)).to_string();
        let length = body.len();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-loopmeter-latency: 60s\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        hasty.write_all(request.as_bytes()).await.unwrap();
        answers(&server).await;
        drop(hasty);
        let outcomes = [news.recv().await.unwrap(), news.recv().await.unwrap()];
        assert!(
            outcomes
                .iter()
                .any(|exchange| exchange.outcome == Outcome::Aborted)
        );
    }
}

#[tokio::test]
async fn a_shutdown_lets_a_request_in_progress_end_and_closes_idle_connections() {
    let server = start(Config::default()).await;
    let idle = server.connect().await;
    let mut busy = server.connect().await;
    let body = ask("scripted/plan").to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-loopmeter-latency: 50ms\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    busy.write_all(request.as_bytes()).await.unwrap();
    // Answered after the other was taken up: connections are served in the order they come.
    answers(&server).await;
    let (seen, got) = tokio::join!(server.stop(), Got::read(busy));
    assert_eq!(got.status, Some(200));
    assert_eq!(seen.len(), 2);
    assert_eq!(until_closed(idle).await, "");
}
