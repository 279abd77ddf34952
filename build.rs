//! Prepares what counting needs, so that it need not be prepared at every start: the vocabulary of
//! `o200k_base` as tables that are looked up where they lie, and the classes of all characters.
//!
//! Both come from the crates that define them: the ranks from tiktoken-rs, the classes from the
//! engine that runs its regular expression. Experiments, scenarios and languages are embedded in the
//! library, too, which is rebuilt when they change.

#[path = "src/tokens/layout.rs"]
mod layout;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use layout::{
    BLANK, BLOCK, LINE_END, LONG_BITS, LOWER, MARK, NO_RANK, NUMBER, SHORT, SHORT_BITS, SIGN,
    UPPER, kept, long_hash, long_slot, padded, short_key, short_slot,
};
use regex_syntax::hir::{Class, HirKind};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[expect(
    clippy::disallowed_methods,
    reason = "where to write is told in the environment"
)]
fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=experiments");
    println!("cargo:rerun-if-changed=locales");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/tokens/layout.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let tokens = tokens()?;
    let (keys, ranks) = short_table(&tokens)?;
    fs::write(out.join("short_keys.bin"), keys)?;
    fs::write(out.join("short_ranks.bin"), ranks)?;
    fs::write(out.join("pair_ranks.bin"), pair_table(&tokens))?;
    let (slots, bytes) = long_table(&tokens)?;
    fs::write(out.join("long_slots.bin"), slots)?;
    fs::write(out.join("long_bytes.bin"), bytes)?;
    let (blocks, classes) = classes()?;
    fs::write(out.join("class_blocks.bin"), blocks)?;
    fs::write(out.join("classes.bin"), classes)?;
    Ok(())
}

/// The bytes of every token, by rank.
fn tokens() -> Result<Vec<Vec<u8>>> {
    let encoding = tiktoken_rs::o200k_base()?;
    let tokens = (0..).map_while(|rank| encoding.decode_bytes(&[rank]).ok());
    // The first rank without a token ends the vocabulary; control tokens have ranks of their own.
    let tokens: Vec<_> = tokens.collect();
    let singles = tokens.iter().filter(|token| token.len() == 1).count();
    if singles != 256 {
        return Err(format!("{singles} of the 256 bytes are tokens").into());
    }
    Ok(tokens)
}

/// The first free slot from `at` on.
fn free(slots: &[u32], at: usize) -> Result<usize> {
    let mask = slots.len() - 1;
    (at..at + slots.len())
        .map(|slot| slot & mask)
        .find(|slot| slots[*slot] == NO_RANK)
        .ok_or_else(|| "the table is full".into())
}

/// Keys and ranks of the short tokens.
fn short_table(tokens: &[Vec<u8>]) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut keys = vec![0_u64; 1 << SHORT_BITS];
    let mut ranks = vec![NO_RANK; 1 << SHORT_BITS];
    for (rank, token) in (0_u32..)
        .zip(tokens)
        .filter(|(_, token)| token.len() <= SHORT)
    {
        let key = short_key(padded(token), token.len());
        let slot = free(&ranks, short_slot(key))?;
        (keys[slot], ranks[slot]) = (key, rank);
    }
    Ok((
        keys.into_iter().flat_map(u64::to_le_bytes).collect(),
        ranks.into_iter().flat_map(u32::to_le_bytes).collect(),
    ))
}

/// The ranks of the tokens of two bytes, which are asked for most.
fn pair_table(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut ranks = vec![NO_RANK; 1 << 16];
    for (rank, token) in (0_u32..).zip(tokens) {
        if let [one, other] = token[..] {
            ranks[usize::from(u16::from_le_bytes([one, other]))] = rank;
        }
    }
    ranks.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Slots of the long tokens, each a part of the hash, the rank, where the bytes begin and how many
/// there are; and the bytes.
fn long_table(tokens: &[Vec<u8>]) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut ranks = vec![NO_RANK; 1 << LONG_BITS];
    let mut slots = vec![[0, NO_RANK, 0, 0]; 1 << LONG_BITS];
    let mut bytes = Vec::new();
    for (rank, token) in (0_u32..)
        .zip(tokens)
        .filter(|(_, token)| token.len() > SHORT)
    {
        let hash = long_hash(token);
        let slot = free(&ranks, long_slot(hash))?;
        ranks[slot] = rank;
        let begins = u32::try_from(bytes.len())?;
        let length = u32::try_from(token.len())?;
        slots[slot] = [kept(hash), rank, begins, length];
        bytes.extend_from_slice(token);
    }
    let slots = slots.into_iter().flatten();
    Ok((slots.flat_map(u32::to_le_bytes).collect(), bytes))
}

/// The classes of all characters in two stages: the block of each [`BLOCK`] characters, and the
/// classes of each block.
fn classes() -> Result<(Vec<u8>, Vec<u8>)> {
    let mut classes = vec![0_u8; 0x11_0000];
    for (pattern, class) in [
        (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", UPPER),
        (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", LOWER),
        (r"\p{M}", MARK),
        (r"\p{N}", NUMBER),
        (r"[\s--[\r\n]]", BLANK),
        (r"[\r\n]", LINE_END),
        (r"[^\s\p{L}\p{M}\p{N}]", SIGN),
    ] {
        for (first, last) in ranges(pattern)? {
            for character in first..=last {
                classes[character as usize] |= class;
            }
        }
    }
    let mut known = BTreeMap::new();
    let (mut blocks, mut distinct) = (Vec::new(), Vec::new());
    for block in classes.chunks(BLOCK) {
        let next = u8::try_from(known.len())?;
        let number = *known.entry(block).or_insert_with(|| {
            distinct.extend_from_slice(block);
            next
        });
        blocks.push(number);
    }
    Ok((blocks, distinct))
}

/// The characters that a pattern of one character matches.
fn ranges(pattern: &str) -> Result<Vec<(char, char)>> {
    let hir = regex_syntax::parse(pattern)?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges().iter();
            Ok(ranges.map(|range| (range.start(), range.end())).collect())
        }
        _ => Err(format!("{pattern} is no class of characters").into()),
    }
}
