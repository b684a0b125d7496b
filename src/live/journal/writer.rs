//! Appends to a journal. The file always consists of whole frames, followed by at most one incomplete frame.

use super::format::{self, MAX_FRAME_LEN, MAX_LINE_LEN};
use super::reader::Reader;
use super::{file_error, must_be_file};
use crate::error::{Error, Result};
use crate::live::item::Item;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    last: Option<SystemTime>,
    /// End of the last whole frame.
    end: u64,
    /// Lines of the next frame, and their number.
    lines: Vec<u8>,
    items: u32,
    /// Whether writing the last frame failed, so that its remains must be truncated.
    has_failed: bool,
}

impl Writer {
    /// Creates a journal or opens it for appending. Refuses other files and damaged journals, and leaves them unchanged.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| file_error(path, &error);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        must_be_file(path, &file.metadata().map_err(failed)?)?;
        lock(&file, path)?;
        let mut reader = Reader::new(BufReader::new(&file), path)?;
        let last = reader.skip_all()?;
        let mut end = reader.offset();
        file.set_len(end).map_err(failed)?;
        if end == 0 {
            let header = format::file_header();
            (&file).seek(SeekFrom::Start(0)).and_then(|_| (&file).write_all(&header)).map_err(failed)?;
            end = header.len() as u64;
        }
        Ok(Writer { file, path: path.to_owned(), last, end, lines: Vec::new(), items: 0, has_failed: false })
    }

    /// Adds an item to the next frame, and writes the frame if it is large enough or if writing has failed before. After an error
    /// the item is not in the frame.
    pub fn append(&mut self, item: &Item, now: SystemTime) -> Result<()> {
        let before = self.lines.len();
        let added = self.add(item, now);
        if added.is_err() {
            self.lines.truncate(before);
            return added;
        }
        self.items += 1;
        if self.has_failed || self.lines.len() >= MAX_FRAME_LEN {
            let flushed = self.flush();
            if flushed.is_err() {
                self.items -= 1;
                self.lines.truncate(before);
            }
            return flushed;
        }
        Ok(())
    }

    fn add(&mut self, item: &Item, now: SystemTime) -> Result<()> {
        let before = self.lines.len();
        format::write(item, now, &mut self.lines).map_err(|error| file_error(&self.path, &error))?;
        let length = self.lines.len() - before;
        if length > MAX_LINE_LEN {
            return Err(Error::Argument(format!(
                "an item of {length} bytes is not recorded: a journal holds items of at most {MAX_LINE_LEN} bytes"
            )));
        }
        Ok(())
    }

    /// Time of receipt of the last item that the file had when it was opened.
    pub fn last(&self) -> Option<SystemTime> {
        self.last
    }

    /// A handle to the same file, for `fsync`.
    pub fn file(&self) -> Result<File> {
        self.file.try_clone().map_err(|error| file_error(&self.path, &error))
    }

    /// End of the last whole frame.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Number of items that are not in the file yet.
    pub fn pending(&self) -> u32 {
        self.items
    }

    /// Writes the pending items; after an error they remain pending.
    pub fn flush(&mut self) -> Result<()> {
        if self.items == 0 {
            return Ok(());
        }
        let written = self.write_frame();
        self.has_failed = written.is_err();
        if written.is_err() {
            // If this fails too, writing the next frame retries it.
            let _ = self.file.set_len(self.end);
        }
        self.end += written.map_err(|error| file_error(&self.path, &error))?;
        self.lines.clear();
        // Free the memory of a huge item.
        self.lines.shrink_to(2 * MAX_FRAME_LEN);
        self.items = 0;
        Ok(())
    }

    fn write_frame(&mut self) -> io::Result<u64> {
        let frame = format::pack(&self.lines, self.items)?;
        if self.has_failed {
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&frame)?;
        Ok(frame.len() as u64)
    }
}

/// Locks a journal against other recorders; an error if there is one.
pub(super) fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        // The file system has no locks, so the user must prevent concurrent recorders.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(file_error(path, &error)),
        Err(TryLockError::WouldBlock) => {
            let message = "another recorder writes to this journal".into();
            Err(Error::File { path: path.display().to_string(), errno: None, message })
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A forked child may hold the same lock.
        let _ = self.file.unlock();
    }
}
