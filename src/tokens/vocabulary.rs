//! The tokens of `o200k_base` and their ranks, looked up where the build script laid them.

use super::layout::{NO_RANK, SHORT, kept, long_hash, long_slot, padded, short_key, short_slot};

static SHORT_KEYS: &[[u8; 8]] = include_bytes!(concat!(env!("OUT_DIR"), "/short_keys.bin"))
    .as_chunks()
    .0;
static SHORT_RANKS: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/short_ranks.bin"))
    .as_chunks()
    .0;
/// Part of the hash, rank, where the bytes begin, how many there are.
static LONG_SLOTS: &[[u8; 16]] = include_bytes!(concat!(env!("OUT_DIR"), "/long_slots.bin"))
    .as_chunks()
    .0;
static LONG_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/long_bytes.bin"));

/// The ranks of the tokens of two bytes, by these as a number.
static PAIR_RANKS: &[[u8; 4]] = include_bytes!(concat!(env!("OUT_DIR"), "/pair_ranks.bin"))
    .as_chunks()
    .0;

/// The rank of the token that `text[begin..end]` is, by which merges are ordered; or [`NO_RANK`].
#[inline]
pub(super) fn rank(text: &[u8], begin: usize, end: usize) -> u32 {
    if end - begin > SHORT {
        return long_rank(&text[begin..end]).unwrap_or(NO_RANK);
    }
    let slot = short_slot_of(key(text, begin, end));
    slot.map_or(NO_RANK, |slot| u32::from_le_bytes(SHORT_RANKS[slot]))
}

/// The same of two bytes.
#[inline]
pub(super) fn pair_rank(one: u8, other: u8) -> u32 {
    u32::from_le_bytes(PAIR_RANKS[usize::from(u16::from_le_bytes([one, other]))])
}

/// Whether `text[begin..end]` is a token.
#[inline]
pub(super) fn has(text: &[u8], begin: usize, end: usize) -> bool {
    if end - begin > SHORT {
        return long_rank(&text[begin..end]).is_some();
    }
    short_slot_of(key(text, begin, end)).is_some()
}

/// The key of `text[begin..end]`, read in one go where the text goes on behind it.
#[inline]
fn key(text: &[u8], begin: usize, end: usize) -> u64 {
    let length = end - begin;
    let bytes = match text[begin..].first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight) & !(u64::MAX << (8 * length)),
        None => padded(&text[begin..end]),
    };
    short_key(bytes, length)
}

/// Where a short token lies.
#[inline]
fn short_slot_of(key: u64) -> Option<usize> {
    let mask = SHORT_KEYS.len() - 1;
    let mut slot = short_slot(key) & mask;
    loop {
        // No token is empty, so no key is 0.
        match u64::from_le_bytes(SHORT_KEYS[slot]) {
            0 => return None,
            found if found == key => return Some(slot),
            _ => slot = (slot + 1) & mask,
        }
    }
}

fn long_rank(bytes: &[u8]) -> Option<u32> {
    let hash = long_hash(bytes);
    let mask = LONG_SLOTS.len() - 1;
    let mut at = long_slot(hash) & mask;
    loop {
        let slot = &LONG_SLOTS[at];
        let part = |index: usize| {
            let (parts, _) = slot.as_chunks::<4>();
            u32::from_le_bytes(parts[index])
        };
        let rank = part(1);
        if rank == NO_RANK {
            return None;
        }
        if part(0) == kept(hash) && part(3) as usize == bytes.len() {
            let begins = part(2) as usize;
            if LONG_BYTES.get(begins..begins + bytes.len()) == Some(bytes) {
                return Some(rank);
            }
        }
        at = (at + 1) & mask;
    }
}
