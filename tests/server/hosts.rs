//! Which host a request may be for, and which page it may come from.

use loopmeter::server::{Config, Key, Outcome};
use tokio::io::AsyncWriteExt;

use super::client::{Got, Running, Sent, ask, start};

/// A chat completion with this first line and these lines of a head.
async fn asked(server: &Running, first: &str, lines: &[&str]) -> Got {
    let body = ask("scripted/plan").to_string();
    let lines: Vec<_> = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let (lines, length) = (lines.concat(), body.len());
    let request =
        format!("{first}\r\nconnection: close\r\ncontent-length: {length}\r\n{lines}\r\n{body}");
    let mut stream = server.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    Got::read(stream).await
}

const POST: &str = "POST /v1/chat/completions HTTP/1.1";
const TO_EVIL: &str = "POST http://evil.com/v1/chat/completions HTTP/1.1";
const TO_US: &str = "POST http://127.0.0.1/v1/chat/completions HTTP/1.1";

#[tokio::test]
async fn without_a_key_a_server_on_loopback_answers_no_web_page_from_elsewhere() {
    let server = start(Config::default()).await;
    let local = format!("host: {}", server.addr);
    for (first, lines) in [
        (POST, &["host: evil.com"][..]),
        (POST, &["host: 127.0.0.1.evil.com:8787"]),
        (POST, &["host: "]),
        (TO_EVIL, &[&local]),
        (
            POST,
            &[
                &local,
                "origin: http://evil.com",
                "content-type: text/plain",
            ],
        ),
        (POST, &[&local, "origin: null"]),
    ] {
        let got = asked(&server, first, lines).await;
        assert_eq!(got.status, Some(403), "{first} {lines:?}");
        let error = got.error();
        assert_eq!(error.code.as_deref(), Some("foreign_host"));
        assert!(error.message.contains("--token"), "{}", error.message);
    }
    let evil = Sent {
        headers: &[("origin", "http://evil.com")],
        ..Sent::get("/v1/models")
    };
    assert_eq!(server.send(evil).await.status, Some(403));
    let seen = server.stop().await;
    let refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused { status: 403, .. });
    assert!(seen.iter().all(|exchange| refused(&exchange.outcome)));
}

#[tokio::test]
async fn whoever_reaches_this_machine_by_a_name_of_its_own_is_answered() {
    let server = start(Config::default()).await;
    let local = format!("host: {}", server.addr);
    for (first, lines) in [
        (POST, &[local.as_str()][..]),
        (POST, &["host: localhost:8787"]),
        (POST, &["host: [::1]:8787"]),
        (POST, &["host: agent.localhost"]),
        (POST, &["host: host.docker.internal:8787"]),
        (POST, &["host: host.containers.internal:8787"]),
        (TO_US, &["host: proxy.example"]),
        (POST, &[&local, "origin: http://localhost:3000"]),
        (POST, &[&local, "origin: vscode-webview://0a1b"]),
        ("POST /v1/chat/completions HTTP/1.0", &[]),
    ] {
        let got = asked(&server, first, lines).await;
        assert_eq!(got.status, Some(200), "{first} {lines:?}");
    }
}

#[tokio::test]
async fn with_a_key_any_host_will_do() {
    let server = start(Config {
        key: Key::new("sesame").ok(),
        ..Config::default()
    })
    .await;
    let lines = [
        "host: model.example",
        "origin: https://model.example",
        "authorization: Bearer sesame",
    ];
    assert_eq!(asked(&server, POST, &lines).await.status, Some(200));
}

#[tokio::test]
async fn a_request_to_no_host_is_refused() {
    for key in [None, Key::new("sesame").ok()] {
        let server = start(Config {
            key,
            ..Config::default()
        })
        .await;
        let got = asked(&server, POST, &["authorization: Bearer sesame"]).await;
        assert_eq!(got.status, Some(400));
        assert_eq!(got.error().code.as_deref(), Some("invalid_host"));
    }
}
