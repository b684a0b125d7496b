//! A recorded stream on disk.
//!
//! | file | content |
//! |---|---|
//! | `format` | items and frames as bytes; pure |
//! | `reader` | reads a journal frame by frame |
//! | `writer` | locks a journal, truncates it to whole frames and appends to it |
//! | `recorder` | a writer that flushes within a second |
//! | `repair` | saves the whole frames of a damaged journal |

mod format;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod reader;
mod recorder;
mod repair;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use reader::Entry;
pub use reader::Reader;
pub(crate) use recorder::Recorder;
pub use repair::LostRange;
pub use repair::Repaired;
pub use repair::repair;
pub use writer::Writer;

use crate::advice::Advice;
use crate::error::{Error, Result, Undecodable};
use crate::scrub::Scrubber;
use std::fs::Metadata;
use std::io;
use std::path::Path;

fn file_error(path: &Path, error: &io::Error) -> Error {
    let path = path.display().to_string();
    // Some errors of the standard library have no number; report them as input/output errors (EIO, 5).
    Error::File { path, errno: Some(error.raw_os_error().unwrap_or(5)), message: error.to_string() }
}

fn must_be_file(path: &Path, found: &Metadata) -> Result<()> {
    if found.is_file() {
        return Ok(());
    }
    Err(damaged(path, 0, "a journal is a file; this is something else: pass the path of a file".into()))
}

fn broken(path: &Path, offset: u64, what: &str) -> Error {
    let message =
        format!("the journal is damaged ({what}); `sideline journal repair {}` saves what is whole", path.display());
    damaged(path, offset, message)
}

fn damaged(path: &Path, offset: u64, message: String) -> Error {
    let path = path.display().to_string();
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let scrubber = Scrubber::default();
    let (message, path) = (scrubber.message(message), scrubber.id(path));
    Error::Decode(Undecodable { message, path, offset, advice: Advice::SeeMessage })
}
