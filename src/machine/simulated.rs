//! A machine whose clock and chance come from a test.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::LocalKey;
use std::time::SystemTime;

pub(crate) trait Machine {
    fn now(&self) -> SystemTime;
    fn random(&self) -> u64;
}

thread_local! {
    static MACHINE: RefCell<Option<Rc<dyn Machine>>> = const { RefCell::new(None) };
}

/// Fills a place of this thread until it is dropped.
#[derive(Debug)]
pub(crate) struct Installed<T: 'static>(&'static LocalKey<RefCell<Option<T>>>);

impl<T> Installed<T> {
    pub(crate) fn new(place: &'static LocalKey<RefCell<Option<T>>>, value: T) -> Self {
        place.set(Some(value));
        Installed(place)
    }
}

impl<T> Drop for Installed<T> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

pub(crate) fn install(machine: Rc<dyn Machine>) -> Installed<Rc<dyn Machine>> {
    Installed::new(&MACHINE, machine)
}

pub(super) fn with<T>(read: impl FnOnce(&dyn Machine) -> T) -> Option<T> {
    MACHINE.with_borrow(|machine| machine.as_deref().map(read))
}
