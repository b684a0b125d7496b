//! How much a client asks of a service that publishes no limits: requests at once, and in a second. Refusals (429) take it
//! down by a factor, answers bring it up by steps. Pure: time is given.
//!
//! Before the first refusal there is no rate, and the window grows to the client's limit, at first by doubling. The
//! first refusal starts a rate, from what was answered in the last whole second or from [`FIRST_RATE`]. A bucket of tokens is
//! empty at each refusal, so that the mean rate between two of them is what it lets pass, or less where it was full meanwhile:
//! a little below that the rate goes on. Up to the rate that was refused it creeps, so that few requests are spent
//! on probing; above it the limit has changed, and it grows fast.

use std::time::Duration;
use tokio::time::Instant;

/// Requests at once before anything was answered.
const FIRST_WINDOW: f64 = 4.0;
/// Requests in a second after the first refusal, where nothing was learned before.
const FIRST_RATE: f64 = 4.0;
/// A rate never falls below: one request in two seconds tells whether there is an end to it.
const LEAST_RATE: f64 = 0.5;
/// A rate beyond this is none.
const NO_RATE: f64 = 1000.0;
/// Up to here the window doubles with each round of answers, while nothing was refused; beyond it grows by one. What is under
/// way at the first refusal is refused with it.
const DOUBLED: f64 = 8.0;
/// It does not double in less: a service next door would have refused a whole window before
/// the first refusal was read.
const ROUND: Duration = Duration::from_millis(3);
/// What a refusal leaves of the mean rate since the one before.
const KEPT: f64 = 0.96;
/// What it leaves of the rate at the least, and one soon after another.
const CUT: f64 = 0.8;
const DEEP_CUT: f64 = 0.6;
/// Fewer answers than this between two refusals: the rate was far off.
const SOON: u32 = 10;
/// How much each answer adds while the limit is unknown, so that the rate grows e² times in a second; and no more than this
/// part of itself.
const SEARCH: (f64, f64) = (2.0, 0.25);
/// How long it takes to come back to the rate that was refused, in answers and in seconds: the longer counts.
const CREEP: (f64, f64) = (300.0, 15.0);
/// Above the refused rate by this factor, the limit is taken to have changed. A bucket that is full lets some of it pass.
const CHANGED: f64 = 1.25;

#[derive(Debug)]
pub(super) struct Pressure {
    most_at_once: f64,
    /// The rate that a user set, and when it allows the next request.
    limit: Option<(f64, Option<Instant>)>,
    window: f64,
    /// When the window may grow beyond, while nothing was refused.
    round: Option<(Instant, f64)>,
    rate: Option<f64>,
    /// The rate that was refused last, and what a cut made of it; zero: not known.
    refused: f64,
    kept: f64,
    cut: Option<Instant>,
    answers_since_cut: u32,
    /// How many requests the rate allowed since the last cut.
    kept_up: f64,
    held_until: Option<Instant>,
    last_sent: Option<Instant>,
    /// Answers in the second that began then, and in the whole one before.
    second: Option<(Instant, u32)>,
    last_second: u32,
}

impl Pressure {
    pub(super) fn new(most_at_once: usize, requests_per_second: Option<f64>) -> Self {
        let most_at_once = most_at_once as f64;
        Pressure {
            most_at_once,
            limit: requests_per_second.map(|rate| (rate, None)),
            window: most_at_once.min(FIRST_WINDOW),
            round: None,
            rate: None,
            refused: 0.0,
            kept: 0.0,
            cut: None,
            answers_since_cut: 0,
            kept_up: 0.0,
            held_until: None,
            last_sent: None,
            second: None,
            last_second: 0,
        }
    }

    /// How many requests may be under way.
    pub(super) fn window(&self) -> usize {
        (self.window as usize).max(1)
    }

    /// How many may be whatever was learned: a user's limit.
    pub(super) fn most_at_once(&self) -> usize {
        self.most_at_once as usize
    }

    /// When the next request may be sent. A limit of the user's is kept at even distances; so is a rate, but from when a
    /// request went out and not from when it should have: two that come too close are what a service refuses.
    pub(super) fn turn(&self, now: Instant) -> Instant {
        let paced = self.rate.zip(self.last_sent).map(|(rate, last)| last + Duration::from_secs_f64(1.0 / rate));
        let limited = self.limit.and_then(|(_, next)| next);
        [Some(now), paced, limited, self.held_until].into_iter().flatten().max().unwrap_or(now)
    }

    /// A request goes out, in its turn.
    pub(super) fn sent(&mut self, now: Instant) {
        if let Some((rate, next)) = &mut self.limit {
            // Late by less than a distance, it keeps its place in the row; idle time is not saved up.
            let distance = Duration::from_secs_f64(1.0 / *rate);
            let turn = next.filter(|next| *next <= now && now < *next + distance).unwrap_or(now);
            *next = Some(turn + distance);
        }
        if let (Some(rate), Some(last)) = (self.rate, self.last_sent) {
            // What is late by more was held, or had nothing to ask for.
            self.kept_up += (rate * now.saturating_duration_since(last).as_secs_f64()).min(2.0);
        }
        self.last_sent = Some(now);
    }

    /// The service answered, whatever it said but to slow down.
    pub(super) fn answered(&mut self, now: Instant) {
        let (began, count) = self.second.get_or_insert((now, 0));
        *count += 1;
        let passed = now.saturating_duration_since(*began);
        if passed >= Duration::from_secs(1) {
            self.last_second = if passed < Duration::from_secs(2) { *count } else { 0 };
            self.second = Some((now, 0));
        }
        self.answers_since_cut = self.answers_since_cut.saturating_add(1);
        self.window = self.wider(now).min(self.most_at_once);
        let Some(rate) = self.rate else { return };
        let step = if rate > self.refused * CHANGED {
            SEARCH.0.min(SEARCH.1 * rate)
        } else {
            (self.refused - self.kept) / CREEP.0.max(CREEP.1 * self.refused)
        };
        self.rate = Some(rate + step).filter(|rate| *rate < NO_RATE);
    }

    fn wider(&mut self, now: Instant) -> f64 {
        if self.cut.is_some() || self.window >= DOUBLED {
            return self.window + 1.0 / self.window;
        }
        let (until, bound) = self.round.get_or_insert((now + ROUND, self.window));
        if now >= *until {
            (*until, *bound) = (now + ROUND, 2.0 * self.window);
        }
        (self.window + 1.0).min(*bound)
    }

    /// The service refused a request that went out at `sent`; `hold`: it says for how long none is welcome. What went out
    /// before the last cut knew nothing of it, and cuts nothing more.
    pub(super) fn refused(&mut self, sent: Instant, now: Instant, hold: Option<Duration>) {
        self.held_until = self.held_until.max(hold.map(|hold| now + hold));
        if self.cut.is_some_and(|cut| sent <= cut) {
            return;
        }
        match (self.rate, self.mean_rate()) {
            (None, _) => {
                let learned = f64::from(self.last_second);
                let known = learned > FIRST_RATE;
                self.refused = if known { learned } else { 0.0 };
                self.kept = if known { learned * CUT } else { FIRST_RATE };
            }
            (Some(rate), mean) => {
                let kept = mean.map(|mean| (mean * KEPT).clamp(rate * CUT, rate * KEPT));
                self.refused = rate;
                self.kept = kept.unwrap_or(rate * DEEP_CUT).max(LEAST_RATE);
            }
        }
        self.rate = Some(self.kept);
        self.window = (self.window / 2.0).max(1.0);
        self.cut = Some(now);
        self.answers_since_cut = 0;
        self.kept_up = 0.0;
    }

    /// Since the last cut; `None`: too few were answered to tell. Timers are a little late, so that less goes out than the rate
    /// says: the mean is one of what it says.
    fn mean_rate(&self) -> Option<f64> {
        let passed = self.last_sent?.saturating_duration_since(self.cut?).as_secs_f64();
        (self.answers_since_cut >= SOON && passed > 0.0).then(|| self.kept_up / passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A service with a hidden bucket, a fixed way there and back, and a clock of its own.
    struct Hidden {
        per_second: f64,
        burst: f64,
        way: Duration,
        retry_after: Option<Duration>,
        /// How much later than another a request may arrive.
        jitter: Duration,
    }

    #[derive(Debug)]
    struct Season {
        seconds: f64,
        refused: usize,
        most_refusals_of_one: u32,
    }

    impl Hidden {
        /// Asks for `count` things, sixteen at once, each until it is answered.
        fn season(&self, count: usize) -> Season {
            let start = Instant::now();
            let mut pressure = Pressure::new(16, None);
            let (mut now, mut tokens, mut filled) = (start, self.burst, start);
            let mut waiting: VecDeque<u32> = std::iter::repeat_n(0, count).collect();
            let mut flying: VecDeque<(Instant, Instant, bool, u32)> = VecDeque::new();
            let (mut answered, mut refused, mut most, mut arrived) = (0, 0, 0, 0_u32);
            while answered < count {
                let turn = pressure.turn(now);
                let may_send = !waiting.is_empty() && flying.len() < pressure.window();
                if may_send && flying.front().is_none_or(|first| turn <= first.1) {
                    now = turn;
                    pressure.sent(now);
                    arrived += 1;
                    let arrival = (now + self.jitter.mul_f64(f64::from(arrived * 7919 % 100) / 100.0)).max(filled);
                    tokens = (tokens + (arrival - filled).as_secs_f64() * self.per_second).min(self.burst);
                    filled = arrival;
                    let passes = tokens >= 1.0;
                    tokens -= f64::from(u8::from(passes));
                    flying.push_back((now, now + self.way, passes, waiting.pop_front().unwrap_or(0)));
                } else if let Some((sent, back, passes, before)) = flying.pop_front() {
                    now = now.max(back);
                    if passes {
                        answered += 1;
                        pressure.answered(now);
                    } else {
                        refused += 1;
                        most = most.max(before + 1);
                        pressure.refused(sent, now, self.retry_after);
                        waiting.push_back(before + 1);
                    }
                }
            }
            Season { seconds: (now - start).as_secs_f64(), refused, most_refusals_of_one: most }
        }
    }

    #[test]
    fn a_hidden_bucket_costs_little_time_and_few_refusals() {
        let mut wrong = Vec::new();
        let ways = [(1.0, 2, None), (10.0, 20, None), (5.0, 100, None), (5.0, 20, Some(1)), (40.0, 20, None)];
        let counts = [(2.0, 2000), (10.0, 2000), (10.0, 5000), (50.0, 1500), (50.0, 5000), (200.0, 9000)];
        for ((per_second, count), (burst, way, hold)) in counts.into_iter().flat_map(|c| ways.map(|way| (c, way))) {
            let (way, retry_after) = (Duration::from_millis(way), hold.map(Duration::from_secs));
            // More than a tenth of the distance between two tokens nobody can keep, where none is saved up.
            let jitter = Duration::from_millis(2).min(Duration::from_secs_f64(0.1 / per_second));
            let season = Hidden { per_second, burst, way, retry_after, jitter }.season(count);
            // Sixteen at once get no more than this through.
            let ideal = (count as f64 - burst) / per_second.min(16.0 / way.as_secs_f64());
            let told = format!("{count} at {per_second}/s, {burst}, {way:?}, {retry_after:?}: {ideal:.1}, {season:?}");
            if season.seconds > 1.3 * ideal || season.refused * 50 >= count || season.most_refusals_of_one > 3 {
                wrong.push(told);
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn it_recovers_when_the_limit_is_gone() {
        let start = Instant::now();
        let mut pressure = Pressure::new(16, None);
        pressure.sent(start);
        pressure.refused(start, start, None);
        assert_eq!((pressure.window(), pressure.turn(start)), (2, start + Duration::from_millis(250)));
        let (mut now, mut sent) = (start, 0);
        while pressure.rate.is_some() {
            now = pressure.turn(now);
            pressure.sent(now);
            pressure.answered(now);
            sent += 1;
        }
        assert!(sent < 1000 && now < start + Duration::from_secs(10), "{sent} requests, {:?}", now - start);
        assert_eq!((pressure.window(), pressure.turn(now)), (16, now));
    }

    #[test]
    fn refusals_of_one_burst_are_one_event() {
        let start = Instant::now();
        let mut pressure = Pressure::new(16, None);
        for answer in 0..120 {
            pressure.answered(start + answer * Duration::from_millis(1));
        }
        let start = start + Duration::from_millis(120);
        assert_eq!(pressure.window(), 16);
        for _ in 0..16 {
            pressure.refused(start, start + Duration::from_millis(5), None);
        }
        assert_eq!(pressure.window(), 8);
        let later = start + Duration::from_secs(1);
        pressure.refused(later, later, None);
        assert_eq!(pressure.window(), 4);
    }

    #[test]
    fn what_the_service_asks_for_holds_every_request() {
        let start = Instant::now();
        let mut pressure = Pressure::new(16, None);
        let seconds = Duration::from_secs;
        pressure.refused(start, start, Some(seconds(7)));
        // A later refusal that asks for less does not shorten it.
        pressure.refused(start, start, Some(seconds(2)));
        pressure.refused(start, start, None);
        assert_eq!(pressure.turn(start), start + seconds(7));
        assert_eq!(pressure.turn(start + seconds(8)), start + seconds(8));
    }

    #[test]
    fn a_users_limit_is_kept_evenly_and_idle_time_is_not_saved_up() {
        let mut pressure = Pressure::new(16, Some(4.0));
        let (start, quarter) = (Instant::now(), Duration::from_millis(250));
        let mut send = |now| {
            let turn = pressure.turn(now);
            pressure.sent(turn);
            turn
        };
        assert_eq!([send(start), send(start), send(start + quarter)], [start, start + quarter, start + 2 * quarter]);
        let later = start + 40 * quarter;
        assert_eq!([send(later), send(later)], [later, later + quarter]);
    }

    #[test]
    fn being_late_does_not_slow_a_users_limit_down() {
        let mut pressure = Pressure::new(16, Some(4.0));
        let (start, quarter) = (Instant::now(), Duration::from_millis(250));
        pressure.sent(start);
        pressure.sent(start + quarter + Duration::from_millis(2));
        assert_eq!(pressure.turn(start), start + 2 * quarter);
    }
}
