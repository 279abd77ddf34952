//! When a request is sent again, and after how long.

use std::time::{Duration, SystemTime};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// How often and how patiently a request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most attempts of one request, the first included.
    pub attempts: u32,
    /// The wait before the first retry, where the endpoint names none; it doubles each time.
    pub base: Duration,
    /// The longest such wait.
    pub longest: Duration,
    /// The most time that one request spends on waits. An endpoint that asks for more is given up
    /// at once.
    pub total_wait: Duration,
    /// The seed of the jitter: the same seed waits the same.
    pub seed: u64,
}

impl Default for RetryPolicy {
    /// Three attempts, half a second doubling up to eight, and a minute of waits.
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            total_wait: Duration::from_secs(60),
            seed: 0,
        }
    }
}

impl RetryPolicy {
    /// Every request is sent once.
    #[must_use]
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// The wait after failed attempt `number` (from 1) of the request of turn `turn`, where the
    /// endpoint names none: between three quarters of the doubled base and all of it.
    #[must_use]
    pub fn delay(&self, turn: u32, number: u32) -> Duration {
        let doubled = 2_u32
            .checked_pow(number.saturating_sub(1))
            .and_then(|factor| self.base.checked_mul(factor));
        let most = doubled.map_or(self.longest, |wait| wait.min(self.longest));
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::from(turn) << 32 | u64::from(number));
        // Up to 256 parts of 1,024 are taken off: a quarter.
        let off = rng.next_u32() % 257;
        most.saturating_sub(most / 1_024 * off)
    }
}

/// Whether a refusal with this status is worth another attempt.
pub(super) const fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..)
}

/// The wait that the endpoint asks for: `retry-after-ms`, or else `Retry-After` in seconds or as
/// a date, which is compared with the endpoint's own `Date` where it sends one, or else with `now`,
/// the time since 1970.
pub(super) fn asked_wait(headers: &HeaderMap, now: Duration) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(ms) = text("retry-after-ms").and_then(number) {
        return wait(ms / 1_000.0);
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return wait(seconds);
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let date = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    // A date that has passed asks for no wait.
    Some(
        until
            .duration_since(date.unwrap_or(SystemTime::UNIX_EPOCH + now))
            .unwrap_or_default(),
    )
}

/// A wait of so many seconds. One that no clock can show is asked for all the same; one that is
/// no number, or negative, is none.
fn wait(seconds: f64) -> Option<Duration> {
    let is_wait = seconds >= 0.0 && seconds.is_finite();
    is_wait.then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn asked(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        asked_wait(&map, ms(1_000))
    }

    #[test]
    fn delays_double_up_to_the_longest_less_a_quarter_at_most() {
        let policy = RetryPolicy::default();
        for turn in 0..200 {
            for (number, most) in [
                (1, 500),
                (2, 1_000),
                (5, 8_000),
                (40, 8_000),
                (u32::MAX, 8_000),
            ] {
                let delay = policy.delay(turn, number);
                assert!(
                    delay <= ms(most) && delay >= ms(most * 3 / 4),
                    "{delay:?} of {most}"
                );
            }
        }
    }

    #[test]
    fn a_seed_has_one_sequence_of_delays_and_another_seed_another() {
        let delays = |seed| {
            let policy = RetryPolicy {
                seed,
                ..RetryPolicy::default()
            };
            (1..4).map(|n| policy.delay(0, n)).collect::<Vec<_>>()
        };
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }

    #[test]
    fn milliseconds_come_before_seconds_and_seconds_may_be_a_date() {
        assert_eq!(
            asked(&[("retry-after-ms", "20"), ("retry-after", "9")]),
            Some(ms(20))
        );
        assert_eq!(asked(&[("retry-after", "2")]), Some(ms(2_000)));
        let until = ("retry-after", "Thu, 01 Jan 1970 00:00:11 GMT");
        assert_eq!(asked(&[until]), Some(ms(10_000)));
        let date = ("date", "Thu, 01 Jan 1970 00:00:08 GMT");
        assert_eq!(asked(&[until, date]), Some(ms(3_000)));
        let passed = ("date", "Thu, 01 Jan 1970 00:01:00 GMT");
        assert_eq!(asked(&[until, passed]), Some(ms(0)));
    }

    #[test]
    fn a_wait_that_makes_no_sense_is_none() {
        for value in ["-1", "NaN", "inf", "soon", ""] {
            assert_eq!(asked(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn a_wait_beyond_all_clocks_is_asked_for_and_not_forgotten() {
        for value in ["99999999999999999999", "1e300"] {
            assert_eq!(asked(&[("retry-after", value)]), Some(Duration::MAX));
            assert!(asked(&[("retry-after-ms", value)]) > Some(ms(u64::MAX / 1_000)));
        }
    }

    #[test]
    fn only_what_passes_by_itself_is_repeated() {
        let passing: Vec<u16> = (300..600).filter(|&status| is_passing(status)).collect();
        assert_eq!(passing[..3], [408, 409, 429]);
        assert_eq!(passing[3..], (500..600).collect::<Vec<_>>());
    }
}
