//! The key that clients must show.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A key that clients must show. Only its digest is kept, so that nothing here can give it away.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// A text that cannot be a key: an empty one would let everybody in, and a header carries nothing
/// but visible ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is one or more visible ASCII characters, without blanks")]
pub struct NotAKey;

impl Key {
    /// The key `text`.
    ///
    /// # Errors
    /// [`NotAKey`] where no client could send it, or every client would.
    pub fn new(text: &str) -> Result<Self, NotAKey> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NotAKey);
        }
        Ok(Self(digest(text.as_bytes())))
    }

    /// Whether `shown` is the key. The time it takes says nothing of how much of it is right.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        digest(shown).ct_eq(&self.0).into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_opens_with_itself_alone() {
        let key = Key::new("sesame").unwrap();
        assert!(key.is(b"sesame"));
        for wrong in [
            "",
            "s",
            "sesam",
            "sesame ",
            "Sesame",
            "sesamf",
            "sesamesesame",
        ] {
            assert!(!key.is(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn what_no_header_carries_and_what_everybody_would_send_is_no_key() {
        for text in ["", " ", "a b", "a\n", "a\u{0}", "schlüssel", "\u{7f}"] {
            assert_eq!(Key::new(text).err(), Some(NotAKey), "{text:?}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let shown = format!("{:?}", Key::new("sesame").unwrap());
        assert_eq!(shown, "[secret]");
    }
}
