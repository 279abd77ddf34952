//! The end of what a command printed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Told what a command prints, piece by piece, as it comes.
pub type Echo = Arc<dyn Fn(&[u8]) + Send + Sync>;

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
            if let Some(echo) = &echo {
                echo(bytes);
            }
            let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tail.push(bytes);
        }
    }

    /// What there is now.
    pub(super) fn take(&self) -> Tail {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
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

    #[test]
    fn what_is_not_text_is_replaced() {
        let mut tail = Tail::default();
        tail.push(b"ok \xff");
        assert_eq!(tail.text(), "ok \u{fffd}");
    }
}
