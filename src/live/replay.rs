//! Replays a journal as a stream: the same items, at their original pace or faster.

use super::buffer::{Buffer, ConnectionState};
use super::item::Item;
use super::journal::{Entry, Reader};
use super::options::StreamOptions;
use super::stream::{Producer, Stream};
use crate::error::{Error, Result};
use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// `speed`: 2.0 is twice the original speed; `None` is as fast as possible.
pub fn replay(path: &Path, speed: Option<f64>, options: StreamOptions) -> Result<Stream> {
    let pace = Pace::new(speed)?;
    let reader = Reader::open(path)?;
    let producer = move |buffer: Arc<Buffer>| -> Producer {
        Box::pin(async move {
            let start = Instant::now();
            let until = |due: Duration| async move {
                match start.checked_add(due) {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            run(reader, pace, &buffer, until).await
        })
    };
    Stream::new(&options, Box::new(producer))
}

/// `until` waits until this time after the start.
async fn run<R, F>(reader: Reader<R>, mut pace: Pace, buffer: &Buffer, until: impl Fn(Duration) -> F) -> Option<Error>
where
    R: Read + Send + 'static,
    F: Future<Output = ()>,
{
    buffer.set_state(ConnectionState::Connected);
    let mut reader = Some(reader);
    while let Some(mut current) = reader.take() {
        // A slow disk must not block the runtime's threads.
        let read = tokio::task::spawn_blocking(move || {
            let mut entries: Vec<Entry> = Vec::new();
            let more = current.next(&mut entries);
            (current, entries, more)
        });
        let Ok((current, entries, more)) = read.await else {
            return Some(Error::Internal("the journal's reader ended early".to_owned()));
        };
        for (at, item) in entries {
            if let Some(due) = pace.due(at) {
                until(due).await;
            }
            if let Item::Update(update) = &item {
                buffer.count_read(update.raw().len(), 0);
            }
            buffer.push(item).await;
        }
        match more {
            Ok(true) => reader = Some(current),
            Ok(false) => {}
            Err(error) => return Some(error),
        }
    }
    None
}

/// When items are due, relative to the first one.
struct Pace {
    speed: Option<f64>,
    first: Option<SystemTime>,
    latest: Duration,
}

impl Pace {
    fn new(speed: Option<f64>) -> Result<Self> {
        match speed {
            Some(speed) if !(speed.is_finite() && speed > 0.0) => Err(Error::Argument(format!(
                "speed is {speed}; it must be more than 0, or None for as fast as possible"
            ))),
            speed => Ok(Pace { speed, first: None, latest: Duration::ZERO }),
        }
    }

    /// If the recorder's clock was set back, items are due at once until it catches up.
    fn due(&mut self, at: SystemTime) -> Option<Duration> {
        let speed = self.speed?;
        let first = *self.first.get_or_insert(at);
        self.latest = self.latest.max(at.duration_since(first).unwrap_or_default());
        Some(Duration::try_from_secs_f64(self.latest.as_secs_f64() / speed).unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn an_item_is_due_by_its_receive_time_and_the_speed() {
        let at = |ms: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000 + ms);
        let mut pace = Pace::new(Some(4.0)).unwrap();
        let due: Vec<_> = [0, 100, 1000, 900, 1200].map(|ms| pace.due(at(ms)).unwrap().as_millis()).into();
        assert_eq!(due, [0, 25, 250, 250, 300]);
        assert_eq!(Pace::new(None).unwrap().due(at(5)), None);
        assert_eq!(Pace::new(Some(1e-300)).unwrap().due(at(0)), Some(Duration::ZERO));
    }

    #[test]
    fn a_speed_is_a_number_above_zero() {
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Pace::new(Some(speed)), Err(Error::Argument(_))), "{speed}");
        }
    }
}
