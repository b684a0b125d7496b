//! Many units fetched at once, within the client's budget; each is accounted for, and stands in its place.

use super::coverage::covered;
use super::plan::Unit;
use super::{Drift, Met, Payload, refusal, run_counted};
use crate::error::{Error, Result};
use crate::resource::coverage::Covered;
use crate::transport::Transport;
use std::iter::Enumerate;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::vec::IntoIter;
use tokio::task::{JoinSet, spawn_blocking};

/// How many bytes of bodies may be on their way at once, judged by the largest that came: as many as the one largest answer
/// that a client accepts. Sixteen half hours of locations at 20 Hz stay below it; what tracks faster has fewer at once.
const BYTES_IN_FLIGHT: usize = 256 * 1024 * 1024;

/// A body of so many bytes is read in less time than it takes to hand it to another thread and back.
const SHORT: usize = 16 * 1024;

/// How far a batch is.
#[derive(Debug, Default)]
pub struct Counters {
    pub done: AtomicU64,
    pub rows: AtomicU64,
}

/// How a unit ended.
#[derive(Debug)]
pub struct Done {
    /// What came; with an error beside it where it does not fit, or is refused.
    pub came: Option<(Payload, Vec<Met>)>,
    pub error: Option<Error>,
    pub covered: Covered,
}

/// What the tasks of a batch share.
struct Work {
    waiting: Enumerate<IntoIter<Unit>>,
    /// In the order of the units.
    ended: Vec<Option<Done>>,
    running: usize,
    /// Bytes of the largest body that came.
    largest: usize,
}

/// Fetches all units; what gives is in their order, one for each. An error that concerns all of them ends it: a missing
/// credential, a client that was closed. Dropping the future cancels every request.
pub async fn run(
    transport: &Transport,
    drift: &Arc<Drift>,
    units: Vec<Unit>,
    strict: bool,
    counters: &Arc<Counters>,
) -> Result<Vec<Done>> {
    let at_once = transport.config().max_concurrency.min(units.len());
    let ended = units.iter().map(|_| None).collect();
    let work = Work { waiting: units.into_iter().enumerate(), ended, running: 0, largest: 0 };
    let work = Arc::new(Mutex::new(work));
    // Dropped, it aborts what runs.
    let mut running = JoinSet::new();
    for _ in 0..at_once {
        let (transport, drift, work, counters) = (transport.clone(), drift.clone(), work.clone(), counters.clone());
        running.spawn(async move { one_by_one(&transport, &drift, &work, strict, &counters).await });
    }
    while let Some(joined) = running.join_next().await {
        joined.map_err(stopped)??;
    }
    let ended = std::mem::take(&mut lock(&work).ended);
    let all: Option<Vec<Done>> = ended.into_iter().collect();
    all.ok_or_else(|| Error::Transport("internal error, please report it: a unit without an end".into()))
}

/// Fetches units until none is left, or no room: the largest body only grows, so what is too much now stays so.
async fn one_by_one(
    transport: &Transport,
    drift: &Arc<Drift>,
    work: &Mutex<Work>,
    strict: bool,
    counters: &Counters,
) -> Result<()> {
    let at_once = transport.config().max_concurrency;
    let next = || {
        let mut work = lock(work);
        if !has_room(work.running, at_once, work.largest) {
            return None;
        }
        let next = work.waiting.next()?;
        work.running += 1;
        Some(next)
    };
    while let Some((place, unit)) = next() {
        let done = fetch(transport, drift.clone(), unit, strict).await?;
        counters.rows.fetch_add(done.covered.rows, Ordering::Relaxed);
        counters.done.fetch_add(1, Ordering::Relaxed);
        let mut work = lock(work);
        work.running -= 1;
        work.largest = work.largest.max(done.came.as_ref().map_or(0, |(payload, _)| payload.size()));
        if let Some(slot) = work.ended.get_mut(place) {
            *slot = Some(done);
        }
    }
    Ok(())
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether one more unit may start; one always may.
fn has_room(running: usize, at_once: usize, largest: usize) -> bool {
    running == 0 || (running < at_once && largest.saturating_mul(running + 1) <= BYTES_IN_FLIGHT)
}

async fn fetch(transport: &Transport, drift: Arc<Drift>, unit: Unit, strict: bool) -> Result<Done> {
    let tried = AtomicU32::new(0);
    let fetched = run_counted(transport, unit.call, &tried).await;
    let at = SystemTime::now();
    let (came, ended) = match fetched {
        Err(error @ (Error::Configuration(_) | Error::Closed)) => return Err(error),
        Err(error) => (None, Err(error)),
        Ok(payload) => {
            // Bodies of locations take a while to read, and streams share these threads.
            let is_short = payload.size() <= SHORT;
            let read = move || read(&drift, payload, strict, at);
            let read = if is_short { read() } else { spawn_blocking(read).await.map_err(stopped)? };
            (Some((read.0, read.1)), read.2)
        }
    };
    let first = came.as_ref().and_then(|(payload, _)| payload.parts.first());
    let (request_id, at) = first.map_or((None, at), |first| (first.request_id.clone(), first.fetched_at));
    let covered = covered(unit.keys, &ended, request_id, tried.into_inner(), at);
    Ok(Done { came, error: ended.err(), covered })
}

/// Reads an answer to its end, so that what counts as fetched has rows in every table that is asked for later. Nothing is
/// built where one pass tells that every table decodes: a batch keeps the bodies alone.
fn read(
    drift: &Drift,
    payload: Payload,
    strict: bool,
    now: SystemTime,
) -> (Payload, Vec<Met>, std::result::Result<Option<usize>, Error>) {
    // A body that is no JSON has nothing unknown: decoding it tells what is wrong.
    let survey = payload.survey().unwrap_or_default();
    let met = drift.meet(payload.operation, survey.unknown, now);
    let rows = || {
        if strict && let Some(error) = refusal(&met) {
            return Err(error);
        }
        let mut rows = survey.rows;
        if rows.is_none() {
            // On a copy: joined answers would be kept twice.
            let copy = payload.clone();
            for name in copy.tables() {
                let table = copy.table(Some(name), None)?;
                rows.get_or_insert(table.iter().map(|batch| batch.num_rows()).sum());
            }
        }
        Ok(rows)
    };
    let rows = rows();
    (payload, met, rows)
}

/// A task that did not come to its end: a panic goes on, and the runtime's end is the interpreter's.
pub(super) fn stopped(error: tokio::task::JoinError) -> Error {
    match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => Error::Transport("the interpreter is exiting; no request is sent any more".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_on_their_way_are_bounded_by_the_largest_that_came() {
        assert!(has_room(15, 16, 0) && !has_room(16, 16, 0));
        let quarter = BYTES_IN_FLIGHT / 4;
        assert!(has_room(3, 16, quarter) && !has_room(4, 16, quarter));
        // One alone goes on, whatever its size.
        assert!(has_room(0, 16, usize::MAX) && !has_room(1, 16, usize::MAX));
    }
}
