//! Program output that contradicts itself: where a line of it has the cost of one run, its small
//! counts must be that run's, although any of them alone could be another's.

use std::collections::BTreeSet;
use std::ops::Range;

use super::edition::{Number, Standing};
use super::ledger::{Ledger, Origin, Quantity};
use super::near::significant;
use super::{Cause, Contradiction};

/// How many characters may stand between two numbers of one line of output.
const CLOSE: usize = 24;

/// The significant digits by which a number tells one run from another.
const TELLING: usize = 3;

/// Marks counts that belong to another run than the numbers beside them.
pub(super) fn compare(numbers: &mut [Number], ledger: &Ledger) {
    for cluster in clusters(numbers) {
        let Some(line) = numbers.get(cluster.clone()) else {
            continue;
        };
        let groups = groups(line, ledger);
        let wrong: Vec<Option<Contradiction>> = line
            .iter()
            .map(|number| contradiction(number, &groups, ledger))
            .collect();
        for (number, wrong) in numbers.iter_mut().skip(cluster.start).zip(wrong) {
            if let Some(wrong) = wrong {
                number.standing = Standing::Contradicts(wrong);
            }
        }
    }
}

/// Numbers of one line that a program printed under different names, close to each other.
fn clusters(numbers: &[Number]) -> Vec<Range<usize>> {
    let mut clusters = Vec::new();
    let mut start = 0;
    for at in 1..=numbers.len() {
        let goes_on = matches!((numbers.get(at - 1), numbers.get(at)), (Some(last), Some(next)) if is_beside(last, next));
        if !goes_on {
            clusters.push(start..at);
            start = at;
        }
    }
    clusters.retain(|cluster| {
        let keys = numbers
            .get(cluster.clone())
            .unwrap_or_default()
            .iter()
            .filter_map(|number| number.key.as_deref());
        let all: Vec<&str> = keys.collect();
        all.len() > 1 && all.iter().collect::<BTreeSet<_>>().len() == all.len()
    });
    clusters
}

fn is_beside(last: &Number, next: &Number) -> bool {
    let between = next.glyphs.start.saturating_sub(last.glyphs.end);
    last.file == next.file && last.row == next.row && between <= CLOSE && last.key.is_some()
}

/// The runs that the telling numbers of a line belong to: the names of claims without their last
/// part.
fn groups<'l>(line: &[Number], ledger: &'l Ledger) -> BTreeSet<&'l str> {
    let telling = line
        .iter()
        .filter(|number| significant(&number.digits()).len() >= TELLING);
    let quantities = telling.flat_map(|number| match &number.standing {
        Standing::Covered(quantities) => quantities.as_slice(),
        _ => &[],
    });
    quantities
        .filter_map(|index| ledger.quantities().get(*index))
        .filter_map(group)
        .collect()
}

fn group(quantity: &Quantity) -> Option<&str> {
    let is_one = quantity.origin == Origin::Claim && quantity.alone;
    is_one.then(|| quantity.id.rsplit_once('.').map(|(group, _)| group))?
}

fn contradiction(
    number: &Number,
    groups: &BTreeSet<&str>,
    ledger: &Ledger,
) -> Option<Contradiction> {
    // Only a name tells that a number counts something.
    let unit = number.unit.filter(|unit| unit.is_count())?;
    let of_group = |quantity: &Quantity| {
        quantity.unit == Some(unit) && group(quantity).is_some_and(|group| groups.contains(group))
    };
    let known = ledger
        .quantities()
        .iter()
        .enumerate()
        .filter(|(_, quantity)| of_group(quantity));
    let expected: Vec<usize> = known.map(|(index, _)| index).collect();
    let is_one = |index: &usize| {
        ledger
            .quantities()
            .get(*index)
            .is_some_and(|quantity| number.values.contains(&quantity.value))
    };
    let wrong = !expected.is_empty() && !expected.iter().any(is_one);
    wrong.then(|| Contradiction::of(ledger, Cause::Neighbours, &expected))
}
