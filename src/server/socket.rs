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

/// A socket whose writes fail when the other side does not read for too long, or so slowly that
/// it might as well not.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    ending: Arc<Ending>,
    patience: Patience,
    /// Runs while a write makes no progress.
    giving_up: Option<Pin<Box<Sleep>>>,
}

/// So much must be read before the time spent on waiting for it is forgotten, in bytes: who reads
/// a byte now and then does not hold a connection for ever.
const ENOUGH: usize = 16 << 10;

/// How long a client may let us wait, and how long it has.
#[derive(Debug)]
struct Patience {
    most: Duration,
    /// Waited since the client last read enough.
    spent: Duration,
    /// Read in that time, in bytes.
    read: usize,
    /// Since when it has read nothing.
    since: Option<Instant>,
}

impl Patience {
    /// When it ends, nothing being read at `now`.
    fn waits(&mut self, now: Instant) -> Instant {
        let since = *self.since.get_or_insert(now);
        since + self.most.saturating_sub(self.spent)
    }

    /// The client has read so many bytes.
    fn is_rewarded(&mut self, bytes: usize, now: Instant) {
        if let Some(since) = self.since.take() {
            self.spent += now - since;
        }
        self.read += bytes;
        if self.read >= ENOUGH {
            (self.spent, self.read) = (Duration::ZERO, 0);
        }
    }
}

impl Socket {
    pub(super) fn new(stream: TcpStream, ending: Arc<Ending>, patience: Duration) -> Self {
        Self {
            stream,
            ending,
            patience: Patience {
                most: patience,
                spent: Duration::ZERO,
                read: 0,
                since: None,
            },
            giving_up: None,
        }
    }

    /// What a write came to, unless it has waited for too long.
    fn progress(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(done) = &written {
            self.giving_up = None;
            let bytes = done.as_ref().copied().unwrap_or(0);
            self.patience.is_rewarded(bytes, Instant::now());
            return written;
        }
        let end = self.patience.waits(Instant::now());
        let giving_up = self.giving_up.get_or_insert_with(|| Box::pin(timer(end)));
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience() -> Patience {
        Patience {
            most: SECOND * 30,
            spent: Duration::ZERO,
            read: 0,
            since: None,
        }
    }

    #[test]
    fn who_reads_a_byte_now_and_then_uses_the_patience_up() {
        let (mut patience, begun) = (patience(), Instant::now());
        let mut now = begun;
        let mut rounds = 0;
        while patience.waits(now) > now + SECOND * 10 {
            now += SECOND * 10;
            patience.is_rewarded(1, now);
            rounds += 1;
        }
        assert_eq!(rounds, 2, "the third wait of ten seconds is the last");
        assert_eq!(patience.waits(now), begun + SECOND * 30);
    }

    #[test]
    fn who_reads_enough_is_waited_for_anew() {
        let (mut patience, now) = (patience(), Instant::now());
        patience.waits(now);
        patience.is_rewarded(ENOUGH, now + SECOND * 29);
        let later = now + SECOND * 60;
        assert_eq!(patience.waits(later), later + SECOND * 30);
    }
}
