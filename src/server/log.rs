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
