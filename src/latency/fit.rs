//! Fitting by maximum likelihood, and how far the fit is from what was measured.

use std::fmt;

use super::special::{digamma, gamma_below, normal_below, trigamma};
use crate::results::stats::Sample;
use crate::scenario::{Latency, LatencyError};

/// Newton's method doubles its digits at each step; more steps than this change none.
const STEPS: u32 = 60;

/// A distribution with its parameters, rounded as they are printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Log-normal.
    LogNormal {
        /// The median in milliseconds.
        median_ms: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Gamma.
    Gamma {
        /// The mean in milliseconds.
        mean_ms: f64,
        /// The shape.
        shape: f64,
    },
}

/// A distribution and how far it is from what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The distribution.
    pub law: Law,
    /// The Kolmogorov–Smirnov distance: the most by which the share of values below a time differs
    /// from the share that the distribution has there.
    pub ks: f64,
}

/// Both kinds of distributions, fitted to the same values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Log-normal.
    pub log_normal: Fitted,
    /// Gamma.
    pub gamma: Fitted,
}

/// Why nothing is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// One value has no spread.
    #[error("n = {0} is too small: 2 values are needed")]
    TooFew(usize),
    /// Nor have equal ones.
    #[error("all values are equal, or nearly so")]
    Equal,
}

impl Fit {
    /// The distributions under which positive `times` are most likely.
    ///
    /// # Errors
    /// [`NoFit`] where the values have no spread.
    pub fn of(times: &Sample) -> Result<Self, NoFit> {
        let values = times.ascending();
        if values.len() < 2 {
            return Err(NoFit::TooFew(values.len()));
        }
        let n = count(values.len());
        let mean = values.iter().sum::<f64>() / n;
        let mean_log = values.iter().map(|value| libm::log(*value)).sum::<f64>() / n;
        let deviations = values.iter().map(|value| libm::log(*value) - mean_log);
        let variance = deviations.map(|by| by * by).sum::<f64>() / n;
        let log_normal = Law::LogNormal {
            median_ms: rounded(libm::exp(mean_log), 3),
            sigma: rounded(libm::sqrt(variance), 4),
        };
        let shape = shape(libm::log(mean) - mean_log).ok_or(NoFit::Equal)?;
        let gamma = Law::Gamma {
            mean_ms: rounded(mean, 3),
            shape: rounded(shape, 4),
        };
        let fitted = |law: Law| Fitted {
            law,
            ks: rounded(law.distance(values), 4),
        };
        Ok(Self {
            log_normal: fitted(log_normal),
            gamma: fitted(gamma),
        })
    }

    /// The one with the smaller distance.
    #[must_use]
    pub fn closest(&self) -> &Fitted {
        if self.gamma.ks < self.log_normal.ks {
            &self.gamma
        } else {
            &self.log_normal
        }
    }
}

impl Law {
    /// The share of the distribution below `ms`.
    #[must_use]
    pub fn below(&self, ms: f64) -> f64 {
        match *self {
            Self::LogNormal { median_ms, sigma } => {
                normal_below((libm::log(ms) - libm::log(median_ms)) / sigma)
            }
            Self::Gamma { mean_ms, shape } => gamma_below(shape, ms * shape / mean_ms),
        }
    }

    /// The same to draw from, with seed 0.
    ///
    /// # Errors
    /// [`LatencyError`] where a parameter is beyond what is drawn from.
    pub fn latency(&self) -> Result<Latency, LatencyError> {
        match *self {
            Self::LogNormal { median_ms, sigma } => Latency::log_normal(median_ms, sigma, 0),
            Self::Gamma { mean_ms, shape } => Latency::gamma(mean_ms, shape, 0),
        }
    }

    /// The Kolmogorov–Smirnov distance from values in ascending order.
    fn distance(&self, ascending: &[f64]) -> f64 {
        let n = count(ascending.len());
        let steps = ascending.iter().enumerate().map(|(index, value)| {
            let below = self.below(*value);
            (below - count(index) / n).max(count(index + 1) / n - below)
        });
        steps.fold(0.0, f64::max)
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogNormal { median_ms, sigma } => {
                write!(f, "log-normal, median {median_ms} ms, sigma {sigma}")
            }
            Self::Gamma { mean_ms, shape } => write!(f, "gamma, mean {mean_ms} ms, shape {shape}"),
        }
    }
}

/// The shape at which ln k − ψ(k) is the logarithm of the mean less the mean of the logarithms,
/// from Minka's first guess (2002) by Newton's method.
fn shape(excess: f64) -> Option<f64> {
    if excess <= 1e-12 {
        return None;
    }
    let (s, three) = (excess, 3.0 - excess);
    let mut k = (three + libm::sqrt(three * three + 24.0 * s)) / (12.0 * s);
    for _ in 0..STEPS {
        let step = (libm::log(k) - digamma(k) - s) / (1.0 / k - trigamma(k));
        let next = k - step;
        // A step beyond nothing is halved until it stays on this side.
        k = if next > 0.0 { next } else { k / 2.0 };
        if step.abs() <= 1e-13 * k {
            break;
        }
    }
    (k.is_finite() && k > 0.0).then_some(k)
}

fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = libm::pow(10.0, f64::from(decimals));
    libm::round(value * scale) / scale
}

#[expect(clippy::cast_precision_loss, reason = "nobody records 2^53 replies")]
fn count(items: usize) -> f64 {
    items as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const N: u32 = 4_000;

    fn drawn(latency: &Latency) -> Sample {
        let draws = (0..N).map(|turn| latency.of_turn(turn).as_secs_f64() * 1_000.0);
        Sample::new(draws.collect()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_parameters_of_a_log_normal_are_found_again(
            median in 50.0_f64..3_000.0, sigma in 0.1_f64..1.5, seed: u64,
        ) {
            let fit = Fit::of(&drawn(&Latency::log_normal(median, sigma, seed).unwrap())).unwrap();
            let Law::LogNormal { median_ms, sigma: found } = fit.log_normal.law else {
                panic!("{fit:?}");
            };
            // Five standard errors: sigma / √n of the logarithm, and sigma / √2n of sigma.
            let error = sigma / f64::from(N).sqrt();
            prop_assert!((median_ms / median).ln().abs() < 5.0 * error, "{median_ms}");
            prop_assert!((found - sigma).abs() < 5.0 * error, "{found}");
            prop_assert!(fit.log_normal.ks < 0.03, "{fit:?}");
        }

        // Below a shape of 1 some draws are shorter than a nanosecond, which is no time to fit.
        #[test]
        fn the_parameters_of_a_gamma_are_found_again(
            mean in 50.0_f64..3_000.0, shape in 1.0_f64..20.0, seed: u64,
        ) {
            let fit = Fit::of(&drawn(&Latency::gamma(mean, shape, seed).unwrap())).unwrap();
            let Law::Gamma { mean_ms, shape: found } = fit.gamma.law else {
                panic!("{fit:?}");
            };
            let error = 1.0 / (f64::from(N) * shape).sqrt();
            prop_assert!((mean_ms / mean - 1.0).abs() < 5.0 * error, "{mean_ms}");
            prop_assert!((found / shape - 1.0).abs() < 0.12, "{found}");
            prop_assert!(fit.gamma.ks < 0.03, "{fit:?}");
        }
    }

    #[test]
    fn the_closer_of_the_two_is_the_one_that_it_was_drawn_from() {
        let long_tail = Fit::of(&drawn(&Latency::log_normal(800.0, 1.0, 1).unwrap())).unwrap();
        assert_eq!(long_tail.closest(), &long_tail.log_normal);
        let exponential = Fit::of(&drawn(&Latency::gamma(800.0, 1.0, 1).unwrap())).unwrap();
        assert_eq!(exponential.closest(), &exponential.gamma);
    }

    #[test]
    fn values_without_spread_are_not_fitted() {
        let fit = |values: &[f64]| Fit::of(&Sample::new(values.to_vec()).unwrap());
        assert_eq!(fit(&[]), Err(NoFit::TooFew(0)));
        assert_eq!(fit(&[5.0]), Err(NoFit::TooFew(1)));
        assert_eq!(fit(&[5.0, 5.0, 5.0]), Err(NoFit::Equal));
    }

    #[test]
    fn the_distance_is_the_widest_gap_between_the_two_shares() {
        let law = Law::LogNormal {
            median_ms: 100.0,
            sigma: 0.5,
        };
        // One value at the median: below it nothing and beyond it everything, half of the law each.
        assert!((law.distance(&[100.0]) - 0.5).abs() < 1e-12);
    }
}
