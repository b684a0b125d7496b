//! A game as its streams see it: the messages so far, and its readers.

use crate::season::{Feed, FeedMessage, Season};
use crate::service::{Service, lock};
use serde::Serialize;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// A message of a sequenced source, as sent.
#[derive(Debug)]
pub(super) struct LiveMessage {
    pub(super) source: &'static str,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct LiveGame {
    pub(super) index: usize,
    /// When the next change is due, by the game's clock.
    pub(super) moments: Vec<i64>,
    log: Mutex<GameMessages>,
    change_notifier: watch::Sender<()>,
    positions: Mutex<Vec<Weak<ReaderPosition>>>,
    progress: Notify,
    /// The task that advances the clock of a game being played.
    pub(super) player: Mutex<Option<AbortHandle>>,
}

#[derive(Debug, Default)]
struct GameMessages {
    feed: Feed,
    /// All sequenced sources share one counter; the first message has number 1.
    messages: Vec<Arc<LiveMessage>>,
    corrections: usize,
    /// Number of changes: moments passed and corrections made.
    changes: usize,
    /// The number of the task that advances the clock.
    player: u64,
}

/// A reader's position.
#[derive(Debug, Default)]
struct ReaderPosition {
    sent_changes: AtomicUsize,
    /// Too slow: not waited for until it has caught up.
    is_slow: AtomicBool,
}

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<usize>,
    data: &'a Value,
}

/// A message with `source` and `seq` beside `data`.
pub(super) fn envelope(source: &str, seq: Option<usize>, data: &Value) -> String {
    // All keys are texts, so serialization cannot fail.
    serde_json::to_string(&Envelope { kind: source, source, seq, data }).unwrap_or_default()
}

impl LiveGame {
    pub(super) fn new(season: &Season, index: usize) -> Self {
        LiveGame {
            index,
            moments: season.moments(index),
            log: Mutex::default(),
            change_notifier: watch::Sender::default(),
            positions: Mutex::default(),
            progress: Notify::new(),
            player: Mutex::default(),
        }
    }

    /// Adds the new messages; returns the number of changes.
    pub(super) fn catch_up(&self, service: &Service) -> usize {
        self.advance(service, &mut lock(&self.log))
    }

    fn advance(&self, service: &Service, log: &mut GameMessages) -> usize {
        let now = service.season.time_of(self.index, service.now());
        for FeedMessage { source, data } in service.season.new_messages(self.index, &mut log.feed, now) {
            let text = envelope(source, Some(log.messages.len() + 1), &data);
            log.messages.push(Arc::new(LiveMessage { source, text }));
        }
        // The real clock may go back; sent messages stay sent.
        let moments = self.moments.partition_point(|moment| *moment <= now);
        log.changes = log.changes.max(moments + log.corrections);
        log.changes
    }

    /// From now on the game has a clock of its own, which a new player advances: returns its number and the clock's
    /// start. `None`: the game is over.
    pub(super) fn start(&self, service: &Service) -> Option<(u64, i64)> {
        let tipoff_at = self.moments.first().map_or(0, |first| first - 1);
        let mut log = lock(&self.log);
        let starts_at = service.season.time_of(self.index, service.now()).max(tipoff_at);
        if self.moments.last().is_none_or(|last| *last <= starts_at) {
            return None;
        }
        log.player += 1;
        let player = log.player;
        self.set_clock(service, log, starts_at);
        Some((player, starts_at))
    }

    /// Sets the game's clock. `None`: another player has taken over. An aborted task runs until its next await, and
    /// would move the clock against its successor.
    pub(super) fn advance_clock(&self, service: &Service, player: u64, at: i64) -> Option<usize> {
        let log = lock(&self.log);
        (log.player == player).then(|| self.set_clock(service, log, at))
    }

    fn set_clock(&self, service: &Service, mut log: MutexGuard<'_, GameMessages>, at: i64) -> usize {
        service.season.set_clock(self.index, at);
        let changes = self.advance(service, &mut log);
        drop(log);
        self.publish(service);
        changes
    }

    pub(super) fn correct(&self, service: &Service, player_id: i64, stat: &str, delta: i64) -> Result<(), String> {
        let mut log = lock(&self.log);
        self.advance(service, &mut log);
        service.season.correct(self.index, player_id, stat, delta, service.now())?;
        log.corrections += 1;
        log.changes += 1;
        self.advance(service, &mut log);
        drop(log);
        self.publish(service);
        Ok(())
    }

    fn publish(&self, service: &Service) {
        service.live.notify_change();
        self.change_notifier.send_replace(());
    }

    /// Some of the messages from a position on.
    pub(super) fn messages(&self, from: usize) -> Vec<Arc<LiveMessage>> {
        const AT_ONCE: usize = 256;
        let log = lock(&self.log);
        let from = from.min(log.messages.len());
        log.messages[from..log.messages.len().min(from + AT_ONCE)].to_vec()
    }

    pub(super) fn reader(self: Arc<Self>, service: Arc<Service>) -> GameReader {
        let position = Arc::new(ReaderPosition::default());
        let mut positions = lock(&self.positions);
        positions.retain(|position| position.strong_count() > 0);
        positions.push(Arc::downgrade(&position));
        drop(positions);
        GameReader { change_notifications: self.change_notifier.subscribe(), game: self, service, position }
    }

    /// Waits until every reader has sent this many changes. A slow reader is not waited for again before it has caught
    /// up.
    pub(super) async fn wait_for_readers(&self, changes: usize) {
        const MAX_WAIT: Duration = Duration::from_secs(1);
        let late_readers = || -> Vec<Arc<ReaderPosition>> {
            let positions = lock(&self.positions).iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
            let is_late = |position: &Arc<ReaderPosition>| {
                position.sent_changes.load(Ordering::Acquire) < changes && !position.is_slow.load(Ordering::Acquire)
            };
            positions.into_iter().filter(is_late).collect()
        };
        let all = async {
            loop {
                let progress = self.progress.notified();
                if late_readers().is_empty() {
                    break;
                }
                progress.await;
            }
        };
        if timeout(MAX_WAIT, all).await.is_err() {
            late_readers().iter().for_each(|position| position.is_slow.store(true, Ordering::Release));
        }
    }
}

/// One stream's view of a game.
#[derive(Debug)]
pub(super) struct GameReader {
    pub(super) service: Arc<Service>,
    pub(super) game: Arc<LiveGame>,
    change_notifications: watch::Receiver<()>,
    position: Arc<ReaderPosition>,
}

impl GameReader {
    /// Waits until the game has changed more than `seen` times; returns how often it has.
    pub(super) async fn next_change(&mut self, seen: usize) -> usize {
        loop {
            self.change_notifications.borrow_and_update();
            let changes = self.game.catch_up(&self.service);
            if changes > seen {
                return changes;
            }
            let next = wait_for_next_moment(&self.service, &self.game);
            tokio::select! {
                _ = self.change_notifications.changed() => {}
                () = next => {}
            }
        }
    }

    /// Records that this many changes were sent.
    pub(super) fn record_sent(&self, changes: usize) {
        self.position.sent_changes.store(changes, Ordering::Release);
        self.position.is_slow.store(false, Ordering::Release);
        self.game.progress.notify_waiters();
    }
}

/// Waits for the next change of a game on the real clock; forever for other clocks.
async fn wait_for_next_moment(service: &Service, game: &LiveGame) {
    let now = service.now();
    let is_running = service.frozen_at.is_none() && service.season.time_of(game.index, now) == now;
    match game.moments.iter().find(|moment| **moment > now) {
        Some(next) if is_running => sleep(Duration::from_millis((next - now) as u64)).await,
        _ => std::future::pending().await,
    }
}

impl Drop for GameReader {
    fn drop(&mut self) {
        self.position.sent_changes.store(usize::MAX, Ordering::Release);
        self.game.progress.notify_waiters();
    }
}
