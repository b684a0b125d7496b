//! Reads a journal from its start, with at most two frames in memory at a time. Damage is read as a gap.

use super::chain::{Chain, ChainStep, Link};
use super::format::{self, JournalEntry};
use super::frame::{self, Frame, MAGIC};
use super::{file_error, must_be_file, no_journal};
use crate::error::Result;
use crate::live::gap_reason::GapReason;
use crate::live::item::{Item, Notice};
use memchr::memmem;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How far from its beginning a file is searched for the first intact frame.
const MAX_OPENING_LEN: u64 = 1 << 20;

/// Bytes to search at a time for the next frame.
const SEARCH_LEN: usize = 1 << 16;

#[derive(Debug)]
pub struct Reader<R = BufReader<File>> {
    input: R,
    path: PathBuf,
    /// End of what is read of the file.
    end: u64,
    /// Where the next frame should begin, which is the end of the last intact one.
    offset: u64,
    chain: Chain<Frame>,
    position: Position,
    /// The reason and the start of a gap before the next item.
    gap: Option<(GapReason, Option<SystemTime>)>,
}

/// The last frame in order.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    recording: u32,
    is_closed: bool,
    /// Time of its last item, or its own.
    at: Option<SystemTime>,
    monotonic: Duration,
}

/// What another recording continues.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) last: Option<Link>,
    pub(super) recording: u32,
    /// End of the last intact frame.
    pub(super) end: u64,
    /// Time of the last item.
    pub(super) at: Option<SystemTime>,
}

impl Reader {
    /// Opens a journal up to its current length; later additions are not read.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| file_error(path, error);
        // Checked before opening, because opening a pipe waits for its writer.
        must_be_file(path, &fs::metadata(path).map_err(failed)?)?;
        Reader::new(BufReader::new(File::open(path).map_err(failed)?), path)
    }
}

impl<R: BufRead + Seek> Reader<R> {
    /// `path` is used in errors only.
    pub fn new(mut input: R, path: &Path) -> Result<Self> {
        let failed = |error: io::Error| file_error(path, error);
        let end = input.seek(SeekFrom::End(0)).map_err(failed)?;
        let (chain, position) = (Chain::new(), Position::default());
        let mut reader = Reader { input, path: path.to_owned(), end, offset: 0, chain, position, gap: None };
        let is_journal = reader.frame_from(0, end.min(MAX_OPENING_LEN)).map_err(failed)?.is_some();
        if is_journal {
            return Ok(reader);
        }
        let beginning = reader.bytes(0, SEARCH_LEN).map_err(failed)?;
        let content = if end == 0 { "it is empty" } else { "it begins with something else" };
        let reason = frame::other_version(&beginning);
        Err(no_journal(path, reason.unwrap_or_else(|| format!("this is no journal of sideline: {content}"))))
    }

    /// Appends the items that the next frame completes; `false`: there are no further ones.
    pub fn next(&mut self, into: &mut Vec<JournalEntry>) -> Result<bool> {
        let mut steps = Vec::new();
        let is_more = self.step(&mut steps)?;
        for step in steps {
            match step {
                ChainStep::Damage => self.begin_gap(GapReason::Damaged, self.position.at),
                ChainStep::Frame(frame) => self.take(&frame, into),
            }
        }
        if !is_more {
            self.finish(into);
        }
        Ok(is_more)
    }

    /// Reads to the end.
    pub(super) fn tail(mut self) -> Result<Tail> {
        let (mut steps, mut recording, mut with_items) = (Vec::new(), 0, None);
        let mut is_more = true;
        while is_more {
            is_more = self.step(&mut steps)?;
            for step in steps.drain(..) {
                if let ChainStep::Frame(frame) = step {
                    recording = recording.max(frame.header.recording);
                    with_items = Some(frame).filter(|frame| !frame.lines().is_empty()).or(with_items);
                }
            }
        }
        let at = with_items.and_then(|frame| format::last_time(frame.lines()));
        Ok(Tail { last: self.chain.last, recording, end: self.offset, at })
    }

    /// Reads the next frame; `false`: there are no further ones.
    fn step(&mut self, steps: &mut Vec<ChainStep<Frame>>) -> Result<bool> {
        let next = self.frame_from(self.offset, self.end).map_err(|error| file_error(&self.path, error))?;
        let Some((start, end, frame)) = next else {
            self.chain.release(steps);
            return Ok(false);
        };
        if start > self.offset {
            self.chain.damage(steps);
        }
        self.offset = end;
        self.chain.push(frame.link(), frame, steps);
        Ok(true)
    }

    /// Appends the items of a frame, after the gap before them.
    fn take(&mut self, frame: &Frame, into: &mut Vec<JournalEntry>) {
        let header = frame.header;
        let before = self.position;
        if before.at.is_some() && header.recording != before.recording && !before.is_closed {
            self.begin_gap(GapReason::TornEnd, before.at);
        }
        let mut entries = Vec::new();
        let is_readable = format::read_all(frame.lines(), header.recording, &mut entries).is_some();
        let (first, last) = (entries.first(), entries.last());
        self.position = Position {
            recording: header.recording,
            is_closed: header.is_closing,
            at: Some(last.map_or_else(|| format::time(header.at), |last| last.at)),
            monotonic: last.map_or(Duration::ZERO, |last| last.monotonic),
        };
        if !is_readable {
            self.begin_gap(GapReason::Damaged, before.at);
            return;
        }
        if let Some(first) = first
            && let Some((reason, start)) = self.gap.take()
        {
            let start = start.unwrap_or(first.at).min(first.at);
            into.push(JournalEntry { item: Item::Notice(Notice::gap(start, Some(first.at), reason)), ..*first });
        }
        into.append(&mut entries);
    }

    /// Only the first of several gaps in a row is reported.
    fn begin_gap(&mut self, reason: GapReason, start: Option<SystemTime>) {
        self.gap.get_or_insert((reason, start));
    }

    /// Appends the gaps at the end.
    fn finish(&mut self, into: &mut Vec<JournalEntry>) {
        let Position { recording, is_closed, at, monotonic } = self.position;
        let at = at.unwrap_or(SystemTime::UNIX_EPOCH);
        let is_torn = !is_closed || self.offset < self.end;
        let torn_end = is_torn.then_some((GapReason::TornEnd, Some(at)));
        for (reason, start) in self.gap.take().into_iter().chain(torn_end) {
            let item = Item::Notice(Notice::gap(start.unwrap_or(at), None, reason));
            into.push(JournalEntry { recording, monotonic, at, item });
        }
    }

    /// The first intact frame that begins from `start` on and before `before`, with its beginning and its end.
    fn frame_from(&mut self, start: u64, before: u64) -> io::Result<Option<(u64, u64, Frame)>> {
        let mut candidate = Some(start).filter(|start| *start < before);
        while let Some(start) = candidate {
            self.input.seek(SeekFrom::Start(start))?;
            if let Some(frame) = frame::read(&mut self.input)? {
                return Ok(Some((start, self.input.stream_position()?, frame)));
            }
            candidate = self.magic_from(start + 1, before)?;
        }
        Ok(None)
    }

    /// The first offset from `at` on and before `before` where a frame may begin.
    fn magic_from(&mut self, mut at: u64, before: u64) -> io::Result<Option<u64>> {
        while at < before {
            let bytes = self.bytes(at, SEARCH_LEN)?;
            if let Some(place) = memmem::find(&bytes, &MAGIC) {
                return Ok(Some(at + place as u64).filter(|start| *start < before));
            }
            at += (SEARCH_LEN - MAGIC.len() + 1) as u64;
        }
        Ok(None)
    }

    /// Reads `count` bytes from `at` on, or fewer at the end.
    fn bytes(&mut self, at: u64, count: usize) -> io::Result<Vec<u8>> {
        self.input.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        self.input.by_ref().take(count as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
