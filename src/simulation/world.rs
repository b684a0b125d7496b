//! What everything in a night shares: its clock, its chance, its faults, what happened, and what should not have.

use super::night::{Event, How, Night, Random, Settings, Throttle};
use super::service::{Kind, Service};
use super::signal::Signal;
use crate::machine::simulated::Machine;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep};

pub(super) struct World {
    pub settings: Settings,
    start: Instant,
    state: Mutex<State>,
    /// How all standing connections are cut; each change is a cut.
    pub cut: Signal<How>,
    /// Each change is something to send.
    pub news: Signal<()>,
}

#[derive(Debug)]
pub(super) struct State {
    /// Of each kind of connections, so that an event that is left out changes little else.
    pub random: [Random; 4],
    trace: String,
    pub counts: BTreeMap<&'static str, u64>,
    pub failures: Vec<String>,
    pub faults: Faults,
    pub service: Service,
    /// Connections that the service holds.
    pub open: usize,
    /// Of each path, by which calls are told apart.
    pub attempts: BTreeMap<String, u32>,
    /// When each connection of a stream was begun, and whether it stood.
    pub openings: BTreeMap<&'static str, Vec<(Duration, bool)>>,
    pub last_refusal: Option<Duration>,
}

impl State {
    pub(super) fn random(&mut self, kind: Kind) -> &mut Random {
        &mut self.random[kind as usize]
    }
}

/// What is wrong, and until when.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub refuse: Duration,
    pub blackhole: Duration,
    pub slow: Duration,
    pub errors: Option<(u16, f64, Duration)>,
    pub throttle: Option<(Throttle, Duration)>,
    pub tokens: (f64, Duration),
    pub cut_next: Option<(How, u64)>,
    pub refuse_position: Duration,
    pub overtake: Duration,
    pub silence: Duration,
    pub pause: Duration,
    pub denies: bool,
    /// The end of the night's troubles: none begins any more.
    pub is_calm: bool,
}

/// The service's true time at the start.
const NOON: u64 = 1_793_534_400;

impl World {
    pub(super) fn new(night: &Night) -> Arc<Self> {
        let state = State {
            random: [0xA5A5, 0xA5A6, 0xA5A7, 0xA5A8].map(|salt| Random(night.seed ^ (salt << 32))),
            trace: String::new(),
            counts: BTreeMap::new(),
            failures: Vec::new(),
            faults: Faults::default(),
            service: Service::default(),
            open: 0,
            attempts: BTreeMap::new(),
            openings: BTreeMap::new(),
            last_refusal: None,
        };
        let (cut, news) = (Signal::new(How::Reset), Signal::new(()));
        Arc::new(World { settings: night.settings, start: Instant::now(), state: Mutex::new(state), cut, news })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since the night began.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// What the service's clock shows.
    pub(super) fn date(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOON) + self.now()
    }

    pub(super) fn trace(&self, what: &str) {
        let now = self.now();
        let _ = writeln!(self.state().trace, "{:>10.3} {what}", now.as_secs_f64());
    }

    pub(super) fn take_trace(&self) -> String {
        std::mem::take(&mut self.state().trace)
    }

    pub(super) fn count(&self, what: &'static str) {
        *self.state().counts.entry(what).or_default() += 1;
    }

    pub(super) fn fail(&self, what: String) {
        self.trace(&format!("PROPERTY {what}"));
        let mut state = self.state();
        if state.failures.len() < 20 {
            state.failures.push(what);
        }
    }

    /// Of one way.
    pub(super) fn latency(&self, kind: Kind) -> Duration {
        let now = self.now();
        let mut state = self.state();
        let extra = if state.faults.slow > now { state.random(kind).below(2000) } else { 0 };
        let share = 1.0 + if state.faults.is_calm { 0.0 } else { state.random(kind).chance() };
        self.settings.latency.mul_f64(share) + Duration::from_millis(extra)
    }

    /// Waits, and is late by nothing of its own.
    pub(super) async fn wait_until(&self, at: Duration) {
        sleep((self.start + at).saturating_duration_since(Instant::now())).await;
    }

    /// Makes it happen, where it is the network's or the service's.
    pub(super) fn apply(&self, event: Event) {
        let now = self.now();
        let mut state = self.state();
        let faults = &mut state.faults;
        match event {
            Event::CutNext(how, bytes) => faults.cut_next = Some((how, bytes)),
            Event::Refuse(time) => faults.refuse = now + time,
            Event::Blackhole(time) => faults.blackhole = now + time,
            Event::Slow(time) => faults.slow = now + time,
            Event::Errors(status, share, time) => faults.errors = Some((status, share, now + time)),
            Event::Throttle(throttle, time) => faults.throttle = Some((throttle, now + time)),
            Event::RefusePosition(time) => faults.refuse_position = now + time,
            Event::Overtake(time) => faults.overtake = now + time,
            Event::Silence(time) => faults.silence = now + time,
            Event::Pause(time) => faults.pause = now + time,
            Event::Deny => faults.denies = true,
            Event::RevokeToken => state.service.token += 1,
            Event::OddId | Event::LongId | Event::Oversized | Event::HugeFrame | Event::Retry(_) | Event::Close(_) => {
                state.service.oddities.push(event);
            }
            Event::Restart => state.service.restart(),
            _ => {}
        }
        drop(state);
        match event {
            Event::CutAll(how) => self.cut.send(how),
            Event::Restart | Event::Deny => self.cut.send(How::Reset),
            Event::Burst(count) => (0..count).for_each(|_| self.produce()),
            Event::Close(_) | Event::HugeFrame | Event::Retry(_) => self.news.send(()),
            _ => {}
        }
    }

    /// One more message of each kind.
    pub(super) fn produce(&self) {
        let (now, settings) = (self.now(), self.settings);
        self.state().service.produce(now, &settings);
        self.news.send(());
    }

    /// All is well from here on.
    pub(super) fn calm(&self) {
        let mut state = self.state();
        let denies = state.faults.denies;
        state.faults = Faults { is_calm: true, denies, ..Faults::default() };
        drop(state);
        self.cut.send(How::Reset);
    }
}

/// The machine of the client: a clock that jumps, and its own chance.
pub(super) struct Client {
    world: Arc<World>,
    random: RefCell<Random>,
    ahead: RefCell<i64>,
}

impl Client {
    pub(super) fn new(world: Arc<World>, seed: u64) -> Self {
        Client { world, random: RefCell::new(Random(seed ^ 0x5A5A)), ahead: RefCell::new(0) }
    }

    pub(super) fn jump(&self, seconds: i64) {
        *self.ahead.borrow_mut() = seconds;
    }
}

impl Machine for Client {
    fn now(&self) -> SystemTime {
        let ahead = *self.ahead.borrow();
        let by = Duration::from_secs(ahead.unsigned_abs());
        if ahead < 0 { self.world.date() - by } else { self.world.date() + by }
    }

    fn random(&self) -> u64 {
        self.random.borrow_mut().next()
    }
}
