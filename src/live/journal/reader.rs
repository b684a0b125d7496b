//! Reads a journal from its start, with one frame in memory at a time.

use super::format::{self, FrameHeader, HEADER_LEN};
use super::{broken, damaged, file_error, must_be_file};
use crate::error::Result;
use crate::live::item::Item;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An item and its time of receipt.
pub(crate) type Entry = (SystemTime, Item);

#[derive(Debug)]
pub struct Reader<R = io::Take<BufReader<File>>> {
    input: R,
    path: PathBuf,
    /// End of the last whole frame.
    offset: u64,
}

impl Reader {
    /// Opens a journal up to its current length; later additions are not read.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| file_error(path, &error);
        // Checked before opening, because opening a pipe waits for its writer.
        must_be_file(path, &fs::metadata(path).map_err(failed)?)?;
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Reader::new(BufReader::new(file).take(length), path)
    }
}

impl<R: Read> Reader<R> {
    /// `path` is used in errors only.
    pub fn new(input: R, path: &Path) -> Result<Self> {
        let mut reader = Reader { input, path: path.to_owned(), offset: 0 };
        let header = reader.read(HEADER_LEN)?;
        format::check_file_header(&header).map_err(|message| damaged(path, 0, message))?;
        if header.len() == HEADER_LEN {
            reader.offset = HEADER_LEN as u64;
        }
        Ok(reader)
    }

    /// End of the last whole frame; 0 if not even the file header is whole.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends the items of the next frame; `false`: there is none. Frames before damage are read before the error.
    pub fn next(&mut self, into: &mut Vec<Entry>) -> Result<bool> {
        let at = self.offset;
        let Some((header, packed)) = self.frame()? else { return Ok(false) };
        format::read_all(&header, &packed, into).map_err(|what| broken(&self.path, at, &what))?;
        Ok(true)
    }

    /// Skips all frames and verifies their checksums; returns the last item's time of receipt.
    pub(crate) fn skip_all(&mut self) -> Result<Option<SystemTime>> {
        let mut last = None;
        loop {
            let at = self.offset;
            match self.frame()? {
                None => break,
                Some((header, packed)) if crc32fast::hash(&packed) == header.crc => last = Some((at, header, packed)),
                Some(_) => return Err(broken(&self.path, at, "its checksum differs")),
            }
        }
        let Some((at, header, packed)) = last else { return Ok(None) };
        let wrong = |reason: String| broken(&self.path, at, &reason);
        let lines = format::unpack(&header, &packed).map_err(wrong)?;
        let line = lines.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty());
        line.map(|line| format::read(line).map(|(received_at, _)| received_at).map_err(wrong)).transpose()
    }

    /// `None` at the end, which may be torn: a killed recorder leaves an incomplete frame.
    fn frame(&mut self) -> Result<Option<(FrameHeader, Vec<u8>)>> {
        let bytes = self.read(HEADER_LEN)?;
        let Some(bytes) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
        let header = FrameHeader::parse(bytes)
            .ok_or_else(|| broken(&self.path, self.offset, "this is not the beginning of a frame"))?;
        let packed = self.read(header.packed as usize)?;
        if packed.len() < header.packed as usize {
            return Ok(None);
        }
        self.offset += (HEADER_LEN + packed.len()) as u64;
        Ok(Some((header, packed)))
    }

    /// Reads `count` bytes, or fewer at the end.
    fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let done = self.input.by_ref().take(count as u64).read_to_end(&mut bytes);
        done.map_err(|error| file_error(&self.path, &error))?;
        Ok(bytes)
    }
}
