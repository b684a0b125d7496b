//! The end of a night: its troubles end, the client recovers, and is closed. The properties of what it did all night.

use super::calls;
use super::night::{Event, Night, Throttle};
use super::readers::{Reader, Seen, text};
use super::service::{Kind, MOST_OVERTAKING, Made};
use super::world::World;
use crate::error::Error;
use crate::live::Overflow;
use crate::transport::Transport;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

type Users = JoinSet<Option<Result<u16, Error>>>;

const SECOND: Duration = Duration::from_secs(1);

pub(super) async fn check(
    world: &Arc<World>,
    night: &Night,
    transport: &Transport,
    readers: &[Arc<Reader>; 2],
    mut users: Users,
    producer: JoinHandle<()>,
) {
    world.trace("CALM");
    world.calm();
    // The last `Retry-After` was for seven seconds; then ten to recover.
    sleep(18 * SECOND).await;
    full_speed(world, transport).await;
    sleep(180 * SECOND).await;
    if users_left(&mut users) > 0 {
        world.fail("a call or a batch goes on for minutes in a calm".into());
    }
    users.abort_all();
    if night.has_random_refusals() {
        random_refusals(world, transport).await;
    }
    world.cut.send(super::night::How::Reset);
    // `retry:` may ask for a minute.
    sleep(130 * SECOND).await;
    producer.abort();
    let stopped = world.now();
    sleep(15 * SECOND).await;

    for reader in readers {
        let seen = reader.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_denied = reader.kind == Kind::Events && night.has(|event| *event == Event::Deny);
        match (&seen.end, seen.is_over, is_denied) {
            (Some(Error::Api(error)), true, true) if error.status == 401 => {}
            (_, false, false) => is_alive(world, reader.kind, &seen, stopped),
            (end, true, _) => world.fail(format!("{} ended: {}", reader.kind.name(), text(end.as_ref()))),
            (_, false, true) => {
                world.fail("denied: events are tried for ever, though they are refused with 401".into())
            }
        }
    }
    close(world, transport, readers).await;
    for reader in readers {
        let seen = reader.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = reader.stream.counts();
        let delivered = seen.delivered.len() as u64;
        if counts.updates != delivered + counts.dropped || seen.dropped != counts.dropped {
            let dropped = (counts.dropped, seen.dropped);
            world.fail(format!("counts: {} of {} came, {dropped:?} were dropped", delivered, counts.updates));
        }
        is_nothing_lost(world, night, reader.kind, &seen);
    }
    reconnects(world);
}

/// Those that are not over.
fn users_left(users: &mut Users) -> usize {
    while users.try_join_next().is_some() {}
    users.len()
}

/// Ten seconds after the last refusal there is no limit.
async fn full_speed(world: &Arc<World>, transport: &Transport) {
    let begun = world.now();
    let mut calls = JoinSet::new();
    for n in 0..100 {
        let path = format!("/v1/data/full{n}");
        calls.spawn(calls::call(world.clone(), transport.clone(), path, 60 * SECOND, None, false));
    }
    while let Some(ended) = calls.join_next().await {
        if !matches!(ended, Ok(Some(Ok(200)))) {
            world.fail(format!("recovery: a call failed in a calm: {ended:?}"));
        }
    }
    // A hundred go in two rounds of 64 at once, each there and back; one of them may have its date refused.
    let (took, most) = (world.now() - begun, world.settings.latency * 8 + SECOND / 2);
    if took > most {
        world.fail(format!("rate: a hundred calls took {took:?} ten seconds after the last refusal, not {most:?}"));
    }
}

/// Five per cent of 429 at random cost half of the throughput at most.
async fn random_refusals(world: &Arc<World>, transport: &Transport) {
    const WORKERS: u64 = 16;
    let round = 2 * world.settings.latency;
    let time = (round * 90).max(SECOND * 8);
    world.state().faults.throttle = Some((Throttle::Random(0.05), world.now() + time));
    let until = world.now() + time;
    let count = Arc::new(AtomicU64::new(0));
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (world, transport, count) = (world.clone(), transport.clone(), count.clone());
        workers.spawn(async move {
            for n in 0.. {
                let path = format!("/v1/data/w{worker}/{n}");
                calls::call(world.clone(), transport.clone(), path, 60 * SECOND, None, false).await;
                if world.now() > until {
                    return;
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    while workers.join_next().await.is_some() {}
    let possible = WORKERS as f64 * time.as_secs_f64() / round.as_secs_f64();
    let share = count.load(Ordering::Relaxed) as f64 / possible;
    world.trace(&format!("throughput under random refusals: {share:.2}"));
    if share < 0.5 {
        world.fail(format!("throughput: {share:.2} of what is possible, under 5 % of refusals at random"));
    }
}

/// What was made in the last half minute came.
fn is_alive(world: &World, kind: Kind, seen: &Seen, stopped: Duration) {
    let state = world.state();
    let since = stopped.saturating_sub(30 * SECOND);
    let last = made(&state.service, kind).iter().filter(|made| made.at > since && is_asked(world, made));
    let missing: Vec<u64> = last.map(|made| made.n).filter(|n| !seen.numbers.contains(n)).collect();
    drop(state);
    if !missing.is_empty() {
        world.fail(format!("alive: {} did not recover, {missing:?} are missing", kind.name()));
    }
}

fn made(service: &super::service::Service, kind: Kind) -> &[Made] {
    if kind == Kind::Events { &service.events } else { &service.messages }
}

fn is_asked(world: &World, made: &Made) -> bool {
    !(world.settings.is_subset && made.source == "plays")
}

/// Everything ends within two ticks of `close`.
async fn close(world: &Arc<World>, transport: &Transport, readers: &[Arc<Reader>; 2]) {
    let mut calls = JoinSet::new();
    for n in 0..3 {
        let path = format!("/v1/data/last{n}");
        calls.spawn(calls::call(world.clone(), transport.clone(), path, 60 * SECOND, None, false));
    }
    sleep(Duration::from_millis(2)).await;
    world.trace("CLOSE");
    transport.close();
    let ends = async { while calls.join_next().await.is_some() {} };
    if timeout(Duration::from_millis(3), ends).await.is_err() {
        world.fail("close: calls outlive it".into());
    }
    sleep(Duration::from_millis(3)).await;
    for reader in readers {
        let seen = reader.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.is_over {
            world.fail(format!("close: {} goes on", reader.kind.name()));
        }
    }
    let late = calls::call(world.clone(), transport.clone(), "/v1/data/late".into(), 60 * SECOND, None, false).await;
    if !matches!(late, Some(Err(Error::Closed))) {
        world.fail(format!("close: a call after it came to {late:?}"));
    }
    sleep(3 * SECOND).await;
    let open = world.state().open;
    if open > 0 {
        world.fail(format!("close: {open} connections stay open"));
    }
}

/// All that was made was delivered, or a gap stands in its place; what the service could send again was delivered.
fn is_nothing_lost(world: &World, night: &Night, kind: Kind, seen: &Seen) {
    let state = world.state();
    let (service, openings) = (&state.service, &state.openings);
    let begun = openings.get(kind.name()).and_then(|all| all.iter().find(|(_, stood)| *stood)).map(|(at, _)| *at);
    let end = world.now().saturating_sub(20 * SECOND);
    let all = made(service, kind);
    let missing: Vec<&Made> = all
        .iter()
        .filter(|made| {
            begun.is_some_and(|begun| made.at > begun + SECOND * 5) && made.at < end && is_asked(world, made)
        })
        .filter(|made| !seen.numbers.contains(&made.n))
        .collect();
    let mut failures = Vec::new();
    // A gap stands where an item was dropped, and of those that overtook each other that may be before an earlier one.
    let is_in_order =
        night.settings.overflow == Overflow::Block || !night.has(|event| matches!(event, Event::Overtake(_)));
    for made in missing.iter().filter(|_| is_in_order) {
        // What others overtook when its connection was cut is lost behind them.
        let overtaking =
            if night.has(|event| matches!(event, Event::Overtake(_))) { MOST_OVERTAKING as usize } else { 0 };
        let of_source = || seen.delivered.iter().filter(|(n, _)| all[*n as usize].source == made.source);
        let before = of_source().filter(|(n, _)| *n < made.n).map(|(_, place)| *place).max().unwrap_or(0);
        let mut later: Vec<usize> = of_source().filter(|(n, _)| *n > made.n).map(|(_, place)| *place).collect();
        later.sort_unstable();
        let after = later.get(overtaking).copied().unwrap_or(usize::MAX);
        let (first, last) = (before.min(after), before.max(after));
        if !seen.gaps.iter().any(|gap| (first..=last).contains(gap)) {
            failures.push(format!("lost: {} {} of {:?}, without a gap", kind.name(), made.n, made.source));
        }
    }
    let is_tame = night.settings.overflow == Overflow::Block && !night.has(|event| *event == Event::Oversized);
    let is_resumable = is_tame
        && match kind {
            Kind::Events => {
                night.settings.resumes
                    && !night.has(|event| {
                        matches!(
                            event,
                            Event::OddId
                                | Event::LongId
                                | Event::RefusePosition(_)
                                | Event::Errors(500, ..)
                                | Event::Deny
                        )
                    })
            }
            _ => !night.has(|event| *event == Event::Restart),
        };
    let first = seen.delivered.first().map_or(u64::MAX, |(n, _)| *n);
    let again = |made: &&&Made| match kind {
        Kind::Events => made.n > first,
        _ => made.seq.is_some() && made.epoch == service.epoch,
    };
    if is_resumable {
        for made in missing.iter().filter(again) {
            failures.push(format!("resume: {} {} of {:?} was never asked for", kind.name(), made.n, made.source));
        }
    }
    if kind == Kind::Messages {
        // What came over a connection came in the order in which it was sent over it.
        let mut connections = service.sent.iter();
        for segment in seen.segments.iter().filter(|segment| !segment.is_empty()) {
            let is_within = |sent: &&Vec<u64>| {
                let mut sent = sent.iter();
                segment.iter().all(|n| sent.any(|one| one == n))
            };
            if !connections.any(|sent| is_within(&sent)) {
                failures.push(format!("order: messages {segment:?} came in no order in which they were sent"));
                break;
            }
        }
    }
    drop(state);
    failures.into_iter().for_each(|failure| world.fail(failure));
}

/// Neither a service that fails nor one that asks for it is asked without pause.
fn reconnects(world: &World) {
    const WINDOW: Duration = Duration::from_secs(10);
    let openings = world.state().openings.clone();
    // One attempt may ask three times: for a position, without it, and with another token.
    let most_failed = if world.settings.retry_wait < SECOND { 50 } else { 12 };
    for (kind, all) in openings {
        for (at, (begun, _)) in all.iter().enumerate() {
            let window = || all[at..].iter().take_while(|(other, _)| *other < *begun + WINDOW);
            let failed = window().filter(|(_, stood)| !stood).count();
            if failed > most_failed || window().count() > 110 {
                let (count, at) = (window().count(), begun.as_secs_f64());
                world.fail(format!(
                    "reconnects: {kind} made {count} connections in ten seconds, {failed} in vain, at {at:.1} s"
                ));
                break;
            }
        }
    }
}
