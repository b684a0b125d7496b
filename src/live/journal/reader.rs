//! A journal from its beginning, one frame in memory at a time.

use super::format::{self, HEAD, Head};
use super::{broken, damaged, file_error, must_be_file};
use crate::error::Result;
use crate::live::item::Item;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An item, and when it came.
pub type Entry = (SystemTime, Item);

#[derive(Debug)]
pub struct Reader<R = io::Take<BufReader<File>>> {
    from: R,
    path: PathBuf,
    /// Where the last whole frame ended.
    offset: u64,
}

impl Reader {
    /// What the file holds now; what is appended later is not read.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| file_error(path, &error);
        // Looked at before it is opened: to open a pipe is to wait for its writer.
        must_be_file(path, &fs::metadata(path).map_err(failed)?)?;
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Reader::new(BufReader::new(file).take(length), path)
    }
}

impl<R: Read> Reader<R> {
    /// `path` is for errors alone.
    pub fn new(from: R, path: &Path) -> Result<Self> {
        let mut reader = Reader { from, path: path.to_owned(), offset: 0 };
        let beginning = reader.read(HEAD)?;
        format::check_beginning(&beginning).map_err(|message| damaged(path, 0, message))?;
        if beginning.len() == HEAD {
            reader.offset = HEAD as u64;
        }
        Ok(reader)
    }

    /// Where the last whole frame ended; 0 where not even the beginning is whole.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Adds the items of the next frame; `false`: there is none. Before an error comes what stands before the damage.
    pub fn next(&mut self, into: &mut Vec<Entry>) -> Result<bool> {
        let at = self.offset;
        let Some((head, packed)) = self.frame()? else { return Ok(false) };
        format::read_all(&head, &packed, into).map_err(|what| broken(&self.path, at, &what))?;
        Ok(true)
    }

    /// Steps over all frames, their checksums looked at; gives when the last item came.
    pub fn skip_all(&mut self) -> Result<Option<SystemTime>> {
        let mut last = None;
        loop {
            let at = self.offset;
            match self.frame()? {
                None => break,
                Some((head, packed)) if crc32fast::hash(&packed) == head.crc => last = Some((at, head, packed)),
                Some(_) => return Err(broken(&self.path, at, "its checksum differs")),
            }
        }
        let Some((at, head, packed)) = last else { return Ok(None) };
        let wrong = |what: String| broken(&self.path, at, &what);
        let lines = format::unpack(&head, &packed).map_err(wrong)?;
        let line = lines.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty());
        line.map(|line| format::read(line).map(|(came, _)| came).map_err(wrong)).transpose()
    }

    /// `None` at the end, also where it is torn: a recorder that is killed leaves the beginning of a frame.
    fn frame(&mut self) -> Result<Option<(Head, Vec<u8>)>> {
        let bytes = self.read(HEAD)?;
        let Some(bytes) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let head = Head::parse(bytes)
            .ok_or_else(|| broken(&self.path, self.offset, "this is not the beginning of a frame"))?;
        let packed = self.read(head.packed as usize)?;
        if packed.len() < head.packed as usize {
            return Ok(None);
        }
        self.offset += (HEAD + packed.len()) as u64;
        Ok(Some((head, packed)))
    }

    /// So many bytes, or fewer where there are no more.
    fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let done = self.from.by_ref().take(count as u64).read_to_end(&mut bytes);
        done.map_err(|error| file_error(&self.path, &error))?;
        Ok(bytes)
    }
}
