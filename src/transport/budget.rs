//! What a client may do at once and in a second, shared by all that it does.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Budget {
    places: Semaphore,
    pace: Option<Pace>,
}

impl Budget {
    pub(super) fn new(max_concurrency: usize, requests_per_second: Option<f64>) -> Self {
        Budget { places: Semaphore::new(max_concurrency), pace: requests_per_second.map(Pace::new) }
    }

    /// Waits for a turn. The place is held until the permit is dropped: while a request is under way, body included, and not
    /// while it waits to be sent again. Waiting for the pace with a place in hand keeps nobody from anything.
    pub(super) async fn admit(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        let permit = self.places.acquire().await?;
        if let Some(pace) = &self.pace {
            tokio::time::sleep_until(pace.reserve(Instant::now())).await;
        }
        Ok(permit)
    }
}

/// Requests at even distances, in the order they asked. There are no bursts: the service publishes no limits, and a rate that
/// a user sets is meant to be kept in every second.
#[derive(Debug)]
struct Pace {
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    fn new(requests_per_second: f64) -> Self {
        Pace { interval: Duration::from_secs_f64(1.0 / requests_per_second), next: Mutex::new(None) }
    }

    /// When the caller may send; the place in the row is the caller's from then on.
    fn reserve(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = next.map_or(now, |next| next.max(now));
        *next = Some(turn + self.interval);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced_evenly_and_idle_time_is_not_saved_up() {
        let pace = Pace::new(4.0);
        let start = Instant::now();
        let quarter = Duration::from_millis(250);
        assert_eq!(pace.reserve(start), start);
        assert_eq!(pace.reserve(start), start + quarter);
        assert_eq!(pace.reserve(start + quarter), start + 2 * quarter);
        let later = start + 40 * quarter;
        assert_eq!(pace.reserve(later), later);
        assert_eq!(pace.reserve(later), later + quarter);
    }
}
