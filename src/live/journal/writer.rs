//! Appends to a journal. The file always consists of whole frames, followed by at most one incomplete frame.

use super::chain::Link;
use super::format;
use super::frame::{self, FrameHeader, MAX_FRAME_LEN, MAX_LINE_LEN};
use super::reader::{Reader, Tail};
use super::{file_error, must_be_file};
use crate::error::{Error, FileError, Result};
use crate::live::item::Item;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A recording.
#[derive(Debug)]
pub struct Writer {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// The number of the recording, from 1.
    recording: u32,
    /// The last frame.
    last: Option<Link>,
    /// Time of receipt of the last item of the previous recording; not later than when this one began, as a clock may be set back.
    pub(super) previous_end: Option<SystemTime>,
    /// End of the last whole frame.
    pub(super) end: u64,
    /// Bytes of lines after which a frame is written.
    pub(super) frame_len: usize,
    /// Lines of the next frame.
    pub(super) lines: Vec<u8>,
    /// Whether writing the last frame failed, so that its remains must be truncated.
    has_failed: bool,
}

impl Writer {
    /// Creates a journal or opens it for another recording. Refuses other files and leaves them unchanged.
    pub fn open(path: &Path, now: SystemTime) -> Result<Self> {
        let failed = |error: io::Error| file_error(path, error);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        must_be_file(path, &metadata)?;
        lock(&file, path)?;
        let tail = match metadata.len() {
            0 => Tail::default(),
            _ => Reader::new(BufReader::new(&file), path)?.tail()?,
        };
        file.set_len(tail.end).map_err(failed)?;
        let mut writer = Writer {
            file,
            path: path.to_owned(),
            recording: tail.recording.saturating_add(1),
            last: tail.last,
            previous_end: tail.at.map(|at| at.min(now)),
            end: tail.end,
            frame_len: MAX_FRAME_LEN,
            lines: Vec::new(),
            has_failed: false,
        };
        // Without items, so that the file is a journal from now on.
        writer.write_frame(now, false)?;
        Ok(writer)
    }

    /// Adds an item to the next frame, and writes the frame if it is large enough or if writing has failed before. After an error
    /// the item is not in the frame. `monotonic` is the time since the recording began.
    pub fn append(&mut self, item: &Item, now: SystemTime, monotonic: Duration) -> Result<()> {
        let before = self.lines.len();
        self.add(item, now, monotonic).inspect_err(|_| self.lines.truncate(before))
    }

    fn add(&mut self, item: &Item, now: SystemTime, monotonic: Duration) -> Result<()> {
        let before = self.lines.len();
        format::write(item, now, monotonic, &mut self.lines).map_err(|error| file_error(&self.path, error))?;
        let length = self.lines.len() - before;
        if length > MAX_LINE_LEN {
            return Err(Error::Argument(format!(
                "an item of {length} bytes is not recorded: a journal holds items of at most {MAX_LINE_LEN} bytes"
            )));
        }
        if self.has_failed || self.lines.len() >= self.frame_len { self.flush(now) } else { Ok(()) }
    }

    /// Writes the pending items; after an error they remain pending.
    pub fn flush(&mut self, now: SystemTime) -> Result<()> {
        if self.lines.is_empty() { Ok(()) } else { self.write_frame(now, false) }
    }

    /// Writes the pending items and the frame that ends the recording.
    pub fn close(&mut self, now: SystemTime) -> Result<()> {
        self.flush(now)?;
        self.write_frame(now, true)
    }

    fn write_frame(&mut self, now: SystemTime, is_closing: bool) -> Result<()> {
        let header = FrameHeader::after(self.last, self.recording, format::nanoseconds(now), is_closing);
        let result = self.try_write(&header);
        self.has_failed = result.is_err();
        if result.is_err() {
            // If this fails too, writing the next frame retries it.
            let _ = self.file.set_len(self.end);
        }
        let (length, checksum) = result.map_err(|error| file_error(&self.path, error))?;
        self.end += length;
        self.last = Some(Link { number: header.frame, previous: header.previous, checksum });
        self.lines.clear();
        // Free the memory of a huge item.
        self.lines.shrink_to(2 * MAX_FRAME_LEN);
        Ok(())
    }

    fn try_write(&mut self, header: &FrameHeader) -> io::Result<(u64, u32)> {
        let (frame, checksum) = frame::pack(header, &self.lines)?;
        if self.has_failed {
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&frame)?;
        Ok((frame.len() as u64, checksum))
    }
}

/// Locks a journal against other recorders; an error if there is one.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        // The file system has no locks, so the user must prevent concurrent recorders.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(file_error(path, error)),
        Err(TryLockError::WouldBlock) => {
            let message = "another recorder writes to this journal".into();
            Err(Error::File(FileError { path: path.display().to_string(), message, errno: None, source: None }))
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A forked child may hold the same lock.
        let _ = self.file.unlock();
    }
}
