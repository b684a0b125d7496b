//! Replays a journal as a stream: the same items, at their original pace or faster.

use super::buffer::{Buffer, ConnectionState};
use super::item::Item;
use super::journal::{JournalEntry, Reader};
use super::options::StreamOptions;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::scrub::Scrubber;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep};

/// `speed`: 2.0 is twice the original; `None`: as fast as possible. Between two recordings it pauses `max_pause` at most.
pub fn replay(path: &Path, speed: Option<f64>, max_pause: Duration, options: StreamOptions) -> Result<Stream> {
    let pace = Pace::new(speed, max_pause)?;
    let reader = Reader::open(path)?;
    let produce = |buffer: Arc<Buffer>| async move { run(reader, pace, &buffer).await };
    Stream::new(&options, produce, None, Scrubber::default())
}

async fn run(mut reader: Reader, mut pace: Pace, buffer: &Buffer) -> Option<Error> {
    let start = Instant::now();
    buffer.set_state(ConnectionState::Connected);
    loop {
        // A slow disk must not block the runtime's threads.
        let read = tokio::task::spawn_blocking(move || {
            let mut entries: Vec<JournalEntry> = Vec::new();
            let more = reader.next(&mut entries);
            (reader, entries, more)
        });
        let Ok((same_reader, entries, more)) = read.await else {
            return Some(Error::internal("the journal's reader ended early".to_owned()));
        };
        reader = same_reader;
        for entry in entries {
            if let Some(due) = pace.due(&entry) {
                // A sleep of no time lasts a millisecond.
                if let Some(rest) = due.checked_sub(start.elapsed()) {
                    sleep(rest).await;
                }
            }
            if let Item::Update(update) = &entry.item {
                buffer.count_read(update.raw().len(), 0);
            }
            buffer.push(entry.item).await;
        }
        match more {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// When items are due, relative to the first one.
struct Pace {
    speed: Option<f64>,
    max_pause: Duration,
    /// The last item: its recording, its monotonic time, its time of receipt.
    last: Option<(u32, Duration, SystemTime)>,
    due: Duration,
}

impl Pace {
    fn new(speed: Option<f64>, max_pause: Duration) -> Result<Self> {
        match speed {
            Some(speed) if !(speed.is_finite() && speed > 0.0) => Err(Error::Argument(format!(
                "speed is {speed}; it must be more than 0, or None for as fast as possible"
            ))),
            speed => Ok(Pace { speed, max_pause, last: None, due: Duration::ZERO }),
        }
    }

    /// Monotonic times of two recordings are not comparable, so the pause between them is by the time of day.
    fn due(&mut self, entry: &JournalEntry) -> Option<Duration> {
        let speed = self.speed?;
        let scale =
            |length: Duration| Duration::try_from_secs_f64(length.as_secs_f64() / speed).unwrap_or(Duration::MAX);
        let pause = match self.last.replace((entry.recording, entry.monotonic, entry.at)) {
            None => Duration::ZERO,
            Some((recording, monotonic, _)) if recording == entry.recording => {
                scale(entry.monotonic.saturating_sub(monotonic))
            }
            Some((.., at)) => scale(entry.at.duration_since(at).unwrap_or_default()).min(self.max_pause),
        };
        self.due = self.due.saturating_add(pause);
        Some(self.due)
    }
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::live::item::Notice;

    fn entry(recording: u32, monotonic: u64, at: u64) -> JournalEntry {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000 + at);
        let monotonic = Duration::from_millis(monotonic);
        JournalEntry { recording, monotonic, at, item: Item::Notice(Notice::Connected { at }) }
    }

    fn due(speed: Option<f64>, max_pause: u64, entries: &[JournalEntry]) -> Vec<Option<u128>> {
        let mut pace = Pace::new(speed, Duration::from_millis(max_pause)).unwrap();
        entries.iter().map(|entry| pace.due(entry).map(|due| due.as_millis())).collect()
    }

    #[test]
    fn an_item_is_due_by_its_monotonic_time_and_the_speed() {
        // The clock is set forward by an hour, and back.
        let at = [0, 100, 3_601_000, 900, 1200];
        let entries: Vec<_> =
            [500, 600, 1500, 1500, 1700].into_iter().zip(at).map(|(ms, at)| entry(1, ms, at)).collect();
        assert_eq!(due(Some(4.0), 0, &entries), [0, 25, 250, 250, 300].map(Some));
        assert_eq!(due(Some(1e-300), 0, &entries)[0], Some(0));
        assert_eq!(due(None, 0, &entries), [None; 5]);
    }

    #[test]
    fn a_pause_between_two_recordings_is_limited() {
        // The clock goes back between the third and the fourth.
        let entries = [entry(1, 7000, 0), entry(2, 100, 400), entry(2, 300, 600), entry(3, 0, 90_000), entry(4, 50, 0)];
        assert_eq!(due(Some(1.0), 1000, &entries), [0, 400, 600, 1600, 1600].map(Some));
        assert_eq!(due(Some(0.5), 1000, &entries), [0, 800, 1200, 2200, 2200].map(Some));
        assert_eq!(due(Some(2.0), 0, &entries), [0, 0, 100, 100, 100].map(Some));
    }

    #[test]
    fn a_speed_is_a_number_above_zero() {
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Pace::new(Some(speed), Duration::ZERO), Err(Error::Argument(_))), "{speed}");
        }
    }
}
