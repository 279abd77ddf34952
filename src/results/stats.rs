//! Statistics of repeated measurements; each comes with its n, and says when n is too small.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Thousandths of one: `500` is the median's place, `950` is 95 %.
pub type Thousandths = u16;

const ONE: usize = 1_000;

/// Measurements in ascending order, all of them finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    ascending: Vec<f64>,
}

/// Why there is no statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStatistic {
    /// Too few measurements to say this.
    #[error("n = {n} is too small: {needed} measurements are needed")]
    TooFew {
        /// How many there are.
        n: usize,
        /// How many this statistic needs.
        needed: usize,
    },
    /// A measurement is not a finite number.
    #[error("a measurement is not a finite number")]
    NotFinite,
    /// A quantile beyond one, or an interval that covers nothing or everything.
    #[error("{0} thousandths is out of range")]
    OutOfRange(Thousandths),
}

/// Between what bounds a value probably lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// How sure that is, in thousandths.
    pub level: Thousandths,
    /// How many measurements there were.
    pub n: usize,
}

/// How a bootstrap is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// The seed of the generator: the same seed gives the same interval.
    pub seed: u64,
    /// How many times the sample is drawn again.
    pub resamples: u32,
    /// How sure the interval is to be, in thousandths.
    pub level: Thousandths,
}

/// A 95 % interval from 2,000 draws.
impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            seed: 0,
            resamples: 2_000,
            level: 950,
        }
    }
}

impl Sample {
    /// A sample of these measurements, in any order.
    ///
    /// # Errors
    /// [`NoStatistic::NotFinite`] if one of them is not a finite number.
    pub fn new(mut measurements: Vec<f64>) -> Result<Self, NoStatistic> {
        if measurements.iter().any(|value| !value.is_finite()) {
            return Err(NoStatistic::NotFinite);
        }
        measurements.sort_by(f64::total_cmp);
        Ok(Self {
            ascending: measurements,
        })
    }

    /// How many measurements there are.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.ascending.len()
    }

    /// The measurements, the smallest first.
    #[must_use]
    pub fn ascending(&self) -> &[f64] {
        &self.ascending
    }

    /// The smallest.
    ///
    /// # Errors
    /// [`NoStatistic::TooFew`] if there is none.
    pub fn min(&self) -> Result<f64, NoStatistic> {
        self.ascending
            .first()
            .copied()
            .ok_or_else(|| self.too_few(1))
    }

    /// The largest.
    ///
    /// # Errors
    /// [`NoStatistic::TooFew`] if there is none.
    pub fn max(&self) -> Result<f64, NoStatistic> {
        self.ascending
            .last()
            .copied()
            .ok_or_else(|| self.too_few(1))
    }

    /// The arithmetic mean.
    ///
    /// # Errors
    /// [`NoStatistic::TooFew`] if there is no measurement, [`NoStatistic::NotFinite`] if the sum
    /// is too large.
    pub fn mean(&self) -> Result<f64, NoStatistic> {
        self.needs(1)?;
        let mean = self.ascending.iter().sum::<f64>() / as_f64(self.n());
        if mean.is_finite() {
            Ok(mean)
        } else {
            Err(NoStatistic::NotFinite)
        }
    }

    /// The median.
    ///
    /// # Errors
    /// [`NoStatistic::TooFew`] if there is no measurement.
    pub fn median(&self) -> Result<f64, NoStatistic> {
        self.quantile(500)
    }

    /// The value below which so many thousandths lie, between two measurements by their distance
    /// (Hyndman and Fan's type 7).
    ///
    /// # Errors
    /// [`NoStatistic::TooFew`] if so few measurements have no such tail: p95 needs 19.
    pub fn quantile(&self, place: Thousandths) -> Result<f64, NoStatistic> {
        let place_in_one = usize::from(place);
        if place_in_one > ONE {
            return Err(NoStatistic::OutOfRange(place));
        }
        let tail = place_in_one.min(ONE - place_in_one);
        let needed = if tail == 0 { 1 } else { ONE.div_ceil(tail) - 1 };
        self.needs(needed)?;
        Ok(interpolate(&self.ascending, place_in_one))
    }

    /// A percentile bootstrap interval of the median.
    ///
    /// # Errors
    /// [`NoStatistic::TooFew`] if even the smallest and the largest measurement do not enclose
    /// the median that surely (95 % needs 6), or if there are too few draws.
    pub fn median_interval(&self, bootstrap: Bootstrap) -> Result<Interval, NoStatistic> {
        let level = usize::from(bootstrap.level);
        if level == 0 || level >= ONE {
            return Err(NoStatistic::OutOfRange(bootstrap.level));
        }
        // All n on one side of the median: a chance of 2 × 2⁻ⁿ, which must not exceed 1 − level.
        let needed = 1 + ceil_log2(ONE.div_ceil(ONE - level));
        self.needs(needed)?;
        let mut rng = ChaCha8Rng::seed_from_u64(bootstrap.seed);
        let medians = (0..bootstrap.resamples).map(|_| self.resampled_median(&mut rng));
        let medians = Self::new(medians.collect())?;
        medians.needs(1)?;
        let outside = (ONE - level) / 2;
        Ok(Interval {
            low: interpolate(&medians.ascending, outside),
            high: interpolate(&medians.ascending, ONE - outside),
            level: bootstrap.level,
            n: self.n(),
        })
    }

    /// The median of as many measurements, drawn from these.
    pub(super) fn resampled_median(&self, rng: &mut ChaCha8Rng) -> f64 {
        let n = self.n();
        let mut drawn: Vec<f64> = (0..n).map(|_| self.ascending[below(n, rng)]).collect();
        drawn.sort_by(f64::total_cmp);
        interpolate(&drawn, ONE / 2)
    }

    pub(super) fn needs(&self, needed: usize) -> Result<(), NoStatistic> {
        if self.n() < needed {
            Err(self.too_few(needed))
        } else {
            Ok(())
        }
    }

    const fn too_few(&self, needed: usize) -> NoStatistic {
        NoStatistic::TooFew {
            n: self.n(),
            needed,
        }
    }
}

/// The 97.5 % quantile of the normal distribution, for intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// Between what bounds the share of something lies that was so `k` of `n` times: Wilson's score
/// interval of 95 %, which holds for small n and for shares of nothing and of everything.
///
/// # Errors
/// [`NoStatistic::TooFew`] if `n` is 0.
pub fn share_interval(k: usize, n: usize) -> Result<Interval, NoStatistic> {
    if n == 0 {
        return Err(NoStatistic::TooFew { n, needed: 1 });
    }
    let (count, z2) = (as_f64(n), Z * Z);
    let share = as_f64(k.min(n)) / count;
    let middle = share + z2 / (2.0 * count);
    let reach = Z * (share * (1.0 - share) / count + z2 / (4.0 * count * count)).sqrt();
    let scale = 1.0 + z2 / count;
    Ok(Interval {
        low: ((middle - reach) / scale).max(0.0),
        high: ((middle + reach) / scale).min(1.0),
        level: 950,
        n,
    })
}

/// The value at so many thousandths of the way; the caller has seen to it that there is one.
fn interpolate(ascending: &[f64], place: usize) -> f64 {
    let way = ascending.len().saturating_sub(1) * place;
    let (index, rest) = (way / ONE, way % ONE);
    match (ascending.get(index), ascending.get(index + 1)) {
        (Some(low), Some(high)) if rest > 0 => {
            // Of this form, so that between two equal values lies that value.
            low + (high - low) * (as_f64(rest) / as_f64(ONE))
        }
        (Some(value), _) => *value,
        (None, _) => f64::NAN,
    }
}

/// A number below `n`; the high half of a product is uniform to within n / 2⁶⁴.
fn below(n: usize, rng: &mut ChaCha8Rng) -> usize {
    let product = u128::from(rng.next_u64()) * (n as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

const fn ceil_log2(value: usize) -> usize {
    value.next_power_of_two().trailing_zeros() as usize
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(measurements: &[f64]) -> Sample {
        Sample::new(measurements.to_vec()).unwrap()
    }

    fn close(found: Result<f64, NoStatistic>, expected: f64) -> bool {
        found.is_ok_and(|found| (found - expected).abs() < 1e-12)
    }

    #[test]
    fn an_even_sample_has_its_median_in_the_middle() {
        let sample = sample(&[4.0, 1.0, 3.0, 2.0]);
        assert!(close(sample.median(), 2.5));
        assert!(close(sample.mean(), 2.5));
        assert!(close(sample.min(), 1.0));
        assert!(close(sample.max(), 4.0));
        assert!(close(sample.quantile(250), 1.75));
        assert!(close(sample.quantile(1_000), 4.0));
    }

    #[test]
    fn a_sample_that_is_too_small_says_what_it_needs() {
        let needs = |n: usize, place| sample(&vec![1.0; n]).quantile(place).err();
        assert_eq!(needs(0, 500), Some(NoStatistic::TooFew { n: 0, needed: 1 }));
        assert_eq!(needs(1, 500), None);
        assert_eq!(
            needs(18, 950),
            Some(NoStatistic::TooFew { n: 18, needed: 19 })
        );
        assert_eq!(needs(19, 950), None);
        assert_eq!(
            needs(98, 990),
            Some(NoStatistic::TooFew { n: 98, needed: 99 })
        );
        assert_eq!(needs(9, 1_001), Some(NoStatistic::OutOfRange(1_001)));
        let few = sample(&[1.0; 5]).median_interval(Bootstrap::default());
        assert_eq!(few, Err(NoStatistic::TooFew { n: 5, needed: 6 }));
        assert_eq!(
            few.unwrap_err().to_string(),
            "n = 5 is too small: 6 measurements are needed"
        );
        assert_eq!(Sample::new(vec![f64::NAN]), Err(NoStatistic::NotFinite));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_around_the_median() {
        let sample = sample(&[9.0, 10.0, 11.0, 10.5, 9.5, 10.2, 30.0]);
        let interval = sample.median_interval(Bootstrap::default()).unwrap();
        let again = sample.median_interval(Bootstrap::default()).unwrap();
        assert_eq!(interval, again);
        assert_eq!((interval.n, interval.level), (7, 950));
        let median = sample.median().unwrap();
        assert!(
            interval.low < median && median < interval.high,
            "{interval:?}"
        );
        let surer = Bootstrap {
            level: 500,
            ..Bootstrap::default()
        };
        let narrow = sample.median_interval(surer).unwrap();
        assert!(narrow.high - narrow.low < interval.high - interval.low);
    }

    #[test]
    fn an_interval_without_draws_or_without_a_level_is_refused() {
        let sample = sample(&[1.0; 8]);
        let none = Bootstrap {
            resamples: 0,
            ..Bootstrap::default()
        };
        assert!(matches!(
            sample.median_interval(none),
            Err(NoStatistic::TooFew { n: 0, .. })
        ));
        let sure = Bootstrap {
            level: 1_000,
            ..Bootstrap::default()
        };
        assert_eq!(
            sample.median_interval(sure),
            Err(NoStatistic::OutOfRange(1_000))
        );
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        let rounded = |k, n| {
            let interval = share_interval(k, n).unwrap();
            format!("{:.4} {:.4}", interval.low, interval.high)
        };
        // As statsmodels' `proportion_confint(k, n, method="wilson")` gives them.
        assert_eq!(rounded(0, 10), "0.0000 0.2775");
        assert_eq!(rounded(1, 46), "0.0038 0.1134");
        assert_eq!(rounded(5, 10), "0.2366 0.7634");
        assert_eq!(rounded(10, 10), "0.7225 1.0000");
        assert!(share_interval(0, 0).is_err());
    }

    proptest! {
        #[test]
        fn half_of_the_sample_lies_on_each_side_of_the_median(
            values in proptest::collection::vec(-1e9..1e9_f64, 1..40),
        ) {
            let median = sample(&values).median().unwrap();
            let below = values.iter().filter(|value| **value < median).count();
            let above = values.iter().filter(|value| **value > median).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }
    }
}
