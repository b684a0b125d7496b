//! The end of a journal. Whatever happens, the file is whole frames and, at most, the beginning of one.

use super::format::{self, FRAME, LINE_LIMIT};
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
    /// Where the last whole frame ends.
    end: u64,
    /// Lines of the frame to come, and how many.
    lines: Vec<u8>,
    items: u32,
    /// The last frame could not be written: what the file got of it is to be cut off.
    failing: bool,
}

impl Writer {
    /// Makes the file or goes on where it ends. What is no journal, or is damaged, is refused and left as it is.
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
            let beginning = format::beginning();
            (&file).seek(SeekFrom::Start(0)).and_then(|_| (&file).write_all(&beginning)).map_err(failed)?;
            end = beginning.len() as u64;
        }
        Ok(Writer { file, path: path.to_owned(), last, end, lines: Vec::new(), items: 0, failing: false })
    }

    /// Adds an item to the frame to come, and writes the frame where it is large enough, or where writing has failed before.
    /// After an error the item is not in it.
    pub fn append(&mut self, item: &Item, now: SystemTime) -> Result<()> {
        let before = self.lines.len();
        let added = self.add(item, now);
        if added.is_err() {
            self.lines.truncate(before);
            return added;
        }
        self.items += 1;
        if self.failing || self.lines.len() >= FRAME {
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
        if length > LINE_LIMIT {
            return Err(Error::Argument(format!(
                "an item of {length} bytes is not recorded: a journal holds items of at most {LINE_LIMIT} bytes"
            )));
        }
        Ok(())
    }

    /// When the last item came that the file had when it was opened.
    pub fn last(&self) -> Option<SystemTime> {
        self.last
    }

    /// A handle to the same file, for `fsync`.
    pub fn file(&self) -> Result<File> {
        self.file.try_clone().map_err(|error| file_error(&self.path, &error))
    }

    /// Where the last whole frame ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Items that are not in the file yet.
    pub fn pending(&self) -> u32 {
        self.items
    }

    /// Writes what is pending. After an error it still is.
    pub fn flush(&mut self) -> Result<()> {
        if self.items == 0 {
            return Ok(());
        }
        let written = self.write_frame();
        self.failing = written.is_err();
        if written.is_err() {
            // Where this fails too, the next frame's writing begins with it.
            let _ = self.file.set_len(self.end);
        }
        self.end += written.map_err(|error| file_error(&self.path, &error))?;
        self.lines.clear();
        // After one huge item its memory is not kept.
        self.lines.shrink_to(2 * FRAME);
        self.items = 0;
        Ok(())
    }

    fn write_frame(&mut self) -> io::Result<u64> {
        let frame = format::pack(&self.lines, self.items)?;
        if self.failing {
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&frame)?;
        Ok(frame.len() as u64)
    }
}

/// Keeps recorders off, or says that there is one.
pub fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        // A file system that knows no locks: the user has to take care.
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
        // A child made by `fork` may hold the same lock.
        let _ = self.file.unlock();
    }
}
