//! The sending rate of a client, from how often the service refuses with 429. Pure: the clock is an argument.
//!
//! - Without refusals there is no limit but the user's own (`requests_per_second`).
//! - Responses are counted in periods of a tenth of a second. If clearly more of them are refused than usual, the rate falls by
//!   the share of those beyond the usual: a multiplicative decrease, in proportion to the refusals.
//! - The rate then rests for two seconds, creeps past the old limit, and grows faster and faster: eight seconds after the last
//!   decrease there is no limit, wherever it started.
//! - Refusals that continue while the rate rests are usual: a slower rate does not avoid them, so they cost no speed.
//! - `Retry-After` stops all requests until then.

use std::time::Duration;
use tokio::time::Instant;

/// A period ends after this time and this many responses, or after the longer time.
const PERIOD: Duration = Duration::from_millis(100);
const MIN_RESPONSES: u32 = 10;
const MAX_PERIOD: Duration = Duration::from_millis(300);
/// Responses say nothing any more of what is sent so long after the last of them.
const STALE: Duration = Duration::from_secs(2);
/// Refusals count as unusual beyond the usual share plus this one, and two standard deviations.
const MARGIN: f64 = 0.03;
/// The same while there is no limit yet: a few refusals at random do not begin one.
const FIRST_MARGIN: f64 = 0.1;
/// A service that refuses more than this share refuses the rate, however long it does so.
const MAX_USUAL: f64 = 0.3;
/// The usual share is a mean over about so many responses: a short period says little about it.
const USUAL_RESPONSES: f64 = 40.0;
/// Fewer refusals in a period begin no limit: they may be chance, whatever their share.
const MIN_REFUSED: f64 = 3.0;
/// The usual share is learned while the rate rests, and while there is no limit.
const REST: Duration = Duration::from_secs(2);
/// So long after a decrease the mean since then tells what the service accepts, and a first refusal is enough to decrease again.
const SETTLED: Duration = Duration::from_secs(1);
/// The least part of a period's accepted rate that the mean may reduce it to.
const MEAN_FLOOR: f64 = 0.8;
/// After a decrease the rate grows by the factor `exp((t / GROWTH_TIME) ^ GROWTH_POWER)`.
const GROWTH_TIME: f64 = 5.5;
const GROWTH_POWER: i32 = 5;
/// The lowest rate, in requests per second.
const MIN_RATE: f64 = 1.0;
/// A rate above this is no limit.
const NO_LIMIT: f64 = 5000.0;
/// A timer is late by about this; a late request does not delay the next ones.
const TIMER_SLACK: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct RateLimiter {
    user_rate: Option<f64>,
    learned: Option<Learned>,
    usual_share: f64,
    period: Period,
    /// Responses in the period before, and the rate at which it sent.
    previous_responses: u32,
    previous_rate: f64,
    next_turn: Option<Instant>,
    held_until: Option<Instant>,
}

/// The rate after the last decrease.
#[derive(Debug, Clone, Copy)]
struct Learned {
    rate: f64,
    since: Instant,
    accepted: u32,
}

#[derive(Debug, Default)]
struct Period {
    start: Option<Instant>,
    last_response: Option<Instant>,
    sent: u32,
    accepted: u32,
    refused: u32,
}

impl RateLimiter {
    pub(super) fn new(requests_per_second: Option<f64>) -> Self {
        RateLimiter {
            user_rate: requests_per_second,
            learned: None,
            usual_share: 0.0,
            period: Period::default(),
            previous_responses: 0,
            previous_rate: 0.0,
            next_turn: None,
            held_until: None,
        }
    }

    /// When the next request may be sent.
    pub(super) fn turn(&self, now: Instant) -> Instant {
        let paced = self.next_turn.filter(|_| self.rate(now).is_some());
        [Some(now), paced, self.held_until].into_iter().flatten().max().unwrap_or(now)
    }

    /// A request is sent, in its turn. Idle time is not saved up.
    pub(super) fn sent(&mut self, now: Instant) {
        if self.period.last_response.is_some_and(|last| now.saturating_duration_since(last) >= STALE) {
            self.period = Period::default();
        }
        self.period.start.get_or_insert(now);
        self.period.sent += 1;
        if let Some(rate) = self.rate(now) {
            let turn = self.next_turn.filter(|turn| now.saturating_duration_since(*turn) < TIMER_SLACK).unwrap_or(now);
            self.next_turn = Some(turn + Duration::from_secs_f64(1.0 / rate));
        }
    }

    /// The service responded, with anything but 429, to a request that was sent at `sent`.
    pub(super) fn accepted(&mut self, sent: Instant, now: Instant) {
        if self.is_after_decrease(sent) {
            self.period.accepted += 1;
            if let Some(learned) = &mut self.learned {
                learned.accepted += 1;
            }
            self.adjust(now);
        }
    }

    /// The service refused with 429; `retry_after` holds all requests.
    pub(super) fn refused(&mut self, sent: Instant, now: Instant, retry_after: Option<Duration>) {
        self.held_until = self.held_until.max(retry_after.map(|wait| now + wait));
        if self.is_after_decrease(sent) {
            self.period.refused += 1;
            self.adjust(now);
        }
    }

    /// Responses to earlier requests say nothing about the new rate.
    fn is_after_decrease(&self, sent: Instant) -> bool {
        self.learned.is_none_or(|learned| sent >= learned.since)
    }

    fn rate(&self, now: Instant) -> Option<f64> {
        [self.user_rate, self.learned_rate(now)].into_iter().flatten().reduce(f64::min)
    }

    fn learned_rate(&self, now: Instant) -> Option<f64> {
        let Learned { rate, since, .. } = self.learned?;
        let elapsed = now.saturating_duration_since(since).as_secs_f64();
        Some(rate * (elapsed / GROWTH_TIME).powi(GROWTH_POWER).exp()).filter(|rate| *rate < NO_LIMIT)
    }

    /// Decreases the rate where a period, or its part so far, has unusually many refusals.
    fn adjust(&mut self, now: Instant) {
        self.period.last_response = Some(now);
        let Period { start: Some(start), sent, accepted, refused, .. } = self.period else { return };
        let (elapsed, responses) = (now.saturating_duration_since(start), accepted + refused);
        let rate = self.learned_rate(now);
        let limited = self.learned.filter(|_| rate.is_some());
        let age = limited.map(|limited| now.saturating_duration_since(limited.since));
        let settled = limited.zip(age).filter(|(_, age)| *age >= SETTLED);

        let is_over = elapsed >= MAX_PERIOD || elapsed >= PERIOD && responses >= MIN_RESPONSES;
        let expected = f64::from(if is_over { responses } else { responses.max(self.previous_responses) });
        let margin = if limited.is_some() { MARGIN } else { FIRST_MARGIN };
        let least = if limited.is_some() { 0.0 } else { MIN_REFUSED };
        let unusual = (expected * (self.usual_share + margin) + 2.0 * (expected * self.usual_share).sqrt()).max(least);
        let is_unusual = f64::from(refused) > unusual;
        let is_due = is_over || (is_unusual && settled.is_some());
        if !is_due {
            return;
        }
        let share = f64::from(refused) / expected;
        let sent_rate = f64::from(sent) / elapsed.as_secs_f64().max(PERIOD.as_secs_f64());
        if is_unusual {
            // A machine that stood still for a moment says nothing about the service.
            let sent_rate = sent_rate.max(self.previous_rate);
            let tried = rate.map_or(sent_rate, |rate| if is_over { rate.min(sent_rate) } else { rate });
            let accepted_rate = tried * (1.0 - (share - self.usual_share).clamp(0.0, 1.0));
            let decreased = settled.map_or(accepted_rate, |(limited, age)| {
                (f64::from(limited.accepted) / age.as_secs_f64()).max(MEAN_FLOOR * accepted_rate)
            });
            self.learned = Some(Learned { rate: decreased.max(MIN_RATE), since: now, accepted: 0 });
        }
        if age.map_or(!is_unusual, |age| age < REST) {
            let weight = expected / (expected + USUAL_RESPONSES);
            self.usual_share += (share.min(MAX_USUAL) - self.usual_share) * weight;
        }
        if is_over {
            self.previous_responses = responses.max(MIN_RESPONSES);
            self.previous_rate = if is_unusual { 0.0 } else { sent_rate };
        }
        self.period = Period::default();
    }
}

#[cfg(test)]
mod tests;
