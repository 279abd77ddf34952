//! From values to places, and the round numbers at an axis.

use plotters::coord::ranged1d::Ranged as _;
use plotters::coord::types::RangedCoordf64;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::scene::Px;

/// Where the values of an axis are on the canvas.
#[derive(Clone)]
pub(super) struct Scale {
    values: RangedCoordf64,
    ends: (Px, Px),
}

impl Scale {
    /// From 0 at the first end to `most` at the second one, wherever those are.
    pub(super) fn new(most: f64, ends: (Px, Px)) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        Self {
            values: RangedCoordf64::from(0.0..most),
            ends,
        }
    }

    /// Where a value is.
    pub(super) fn at(&self, value: f64) -> Px {
        self.values.map(&value, self.ends)
    }

    /// Where a number at the axis is.
    pub(super) fn at_tick(&self, tick: Decimal) -> Px {
        self.at(tick.to_f64().unwrap_or(0.0))
    }

    /// Its two ends, that of 0 first.
    pub(super) const fn ends(&self) -> (Px, Px) {
        self.ends
    }
}

/// Round numbers from 0 to `most`, `count` of them or fewer but not many fewer.
pub(super) fn ticks(most: f64, count: u32, whole: bool) -> Vec<Decimal> {
    let steps = (-9..=15).flat_map(|power| [1, 2, 5].map(|digit| step(digit, power)));
    let fits = |step: &Decimal| {
        let value = step.to_f64().unwrap_or(f64::MAX);
        let is_whole = !whole || step.fract().is_zero();
        is_whole && most / value < f64::from(count)
    };
    let Some(step) = steps.into_iter().find(fits) else {
        return Vec::new();
    };
    let all = (0..count).map(|index| (step * Decimal::from(index)).normalize());
    let inside = |tick: &Decimal| tick.to_f64().is_some_and(|tick| tick <= most * 1.000_001);
    all.take_while(inside).collect()
}

/// `digit` times a power of ten.
fn step(digit: i64, power: i32) -> Decimal {
    let scale = power.unsigned_abs();
    if power < 0 {
        return Decimal::new(digit, scale);
    }
    (0..power).fold(Decimal::from(digit), |step, _| step * Decimal::TEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(most: f64, count: u32, whole: bool) -> String {
        let ticks = ticks(most, count, whole);
        let texts: Vec<String> = ticks.iter().map(ToString::to_string).collect();
        texts.join(" ")
    }

    #[test]
    fn ticks_are_round_and_start_at_nothing() {
        assert_eq!(written(337_299.0, 5, false), "0 100000 200000 300000");
        assert_eq!(written(0.0517, 7, false), "0 0.01 0.02 0.03 0.04 0.05");
        assert_eq!(written(2.0, 6, true), "0 1 2");
        assert_eq!(written(3000.0, 7, false), "0 500 1000 1500 2000 2500 3000");
        assert_eq!(written(0.0, 5, false), "0");
    }

    #[test]
    fn an_axis_may_run_either_way() {
        assert_eq!(Scale::new(10.0, (100, 200)).at(5.0), 150);
        assert_eq!(Scale::new(10.0, (200, 100)).at(2.5), 175);
        assert_eq!(Scale::new(0.0, (0, 100)).at(0.0), 0);
    }
}
