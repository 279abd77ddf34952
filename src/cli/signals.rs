//! SIGINT and SIGTERM, which end work that can be ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked the process to stop; clones share the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on, on a thread of its own, for work that does not await.
    pub(super) fn listen() -> Self {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(interrupted());
                heard.0.store(true, Ordering::SeqCst);
            }
        });
        interrupt
    }

    /// Whether the process was asked to stop.
    pub(super) fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Waits for SIGINT or SIGTERM and returns its name.
#[cfg(unix)]
pub(super) async fn interrupted() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut int), Ok(mut term)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = int.recv() => "SIGINT",
        _ = term.recv() => "SIGTERM",
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(super) async fn interrupted() -> &'static str {
    match tokio::signal::ctrl_c().await {
        Ok(()) => "Ctrl-C",
        Err(_) => std::future::pending().await,
    }
}
