//! Models of where threads meet without the runtime, in schedules that shuttle chooses: the buffer of a stream (the same file,
//! compiled with shuttle's locks), and what wakes an event loop.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used)]

use super::{item, options, queue};
use item::{Item, Update};
use options::{Options, Overflow};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::{future, thread};
use std::time::{Duration, SystemTime};

// The same file, compiled against the locks of shuttle; the model uses only a part of it.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "buffer.rs"]
mod buffer;

use buffer::{Buffer, Taken};

mod sync {
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Duration;

    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;

    struct Unpark(shuttle::thread::Thread);

    impl Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }

    pub(super) fn waker() -> Waker {
        Waker::from(std::sync::Arc::new(Unpark(shuttle::thread::current())))
    }

    /// As long as it takes: a wake that is lost is a deadlock, which shuttle reports.
    pub(super) fn wait(_limit: Duration, waker: &Waker, mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) -> bool {
        while poll(&mut Context::from_waker(waker)).is_pending() {
            shuttle::thread::park();
        }
        true
    }
}

const SCHEDULES: usize = 500;
const DAY: Duration = Duration::from_secs(86_400);

fn update(n: i64) -> Item {
    let received_at = SystemTime::UNIX_EPOCH;
    Item::Update(Update {
        event: None,
        id: "".into(),
        text: String::new(),
        binary: None,
        seq: Some(n),
        source: None,
        received_at,
    })
}

/// All that is put in comes out, once and in order, whether a thread or a task waits for it, however small the buffer.
#[test]
fn a_stream_s_items_reach_whoever_waits() {
    let is_a_thread = |blocks: bool| {
        move || {
            let options = Options { buffer: 2, overflow: Overflow::Block, ..Options::default() };
            let buffer = Arc::new(Buffer::new(&options));
            let there = buffer.clone();
            let filling = thread::spawn(move || {
                future::block_on(there.push_all((0..5).map(update)));
                there.end(None);
            });
            let mut seen = Vec::new();
            loop {
                match buffer.take() {
                    Taken::Item(Item::Update(update)) => seen.extend(update.seq),
                    Taken::Item(Item::Notice(_)) => {}
                    Taken::Nothing if blocks => assert!(buffer.ready_within(DAY)),
                    Taken::Nothing => future::block_on(buffer.ready()),
                    Taken::Ended(_) => break,
                }
            }
            assert_eq!(seen, [0, 1, 2, 3, 4]);
            filling.join().unwrap();
        }
    };
    shuttle::check_random(is_a_thread(true), SCHEDULES);
    shuttle::check_random(is_a_thread(false), SCHEDULES);
}

/// `close` from any thread wakes who waits, reader and filler.
#[test]
fn a_close_ends_all_waits() {
    let model = || {
        let options = Options { buffer: 1, overflow: Overflow::Block, ..Options::default() };
        let buffer = Arc::new(Buffer::new(&options));
        let (filling, closing) = (buffer.clone(), buffer.clone());
        let filling = thread::spawn(move || future::block_on(filling.push_all((0..3).map(update))));
        let closing = thread::spawn(move || closing.close());
        while !matches!(buffer.take(), Taken::Ended(_)) {
            buffer.ready_within(DAY);
        }
        filling.join().unwrap();
        closing.join().unwrap();
    };
    shuttle::check_random(model, SCHEDULES);
}

/// As `src/python/inbox.rs` does it: the first to put something in writes a byte, and the loop reads bytes before it takes all.
/// The other way round a byte could be read that speaks for what was put in after the taking.
#[test]
fn an_event_loop_is_woken_for_all_that_ended() {
    let model = || {
        const EACH: usize = 2;
        let inbox = Arc::new((Mutex::new(Vec::new()), AtomicUsize::new(0)));
        let putting: Vec<_> = (0..2)
            .map(|_| {
                let inbox = inbox.clone();
                thread::spawn(move || {
                    for n in 0..EACH {
                        let is_first = {
                            let mut all = inbox.0.lock().unwrap();
                            all.push(n);
                            all.len() == 1
                        };
                        if is_first {
                            inbox.1.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        let mut taken = 0;
        let mut hand_over = || {
            inbox.1.store(0, Ordering::SeqCst);
            taken += std::mem::take(&mut *inbox.0.lock().unwrap()).len();
        };
        for _ in 0..3 {
            if inbox.1.load(Ordering::SeqCst) > 0 {
                hand_over();
            }
            thread::yield_now();
        }
        putting.into_iter().for_each(|thread| thread.join().unwrap());
        // The loop sleeps until there is a byte.
        while inbox.1.load(Ordering::SeqCst) > 0 {
            hand_over();
        }
        assert_eq!(taken, 2 * EACH);
    };
    shuttle::check_random(model, 4 * SCHEDULES);
}
