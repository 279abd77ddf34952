//! The body of a request to the scripted endpoint, and what every scenario for any tools makes of
//! the tools that it declares.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopmeter::provider::wire::{ErrorBody, Incoming};
use loopmeter::scenario::{AnyScenario, DeclaredTool};

fuzz_target!(|body: &[u8]| {
    let _ = ErrorBody::read(&String::from_utf8_lossy(body));
    let incoming = match Incoming::parse(body) {
        Ok(incoming) => incoming,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.code().is_empty());
            return;
        }
    };
    assert_eq!(incoming.received().count(), incoming.messages.len());
    assert_eq!(incoming.message_texts().count(), incoming.messages.len());
    let _ = (incoming.media(), incoming.tools_text());
    let tools: Vec<_> = incoming
        .functions()
        .map(|(name, parameters)| DeclaredTool { name, parameters })
        .collect();
    for any in AnyScenario::ALL {
        for turn in [0, 1, 9] {
            let reply = any.reply(turn, &tools, 7);
            assert_eq!(
                reply,
                any.reply(turn, &tools, 7),
                "a reply is a function of its request"
            );
        }
    }
});
