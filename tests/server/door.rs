//! Who is let in, who is let go, and what everybody else sees of it.

use std::time::Duration;

use loopmeter::server::{Config, Limits, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Got, Running, Sent, ask, start};

const AT_WORK: usize = 8;

async fn limited(change: impl FnOnce(&mut Limits)) -> Running {
    let mut config = Config::default();
    config.limits.connections = AT_WORK;
    change(&mut config.limits);
    start(config).await
}

/// Connections that each wait for a reply that is a minute away.
async fn stalled(server: &Running, count: usize) -> Vec<TcpStream> {
    let body = ask("scripted/plan").to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-loopmeter-latency: 60s\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    streams
}

async fn health(server: &Running) -> Got {
    server.send(Sent::get("/health")).await
}

/// Asks until the answer has this status: what clients do takes the server a moment to see.
async fn until(server: &Running, status: u16) -> Got {
    loop {
        let got = health(server).await;
        if got.status == Some(status) {
            return got;
        }
    }
}

#[tokio::test]
async fn where_everybody_is_at_work_the_next_is_told_so_and_let_in_when_one_is_gone() {
    let server = limited(|limits| limits.room_time = Duration::from_millis(20)).await;
    let mut at_work = stalled(&server, AT_WORK).await;
    let got = until(&server, 503).await;
    assert_eq!(got.error().code.as_deref(), Some("overloaded"));
    assert_eq!(got.headers["retry-after"], "1");
    assert_eq!(got.headers["connection"], "close");
    at_work.pop();
    until(&server, 200).await;
    let seen = server.log.snapshot();
    let told = |outcome: &Outcome| matches!(outcome, Outcome::Refused { status: 503, .. });
    assert!(seen.iter().any(|exchange| told(&exchange.outcome)));
}

#[tokio::test]
async fn who_begins_requests_and_does_not_end_them_makes_room_for_others() {
    let server = limited(|limits| limits.room_time = Duration::from_secs(60)).await;
    let mut half = Vec::new();
    for _ in 0..AT_WORK * 4 {
        let mut stream = server.connect().await;
        let _ = stream.write_all(b"POST /v1/chat/compl").await;
        half.push(stream);
    }
    for _ in 0..AT_WORK {
        assert_eq!(health(&server).await.status, Some(200));
    }
}

#[tokio::test]
async fn a_connection_speaks_one_request_at_a_time_and_no_other_protocol() {
    let server = limited(|_| ()).await;
    let mut stream = server.connect().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    stream.write_all(preface).await.unwrap();
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said).await;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");

    let mut pipelined = server.connect().await;
    let one = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let last = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let many = one.repeat(99) + last;
    pipelined.write_all(many.as_bytes()).await.unwrap();
    let mut said = String::new();
    pipelined.read_to_string(&mut said).await.unwrap();
    assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 100);
}

#[tokio::test]
async fn a_body_that_drips_is_given_up_however_often_a_byte_comes() {
    let server = limited(|limits| limits.body_time = Duration::from_millis(60)).await;
    let mut stream = server.connect().await;
    let head =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    // Until the server hangs up; a write to a closed connection fails.
    while stream.write_all(b" ").await.is_ok() {
        tokio::task::yield_now().await;
        if server
            .log
            .snapshot()
            .iter()
            .any(|seen| matches!(seen.outcome, Outcome::Refused { status: 408, .. }))
        {
            return;
        }
    }
}
