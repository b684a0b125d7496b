//! A token bucket: a rate limit that no response discloses.

use crate::error::{Error, Result};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Throttle {
    pub requests_per_second: f64,
    /// How many requests may come at once after a pause.
    pub burst: u32,
}

/// Once in a day is slower than any test waits; a thousand a millisecond is no limit.
const RATES: std::ops::RangeInclusive<f64> = 1e-5..=1e6;

impl Throttle {
    pub(super) fn check(self) -> Result<()> {
        if !RATES.contains(&self.requests_per_second) {
            let rate = self.requests_per_second;
            return Err(Error::Argument(format!(
                "requests_per_second must be from {} to {}, not {rate}",
                RATES.start(),
                RATES.end()
            )));
        }
        match self.burst {
            0 => Err(Error::Argument("burst must be at least 1".to_owned())),
            _ => Ok(()),
        }
    }
}

/// The tokens at a time; full at first.
#[derive(Debug, Default)]
pub(super) struct Bucket(Option<(f64, Instant)>);

impl Bucket {
    /// Takes a token, or returns how long until there is one.
    pub(super) fn take(&mut self, throttle: &Throttle, now: Instant) -> std::result::Result<(), Duration> {
        let Throttle { requests_per_second, burst } = *throttle;
        let tokens = self.0.map_or(f64::from(burst), |(tokens, time)| {
            let new_tokens = now.saturating_duration_since(time).as_secs_f64() * requests_per_second;
            (tokens + new_tokens).min(f64::from(burst))
        });
        let left = if tokens >= 1.0 { tokens - 1.0 } else { tokens };
        self.0 = Some((left, now));
        match tokens >= 1.0 {
            true => Ok(()),
            false => Err(Duration::from_secs_f64((1.0 - tokens) / requests_per_second)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_for_each_token_that_falls() {
        let throttle = Throttle { requests_per_second: 4.0, burst: 3 };
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        let mut at = |seconds: f64| bucket.take(&throttle, start + Duration::from_secs_f64(seconds));
        assert_eq!([at(0.0), at(0.0), at(0.0)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(at(0.0), Err(Duration::from_millis(250)));
        assert_eq!(at(0.125), Err(Duration::from_millis(125)), "who is refused takes nothing");
        assert_eq!([at(0.25), at(0.5)], [Ok(()), Ok(())]);
        assert_eq!(at(0.5), Err(Duration::from_millis(250)));
        // A long pause saves up no more than the burst.
        assert_eq!([at(100.0), at(100.0), at(100.0)], [Ok(()), Ok(()), Ok(())]);
        assert!(at(100.0).is_err());
    }
}
