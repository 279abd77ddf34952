//! SIGINT, SIGTERM and SIGHUP, which end work that can be ended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::exit::{Failure, STOPPED};
use super::output;

/// How long work that was asked to stop has to come to its next step. Ending a command that was
/// started takes two seconds of it. What it then puts away, as rows that were paid for, may take
/// longer.
const FOR_WORK: Duration = Duration::from_secs(5);
/// The same where the next step waits for somebody else's input, and nothing is half done.
const FOR_INPUT: Duration = Duration::from_millis(300);
/// How long the last line has, which nobody may be reading.
const FOR_LAST_LINE: Duration = Duration::from_millis(100);

/// Whether somebody asked the process to stop; clones share the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    to_stop: AtomicBool,
    /// Whether the work has seen that, and ends by itself.
    is_seen: AtomicBool,
}

impl Interrupt {
    /// Listens for work in many steps. Where the next one does not come, as between reading a
    /// file that is no file and its first byte, the process ends all the same.
    pub(super) fn listen() -> Self {
        Self::and_then(|interrupt, _| interrupt.end_after(FOR_WORK))
    }

    /// Listens while input is read, which somebody may be typing.
    pub(super) fn listen_while_reading() -> Self {
        Self::and_then(|interrupt, _| interrupt.end_after(FOR_INPUT))
    }

    /// Listens on a thread of its own, so that work is heard that does not await, and tells `also`
    /// which signal it was; what comes after this returns is heard.
    pub(super) fn and_then(also: impl FnOnce(&Self, &str) + Send + 'static) -> Self {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        let (listening, until_listening) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    let interrupted = interrupted();
                    // Nobody waits for this any more only where nothing is left to interrupt.
                    let _ = listening.send(());
                    let name = interrupted.await;
                    heard.0.to_stop.store(true, Ordering::SeqCst);
                    also(&heard, name);
                });
            }
        });
        // An error says that the thread cannot listen; signals then end the process, as ever.
        let _ = until_listening.recv();
        interrupt
    }

    /// Ends work between two of its steps, if the process was asked to stop.
    ///
    /// # Errors
    /// [`Failure::Stopped`] if it was.
    pub(super) fn go_on(&self) -> Result<(), Failure> {
        if self.is_requested() {
            return Err(Failure::Stopped);
        }
        Ok(())
    }

    /// Whether the process was asked to stop. Who asks sees to the end.
    pub(super) fn is_requested(&self) -> bool {
        let is_requested = self.0.to_stop.load(Ordering::SeqCst);
        self.0.is_seen.fetch_or(is_requested, Ordering::SeqCst);
        is_requested
    }

    /// Ends the process, unless the work has seen by then that it is to stop. What is being
    /// written is beside its place, and not yet in it.
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody is left to ask: the work does not come to its next step"
    )]
    fn end_after(&self, grace: Duration) {
        std::thread::sleep(grace);
        if self.0.is_seen.load(Ordering::SeqCst) {
            return;
        }
        std::thread::spawn(|| output::note("stopped; what was waited for did not come"));
        std::thread::sleep(FOR_LAST_LINE);
        std::process::exit(i32::from(STOPPED));
    }
}

/// Listens for SIGINT, SIGTERM and SIGHUP from this call on; the future is the name of the first. It is
/// for calls within a runtime.
pub(super) fn interrupted() -> impl Future<Output = &'static str> {
    let signals = Signals::register();
    async {
        match signals {
            Ok(signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// SIGINT, SIGTERM and SIGHUP, heard from when they are registered.
#[cfg(unix)]
struct Signals {
    int: tokio::signal::unix::Signal,
    term: tokio::signal::unix::Signal,
    /// The terminal or the connection is gone, and nobody is left to end what was started.
    hup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn register() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(mut self) -> &'static str {
        tokio::select! {
            _ = self.int.recv() => "SIGINT",
            _ = self.term.recv() => "SIGTERM",
            _ = self.hup.recv() => "SIGHUP",
        }
    }
}

/// Ctrl-C.
#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn register() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(mut self) -> &'static str {
        self.0.recv().await;
        "Ctrl-C"
    }
}
