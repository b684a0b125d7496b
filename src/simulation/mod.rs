//! Nights on virtual time: the client's transport and streams against a simulated service, network and machine, drawn from one
//! seed.
//!
//! | file | content |
//! |---|---|
//! | `night` | the schedule of faults and user actions, drawn from a seed |
//! | `world`, `signal` | clock, randomness, active faults, trace and failures; what all connections wait for |
//! | `network` | in-memory connections: delayed, fragmented, cut at any byte |
//! | `service` | REST, the event stream and the websocket, by the specification |
//! | `calls`, `readers` | users, and the properties of each step |
//! | `end` | the properties of a whole night |
//!
//! A failure prints its seed, which `make simulate SEED=n` runs again. `MUTANTS.md` lists faults that the properties find.

// A test that fails is meant to panic, and a simulation prints what it did.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::disallowed_methods)]

mod calls;
mod end;
mod network;
mod night;
mod readers;
mod service;
mod signal;
mod world;

use crate::config::{ClientOptions as Settings, Secret, Timeouts};
use crate::fetch::Drift;
use crate::live::{self, Live, Options, Overflow};
use crate::operation::{self, Value};
use crate::transport::Transport;
use crate::{machine, transport};
use network::Sockets;
use night::{Counter, Event, Night, Random};
use readers::Reader;
use service::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;
use tokio::time::sleep;
use world::{Client, World};

/// What a night came to.
#[derive(Debug)]
struct Outcome {
    trace: String,
    counts: BTreeMap<&'static str, u64>,
    failures: Vec<String>,
    simulated: Duration,
}

/// What many nights came to, in whatever order they were played.
#[derive(Debug, Default)]
struct Total {
    counts: BTreeMap<&'static str, u64>,
    simulated: Duration,
    /// Of all traces: the same for the same seeds.
    digest: u64,
}

impl Total {
    fn add(&mut self, other: Total) {
        self.simulated += other.simulated;
        self.digest = self.digest.wrapping_add(other.digest);
        for (what, n) in other.counts {
            *self.counts.entry(what).or_default() += n;
        }
    }
}

impl From<Outcome> for Total {
    fn from(outcome: Outcome) -> Self {
        let mut hasher = DefaultHasher::new();
        outcome.trace.hash(&mut hasher);
        Total { counts: outcome.counts, simulated: outcome.simulated, digest: hasher.finish() }
    }
}

fn play(night: &Night) -> Outcome {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(live_through(night))
}

async fn live_through(night: &Night) -> Outcome {
    let world = World::new(night);
    let client = Rc::new(Client::new(world.clone(), night.seed));
    let _machine = machine::simulated::install(client.clone());
    let _network = transport::simulated::install(Arc::new(Sockets(world.clone())));
    let transport = transport_of(night);
    let drift = Arc::<Drift>::default();
    let readers = [events(night, &transport), messages(night, &transport)];
    for reader in &readers {
        reader.stream.open(&Handle::current());
        tokio::spawn(reader.clone().run(world.clone()));
    }
    let producer = tokio::spawn(produce(world.clone(), Random(night.seed ^ 0x3C3C)));

    // Where nothing is refused for its pace, nobody waits but for the service.
    let is_prompt = !night.has(|event| matches!(event, Event::Throttle(..)));
    let mut users = JoinSet::new();
    let mut serial = 0;
    for (at, event) in &night.events {
        world.wait_until(*at).await;
        world.trace(&format!("EVENT {event:?}"));
        match *event {
            Event::ClockJump(seconds) => client.jump(seconds),
            Event::Calls(count, total) => {
                for _ in 0..count {
                    serial += 1;
                    let path = format!("/v1/data/c{serial}");
                    users.spawn(calls::call(world.clone(), transport.clone(), path, total, None, is_prompt));
                }
            }
            Event::Cancelled(count, after) => {
                for _ in 0..count {
                    serial += 1;
                    let (path, total) = (format!("/v1/data/c{serial}"), Duration::from_secs(60));
                    users.spawn(calls::call(world.clone(), transport.clone(), path, total, Some(after), is_prompt));
                }
            }
            Event::Batch(count) => {
                serial += 1;
                let (world, transport, drift) = (world.clone(), transport.clone(), drift.clone());
                users.spawn(async move {
                    calls::batch(world, transport, drift, serial, count).await;
                    None
                });
            }
            other => world.apply(other),
        }
    }
    world.wait_until(night.length).await;
    end::check(&world, night, &transport, &readers, users, producer).await;
    let state = world.state();
    let (counts, failures) = (state.counts.clone(), state.failures.clone());
    drop(state);
    Outcome { trace: world.take_trace(), counts, failures, simulated: world.now() }
}

fn transport_of(night: &Night) -> Transport {
    let settings = Settings {
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
        ..Settings::default()
    };
    Transport::new(settings.resolve(&|_| None).unwrap()).unwrap()
}

fn options(night: &Night) -> Options {
    let settings = &night.settings;
    Options {
        overflow: settings.overflow,
        buffer: settings.buffer,
        retry_wait: settings.retry_wait,
        max_event_bytes: service::MAX_EVENT,
        ..Options::default()
    }
}

fn events(night: &Night, transport: &Transport) -> Arc<Reader> {
    let request = operation::live_stats(&vec![("schedule_id".to_owned(), Value::Text("g1".into()))]).unwrap();
    Reader::new(Kind::Events, live::event_stream(transport.clone(), request, options(night)).unwrap())
}

fn messages(night: &Night, transport: &Transport) -> Arc<Reader> {
    let sources = if night.settings.is_subset { vec!["stats".to_owned(), "clock".to_owned()] } else { Vec::new() };
    let live = Live { game_id: Some("g1".into()), sources, ..Live::default() };
    Reader::new(Kind::Messages, live::websocket(transport.clone(), live, options(night)).unwrap())
}

async fn produce(world: Arc<World>, mut random: Random) {
    loop {
        let share = 0.5 + random.chance();
        sleep(world.settings.message_every.mul_f64(share)).await;
        world.produce();
    }
}

/// The night with as few of its events as it takes to fail in the same way.
fn shrink(night: &Night) -> Night {
    // The first words of a property name it.
    let name =
        |outcome: &Outcome| outcome.failures.first().map(|text| text.split(' ').take(2).collect::<Vec<_>>().join(" "));
    let failure = name(&play(night));
    let mut least = night.clone();
    let mut size = least.events.len().div_ceil(2);
    while size > 0 {
        let (mut from, before) = (0, least.events.len());
        while from < least.events.len() {
            let mut tried = least.clone();
            tried.events.drain(from..(from + size).min(least.events.len()));
            if name(&play(&tried)) == failure {
                least = tried;
            } else {
                from += size;
            }
        }
        // One by one until nothing more can be left out.
        size = if size == 1 && least.events.len() < before { 1 } else { size / 2 };
    }
    least
}

/// Plays a night; a failure shows its seed, the events that it takes, and how to see it again.
fn check(seed: u64) -> Outcome {
    let night = Night::new(seed);
    let outcome = play(&night);
    if !outcome.failures.is_empty() {
        let least = shrink(&night);
        panic!(
            "seed {seed} fails:\n  {}\nwith {:#?}\nof {} events, and {:?}\nagain: make simulate SEED={seed}",
            outcome.failures.join("\n  "),
            least.events,
            night.events.len(),
            night.settings,
        );
    }
    outcome
}

/// A seed that fails is the last one for all threads.
struct StopOnFailure<'a>(&'a AtomicU64);

impl Drop for StopOnFailure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // No further seed, and room to count on.
            self.0.store(u64::MAX / 2, Ordering::Relaxed);
        }
    }
}

/// `SIDELINE_SEEDS` seeds from `SIDELINE_SEED` on, on as many threads as there are processors.
fn many(first: u64, count: u64) {
    let begun = std::time::Instant::now();
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
            total.add(check(seed).into());
        }
    };
    let mut total = Total::default();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in running {
            total.add(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    let (hours, took) = (total.simulated.as_secs_f64() / 3600.0, begun.elapsed().as_secs_f64());
    let faster = hours * 3600.0 / took;
    println!("{count} nights, {hours:.0} hours in {took:.1} s: {faster:.0} times faster");
    println!("digest of their traces: {:016x}", total.digest);
    for (what, n) in &total.counts {
        println!("{n:>10} {what}");
    }
    for what in ["cuts", "refusals (429)", "resumptions", "announced restarts", "cancellations"] {
        assert!(count < 100 || total.counts.contains_key(what), "no night had {what}");
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn two_hundred_nights() {
    many(variable("SIDELINE_SEED").unwrap_or(0), variable("SIDELINE_SEEDS").unwrap_or(200));
}

/// `make simulate SEED=n` prints what happened.
#[test]
#[ignore = "shows one night: make simulate SEED=n"]
fn one_night() {
    let seed = variable("SIDELINE_SEED").unwrap_or(0);
    println!("{}", play(&Night::new(seed)).trace);
    check(seed);
}

#[test]
fn a_seed_gives_the_same_trace() {
    let kinds: [fn(&Night) -> bool; 16] = [
        |night| night.settings.overflow == Overflow::Block,
        |night| night.settings.overflow == Overflow::DropOldest,
        |night| night.settings.overflow == Overflow::Latest,
        |night| night.settings.counter == Counter::Common,
        |night| night.settings.counter == Counter::PerSource,
        |night| night.settings.retry_wait.is_zero(),
        |night| night.settings.is_subset,
        Night::has_random_refusals,
        |night| night.has(|event| matches!(event, Event::Throttle(..))),
        |night| night.has(|event| matches!(event, Event::ClockJump(_))),
        |night| night.has(|event| matches!(event, Event::Cancelled(..))),
        |night| night.has(|event| matches!(event, Event::Overtake(_))),
        |night| night.has(|event| matches!(event, Event::Oversized | Event::HugeFrame)),
        |night| night.has(|event| *event == Event::Retry(0)),
        |night| night.has(|event| *event == Event::Restart),
        |night| night.has(|event| *event == Event::Deny),
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
