//! Saves the whole frames of a damaged journal.

use super::file_error;
use super::format::{self, FrameHeader, HEADER_LEN};
use super::reader::Entry;
use super::writer::lock;
use crate::error::{Error, Result};
use crate::live::item::{Item, Notice};
use memchr::memmem;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    pub frames: u64,
    pub items: u64,
    pub lost: Vec<LostRange>,
}

/// A range of bytes that contains no whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRange {
    pub start: u64,
    pub bytes: u64,
    /// Times of receipt of the last item before and the first item after it.
    pub after: Option<SystemTime>,
    pub before: Option<SystemTime>,
}

/// Bytes to search at a time for the next frame.
const SEARCH_WINDOW: usize = 1 << 20;

/// Writes every whole frame to `out`, and a gap for each lost range. Without `out` the repaired journal replaces the damaged one,
/// which is renamed to `.damaged`; an undamaged journal is left unchanged.
pub fn repair(path: &Path, out: Option<&Path>) -> Result<Repaired> {
    let from = File::open(path).map_err(|error| file_error(path, &error))?;
    super::must_be_file(path, &from.metadata().map_err(|error| file_error(path, &error))?)?;
    lock(&from, path)?;
    let (kept, new) = (with_suffix(path, ".damaged"), with_suffix(path, ".repaired"));
    let to = out.unwrap_or(&new);
    if out.is_none() && kept.exists() {
        let message =
            format!("{} exists already: move it away, or give another place for the repaired journal", kept.display());
        return Err(Error::File { path: kept.display().to_string(), errno: Some(17), message });
    }
    let file = File::create_new(to).map_err(|error| file_error(to, &error))?;
    let salvaged = salvage(&from, BufWriter::new(&file)).and_then(|repaired| file.sync_all().map(|()| repaired));
    let repaired = match salvaged {
        Ok(repaired) => repaired,
        Err(error) => {
            let _ = fs::remove_file(to);
            return Err(file_error(path, &error));
        }
    };
    if out.is_none() {
        let placed = match repaired.lost.is_empty() {
            true => fs::remove_file(to),
            false => fs::rename(path, &kept).and_then(|()| fs::rename(to, path)),
        };
        placed.map_err(|error| file_error(path, &error))?;
    }
    Ok(repaired)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn salvage(from: &File, mut to: impl Write) -> io::Result<Repaired> {
    let length = from.metadata()?.len();
    let mut repaired = Repaired::default();
    let mut latest = None;
    // Start of the current lost range.
    let mut lost: Option<u64> = None;
    to.write_all(&format::file_header())?;
    let mut at = if read_at(from, 0, HEADER_LEN)? == format::file_header() { HEADER_LEN as u64 } else { 0 };
    if at == 0 && length > 0 {
        lost = Some(0);
        at = next_frame(from, 0)?.unwrap_or(length);
    }
    while at < length {
        let Some((bytes, entries)) = frame_at(from, at)? else {
            lost.get_or_insert(at);
            at = next_frame(from, at + 1)?.unwrap_or(length);
            continue;
        };
        if let Some(start) = lost.take() {
            let before = entries.first().map(|(received_at, _)| *received_at);
            repaired.lost.push(LostRange { start, bytes: at - start, after: latest, before });
            if let (Some(after), Some(before)) = (latest, before) {
                to.write_all(&gap(at - start, after, before)?)?;
            }
        }
        to.write_all(&bytes)?;
        (repaired.frames, repaired.items) = (repaired.frames + 1, repaired.items + entries.len() as u64);
        latest = entries.last().map(|(received_at, _)| *received_at).or(latest);
        at += bytes.len() as u64;
    }
    if let Some(start) = lost {
        repaired.lost.push(LostRange { start, bytes: length - start, after: latest, before: None });
    }
    to.flush()?;
    Ok(repaired)
}

/// The frame at `at` with its header, and its items; `None`: it is not whole.
fn frame_at(from: &File, at: u64) -> io::Result<Option<(Vec<u8>, Vec<Entry>)>> {
    let mut bytes = read_at(from, at, HEADER_LEN)?;
    let Some(header) = bytes.first_chunk::<HEADER_LEN>().and_then(FrameHeader::parse) else { return Ok(None) };
    let packed = read_at(from, at + HEADER_LEN as u64, header.packed as usize)?;
    let mut entries = Vec::new();
    if packed.len() < header.packed as usize || format::read_all(&header, &packed, &mut entries).is_err() {
        return Ok(None);
    }
    bytes.extend_from_slice(&packed);
    Ok(Some((bytes, entries)))
}

/// The next offset, from `at` on, where a frame may start.
fn next_frame(from: &File, mut at: u64) -> io::Result<Option<u64>> {
    let pattern = format::frame_start();
    loop {
        let window = read_at(from, at, SEARCH_WINDOW)?;
        if let Some(found) = memmem::find(&window, &pattern) {
            return Ok(Some(at + found as u64));
        }
        if window.len() < SEARCH_WINDOW {
            return Ok(None);
        }
        at += (SEARCH_WINDOW - pattern.len() + 1) as u64;
    }
}

/// Reads `count` bytes, or fewer at the end.
fn read_at(mut from: &File, at: u64, count: usize) -> io::Result<Vec<u8>> {
    from.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    from.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn gap(bytes: u64, start: SystemTime, end: SystemTime) -> io::Result<Vec<u8>> {
    let reason = format!("{bytes} bytes of the journal were damaged when it was repaired");
    let item = Item::Notice(Notice::Gap { start, end: Some(end), reason, dropped: None, is_final: false });
    let mut lines = Vec::new();
    format::write(&item, end, &mut lines)?;
    format::pack(&lines, 1)
}
