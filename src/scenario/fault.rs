//! Faults: how the endpoint fails, at which turn, and how often.
//!
//! A fault belongs to the wire. In process there is nothing that can fail, and scripts with
//! faults play there as if they had none.

use std::fmt;
use std::str::FromStr;

use super::spec::{SpecError, items, whole};

/// How the endpoint fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// Status 401: the key is not accepted.
    Unauthorized,
    /// Status 404: no such model.
    NotFound,
    /// Status 408: the request took too long.
    RequestTimeout,
    /// Status 409: a conflict.
    Conflict,
    /// Status 429: too many requests.
    RateLimited,
    /// Status 500: the endpoint is broken.
    ServerError,
    /// Status 503: the endpoint is overloaded.
    Unavailable,
    /// Status 200 with a page that is not JSON.
    NotJson,
    /// The reply begins, and then nothing more comes.
    Stall,
    /// The reply breaks off: a streamed one in the middle of its last call or of its prose.
    Cut,
    /// The connection is reset before the reply.
    Reset,
    /// A reply without a choice in it.
    EmptyChoices,
}

impl FaultKind {
    /// All kinds, in the order in which they are documented.
    pub const ALL: [Self; 12] = [
        Self::Unauthorized,
        Self::NotFound,
        Self::RequestTimeout,
        Self::Conflict,
        Self::RateLimited,
        Self::ServerError,
        Self::Unavailable,
        Self::NotJson,
        Self::Stall,
        Self::Cut,
        Self::Reset,
        Self::EmptyChoices,
    ];

    /// The word for it in a line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "401",
            Self::NotFound => "404",
            Self::RequestTimeout => "408",
            Self::Conflict => "409",
            Self::RateLimited => "429",
            Self::ServerError => "500",
            Self::Unavailable => "503",
            Self::NotJson => "not_json",
            Self::Stall => "stall",
            Self::Cut => "cut",
            Self::Reset => "reset",
            Self::EmptyChoices => "empty_choices",
        }
    }

    /// The status, of kinds that are one.
    #[must_use]
    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Unauthorized => Some(401),
            Self::NotFound => Some(404),
            Self::RequestTimeout => Some(408),
            Self::Conflict => Some(409),
            Self::RateLimited => Some(429),
            Self::ServerError => Some(500),
            Self::Unavailable => Some(503),
            Self::NotJson | Self::Stall | Self::Cut | Self::Reset | Self::EmptyChoices => None,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// When the client may try again, and in which header it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// `retry-after` in seconds.
    Seconds(u32),
    /// `retry-after` as the date so many seconds from now.
    DateIn(u32),
    /// `retry-after-ms` in milliseconds.
    Millis(u32),
}

/// A fault, and the attempts that meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How the endpoint fails.
    pub kind: FaultKind,
    /// The turn that fails, from 0; every turn where there is none.
    pub turn: Option<u32>,
    /// How many attempts of a turn fail, all where there is none. An attempt repeats the body of
    /// the one before it.
    pub first: Option<u32>,
    /// What the client is told about trying again.
    pub retry_after: Option<RetryAfter>,
}

impl Fault {
    /// A fault that every attempt of every turn meets.
    #[must_use]
    pub const fn always(kind: FaultKind) -> Self {
        Self {
            kind,
            turn: None,
            first: None,
            retry_after: None,
        }
    }

    /// Whether attempt `attempt` (from 1) of turn `turn` (from 0) meets it.
    #[must_use]
    pub fn meets(&self, turn: u32, attempt: u32) -> bool {
        self.turn.is_none_or(|only| only == turn) && self.first.is_none_or(|most| attempt <= most)
    }
}

const HELP: &str = "write for example `turn=1,first=2,kind=429,retry_after_ms=50`; `turn` counts \
                    from 0, `first` is how many attempts fail, and without them all do; `kind` is \
                    401, 404, 408, 409, 429, 500, 503, not_json, stall, cut, reset or \
                    empty_choices; `retry_after` and `retry_after_date` are in seconds";

/// Reads a line such as `turn=1,first=2,kind=429,retry_after=3`.
impl FromStr for Fault {
    type Err = SpecError;

    fn from_str(line: &str) -> Result<Self, SpecError> {
        let (mut kind, mut turn, mut first) = (None, None, None);
        let mut retry_after = None;
        let mut retry = |value: RetryAfter, part: &str| match retry_after.replace(value) {
            None => Ok(()),
            Some(_) => Err(SpecError::new(
                part,
                "says a second time when to retry",
                HELP,
            )),
        };
        for item in items(line, "kind", HELP)? {
            let value = item.value;
            match item.key {
                "kind" => kind = Some(kind_of(value)?),
                "turn" => turn = Some(whole(value, HELP)?),
                "first" => first = Some(whole(value, HELP)?),
                "retry_after" => retry(RetryAfter::Seconds(whole(value, HELP)?), item.key)?,
                "retry_after_date" => retry(RetryAfter::DateIn(whole(value, HELP)?), item.key)?,
                "retry_after_ms" => retry(RetryAfter::Millis(whole(value, HELP)?), item.key)?,
                other => return Err(SpecError::new(other, "is not a key of a fault", HELP)),
            }
        }
        let kind = kind.ok_or_else(|| SpecError::new(line, "has no `kind`", HELP))?;
        if retry_after.is_some() && kind.status().is_none() {
            let why = "has no status, so it cannot say when to retry";
            return Err(SpecError::new(kind.as_str(), why, HELP));
        }
        Ok(Self {
            kind,
            turn,
            first,
            retry_after,
        })
    }
}

fn kind_of(word: &str) -> Result<FaultKind, SpecError> {
    FaultKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == word)
        .ok_or_else(|| SpecError::new(word, "is not a kind of fault", HELP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_the_first_attempts_of_a_turn_is_one_line() {
        let fault: Fault = "turn=1,first=2,kind=429,retry_after_ms=50".parse().unwrap();
        assert_eq!(
            fault,
            Fault {
                kind: FaultKind::RateLimited,
                turn: Some(1),
                first: Some(2),
                retry_after: Some(RetryAfter::Millis(50)),
            }
        );
        let met: Vec<_> = (0..3)
            .flat_map(|turn| (1..4).map(move |attempt| (turn, attempt)))
            .filter(|(turn, attempt)| fault.meets(*turn, *attempt))
            .collect();
        assert_eq!(met, [(1, 1), (1, 2)]);
    }

    #[test]
    fn every_kind_is_read_by_its_word() {
        for kind in FaultKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(Fault::always(kind)));
            if let Some(status) = kind.status() {
                assert_eq!(kind.as_str(), status.to_string());
            }
        }
    }

    #[test]
    fn a_wrong_line_is_refused_with_what_is_right() {
        for line in [
            "",
            "turn=1",
            "kind=418",
            "kind=429,turn=-1",
            "kind=500,first=x",
            "status=429",
            "kind=429,retry_after=1,retry_after_ms=1",
            "kind=cut,retry_after=1",
            "429,kind=500",
            "kind=429,kind=500",
        ] {
            let error = match line.parse::<Fault>() {
                Ok(fault) => panic!("{line}: {fault:?}"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains("turn=1,first=2,kind=429"), "{line}: {error}");
        }
    }
}
