//! Where the wall time of a command went, told from the gaps between its requests.

use std::time::Duration;

use crate::server::Exchange;

/// The parts of a command's wall time; together they are all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit {
    /// Until the first request; all of it where there is none.
    pub start: Duration,
    /// While at least one request is being answered.
    pub provider: Duration,
    /// Between the end of a reply and a request that was not made before: tools, and the
    /// harness itself.
    pub harness: Duration,
    /// Between the end of an attempt and the next attempt at the same request.
    pub waiting: Duration,
    /// From the end of the last reply to the end of the command.
    pub close: Duration,
    /// How many gaps the harness share has.
    pub harness_gaps: u32,
}

impl TimeSplit {
    /// The harness share of one turn; none where no request followed another.
    #[must_use]
    pub fn harness_per_gap(&self) -> Option<Duration> {
        self.harness.checked_div(self.harness_gaps)
    }

    /// All of it.
    #[must_use]
    pub fn wall(&self) -> Duration {
        self.start + self.provider + self.harness + self.waiting + self.close
    }
}

/// Splits the time of a command that ran from `started` to `ended`. Also returns the gap before
/// each exchange, in the order of the exchanges, which is the order of their beginnings.
pub(super) fn split<'e>(
    exchanges: impl IntoIterator<Item = &'e Exchange>,
    (started, ended): (Duration, Duration),
) -> (TimeSplit, Vec<Duration>) {
    let mut time = TimeSplit::default();
    let mut gaps = Vec::new();
    // Until when everything is accounted for.
    let mut until = started;
    for (at, exchange) in exchanges.into_iter().enumerate() {
        let begins = exchange.started.clamp(until, ended.max(until));
        let gap = begins.saturating_sub(until);
        let retry = exchange
            .asked
            .as_ref()
            .is_some_and(|asked| asked.attempt > 1);
        match (at, retry) {
            (0, _) => time.start += gap,
            (_, true) => time.waiting += gap,
            (_, false) => {
                time.harness += gap;
                time.harness_gaps += 1;
            }
        }
        let ends = exchange.ended.clamp(begins, ended.max(begins));
        time.provider += ends.saturating_sub(begins);
        until = ends;
        gaps.push(gap);
    }
    let rest = ended.saturating_sub(until);
    if gaps.is_empty() {
        time.start = rest;
    } else {
        time.close = rest;
    }
    (time, gaps)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::meter::tests::{answered, retried};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn every_gap_is_told_by_what_follows_it() {
        let all = [
            answered(10, 12),
            answered(15, 17),
            retried(20, 21),
            answered(22, 23),
        ];
        let (time, gaps) = split(&all, (ms(2), ms(30)));
        assert_eq!((time.start, time.close), (ms(8), ms(7)));
        assert_eq!((time.harness, time.harness_gaps), (ms(4), 2));
        assert_eq!((time.waiting, time.provider), (ms(3), ms(6)));
        assert_eq!(gaps, [ms(8), ms(3), ms(3), ms(1)]);
        assert_eq!(time.harness_per_gap(), Some(ms(2)));
    }

    #[test]
    fn a_command_that_never_called_only_started() {
        let (time, _) = split([], (ms(2), ms(30)));
        assert_eq!((time.start, time.harness_per_gap()), (ms(28), None));
    }

    proptest! {
        #[test]
        fn the_parts_make_the_whole(
            mut times in prop::collection::vec((0_u64..1000, 0_u64..100), 0..8),
            end in 0_u64..1200,
        ) {
            times.sort_unstable();
            let all: Vec<_> = times.iter().map(|(at, span)| answered(*at, at + span)).collect();
            let (time, _) = split(&all, (ms(0), ms(end)));
            prop_assert_eq!(time.wall(), ms(end));
        }
    }
}
