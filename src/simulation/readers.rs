//! Readers of streams, and the properties of each item.

use super::journals::NightJournal;
use super::scores::ObservedScore;
use super::service::{ProducedMessage, RequestKind};
use super::world::World;
use crate::error::Error;
use crate::live::GapReason;
use crate::live::{Item, Notice, Overflow, Stream, Taken, Update};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an update may take from its last byte to its reader, whatever recovery does.
const MAX_LATENESS: Duration = Duration::from_millis(50);

/// The items of one stream.
#[derive(Debug, Default)]
pub(super) struct Observations {
    pub score: ObservedScore,
    /// When the reader had time again.
    busy_until: Duration,
    /// `n` of each update and its position among all items, in the order of delivery.
    pub deliveries: Vec<(u64, usize)>,
    pub numbers: BTreeSet<u64>,
    /// Positions of gaps.
    pub gaps: Vec<usize>,
    /// Updates between two `Connected`.
    pub(crate) segments: Vec<Vec<u64>>,
    pub dropped: u64,
    pub items: usize,
    pub end: Option<Error>,
    pub(crate) has_ended: bool,
}

pub(super) struct StreamReader {
    pub kind: RequestKind,
    pub stream: Stream,
    pub(crate) observations: Mutex<Observations>,
    pub(super) journal: Option<NightJournal>,
}

impl StreamReader {
    pub(super) fn new(kind: RequestKind, stream: Stream, is_recorded: bool) -> Arc<Self> {
        let journal = is_recorded.then(|| NightJournal::new(&stream));
        Arc::new(StreamReader { kind, stream, observations: Mutex::default(), journal })
    }

    /// Reads until the stream ends.
    pub(super) async fn run(self: Arc<Self>, world: Arc<World>) {
        loop {
            let pause = world.state().faults.pause;
            if pause > world.now() {
                world.count("pauses");
                world.wait_until(pause).await;
                self.observations.lock().unwrap_or_else(PoisonError::into_inner).busy_until = world.now();
            }
            // Takes all that was buffered, to check the bound on memory.
            let (mut updates, mut notices) = (0, 0);
            loop {
                match self.stream.take() {
                    Ok(Taken::Item(item)) => {
                        match &item {
                            Item::Update(_) => updates += 1,
                            Item::Notice(_) => notices += 1,
                        }
                        if let Some(journal) = &self.journal {
                            journal.add(world.now(), &item);
                        }
                        self.check_item(&world, item);
                    }
                    Ok(Taken::Nothing) => break,
                    Ok(Taken::Ended(error)) => {
                        world.trace(&format!("{} ended: {}", self.kind.name(), text(error.as_ref())));
                        let mut observations = self.observations.lock().unwrap_or_else(PoisonError::into_inner);
                        (observations.end, observations.has_ended) = (error, true);
                        return;
                    }
                    Err(error) => world.fail(format!("{} failed to take an item: {error}", self.kind.name())),
                }
            }
            let capacity = if world.settings.overflow == Overflow::Latest { 1 } else { world.settings.buffer };
            if updates > capacity || notices > 16 * world.settings.buffer + 16 {
                world.fail(format!("memory: {} held {updates} updates and {notices} notices", self.kind.name()));
            }
            self.stream.buffer.ready().await;
        }
    }

    fn check_item(&self, world: &World, item: Item) {
        let mut observations = self.observations.lock().unwrap_or_else(PoisonError::into_inner);
        observations.items += 1;
        let position = observations.items;
        observations.score.feed(world, self.kind, &item, self.stream.buffer.counts().open_gaps);
        match item {
            Item::Update(update) => self.check_update(world, &mut observations, position, &update),
            Item::Notice(notice) => {
                let name = observations.record_notice(world, position, &notice);
                drop(observations);
                world.trace(&format!("{} {name}", self.kind.name()));
            }
        }
    }

    fn check_update(&self, world: &World, observations: &mut Observations, position: usize, update: &Update) {
        let kind = self.kind.name();
        let Some(n) = number(&update.text) else {
            return world.fail(format!("{kind} delivered a message that was never sent: {:?}", update.text));
        };
        world.trace(&format!("{kind} {n}"));
        let state = world.state();
        let message = match self.kind {
            RequestKind::Events => state.service.events.get(n as usize),
            _ => state.service.messages.get(n as usize),
        };
        let is_unchanged = message.is_some_and(|message| is_unchanged(message, update, self.kind));
        let sent_at = message.and_then(|message| message.sent_at);
        drop(state);
        if !is_unchanged {
            world.fail(format!("{kind} delivered a changed {n}: {update:?}"));
        }
        // A message of which another connection has sent a part has no time.
        let due = sent_at.unwrap_or(world.now()).max(observations.busy_until);
        if world.now() > due + MAX_LATENESS {
            world.fail(format!("lateness: {kind} delivered {n} {:?} late", world.now() - due));
        }
        if self.kind == RequestKind::Events
            && let Some((last, at)) = observations.deliveries.last()
        {
            if n <= *last {
                world.fail(format!("events delivered {n} after {last}"));
            } else if n > last + 1 && !observations.gaps.iter().any(|gap| gap > at) {
                world.fail(format!("events lost {} to {} without a gap", last + 1, n - 1));
            }
        }
        if !observations.numbers.insert(n) {
            world.fail(format!("{kind} delivered {n} twice"));
        }
        observations.deliveries.push((n, position));
        match observations.segments.last_mut() {
            Some(segment) => segment.push(n),
            None => world.fail(format!("{kind} delivered {n} before it was connected")),
        }
    }
}

impl Observations {
    /// Returns what the trace calls the notice.
    fn record_notice(&mut self, world: &World, position: usize, notice: &Notice) -> String {
        match notice {
            Notice::Connected { .. } => {
                self.segments.push(Vec::new());
                "connected".to_owned()
            }
            Notice::Disconnected { reason, attempt, .. } => format!("disconnected ({attempt}): {reason}"),
            Notice::Gap { is_final: true, reason, .. } => {
                world.count("final gaps");
                format!("final gap: {reason}")
            }
            Notice::Gap { reason, dropped, .. } => {
                self.gaps.push(position);
                if *reason == GapReason::Overflow {
                    self.dropped += dropped.unwrap_or(0);
                }
                world.count(if *reason == GapReason::Restarted { "announced restarts" } else { "gaps" });
                format!("gap: {reason}")
            }
            Notice::Quiet { .. } => "quiet".to_owned(),
            Notice::Recovering { missing, .. } => {
                world.count("partial states");
                format!("recovering without {missing:?}")
            }
            Notice::Recovered { requested_at, .. } => {
                world.count(if requested_at.is_some() { "recovered gaps" } else { "gaps closed by the stream" });
                "recovered".to_owned()
            }
        }
    }
}

fn is_unchanged(message: &ProducedMessage, update: &Update, kind: RequestKind) -> bool {
    let has_right_fields = match kind {
        RequestKind::Events => true,
        _ => {
            update.source.as_deref() == Some(message.source)
                && message.seq.is_none_or(|seq| update.seq == Some(seq as i64))
        }
    };
    message.text == update.text && has_right_fields
}

/// `n` of a message.
pub(super) fn number(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("\"n\":")?;
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

pub(super) fn text(error: Option<&Error>) -> String {
    error.map_or_else(|| "closed".to_owned(), ToString::to_string)
}
