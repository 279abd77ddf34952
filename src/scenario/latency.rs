//! Injected latency: how long the scripted model thinks, and how fast it writes.

mod line;

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// How long one thing takes: a reply, or one of its tokens. A turn's latency depends on the seed
/// and the turn alone, so a resumed run waits as long as one that was never stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub enum Latency {
    /// No time at all.
    #[default]
    None,
    /// Always the same.
    Constant {
        /// Milliseconds.
        ms: u64,
    },
    /// Log-normal: most draws near the median, a long tail above it.
    LogNormal {
        /// The median in milliseconds.
        median_ms: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
        /// Seed of the draws.
        seed: u64,
    },
    /// Gamma: the sum of `shape` exponential waits.
    Gamma {
        /// The mean in milliseconds.
        mean_ms: f64,
        /// The shape; 1 is an exponential distribution.
        shape: f64,
        /// Seed of the draws.
        seed: u64,
    },
    /// Draws from what was measured, each sample as likely as the other.
    Empirical {
        /// The samples in microseconds.
        samples_us: Vec<u64>,
        /// Seed of the draws.
        seed: u64,
    },
}

/// Time to the first token, and time for each token of the reply. A reply takes the first plus
/// its tokens times the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    /// Until the first token.
    pub ttft: Latency,
    /// For each token of the reply; drawn once a turn.
    pub per_token: Latency,
}

/// Why a distribution is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LatencyError {
    /// A parameter is negative, too large or not a number.
    #[error("{0} must be a number from 0 to {1}")]
    OutOfRange(&'static str, u32),
    /// The shape of a gamma distribution is none.
    #[error("the shape must be a number from {LEAST_SHAPE} to {MOST_SHAPE}")]
    Shape,
    /// There is nothing to draw from.
    #[error("at least one sample is needed, and at most {MOST_SAMPLES}")]
    Samples,
}

const MOST_MEDIAN_MS: u32 = 86_400_000;
const MOST_SIGMA: u32 = 10;
const MOST_SHAPE: u32 = 1_000_000;
const MOST_SAMPLES: usize = 10_000;
/// Draws are cut at a day, so that a run cannot wait for ever.
const MOST_MS: f64 = 86_400_000.0;
/// Draws for tokens come from other streams than those for replies.
const TOKEN_STREAM: u64 = 1 << 32;
/// And those for tool calls from others again.
const CALL_STREAM: u64 = 1 << 63;

impl Latency {
    /// A log-normal latency.
    ///
    /// # Errors
    /// [`LatencyError`] where a parameter is out of range.
    pub fn log_normal(median_ms: f64, sigma: f64, seed: u64) -> Result<Self, LatencyError> {
        within("median_ms", median_ms, MOST_MEDIAN_MS)?;
        within("sigma", sigma, MOST_SIGMA)?;
        Ok(Self::LogNormal {
            median_ms,
            sigma,
            seed,
        })
    }

    /// A gamma latency.
    ///
    /// # Errors
    /// [`LatencyError`] where a parameter is out of range; a shape of 0 is.
    pub fn gamma(mean_ms: f64, shape: f64, seed: u64) -> Result<Self, LatencyError> {
        within("mean_ms", mean_ms, MOST_MEDIAN_MS)?;
        within("shape", shape, MOST_SHAPE).map_err(|_| LatencyError::Shape)?;
        if shape < LEAST_SHAPE {
            return Err(LatencyError::Shape);
        }
        Ok(Self::Gamma {
            mean_ms,
            shape,
            seed,
        })
    }

    /// A latency drawn from samples.
    ///
    /// # Errors
    /// [`LatencyError::Samples`] where there are none or too many.
    pub fn empirical(samples_us: Vec<u64>, seed: u64) -> Result<Self, LatencyError> {
        if samples_us.is_empty() || samples_us.len() > MOST_SAMPLES {
            return Err(LatencyError::Samples);
        }
        Ok(Self::Empirical { samples_us, seed })
    }

    /// How long the reply of turn `turn` (from 0) takes, to the microsecond.
    #[must_use]
    pub fn of_turn(&self, turn: u32) -> Duration {
        self.draw(0, u64::from(turn))
    }

    /// How long the tool of the call with this id takes; `request` tells conversations apart, as
    /// in [`Draw`]. It depends on nothing that was drawn before, nor on what runs beside it.
    #[must_use]
    pub fn of_call(&self, call_id: &str, request: u64) -> Duration {
        self.draw(request, CALL_STREAM | fnv(call_id))
    }

    fn draw(&self, request: u64, stream: u64) -> Duration {
        let rng = |seed: u64, stream| rng(seed ^ request, stream);
        match self {
            Self::None => Duration::ZERO,
            Self::Constant { ms } => Duration::from_millis(*ms),
            Self::LogNormal {
                median_ms,
                sigma,
                seed,
            } => {
                let mut rng = rng(*seed, stream);
                micros(median_ms * libm::exp(sigma * standard_normal(&mut rng)))
            }
            Self::Gamma {
                mean_ms,
                shape,
                seed,
            } => {
                let mut rng = rng(*seed, stream);
                micros(mean_ms * standard_gamma(*shape, &mut rng) / shape)
            }
            Self::Empirical { samples_us, seed } => {
                let samples = samples_us.len() as u64;
                let at = match samples {
                    0 | 1 => 0,
                    several => rng(*seed, stream).next_u64() % several,
                };
                let sample = usize::try_from(at).ok().and_then(|at| samples_us.get(at));
                Duration::from_micros(sample.copied().unwrap_or(0))
            }
        }
    }

    /// The seed of the draws; none where nothing is drawn.
    const fn seed(&self) -> Option<u64> {
        match self {
            Self::None | Self::Constant { .. } => None,
            Self::LogNormal { seed, .. }
            | Self::Gamma { seed, .. }
            | Self::Empirical { seed, .. } => Some(*seed),
        }
    }

    /// The same drawn from another seed.
    #[must_use]
    pub fn with_seed(self, new: u64) -> Self {
        match self {
            Self::None | Self::Constant { .. } => self,
            Self::LogNormal {
                median_ms, sigma, ..
            } => Self::LogNormal {
                median_ms,
                sigma,
                seed: new,
            },
            Self::Gamma { mean_ms, shape, .. } => Self::Gamma {
                mean_ms,
                shape,
                seed: new,
            },
            Self::Empirical { samples_us, .. } => Self::Empirical {
                samples_us,
                seed: new,
            },
        }
    }
}

/// The least shape that is drawn from; below it, nearly all draws are nothing.
const LEAST_SHAPE: f64 = 0.001;

fn within(name: &'static str, value: f64, most: u32) -> Result<(), LatencyError> {
    if (0.0..=f64::from(most)).contains(&value) {
        return Ok(());
    }
    Err(LatencyError::OutOfRange(name, most))
}

/// Which reply a time is drawn for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// The turn, from 0.
    pub turn: u32,
    /// Tells apart the requests of many conversations; 0 in process, where there is one.
    pub request: u64,
}

impl Pace {
    /// No time at all.
    pub const NONE: Self = Self {
        ttft: Latency::None,
        per_token: Latency::None,
    };

    /// Until the first token.
    #[must_use]
    pub fn ttft(&self, draw: Draw) -> Duration {
        self.ttft.draw(draw.request, u64::from(draw.turn))
    }

    /// For the `tokens` tokens of the reply, all together.
    #[must_use]
    pub fn writing(&self, draw: Draw, tokens: u64) -> Duration {
        let stream = TOKEN_STREAM | u64::from(draw.turn);
        let each = self.per_token.draw(draw.request, stream);
        let us = u64::try_from(each.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(us.saturating_mul(tokens))
    }

    /// The same drawn from another seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            ttft: self.ttft.with_seed(seed),
            per_token: self.per_token.with_seed(seed),
        }
    }

    /// The whole reply of turn `turn`.
    #[must_use]
    pub fn of_turn(&self, turn: u32, tokens: u64) -> Duration {
        let draw = Draw { turn, request: 0 };
        self.ttft(draw).saturating_add(self.writing(draw, tokens))
    }
}

/// A latency without a word on tokens is that of the first.
impl From<Latency> for Pace {
    fn from(ttft: Latency) -> Self {
        Self {
            ttft,
            per_token: Latency::None,
        }
    }
}

fn micros(ms: f64) -> Duration {
    let us = libm::round(ms.clamp(0.0, MOST_MS) * 1_000.0);
    #[expect(clippy::cast_possible_truncation, reason = "clamped to a day")]
    #[expect(clippy::cast_sign_loss, reason = "clamped to be positive")]
    Duration::from_micros(us as u64)
}

/// A number for a text: FNV-1a of 64 bits.
fn fnv(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The stream of `seed` that belongs to one draw.
fn rng(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// One draw of the standard normal distribution by the Box–Muller transform (1958); `libm` is
/// the same code on every machine.
fn standard_normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(unit_open(rng)));
    radius * libm::cos(std::f64::consts::TAU * unit_open(rng))
}

/// One draw of the gamma distribution of scale 1 by Marsaglia and Tsang (2000); a shape below 1
/// is drawn at one more and taken down by a power of a uniform draw.
fn standard_gamma(shape: f64, rng: &mut ChaCha8Rng) -> f64 {
    if shape < 1.0 {
        let higher = standard_gamma(shape + 1.0, rng);
        return higher * libm::pow(unit_open(rng), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = standard_normal(rng);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let accepted = libm::log(unit_open(rng)) < 0.5 * x * x + d - d * v + d * libm::log(v);
        if accepted {
            return d * v;
        }
    }
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
    fn each_request_takes_a_time_of_its_own_and_the_same_again() {
        let pace: Pace = "ttft=log_normal(60ms,0.8),per_token=1ms,seed=7"
            .parse()
            .unwrap();
        let time = |request| pace.ttft(Draw { turn: 0, request });
        assert_ne!(time(1), time(2));
        assert_eq!(time(1), time(1));
        let first = Draw::default();
        let whole = pace.ttft(first) + pace.writing(first, 10);
        assert_eq!(pace.of_turn(0, 10), whole);
    }

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

    #[test]
    fn gamma_draws_have_their_mean_and_their_spread() {
        for (shape, seed) in [(0.5, 1), (1.0, 2), (4.0, 3)] {
            let latency = Latency::gamma(100.0, shape, seed).unwrap();
            let draws: Vec<f64> = (0..20_000)
                .map(|turn| latency.of_turn(turn).as_secs_f64() * 1_000.0)
                .collect();
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
            // Of a gamma distribution, the variance is the mean squared by the shape.
            let expected = 10_000.0 / shape;
            assert!((mean - 100.0).abs() < 5.0, "{shape}: mean {mean}");
            assert!(
                (variance / expected - 1.0).abs() < 0.15,
                "{shape}: {variance}"
            );
        }
    }

    #[test]
    fn a_reply_takes_its_first_token_and_then_each_token() {
        let pace: Pace = "ttft=200ms,per_token=2.5ms".parse().unwrap();
        assert_eq!(
            pace.ttft(Draw {
                turn: 3,
                request: 0
            }),
            Duration::from_millis(200)
        );
        assert_eq!(pace.of_turn(3, 10), Duration::from_millis(225));
        assert_eq!(
            Pace::from(Latency::Constant { ms: 5 })
                .of_turn(0, 99)
                .as_millis(),
            5
        );
    }
}
