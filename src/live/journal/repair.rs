//! What is whole of a damaged journal.

use super::file_error;
use super::format::{self, HEAD, Head};
use super::reader::Entry;
use super::writer::lock;
use crate::error::{Error, Result};
use crate::live::item::{Item, Notice};
use memchr::memmem;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a repair saved and what it did not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    pub frames: u64,
    pub items: u64,
    pub lost: Vec<Lost>,
}

/// Bytes of a journal that are no whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub start: u64,
    pub bytes: u64,
    /// When the last item before them and the first item after them were received.
    pub after: Option<SystemTime>,
    pub before: Option<SystemTime>,
}

/// Bytes that are searched for the next frame at a time.
const WINDOW: usize = 1 << 20;

/// Writes every whole frame to `out`, and a gap where others were lost. Without `out` the repaired journal takes the place of
/// the damaged one, which is kept under its name and `.damaged`; a whole journal is left alone.
pub fn repair(path: &Path, out: Option<&Path>) -> Result<Repaired> {
    let from = File::open(path).map_err(|error| file_error(path, &error))?;
    super::must_be_file(path, &from.metadata().map_err(|error| file_error(path, &error))?)?;
    lock(&from, path)?;
    let (kept, new) = (beside(path, ".damaged"), beside(path, ".repaired"));
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

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn salvage(from: &File, mut to: impl Write) -> io::Result<Repaired> {
    let length = from.metadata()?.len();
    let mut repaired = Repaired::default();
    let mut latest = None;
    // Where what is not whole begins.
    let mut lost: Option<u64> = None;
    to.write_all(&format::beginning())?;
    let mut at = if read_at(from, 0, HEAD)? == format::beginning() { HEAD as u64 } else { 0 };
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
            let before = entries.first().map(|(came, _)| *came);
            repaired.lost.push(Lost { start, bytes: at - start, after: latest, before });
            if let (Some(after), Some(before)) = (latest, before) {
                to.write_all(&gap(at - start, after, before)?)?;
            }
        }
        to.write_all(&bytes)?;
        (repaired.frames, repaired.items) = (repaired.frames + 1, repaired.items + entries.len() as u64);
        latest = entries.last().map(|(came, _)| *came).or(latest);
        at += bytes.len() as u64;
    }
    if let Some(start) = lost {
        repaired.lost.push(Lost { start, bytes: length - start, after: latest, before: None });
    }
    to.flush()?;
    Ok(repaired)
}

/// The frame that begins here with what stands before it, and its items; `None`: it is not whole.
fn frame_at(from: &File, at: u64) -> io::Result<Option<(Vec<u8>, Vec<Entry>)>> {
    let mut bytes = read_at(from, at, HEAD)?;
    let Some(head) = bytes.first_chunk::<HEAD>().and_then(Head::parse) else { return Ok(None) };
    let packed = read_at(from, at + HEAD as u64, head.packed as usize)?;
    let mut entries = Vec::new();
    if packed.len() < head.packed as usize || format::read_all(&head, &packed, &mut entries).is_err() {
        return Ok(None);
    }
    bytes.extend_from_slice(&packed);
    Ok(Some((bytes, entries)))
}

/// The next place from here on where a frame may begin.
fn next_frame(from: &File, mut at: u64) -> io::Result<Option<u64>> {
    let wanted = format::frame_start();
    loop {
        let window = read_at(from, at, WINDOW)?;
        if let Some(found) = memmem::find(&window, &wanted) {
            return Ok(Some(at + found as u64));
        }
        if window.len() < WINDOW {
            return Ok(None);
        }
        at += (WINDOW - wanted.len() + 1) as u64;
    }
}

/// So many bytes, or fewer where there are no more.
fn read_at(mut from: &File, at: u64, count: usize) -> io::Result<Vec<u8>> {
    from.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    from.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn gap(bytes: u64, start: SystemTime, end: SystemTime) -> io::Result<Vec<u8>> {
    let reason = format!("{bytes} bytes of the journal were damaged when it was repaired");
    let item = Item::Notice(Notice::Gap { start, end: Some(end), reason, dropped: None });
    let mut lines = Vec::new();
    format::write(&item, end, &mut lines)?;
    format::pack(&lines, 1)
}
