//! An adaptive rate limiter: it learns the rate of a client from the service's 429s. Pure: the clock is an argument.
//!
//! - Without refusals the only limit is the user's `requests_per_second`.
//! - Page's cumulative sum test decides whether clearly more is refused than the baseline share: each response adds the
//!   logarithm of its likelihood ratio, never below zero. The threshold makes false alarms rare in time, at any rate.
//! - Then the rate becomes what was accepted, less a few percent, so that a limit is really kept.
//! - The rate stays there for two seconds and then grows ever faster: eight seconds after the last decrease there is no limit.
//! - Refusals that continue at the lower rate raise the baseline: slowing down does not avoid them.
//! - `Retry-After` delays all requests.

use std::time::Duration;
use tokio::time::Instant;

/// A period ends after this time with at least `MIN_RESPONSES`, or after `MAX_PERIOD`.
const PERIOD: Duration = Duration::from_millis(100);
const MIN_RESPONSES: u32 = 10;
const MAX_PERIOD: Duration = Duration::from_millis(300);
/// A period without a response for this long is discarded, and what it says about refusals with it.
const MAX_RESPONSE_GAP: Duration = Duration::from_secs(2);
/// The test calls the baseline share plus this margin excessive.
const MARGIN: f64 = 0.08;
/// The test expects at least these shares of refusals: under a limit, and without one, so that a few do not start one.
const MIN_USUAL_SHARE: f64 = 0.001;
const MIN_FIRST_USUAL_SHARE: f64 = 0.1;
/// The sum exceeds `ln(rate × time)` by chance about once in such a time.
const FALSE_ALARM_TIME: f64 = 10.0;
/// The lowest rate in that product.
const MIN_TEST_RATE: f64 = 10.0;
/// A service that refuses more than this share is limiting the rate, however long it does so.
const MAX_BASELINE_SHARE: f64 = 0.3;
/// The baseline share is a moving average over about this many responses.
const BASELINE_RESPONSES: f64 = 240.0;
/// In a period of what may become an excess, a response counts this much.
const SUSPECT_WEIGHT: f64 = 0.3;
/// After so many decreases in a row slowing down does not help, and the baseline share is learned at once.
const MAX_UNSETTLED_DECREASES: u32 = 3;
/// The baseline share is learned for this long after a decrease that has settled, and while there is no limit.
const BASELINE_TIME: Duration = Duration::from_secs(2);
/// After this time the mean since the decrease is reliable, and an early refusal is enough to decrease the rate again.
const SETTLING_TIME: Duration = Duration::from_secs(1);
/// The mean may reduce a period's accepted rate to no less than this share of it.
const MIN_MEAN_SHARE: f64 = 0.8;
/// A decreased rate is this share of what was accepted. At exactly that rate a bucket would still refuse a few requests.
const SAFETY: f64 = 0.96;
/// After a decrease the rate grows by the factor `exp((t / GROWTH_TIME) ^ GROWTH_POWER)`.
const GROWTH_TIME: f64 = 5.5;
const GROWTH_POWER: i32 = 5;
/// In requests per second.
const MIN_RATE: f64 = 1.0;
/// A learned rate above this ends the limit.
const MAX_RATE: f64 = 5000.0;
/// Timers are late by up to about this much, which must not delay the next requests.
const TIMER_SLACK: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct RateLimiter {
    user_rate: Option<f64>,
    limit: Option<Limit>,
    /// Decreases in a row, each before the one before it had settled.
    unsettled_decreases: u32,
    baseline_share: f64,
    excess: Excess,
    period: Period,
    last_response: Option<Instant>,
    /// The rate at which the previous period sent.
    previous_rate: f64,
    next_send: Option<Instant>,
    paused_until: Option<Instant>,
}

/// The limit since the last decrease: its rate, and the responses that it has accepted.
#[derive(Debug, Clone, Copy)]
struct Limit {
    rate: f64,
    since: Instant,
    acceptances: u32,
}

/// Page's test, and the responses since its sum was last zero.
#[derive(Debug, Default)]
struct Excess {
    sum: f64,
    responses: u32,
    refusals: u32,
}

impl Excess {
    fn record(&mut self, is_refused: bool, baseline: f64) {
        let excessive = baseline + MARGIN;
        let ratio = if is_refused { excessive / baseline } else { (1.0 - excessive) / (1.0 - baseline) };
        self.sum += ratio.ln();
        self.responses += 1;
        self.refusals += u32::from(is_refused);
        if self.sum <= 0.0 {
            *self = Excess::default();
        }
    }

    /// The share that is refused. Few responses prove a limit, but not how low it is.
    fn share(&self) -> f64 {
        f64::from(self.refusals) / f64::from(self.responses.max(MIN_RESPONSES))
    }
}

#[derive(Debug, Default)]
struct Period {
    start: Option<Instant>,
    requests: u32,
    acceptances: u32,
    refusals: u32,
}

impl RateLimiter {
    pub(super) fn new(requests_per_second: Option<f64>) -> Self {
        RateLimiter { user_rate: requests_per_second, ..Self::default() }
    }

    /// The earliest time at which the next request may be sent.
    pub(super) fn earliest_send(&self, now: Instant) -> Instant {
        let next_send = self.next_send.filter(|_| self.rate(now).is_some());
        [Some(now), next_send, self.paused_until].into_iter().flatten().max().unwrap_or(now)
    }

    /// Records a request, which must not be sent earlier than allowed. Unused time does not accumulate.
    pub(super) fn record_sent(&mut self, now: Instant) {
        if self.last_response.is_some_and(|last| now.saturating_duration_since(last) >= MAX_RESPONSE_GAP) {
            (self.period, self.excess, self.last_response) = Default::default();
        }
        self.period.start.get_or_insert(now);
        self.period.requests += 1;
        if let Some(rate) = self.rate(now) {
            let due = self.next_send.filter(|due| now.saturating_duration_since(*due) < TIMER_SLACK).unwrap_or(now);
            self.next_send = Some(due + Duration::from_secs_f64(1.0 / rate));
        }
    }

    /// Records a response other than 429 to a request that was sent at `sent`.
    pub(super) fn record_accepted(&mut self, sent_at: Instant, now: Instant) {
        if self.is_after_decrease(sent_at) {
            self.period.acceptances += 1;
            if let Some(limit) = &mut self.limit {
                limit.acceptances += 1;
            }
            self.adjust(now, false);
        }
    }

    /// Records a 429. `retry_after` delays all requests.
    pub(super) fn record_refused(&mut self, sent_at: Instant, now: Instant, retry_after: Option<Duration>) {
        self.paused_until = self.paused_until.max(retry_after.map(|wait| now + wait));
        if self.is_after_decrease(sent_at) {
            self.period.refusals += 1;
            self.adjust(now, true);
        }
    }

    /// Responses to earlier requests say nothing about the new rate.
    fn is_after_decrease(&self, sent_at: Instant) -> bool {
        self.limit.is_none_or(|limit| sent_at >= limit.since)
    }

    fn rate(&self, now: Instant) -> Option<f64> {
        [self.user_rate, self.learned_rate(now)].into_iter().flatten().reduce(f64::min)
    }

    fn learned_rate(&self, now: Instant) -> Option<f64> {
        let Limit { rate, since, .. } = self.limit?;
        let elapsed = now.saturating_duration_since(since).as_secs_f64();
        Some(rate * (elapsed / GROWTH_TIME).powi(GROWTH_POWER).exp()).filter(|rate| *rate < MAX_RATE)
    }

    fn decrease(&mut self, now: Instant, rate: f64, state: Option<(Limit, Duration)>) {
        let accepted_rate = rate * (1.0 - (self.excess.share() - self.baseline_share).max(0.0));
        let sustained_rate = state.map_or(accepted_rate, |(limit, age)| {
            (f64::from(limit.acceptances) / age.as_secs_f64()).max(MIN_MEAN_SHARE * accepted_rate)
        });
        self.unsettled_decreases = if state.is_some() { 1 } else { self.unsettled_decreases + 1 };
        self.limit = Some(Limit { rate: (SAFETY * sustained_rate).max(MIN_RATE), since: now, acceptances: 0 });
        self.excess = Excess::default();
    }

    /// Decreases the rate if clearly more is refused than usual.
    fn adjust(&mut self, now: Instant, is_refused: bool) {
        self.last_response = Some(now);
        let rate = self.learned_rate(now);
        let limit = self.limit.filter(|_| rate.is_some());
        let age = limit.map(|limit| now.saturating_duration_since(limit.since));
        let settled_limit = limit.zip(age).filter(|(_, age)| *age >= SETTLING_TIME);

        let min_usual = if limit.is_some() { MIN_USUAL_SHARE } else { MIN_FIRST_USUAL_SHARE };
        self.excess.record(is_refused, self.baseline_share.max(min_usual));
        let test_rate = rate.unwrap_or(self.previous_rate).max(MIN_TEST_RATE);
        let is_excessive = self.excess.sum > (FALSE_ALARM_TIME * test_rate).ln();
        let Period { start: Some(start), requests, acceptances, refusals, .. } = self.period else { return };
        let (elapsed, responses) = (now.saturating_duration_since(start), acceptances + refusals);
        let is_over = elapsed >= MAX_PERIOD || elapsed >= PERIOD && responses >= MIN_RESPONSES;
        if !(is_over || is_excessive && settled_limit.is_some()) {
            return;
        }
        let sent_rate = f64::from(requests) / elapsed.as_secs_f64().max(PERIOD.as_secs_f64());
        if is_excessive {
            // A low rate may be due to a stall of this machine, which says nothing about the service.
            let sent_rate = sent_rate.max(self.previous_rate);
            let attempted_rate = rate.map_or(sent_rate, |rate| if is_over { rate.min(sent_rate) } else { rate });
            self.decrease(now, attempted_rate, settled_limit);
        }
        // Right after a decrease the rate may still be too high: those refusals are of the limit.
        let is_low_enough = settled_limit.is_some() || self.unsettled_decreases >= MAX_UNSETTLED_DECREASES;
        if age.map_or(!is_excessive, |age| age < BASELINE_TIME && is_low_enough) {
            let weight = if age.is_none() && self.excess.sum > 0.0 { SUSPECT_WEIGHT } else { 1.0 };
            let (refusals, responses) = (f64::from(refusals), f64::from(responses));
            let weight = weight * responses / (responses + BASELINE_RESPONSES);
            self.baseline_share += ((refusals / responses).min(MAX_BASELINE_SHARE) - self.baseline_share) * weight;
        }
        if is_over {
            self.previous_rate = if is_excessive { 0.0 } else { sent_rate };
        }
        self.period = Period::default();
    }
}

#[cfg(test)]
mod tests;
