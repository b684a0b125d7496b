//! One night, drawn from its seed: settings, and what goes wrong when. A night is data, so that it can be printed, replayed and
//! shrunk.

use crate::live::Overflow;
use std::time::Duration;

/// SplitMix64: one seed decides everything.
#[derive(Debug, Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(super) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    pub(super) fn chance(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Reset,
    /// An end of file, without a word.
    HalfClose,
    /// It stays open, and nothing comes any more.
    Stall,
}

/// Who shares a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Common,
    PerSource,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Throttle {
    /// This share at random.
    Random(f64),
    /// Everything, with this `Retry-After`, in seconds.
    Storm(u64),
    /// Tokens per second.
    Bucket(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Event {
    CutAll(How),
    /// The next connection, after so many bytes of its response.
    CutNext(How, u64),
    Refuse(Duration),
    Blackhole(Duration),
    /// Late, and in small pieces.
    Slow(Duration),
    Errors(u16, f64, Duration),
    Throttle(Throttle, Duration),
    /// Of this machine's clock, in seconds.
    ClockJump(i64),
    /// The service restarts, and its counters begin anew.
    Restart,
    RefusePosition(Duration),
    RevokeToken,
    /// The next event's id holds what no header can.
    OddId,
    LongId,
    /// The next event and message are longer than `max_event_bytes`.
    Oversized,
    /// A frame whose header claims 2^62 bytes.
    HugeFrame,
    Close(u16),
    /// Messages overtake each other.
    Overtake(Duration),
    /// The service says and sends nothing.
    Silence(Duration),
    Burst(u64),
    /// `retry:` in milliseconds.
    Retry(u64),
    /// The reader of the streams does something else.
    Pause(Duration),
    /// So many calls at once, each with this time.
    Calls(u64, Duration),
    /// The same, given up after this time.
    Cancelled(u64, Duration),
    Batch(u64),
    /// 401 with a body that never ends, for good.
    Deny,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub latency: Duration,
    pub message_every: Duration,
    pub counter: Counter,
    /// One of the numbered sources is not asked for: its numbers are missing.
    pub is_subset: bool,
    /// The event stream knows its ids.
    pub resumes: bool,
    pub overflow: Overflow,
    pub buffer: usize,
    pub max_retries: u32,
    pub retry_wait: Duration,
}

#[derive(Debug, Clone)]
pub(super) struct Night {
    pub seed: u64,
    pub settings: Settings,
    pub length: Duration,
    /// In order of time.
    pub events: Vec<(Duration, Event)>,
}

const HOWS: [How; 3] = [How::Reset, How::HalfClose, How::Stall];

impl Night {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let r = &mut random;
        let ms = Duration::from_millis;
        let settings = Settings {
            latency: ms(r.between(5, 150)),
            message_every: ms(r.between(1500, 9000)),
            counter: r.pick(&[Counter::Common, Counter::PerSource]),
            is_subset: r.below(3) == 0,
            resumes: r.below(4) > 0,
            overflow: r.pick(&[
                Overflow::Block,
                Overflow::Block,
                Overflow::Block,
                Overflow::DropOldest,
                Overflow::Latest,
            ]),
            buffer: r.pick(&[2, 8, 64, 1024]),
            max_retries: r.pick(&[0, 1, 3, 3, 3]),
            retry_wait: r.pick(&[ms(0), ms(500), ms(5000), ms(5000)]),
        };
        let length = Duration::from_secs(r.between(600, 1500));
        // Calm nights have few faults; what only some nights have is decided once.
        let count = r.pick(&[4, 12, 24, 40]);
        let (is_throttled, restarts, jumps) = (r.below(2) == 0, r.below(3) == 0, r.below(3) == 0);
        let is_odd = r.below(2) == 0;
        let mut events: Vec<(Duration, Event)> = Vec::new();
        for _ in 0..count {
            let at = ms(r.below(length.as_millis() as u64));
            let some = |r: &mut Random, most: u64| Duration::from_secs(r.between(1, most));
            let event = match r.below(28) {
                0..=2 => Event::CutAll(r.pick(&HOWS)),
                3..=5 => Event::CutNext(r.pick(&HOWS), r.pick(&[1, 20, 150, 300, 600, 2000])),
                6 => Event::Refuse(some(r, 90)),
                7 => Event::Blackhole(some(r, 60)),
                8 => Event::Slow(some(r, 60)),
                9 => Event::Errors(r.pick(&[408, 425, 500, 502, 503, 504]), r.pick(&[0.2, 0.6, 1.0]), some(r, 60)),
                10 | 11 if is_throttled => {
                    let throttle = r.pick(&[
                        Throttle::Random(0.05),
                        Throttle::Random(0.3),
                        Throttle::Storm(0),
                        Throttle::Storm(7),
                        Throttle::Bucket(20.0),
                    ]);
                    Event::Throttle(throttle, some(r, 40))
                }
                12 if jumps => Event::ClockJump(r.pick(&[-80_000, -4000, -20, 20, 4000, 80_000])),
                13 if restarts => Event::Restart,
                14 if is_odd => Event::RefusePosition(some(r, 90)),
                15 => Event::RevokeToken,
                16 | 25 if is_odd => r.pick(&[Event::OddId, Event::LongId, Event::Oversized, Event::HugeFrame]),
                17 => Event::Close(r.pick(&[1000, 1001, 1008, 1008, 1011, 1012, 4401])),
                18 => Event::Overtake(some(r, 60)),
                19 => Event::Silence(some(r, 50)),
                20 => Event::Burst(r.between(5, 80)),
                21 => Event::Retry(r.pick(&[0, 1, 300, 4000, 3_600_000])),
                22 => Event::Pause(some(r, 90)),
                23 => Event::Cancelled(r.between(1, 8), ms(r.between(0, 600))),
                24 => Event::Batch(r.between(1, 30)),
                _ => Event::Calls(r.between(1, 12), ms(r.pick(&[150, 2000, 20_000, 60_000]))),
            };
            events.push((at, event));
            let next = match event {
                // Somebody should be there to meet it.
                Event::Throttle(..) | Event::Errors(..) | Event::Refuse(_) | Event::ClockJump(_) => {
                    let met = [Event::Batch(20), Event::Calls(10, ms(20_000)), Event::Calls(6, ms(60_000))];
                    vec![(ms(r.below(3000)), r.pick(&met))]
                }
                // A wait matters where connections fail.
                Event::Retry(_) => {
                    let time = some(r, 60);
                    let failure = r.pick(&[Event::Refuse(time), Event::Errors(503, 1.0, time)]);
                    vec![(ms(2000), failure), (ms(2100), Event::CutAll(How::Reset))]
                }
                // What is overtaken on a connection that is lost must be asked for again.
                Event::Overtake(time) => vec![(time.mul_f64(r.chance()), Event::CutAll(r.pick(&HOWS)))],
                // An id matters where it is the last one of its connection.
                Event::OddId | Event::LongId => {
                    vec![(ms(1), Event::Burst(1)), (ms(600), Event::CutAll(r.pick(&HOWS)))]
                }
                // The next connection is closed before it brings anything.
                Event::Close(_) if r.below(2) == 0 => vec![(ms(1), event)],
                _ => Vec::new(),
            };
            events.extend(next.into_iter().map(|(after, event)| (at + after, event)));
        }
        if r.below(6) == 0 {
            events.push((length - Duration::from_secs(60), Event::Deny));
        }
        events.sort_by_key(|(at, _)| *at);
        Night { seed, settings, length, events }
    }

    /// Whether it ends with minutes of refusals at random, which take most of the time to simulate.
    pub(super) fn has_random_refusals(&self) -> bool {
        self.seed % 16 == 3
    }

    pub(super) fn has(&self, what: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(_, event)| what(event))
    }
}
