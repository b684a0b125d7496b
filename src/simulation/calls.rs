//! Calls and batches of simulated users, and their properties.

use super::world::World;
use crate::config::Config;
use crate::error::{Error, RequestErrorKind};
use crate::fetch::{self, Counters, Drift, Unit};
use crate::operation::{self, Request, Value};
use crate::transport::{CallTimeout, Response, Transport};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// tokio's timers have a resolution of a millisecond and round up.
const TIMER_TOLERANCE: Duration = Duration::from_millis(3);

fn call_of(path: &str, config: &Config) -> operation::Call {
    let arguments = vec![("path".to_owned(), Value::Text(path.to_owned()))];
    operation::call("get", &arguments, config).unwrap()
}

fn request(path: &str, config: &Config) -> Request {
    call_of(path, config).requests.remove(0)
}

fn is_response_to(response: &Response, path: &str) -> bool {
    String::from_utf8_lossy(response.body.as_slice()).starts_with(&format!("{{\"path\":\"{path}\""))
}

/// Sends one call, and cancels it after `cancel_after`. `is_unthrottled`: it waits only for the service.
pub(super) async fn call(
    world: Arc<World>,
    transport: Transport,
    path: String,
    total: Duration,
    cancel_after: Option<Duration>,
    is_unthrottled: bool,
) -> Option<Result<u16, Error>> {
    let start = world.now();
    let limit = CallTimeout { connect: None, read: None, total };
    let request = request(&path, transport.config());
    let transport = transport.with_timeout(Some(limit));
    let exchange = transport.send(&request);
    let result = match cancel_after {
        Some(cancel_after) => match timeout(cancel_after, exchange).await {
            Ok(result) => result,
            Err(_) => {
                world.count("cancellations");
                world.trace(&format!("{path} cancelled"));
                return None;
            }
        },
        None => exchange.await,
    };
    let elapsed = world.now() - start;
    if is_unthrottled && elapsed > total + TIMER_TOLERANCE {
        world.fail(format!("deadline: {path} took {elapsed:?} of {total:?}"));
    }
    let attempts = world.state().attempts.get(&path).copied().unwrap_or(0);
    // A refused date allows one more.
    if attempts > world.settings.max_retries + 2 {
        world
            .fail(format!("attempts: {path} was sent {attempts} times, max_retries is {}", world.settings.max_retries));
    }
    match result {
        Ok(response) => {
            world.trace(&format!("{path} {} after {} attempts", response.status, response.attempts));
            world.count("successful calls");
            if !is_response_to(&response, &path) {
                world.fail(format!("{path} received the response of another request"));
            }
            Some(Ok(response.status))
        }
        Err(error) => {
            world.trace(&format!("{path} {error}"));
            world.count(if error.request_kind() == Some(RequestErrorKind::Timeout) {
                "timed-out calls"
            } else {
                "failed calls"
            });
            Some(Err(error))
        }
    }
}

/// Runs a batch, of which every unit must have exactly one outcome, in its position.
pub(super) async fn batch(world: Arc<World>, transport: Transport, drift: Arc<Drift>, name: u64, count: u64) {
    let paths: Vec<String> = (0..count).map(|n| format!("/v1/data/b{name}/{n}")).collect();
    let unit = |path: &String| {
        let mut unit = Unit { call: Ok(call_of(path, transport.config())), row: Default::default() };
        unit.row.unit = path.clone();
        unit
    };
    let units = paths.iter().map(unit).collect();
    match fetch::run_all(&transport, &drift, units, false, &Arc::new(Counters::default())).await {
        Ok(outcomes) => {
            if outcomes.len() != paths.len() {
                world.fail(format!("coverage: {} of {} units have an outcome", outcomes.len(), paths.len()));
            }
            for (outcome, path) in outcomes.iter().zip(&paths) {
                let response = outcome.response.as_ref().and_then(|(payload, _)| payload.parts.first());
                if !outcome.coverage.unit.ends_with(path.as_str()) || outcome.error.is_some() == response.is_some() {
                    world.fail(format!(
                        "coverage: the position of {path} has {:?}, {:?}",
                        outcome.coverage.unit, outcome.error
                    ));
                }
                if response.is_some_and(|response| !is_response_to(response, path)) {
                    world.fail(format!("{path} received the response of another request"));
                }
                world.count(if response.is_some() { "successful units" } else { "failed units" });
            }
            let successes = outcomes.iter().filter(|outcome| outcome.response.is_some()).count();
            world.trace(&format!("batch {name}: {successes} of {count}"));
        }
        Err(error) => {
            world.trace(&format!("batch {name}: {error}"));
            world.fail(format!("a batch ended as a whole: {error}"));
        }
    }
}
