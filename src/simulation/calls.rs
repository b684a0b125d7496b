//! Who calls, and what a call must always do.

use super::world::World;
use crate::config::Config;
use crate::error::Error;
use crate::fetch::{self, Counters, Drift, Unit};
use crate::operation::{self, Request, Value};
use crate::transport::{CallTimeout, Response, Transport};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// tokio's timers go by the millisecond, and round up.
const TICKS: Duration = Duration::from_millis(3);

pub(super) fn request(path: &str, config: &Config) -> operation::Call {
    let arguments = vec![("path".to_owned(), Value::Text(path.to_owned()))];
    operation::call("get", &arguments, config).unwrap()
}

fn one(path: &str, config: &Config) -> Request {
    request(path, config).requests.remove(0)
}

fn is_own(response: &Response, path: &str) -> bool {
    String::from_utf8_lossy(response.body.as_slice()).starts_with(&format!("{{\"path\":\"{path}\""))
}

/// One call, given up after `patience`. `is_prompt`: nothing but the service keeps it waiting.
pub(super) async fn call(
    world: Arc<World>,
    transport: Transport,
    path: String,
    total: Duration,
    patience: Option<Duration>,
    is_prompt: bool,
) -> Option<Result<u16, Error>> {
    let begun = world.now();
    let limit = CallTimeout { connect: None, read: None, total };
    let request = one(&path, transport.config());
    let limited = transport.with_timeout(Some(limit));
    let sent = limited.send(&request);
    let sent = match patience {
        Some(patience) => match timeout(patience, sent).await {
            Ok(sent) => sent,
            Err(_) => {
                world.count("cancellations");
                world.trace(&format!("{path} cancelled"));
                return None;
            }
        },
        None => sent.await,
    };
    let took = world.now() - begun;
    if is_prompt && took > total + TICKS {
        world.fail(format!("deadline: {path} took {took:?} of {total:?}"));
    }
    let attempts = world.state().attempts.get(&path).copied().unwrap_or(0);
    // One more for a date that was refused.
    if attempts > world.settings.max_retries + 2 {
        world
            .fail(format!("attempts: {path} was sent {attempts} times, max_retries is {}", world.settings.max_retries));
    }
    match sent {
        Ok(response) => {
            world.trace(&format!("{path} {} after {} attempts", response.status, response.attempts));
            world.count("calls that came");
            if !is_own(&response, &path) {
                world.fail(format!("{path} was given another response"));
            }
            Some(Ok(response.status))
        }
        Err(error) => {
            world.trace(&format!("{path} {error}"));
            world.count(if matches!(error, Error::Timeout(_)) { "calls out of time" } else { "calls that failed" });
            Some(Err(error))
        }
    }
}

/// A batch: whatever happens, each unit ends once and in its place.
pub(super) async fn batch(world: Arc<World>, transport: Transport, drift: Arc<Drift>, name: u64, count: u64) {
    let paths: Vec<String> = (0..count).map(|n| format!("/v1/data/b{name}/{n}")).collect();
    let unit = |path: &String| {
        let mut unit = Unit { call: request(path, transport.config()), keys: Default::default() };
        unit.keys.id = path.clone();
        unit
    };
    let units = paths.iter().map(unit).collect();
    match fetch::run_all(&transport, &drift, units, false, &Arc::new(Counters::default())).await {
        Ok(done) => {
            if done.len() != paths.len() {
                world.fail(format!("coverage: {} of {} units are accounted for", done.len(), paths.len()));
            }
            for (done, path) in done.iter().zip(&paths) {
                let came = done.came.as_ref().and_then(|(payload, _)| payload.parts.first());
                if !done.covered.unit.ends_with(path.as_str()) || done.error.is_some() == came.is_some() {
                    world.fail(format!("coverage: the place of {path} has {:?}, {:?}", done.covered.unit, done.error));
                }
                if came.is_some_and(|response| !is_own(response, path)) {
                    world.fail(format!("{path} was given another response"));
                }
                world.count(if came.is_some() { "units that came" } else { "units that failed" });
            }
            let came = done.iter().filter(|done| done.came.is_some()).count();
            world.trace(&format!("batch {name}: {came} of {count}"));
        }
        Err(error) => {
            world.trace(&format!("batch {name}: {error}"));
            world.fail(format!("a batch ended as a whole: {error}"));
        }
    }
}
