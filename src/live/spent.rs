//! Texts that a reader has done with, for those that come. Else a stream's thread asks the allocator for what the reader's
//! thread gives back to it, and they wait for each other: at a flood more often than for items.

use std::sync::Mutex;

/// As many are kept as one read may bring.
const MOST: usize = 64;

/// No longer ones are kept.
const LONGEST: usize = 64 * 1024;

/// Nobody waits for its lock: one that was held at a fork never opens, and without a text the allocator is asked.
#[derive(Debug, Default)]
pub struct Spent(Mutex<Vec<Vec<u8>>>);

impl Spent {
    pub fn give(&self, text: String) {
        if (1..=LONGEST).contains(&text.capacity())
            && let Ok(mut texts) = self.0.try_lock()
            && texts.len() < MOST
        {
            texts.push(text.into_bytes());
        }
    }

    /// Empty, for about so many bytes.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let spent = self.0.try_lock().ok().and_then(|mut texts| texts.pop());
        // Who keeps a short text does not keep the room of a long one with it.
        let fits = |text: &Vec<u8>| (bytes..=2 * bytes + 1024).contains(&text.capacity());
        if let Some(mut text) = spent.filter(fits) {
            text.clear();
            return text;
        }
        // With a little more: texts that grow from one to the next would fit into none.
        let bytes = bytes.min(LONGEST);
        Vec::with_capacity(bytes + bytes / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> String {
        String::with_capacity(bytes)
    }

    #[test]
    fn a_text_that_fits_is_used_again_and_is_empty() {
        let spent = Spent::default();
        let mut given = text(1000);
        given.push_str("of somebody else");
        let place = given.as_ptr();
        spent.give(given);
        let taken = spent.take(900);
        assert_eq!((taken.as_ptr(), taken.len()), (place, 0));
        let another = spent.take(900);
        assert_ne!(another.as_ptr(), place, "it is used twice");
    }

    #[test]
    fn what_is_kept_has_a_limit_and_a_short_text_does_not_keep_much_room() {
        let spent = Spent::default();
        spent.give(text(LONGEST + 1));
        spent.give(String::new());
        assert_eq!(spent.0.lock().map(|texts| texts.len()).ok(), Some(0));
        (0..2 * MOST).for_each(|_| spent.give(text(LONGEST)));
        assert_eq!(spent.0.lock().map(|texts| texts.len()).ok(), Some(MOST));
        assert!(spent.take(100).capacity() < 2 * 100 + 1025);
        assert!(spent.take(100 << 20).capacity() <= 2 * LONGEST, "a long text is waited for with as much room");
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for() {
        let spent = Spent::default();
        let held = spent.0.lock();
        spent.give(text(10));
        assert!(spent.take(10).capacity() >= 10);
        drop(held);
    }
}
