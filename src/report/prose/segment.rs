//! Deciding which groups of digits are one number, by what is known and not by habit.

use std::collections::BTreeMap;
use std::ops::Range;

use rust_decimal::Decimal;

use super::characters::Separator;
use super::ledger::Ledger;
use super::near::Slip;
use super::reading::{DecimalMark, readings};
use super::scan::Run;
use super::text::Glyph;
use super::unit::{Surroundings, Unit, surroundings};

/// The most pieces between two places where a list can be split that one number spans.
const MOST_ATOMS: usize = 5;

/// What a number turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Quantities of the ledger.
    As(Vec<usize>),
    /// Nothing, but close to these.
    Near(Slip, Vec<usize>),
    /// Nothing.
    Nothing,
}

/// A number of a run.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Where it stands among the glyphs.
    pub(super) range: Range<usize>,
    /// The values that it can have: those that are known, or else all.
    pub(super) values: Vec<Decimal>,
    pub(super) around: Surroundings,
    pub(super) known: Known,
}

impl Piece {
    /// How little is explained: nothing for what is known, and more for each group that is not.
    /// A number that is nearly known explains less than two that are known.
    fn cost(&self, groups: usize) -> usize {
        match self.known {
            Known::As(_) => 0,
            Known::Near(..) => 2,
            Known::Nothing => 3 * groups,
        }
    }
}

/// A slip, and the quantities that it is a slip of.
type NearMiss = (Slip, Vec<usize>);

/// Reads runs against a ledger.
pub(super) struct Segmenter<'l> {
    ledger: &'l Ledger,
    mark: Option<DecimalMark>,
    /// What was looked up before, because a text repeats its numbers.
    near: BTreeMap<(Decimal, Option<Unit>), Option<NearMiss>>,
}

impl<'l> Segmenter<'l> {
    pub(super) const fn new(ledger: &'l Ledger, mark: Option<DecimalMark>) -> Self {
        Self {
            ledger,
            mark,
            near: BTreeMap::new(),
        }
    }

    /// The numbers of a run: of all ways to split it, the one that is best explained, and of
    /// those the one with the fewest numbers.
    pub(super) fn pieces(&mut self, glyphs: &[Glyph], run: &Run) -> Vec<Piece> {
        let atoms = self.atoms(run);
        // The best way to read the first so many atoms: its cost, and its last piece.
        let mut best: Vec<(usize, Option<(usize, Piece)>)> = vec![(0, None)];
        for end in 1..=atoms.len() {
            let mut chosen: Option<(usize, usize, Piece)> = None;
            for start in (end.saturating_sub(MOST_ATOMS)..end).rev() {
                let (Some(first), Some(last), Some((before, _))) =
                    (atoms.get(start), atoms.get(end - 1), best.get(start))
                else {
                    continue;
                };
                let part = first.start..last.end;
                let piece = self.piece(glyphs, run, &part);
                let cost = before + 1 + piece.cost(part.len());
                if chosen.as_ref().is_none_or(|(least, ..)| cost <= *least) {
                    chosen = Some((cost, start, piece));
                }
            }
            best.extend(chosen.map(|(cost, start, piece)| (cost, Some((start, piece)))));
        }
        let mut pieces = Vec::new();
        let mut at = atoms.len();
        while let Some((start, piece)) = best.get_mut(at).and_then(|(_, last)| last.take()) {
            pieces.push(piece);
            at = start;
        }
        pieces.reverse();
        pieces
    }

    /// The groups between places where two numbers can meet.
    fn atoms(&self, run: &Run) -> Vec<Range<usize>> {
        let count = run.groups.len();
        let mut atoms = Vec::new();
        let mut start = 0;
        for (at, separator) in run.separators.iter().enumerate() {
            let next = run.groups.get(at + 1).map_or(0, |group| group.digits.len());
            // Where a point begins fractions, a comma before anything but three digits is one
            // of a list.
            let of_list = *separator == Separator::Comma
                && self.mark == Some(DecimalMark::Point)
                && next != 3;
            if separator.separates(count) || of_list {
                atoms.push(start..at + 1);
                start = at + 1;
            }
        }
        atoms.push(start..count);
        atoms
    }

    fn piece(&mut self, glyphs: &[Glyph], run: &Run, part: &Range<usize>) -> Piece {
        let range = span(run, part);
        let around = surroundings(glyphs, &range);
        let values = readings(run, part, self.mark);
        let mut known = Vec::new();
        let mut right = Vec::new();
        for value in &values {
            let found = self.ledger.matching(*value, around.unit);
            let found: Vec<usize> = found
                .into_iter()
                .filter(|index| values.len() == 1 || !self.adds_digits(*value, around.unit, *index))
                .collect();
            if !found.is_empty() {
                right.push(*value);
                known.extend(found);
            }
        }
        known.dedup();
        if !known.is_empty() {
            return Piece {
                range,
                values: right,
                around,
                known: Known::As(known),
            };
        }
        let rounded = self.rounded(run, part, &values, around.unit);
        if !rounded.is_empty() {
            return Piece {
                range,
                values,
                around,
                known: Known::As(rounded),
            };
        }
        let spaced = run
            .separators
            .get(part.start..part.end - 1)
            .unwrap_or_default()
            .contains(&Separator::Space);
        // Two numbers with a blank between them often differ from a third by a digit.
        let is_likely = |slip: Slip| !spaced || matches!(slip, Slip::Digit | Slip::Swapped);
        let near = values.iter().find_map(|value| {
            self.near(*value, around.unit)
                .filter(|(slip, _)| is_likely(*slip))
        });
        let known = near.map_or(Known::Nothing, |(slip, indices)| Known::Near(slip, indices));
        Piece {
            range,
            values,
            around,
            known,
        }
    }

    /// The claims that a number is, rounded to the digits that it shows: only seconds and powers
    /// of ten say that they may be rounded, as `6.9 s` and `33.7万` do.
    fn rounded(
        &self,
        run: &Run,
        part: &Range<usize>,
        values: &[Decimal],
        unit: Option<Unit>,
    ) -> Vec<usize> {
        let power = run.power.filter(|_| part.end == run.groups.len());
        if power.is_none() && unit != Some(Unit::Seconds) {
            return Vec::new();
        }
        let exponent = power.map_or(0, |power| power.exponent);
        let claims = values
            .iter()
            .flat_map(|value| self.ledger.rounded(*value, exponent, unit));
        claims.collect()
    }

    /// Whether a reading has more decimals than were published: it is then the other reading
    /// that was meant. Milliseconds have three more in seconds.
    fn adds_digits(&self, value: Decimal, unit: Option<Unit>, index: usize) -> bool {
        let moved = if unit == Some(Unit::Seconds) { 3 } else { 0 };
        let known = self.ledger.quantities().get(index);
        known.is_some_and(|quantity| value.scale() > quantity.value.scale() + moved)
    }

    fn near(&mut self, value: Decimal, unit: Option<Unit>) -> Option<NearMiss> {
        let ledger = self.ledger;
        self.near
            .entry((value, unit))
            .or_insert_with(|| ledger.near(value, unit))
            .clone()
    }
}

/// Where the groups `part` of a run stand.
fn span(run: &Run, part: &Range<usize>) -> Range<usize> {
    let start = run
        .groups
        .get(part.start)
        .map_or(0, |group| group.range.start);
    let end = part
        .end
        .checked_sub(1)
        .and_then(|last| run.groups.get(last))
        .map_or(start, |group| group.range.end);
    let power = run.power.filter(|_| part.end == run.groups.len());
    start..end + power.map_or(0, |power| power.glyphs)
}
