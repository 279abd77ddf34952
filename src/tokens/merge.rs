//! Byte-pair merges: how a piece that is no token by itself becomes tokens.
//!
//! Of all pairs of neighbours that together are a token, the one of the lowest rank is merged, the
//! leftmost of equals first, until there is none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::NO_RANK;
use super::vocabulary::{pair_rank, rank};

/// A piece of at most so many bytes is merged by looking through its pairs again and again.
const SMALL: usize = 64;

/// Hands the length of each token of `piece`, which is not empty, to `take`, in order.
pub(super) fn merge(piece: &[u8], take: impl FnMut(usize)) {
    if piece.len() <= SMALL {
        merge_small(piece, take);
    } else {
        merge_large(piece, take);
    }
}

fn merge_small(piece: &[u8], mut take: impl FnMut(usize)) {
    // Where each part begins, and the rank of it and the next together.
    let mut begins = [0_u8; SMALL + 1];
    let mut ranks = [NO_RANK; SMALL + 1];
    let mut parts = piece.len();
    for (begin, at) in begins[..=parts].iter_mut().zip(0..) {
        *begin = at;
    }
    for (rank, pair) in ranks.iter_mut().zip(piece.windows(2)) {
        *rank = pair_rank(pair[0], pair[1]);
    }
    while let Some(at) = lowest(&ranks[..parts]) {
        begins.copy_within(at + 2..=parts, at + 1);
        ranks.copy_within(at + 2..=parts, at + 1);
        parts -= 1;
        let pair = |at: usize| match begins[..=parts].get(at + 2) {
            Some(end) => rank(piece, usize::from(begins[at]), usize::from(*end)),
            None => NO_RANK,
        };
        ranks[at] = pair(at);
        if let Some(before) = at.checked_sub(1) {
            ranks[before] = pair(before);
        }
    }
    for part in begins[..=parts].windows(2) {
        take(usize::from(part[1] - part[0]));
    }
}

/// The first of the lowest ranks, where there is any.
fn lowest(ranks: &[u32]) -> Option<usize> {
    let (at, rank) = ranks.iter().enumerate().min_by_key(|(_, rank)| **rank)?;
    (*rank != NO_RANK).then_some(at)
}

/// A part of a long piece, at the byte at which it begins.
#[derive(Clone, Copy)]
struct Part {
    /// Where the part before begins; its own place for the first.
    before: u32,
    /// Where it ends and the next begins.
    end: u32,
    /// The rank of it and the next together.
    rank: u32,
}

/// The pairs that are tokens, the one to merge next on top.
type Pairs = BinaryHeap<Reverse<(u32, u32)>>;

/// A longer piece is merged in parts of this length, so that a word of many megabytes takes
/// memory for one part only. Where two parts meet, that can be a token or two more than the whole
/// would have; tokenizers that merge it whole take minutes for it, or give up.
const LARGEST: usize = 1 << 19;

/// The same with a heap of pairs, in time that hardly exceeds the length.
fn merge_large(piece: &[u8], mut take: impl FnMut(usize)) {
    for piece in piece.chunks(LARGEST) {
        merge_by_heap(piece, &mut take);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "no place exceeds LARGEST")]
fn merge_by_heap(piece: &[u8], take: &mut impl FnMut(usize)) {
    let length = piece.len() as u32;
    let part = |at: u32| Part {
        before: at.saturating_sub(1),
        end: at + 1,
        rank: NO_RANK,
    };
    let mut parts: Vec<_> = (0..length).map(part).collect();
    let mut pairs = Pairs::new();
    for at in 0..length {
        offer(piece, &mut parts, &mut pairs, at);
    }
    while let Some(Reverse((lowest, at))) = pairs.pop() {
        let part = parts[at as usize];
        // A part that was merged away has no rank, and one that has grown another.
        if part.rank != lowest {
            continue;
        }
        let right = &mut parts[part.end as usize];
        right.rank = NO_RANK;
        let end = right.end;
        parts[at as usize].end = end;
        if let Some(next) = parts.get_mut(end as usize) {
            next.before = at;
        }
        offer(piece, &mut parts, &mut pairs, at);
        if at > 0 {
            offer(piece, &mut parts, &mut pairs, part.before);
        }
    }
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let end = part.end as usize;
        take(end - at);
        at = end;
    }
}

/// Puts the pair that begins at `at` among the pairs, if it is a token.
fn offer(piece: &[u8], parts: &mut [Part], pairs: &mut Pairs, at: u32) {
    let next = parts.get(parts[at as usize].end as usize);
    let end = next.map(|next| next.end as usize);
    let rank = end.map_or(NO_RANK, |end| rank(piece, at as usize, end));
    parts[at as usize].rank = rank;
    if rank != NO_RANK {
        pairs.push(Reverse((rank, at)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The definition, by trying all pairs again after each merge.
    fn merged_slowly(piece: &[u8]) -> Vec<usize> {
        let mut ends: Vec<usize> = (0..=piece.len()).collect();
        loop {
            let pairs = ends.windows(3).enumerate();
            let ranks = pairs.map(|(at, ends)| (rank(piece, ends[0], ends[2]), at));
            match ranks.min() {
                Some((lowest, at)) if lowest != NO_RANK => drop(ends.remove(at + 1)),
                _ => return ends.windows(2).map(|ends| ends[1] - ends[0]).collect(),
            }
        }
    }

    fn lengths(merge: impl FnOnce(&mut dyn FnMut(usize))) -> Vec<usize> {
        let mut lengths = Vec::new();
        merge(&mut |length| lengths.push(length));
        lengths
    }

    fn holds(piece: &[u8]) {
        let slowly = merged_slowly(piece);
        let text = String::from_utf8_lossy(piece);
        assert_eq!(
            lengths(|take| merge_by_heap(piece, &mut { take })),
            slowly,
            "{text}"
        );
        assert_eq!(lengths(|take| merge(piece, take)), slowly, "{text}");
    }

    #[test]
    fn the_leftmost_pair_of_the_lowest_rank_is_merged_first_in_short_and_in_long_pieces() {
        let word = "antidisestablishmentarianismincomprehensibilities";
        for length in 1..=word.len() {
            holds(&word.as_bytes()[..length]);
        }
        for length in [SMALL - 1, SMALL, SMALL + 1, 3 * SMALL] {
            holds(&word.repeat(4).as_bytes()[..length]);
            holds(&[b'a'].repeat(length));
            holds(&"한국어".repeat(22).as_bytes()[..length]);
        }
    }

    proptest! {
        #[test]
        fn pieces_of_any_bytes_are_merged_as_the_definition_says(
            piece in prop_oneof![vec(any::<u8>(), 1..150), vec(b'a'..=b'f', 1..150), vec(b' '..=b'/', 1..150)]
        ) {
            holds(&piece);
        }
    }
}
