//! The same work on many items, on as many threads as there are processors.

use std::panic::resume_unwind;
use std::thread;

/// The results in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut chunks = items.chunks(items.len().div_ceil(threads).max(1));
    let work_on = |chunk: &[T]| chunk.iter().map(&work).collect::<Vec<R>>();
    let first = chunks.next().unwrap_or_default();
    thread::scope(|scope| {
        let start = |chunk| (chunk, thread::Builder::new().spawn_scoped(scope, move || work_on(chunk)).ok());
        let others: Vec<_> = chunks.map(start).collect();
        let mut results = work_on(first);
        for (chunk, thread) in others {
            results.extend(match thread {
                Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // If no thread can be started, this one does the work.
                None => work_on(chunk),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 101] {
            let items: Vec<u32> = (0..count).collect();
            assert_eq!(map(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_of_one_item_is_the_callers() {
        map(&[0, 1, 2, 3], |item| assert!(*item != 3, "item {item}"));
    }
}
