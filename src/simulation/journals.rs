//! Journals of a night: each holds the items that were taken, at the latest a second later.

use super::world::World;
use crate::live::journal::Reader;
use crate::live::{GapReason, Item, Notice, Stream};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// Until then an item is written.
const MAX_AGE: Duration = Duration::from_millis(1100);

/// The recording of a stream.
pub(super) struct NightJournal {
    path: PathBuf,
    /// When each item was taken.
    items: Mutex<Vec<(Duration, Item)>>,
}

impl NightJournal {
    /// Records a stream from now on.
    pub(super) fn new(stream: &Stream) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sideline-night-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        stream.record(&path, None, &Handle::current()).unwrap();
        NightJournal { path, items: Mutex::default() }
    }

    pub(super) fn add(&self, at: Duration, item: &Item) {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push((at, item.clone()));
    }

    /// Checks that the journal has the items that were taken; while it is recorded, those that are a second old.
    pub(super) fn check(&self, world: &World, is_closed: bool) {
        let (mut reader, mut entries) = (Reader::open(&self.path).unwrap(), Vec::new());
        while reader.next(&mut entries).unwrap() {}
        let mut items: Vec<Item> = entries.into_iter().map(|entry| entry.item).collect();
        let is_torn = |item: &Item| matches!(item, Item::Notice(Notice::Gap { reason: GapReason::TornEnd, .. }));
        if !is_closed && !items.pop().is_some_and(|last| is_torn(&last)) {
            world.fail("journal: an open one does not end with a gap".into());
        }
        let expected = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let until = world.now().saturating_sub(MAX_AGE);
        let due = expected.iter().filter(|(at, _)| is_closed || *at < until).count();
        let is_prefix = expected.iter().map(|(_, item)| item).zip(&items).all(|(first, second)| first == second);
        if items.len() < due || items.len() > expected.len() || !is_prefix {
            world.fail(format!("journal: it has {} items of {due}, and {} were taken", items.len(), expected.len()));
        }
        world.count("journals");
    }
}

impl Drop for NightJournal {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
