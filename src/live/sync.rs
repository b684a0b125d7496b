//! The buffer's locks and waits, in whose place its model has those of shuttle.

pub(super) use crate::machine::{wait, waker};
pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
