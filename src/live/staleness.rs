//! Whether a box score may lack values: what its stream says about gaps and connections. Pure.

use super::item::Notice;
use std::time::{Duration, SystemTime};

/// A connection that is lost for less than this has missed next to nothing.
const MAX_LOST: Duration = Duration::from_secs(1);
/// Open gaps that are distinguished; further ones extend the last.
const MAX_OPEN: usize = 256;

#[derive(Debug, Clone, Default)]
pub(super) struct Staleness {
    /// The gaps that may still be closed, the oldest first.
    open: Vec<UnconfirmedGap>,
    /// End of the last gap that nothing will close, until a later complete state.
    final_gap_end: Option<SystemTime>,
    /// Since when there is no connection.
    disconnected: Option<SystemTime>,
    /// The numbers of the last two snapshots of the stream.
    snapshots: [u64; 2],
    /// The last of them lacks a line of the one before it.
    pub(super) is_doubtful: bool,
}

#[derive(Debug, Clone, Copy)]
struct UnconfirmedGap {
    end: SystemTime,
    /// Its number among the items.
    item: u64,
}

impl Staleness {
    /// Records a notice, and its number among the items. Returns the number of the newest open gap before it, or else its own, and
    /// the number of the gap that it closes, or else 0.
    pub(super) fn record(&mut self, notice: &Notice, item: u64) -> (u64, u64) {
        let newest = self.open.last().map_or(item, |gap| gap.item);
        (newest, self.notice(notice, item).unwrap_or(0))
    }

    fn notice(&mut self, notice: &Notice, item: u64) -> Option<u64> {
        match notice {
            Notice::Connected { .. } => self.disconnected = None,
            Notice::Disconnected { at, .. } => self.disconnected = self.disconnected.or(Some(*at)),
            Notice::Gap { is_final, .. } => {
                let end = notice.at();
                if *is_final {
                    self.close(end);
                    self.final_gap_end = self.final_gap_end.max(Some(end));
                } else if self.open.len() == MAX_OPEN
                    && let Some(last) = self.open.last_mut()
                {
                    *last = UnconfirmedGap { end: last.end.max(end), item };
                } else {
                    self.open.push(UnconfirmedGap { end, item });
                }
            }
            Notice::Recovered { gap, .. } => {
                let end = gap.at();
                // What closed it is later than the gaps before it.
                self.final_gap_end = self.final_gap_end.filter(|gap_end| *gap_end > end);
                return self.close(end);
            }
            Notice::Quiet { .. } | Notice::Recovering { .. } => {}
        }
        None
    }

    /// Records a complete state of the game that the stream delivered.
    pub(super) fn complete_state(&mut self, at: SystemTime) {
        self.final_gap_end = self.final_gap_end.filter(|gap_end| *gap_end > at);
        self.open.retain(|gap| gap.end > at);
    }

    /// Records a snapshot of the stream by its number; returns those of the two before it. While there is a gap, its recovery says
    /// what lines there are.
    pub(super) fn snapshot(&mut self, item: u64) -> [u64; 2] {
        let [_, last] = self.snapshots;
        let before = std::mem::replace(&mut self.snapshots, [last, item]);
        self.is_doubtful = false;
        if self.has_gap() { [0, 0] } else { before }
    }

    /// Whether a gap is open or final.
    fn has_gap(&self) -> bool {
        !self.open.is_empty() || self.final_gap_end.is_some()
    }

    pub(super) fn is_stale(&self, now: SystemTime) -> bool {
        // After a step back of the clock it is unknown for how long.
        let is_lost = |since: SystemTime| now.duration_since(since).map_or(true, |elapsed| elapsed >= MAX_LOST);
        self.is_doubtful || self.has_gap() || self.disconnected.is_some_and(is_lost)
    }

    /// Closes the oldest gap, of which several may be one by now: those until this end.
    fn close(&mut self, end: SystemTime) -> Option<u64> {
        let earlier = self.open.iter().take_while(|gap| gap.end < end).count();
        let is_open = self.open.get(earlier).is_some_and(|gap| gap.end == end);
        self.open.drain(..earlier + usize::from(is_open)).next_back().map(|gap| gap.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn gap(start: u64, end: u64, is_final: bool) -> Notice {
        Notice::Gap { start: at(start), end: Some(at(end)), reason: "x".into(), dropped: None, is_final }
    }

    fn recovered(gap: Notice) -> Notice {
        Notice::Recovered { gap: Box::new(gap), updates: Vec::new().into(), requested_at: None }
    }

    fn disconnected_at(seconds: u64) -> Notice {
        Notice::Disconnected { at: at(seconds), reason: "x".into(), status: None, attempt: 0, retry_at: None }
    }

    #[test]
    fn an_open_gap_is_stale_until_it_is_recovered() {
        let mut staleness = Staleness::default();
        assert!(!staleness.is_stale(at(9)));
        staleness.notice(&gap(10, 12, false), 0);
        staleness.notice(&gap(14, 15, false), 0);
        staleness.notice(&recovered(gap(10, 12, false)), 0);
        assert!(staleness.is_stale(at(20)), "the second one is open");
        staleness.notice(&recovered(gap(14, 15, false)), 0);
        assert!(!staleness.is_stale(at(20)));
    }

    #[test]
    fn a_gap_at_the_end_of_another_is_stale_on_its_own() {
        let mut staleness = Staleness::default();
        staleness.notice(&gap(10, 12, false), 0);
        staleness.notice(&gap(12, 12, false), 0);
        staleness.notice(&recovered(gap(10, 12, false)), 0);
        assert!(staleness.is_stale(at(20)));
        staleness.notice(&recovered(gap(12, 12, false)), 0);
        assert!(!staleness.is_stale(at(20)));
    }

    #[test]
    fn a_connection_that_is_lost_for_a_second_is_stale() {
        let mut staleness = Staleness::default();
        staleness.notice(&disconnected_at(10), 0);
        staleness.notice(&disconnected_at(30), 0);
        assert!(!staleness.is_stale(at(10)));
        assert!(staleness.is_stale(at(11)), "counted from the first of the failures");
        assert!(staleness.is_stale(at(9)), "the clock was set back");
        staleness.notice(&Notice::Connected { at: at(31) }, 0);
        assert!(!staleness.is_stale(at(99)));
    }

    #[test]
    fn a_final_gap_is_stale_until_a_later_complete_state() {
        for later in [false, true] {
            let mut staleness = Staleness::default();
            staleness.notice(&gap(10, 12, false), 0);
            staleness.notice(&gap(10, 12, true), 0);
            staleness.complete_state(at(11));
            assert!(staleness.is_stale(at(13)));
            if later {
                staleness.complete_state(at(13));
            } else {
                staleness.notice(&recovered(gap(20, 21, false)), 0);
            }
            assert!(!staleness.is_stale(at(30)));
        }
    }

    #[test]
    fn gaps_beyond_the_maximum_are_kept_as_one() {
        let mut staleness = Staleness::default();
        for n in 0..1000 {
            staleness.notice(&gap(10 * n, 10 * n + 5, false), 0);
        }
        assert_eq!(staleness.open.len(), MAX_OPEN);
        staleness.complete_state(at(9_990));
        assert!(staleness.is_stale(at(9_999)));
        staleness.complete_state(at(9_995));
        assert!(!staleness.is_stale(at(9_999)));
    }
}
