//! The bytes of a streamed reply, read by the client as an endpoint sends them.
#![no_main]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use loopmeter::clock::{RealClock, Signal};
use loopmeter::message::Message;
use loopmeter::provider::http::{Endpoint, HttpProvider, RetryPolicy, Timeouts};
use loopmeter::provider::wire::Delivery;
use loopmeter::provider::{Provider, ProviderContext, Request};
use tokio::runtime::Runtime;

/// What the endpoint sends next.
static NEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Client {
    runtime: Runtime,
    provider: HttpProvider,
}

fuzz_target!(|bytes: &[u8]| {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    let client = CLIENT.get_or_init(client);
    *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = bytes.to_vec();
    let messages = [Message::User {
        content: "Hi?".to_owned(),
    }];
    let request = Request {
        messages: &messages,
        tools: &[],
        prompt_tokens: 9,
        max_completion_tokens: None,
    };
    let (clock, signal) = (RealClock::starting_at(Duration::ZERO), Signal::new());
    let note = |_| {};
    let context = ProviderContext::new(&clock, &signal, &note);
    if let Ok(reply) = client
        .runtime
        .block_on(client.provider.complete(request, context))
    {
        let calls = reply.message.iter().flat_map(|said| &said.tool_calls);
        for call in calls {
            assert!(!call.id.is_empty(), "every call has an id");
        }
        assert!(reply.usage.prompt_tokens <= 1_000_000_000_000);
    }
});

fn client() -> Client {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    let endpoint = Endpoint::new(&format!("http://127.0.0.1:{port}/v1"), "m")
        .expect("a URL")
        .with_delivery(Delivery::StreamedWithUsage)
        .with_retry(RetryPolicy::never())
        .with_timeouts(Timeouts {
            attempt: Duration::from_secs(5),
            ..Timeouts::default()
        });
    Client {
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime"),
        provider: HttpProvider::new(endpoint).expect("a client"),
    }
}

/// Answers requests on a connection, each with what is next, until the client hangs up.
fn serve(mut stream: TcpStream) {
    let mut seen = Vec::new();
    let mut piece = [0; 4_096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        // The body of the one request ends so.
        if !seen.ends_with(b"}") {
            continue;
        }
        seen.clear();
        let body = NEXT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream
            .write_all(&[head.as_bytes(), &body].concat())
            .is_err()
        {
            return;
        }
    }
}
