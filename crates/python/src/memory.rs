//! Raises `MemoryError` before work that the process has no memory for: a failed allocation within it would end the process.
//!
//! The sizes are estimates from above. Other threads may take the memory meanwhile: `docs/limits.md` states it.

use arrow_array::RecordBatch;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Less than this is not checked: it does not grow with a body.
const MIN_BYTES: usize = 1 << 20;

/// glibc remembers the size of a freed block up to 32 MiB, and would then keep later blocks of that size.
const MIN_PROBE: usize = 33 << 20;

/// Raises `MemoryError` where the process cannot get so many bytes.
pub(crate) fn ensure(bytes: usize) -> PyResult<()> {
    probe(bytes).map_err(PyMemoryError::new_err)
}

/// Fails where the process cannot get so many bytes.
pub(crate) fn probe(bytes: usize) -> Result<(), String> {
    if bytes < MIN_BYTES {
        return Ok(());
    }
    let mut probe: Vec<u8> = Vec::new();
    // Without the black box the compiler would drop an allocation that nobody uses.
    black_box(probe.try_reserve_exact(bytes.max(MIN_PROBE)))
        .map_err(|_| format!("it would take about {bytes} bytes, and the process cannot get them"))?;
    black_box(&mut probe);
    Ok(())
}

/// An estimate from above of the memory for the tables or the Python objects of bodies.
///
/// Reading a body for it takes about a fifth of the time of decoding, so it is read only where the most that its length could take
/// does not fit.
pub(crate) struct Estimate {
    bytes: fn(&[u8]) -> usize,
    /// The most that a byte of a body takes, in a list of short values: `1,1,1` as rows, `{},{},{}` as objects.
    max_by_byte: usize,
}

pub(crate) const TABLES: Estimate = Estimate { bytes: of_tables, max_by_byte: 100 };
pub(crate) const OBJECTS: Estimate = Estimate { bytes: of_objects, max_by_byte: 121 };

impl Estimate {
    /// Raises `MemoryError` where `max_memory` allows less.
    pub(crate) fn ensure_allowed(&self, py: Python<'_>, bodies: &[&[u8]], max_memory: Option<usize>) -> PyResult<()> {
        let Some(limit) = max_memory.filter(|limit| self.most(length(bodies)) > *limit) else { return Ok(()) };
        let bytes = py.detach(|| self.of(bodies));
        if bytes <= limit {
            return Ok(());
        }
        Err(PyMemoryError::new_err(format!(
            "it would take about {bytes} bytes, and max_memory allows {limit}: request less at once, or raise max_memory"
        )))
    }

    /// Fails where the process has no memory for bodies of a step or more. Trying takes 10 µs, half of the time that the objects
    /// of a body of 14 kB take.
    pub(crate) fn ensure_fits(&self, bodies: &[&[u8]]) -> Result<(), String> {
        let length = length(bodies);
        if length < self.step() {
            return Ok(());
        }
        probe(self.most(length)).or_else(|_| probe(self.of(bodies)))
    }

    /// Fails where the process has no memory for the first step of bodies; `ensure_next` checks the others.
    pub(crate) fn ensure_begins(&self, bodies: &[&[u8]]) -> PyResult<()> {
        ensure(self.most(length(bodies).min(self.step())))
    }

    /// Fails where the process has no memory for the next bodies and a step after them; `bytes_begun` counts those of all whose
    /// decoding has begun. It is tried once for each step.
    pub(crate) fn ensure_next(&self, bytes_begun: &AtomicUsize, bodies: &[&[u8]]) -> Result<(), String> {
        let (step, length) = (self.step(), length(bodies));
        if bytes_begun.fetch_add(length, Ordering::Relaxed) % step + length < step {
            return Ok(());
        }
        probe(self.most(length + step)).or_else(|_| probe(self.of(bodies).saturating_add(self.most(step))))
    }

    /// The length of bodies, some hundred kilobytes, whose most is the smallest probe.
    fn step(&self) -> usize {
        MIN_PROBE / self.max_by_byte
    }

    fn most(&self, length: usize) -> usize {
        length.saturating_mul(self.max_by_byte)
    }

    fn of(&self, bodies: &[&[u8]]) -> usize {
        bodies.iter().map(|body| (self.bytes)(body)).sum()
    }
}

fn length(bodies: &[&[u8]]) -> usize {
    bodies.iter().map(|body| body.len()).sum()
}

/// The bytes of the tables of a body: each value may be a row, and a row takes some hundred bytes.
fn of_tables(body: &[u8]) -> usize {
    let values = body.iter().filter(|byte| matches!(byte, b':' | b',')).count();
    values.saturating_mul(192).saturating_add(body.len().saturating_mul(4))
}

/// The bytes of the Python objects of a body.
fn of_objects(body: &[u8]) -> usize {
    let bytes = |byte: &u8| match byte {
        b'{' => 320,
        b'[' => 96,
        b':' => 112,
        b',' => 40,
        b'"' => 32,
        _ => 2,
    };
    body.iter().map(bytes).sum()
}

/// The bytes of a dict for each row.
pub(crate) fn of_rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(|batch| batch.num_rows().saturating_mul(512 + 112 * batch.num_columns())).sum()
}
