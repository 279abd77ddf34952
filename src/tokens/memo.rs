//! Pieces that were merged lately, and how many tokens came of them.
//!
//! Transcripts repeat themselves: the punctuation between two messages, a name that is no token.
//! Whole pieces are compared, so that a count stays exact, and what is kept is bounded.

use std::cell::Cell;

use super::layout::spread;

/// The longest piece that is kept, in bytes.
const MOST_BYTES: usize = 16;
/// How many pieces are kept for each thread, as a power of two; a newer one takes an older's place.
const BITS: u32 = 10;

#[derive(Clone, Copy)]
struct Entry {
    piece: u128,
    length: u8,
    tokens: u8,
}

const NOTHING: Entry = Entry {
    piece: 0,
    length: 0,
    tokens: 0,
};

thread_local! {
    static LATELY: [Cell<Entry>; 1 << BITS] = const { [const { Cell::new(NOTHING) }; 1 << BITS] };
}

/// The tokens of `piece`, which is not empty: as they are known, or as `count` finds them.
pub(super) fn tokens(piece: &[u8], count: impl FnOnce() -> u64) -> u64 {
    let Some((bytes, length)) = number(piece) else {
        return count();
    };
    LATELY.with(|lately| {
        let place = &lately[slot(bytes, length)];
        let known = place.get();
        if (known.piece, known.length) == (bytes, length) {
            return u64::from(known.tokens);
        }
        let counted = count();
        // A piece of so few bytes has as few tokens.
        if let Ok(tokens) = u8::try_from(counted) {
            place.set(Entry {
                piece: bytes,
                length,
                tokens,
            });
        }
        counted
    })
}

/// A piece as a number, and its length; none where it is too long.
fn number(piece: &[u8]) -> Option<(u128, u8)> {
    let mut bytes = [0; MOST_BYTES];
    bytes.get_mut(..piece.len())?.copy_from_slice(piece);
    let length = u8::try_from(piece.len()).ok()?;
    Some((u128::from_le_bytes(bytes), length))
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn slot(bytes: u128, length: u8) -> usize {
    let hash = spread(spread(bytes as u64 ^ u64::from(length)) ^ (bytes >> 64) as u64);
    (hash >> (64 - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_counted_again_and_what_differs_in_length_alone_is_not_known() {
        assert_eq!(tokens(b"x\0", || 7), 7);
        assert_eq!(tokens(b"x\0", || 8), 7);
        assert_eq!(tokens(b"x", || 9), 9);
        assert_eq!(tokens(b"x\0\0", || 10), 10);
    }

    #[test]
    fn a_long_piece_is_counted_each_time() {
        let long = [b'x'; MOST_BYTES + 1];
        assert_eq!(tokens(&long, || 3), 3);
        assert_eq!(tokens(&long, || 4), 4);
        let whole = &long[..MOST_BYTES];
        assert_eq!((tokens(whole, || 3), tokens(whole, || 4)), (3, 3));
    }
}
