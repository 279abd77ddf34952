//! A connection's socket: it loses patience with a client that does not read, and can be reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// How a connection ends, told to its socket from within a request.
#[derive(Debug, Default)]
pub(super) struct Ending {
    reset: AtomicBool,
}

impl Ending {
    /// The connection is to be reset, not closed.
    pub(super) fn reset(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }
}

/// A socket whose writes fail when the other side does not read for too long.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    ending: Arc<Ending>,
    patience: Duration,
    /// Runs while a write makes no progress.
    giving_up: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, ending: Arc<Ending>, patience: Duration) -> Self {
        Self {
            stream,
            ending,
            patience,
            giving_up: None,
        }
    }

    /// What a write came to, unless it has waited for too long.
    fn progress<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.giving_up = None;
            return written;
        }
        let patience = self.patience;
        let giving_up = self
            .giving_up
            .get_or_insert_with(|| Box::pin(timer(Instant::now() + patience)));
        ready!(giving_up.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

/// A timer in real time: sockets know no other.
pub(super) fn timer(at: Instant) -> Sleep {
    tokio::time::sleep_until(at)
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.ending.reset.load(Ordering::Relaxed) {
            // Where this fails, the connection is closed instead, which ends the request too.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.progress(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
