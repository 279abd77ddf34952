//! How the vocabulary is laid out: what the build script writes and the lookup reads.
//!
//! Both sides compile this file, so that they cannot disagree.

/// No token has this rank.
pub(crate) const NO_RANK: u32 = u32::MAX;
/// A token of at most so many bytes is a key by itself; a longer one is looked up by its hash.
pub(crate) const SHORT: usize = 7;
/// Slots for short tokens, as a power of two.
pub(crate) const SHORT_BITS: u32 = 18;
/// Slots for long tokens, as a power of two.
pub(crate) const LONG_BITS: u32 = 18;
/// How many characters share one entry of the first stage of the table of classes.
pub(crate) const BLOCK: usize = 256;

/// A capital, or a letter without case: `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
pub(crate) const UPPER: u8 = 1;
/// A small letter, or one without case: `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
pub(crate) const LOWER: u8 = 2;
/// `\p{M}`, which is not in `\p{L}`.
pub(crate) const MARK: u8 = 4;
/// `\p{N}`.
pub(crate) const NUMBER: u8 = 8;
/// `\s`, but for line ends.
pub(crate) const BLANK: u8 = 16;
/// `[\r\n]`.
pub(crate) const LINE_END: u8 = 32;
/// Whatever is none of these.
pub(crate) const SIGN: u8 = 64;

/// Spreads a number over all bits. The factor is 2^64 over the golden ratio, as in Fibonacci
/// hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
pub(crate) const fn spread(number: u64) -> u64 {
    let product = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}

/// The key of at most [`SHORT`] bytes, given as the low bytes of a number. No two texts share one.
pub(crate) const fn short_key(bytes: u64, length: usize) -> u64 {
    bytes | (length as u64) << 56
}

/// The slot in which a short token is looked for first.
pub(crate) const fn short_slot(key: u64) -> usize {
    (spread(key) >> (64 - SHORT_BITS)) as usize
}

/// The hash of a long token.
pub(crate) fn long_hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let hash = words.fold(bytes.len() as u64, |hash, word| {
        spread(hash ^ word).rotate_left(29)
    });
    spread(hash ^ padded(rest))
}

/// The part of a hash that is kept beside a token; the rest chose the slot.
pub(crate) const fn kept(hash: u64) -> u32 {
    (hash & 0xFFFF_FFFF) as u32
}

/// The slot in which a long token is looked for first.
pub(crate) const fn long_slot(hash: u64) -> usize {
    (hash >> (64 - LONG_BITS)) as usize
}

/// At most eight bytes as a number.
pub(crate) fn padded(bytes: &[u8]) -> u64 {
    let rev = bytes.iter().rev();
    rev.fold(0, |number, byte| number << 8 | u64::from(*byte))
}
