//! The concurrency limit and the request rate of a client. Requests wait in two queues: live streams go ahead of calls, so
//! that a batch cannot delay a connecting stream.

use super::rate::RateLimiter;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(super) struct RequestLimiter {
    calls: WaitQueue,
    live: WaitQueue,
    state: Mutex<LimiterState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    Call,
    /// At most one request per stream, so these cannot starve calls.
    Live,
}

/// Waiting requests, first come, first served. Only the head computes its time, so a change of the rate affects all.
#[derive(Debug, Default)]
struct WaitQueue {
    head: AsyncMutex<()>,
    /// Wakes the head: a permit was returned, or no live request is waiting any more.
    notify: Notify,
}

#[derive(Debug)]
struct LimiterState {
    rate: RateLimiter,
    max_concurrency: usize,
    in_flight: usize,
    waiting_live: usize,
}

impl LimiterState {
    /// The earliest time at which a request may be sent; `None`: not before another has ended.
    fn earliest_send(&self, priority: Priority, now: Instant) -> Option<Instant> {
        let is_next = priority == Priority::Live || self.waiting_live == 0;
        (is_next && self.in_flight < self.max_concurrency).then(|| self.rate.earliest_send(now))
    }
}

/// Allows one request in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a> {
    limiter: &'a RequestLimiter,
    sent_at: Instant,
}

/// Calls wait while one of these exists.
struct WaitingLive<'a>(&'a RequestLimiter);

impl RequestLimiter {
    pub(super) fn new(max_concurrency: usize, requests_per_second: Option<f64>) -> Self {
        let rate = RateLimiter::new(requests_per_second);
        let state = Mutex::new(LimiterState { rate, max_concurrency, in_flight: 0, waiting_live: 0 });
        RequestLimiter { calls: WaitQueue::default(), live: WaitQueue::default(), state }
    }

    /// Waits until a request may be sent. The permit covers the request and its body, but no wait before a retry.
    pub(super) async fn acquire(&self, priority: Priority) -> Permit<'_> {
        let (queue, _waiting_live) = match priority {
            Priority::Call => (&self.calls, None),
            Priority::Live => {
                self.state().waiting_live += 1;
                (&self.live, Some(WaitingLive(self)))
            }
        };
        let _head = queue.head.lock().await;
        loop {
            let now = Instant::now();
            let send_at = {
                let mut state = self.state();
                let send_at = state.earliest_send(priority, now);
                if send_at.is_some_and(|send_at| send_at <= now) {
                    state.rate.record_sent(now);
                    state.in_flight += 1;
                    return Permit { limiter: self, sent_at: now };
                }
                send_at
            };
            match send_at {
                Some(send_at) => sleep_until(send_at).await,
                None => queue.notify.notified().await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Records a response other than 429.
    pub(super) fn record_accepted(&self) {
        self.limiter.state().rate.record_accepted(self.sent_at, Instant::now());
    }

    /// Records a 429. `retry_after` delays all requests.
    pub(super) fn record_refused(&self, retry_after: Option<Duration>) {
        self.limiter.state().rate.record_refused(self.sent_at, Instant::now(), retry_after);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.limiter.state().in_flight -= 1;
        self.limiter.live.notify.notify_one();
        self.limiter.calls.notify.notify_one();
    }
}

impl Drop for WaitingLive<'_> {
    fn drop(&mut self) {
        self.0.state().waiting_live -= 1;
        self.0.calls.notify.notify_one();
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

    const TEST_TIMEOUT: Duration = Duration::from_secs(5);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// All permits that are available without waiting.
    fn available(limiter: &RequestLimiter) -> Vec<Permit<'_>> {
        std::iter::from_fn(|| limiter.acquire(Priority::Call).now_or_never()).collect()
    }

    #[test]
    fn max_concurrency_requests_may_start_at_once() {
        let limiter = RequestLimiter::new(16, None);
        let mut permits = available(&limiter);
        assert_eq!(permits.len(), 16);
        permits.truncate(10);
        assert_eq!(available(&limiter).len(), 6);
    }

    #[tokio::test]
    async fn a_change_of_the_rate_affects_requests_that_already_wait() {
        let limiter = RequestLimiter::new(16, Some(1000.0));
        let start = Instant::now();
        let first = limiter.acquire(Priority::Call).await;
        first.record_refused(Some(ms(60)));
        let (second, ()) = tokio::join!(limiter.acquire(Priority::Call), async {
            tokio::time::sleep(ms(20)).await;
            first.record_refused(Some(ms(200)));
        });
        assert!(second.sent_at - start >= ms(220));
    }

    #[tokio::test]
    async fn live_requests_go_ahead_of_waiting_calls() {
        let limiter = RequestLimiter::new(4, Some(500.0));
        let order = Mutex::new(Vec::new());
        let send = |priority| {
            let (limiter, order) = (&limiter, &order);
            async move {
                let _permit = limiter.acquire(priority).await;
                order.lock().unwrap().push(priority);
                tokio::time::sleep(ms(5)).await;
            }
        };
        let mut requests: FuturesUnordered<_> = (0..100).map(|_| send(Priority::Call)).collect();
        for _ in 0..10 {
            requests.next().await;
        }
        let before = order.lock().unwrap().len();
        requests.push(send(Priority::Live));
        timeout(TEST_TIMEOUT, async { while requests.next().await.is_some() {} })
            .await
            .expect("every request gets a permit");
        let order = order.lock().unwrap();
        assert_eq!(order.len(), 101);
        let live = order.iter().position(|priority| *priority == Priority::Live).unwrap();
        // One call may be sent before the live request starts to wait.
        assert!(live <= before + 1, "{before} before it was queued, {live} before it was sent");
    }

    #[tokio::test]
    async fn live_requests_count_towards_max_concurrency() {
        let limiter = RequestLimiter::new(5, None);
        let mut permits: Vec<_> = available(&limiter).into_iter().take(4).collect();
        let live = limiter.acquire(Priority::Live).now_or_never().expect("one permit is left");
        assert!(limiter.acquire(Priority::Live).now_or_never().is_none(), "max_concurrency is 5");
        let (_second, ()) =
            tokio::join!(timeout(TEST_TIMEOUT, limiter.acquire(Priority::Live)).map(Result::unwrap), async {
                tokio::task::yield_now().await;
                permits.pop();
            });
        drop(live);
    }

    #[tokio::test]
    async fn a_cancelled_live_request_does_not_block_calls() {
        let limiter = RequestLimiter::new(1, None);
        let permit = limiter.acquire(Priority::Call).await;
        let mut live = Box::pin(limiter.acquire(Priority::Live));
        let mut call = Box::pin(limiter.acquire(Priority::Call));
        assert!(live.as_mut().now_or_never().is_none() && call.as_mut().now_or_never().is_none());
        drop(permit);
        assert!(call.as_mut().now_or_never().is_none(), "the live request is next");
        drop(live);
        timeout(TEST_TIMEOUT, call).await.expect("the call gets a permit");
    }

    #[test]
    fn rate_and_retry_after_apply_to_live_requests_too() {
        let mut rate = RateLimiter::new(Some(4.0));
        let now = Instant::now();
        rate.record_sent(now);
        let mut state = LimiterState { rate, max_concurrency: 16, in_flight: 1, waiting_live: 1 };
        let earliest = |state: &LimiterState, priority| state.earliest_send(priority, now);
        assert_eq!((earliest(&state, Priority::Live), earliest(&state, Priority::Call)), (Some(now + ms(250)), None));
        state.rate.record_refused(now, now, Some(ms(700)));
        assert_eq!(earliest(&state, Priority::Live), Some(now + ms(700)));
        state.waiting_live = 0;
        assert_eq!(earliest(&state, Priority::Call), Some(now + ms(700)));
    }
}
