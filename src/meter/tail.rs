//! What a command prints: shown as it comes, and the end of it kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Where what a command prints is shown, piece by piece, as it comes. While a place takes no more,
/// nothing more is read from the command, which waits as it would without us in between.
#[derive(Clone)]
pub struct Echo(Arc<tokio::sync::Mutex<dyn AsyncWrite + Send + Unpin>>);

impl Echo {
    /// Shows it in `place`.
    #[must_use]
    pub fn to(place: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Arc::new(tokio::sync::Mutex::new(place)))
    }

    /// Shows a piece, and returns when it has been taken. Who takes none any more misses it: the
    /// command is metered all the same.
    async fn show(&self, piece: &[u8]) {
        let mut place = self.0.lock().await;
        if place.write_all(piece).await.is_ok() {
            let _ = place.flush().await;
        }
    }

    /// Whether a piece is being taken.
    pub(super) fn is_busy(&self) -> bool {
        self.0.try_lock().is_err()
    }
}

/// The last bytes of what was printed, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    kept: VecDeque<u8>,
    bytes: u64,
}

/// How many bytes are kept.
const MOST_KEPT: usize = 64 << 10;

impl Tail {
    /// How many bytes were printed in all.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The last of them as text; what is not UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.kept.extend(bytes);
        let spare = self.kept.len().saturating_sub(MOST_KEPT);
        self.kept.drain(..spare);
    }
}

/// A tail that grows while it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Growing(Arc<Mutex<Tail>>);

impl Growing {
    /// Reads a pipe to its end, or until it breaks, which ends it as well.
    pub(super) async fn follow(self, pipe: Option<impl AsyncRead + Unpin>, echo: Option<Echo>) {
        let Some(mut pipe) = pipe else { return };
        let mut piece = vec![0; 8 << 10];
        while let Ok(read @ 1..) = pipe.read(&mut piece).await {
            let bytes = piece.get(..read).unwrap_or_default();
            self.tail().push(bytes);
            if let Some(echo) = &echo {
                echo.show(bytes).await;
            }
        }
    }

    /// How many bytes were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.tail().bytes()
    }

    /// What there is now.
    pub(super) fn take(&self) -> Tail {
        std::mem::take(&mut self.tail())
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept_and_all_is_counted() {
        let growing = Growing::default();
        let printed = vec![b'a'; 100_000].into_iter().chain(*b"the end");
        let printed: Vec<u8> = printed.collect();
        growing.clone().follow(Some(printed.as_slice()), None).await;
        let tail = growing.take();
        assert_eq!(tail.bytes(), 100_007);
        assert_eq!(tail.text().len(), MOST_KEPT);
        assert!(tail.text().ends_with("aathe end"));
    }

    #[tokio::test]
    async fn who_reads_slowly_is_shown_everything_in_order() {
        let printed: Vec<u8> = (0..30_000_u32).flat_map(u32::to_be_bytes).collect();
        let (place, mut reader) = tokio::io::duplex(16);
        let mut shown = Vec::new();
        let following = Growing::default().follow(Some(printed.as_slice()), Some(Echo::to(place)));
        let ((), read) = tokio::join!(following, reader.read_to_end(&mut shown));
        assert_eq!(read.unwrap(), printed.len());
        assert_eq!(shown, printed);
    }

    #[tokio::test]
    async fn what_nobody_takes_any_more_is_kept_all_the_same() {
        let (place, reader) = tokio::io::duplex(16);
        drop(reader);
        let growing = Growing::default();
        let printed = b"nobody listens".as_slice();
        growing
            .clone()
            .follow(Some(printed), Some(Echo::to(place)))
            .await;
        assert_eq!(growing.take().text(), "nobody listens");
    }

    #[test]
    fn what_is_not_text_is_replaced() {
        let mut tail = Tail::default();
        tail.push(b"ok \xff");
        assert_eq!(tail.text(), "ok \u{fffd}");
    }
}
