//! Whether one sample of times is longer than another: a test, an effect, and how sure it is.
//!
//! The test is the rank-sum test of Mann and Whitney (1947), two-sided, with the normal
//! approximation, the correction for ties and that for continuity: it asks nothing of the shape of
//! the distributions. The effect is the ratio of the medians, between the bounds of a percentile
//! bootstrap. Several comparisons are judged together by Holm's method (1979).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::stats::{Bootstrap, NoStatistic, Sample};

/// How much longer one sample is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// How many measurements there were before, and are now.
    pub n: (usize, usize),
    /// The median now, in terms of the median before.
    pub ratio: f64,
    /// The lower bound of the ratio, at 95 %.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// How probable ranks as uneven as these are, were both samples of one distribution.
    pub p: f64,
}

/// Why two samples cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoShift {
    /// There is no such statistic of one of them.
    #[error(transparent)]
    Statistic(#[from] NoStatistic),
    /// The first median is not above zero, so that nothing is so many times as long.
    #[error("the median was 0")]
    NoRatio,
}

impl Shift {
    /// The least measurements on each side; of fewer, the approximation says too little.
    pub const LEAST_N: usize = 10;

    /// Compares what was with what is; `bootstrap` says how the bounds of the ratio are drawn.
    ///
    /// # Errors
    /// [`NoShift`] for fewer than [`Shift::LEAST_N`] on a side, and for a median of zero.
    pub fn between(was: &Sample, is: &Sample, bootstrap: Bootstrap) -> Result<Self, NoShift> {
        for sample in [was, is] {
            sample.needs(Self::LEAST_N)?;
        }
        let (before, now) = (was.median()?, is.median()?);
        if before <= 0.0 {
            return Err(NoShift::NoRatio);
        }
        let (low, high) = ratio_interval((was, is), bootstrap)?;
        Ok(Self {
            n: (was.n(), is.n()),
            ratio: now / before,
            low,
            high,
            p: rank_sum(was.ascending(), is.ascending()),
        })
    }
}

/// The two-sided p of the rank-sum test of two ascending samples.
#[must_use]
pub fn rank_sum(first: &[f64], second: &[f64]) -> f64 {
    let (mut ranks, mut ties) = (0.0, 0.0);
    let (mut at_first, mut at_second) = (0, 0);
    while at_first < first.len() || at_second < second.len() {
        let least = match (first.get(at_first), second.get(at_second)) {
            (Some(x), Some(y)) => x.min(*y),
            (Some(only), None) | (None, Some(only)) => *only,
            (None, None) => break,
        };
        let of = |sample: &[f64], at: usize| {
            let rest = sample.get(at..).unwrap_or_default();
            rest.iter().take_while(|value| **value <= least).count()
        };
        let (in_first, in_second) = (of(first, at_first), of(second, at_second));
        let alike = as_f64(in_first + in_second);
        let before = as_f64(at_first + at_second);
        ranks += as_f64(in_first) * (before + f64::midpoint(alike, 1.0));
        ties += alike * alike * alike - alike;
        at_first += in_first;
        at_second += in_second;
    }
    let (n, m) = (as_f64(first.len()), as_f64(second.len()));
    let all = n + m;
    let statistic = ranks - n * f64::midpoint(n, 1.0);
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    // Where all values are tied nothing tells the samples apart, and of none there is no variance.
    if variance.is_nan() || variance <= 0.0 {
        return 1.0;
    }
    let distance = ((statistic - n * m / 2.0).abs() - 0.5).max(0.0);
    libm::erfc(distance / libm::sqrt(2.0 * variance)).min(1.0)
}

/// The p of several tests, each so that none of them is below some level by chance more often than
/// that level says, whichever of the tests have nothing to find.
#[must_use]
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|&a, &b| ps[a].total_cmp(&ps[b]));
    let mut adjusted = vec![1.0; ps.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((ps[at] * as_f64(ps.len() - rank)).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

fn ratio_interval(
    (was, is): (&Sample, &Sample),
    bootstrap: Bootstrap,
) -> Result<(f64, f64), NoShift> {
    let Bootstrap {
        seed,
        resamples,
        level,
    } = bootstrap;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let ratios = (0..resamples).map(|_| {
        let before = was.resampled_median(&mut rng);
        is.resampled_median(&mut rng) / before
    });
    // A sample with zeros in it can be drawn with a median of zero.
    let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
    let ratios = Sample::new(ratios)?;
    let outside = 1_000_u16.saturating_sub(level) / 2;
    Ok((ratios.quantile(outside)?, ratios.quantile(1_000 - outside)?))
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    fn p(a: &[f64], b: &[f64]) -> String {
        format!("{:.6}", rank_sum(a, b))
    }

    /// What `scipy.stats.mannwhitneyu(a, b, method="asymptotic")` of `SciPy` 1.17 gives.
    #[test]
    fn the_test_agrees_with_a_known_implementation() {
        let a = [19.0, 22.0, 16.0, 29.0, 24.0];
        let b = [20.0, 11.0, 17.0, 12.0];
        let ascending = |values: &[f64]| sample(values).ascending().to_vec();
        assert_eq!(p(&ascending(&a), &ascending(&b)), "0.111347");
        assert_eq!(
            p(&[1.0, 2.0, 2.0, 3.0, 4.0], &[2.0, 3.0, 3.0, 5.0, 6.0, 7.0]),
            "0.113903"
        );
    }

    #[test]
    fn equal_samples_and_empty_ones_are_told_apart_by_nothing() {
        assert_eq!(p(&[1.0, 1.0], &[1.0, 1.0]), "1.000000");
        assert_eq!(p(&[], &[1.0]), "1.000000");
        assert_eq!(p(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), "1.000000");
    }

    #[test]
    fn holm_multiplies_by_the_tests_that_are_left_and_never_falls() {
        let adjusted: Vec<String> = holm(&[0.01, 0.04, 0.03, 0.5])
            .iter()
            .map(|p| format!("{p:.2}"))
            .collect();
        assert_eq!(adjusted, ["0.04", "0.09", "0.09", "0.50"]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_longer_sample_has_a_ratio_above_one_within_its_bounds() {
        let before: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i) / 10.0).collect();
        let after: Vec<f64> = before.iter().map(|value| value * 1.2).collect();
        let shift =
            Shift::between(&sample(&before), &sample(&after), Bootstrap::default()).unwrap();
        assert_eq!(format!("{:.3}", shift.ratio), "1.200");
        assert!(
            shift.low < 1.2 && 1.2 < shift.high && shift.low > 1.05,
            "{shift:?}"
        );
        assert!(shift.p < 0.001, "{shift:?}");
        assert_eq!(shift.n, (20, 20));
    }

    #[test]
    fn too_few_measurements_and_a_median_of_zero_are_refused() {
        let (few, many) = (sample(&[1.0; 9]), sample(&[1.0; 10]));
        let refused = Shift::between(&few, &many, Bootstrap::default()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "n = 9 is too small: 10 measurements are needed"
        );
        let refused = Shift::between(&sample(&[0.0; 10]), &many, Bootstrap::default());
        assert_eq!(refused, Err(NoShift::NoRatio));
    }
}
