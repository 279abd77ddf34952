//! An edition beside one that was checked before. The numbers stand in nearly the same order in
//! every translation, so that a wrong one shows even where it happens to be another known value.
//!
//! Not every difference is a mistake: one language writes in words what another writes in digits,
//! and turns a sentence round. A number that is only in one of the two is therefore no
//! contradiction, nor are two that changed places; one that stands for another is.

use rust_decimal::Decimal;

use super::edition::{Number, Standing};
use super::ledger::Ledger;
use super::near::{Slip, significant, slip, spelled};
use super::{Cause, Contradiction};

/// The most pairs of numbers that are compared.
const MOST_PAIRS: usize = 1 << 26;

/// How far a number may have moved, in steps of the alignment.
const MOVED: usize = 24;

/// Two editions with too many numbers between their first and last difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{numbers} numbers against {reference} of the reference are too many to align: check a chapter at a time"
)]
pub struct TooLong {
    /// Numbers of the edition.
    pub numbers: usize,
    /// Numbers of the reference.
    pub reference: usize,
}

/// How many numbers around one say that it stands where the reference has its own.
const AROUND: usize = 3;

/// One step of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The two are the same.
    Same,
    /// Number `new` stands where the reference has `old`.
    Pair { old: usize, new: usize },
    /// Only the reference has it.
    Old(usize),
    /// Only the edition has it.
    New(usize),
}

/// Marks the numbers that stand where the reference has another one.
///
/// # Errors
/// [`TooLong`].
pub(super) fn compare(
    numbers: &mut [Number],
    reference: &[Number],
    ledger: &Ledger,
) -> Result<(), TooLong> {
    let steps = steps(reference, numbers)?;
    let mut gaps = gaps(&steps);
    cancel_moved(&mut gaps, reference, numbers);
    for gap in gaps {
        for (old, new) in gap.pairs(reference, numbers, ledger) {
            if let (Some(old), Some(new)) = (reference.get(old), numbers.get_mut(new)) {
                new.standing = Standing::Contradicts(expected(old, ledger));
            }
        }
    }
    Ok(())
}

/// What the reference has.
fn expected(old: &Number, ledger: &Ledger) -> Contradiction {
    let quantities = match &old.standing {
        Standing::Covered(quantities) => quantities.as_slice(),
        _ => &[],
    };
    let expected = vec![old.text.clone()];
    Contradiction {
        expected,
        ..Contradiction::of(ledger, Cause::Reference, quantities)
    }
}

/// A stretch without a number that the two have in common.
#[derive(Debug, Default)]
struct Gap {
    /// Where it begins, in steps.
    at: usize,
    /// Whether it is one step, and the numbers around it are the same in both.
    firm: bool,
    old: Vec<usize>,
    new: Vec<usize>,
}

fn gaps(steps: &[Step]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut open = false;
    for (at, step) in steps.iter().enumerate() {
        let (old, new) = match *step {
            Step::Same => {
                open = false;
                continue;
            }
            Step::Pair { old, new } => (Some(old), Some(new)),
            Step::Old(old) => (Some(old), None),
            Step::New(new) => (None, Some(new)),
        };
        if !open {
            gaps.push(Gap {
                at,
                ..Gap::default()
            });
            open = true;
        }
        if let Some(gap) = gaps.last_mut() {
            gap.old.extend(old);
            gap.new.extend(new);
        }
    }
    for gap in &mut gaps {
        gap.firm = gap.is_firm(steps);
    }
    gaps
}

/// Takes out numbers that only changed places.
fn cancel_moved(gaps: &mut [Gap], reference: &[Number], numbers: &[Number]) {
    let is_moved = |old: usize, new: usize| match (reference.get(old), numbers.get(new)) {
        (Some(old), Some(new)) => is_unchanged(old, new),
        _ => false,
    };
    for from in 0..gaps.len() {
        let mut at = 0;
        while let Some(new) = gaps.get(from).and_then(|gap| gap.new.get(at)).copied() {
            let here = gaps.get(from).map_or(0, |gap| gap.at);
            let near = (from.saturating_sub(MOVED)..gaps.len())
                .take_while(|to| gaps.get(*to).is_some_and(|gap| gap.at <= here + MOVED));
            let near = near.filter(|to| gaps.get(*to).is_some_and(|gap| gap.at + MOVED >= here));
            let place = near.filter_map(|to| {
                let old = gaps
                    .get(to)?
                    .old
                    .iter()
                    .position(|old| is_moved(*old, new))?;
                Some((to, old))
            });
            match place.min_by_key(|(to, _)| to.abs_diff(from)) {
                Some((to, old)) => {
                    if let Some(gap) = gaps.get_mut(to) {
                        gap.old.remove(old);
                    }
                    if let Some(gap) = gaps.get_mut(from) {
                        gap.new.remove(at);
                    }
                }
                None => at += 1,
            }
        }
    }
}

impl Gap {
    /// Whether it is one step, with the same numbers on both sides or the end of the text.
    fn is_firm(&self, steps: &[Step]) -> bool {
        let (before, rest) = steps.split_at(self.at.min(steps.len()));
        let before = before.iter().rev().take(AROUND);
        let after = rest.iter().skip(1).take(AROUND);
        before.chain(after).all(|step| *step == Step::Same)
    }

    /// Which numbers stand for which of the reference.
    fn pairs(
        &self,
        reference: &[Number],
        numbers: &[Number],
        ledger: &Ledger,
    ) -> Vec<(usize, usize)> {
        let mut free = self.old.clone();
        let mut pairs = Vec::new();
        for new in &self.new {
            let Some(number) = numbers.get(*new) else {
                continue;
            };
            let stands_for = |old: &usize| {
                reference
                    .get(*old)
                    .is_some_and(|old| self.stands_for(number, old, ledger))
            };
            if let Some(at) = free.iter().position(stands_for) {
                pairs.push((free.remove(at), *new));
            }
        }
        pairs
    }

    /// Whether `new` is where `old` should be, and not a number of its own.
    fn stands_for(&self, new: &Number, old: &Number, ledger: &Ledger) -> bool {
        let other_unit = matches!((new.unit, old.unit), (Some(new), Some(old)) if new != old);
        if other_unit || old.is_same(new) {
            return false;
        }
        if new.key.is_some() && new.key == old.key {
            return true;
        }
        let telling = |number: &Number| significant(&number.digits()).len() >= 3;
        if self.old.len() == 1 && self.new.len() == 1 && telling(new) && telling(old) {
            return true;
        }
        if is_small(new) && is_small(old) {
            let one_each = self.old.len() == self.new.len();
            let has_unit = new.unit.is_some() || old.unit.is_some();
            let has_decimals = has_decimals(new) && has_decimals(old);
            let is_known = ledger.has_claim(&old.standing) || new.standing == old.standing;
            let is_meant = (one_each || has_unit || has_decimals) && is_known;
            return (self.firm || is_meant) && is_small_slip(new, old);
        }
        is_slip(new, old)
    }
}

/// Whether a number is one of those of which a text has many.
fn is_small(number: &Number) -> bool {
    significant(&number.digits()).len() <= 2
}

/// Whether a number is the one of the reference. What a program printed under a name does not
/// become one of the many small numbers of the prose.
fn is_unchanged(old: &Number, new: &Number) -> bool {
    let may_lose_name = !is_small(new) && (old.key.is_none() || new.key.is_none());
    old.is_same(new) && (old.key == new.key || may_lose_name)
}

fn has_decimals(number: &Number) -> bool {
    number.values.iter().any(|value| value.scale() > 0)
}

/// Whether a small number is a slip of another. Small numbers resemble each other, so that this
/// says little where what the reference has is no figure, and other numbers stand near.
fn is_small_slip(new: &Number, old: &Number) -> bool {
    let typed = |written: &Decimal, right: &Decimal| {
        let slip = slip(&written.to_string(), &right.to_string());
        matches!(slip, Some(Slip::Digit | Slip::Swapped))
    };
    let is_typed = new
        .values
        .iter()
        .any(|written| old.values.iter().any(|right| typed(written, right)));
    is_typed && new.key == old.key
}

/// Whether one slip makes the one of the other.
fn is_slip(new: &Number, old: &Number) -> bool {
    let spelled = |number: &Number| {
        number
            .values
            .iter()
            .map(|value| spelled(*value))
            .collect::<Vec<_>>()
    };
    let (written, right) = (spelled(new), spelled(old));
    let by_value = written
        .iter()
        .any(|written| right.iter().any(|right| slip(written, right).is_some()));
    by_value || slip(&new.digits(), &old.digits()).is_some()
}

/// The best alignment of two sequences of numbers.
fn steps(old: &[Number], new: &[Number]) -> Result<Vec<Step>, TooLong> {
    let same = |(old, new): &(&Number, &Number)| old.is_same(new) && old.key == new.key;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let middle = |rest: &[Number]| rest.len() - tail;
    let (rows, columns) = (middle(old_rest), middle(new_rest));
    if !can_be_compared(rows, columns) {
        return Err(TooLong {
            numbers: new.len(),
            reference: old.len(),
        });
    }
    let grid = Grid::fill(
        old_rest.get(..rows).unwrap_or_default(),
        new_rest.get(..columns).unwrap_or_default(),
    );
    let mut steps = vec![Step::Same; head];
    steps.extend(grid.path(head));
    steps.extend(std::iter::repeat_n(Step::Same, tail));
    Ok(steps)
}

/// Whether a grid of so many numbers on each side is small enough.
fn can_be_compared(rows: usize, columns: usize) -> bool {
    (rows + 1).saturating_mul(columns + 1) <= MOST_PAIRS
}

/// The way into a cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Same,
    Pair,
    Old,
    New,
}

/// Needleman and Wunsch's grid of the ways to align two sequences.
struct Grid {
    columns: usize,
    ways: Vec<Way>,
}

/// What a number that only one of the two has costs.
const ALONE: i64 = -2;

impl Grid {
    fn fill(old: &[Number], new: &[Number]) -> Self {
        let columns = new.len() + 1;
        let mut ways = vec![Way::New; columns];
        let mut above: Vec<i64> = (0_i64..).map(|at| at * ALONE).take(columns).collect();
        for number in old {
            let mut left = above.first().copied().unwrap_or(0) + ALONE;
            let mut row = vec![left];
            ways.push(Way::Old);
            for (other, pair) in new.iter().zip(above.windows(2)) {
                let &[diagonal, up] = pair else { continue };
                let (score, way) = likeness(number, other);
                let choices = [
                    (left + ALONE, Way::New),
                    (up + ALONE, Way::Old),
                    (diagonal + score, way),
                ];
                // Of equals the last.
                let best = choices.into_iter().max_by_key(|(score, _)| *score);
                let (score, way) = best.unwrap_or((0, Way::New));
                left = score;
                row.push(score);
                ways.push(way);
            }
            above = row;
        }
        Self { columns, ways }
    }

    fn path(&self, head: usize) -> Vec<Step> {
        let (mut old, mut new) = (
            (self.ways.len() / self.columns).saturating_sub(1),
            self.columns - 1,
        );
        let mut steps = Vec::new();
        while old > 0 || new > 0 {
            let way = self.ways.get(old * self.columns + new);
            let way = way.copied().unwrap_or(Way::New);
            old -= usize::from(way != Way::New);
            new -= usize::from(way != Way::Old);
            let (old, new) = (head + old, head + new);
            steps.push(match way {
                Way::Same => Step::Same,
                Way::Pair => Step::Pair { old, new },
                Way::Old => Step::Old(old),
                Way::New => Step::New(new),
            });
        }
        steps.reverse();
        steps
    }
}

/// How much two numbers look like the same one.
fn likeness(old: &Number, new: &Number) -> (i64, Way) {
    let keyed = old.key.is_some() && old.key == new.key;
    if is_unchanged(old, new) {
        return (if keyed { 6 } else { 4 }, Way::Same);
    }
    let other_unit = matches!((old.unit, new.unit), (Some(old), Some(new)) if old != new);
    let score = match (keyed, other_unit) {
        (true, _) => 1,
        (false, true) => -6,
        (false, false) if is_slip(new, old) => -1,
        (false, false) => -3,
    };
    (score, Way::Pair)
}

#[cfg(test)]
mod tests {
    use super::super::tests::edition;
    use super::*;

    fn numbers(text: &str) -> Vec<Number> {
        edition(text, &Ledger::default()).numbers
    }

    /// How the numbers of `new` are laid beside those of `old`: `=` for the same, `OLD>NEW`,
    /// `-OLD` and `+NEW`.
    fn aligned(old: &str, new: &str) -> String {
        let (old, new) = (numbers(old), numbers(new));
        let show = |step: &Step| match *step {
            Step::Same => "=".to_owned(),
            Step::Pair { old: o, new: n } => format!("{}>{}", old[o].text, new[n].text),
            Step::Old(at) => format!("-{}", old[at].text),
            Step::New(at) => format!("+{}", new[at].text),
        };
        let steps: Vec<String> = steps(&old, &new).unwrap().iter().map(show).collect();
        steps.join(" ")
    }

    #[test]
    fn numbers_are_laid_beside_those_that_look_most_like_them() {
        for (old, new, steps) in [
            ("1; 2; 3", "1; 2; 3", "= = ="),
            ("1; 5; 3", "1; 3", "= -5 ="),
            ("1; 3", "1; 5; 3", "= +5 ="),
            ("", "1; 2", "+1 +2"),
            ("1; 2", "", "-1 -2"),
            ("1; 5555; 3", "1; 22; 3", "= 5555>22 ="),
            ("1; $5555; 3", "1; 22 ms; 3", "= +22 -5555 ="),
            // A slip before any other, and the same before a slip.
            ("111; 5555", "112", "111>112 -5555"),
            ("111; 5555", "5556", "-111 5555>5556"),
            ("5555; 100", "5556", "5555>5556 -100"),
            ("111; 112", "112; 113", "-111 = +113"),
            ("111; 112", "112; 5555", "-111 = +5555"),
            // One name before one value.
            ("n=5 k=6", "k=7", "-5 6>7"),
            ("k=345", "345 k=678", "= +678"),
            // Of two that look as much alike the nearer to the end.
            ("5; 6", "7", "-5 6>7"),
        ] {
            assert_eq!(aligned(old, new), steps, "{old} / {new}");
        }
    }

    /// The best score of any alignment, by trying all.
    fn best(old: &[Number], new: &[Number]) -> i64 {
        match (old.split_first(), new.split_first()) {
            (None, _) => ALONE * i64::try_from(new.len()).unwrap(),
            (_, None) => ALONE * i64::try_from(old.len()).unwrap(),
            (Some((first, old_rest)), Some((other, new_rest))) => {
                let both = likeness(first, other).0 + best(old_rest, new_rest);
                let alone = best(old_rest, new).max(best(old, new_rest)) + ALONE;
                both.max(alone)
            }
        }
    }

    /// What an alignment scores, which has to go through both sequences.
    fn score(steps: &[Step], old: &[Number], new: &[Number]) -> i64 {
        let (mut at, mut total) = ((0, 0), 0);
        for step in steps {
            let (olds, news, score) = match step {
                Step::Same | Step::Pair { .. } => (1, 1, likeness(&old[at.0], &new[at.1]).0),
                Step::Old(_) => (1, 0, ALONE),
                Step::New(_) => (0, 1, ALONE),
            };
            at = (at.0 + olds, at.1 + news);
            total += score;
        }
        assert_eq!(at, (old.len(), new.len()));
        total
    }

    #[test]
    fn no_alignment_is_better_than_the_one_that_is_found() {
        let texts = "/1/2/1; 2/2; 1/12; 1; 2/1; 12; 12/$5; 6 ms/6 ms 1; $5/n=1 k=2/\
                     k=2 n=12 1/345; 346; 678/678; 345; $5";
        let all: Vec<Vec<Number>> = texts.split('/').map(numbers).collect();
        for (old, new) in all
            .iter()
            .flat_map(|old| all.iter().map(move |new| (old, new)))
        {
            let steps = steps(old, new).unwrap();
            assert_eq!(score(&steps, old, new), best(old, new));
        }
    }

    #[test]
    fn as_many_pairs_are_compared_as_fit() {
        assert!(can_be_compared(8191, 8191));
        assert!(!can_be_compared(8191, 8192));
        assert!(!can_be_compared(usize::MAX - 1, 1));
    }
}
