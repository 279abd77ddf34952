//! The signals by which the system, or somebody at the terminal, ends a verb.

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
