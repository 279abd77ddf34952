//! The tokens of `o200k_base` and their ranks, looked up where the build script laid them.

use super::layout::{NO_RANK, SHORT, long_hash, long_slot, padded, short_key, short_slot};

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

/// The rank of a token, by which merges are ordered; none where the bytes are no token.
pub(super) fn rank(bytes: &[u8]) -> Option<u32> {
    if bytes.len() <= SHORT {
        let key = short_key(padded(bytes), bytes.len());
        let rank = u32::from_le_bytes(SHORT_RANKS[short_slot_of(key)?]);
        return Some(rank);
    }
    long_rank(bytes)
}

/// Whether `text[begin..end]` is a token.
pub(super) fn has(text: &[u8], begin: usize, end: usize) -> bool {
    let length = end - begin;
    if length > SHORT {
        return long_rank(&text[begin..end]).is_some();
    }
    let bytes = match text[begin..].first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight) & !(u64::MAX << (8 * length)),
        None => padded(&text[begin..end]),
    };
    short_slot_of(short_key(bytes, length)).is_some()
}

/// Where a short token lies.
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
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a part of the hash is kept"
        )]
        if part(0) == hash as u32 && part(3) as usize == bytes.len() {
            let begins = part(2) as usize;
            if LONG_BYTES.get(begins..begins + bytes.len()) == Some(bytes) {
                return Some(rank);
            }
        }
        at = (at + 1) & mask;
    }
}
