//! Injected latency: how long the scripted model thinks.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// How long each reply takes. A turn's latency depends on the seed and the turn alone, so a
/// resumed run waits as long as one that was never stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub enum Latency {
    /// No time at all.
    #[default]
    None,
    /// Always the same.
    Constant {
        /// Milliseconds per reply.
        ms: u64,
    },
    /// Log-normal: most replies near the median, a long tail above it.
    LogNormal {
        /// The median in milliseconds.
        median_ms: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
        /// Seed of the draws.
        seed: u64,
    },
}

/// Why a distribution is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LatencyError {
    /// A parameter is negative, too large or not a number.
    #[error("{0} must be a number from 0 to {1}")]
    OutOfRange(&'static str, u32),
}

const MOST_MEDIAN_MS: u32 = 86_400_000;
const MOST_SIGMA: u32 = 10;
/// Draws are cut at a day, so that a run cannot wait for ever.
const MOST_MS: f64 = 86_400_000.0;

impl Latency {
    /// A log-normal latency.
    ///
    /// # Errors
    /// [`LatencyError`] where a parameter is out of range.
    pub fn log_normal(median_ms: f64, sigma: f64, seed: u64) -> Result<Self, LatencyError> {
        let within = |value: f64, most: u32| (0.0..=f64::from(most)).contains(&value);
        if !within(median_ms, MOST_MEDIAN_MS) {
            return Err(LatencyError::OutOfRange("median_ms", MOST_MEDIAN_MS));
        }
        if !within(sigma, MOST_SIGMA) {
            return Err(LatencyError::OutOfRange("sigma", MOST_SIGMA));
        }
        Ok(Self::LogNormal {
            median_ms,
            sigma,
            seed,
        })
    }

    /// How long the reply of turn `turn` (from 0) takes, to the microsecond.
    #[must_use]
    pub fn of_turn(&self, turn: u32) -> Duration {
        match *self {
            Self::None => Duration::ZERO,
            Self::Constant { ms } => Duration::from_millis(ms),
            Self::LogNormal {
                median_ms,
                sigma,
                seed,
            } => {
                let ms = median_ms * libm::exp(sigma * standard_normal(seed, turn));
                let us = libm::round(ms.clamp(0.0, MOST_MS) * 1_000.0);
                #[expect(clippy::cast_possible_truncation, reason = "clamped to a day")]
                #[expect(clippy::cast_sign_loss, reason = "clamped to be positive")]
                Duration::from_micros(us as u64)
            }
        }
    }
}

/// One draw of the standard normal distribution by the Box–Muller transform (1958), from the
/// stream of `seed` that belongs to `turn`; `libm` is the same code on every machine.
fn standard_normal(seed: u64, turn: u32) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(turn));
    let radius = libm::sqrt(-2.0 * libm::log(unit_open(&mut rng)));
    radius * libm::cos(std::f64::consts::TAU * unit_open(&mut rng))
}

/// A uniform draw from (0, 1]: 53 random bits, never zero.
fn unit_open(rng: &mut ChaCha8Rng) -> f64 {
    let bits = rng.next_u64() >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    let unit = (bits + 1) as f64;
    unit / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_one_latency_whatever_was_drawn_before() {
        let latency = Latency::log_normal(800.0, 0.5, 7).unwrap();
        let forwards: Vec<_> = (0..50).map(|turn| latency.of_turn(turn)).collect();
        let mut backwards: Vec<_> = (0..50).rev().map(|turn| latency.of_turn(turn)).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
        assert!(forwards.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn half_the_draws_lie_below_the_median() {
        let latency = Latency::log_normal(800.0, 0.5, 1).unwrap();
        let below = (0..10_000)
            .filter(|&t| latency.of_turn(t) < Duration::from_millis(800))
            .count();
        // Four standard deviations of a fair coin thrown 10,000 times.
        assert!((4_800..=5_200).contains(&below), "{below}");
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        let latency = Latency::log_normal(800.0, 0.5, 42).unwrap();
        let us: Vec<_> = (0..3)
            .map(|turn| latency.of_turn(turn).as_micros())
            .collect();
        assert_eq!(us, [1_213_141, 980_520, 621_005]);
    }

    #[test]
    fn impossible_distributions_are_refused() {
        for (median_ms, sigma) in [
            (-1.0, 0.1),
            (f64::NAN, 0.1),
            (1.0, -0.1),
            (1.0, f64::INFINITY),
        ] {
            assert!(Latency::log_normal(median_ms, sigma, 0).is_err());
        }
    }
}
