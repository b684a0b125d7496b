//! Who reads a stream, and what a stream must never do.

use super::service::{Kind, Made};
use super::world::World;
use crate::error::Error;
use crate::live::{Item, Notice, OVERFLOW, Overflow, RESTARTED, Stream, Taken, Update};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What came out of one stream.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// By `n`, in the order of delivery, with the place among all items.
    pub delivered: Vec<(u64, usize)>,
    pub numbers: BTreeSet<u64>,
    /// Places of gaps.
    pub gaps: Vec<usize>,
    /// What came between two `Connected`.
    pub segments: Vec<Vec<u64>>,
    pub dropped: u64,
    pub items: usize,
    pub end: Option<Error>,
    pub is_over: bool,
}

pub(super) struct Reader {
    pub kind: Kind,
    pub stream: Stream,
    pub seen: Mutex<Seen>,
}

impl Reader {
    pub(super) fn new(kind: Kind, stream: Stream) -> Arc<Self> {
        Arc::new(Reader { kind, stream, seen: Mutex::default() })
    }

    /// Until the stream ends.
    pub(super) async fn run(self: Arc<Self>, world: Arc<World>) {
        loop {
            let pause = world.state().faults.pause;
            if pause > world.now() {
                world.count("pauses");
                world.wait_until(pause).await;
            }
            // All that is there is there at once: so much was held in memory.
            let (mut updates, mut notices) = (0, 0);
            loop {
                match self.stream.take() {
                    Ok(Taken::Item(item)) => {
                        match &item {
                            Item::Update(_) => updates += 1,
                            Item::Notice(_) => notices += 1,
                        }
                        self.item(&world, item);
                    }
                    Ok(Taken::Nothing) => break,
                    Ok(Taken::Ended(error)) => {
                        world.trace(&format!("{} ended: {}", self.kind.name(), text(error.as_ref())));
                        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                        (seen.end, seen.is_over) = (error, true);
                        return;
                    }
                    Err(error) => world.fail(format!("{} cannot be taken from: {error}", self.kind.name())),
                }
            }
            let capacity = if world.settings.overflow == Overflow::Latest { 1 } else { world.settings.buffer };
            if updates > capacity || notices > 16 * world.settings.buffer + 16 {
                world.fail(format!("memory: {} held {updates} updates and {notices} notices", self.kind.name()));
            }
            self.stream.buffer().ready().await;
        }
    }

    fn item(&self, world: &World, item: Item) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.items += 1;
        let place = seen.items;
        match item {
            Item::Update(update) => {
                let Some(n) = number(&update.text) else {
                    return world.fail(format!(
                        "{} delivered what was never sent: {:?}",
                        self.kind.name(),
                        update.text
                    ));
                };
                world.trace(&format!("{} {n}", self.kind.name()));
                let state = world.state();
                let made = match self.kind {
                    Kind::Events => state.service.events.get(n as usize),
                    _ => state.service.messages.get(n as usize),
                };
                let is_whole = made.is_some_and(|made| is_whole(made, &update, self.kind));
                drop(state);
                if !is_whole {
                    world.fail(format!("{} delivered {n} other than it was sent: {update:?}", self.kind.name()));
                }
                if self.kind == Kind::Events
                    && let Some((last, at)) = seen.delivered.last()
                {
                    if n <= *last {
                        world.fail(format!("events delivered {n} behind {last}"));
                    } else if n > last + 1 && !seen.gaps.iter().any(|gap| gap > at) {
                        world.fail(format!("events lost {} to {} without a gap", last + 1, n - 1));
                    }
                }
                if !seen.numbers.insert(n) {
                    world.fail(format!("{} delivered {n} twice", self.kind.name()));
                }
                seen.delivered.push((n, place));
                if let Some(segment) = seen.segments.last_mut() {
                    segment.push(n);
                } else {
                    world.fail(format!("{} delivered {n} before it was connected", self.kind.name()));
                }
            }
            Item::Notice(notice) => {
                let name = match &notice {
                    Notice::Connected { .. } => {
                        seen.segments.push(Vec::new());
                        "connected".to_owned()
                    }
                    Notice::Disconnected { reason, attempt, .. } => format!("disconnected ({attempt}): {reason}"),
                    Notice::Gap { reason, dropped, .. } => {
                        seen.gaps.push(place);
                        if reason == OVERFLOW {
                            seen.dropped += dropped.unwrap_or(0);
                        }
                        world.count(if reason == RESTARTED { "announced restarts" } else { "gaps" });
                        format!("gap: {reason}")
                    }
                    Notice::Quiet { .. } => "quiet".to_owned(),
                    Notice::Recovered { .. } => "recovered".to_owned(),
                };
                drop(seen);
                world.trace(&format!("{} {name}", self.kind.name()));
            }
        }
    }
}

fn is_whole(made: &Made, update: &Update, kind: Kind) -> bool {
    let is_marked = match kind {
        Kind::Events => true,
        _ => update.source.as_deref() == Some(made.source) && made.seq.is_none_or(|seq| update.seq == Some(seq as i64)),
    };
    made.text == update.text && is_marked
}

fn number(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("\"n\":")?;
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

pub(super) fn text(error: Option<&Error>) -> String {
    error.map_or_else(|| "closed".to_owned(), ToString::to_string)
}
