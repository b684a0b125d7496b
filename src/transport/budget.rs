//! What a client may do at once and in a second, shared by all that it does.

use super::pressure::Pressure;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{AcquireError, Mutex as Row, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(super) struct Budget {
    places: Semaphore,
    /// Who is first in it looks for the turn, so that a change of pace concerns all that wait.
    row: Row<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pressure: Pressure,
    /// Places there are, and how many of them end when they are given back.
    places: usize,
    owed: usize,
}

/// A place among the requests under way, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a> {
    budget: &'a Budget,
    place: Option<SemaphorePermit<'a>>,
    sent: Instant,
}

impl Budget {
    pub(super) fn new(max_concurrency: usize, requests_per_second: Option<f64>) -> Self {
        let pressure = Pressure::new(max_concurrency, requests_per_second);
        let places = pressure.window();
        let state = Mutex::new(State { pressure, places, owed: 0 });
        Budget { places: Semaphore::new(places), row: Row::new(()), state }
    }

    /// Waits for a turn. The place is held until the permit is dropped: while a request is under way, body included, and not
    /// while it waits to be sent again. Waiting for the pace with a place in hand keeps nobody from anything.
    pub(super) async fn admit(&self) -> Result<Permit<'_>, AcquireError> {
        let place = self.places.acquire().await?;
        let _first = self.row.lock().await;
        loop {
            let now = Instant::now();
            let turn = {
                let mut state = self.state();
                let turn = state.pressure.turn(now);
                if turn <= now {
                    state.pressure.sent(now);
                    return Ok(Permit { budget: self, place: Some(place), sent: now });
                }
                turn
            };
            sleep_until(turn).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, what: impl FnOnce(&mut Pressure)) {
        let mut state = self.state();
        what(&mut state.pressure);
        let wanted = state.pressure.window();
        if wanted >= state.places {
            let (more, kept) = (wanted - state.places, state.owed.min(wanted - state.places));
            state.owed -= kept;
            self.places.add_permits(more - kept);
        } else {
            let fewer = state.places - wanted;
            state.owed += fewer - self.places.forget_permits(fewer);
        }
        state.places = wanted;
    }
}

impl Permit<'_> {
    /// The service answered, whatever it said but to slow down.
    pub(super) fn answered(&self) {
        self.budget.learn(|pressure| pressure.answered(Instant::now()));
    }

    /// The service refused: too many requests. `hold`: for how long none is welcome.
    pub(super) fn refused(&self, hold: Option<Duration>) {
        self.budget.learn(|pressure| pressure.refused(self.sent, Instant::now(), hold));
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        if state.owed > 0
            && let Some(place) = self.place.take()
        {
            state.owed -= 1;
            place.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[tokio::test]
    async fn places_follow_the_window_down_and_up_again() {
        let budget = Budget::new(16, None);
        let mut held = Vec::new();
        while budget.places.available_permits() > 0 {
            held.push(budget.admit().await.unwrap());
        }
        assert_eq!(held.len(), 4);
        held[0].refused(None);
        held.truncate(2);
        assert_eq!((budget.places.available_permits(), budget.state().owed), (0, 0), "two are under way, two may be");
        held.pop();
        assert_eq!(budget.places.available_permits(), 1);
        for _ in 0..500 {
            held[0].answered();
        }
        held.clear();
        assert_eq!(budget.places.available_permits(), 16);
    }

    #[tokio::test]
    async fn a_change_of_pace_concerns_those_who_wait_already() {
        let budget = Budget::new(16, Some(1000.0));
        let begun = Instant::now();
        let first = budget.admit().await.unwrap();
        first.refused(Some(Duration::from_millis(60)));
        let second = budget.admit();
        let (second, ()) = tokio::join!(second, async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            first.refused(Some(Duration::from_millis(200)));
        });
        assert!(second.unwrap().sent - begun >= Duration::from_millis(220));
    }
}
