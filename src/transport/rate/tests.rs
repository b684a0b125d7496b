//! The rate limiter against simulated services, on a simulated clock.

// A test that fails is meant to panic, and one that passes shows its measurements with `--nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
use super::*;
use crate::transport::retry::{self, Outcome, Past};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const MAX_CONCURRENCY: usize = 16;
const MAX_RETRIES: u32 = 3;
const MS: Duration = Duration::from_millis(1);
/// A response takes so long: 16 at once are about 2,580 in a second.
const ROUND_TRIP: Duration = Duration::from_micros(6200);

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How the simulated service decides.
enum Service {
    Accepting,
    Random(f64),
    /// Tokens per second, its size, and the rate of another user.
    Bucket {
        rate: f64,
        burst: f64,
        other: f64,
    },
    /// Refuses everything between these seconds.
    Storm(f64, f64),
    /// Refuses so many requests after so many others.
    InARow(u32, u32),
}

struct State {
    service: Service,
    tokens: f64,
    filled: f64,
    other_turn: f64,
    requests: u32,
}

impl State {
    fn new(service: Service) -> Self {
        let tokens = if let Service::Bucket { burst, .. } = service { burst } else { 0.0 };
        State { service, tokens, filled: 0.0, other_turn: 0.0, requests: 0 }
    }

    fn accepts(&mut self, now: f64, random: &mut Random) -> bool {
        self.requests += 1;
        match self.service {
            Service::Accepting => true,
            Service::Random(share) => random.next() >= share,
            Service::Storm(from, to) => now < from || to <= now,
            Service::InARow(count, after) => self.requests <= after || self.requests > after + count,
            Service::Bucket { rate, burst, other } => {
                while other > 0.0 && self.other_turn < now {
                    self.take(self.other_turn, rate, burst);
                    self.other_turn += (0.5 + random.next()) / other;
                }
                self.take(now, rate, burst)
            }
        }
    }

    fn take(&mut self, now: f64, rate: f64, burst: f64) -> bool {
        self.tokens = (self.tokens + (now - self.filled).max(0.0) * rate).min(burst);
        self.filled = self.filled.max(now);
        let is_there = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(is_there));
        is_there
    }
}

/// Who decides when to send: the limiter with this crate's retries, or exponential backoff alone.
enum Client {
    Limited(RateLimiter),
    Backoff,
}

#[derive(Clone, Copy)]
struct Network {
    trip: Duration,
    /// Trips of every length, and a machine that stands still now and then.
    is_noisy: bool,
}

impl Network {
    /// One way of a request.
    fn way(self, now: f64, random: &mut Random) -> Duration {
        if !self.is_noisy {
            return self.trip.mul_f64(0.45 + random.next() / 10.0);
        }
        let stall = if (now * 10.0) as u64 % 17 < 2 { 150 * MS } else { Duration::ZERO };
        self.trip.mul_f64(-random.next().max(1e-9).ln() / 2.0) + stall.mul_f64(random.next())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Wake,
    Arrive { sent: Duration, back: Duration, retries: u32 },
    Respond { sent: Duration, is_accepted: bool, retries: u32 },
    Retry { retries: u32 },
}

#[derive(Debug, Default)]
struct Run {
    accepted: Vec<f64>,
    refused: Vec<f64>,
    failed: usize,
    seconds: f64,
}

impl Run {
    fn of(client: Client, service: Service, seconds: u64) -> Self {
        Self::with(client, service, seconds, MAX_CONCURRENCY, 7)
    }

    /// Each of `at_once` workers sends one request after another, each until it is accepted or given up.
    fn with(client: Client, service: Service, seconds: u64, at_once: usize, seed: u64) -> Self {
        Self::over(Network { trip: ROUND_TRIP, is_noisy: false }, client, service, seconds, at_once, seed)
    }

    fn over(network: Network, mut client: Client, service: Service, seconds: u64, at_once: usize, seed: u64) -> Self {
        let (start, end) = (Instant::now(), Duration::from_secs(seconds));
        let (mut random, mut state) = (Random(seed), State::new(service));
        let mut run = Run { seconds: end.as_secs_f64(), ..Run::default() };
        let mut waiting: VecDeque<u32> = std::iter::repeat_n(0, at_once).collect();
        let (mut steps, mut wake) = (BinaryHeap::from([Reverse((Duration::ZERO, 0_u64, Step::Wake))]), None);
        let mut order = 0;
        while let Some(Reverse((now, _, step))) = steps.pop().filter(|Reverse((now, ..))| *now < end) {
            let mut push = |at, step| {
                order += 1;
                steps.push(Reverse((at, order, step)));
            };
            let seconds = now.as_secs_f64();
            match step {
                Step::Wake => wake = None,
                Step::Retry { retries } => waiting.push_back(retries),
                Step::Arrive { sent, back, retries } => {
                    let is_accepted = state.accepts(seconds, &mut random);
                    push(back, Step::Respond { sent, is_accepted, retries });
                }
                Step::Respond { sent, is_accepted, retries } => {
                    if let Client::Limited(limiter) = &mut client {
                        match is_accepted {
                            true => limiter.accepted(start + sent, start + now),
                            false => limiter.refused(start + sent, start + now, None),
                        }
                    }
                    let log = if is_accepted { &mut run.accepted } else { &mut run.refused };
                    log.push(seconds);
                    let past = Past { retries, after_500: false };
                    let chance = random.next();
                    let wait = match client {
                        Client::Limited(_) => {
                            let refused = Outcome::Status(429, None);
                            retry::wait(refused, past, MAX_RETRIES, Duration::from_secs(120), chance)
                        }
                        Client::Backoff => {
                            (retries < MAX_RETRIES).then(|| (500 * MS * 2_u32.pow(retries)).mul_f64(chance))
                        }
                    };
                    match wait.filter(|_| !is_accepted) {
                        Some(wait) => push(now + wait, Step::Retry { retries: retries + 1 }),
                        None => {
                            run.failed += usize::from(!is_accepted);
                            waiting.push_back(0);
                        }
                    }
                }
            }
            while !waiting.is_empty() {
                if let Client::Limited(limiter) = &mut client {
                    let turn = limiter.turn(start + now) - start;
                    if turn > now {
                        // Timers have a resolution of one millisecond.
                        let turn = Duration::from_millis(turn.as_millis() as u64 + 1);
                        if wake.is_none_or(|wake| turn < wake) {
                            wake = Some(turn);
                            push(turn, Step::Wake);
                        }
                        break;
                    }
                    limiter.sent(start + now);
                }
                let retries = waiting.pop_front().unwrap();
                let way = network.way(seconds, &mut random);
                push(now + way, Step::Arrive { sent: now, back: now + 2 * way, retries });
            }
        }
        run
    }

    fn limited(service: Service, seconds: u64) -> Self {
        Self::of(Client::Limited(RateLimiter::new(None)), service, seconds)
    }

    /// Accepted requests per second, and the refused share, from then on.
    fn after(&self, from: f64) -> (f64, f64) {
        let count = |times: &[f64]| times.iter().filter(|time| **time >= from).count() as f64;
        let (accepted, refused) = (count(&self.accepted), count(&self.refused));
        (accepted / (self.seconds - from), refused / (accepted + refused))
    }

    /// From the last refusal until nine tenths of `rate` are sent; `None`: never.
    fn recovery(&self, rate: f64) -> Option<f64> {
        let last = self.refused.last().copied()?;
        let is_full = |from: f64| {
            let within = self.accepted.iter().filter(|time| (from..from + 0.5).contains(*time)).count();
            within as f64 >= 0.9 * rate * 0.5
        };
        (0..)
            .map(|step| last + f64::from(step) / 10.0)
            .take_while(|from| from + 0.5 < self.seconds)
            .find(|from| is_full(*from))
            .map(|from| from - last)
    }
}

fn unlimited() -> f64 {
    Run::of(Client::Backoff, Service::Accepting, 5).after(0.0).0
}

#[test]
fn without_refusals_there_is_no_limit() {
    let run = Run::limited(Service::Accepting, 5);
    assert_eq!((run.after(0.0).0, run.failed), (unlimited(), 0));
}

#[test]
fn random_refusals_cost_at_most_half_of_the_throughput() {
    for share in [0.01, 0.05] {
        for seed in 1..5 {
            let limited = Client::Limited(RateLimiter::new(None));
            let rate = Run::with(limited, Service::Random(share), 20, MAX_CONCURRENCY, seed).after(0.0).0;
            let by_backoff = Run::with(Client::Backoff, Service::Random(share), 20, MAX_CONCURRENCY, seed).after(0.0).0;
            println!(
                "random {share}: {:.2} of unlimited; by backoff {:.2}",
                rate / unlimited(),
                by_backoff / unlimited()
            );
            assert!(rate > 0.5 * unlimited() && rate > 0.5 * by_backoff, "{share}: {rate} {by_backoff}");
        }
    }
}

#[test]
fn random_refusals_of_a_slow_service_on_a_loaded_machine_cost_no_more() {
    for trip in [20, 40, 100, 300] {
        for seed in 1..5 {
            let rate = |client, service| {
                let network = Network { trip: trip * MS, is_noisy: true };
                Run::over(network, client, service, 20, MAX_CONCURRENCY, seed).after(0.0).0
            };
            let unlimited = rate(Client::Backoff, Service::Accepting);
            let limited = rate(Client::Limited(RateLimiter::new(None)), Service::Random(0.05));
            let by_backoff = rate(Client::Backoff, Service::Random(0.05));
            println!("{trip} ms: {:.2} of unlimited; by backoff {:.2}", limited / unlimited, by_backoff / unlimited);
            assert!(limited > 0.5 * unlimited && limited > 0.5 * by_backoff, "{trip}: {limited} {unlimited}");
        }
    }
}

#[test]
fn a_token_bucket_is_held_with_few_refusals() {
    for burst in [2.0, 5.0, 10.0, 40.0] {
        let run = Run::limited(Service::Bucket { rate: 40.0, burst, other: 0.0 }, 75);
        let (rate, refused) = run.after(15.0);
        println!("bucket of 40/s, {burst}: {rate:.1}/s, {:.2} % refused, {} failed", 100.0 * refused, run.failed);
        assert!((36.0..=44.0).contains(&rate) && refused < 0.02, "{burst}: {rate} {refused}");
    }
    for (rate, burst) in [(2.0, 2.0), (5.0, 5.0), (10.0, 5.0), (20.0, 5.0), (100.0, 20.0), (150.0, 10.0), (400.0, 60.0)]
    {
        let run = Run::limited(Service::Bucket { rate, burst, other: 0.0 }, 60);
        let (kept, refused) = run.after(15.0);
        println!("bucket of {rate}/s, {burst}: {kept:.1}/s, {:.2} % refused, {} failed", 100.0 * refused, run.failed);
        assert!(kept > 0.75 * rate && (refused < 0.02 || rate < 40.0), "{rate}, {burst}: {kept} {refused}");
    }
}

#[test]
fn a_shared_bucket_is_shared() {
    for other in [10.0, 20.0] {
        let run = Run::limited(Service::Bucket { rate: 40.0, burst: 5.0, other }, 75);
        let (rate, refused) = run.after(15.0);
        println!("shared with {other}/s: {rate:.1}/s, {:.2} % refused, {} failed", 100.0 * refused, run.failed);
        assert!(rate > 0.75 * (40.0 - other) && rate < 32.0 && refused < 0.1, "{other}: {rate} {refused}");
    }
}

#[test]
fn the_rate_recovers_within_ten_seconds_of_the_last_refusal() {
    for (from, to) in [(2.0, 3.0), (2.0, 7.0), (0.0, 10.0), (2.0, 32.0)] {
        let run = Run::limited(Service::Storm(from, to), to as u64 + 15);
        let recovery = run.recovery(unlimited());
        println!(
            "storm {from}-{to}: full speed after {recovery:?}, {} refused, {} failed",
            run.refused.len(),
            run.failed
        );
        assert!(recovery.is_some_and(|seconds| seconds < 10.0));
    }
    for (count, after, at_once) in [(8, 0, 16), (8, 1000, 16), (8, 0, 1), (8, 30, 1), (40, 0, 16)] {
        let limited = Client::Limited(RateLimiter::new(None));
        let run = Run::with(limited, Service::InARow(count, after), 60, at_once, 3);
        let recovery = run.recovery(unlimited() * at_once as f64 / 16.0);
        println!("{count} in a row after {after}, {at_once} at once: full speed after {recovery:?}");
        assert!(recovery.is_some_and(|seconds| seconds < 10.0));
    }
}

#[test]
fn retry_after_holds_every_request() {
    let (start, seconds) = (Instant::now(), Duration::from_secs);
    let mut limiter = RateLimiter::new(None);
    limiter.sent(start);
    limiter.refused(start, start, Some(seconds(7)));
    // A later refusal that asks for less does not shorten it.
    limiter.refused(start, start, Some(seconds(2)));
    limiter.refused(start, start, None);
    assert_eq!(limiter.turn(start), start + seconds(7));
    assert_eq!(limiter.turn(start + seconds(8)), start + seconds(8));
}

#[test]
fn a_users_limit_is_kept_evenly_and_idle_time_is_not_saved_up() {
    let mut limiter = RateLimiter::new(Some(4.0));
    let (start, quarter) = (Instant::now(), Duration::from_millis(250));
    let mut send = |now| {
        let turn = limiter.turn(now);
        limiter.sent(turn);
        turn
    };
    assert_eq!([send(start), send(start), send(start + quarter)], [start, start + quarter, start + 2 * quarter]);
    let later = start + 40 * quarter;
    assert_eq!([send(later), send(later)], [later, later + quarter]);
}

#[test]
fn being_late_does_not_slow_a_users_limit_down() {
    let mut limiter = RateLimiter::new(Some(4.0));
    let (start, quarter) = (Instant::now(), Duration::from_millis(250));
    limiter.sent(start);
    limiter.sent(start + quarter + 2 * MS);
    assert_eq!(limiter.turn(start), start + 2 * quarter);
}

/// Found by a simulated night: refusals that were too few to end their period slowed down what was sent minutes later.
#[test]
fn refusals_of_long_ago_do_not_slow_down_what_is_sent_now() {
    let (mut limiter, start) = (RateLimiter::new(None), Instant::now());
    for _ in 0..6 {
        limiter.sent(start);
    }
    for _ in 0..6 {
        limiter.refused(start, start + 50 * MS, None);
    }
    let later = start + Duration::from_secs(60);
    for _ in 0..40 {
        limiter.sent(later);
    }
    for _ in 0..40 {
        limiter.accepted(later, later + 50 * MS);
        limiter.sent(later + 50 * MS);
    }
    assert_eq!(limiter.turn(later + 50 * MS), later + 50 * MS);
}
