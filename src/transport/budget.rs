//! What a client may do at once and in a second, shared by all that it does. Two rows wait for their turn: calls, and ahead of
//! them what live streams need to connect, which no batch may keep waiting.

use super::rate::RateLimiter;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as First, Notify};
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(super) struct Budget {
    calls: Row,
    live: Row,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Call,
    /// There are few of them, one for each stream at most.
    Live,
}

/// Who waits, in the order in which they came. Only the first looks for the turn, so that a change of pace concerns all.
#[derive(Debug, Default)]
struct Row {
    first: First<()>,
    /// For the first: a place is free, or nobody waits ahead of this row.
    news: Notify,
}

#[derive(Debug)]
struct State {
    limiter: RateLimiter,
    max_concurrency: usize,
    under_way: usize,
    live_waiting: usize,
}

impl State {
    /// When a request may be sent, as things are; `None`: not before another has ended.
    fn turn(&self, kind: Kind, now: Instant) -> Option<Instant> {
        let is_first = kind == Kind::Live || self.live_waiting == 0;
        (is_first && self.under_way < self.max_concurrency).then(|| self.limiter.turn(now))
    }
}

/// A place among the requests under way, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a> {
    budget: &'a Budget,
    sent: Instant,
}

/// While it lasts no call goes out.
struct LiveWaits<'a>(&'a Budget);

impl Budget {
    pub(super) fn new(max_concurrency: usize, requests_per_second: Option<f64>) -> Self {
        let limiter = RateLimiter::new(requests_per_second);
        let state = Mutex::new(State { limiter, max_concurrency, under_way: 0, live_waiting: 0 });
        Budget { calls: Row::default(), live: Row::default(), state }
    }

    /// Waits for a turn. The place is held until the permit is dropped: while a request is under way, body included, and not
    /// while it waits to be sent again.
    pub(super) async fn admit(&self, kind: Kind) -> Permit<'_> {
        let (row, _ahead) = match kind {
            Kind::Call => (&self.calls, None),
            Kind::Live => (&self.live, Some(LiveWaits::new(self))),
        };
        let _first = row.first.lock().await;
        loop {
            let now = Instant::now();
            let turn = {
                let mut state = self.state();
                let turn = state.turn(kind, now);
                if turn.is_some_and(|turn| turn <= now) {
                    state.limiter.sent(now);
                    state.under_way += 1;
                    return Permit { budget: self, sent: now };
                }
                turn
            };
            match turn {
                Some(turn) => sleep_until(turn).await,
                None => row.news.notified().await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The service responded with anything but 429.
    pub(super) fn accepted(&self) {
        self.budget.state().limiter.accepted(self.sent, Instant::now());
    }

    /// The service refused with 429. `retry_after` holds all requests.
    pub(super) fn refused(&self, retry_after: Option<Duration>) {
        self.budget.state().limiter.refused(self.sent, Instant::now(), retry_after);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.budget.state().under_way -= 1;
        self.budget.live.news.notify_one();
        self.budget.calls.news.notify_one();
    }
}

impl<'a> LiveWaits<'a> {
    fn new(budget: &'a Budget) -> Self {
        budget.state().live_waiting += 1;
        LiveWaits(budget)
    }
}

impl Drop for LiveWaits<'_> {
    fn drop(&mut self) {
        self.0.state().live_waiting -= 1;
        self.0.calls.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use futures_util::FutureExt;
    use futures_util::stream::{FuturesUnordered, StreamExt};
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_secs(5);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// As many as go out without a wait.
    fn all_at_once(budget: &Budget) -> Vec<Permit<'_>> {
        std::iter::from_fn(|| budget.admit(Kind::Call).now_or_never()).collect()
    }

    #[test]
    fn max_concurrency_may_be_under_way_from_the_start() {
        let budget = Budget::new(16, None);
        let mut held = all_at_once(&budget);
        assert_eq!(held.len(), 16);
        held.truncate(10);
        assert_eq!(all_at_once(&budget).len(), 6);
    }

    #[tokio::test]
    async fn a_change_of_pace_concerns_those_who_wait_already() {
        let budget = Budget::new(16, Some(1000.0));
        let begun = Instant::now();
        let first = budget.admit(Kind::Call).await;
        first.refused(Some(ms(60)));
        let (second, ()) = tokio::join!(budget.admit(Kind::Call), async {
            tokio::time::sleep(ms(20)).await;
            first.refused(Some(ms(200)));
        });
        assert!(second.sent - begun >= ms(220));
    }

    #[tokio::test]
    async fn what_is_live_goes_ahead_of_all_calls_that_wait_and_they_go_on_behind_it() {
        let budget = Budget::new(4, Some(500.0));
        let order = Mutex::new(Vec::new());
        let ask = |kind| {
            let (budget, order) = (&budget, &order);
            async move {
                let _permit = budget.admit(kind).await;
                order.lock().unwrap().push(kind);
                tokio::time::sleep(ms(5)).await;
            }
        };
        let mut asked: FuturesUnordered<_> = (0..100).map(|_| ask(Kind::Call)).collect();
        for _ in 0..10 {
            asked.next().await;
        }
        let before = order.lock().unwrap().len();
        asked.push(ask(Kind::Live));
        timeout(SOON, async { while asked.next().await.is_some() {} }).await.expect("somebody waits for ever");
        let order = order.lock().unwrap();
        assert_eq!(order.len(), 101);
        let live = order.iter().position(|kind| *kind == Kind::Live).unwrap();
        // One call may go out before the live one is there.
        assert!(live <= before + 1, "{before} before it came, {live} before it went");
    }

    #[tokio::test]
    async fn live_requests_go_beyond_no_limit_of_the_user() {
        let budget = Budget::new(5, None);
        let mut held: Vec<_> = all_at_once(&budget).into_iter().take(4).collect();
        let live = budget.admit(Kind::Live).now_or_never().expect("a place is free");
        assert!(budget.admit(Kind::Live).now_or_never().is_none(), "max_concurrency is five");
        let (_second, ()) = tokio::join!(timeout(SOON, budget.admit(Kind::Live)).map(Result::unwrap), async {
            tokio::task::yield_now().await;
            held.pop();
        });
        drop(live);
    }

    #[tokio::test]
    async fn one_that_is_live_and_given_up_keeps_no_call_waiting() {
        let budget = Budget::new(1, None);
        let held = budget.admit(Kind::Call).await;
        let mut live = Box::pin(budget.admit(Kind::Live));
        let mut call = Box::pin(budget.admit(Kind::Call));
        assert!(live.as_mut().now_or_never().is_none() && call.as_mut().now_or_never().is_none());
        drop(held);
        assert!(call.as_mut().now_or_never().is_none(), "the live one is next");
        drop(live);
        timeout(SOON, call).await.expect("the call waits for ever");
    }

    #[test]
    fn pace_and_hold_concern_what_is_live_as_all_others() {
        let mut limiter = RateLimiter::new(Some(4.0));
        let now = Instant::now();
        limiter.sent(now);
        let mut state = State { limiter, max_concurrency: 16, under_way: 1, live_waiting: 1 };
        assert_eq!((state.turn(Kind::Live, now), state.turn(Kind::Call, now)), (Some(now + ms(250)), None));
        state.limiter.refused(now, now, Some(ms(700)));
        assert_eq!(state.turn(Kind::Live, now), Some(now + ms(700)));
        state.live_waiting = 0;
        assert_eq!(state.turn(Kind::Call, now), Some(now + ms(700)));
    }
}
