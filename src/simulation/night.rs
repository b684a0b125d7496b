//! A night, drawn from its seed: settings, faults and user actions with their times. A night is data, so that it can be printed,
//! replayed and shrunk.

use crate::live::Overflow;
use std::time::Duration;

/// SplitMix64, so that one seed determines everything.
#[derive(Debug, Clone)]
pub(super) struct SeededRandom(pub(super) u64);

impl SeededRandom {
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

    pub(super) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Termination {
    Reset,
    /// An end of file without a close frame or last chunk.
    HalfClose,
    /// It stays open without sending anything.
    Stall,
}

/// Which sources share a sequence counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CounterScope {
    #[default]
    Common,
    PerSource,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ThrottlePolicy {
    /// Refuses this share of the requests at random.
    Random(f64),
    /// Refuses every request, with this `Retry-After` in seconds; 0: without one.
    Storm(u64),
    /// A token bucket with this many tokens per second.
    Bucket(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NightEvent {
    CutAll(Termination),
    /// Cuts the next connection after this many bytes of its response.
    CutNext(Termination, u64),
    Refuse(Duration),
    Blackhole(Duration),
    /// Delays data and sends it in small fragments.
    Slow(Duration),
    Errors(u16, f64, Duration),
    Throttle(ThrottlePolicy, Duration),
    /// Sets the offset of the client's clock, in seconds.
    ClockJump(i64),
    /// The service restarts, with new sequence counters.
    Restart,
    RefusePosition(Duration),
    RevokeToken,
    /// The next event's id contains a character that no header allows.
    InvalidId,
    LongId,
    /// The next event and message are longer than `max_event_bytes`.
    Oversized,
    /// A frame whose header claims 2^62 bytes.
    HugeFrame,
    Close(u16),
    /// Messages overtake each other.
    Overtake(Duration),
    /// The service sends nothing.
    Silence(Duration),
    Burst(u64),
    /// `retry:` in milliseconds.
    Retry(u64),
    /// The readers of the streams are busy with something else.
    Pause(Duration),
    /// Concurrent calls, with this total timeout.
    Calls(u64, Duration),
    /// Concurrent calls that are cancelled after this time.
    Cancelled(u64, Duration),
    Batch(u64),
    /// The service does not answer requests for the state of the game.
    HangState(Duration),
    /// The state of the game has an unreadable row.
    OddState(Duration),
    /// The next snapshot of the stream has an unreadable row.
    OddRow,
    /// The event stream is refused with 401 from now on; the body of the response never ends.
    Deny,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NightSettings {
    pub(crate) latency: Duration,
    pub(crate) message_every: Duration,
    pub(crate) counter: CounterScope,
    /// One of the sequenced sources is not requested, so that its numbers are missing.
    pub(crate) is_subset: bool,
    /// Whether the event stream can resume from an id.
    pub(crate) resumes: bool,
    pub overflow: Overflow,
    pub buffer: usize,
    pub max_retries: u32,
    pub retry_wait: Duration,
    /// Whether the rows of snapshots have versions.
    pub has_versions: bool,
    /// How far the state of the game that REST answers lags behind the stream, where its rows have versions, or where another
    /// copy of the service gives every other answer.
    state_lag: Duration,
    /// Which of two responses is that of a copy that does not lag; 2: neither.
    fresh_turn: u64,
    /// Whether the websocket resends what a lost connection missed.
    pub resends: bool,
    /// Whether `catch_up` is unknown to the service.
    pub refuses_catch_up: bool,
}

/// A state without versions that lags more than this, each time, is not known to lag (docs/streams.md, "Limits of a recovery").
const MAX_LAG_WITHOUT_VERSIONS: Duration = Duration::from_secs(4);

impl NightSettings {
    /// What recovery meets: in one night of five, REST lags the stream.
    fn of_recovery(r: &mut SeededRandom) -> Self {
        let has_versions = r.below(2) == 0;
        let lag = Duration::from_millis(r.between(500, 20_000));
        NightSettings {
            has_versions,
            state_lag: if r.below(5) == 0 { lag } else { Duration::ZERO },
            refuses_catch_up: r.below(4) == 0,
            fresh_turn: r.below(3),
            resends: r.below(3) > 0,
            ..NightSettings::default()
        }
    }

    fn of_night(r: &mut SeededRandom, of_recovery: NightSettings) -> Self {
        NightSettings {
            latency: ms(r.between(5, 150)),
            message_every: ms(r.between(1500, 9000)),
            counter: r.pick(&[CounterScope::Common, CounterScope::PerSource]),
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
            ..of_recovery
        }
    }

    /// Whether a copy of the service that lags gives every other answer.
    pub(super) fn alternates(&self) -> bool {
        self.fresh_turn < 2 && !self.state_lag.is_zero()
    }

    /// How far a response lags, after so many before it.
    pub(super) fn lag_of(&self, responses: u64, has_versions: bool) -> Duration {
        match self.fresh_turn {
            turn if turn == responses % 2 => Duration::ZERO,
            2 if !has_versions => self.state_lag.min(MAX_LAG_WITHOUT_VERSIONS),
            _ => self.state_lag,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Night {
    pub seed: u64,
    pub settings: NightSettings,
    pub length: Duration,
    /// Ordered by time.
    pub events: Vec<(Duration, NightEvent)>,
}

const THROTTLES: [ThrottlePolicy; 5] = [
    ThrottlePolicy::Random(0.05),
    ThrottlePolicy::Random(0.3),
    ThrottlePolicy::Storm(0),
    ThrottlePolicy::Storm(7),
    ThrottlePolicy::Bucket(20.0),
];

const TERMINATIONS: [Termination; 3] = [Termination::Reset, Termination::HalfClose, Termination::Stall];

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn up_to(r: &mut SeededRandom, max: u64) -> Duration {
    Duration::from_secs(r.between(1, max))
}

/// The kinds of faults that occur in some nights only.
struct Kinds {
    is_throttled: bool,
    restarts: bool,
    jumps: bool,
    has_odd_input: bool,
}

impl Kinds {
    fn of_night(r: &mut SeededRandom) -> Self {
        let (is_throttled, restarts, jumps) = (r.below(2) == 0, r.below(3) == 0, r.below(3) == 0);
        Kinds { is_throttled, restarts, jumps, has_odd_input: r.below(2) == 0 }
    }

    fn event(&self, r: &mut SeededRandom) -> NightEvent {
        match r.below(28) {
            0..=2 => NightEvent::CutAll(r.pick(&TERMINATIONS)),
            3..=5 => NightEvent::CutNext(r.pick(&TERMINATIONS), r.pick(&[1, 20, 150, 300, 600, 2000])),
            6 => NightEvent::Refuse(up_to(r, 90)),
            7 => NightEvent::Blackhole(up_to(r, 60)),
            8 => NightEvent::Slow(up_to(r, 60)),
            9 => NightEvent::Errors(r.pick(&[408, 425, 500, 502, 503, 504]), r.pick(&[0.2, 0.6, 1.0]), up_to(r, 60)),
            10 | 11 if self.is_throttled => NightEvent::Throttle(r.pick(&THROTTLES), up_to(r, 40)),
            12 if self.jumps => NightEvent::ClockJump(r.pick(&[-80_000, -4000, -20, 20, 4000, 80_000])),
            13 if self.restarts => NightEvent::Restart,
            14 if self.has_odd_input => NightEvent::RefusePosition(up_to(r, 90)),
            15 => NightEvent::RevokeToken,
            16 | 25 if self.has_odd_input => {
                r.pick(&[NightEvent::InvalidId, NightEvent::LongId, NightEvent::Oversized, NightEvent::HugeFrame])
            }
            17 => NightEvent::Close(r.pick(&[1000, 1001, 1008, 1008, 1011, 1012, 4401])),
            18 => NightEvent::Overtake(up_to(r, 60)),
            19 => NightEvent::Silence(up_to(r, 50)),
            20 => NightEvent::Burst(r.between(5, 80)),
            21 => NightEvent::Retry(r.pick(&[0, 1, 300, 4000, 3_600_000])),
            22 => NightEvent::Pause(up_to(r, 90)),
            23 => NightEvent::Cancelled(r.between(1, 8), ms(r.between(0, 600))),
            24 => NightEvent::Batch(r.between(1, 30)),
            _ => NightEvent::Calls(r.between(1, 12), ms(r.pick(&[150, 2000, 20_000, 60_000]))),
        }
    }
}

impl NightEvent {
    /// What follows it, so that it matters.
    fn sequel(self, r: &mut SeededRandom) -> Vec<(Duration, NightEvent)> {
        match self {
            // Calls that are affected by it.
            NightEvent::Throttle(..) | NightEvent::Errors(..) | NightEvent::Refuse(_) | NightEvent::ClockJump(_) => {
                let calls =
                    [NightEvent::Batch(20), NightEvent::Calls(10, ms(20_000)), NightEvent::Calls(6, ms(60_000))];
                vec![(ms(r.below(3000)), r.pick(&calls))]
            }
            // `retry:` matters when connections fail.
            NightEvent::Retry(_) => {
                let time = up_to(r, 60);
                let failure = r.pick(&[NightEvent::Refuse(time), NightEvent::Errors(503, 1.0, time)]);
                vec![(ms(2000), failure), (ms(2100), NightEvent::CutAll(Termination::Reset))]
            }
            // Overtaken messages of a lost connection must be requested again.
            NightEvent::Overtake(time) => {
                vec![(time.mul_f64(r.chance()), NightEvent::CutAll(r.pick(&TERMINATIONS)))]
            }
            // An id matters if it is the last one of its connection.
            NightEvent::InvalidId | NightEvent::LongId => {
                vec![(ms(1), NightEvent::Burst(1)), (ms(600), NightEvent::CutAll(r.pick(&TERMINATIONS)))]
            }
            // The next connection is closed before it delivers anything.
            NightEvent::Close(_) if r.below(2) == 0 => vec![(ms(1), self)],
            _ => Vec::new(),
        }
    }
}

/// Faults of the state of the game, each with a gap to recover from.
fn recovery_events(r: &mut SeededRandom, length: Duration) -> Vec<(Duration, NightEvent)> {
    let mut events = Vec::new();
    for _ in 0..r.below(5) {
        let time = Duration::from_secs(r.between(5, 90));
        let event = r.pick(&[NightEvent::HangState(time), NightEvent::OddState(time), NightEvent::OddRow]);
        let at = ms(r.below(length.as_millis() as u64));
        events.push((at, event));
        events.push((at + ms(100), NightEvent::CutAll(r.pick(&TERMINATIONS))));
        // Another gap while the first one is open.
        if r.below(2) == 0 {
            events.push((at + ms(r.between(1000, 6000)), NightEvent::CutAll(Termination::Reset)));
        }
    }
    events
}

impl Night {
    pub(super) fn new(seed: u64) -> Self {
        let r = &mut SeededRandom(seed);
        // From a generator of its own, so that nights keep their other faults.
        let mut recovery = SeededRandom(seed ^ 0x7EC0);
        let of_recovery = NightSettings::of_recovery(&mut recovery);
        let settings = NightSettings::of_night(r, of_recovery);
        let length = Duration::from_secs(r.between(600, 1500));
        // Quiet nights have few faults.
        let count = r.pick(&[4, 12, 24, 40]);
        let kinds = Kinds::of_night(r);
        let mut events: Vec<(Duration, NightEvent)> = Vec::new();
        for _ in 0..count {
            let at = ms(r.below(length.as_millis() as u64));
            let event = kinds.event(r);
            events.push((at, event));
            events.extend(event.sequel(r).into_iter().map(|(after, event)| (at + after, event)));
        }
        if r.below(6) == 0 {
            events.push((length - Duration::from_secs(60), NightEvent::Deny));
        }
        events.extend(recovery_events(&mut recovery, length));
        events.sort_by_key(|(at, _)| *at);
        Night { seed, settings, length, events }
    }

    /// Whether it ends with minutes of random refusals, which are expensive to simulate.
    pub(super) fn has_random_refusals(&self) -> bool {
        self.seed % 16 == 3
    }

    pub(super) fn has(&self, predicate: impl Fn(&NightEvent) -> bool) -> bool {
        self.events.iter().any(|(_, event)| predicate(event))
    }
}
