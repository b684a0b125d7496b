//! Raises `MemoryError` before work that the process has no memory for: a failed allocation within it would end the process.
//!
//! The sizes are estimates from above. Other threads may take the memory meanwhile: `docs/limits.md` states it.

use arrow_array::RecordBatch;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::hint::black_box;

/// Less than this is not checked: it does not grow with a body.
const MIN_BYTES: usize = 1 << 20;

/// glibc remembers the size of a freed block up to 32 MiB, and would then keep later blocks of that size.
const MIN_PROBE: usize = 33 << 20;

/// Raises `MemoryError` where the process cannot get so many bytes, or `limit` allows less.
pub(crate) fn ensure(bytes: usize, limit: Option<usize>) -> PyResult<()> {
    if let Some(limit) = limit.filter(|limit| bytes > *limit) {
        return Err(PyMemoryError::new_err(format!(
            "it would take about {bytes} bytes, and max_memory allows {limit}: request less at once, or raise max_memory"
        )));
    }
    if bytes < MIN_BYTES {
        return Ok(());
    }
    let mut probe: Vec<u8> = Vec::new();
    // Without the black box the compiler would drop an allocation that nobody uses.
    black_box(probe.try_reserve_exact(bytes.max(MIN_PROBE))).map_err(|_| {
        PyMemoryError::new_err(format!("it would take about {bytes} bytes, and the process cannot get them"))
    })?;
    black_box(&mut probe);
    Ok(())
}

/// An estimate from above of the memory for the tables or the Python objects of bodies.
pub(crate) struct Estimate {
    bytes: fn(&[u8]) -> usize,
    /// No byte of a body is counted as more than this.
    max_by_byte: usize,
}

pub(crate) const TABLES: Estimate = Estimate { bytes: of_tables, max_by_byte: 196 };
pub(crate) const OBJECTS: Estimate = Estimate { bytes: of_objects, max_by_byte: 320 };

impl Estimate {
    /// Raises `MemoryError` where the estimate does not fit. The bodies are read for it only where the most that bodies of their
    /// length could take does not fit: reading them takes about a fifth of the time of decoding.
    pub(crate) fn ensure(&self, py: Python<'_>, bodies: &[&[u8]], limit: Option<usize>) -> PyResult<()> {
        let length: usize = bodies.iter().map(|body| body.len()).sum();
        ensure(length.saturating_mul(self.max_by_byte), limit).or_else(|_| {
            let bytes = py.detach(|| bodies.iter().fold(0usize, |sum, body| sum.saturating_add((self.bytes)(body))));
            ensure(bytes, limit)
        })
    }
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
