//! State that all parts of a night share: clock, randomness, active faults, trace, counts and failed properties.

use super::night::{Night, NightEvent, NightSettings, SeededRandom, Termination, ThrottlePolicy};
use super::service::{RequestKind, SimulatedService};
use super::signal::Signal;
use crate::machine::simulated::Machine;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep};

pub(super) struct World {
    pub settings: NightSettings,
    start: Instant,
    state: Mutex<WorldState>,
    /// Cuts all open connections.
    pub(crate) cut_all: Signal<Termination>,
    /// Signals new messages to send.
    pub(crate) new_messages: Signal<()>,
}

#[derive(Debug)]
pub(super) struct WorldState {
    /// One generator per kind of request, so that removing an event changes little else.
    pub random: [SeededRandom; 4],
    trace: String,
    pub counts: BTreeMap<&'static str, u64>,
    pub(crate) failures: Vec<String>,
    pub faults: ActiveFaults,
    pub service: SimulatedService,
    /// Number of open connections.
    pub open: usize,
    /// Attempts by path; the path identifies a call.
    pub attempts: BTreeMap<String, u32>,
    /// When each connection of a stream was attempted, and whether it opened.
    pub(crate) openings: BTreeMap<&'static str, Vec<(Duration, bool)>>,
    pub(crate) last_refusal: Option<Duration>,
}

impl WorldState {
    pub(super) fn random(&mut self, kind: RequestKind) -> &mut SeededRandom {
        &mut self.random[kind as usize]
    }
}

/// The active faults, with the time of their end.
#[derive(Debug, Default)]
pub(super) struct ActiveFaults {
    pub(crate) refuse: Duration,
    pub(crate) blackhole: Duration,
    pub slow: Duration,
    pub errors: Option<(u16, f64, Duration)>,
    pub(crate) throttle: Option<(ThrottlePolicy, Duration)>,
    pub tokens: (f64, Duration),
    pub(crate) cut_next: Option<(Termination, u64)>,
    pub(crate) refuse_position: Duration,
    pub(crate) overtake: Duration,
    pub silence: Duration,
    pub(crate) pause: Duration,
    pub(crate) denies: bool,
    /// The state of the game is not answered, or has an unreadable row.
    pub hang_state: Duration,
    pub odd_state: Duration,
    /// The last phase of the night, without faults.
    pub(crate) is_calm: bool,
}

/// The service's time at the start, in seconds since the epoch.
const START_TIME: u64 = 1_793_534_400;

impl World {
    pub(super) fn new(night: &Night) -> Arc<Self> {
        let state = WorldState {
            random: [0xA5A5, 0xA5A6, 0xA5A7, 0xA5A8].map(|salt| SeededRandom(night.seed ^ (salt << 32))),
            trace: String::new(),
            counts: BTreeMap::new(),
            failures: Vec::new(),
            faults: ActiveFaults::default(),
            service: SimulatedService::default(),
            open: 0,
            attempts: BTreeMap::new(),
            openings: BTreeMap::new(),
            last_refusal: None,
        };
        let (cut_all, new_messages) = (Signal::new(Termination::Reset), Signal::new(()));
        Arc::new(World {
            settings: night.settings,
            start: Instant::now(),
            state: Mutex::new(state),
            cut_all,
            new_messages,
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the night began.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The service's time.
    pub(super) fn date(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(START_TIME) + self.now()
    }

    /// A time of the client's clock, where that was not changed, since the night began.
    pub(super) fn since_start(&self, at: SystemTime) -> Duration {
        at.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(Duration::from_secs(START_TIME))
    }

    pub(super) fn trace(&self, text: &str) {
        let now = self.now();
        let _ = writeln!(self.state().trace, "{:>10.3} {text}", now.as_secs_f64());
    }

    pub(super) fn take_trace(&self) -> String {
        std::mem::take(&mut self.state().trace)
    }

    pub(super) fn count(&self, name: &'static str) {
        *self.state().counts.entry(name).or_default() += 1;
    }

    pub(super) fn fail(&self, failure: String) {
        self.trace(&format!("PROPERTY {failure}"));
        let mut state = self.state();
        if state.failures.len() < 20 {
            state.failures.push(failure);
        }
    }

    /// The latency of one direction.
    pub(super) fn latency(&self, kind: RequestKind) -> Duration {
        let now = self.now();
        let mut state = self.state();
        let extra = if state.faults.slow > now { state.random(kind).below(2000) } else { 0 };
        let share = 1.0 + if state.faults.is_calm { 0.0 } else { state.random(kind).chance() };
        self.settings.latency.mul_f64(share) + Duration::from_millis(extra)
    }

    /// Waits until a time since the night began.
    pub(super) async fn wait_until(&self, at: Duration) {
        sleep((self.start + at).saturating_duration_since(Instant::now())).await;
    }

    /// Applies a fault of the network or the service.
    pub(super) fn apply(&self, event: NightEvent) {
        let now = self.now();
        let mut state = self.state();
        let faults = &mut state.faults;
        match event {
            NightEvent::CutNext(termination, bytes) => faults.cut_next = Some((termination, bytes)),
            NightEvent::Refuse(time) => faults.refuse = now + time,
            NightEvent::Blackhole(time) => faults.blackhole = now + time,
            NightEvent::Slow(time) => faults.slow = now + time,
            NightEvent::Errors(status, share, time) => faults.errors = Some((status, share, now + time)),
            NightEvent::Throttle(throttle, time) => faults.throttle = Some((throttle, now + time)),
            NightEvent::RefusePosition(time) => faults.refuse_position = now + time,
            NightEvent::Overtake(time) => faults.overtake = now + time,
            NightEvent::Silence(time) => faults.silence = now + time,
            NightEvent::Pause(time) => faults.pause = faults.pause.max(now + time),
            NightEvent::Deny => faults.denies = true,
            NightEvent::HangState(time) => faults.hang_state = now + time,
            NightEvent::OddState(time) => faults.odd_state = now + time,
            NightEvent::RevokeToken => state.service.token += 1,
            NightEvent::InvalidId
            | NightEvent::LongId
            | NightEvent::Oversized
            | NightEvent::HugeFrame
            | NightEvent::Retry(_)
            | NightEvent::OddRow
            | NightEvent::Close(_) => {
                state.service.pending_faults.push(event);
            }
            NightEvent::Restart => state.service.restart(),
            _ => {}
        }
        drop(state);
        match event {
            NightEvent::CutAll(termination) => self.cut_all.send(termination),
            NightEvent::Restart | NightEvent::Deny => self.cut_all.send(Termination::Reset),
            NightEvent::Burst(count) => (0..count).for_each(|_| self.produce()),
            NightEvent::Close(_) | NightEvent::HugeFrame | NightEvent::Retry(_) => self.new_messages.send(()),
            _ => {}
        }
    }

    /// Produces one event and one websocket message.
    pub(super) fn produce(&self) {
        let (now, settings) = (self.now(), self.settings);
        self.state().service.produce(now, &settings);
        self.new_messages.send(());
    }

    /// Ends all faults but a denial.
    pub(super) fn end_faults(&self) {
        let mut state = self.state();
        let denies = state.faults.denies;
        state.faults = ActiveFaults { is_calm: true, denies, ..ActiveFaults::default() };
        state.service.pending_faults.clear();
        drop(state);
        self.cut_all.send(Termination::Reset);
    }
}

/// The client's machine: a clock that can jump, and its own randomness.
pub(super) struct ClientMachine {
    world: Arc<World>,
    random: RefCell<SeededRandom>,
    clock_offset: RefCell<i64>,
}

impl ClientMachine {
    pub(super) fn new(world: Arc<World>, seed: u64) -> Self {
        ClientMachine { world, random: RefCell::new(SeededRandom(seed ^ 0x5A5A)), clock_offset: RefCell::new(0) }
    }

    pub(super) fn jump(&self, seconds: i64) {
        *self.clock_offset.borrow_mut() = seconds;
    }
}

impl Machine for ClientMachine {
    fn now(&self) -> SystemTime {
        let offset = *self.clock_offset.borrow();
        let by = Duration::from_secs(offset.unsigned_abs());
        if offset < 0 { self.world.date() - by } else { self.world.date() + by }
    }

    fn random(&self) -> u64 {
        self.random.borrow_mut().next()
    }
}
