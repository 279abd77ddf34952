//! What happens to a process: nothing, or at one of its moments its death, or a press of Stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loopmeter::clock::Signal;

use crate::chance::Chance;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accident {
    Death,
    Stop,
}

/// One process's fate. Its moments are the start and the end of everything that can be cut off.
#[derive(Clone)]
pub(crate) struct Fate {
    accident: Option<Accident>,
    left: Arc<AtomicU64>,
    dead: Arc<AtomicBool>,
    pub(crate) signal: Arc<Signal>,
}

impl Fate {
    pub(crate) fn none() -> Self {
        Self {
            accident: None,
            left: Arc::default(),
            dead: Arc::default(),
            signal: Arc::new(Signal::new()),
        }
    }

    pub(crate) fn random(chance: &mut Chance) -> Self {
        let accident = chance.one_of(&[Accident::Death, Accident::Death, Accident::Stop]);
        Self {
            accident: Some(accident),
            left: Arc::new(AtomicU64::new(chance.below(20))),
            ..Self::none()
        }
    }

    /// Another moment passes; false where the process is dead from here on.
    pub(crate) fn passes(&self) -> bool {
        if self.dead.load(Ordering::SeqCst) {
            return false;
        }
        let due = self.left.fetch_sub(1, Ordering::SeqCst) == 0;
        match self.accident {
            Some(Accident::Death) if due => self.dead.store(true, Ordering::SeqCst),
            Some(Accident::Stop) if due => self.signal.stop("somebody pressed Stop"),
            _ => {}
        }
        !self.is_dead()
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// The same for what awaits: a dead process never comes back from it.
    pub(crate) async fn moment(&self) {
        if !self.passes() {
            std::future::pending::<()>().await;
        }
    }
}
