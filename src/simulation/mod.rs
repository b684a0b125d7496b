//! Simulates nights on virtual time: the client's transport and streams run against a simulated service, network and machine.
//! One seed determines the whole night.
//!
//! | file | content |
//! |---|---|
//! | `night` | the schedule of faults and user actions, drawn from a seed |
//! | `world`, `signal` | clock, randomness, active faults, trace and failures; a deterministic wake-up signal |
//! | `network` | in-memory connections: delayed, fragmented, cut at any byte |
//! | `service` | REST, the event stream and the websocket, as specified |
//! | `game` | the points of the players, and the bodies that show them |
//! | `calls`, `readers` | users and stream readers, with the properties of each step |
//! | `scores` | the box score of a stream, beside the history of the game |
//! | `journals` | recordings of the streams, and what they must hold |
//! | `night_checks` | the properties of a whole night |
//!
//! A failure prints its seed; `make simulate SEED=n` replays it. `MUTANTS.md` lists reintroduced faults that the properties find.

// A test that fails is meant to panic, and a simulation prints its trace.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::disallowed_methods)]

mod calls;
mod game;
mod journals;
mod network;
mod night;
mod night_checks;
mod readers;
mod scores;
mod service;
mod signal;
mod world;

use crate::config::{ClientOptions, Secret, Timeouts};
use crate::fetch::Drift;
use crate::live::{self, LiveSubscription, Overflow, StreamOptions};
use crate::operation::{self, Value};
use crate::transport::Transport;
use crate::{machine, transport};
use network::SimulatedNetwork;
use night::{CounterScope, Night, NightEvent, SeededRandom};
use readers::StreamReader;
use service::RequestKind;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;
use tokio::time::sleep;
use world::{ClientMachine, World};

/// The result of a night.
#[derive(Debug)]
struct Outcome {
    trace: String,
    counts: BTreeMap<&'static str, u64>,
    failures: Vec<String>,
    simulated_time: Duration,
}

/// The results of many nights, independent of their order.
#[derive(Debug, Default)]
struct Total {
    counts: BTreeMap<&'static str, u64>,
    simulated_time: Duration,
    /// Digest of all traces; the same for the same seeds.
    digest: u64,
}

impl Total {
    fn add(&mut self, other: Total) {
        self.simulated_time += other.simulated_time;
        self.digest = self.digest.wrapping_add(other.digest);
        for (name, n) in other.counts {
            *self.counts.entry(name).or_default() += n;
        }
    }
}

impl From<Outcome> for Total {
    fn from(outcome: Outcome) -> Self {
        let mut hasher = DefaultHasher::new();
        outcome.trace.hash(&mut hasher);
        Total { counts: outcome.counts, simulated_time: outcome.simulated_time, digest: hasher.finish() }
    }
}

fn play(night: &Night) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(simulate_night(night))
}

async fn simulate_night(night: &Night) -> Outcome {
    let world = World::new(night);
    let client = Rc::new(ClientMachine::new(world.clone(), night.seed));
    let _machine = machine::simulated::install(client.clone());
    let _network = transport::simulated::install(Arc::new(SimulatedNetwork(world.clone())));
    let transport = transport_of(night);
    let drift = Arc::<Drift>::default();
    let readers = [event_stream_reader(night, &transport), websocket_reader(night, &transport)];
    for reader in &readers {
        reader.stream.open(&Handle::current());
        tokio::spawn(reader.clone().run(world.clone()));
    }
    let producer = tokio::spawn(produce(world.clone(), SeededRandom(night.seed ^ 0x3C3C)));

    // Without throttling, calls wait only for the service.
    let is_unthrottled = !night.has(|event| matches!(event, NightEvent::Throttle(..)));
    let mut users = JoinSet::new();
    let mut serial = 0;
    let call = |users: &mut JoinSet<_>, serial: &mut u64, count, total, cancelled_after| {
        for _ in 0..count {
            *serial += 1;
            let path = format!("/v1/data/c{serial}");
            let (world, transport) = (world.clone(), transport.clone());
            users.spawn(calls::call(world, transport, path, total, cancelled_after, is_unthrottled));
        }
    };
    for (at, event) in &night.events {
        world.wait_until(*at).await;
        world.trace(&format!("EVENT {event:?}"));
        match *event {
            NightEvent::ClockJump(seconds) => client.jump(seconds),
            NightEvent::Calls(count, total) => call(&mut users, &mut serial, count, total, None),
            NightEvent::Cancelled(count, after) => {
                call(&mut users, &mut serial, count, Duration::from_secs(60), Some(after));
            }
            NightEvent::Batch(count) => {
                serial += 1;
                let (world, transport, drift) = (world.clone(), transport.clone(), drift.clone());
                users.spawn(async move {
                    calls::batch(world, transport, drift, serial, count).await;
                    None
                });
            }
            fault => world.apply(fault),
        }
    }
    world.wait_until(night.length).await;
    night_checks::check_night(&world, night, &transport, &readers, users, producer).await;
    let state = world.state();
    let (counts, failures) = (state.counts.clone(), state.failures.clone());
    drop(state);
    Outcome { trace: world.take_trace(), counts, failures, simulated_time: world.now() }
}

fn transport_of(night: &Night) -> Transport {
    let options = ClientOptions {
        username: Some("ann".into()),
        secret: Some(Secret::new("a secret")),
        api_key: Some(Secret::new("a key")),
        base_url: Some("http://127.0.0.1".into()),
        broadcast_base_url: Some("http://127.0.0.1".into()),
        websocket_url: Some("ws://127.0.0.1".into()),
        timeouts: Some(Timeouts {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(30),
            total: Duration::from_secs(60),
        }),
        max_retries: Some(night.settings.max_retries),
        max_concurrency: Some(64),
        ..ClientOptions::default()
    };
    Transport::new(options.resolve(&|_| None).unwrap()).unwrap()
}

fn options(night: &Night) -> StreamOptions {
    let settings = &night.settings;
    StreamOptions {
        overflow: settings.overflow,
        buffer: settings.buffer,
        retry_wait: settings.retry_wait,
        max_event_bytes: service::MAX_EVENT,
        recover: Some(Duration::from_secs(5)),
        ..StreamOptions::default()
    }
}

/// One night in five has journals. This does not depend on the night's random numbers, so that the other nights are unchanged.
fn is_recorded(night: &Night) -> bool {
    night.seed.is_multiple_of(5)
}

fn event_stream_reader(night: &Night, transport: &Transport) -> Arc<StreamReader> {
    let request =
        operation::event_stream("live_stats", &vec![("schedule_id".to_owned(), Value::Text("g1".into()))]).unwrap();
    let stream = live::event_stream(transport.clone(), request, options(night)).unwrap();
    StreamReader::new(RequestKind::Events, stream, is_recorded(night))
}

fn websocket_reader(night: &Night, transport: &Transport) -> Arc<StreamReader> {
    let sources = if night.settings.is_subset { vec!["stats".to_owned(), "clock".to_owned()] } else { Vec::new() };
    let subscription = LiveSubscription { game_id: Some("g1".into()), sources, ..LiveSubscription::default() };
    let stream = live::websocket(transport.clone(), subscription, options(night)).unwrap();
    StreamReader::new(RequestKind::Messages, stream, is_recorded(night))
}

async fn produce(world: Arc<World>, mut random: SeededRandom) {
    loop {
        let share = 0.5 + random.chance();
        sleep(world.settings.message_every.mul_f64(share)).await;
        world.produce();
    }
}

/// Removes events from a failing night as long as it fails in the same way.
fn shrink(night: &Night) -> Night {
    // The first two words of a failure identify its property.
    let name =
        |outcome: &Outcome| outcome.failures.first().map(|text| text.split(' ').take(2).collect::<Vec<_>>().join(" "));
    let failure = name(&play(night));
    let mut smallest = night.clone();
    let mut size = smallest.events.len().div_ceil(2);
    while size > 0 {
        let (mut from, before) = (0, smallest.events.len());
        while from < smallest.events.len() {
            let mut candidate = smallest.clone();
            candidate.events.drain(from..(from + size).min(smallest.events.len()));
            if name(&play(&candidate)) == failure {
                smallest = candidate;
            } else {
                from += size;
            }
        }
        // Single events, until none can be removed.
        size = if size == 1 && smallest.events.len() < before { 1 } else { size / 2 };
    }
    smallest
}

/// Plays a night; panics on a failure, with its seed, the smallest set of events and the command to replay it.
fn check_seed(seed: u64) -> Outcome {
    let night = Night::new(seed);
    let outcome = play(&night);
    if !outcome.failures.is_empty() {
        let smallest = shrink(&night);
        panic!(
            "seed {seed} fails:\n  {}\nwith {:#?}\nof {} events, and {:?}\nreplay: make simulate SEED={seed}",
            outcome.failures.join("\n  "),
            smallest.events,
            night.events.len(),
            night.settings,
        );
    }
    outcome
}

/// Stops all threads after a failing seed.
struct StopOnFailure<'a>(&'a AtomicU64);

impl Drop for StopOnFailure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Beyond every seed, without overflow when threads add to it.
            self.0.store(u64::MAX / 2, Ordering::Relaxed);
        }
    }
}

/// Checks `count` seeds from `first` on, with one thread per processor.
fn check_seeds(first: u64, count: u64) {
    let start = std::time::Instant::now();
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let _stop = StopOnFailure(&next);
        let mut total = Total::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return total;
            }
            total.add(check_seed(seed).into());
        }
    };
    let mut total = Total::default();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in running {
            total.add(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    let (hours, elapsed) = (total.simulated_time.as_secs_f64() / 3600.0, start.elapsed().as_secs_f64());
    let speed = hours * 3600.0 / elapsed;
    println!("{count} nights, {hours:.0} hours in {elapsed:.1} s: {speed:.0} times faster");
    println!("digest of their traces: {:016x}", total.digest);
    for (name, n) in &total.counts {
        println!("{n:>10} {name}");
    }
    for name in ["cuts", "journals", "refusals (429)", "resumptions", "announced restarts", "cancellations"] {
        assert!(count < 100 || total.counts.contains_key(name), "no night had {name}");
    }
}

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn two_hundred_nights() {
    check_seeds(env_number("SIDELINE_SEED").unwrap_or(0), env_number("SIDELINE_SEEDS").unwrap_or(200));
}

/// `make simulate SEED=n` prints the trace.
#[test]
#[ignore = "shows one night: make simulate SEED=n"]
fn one_night() {
    let seed = env_number("SIDELINE_SEED").unwrap_or(0);
    println!("{}", play(&Night::new(seed)).trace);
    check_seed(seed);
}

#[test]
fn a_seed_gives_the_same_trace() {
    let kinds: [fn(&Night) -> bool; 16] = [
        |night| night.settings.overflow == Overflow::Block,
        |night| night.settings.overflow == Overflow::DropOldest,
        |night| night.settings.overflow == Overflow::Latest,
        |night| night.settings.counter == CounterScope::Common,
        |night| night.settings.counter == CounterScope::PerSource,
        |night| night.settings.retry_wait.is_zero(),
        |night| night.settings.is_subset,
        Night::has_random_refusals,
        |night| night.has(|event| matches!(event, NightEvent::Throttle(..))),
        |night| night.has(|event| matches!(event, NightEvent::ClockJump(_))),
        |night| night.has(|event| matches!(event, NightEvent::Cancelled(..))),
        |night| night.has(|event| matches!(event, NightEvent::Overtake(_))),
        |night| night.has(|event| matches!(event, NightEvent::Oversized | NightEvent::HugeFrame)),
        |night| night.has(|event| *event == NightEvent::Retry(0)),
        |night| night.has(|event| *event == NightEvent::Restart),
        |night| night.has(|event| *event == NightEvent::Deny),
    ];
    let seeds: BTreeSet<u64> =
        kinds.iter().flat_map(|is| (0..).filter(|seed| is(&Night::new(*seed))).take(2)).collect();
    let trace = |seed| play(&Night::new(seed)).trace;
    for seed in seeds {
        let (first, second) = (trace(seed), trace(seed));
        let differs = first.lines().zip(second.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(first.lines().count() > 20 && first == second, "seed {seed}: {differs:?}");
        assert_ne!(first, trace(seed + 1));
    }
}
