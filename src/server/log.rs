//! What a server has seen, for others to read while it runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

use super::Exchange;

/// The exchanges of a server in the order in which they ended. Clones share it. It is bounded:
/// of more than it holds, the oldest are forgotten, and counted.
#[derive(Clone, Debug)]
pub struct Log {
    kept: Arc<Mutex<Kept>>,
    news: broadcast::Sender<Arc<Exchange>>,
}

#[derive(Debug, Default)]
struct Kept {
    exchanges: VecDeque<Arc<Exchange>>,
    bytes: usize,
    forgotten: u64,
    /// The most exchanges that are kept.
    most: usize,
}

/// The most bytes that they hold together, about.
const MOST_BYTES: usize = 64 << 20;
/// How far a subscriber may fall behind.
const BACKLOG: usize = 1_024;

impl Log {
    /// An empty log, which holds so many exchanges at most.
    pub(super) fn of_at_most(most: usize) -> Self {
        let kept = Kept {
            most,
            ..Kept::default()
        };
        Self {
            kept: Arc::new(Mutex::new(kept)),
            news: broadcast::Sender::new(BACKLOG),
        }
    }

    /// The exchanges so far.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Arc<Exchange>> {
        self.with(|kept| kept.exchanges.iter().cloned().collect())
    }

    /// How many exchanges were forgotten.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.with(|kept| kept.forgotten)
    }

    /// The exchanges from now on. Whoever falls behind by a thousand is told how many were missed.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Exchange>> {
        self.news.subscribe()
    }

    pub(super) fn push(&self, exchange: Exchange) {
        let exchange = Arc::new(exchange);
        self.with(|kept| kept.push(Arc::clone(&exchange)));
        // Without subscribers there is nobody to tell.
        let _ = self.news.send(exchange);
    }

    fn with<T>(&self, read: impl FnOnce(&mut Kept) -> T) -> T {
        read(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn push(&mut self, exchange: Arc<Exchange>) {
        self.bytes += exchange.weight();
        self.exchanges.push_back(exchange);
        while self.exchanges.len() > self.most || self.bytes > MOST_BYTES {
            let Some(oldest) = self.exchanges.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(oldest.weight());
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::message::{FinishReason, ToolCall, Usage};
    use crate::provider::wire::Delivery;
    use crate::scenario::Said;
    use crate::server::{Asked, BodyHash, Channel, Oddity, Outcome, SeenResult, Turns};

    const MIB: usize = 1 << 20;

    fn long() -> String {
        "x".repeat(MIB)
    }

    fn exchange(asked: impl FnOnce(&mut Asked), outcome: Outcome) -> Exchange {
        let turns = Turns {
            conversation: 0,
            ids: None,
            path: None,
        };
        let mut plain = Asked {
            model: "m".to_owned(),
            scenario: "plan".to_owned(),
            delivery: Delivery::Whole,
            body: BodyHash::from(0),
            attempt: 1,
            turns,
            turn: 0,
            messages: 1,
            messages_kept: 0,
            tools: None,
            messages_tokens: 1,
            tools_tokens: 0,
            results: Vec::new(),
            oddities: Vec::new(),
        };
        asked(&mut plain);
        Exchange {
            number: 1,
            run: None,
            started: Duration::ZERO,
            ended: Duration::ZERO,
            asked: Some(plain),
            outcome,
        }
    }

    fn called(call: ToolCall) -> Outcome {
        Outcome::Replied {
            said: Said {
                content: None,
                tool_calls: vec![call],
            },
            finish: FinishReason::ToolCalls,
            usage: Usage::default(),
        }
    }

    #[test]
    fn whatever_is_long_in_an_exchange_has_its_weight() {
        let short = || ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        };
        let odd = |oddity: Oddity| exchange(|asked| asked.oddities.push(oddity), Outcome::Aborted);
        let result = |call_id: Option<String>, text: String| {
            let seen = SeenResult {
                channel: Channel::Tool,
                call_id,
                text,
            };
            exchange(|asked| asked.results.push(seen), Outcome::Aborted)
        };
        let reply = |call: ToolCall| exchange(|_| (), called(call));
        let heavy = [
            odd(Oddity::UnknownParameters {
                names: vec![long()],
            }),
            odd(Oddity::MediaCountedAsText {
                kinds: vec![long()],
            }),
            odd(Oddity::ResultsAsUserText { ids: vec![long()] }),
            odd(Oddity::ResultsOutOfOrder { ids: vec![long()] }),
            odd(Oddity::CallWithoutResult { id: long() }),
            odd(Oddity::ResultOfUnknownCall { id: long() }),
            odd(Oddity::UndeclaredTool { name: long() }),
            odd(Oddity::NoValidArguments { tool: long() }),
            result(Some(long()), String::new()),
            result(None, long()),
            reply(ToolCall {
                id: long(),
                ..short()
            }),
            reply(ToolCall {
                name: long(),
                ..short()
            }),
            reply(ToolCall {
                arguments: long(),
                ..short()
            }),
        ];
        for exchange in heavy {
            assert!(exchange.weight() >= MIB, "{exchange}");
        }
    }

    #[test]
    fn of_more_than_the_log_holds_the_oldest_are_forgotten_by_their_bytes() {
        let log = Log::of_at_most(usize::MAX);
        let most = MOST_BYTES / MIB;
        for _ in 0..most + 8 {
            let names = vec![long()];
            let odd = Oddity::UnknownParameters { names };
            log.push(exchange(|asked| asked.oddities.push(odd), Outcome::Aborted));
        }
        assert_eq!(log.snapshot().len(), most - 1);
        assert_eq!(log.forgotten(), 9);
    }
}
