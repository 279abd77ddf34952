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
    before: usize,
    /// Where it ends and the next begins.
    end: usize,
    /// The rank of it and the next together.
    rank: u32,
}

/// The same with a heap of pairs, in time that hardly exceeds the length.
fn merge_large(piece: &[u8], mut take: impl FnMut(usize)) {
    let mut parts: Vec<_> = (0..piece.len())
        .map(|at| Part {
            before: at.saturating_sub(1),
            end: at + 1,
            rank: NO_RANK,
        })
        .collect();
    let mut heap = BinaryHeap::new();
    for at in 0..piece.len() {
        offer(piece, &mut parts, &mut heap, at);
    }
    while let Some(Reverse((lowest, at))) = heap.pop() {
        // A part that was merged away has no rank, and one that has grown another.
        if parts[at].rank != lowest {
            continue;
        }
        let right = parts[at].end;
        let end = parts[right].end;
        parts[right].rank = NO_RANK;
        parts[at].end = end;
        if let Some(next) = parts.get_mut(end) {
            next.before = at;
        }
        offer(piece, &mut parts, &mut heap, at);
        if at > 0 {
            let before = parts[at].before;
            offer(piece, &mut parts, &mut heap, before);
        }
    }
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        take(part.end - at);
        at = part.end;
    }
}

/// Puts the pair that begins at `at` on the heap, if it is a token.
fn offer(
    piece: &[u8],
    parts: &mut [Part],
    heap: &mut BinaryHeap<Reverse<(u32, usize)>>,
    at: usize,
) {
    let next = parts.get(parts[at].end).map(|next| next.end);
    let rank = next.map_or(NO_RANK, |end| rank(piece, at, end));
    parts[at].rank = rank;
    if rank != NO_RANK {
        heap.push(Reverse((rank, at)));
    }
}
