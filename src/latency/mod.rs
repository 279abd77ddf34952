//! How long a real model took, as distributions that a scripted one can draw from.
//!
//! Replies are read from records ([`Replies`]), and of their times to the first token and times per
//! token each kind of distribution is fitted by maximum likelihood ([`Fit`]). Every logarithm is the
//! portable one, so the same records give the same parameters on every machine.

mod fit;
mod read;
mod special;

pub use fit::{Fit, Fitted, Law, NoFit};
pub use read::{NotRead, Replies, Reply};

use crate::results::stats::{NoStatistic, Sample};
use crate::scenario::{Latency, LatencyError, Pace};

/// With fewer values than this, parameters are little more than a guess.
pub const FEW: usize = 30;

/// Which distribution of the measured times a line is to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The fitted one that is closer to what was measured.
    #[default]
    Closest,
    /// Log-normal.
    LogNormal,
    /// Gamma.
    Gamma,
    /// Nothing fitted: what was measured, each value as likely as the other.
    Empirical,
}

/// One thing that was timed, in many replies.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The times in milliseconds, all of them positive.
    pub sample: Sample,
    /// Times that were nothing, and are left out: they have no logarithm.
    pub zeros: usize,
    /// The distributions, or why there is none.
    pub fit: Result<Fit, NoFit>,
}

impl Timed {
    /// Fits what was timed.
    ///
    /// # Errors
    /// [`NoStatistic`] where a time is not a finite number.
    pub fn of(times_ms: &[f64]) -> Result<Self, NoStatistic> {
        let positive: Vec<f64> = times_ms.iter().copied().filter(|&ms| ms > 0.0).collect();
        let zeros = times_ms.len() - positive.len();
        let sample = Sample::new(positive)?;
        let fit = Fit::of(&sample);
        Ok(Self { sample, zeros, fit })
    }

    /// The distribution of that shape.
    ///
    /// # Errors
    /// [`LatencyError`] where a parameter is beyond what is drawn from, or there are more values
    /// than a line can hold.
    pub fn latency(&self, shape: Shape) -> Result<Latency, LatencyError> {
        let fitted = |of: fn(&Fit) -> &Fitted| match &self.fit {
            Ok(fit) => of(fit).law.latency(),
            Err(_) => self.empirical(),
        };
        match shape {
            Shape::Closest => fitted(Fit::closest),
            Shape::LogNormal => fitted(|fit| &fit.log_normal),
            Shape::Gamma => fitted(|fit| &fit.gamma),
            Shape::Empirical => self.empirical(),
        }
    }

    fn empirical(&self) -> Result<Latency, LatencyError> {
        let micros = self.sample.ascending().iter().map(|ms| micros(*ms));
        Latency::empirical(micros.collect(), 0)
    }
}

/// What was timed of replies.
#[derive(Clone, Debug)]
pub struct Times {
    /// Until the first token; of replies that came in one piece, the whole time.
    pub ttft: Timed,
    /// For each token after it, where the records tell.
    pub per_token: Option<Timed>,
    /// Whether no reply has a first token of its own, so that `ttft` is the time of whole replies.
    pub whole: bool,
}

impl Times {
    /// What `replies` took; nothing where none was timed.
    ///
    /// # Errors
    /// [`NoStatistic`] where a time is not a finite number.
    pub fn of(replies: &[Reply]) -> Result<Option<Self>, NoStatistic> {
        let first: Vec<f64> = replies.iter().filter_map(|reply| reply.ttft_ms).collect();
        let whole = first.is_empty();
        let first = if whole {
            replies.iter().filter_map(|reply| reply.total_ms).collect()
        } else {
            first
        };
        if first.is_empty() {
            return Ok(None);
        }
        let each: Vec<f64> = replies.iter().filter_map(Reply::per_token_ms).collect();
        let per_token = (!each.is_empty()).then(|| Timed::of(&each));
        Ok(Some(Self {
            ttft: Timed::of(&first)?,
            per_token: per_token.transpose()?,
            whole,
        }))
    }

    /// A pace of that shape, as an experiment's `latency` or `serve --latency` takes it.
    ///
    /// # Errors
    /// [`LatencyError`], as [`Timed::latency`] gives it.
    pub fn pace(&self, shape: Shape) -> Result<Pace, LatencyError> {
        let per_token = self.per_token.as_ref().map(|timed| timed.latency(shape));
        Ok(Pace {
            ttft: self.ttft.latency(shape)?,
            per_token: per_token.transpose()?.unwrap_or_default(),
        })
    }
}

fn micros(ms: f64) -> u64 {
    let us = libm::round(ms * 1_000.0).clamp(0.0, 86_400_000_000.0);
    #[expect(clippy::cast_possible_truncation, reason = "clamped to a day")]
    #[expect(clippy::cast_sign_loss, reason = "clamped to be positive")]
    let us = us as u64;
    us
}
