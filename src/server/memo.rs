//! Token counts of texts that come again: a conversation sends all of its messages at every turn.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::tokens::{self, JsonCost, RunningCount};

/// The hash under which a text is remembered.
pub(super) fn hash(bytes: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let (half, _) = digest.split_at(16);
    half.iter()
        .fold(0, |hash, byte| hash << 8 | u128::from(*byte))
}

/// Counts, remembered by the hash of the text.
#[derive(Debug, Default)]
pub(super) struct Memo {
    texts: Remembered<u64>,
    messages: Remembered<Option<JsonCost>>,
}

impl Memo {
    /// The tokens of a text.
    pub(super) fn text(&self, text: &str) -> u64 {
        let key = hash(text.as_bytes());
        self.texts.get_or(key, || tokens::count(text))
    }

    /// The tokens of the JSON array of these messages, which come with their hashes.
    pub(super) fn messages(&self, messages: &[(u128, String)]) -> u64 {
        let mut running = RunningCount::new();
        for (key, json) in messages {
            let Some(cost) = self.messages.get_or(*key, || JsonCost::of(json)) else {
                return recount(messages);
            };
            running.push_cost(cost);
        }
        running.tokens()
    }
}

/// Values by hash. When it is full, all that was not asked for since it was last full is
/// forgotten.
#[derive(Debug)]
struct Remembered<T> {
    generations: Mutex<Generations<T>>,
}

#[derive(Debug)]
struct Generations<T> {
    young: BTreeMap<u128, T>,
    old: BTreeMap<u128, T>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        let (young, old) = (BTreeMap::new(), BTreeMap::new());
        Self {
            generations: Mutex::new(Generations { young, old }),
        }
    }
}

const MOST_YOUNG: usize = 1 << 16;

impl<T: Copy> Remembered<T> {
    /// The value under `key`; where it is not known, `count` finds it, outside the lock.
    fn get_or(&self, key: u128, count: impl FnOnce() -> T) -> T {
        if let Some(known) = self.lock().get(key) {
            return known;
        }
        let counted = count();
        self.lock().insert(key, counted);
        counted
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        let lock = self.generations.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy> Generations<T> {
    fn get(&mut self, key: u128) -> Option<T> {
        if let Some(known) = self.young.get(&key) {
            return Some(*known);
        }
        let known = self.old.remove(&key)?;
        self.insert(key, known);
        Some(known)
    }

    fn insert(&mut self, key: u128, value: T) {
        if self.young.len() >= MOST_YOUNG {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

/// The tokens of an array that cannot be counted message by message.
fn recount(messages: &[(u128, String)]) -> u64 {
    let texts: Vec<_> = messages.iter().map(|(_, json)| json.as_str()).collect();
    tokens::count(&format!("[{}]", texts.join(",")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hashed(texts: &[&str]) -> Vec<(u128, String)> {
        let hashed = |text: &&str| (hash(text.as_bytes()), (*text).to_owned());
        texts.iter().map(hashed).collect()
    }

    #[test]
    fn a_text_is_counted_right_the_second_time_too() {
        let memo = Memo::default();
        let object = r#"{"role":"user","content":"?"}"#;
        for _ in 0..2 {
            assert_eq!(memo.text(object), tokens::count(object));
            let array = tokens::count(&format!("[{object},{object}]"));
            assert_eq!(memo.messages(&hashed(&[object, object])), array);
        }
    }

    proptest! {
        #[test]
        fn any_messages_cost_what_a_recount_says(
            texts in proptest::collection::vec(
                prop_oneof![
                    Just(r#"{"role":"user","content":"why?"}"#),
                    Just(r#"{"":1}"#),
                    Just(r#"{"1":"x","role":"user"}"#),
                    Just("{}"),
                    Just(r#"{"é":"?"}"#),
                    Just(r#"{"content":"?","role":"user"}"#),
                ],
                1..6,
            )
        ) {
            let messages = hashed(&texts);
            prop_assert_eq!(Memo::default().messages(&messages), recount(&messages));
        }
    }
}
