//! Closes gaps: after the user has taken a gap, the state of the game is requested. The response precedes everything that was
//! received after the gap: the buffer is held during the request, so that no older state follows a newer one.

use super::buffer::{Buffer, Received};
use super::game_state::GameState;
use super::item::{Item, Notice, OVERFLOW};
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

/// Maximum time of the requests for a gap, during which the stream yields nothing.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// How long to wait for the next snapshot of the stream before requesting one.
const SNAPSHOT_WAIT: Duration = Duration::from_secs(2);

/// What an update of a stream contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Updates {
    /// Only what changed, so that a later update does not close a gap.
    Changes,
    /// The whole state, so that the next update closes a gap.
    Snapshots,
}

/// Decides when to send a request. Pure: `now` counts from the start of the stream.
#[derive(Debug)]
struct RecoveryTimer {
    updates: Updates,
    /// Minimum time between two requests.
    pause: Duration,
    last: Option<Duration>,
    open: Option<MergedGap>,
}

/// Open gaps, merged into one: one request closes them.
#[derive(Debug, Clone, PartialEq)]
struct MergedGap {
    gap: Notice,
    due: Duration,
    /// Number of updates received when the last of them was taken.
    received: u64,
}

impl RecoveryTimer {
    fn new(updates: Updates, pause: Duration) -> Self {
        RecoveryTimer { updates, pause, last: None, open: None }
    }

    /// Records a gap that was taken from the buffer. Other notices are ignored.
    fn take(&mut self, gap: &Notice, now: Duration, received: Received) {
        let Notice::Gap { end: Some(_), reason, dropped, is_final: false, .. } = gap else { return };
        // A waiting snapshot closes the gap; an oversized one would be as long in a response.
        let closes_by_itself = received.waiting > 0 || reason == OVERFLOW || dropped.is_some();
        if self.updates == Updates::Snapshots && closes_by_itself {
            return;
        }
        let patience = match self.updates {
            Updates::Changes => Duration::ZERO,
            Updates::Snapshots => SNAPSHOT_WAIT.min(self.pause),
        };
        let earliest = self.last.map_or(Duration::ZERO, |last| last.saturating_add(self.pause));
        let new = MergedGap { gap: gap.clone(), due: (now + patience).max(earliest), received: received.all };
        self.open = Some(match self.open.take() {
            Some(open) => MergedGap { gap: covering(open.gap, new.gap), due: open.due.min(new.due), ..new },
            None => new,
        });
    }

    fn due(&self) -> Option<Duration> {
        self.open.as_ref().map(|open| open.due)
    }

    /// The gap to request now; `None`: none is due, or a snapshot has closed it.
    fn begin(&mut self, now: Duration, received: Received) -> Option<Notice> {
        let open = self.open.take_if(|open| open.due <= now)?;
        if self.updates == Updates::Snapshots && received.all > open.received {
            return None;
        }
        self.last = Some(now);
        Some(open.gap)
    }
}

/// The later gap, extended to the start of the earlier one.
fn covering(earlier: Notice, mut later: Notice) -> Notice {
    if let (Notice::Gap { start: first, dropped: more, .. }, Notice::Gap { start, dropped, .. }) = (earlier, &mut later)
    {
        *start = (*start).min(first);
        *dropped = dropped.zip(more).map(|(a, b)| a.saturating_add(b));
    }
    later
}

/// The requests of one stream for its gaps.
pub(super) struct Recovery {
    state: GameState,
    timer: Mutex<RecoveryTimer>,
    changed: Notify,
    begun: Instant,
}

impl Recovery {
    pub(super) fn new(state: GameState, updates: Updates, pause: Duration) -> Self {
        let timer = Mutex::new(RecoveryTimer::new(updates, pause));
        Recovery { state, timer, changed: Notify::new(), begun: Instant::now() }
    }

    /// Records a gap that was taken from the buffer, and holds the buffer if the request is due at once.
    pub(super) fn take(&self, gap: &Notice, buffer: &Buffer) {
        let now = self.begun.elapsed();
        let mut timer = self.timer();
        timer.take(gap, now, buffer.received());
        if timer.due().is_some_and(|due| due <= now) {
            // Under the lock: after it, the request may have been sent and the buffer released already.
            buffer.hold();
        }
        drop(timer);
        self.changed.notify_one();
    }

    /// Sends the requests that are due, as long as the stream is open.
    pub(super) async fn run(&self, buffer: &Buffer) -> Infallible {
        loop {
            let due = self.timer().due().and_then(|due| self.begun.checked_add(due));
            let Some(due) = due else {
                self.changed.notified().await;
                continue;
            };
            tokio::select! {
                () = sleep_until(due) => {}
                () = self.changed.notified() => continue,
            }
            let gap = self.timer().begin(self.begun.elapsed(), buffer.received());
            let notice = match gap {
                Some(gap) => {
                    buffer.hold();
                    Some(self.recover(gap).await)
                }
                None => None,
            };
            buffer.release(notice.map(Item::Notice));
        }
    }

    async fn recover(&self, mut gap: Notice) -> Notice {
        let late = || Err(format!("no answer within {} s", REQUEST_LIMIT.as_secs()));
        match timeout(REQUEST_LIMIT, self.state.ask(REQUEST_LIMIT)).await.unwrap_or_else(|_| late()) {
            Ok(update) => Notice::Recovered { gap: Box::new(gap), updates: vec![update] },
            Err(why) => {
                log::warn!("live stream: not recovered: {why}");
                if let Notice::Gap { reason, is_final, .. } = &mut gap {
                    *reason = format!("not recovered: {why} (gap: {reason})");
                    *is_final = true;
                }
                gap
            }
        }
    }

    fn timer(&self) -> MutexGuard<'_, RecoveryTimer> {
        self.timer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::item::RESTARTED;
    use super::*;
    use proptest::prelude::*;
    use std::time::SystemTime;

    const PAUSE: Duration = Duration::from_secs(5);

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn gap(start: u64, end: Option<u64>, reason: &str, dropped: Option<u64>) -> Notice {
        let at = |s: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(s);
        Notice::Gap { start: at(start), end: end.map(at), reason: reason.into(), dropped, is_final: false }
    }

    fn cut() -> Notice {
        gap(1, Some(2), "it was cut", None)
    }

    const NONE: Received = Received { all: 7, waiting: 0 };

    #[test]
    fn a_gap_among_changes_is_requested_at_once_whatever_its_cause() {
        for (reason, dropped) in [("it was cut", None), (OVERFLOW, Some(3)), (RESTARTED, None), ("oversized", Some(1))]
        {
            let mut timer = RecoveryTimer::new(Updates::Changes, PAUSE);
            let gap = gap(1, Some(2), reason, dropped);
            // Later changes do not contain the missing ones.
            timer.take(&gap, seconds(9.0), Received { all: 7, waiting: 3 });
            assert_eq!(timer.due(), Some(seconds(9.0)), "{reason}");
            assert_eq!(timer.begin(seconds(9.0), Received { all: 99, waiting: 9 }), Some(gap));
            assert_eq!((timer.due(), timer.begin(seconds(99.0), NONE)), (None, None), "once");
        }
    }

    #[test]
    fn the_end_of_a_stream_and_other_notices_cause_no_request() {
        for updates in [Updates::Changes, Updates::Snapshots] {
            let mut timer = RecoveryTimer::new(updates, PAUSE);
            timer.take(&gap(1, None, "401", None), Duration::ZERO, NONE);
            timer.take(&Notice::Connected { at: SystemTime::UNIX_EPOCH }, Duration::ZERO, NONE);
            assert_eq!(timer.due(), None);
        }
    }

    #[test]
    fn a_final_gap_is_not_requested_again() {
        let mut timer = RecoveryTimer::new(Updates::Changes, PAUSE);
        let mut gap = cut();
        if let Notice::Gap { is_final, .. } = &mut gap {
            *is_final = true;
        }
        timer.take(&gap, seconds(9.0), NONE);
        assert_eq!(timer.due(), None);
    }

    #[test]
    fn gaps_within_the_pause_share_the_next_request() {
        let mut timer = RecoveryTimer::new(Updates::Changes, PAUSE);
        timer.take(&cut(), seconds(10.0), NONE);
        assert!(timer.begin(seconds(10.0), NONE).is_some());
        timer.take(&gap(3, Some(4), OVERFLOW, Some(2)), seconds(11.0), NONE);
        timer.take(&gap(5, Some(6), OVERFLOW, Some(3)), seconds(14.0), NONE);
        assert_eq!((timer.due(), timer.begin(seconds(14.9), NONE)), (Some(seconds(15.0)), None));
        assert_eq!(timer.begin(seconds(15.0), NONE), Some(gap(3, Some(6), OVERFLOW, Some(5))));
        // The sum is known only if each count is.
        timer.take(&gap(7, Some(8), OVERFLOW, Some(2)), seconds(16.0), NONE);
        timer.take(&gap(8, Some(9), "it was cut", None), seconds(16.0), NONE);
        assert_eq!(timer.begin(seconds(20.0), NONE), Some(gap(7, Some(9), "it was cut", None)));
    }

    #[test]
    fn a_snapshot_closes_a_gap_and_only_where_none_comes_is_one_asked_for() {
        let mut timer = RecoveryTimer::new(Updates::Snapshots, PAUSE);
        timer.take(&cut(), seconds(1.0), Received { all: 7, waiting: 1 });
        timer.take(&gap(1, Some(2), OVERFLOW, Some(9)), seconds(1.0), NONE);
        timer.take(&gap(1, Some(2), "oversized", Some(1)), seconds(1.0), NONE);
        assert_eq!(timer.due(), None);
        timer.take(&cut(), seconds(1.0), NONE);
        assert_eq!((timer.due(), timer.begin(seconds(2.9), NONE)), (Some(seconds(3.0)), None));
        assert_eq!(timer.begin(seconds(3.0), Received { all: 8, waiting: 0 }), None, "one came");
        timer.take(&cut(), seconds(4.0), NONE);
        assert_eq!(timer.begin(seconds(6.0), NONE), Some(cut()));
        timer.take(&cut(), seconds(7.0), NONE);
        assert_eq!(timer.due(), Some(seconds(11.0)), "the pause is kept");
    }

    proptest! {
        #[test]
        fn every_gap_is_covered_by_a_request_and_those_are_as_far_apart_as_they_should(
            steps in prop::collection::vec((0_u64..4_000, any::<bool>()), 1..60),
        ) {
            let mut timer = RecoveryTimer::new(Updates::Changes, PAUSE);
            let (mut now, mut asked, mut taken) = (Duration::ZERO, Vec::new(), Vec::new());
            for (wait, is_gap) in steps {
                now += Duration::from_millis(wait);
                if is_gap {
                    timer.take(&gap(now.as_secs(), Some(now.as_secs() + 1), OVERFLOW, Some(1)), now, NONE);
                    taken.push(now);
                }
                if timer.begin(now, NONE).is_some() {
                    asked.push(now);
                }
            }
            if let Some(due) = timer.due() {
                asked.push(due.max(now));
            }
            prop_assert!(asked.windows(2).all(|pair| pair[1] - pair[0] >= PAUSE), "{asked:?}");
            prop_assert!(asked.len() <= taken.len());
            for gap in taken {
                let next = asked.iter().find(|at| **at >= gap);
                prop_assert!(next.is_some_and(|at| *at - gap <= PAUSE + Duration::from_secs(4)), "{gap:?}: {asked:?}");
            }
        }
    }
}
