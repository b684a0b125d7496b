//! A recorded stream on disk.
//!
//! | file | content |
//! |---|---|
//! | `format` | items as lines of JSON; pure |
//! | `frame` | lines as a frame, and its place in the journal |
//! | `chain` | the order of frames: lost, copied and swapped ones; pure |
//! | `reader` | reads a journal frame by frame; damage is a gap |
//! | `writer` | locks a journal, truncates it to whole frames and appends to it |
//! | `recorder` | a writer that flushes within a second |

mod chain;
mod format;
mod frame;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod reader;
mod recorder;
#[cfg(test)]
mod tests;
mod writer;

pub use format::JournalEntry;
pub(super) use format::{ns, optional_ns};
pub use reader::Reader;
pub(crate) use recorder::Recorder;
pub use writer::Writer;

use crate::advice::Advice;
use crate::error::{Error, FileError, Result, Undecodable};
use crate::scrub::Scrubber;
use std::fs::Metadata;
use std::io;
use std::path::Path;

fn file_error(path: &Path, error: io::Error) -> Error {
    Error::File(FileError::new(path.display().to_string(), error))
}

fn must_be_file(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(no_journal(path, "a journal is a file; this is something else: pass the path of a file".into()))
}

fn no_journal(path: &Path, message: String) -> Error {
    let scrubber = Scrubber::default();
    let (message, path) = (scrubber.message(message), scrubber.id(path.display().to_string()));
    Error::Decode(Undecodable { message, path, offset: 0, advice: Advice::SeeMessage })
}
