//! A stream on disk: appended to while it is read, and given again later.
//!
//! | file | what lives there |
//! |---|---|
//! | `format` | items and frames as bytes: pure |
//! | `reader` | a journal from its beginning, frame by frame |
//! | `writer` | the end of a journal: locked, cut to whole frames, appended to |
//! | `recorder` | a writer that is never more than a second behind |
//! | `repair` | what is whole of a damaged journal |

mod format;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod reader;
mod recorder;
mod repair;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{Entry, Reader};
pub use recorder::{BEHIND, Recorder};
pub use repair::{Lost, Repaired, repair};
pub use writer::Writer;

use crate::error::{Error, Result};
use crate::scrub::Scrubber;
use crate::table::DecodeError;
use std::fs::Metadata;
use std::io;
use std::path::Path;

fn file_error(path: &Path, error: &io::Error) -> Error {
    let path = path.display().to_string();
    // Some errors of the library have no number: they are input/output errors, as the system's 5 is.
    Error::File { path, errno: Some(error.raw_os_error().unwrap_or(5)), message: error.to_string() }
}

fn must_be_file(path: &Path, found: &Metadata) -> Result<()> {
    if found.is_file() {
        return Ok(());
    }
    Err(damaged(path, 0, "a journal is a file; this is something else".into()))
}

fn broken(path: &Path, offset: u64, what: &str) -> Error {
    let message =
        format!("the journal is damaged ({what}); `sideline journal repair {}` saves what is whole", path.display());
    damaged(path, offset, message)
}

fn damaged(path: &Path, offset: u64, message: String) -> Error {
    let path = path.display().to_string();
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    DecodeError::Body { message, path, offset }.scrubbed(&Scrubber::default())
}
