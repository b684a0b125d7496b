//! A machine whose clock and chance come from a test.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::SystemTime;

pub(crate) trait Machine {
    fn now(&self) -> SystemTime;
    fn random(&self) -> u64;
}

thread_local! {
    static MACHINE: RefCell<Option<Rc<dyn Machine>>> = const { RefCell::new(None) };
}

/// This thread's machine until it is dropped.
#[derive(Debug)]
pub(crate) struct Installed(());

pub(crate) fn install(machine: Rc<dyn Machine>) -> Installed {
    MACHINE.set(Some(machine));
    Installed(())
}

impl Drop for Installed {
    fn drop(&mut self) {
        MACHINE.set(None);
    }
}

pub(super) fn ask<T>(what: impl FnOnce(&dyn Machine) -> T) -> Option<T> {
    MACHINE.with_borrow(|machine| machine.as_deref().map(what))
}
