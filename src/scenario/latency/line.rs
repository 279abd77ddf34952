//! A pace as one line of text: read from `--latency`, a scenario, an experiment or a header, and
//! written for them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::super::spec::{SpecError, duration, items, number, whole};
use super::{Latency, Pace};

const PACE_HELP: &str = "write for example `ttft=200ms,per_token=10ms`; a distribution is \
                         `200ms`, `log_normal(MEDIAN,SIGMA)`, `gamma(MEAN,SHAPE)` or \
                         `empirical(100ms,900ms)`, and `seed=7` seeds the draws";

/// Reads a line such as `ttft=log_normal(800ms,0.5),per_token=10ms,seed=7`.
impl FromStr for Pace {
    type Err = SpecError;

    fn from_str(line: &str) -> Result<Self, SpecError> {
        let mut pace = Self::default();
        let mut seed = 0;
        for item in items(line, "ttft", PACE_HELP)? {
            match item.key {
                "ttft" => pace.ttft = distribution(item.value)?,
                "per_token" => pace.per_token = distribution(item.value)?,
                "seed" => seed = whole(item.value, PACE_HELP)?,
                other => {
                    let why = "is none of `ttft`, `per_token` and `seed`";
                    return Err(SpecError::new(other, why, PACE_HELP));
                }
            }
        }
        Ok(pace.with_seed(seed))
    }
}

/// Reads a single distribution, such as `log_normal(400ms,0.8)`.
impl FromStr for Latency {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        distribution(text.trim())
    }
}

fn distribution(text: &str) -> Result<Latency, SpecError> {
    let ms = |text| Ok(millis(duration(text, PACE_HELP)?));
    let number = |text| number(text, PACE_HELP);
    let Some((name, arguments)) = text.strip_suffix(')').and_then(|text| text.split_once('('))
    else {
        return Ok(constant(duration(text, PACE_HELP)?));
    };
    let arguments: Vec<_> = arguments.split(',').map(str::trim).collect();
    let latency = match (name, arguments.as_slice()) {
        ("log_normal", [median, sigma]) => Latency::log_normal(ms(median)?, number(sigma)?, 0),
        ("gamma", [mean, shape]) => Latency::gamma(ms(mean)?, number(shape)?, 0),
        ("empirical", samples) => {
            let samples: Result<Vec<_>, _> = samples
                .iter()
                .map(|sample| Ok(whole_micros(duration(sample, PACE_HELP)?)))
                .collect();
            Latency::empirical(samples?, 0)
        }
        _ => return Err(SpecError::new(text, "is not a distribution", PACE_HELP)),
    };
    latency.map_err(|error| SpecError::new(text, &format!("is refused: {error}"), PACE_HELP))
}

/// A constant that is not whole milliseconds is a single sample.
fn constant(span: Duration) -> Latency {
    match whole_micros(span) {
        0 => Latency::None,
        us if us % 1_000 == 0 => Latency::Constant { ms: us / 1_000 },
        us => Latency::Empirical {
            samples_us: vec![us],
            seed: 0,
        },
    }
}

fn whole_micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// The line that [`Pace::from_str`] reads back as the same pace.
impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ttft={}", Distribution(&self.ttft))?;
        if self.per_token != Latency::None {
            write!(f, ",per_token={}", Distribution(&self.per_token))?;
        }
        match self.ttft.seed().or(self.per_token.seed()) {
            // What is not said is 0.
            None | Some(0) => Ok(()),
            Some(seed) => write!(f, ",seed={seed}"),
        }
    }
}

struct Distribution<'l>(&'l Latency);

impl fmt::Display for Distribution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Latency::None => f.write_str("0ms"),
            Latency::Constant { ms } => write!(f, "{ms}ms"),
            Latency::LogNormal {
                median_ms, sigma, ..
            } => write!(f, "log_normal({median_ms}ms,{sigma})"),
            Latency::Gamma { mean_ms, shape, .. } => write!(f, "gamma({mean_ms}ms,{shape})"),
            Latency::Empirical { samples_us, .. } => {
                f.write_str("empirical(")?;
                for (index, us) in samples_us.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{us}us")?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_as_the_same_pace() {
        let of = |ttft: Latency, per_token: Latency| Pace { ttft, per_token };
        for pace in [
            Pace::NONE,
            of(Latency::Constant { ms: 250 }, Latency::None),
            of(Latency::log_normal(800.5, 0.25, 7).unwrap(), Latency::None),
            of(
                Latency::gamma(100.0, 2.5, u64::MAX).unwrap(),
                Latency::log_normal(12.25, 0.5, u64::MAX).unwrap(),
            ),
            of(
                Latency::empirical(vec![1, 2_500_000], 3).unwrap(),
                Latency::Constant { ms: 9 },
            ),
            of(Latency::None, Latency::gamma(9.0, 2.0, 1).unwrap()),
        ] {
            assert_eq!(pace.to_string().parse(), Ok(pace));
        }
    }

    #[test]
    fn a_line_says_each_distribution() {
        let pace: Pace = "log_normal(800ms, 0.5), per_token=gamma(10ms,2), seed=7"
            .parse()
            .unwrap();
        assert_eq!(pace.ttft, Latency::log_normal(800.0, 0.5, 7).unwrap());
        assert_eq!(pace.per_token, Latency::gamma(10.0, 2.0, 7).unwrap());
        let pace: Pace = "ttft=empirical(1ms,2s)".parse().unwrap();
        assert_eq!(
            pace.ttft,
            Latency::empirical(vec![1_000, 2_000_000], 0).unwrap()
        );
        assert_eq!("0ms".parse::<Pace>(), Ok(Pace::NONE));
    }

    #[test]
    fn a_wrong_line_is_refused_with_what_is_right() {
        for line in [
            "",
            "200",
            "ttft=",
            "ttft=-1ms",
            "ttft=1h",
            "speed=1ms",
            "seed=x",
            "normal(1ms,1)",
            "gamma(1ms,0)",
            "log_normal(1ms)",
            "empirical()",
            "ttft=1ms,,",
            "ttft=nanms",
            "ttft=1ms,ttft=2ms",
            "gamma(1ms,2",
        ] {
            let error = line.parse::<Pace>().unwrap_err().to_string();
            assert!(
                error.contains("ttft=200ms,per_token=10ms"),
                "{line}: {error}"
            );
        }
    }
}
