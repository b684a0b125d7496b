//! Checks at the end of a night: faults end, the client recovers and is closed; then the properties of the whole night.

use super::calls;
use super::night::{Night, NightEvent, ThrottlePolicy};
use super::readers::{Observations, StreamReader, text};
use super::service::{MAX_OVERTAKING, ProducedMessage, RequestKind, is_requested};
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

/// Ends the faults of a night, lets the client recover, closes it, and checks all properties.
pub(super) async fn check_night(
    world: &Arc<World>,
    night: &Night,
    transport: &Transport,
    readers: &[Arc<StreamReader>; 2],
    mut users: Users,
    producer: JoinHandle<()>,
) {
    world.trace("CALM");
    let (calm, pause) = (world.now(), world.state().faults.pause);
    world.end_faults();
    // Up to seven seconds of `Retry-After`, then ten to recover.
    sleep(18 * SECOND).await;
    check_full_speed(world, transport).await;
    // A minute of health, unless a reader is busy.
    world.wait_until(calm + 60 * SECOND).await;
    readers.iter().filter(|_| pause <= calm).for_each(|reader| check_truth(world, night, reader));
    sleep(138 * SECOND).await;
    readers.iter().for_each(|reader| check_truth(world, night, reader));
    if running_users(&mut users) > 0 {
        world.fail("a call or a batch still runs minutes after the last fault".into());
    }
    users.abort_all();
    if night.has_random_refusals() {
        check_throughput(world, transport).await;
    }
    world.cut_all.send(super::night::Termination::Reset);
    sleep(60 * SECOND).await;
    check_truth(world, night, &readers[1]);
    sleep(70 * SECOND).await;
    producer.abort();
    let stop = world.now();
    sleep(15 * SECOND).await;
    for journal in readers.iter().filter_map(|reader| reader.journal.as_ref()) {
        journal.check(world, false);
    }

    readers.iter().for_each(|reader| check_truth(world, night, reader));
    readers.iter().for_each(|reader| check_alive(world, night, reader, stop));
    check_close(world, transport, readers).await;
    for reader in readers {
        if let Err(error) = reader.stream.close() {
            world.fail(format!("journal: {error}"));
        }
        if let Some(journal) = &reader.journal {
            journal.check(world, true);
        }
    }
    for reader in readers {
        let observations = reader.observations.lock().unwrap_or_else(PoisonError::into_inner);
        check_counts(world, reader, &observations);
        check_nothing_lost(world, night, reader.kind, &observations);
        check_honesty(world, night, &observations);
    }
    check_reconnects(world);
}

/// Checks that a stream has recovered, unless it was denied: then it has ended.
fn check_alive(world: &World, night: &Night, reader: &StreamReader, stop: Duration) {
    let observations = reader.observations.lock().unwrap_or_else(PoisonError::into_inner);
    let is_denied = reader.kind == RequestKind::Events && night.has(|event| *event == NightEvent::Deny);
    match (&observations.end, observations.has_ended, is_denied) {
        (Some(Error::Api(error)), true, true) if error.status == 401 => {}
        (_, false, false) => check_recovered(world, reader.kind, &observations, stop),
        (end, true, _) => world.fail(format!("{} ended: {}", reader.kind.name(), text(end.as_ref()))),
        (_, false, true) => {
            world.fail("denied: the event stream retries for ever, though it is refused with 401".into())
        }
    }
}

/// Checks that what a stream counts is what was delivered and dropped.
fn check_counts(world: &World, reader: &StreamReader, observations: &Observations) {
    let counts = reader.stream.buffer.counts();
    let deliveries = observations.deliveries.len() as u64;
    if counts.updates != deliveries + counts.dropped || observations.dropped != counts.dropped {
        let dropped = (counts.dropped, observations.dropped);
        world.fail(format!("counts: {} of {} were delivered, {dropped:?} dropped", deliveries, counts.updates));
    }
}

/// Checks the box score of a stream, unless it was denied.
fn check_truth(world: &World, night: &Night, reader: &StreamReader) {
    if reader.kind == RequestKind::Events && night.has(|event| *event == NightEvent::Deny) {
        return;
    }
    let observations = reader.observations.lock().unwrap_or_else(PoisonError::into_inner);
    let open_gaps = reader.stream.buffer.counts().open_gaps;
    observations.score.check_truth(world, reader.kind, open_gaps, !night.settings.alternates());
}

/// Checks what the box score showed during the night. These checks compare times of the client's clock.
fn check_honesty(world: &World, night: &Night, observations: &Observations) {
    if !night.has(|event| matches!(event, NightEvent::ClockJump(_))) {
        let doubts = observations.score.justified_doubts(&observations.deliveries);
        doubts.for_each(|doubt| world.fail(doubt.to_owned()));
    }
}

/// Number of users that are still running.
fn running_users(users: &mut Users) -> usize {
    while users.try_join_next().is_some() {}
    users.len()
}

/// Checks that the rate has recovered ten seconds after the last refusal.
async fn check_full_speed(world: &Arc<World>, transport: &Transport) {
    let start = world.now();
    let mut calls = JoinSet::new();
    for n in 0..100 {
        let path = format!("/v1/data/full{n}");
        calls.spawn(calls::call(world.clone(), transport.clone(), path, 60 * SECOND, None, false));
    }
    while let Some(result) = calls.join_next().await {
        if !matches!(result, Ok(Some(Ok(200)))) {
            world.fail(format!("recovery: a call failed without a fault: {result:?}"));
        }
    }
    // A hundred calls take two rounds of 64 concurrent requests; one of them may have its date refused.
    let (elapsed, limit) = (world.now() - start, world.settings.latency * 8 + SECOND / 2);
    if elapsed > limit {
        world.fail(format!(
            "rate: a hundred calls took {elapsed:?} ten seconds after the last refusal, more than {limit:?}"
        ));
    }
}

/// Checks that 5 % random refusals cost at most half of the throughput.
async fn check_throughput(world: &Arc<World>, transport: &Transport) {
    const WORKERS: u64 = 16;
    let round = 2 * world.settings.latency;
    let time = (round * 90).max(SECOND * 8);
    world.state().faults.throttle = Some((ThrottlePolicy::Random(0.05), world.now() + time));
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
    world.trace(&format!("throughput with random refusals: {share:.2}"));
    if share < 0.5 {
        world.fail(format!("throughput: {share:.2} of what is possible, with 5 % random refusals"));
    }
}

/// Checks that all messages of the last half minute were delivered.
fn check_recovered(world: &World, kind: RequestKind, observations: &Observations, stop: Duration) {
    let state = world.state();
    let since = stop.saturating_sub(30 * SECOND);
    let recent =
        messages(&state.service, kind).iter().filter(|message| message.at > since && is_requested(world, message));
    let missing: Vec<u64> = recent.map(|message| message.n).filter(|n| !observations.numbers.contains(n)).collect();
    drop(state);
    if !missing.is_empty() {
        world.fail(format!("alive: {} did not recover, {missing:?} are missing", kind.name()));
    }
}

fn messages(service: &super::service::SimulatedService, kind: RequestKind) -> &[ProducedMessage] {
    if kind == RequestKind::Events { &service.events } else { &service.messages }
}

/// Checks that `close` ends everything within a few milliseconds.
async fn check_close(world: &Arc<World>, transport: &Transport, readers: &[Arc<StreamReader>; 2]) {
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
        world.fail("close: calls still run after it".into());
    }
    sleep(Duration::from_millis(3)).await;
    for reader in readers {
        let observations = reader.observations.lock().unwrap_or_else(PoisonError::into_inner);
        if !observations.has_ended {
            world.fail(format!("close: {} still runs", reader.kind.name()));
        }
    }
    let late = calls::call(world.clone(), transport.clone(), "/v1/data/late".into(), 60 * SECOND, None, false).await;
    if !matches!(late, Some(Err(Error::Closed))) {
        world.fail(format!("close: a call after it returned {late:?}"));
    }
    sleep(3 * SECOND).await;
    let open = world.state().open;
    if open > 0 {
        world.fail(format!("close: {open} connections stay open"));
    }
}

/// Checks that each message was delivered or is covered by a gap, and that each message that the service could resend was
/// delivered.
fn check_nothing_lost(world: &World, night: &Night, kind: RequestKind, observations: &Observations) {
    let state = world.state();
    let (service, openings) = (&state.service, &state.openings);
    let start = openings.get(kind.name()).and_then(|all| all.iter().find(|(_, is_open)| *is_open)).map(|(at, _)| *at);
    let end = world.now().saturating_sub(20 * SECOND);
    let all = messages(service, kind);
    let missing: Vec<&ProducedMessage> = all
        .iter()
        .filter(|message| {
            start.is_some_and(|start| message.at > start + SECOND * 5)
                && message.at < end
                && is_requested(world, message)
        })
        .filter(|message| !observations.numbers.contains(&message.n))
        .collect();
    let mut failures = losses(night, kind, observations, all, &missing);
    let first = observations.deliveries.first().map_or(u64::MAX, |(n, _)| *n);
    let is_resent = |message: &&&ProducedMessage| match kind {
        RequestKind::Events => message.n > first,
        _ => message.seq.is_some() && message.epoch == service.epoch,
    };
    if is_resumable(night, kind) {
        for message in missing.iter().filter(is_resent) {
            failures.push(format!("resume: {} {} of {:?} was never requested", kind.name(), message.n, message.source));
        }
    }
    if kind == RequestKind::Messages {
        failures.extend(disorder(observations, &service.sent_messages));
    }
    drop(state);
    failures.into_iter().for_each(|failure| world.fail(failure));
}

/// The missing messages that no gap covers.
fn losses(
    night: &Night,
    kind: RequestKind,
    observations: &Observations,
    all: &[ProducedMessage],
    missing: &[&ProducedMessage],
) -> Vec<String> {
    let has_overtaking = night.has(|event| matches!(event, NightEvent::Overtake(_)));
    // A gap replaces a dropped item, which among reordered messages may be before an earlier one.
    if night.settings.overflow != Overflow::Block && has_overtaking {
        return Vec::new();
    }
    // A message that was overtaken when its connection was cut is missing after the others.
    let overtaking = if has_overtaking { MAX_OVERTAKING as usize } else { 0 };
    let is_lost = |message: &&&ProducedMessage| {
        let of_source = || observations.deliveries.iter().filter(|(n, _)| all[*n as usize].source == message.source);
        let positions = |is_wanted: &dyn Fn(u64) -> bool| {
            let mut positions: Vec<usize> =
                of_source().filter(|(n, _)| is_wanted(*n)).map(|(_, position)| *position).collect();
            positions.sort_unstable();
            positions
        };
        // An earlier message may have been overtaken by the missing one.
        let before = positions(&|n| n < message.n).iter().rev().nth(overtaking).copied().unwrap_or(0);
        let after = positions(&|n| n > message.n).get(overtaking).copied().unwrap_or(usize::MAX);
        let (first, last) = (before.min(after), before.max(after));
        !observations.gaps.iter().any(|gap| (first..=last).contains(gap))
    };
    let messages = missing.iter().filter(is_lost);
    messages
        .map(|message| format!("lost: {} {} of {:?}, without a gap", kind.name(), message.n, message.source))
        .collect()
}

/// Whether the service could resend all that a lost connection missed.
fn is_resumable(night: &Night, kind: RequestKind) -> bool {
    let is_lossless = night.settings.overflow == Overflow::Block && !night.has(|event| *event == NightEvent::Oversized);
    let prevents_resumption = |event: &NightEvent| match kind {
        RequestKind::Events => matches!(
            event,
            NightEvent::InvalidId
                | NightEvent::LongId
                | NightEvent::RefusePosition(_)
                | NightEvent::Errors(500, ..)
                | NightEvent::Deny
        ),
        _ => *event == NightEvent::Restart,
    };
    let resends = if kind == RequestKind::Events { night.settings.resumes } else { night.settings.resends };
    is_lossless && resends && !night.has(prevents_resumption)
}

/// A connection delivers its messages in the order in which they were sent.
fn disorder(observations: &Observations, all_sent: &[Vec<u64>]) -> Option<String> {
    let mut connections = all_sent.iter();
    let mut segments = observations.segments.iter().filter(|segment| !segment.is_empty());
    let segment = segments.find(|segment| {
        let is_subsequence = |messages: &Vec<u64>| {
            let mut messages = messages.iter();
            segment.iter().all(|n| messages.any(|other| other == n))
        };
        !connections.any(is_subsequence)
    })?;
    Some(format!("order: messages {segment:?} were delivered in an order in which they were not sent"))
}

/// Checks that reconnects are limited, whether the service fails or requests short waits.
fn check_reconnects(world: &World) {
    const WINDOW: Duration = Duration::from_secs(10);
    let openings = world.state().openings.clone();
    // One attempt may send three requests: with a position, without it, and with another token.
    let max_failed = if world.settings.retry_wait < SECOND { 50 } else { 12 };
    for (kind, all) in openings {
        for (at, (start, _)) in all.iter().enumerate() {
            let window = || all[at..].iter().take_while(|(other, _)| *other < *start + WINDOW);
            let failed = window().filter(|(_, is_open)| !is_open).count();
            if failed > max_failed || window().count() > 110 {
                let (count, at) = (window().count(), start.as_secs_f64());
                world.fail(format!(
                    "reconnects: {kind} made {count} connections in ten seconds, {failed} failed, at {at:.1} s"
                ));
                break;
            }
        }
    }
}
