//! Fuzzes journals. Since a fuzzer cannot guess checksums, it may also write the content that they cover.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::chain::Link;
use super::format;
use super::frame::{self, FrameHeader};
use super::{JournalEntry, Reader};
use crate::error::Result;
use crate::live::gap_reason::GapReason;
use crate::live::item::{Item, Notice};
use std::io::Cursor;
use std::path::Path;

/// The first byte selects what the rest is: a file, what follows the first frame, or lines.
pub(crate) fn journal(bytes: &[u8]) {
    let [kind, rest @ ..] = bytes else { return };
    match kind % 3 {
        0 => drop(read_and_skip(rest)),
        1 => {
            let (opening, _) = frame::pack(&FrameHeader::after(None, 1, 0, false), b"").unwrap();
            drop(read_and_skip(&[&opening, rest].concat()));
        }
        _ => lines(rest),
    }
}

/// Empty lines separate frames. Readable items survive another write and read, and a cut tail affects no earlier item.
fn lines(bytes: &[u8]) {
    let mut frames = vec![Vec::new()];
    for line in bytes.split(|byte| *byte == b'\n') {
        match frames.last_mut() {
            Some(frame) if !line.is_empty() => frame.extend([line, b"\n"].concat()),
            _ => frames.push(Vec::new()),
        }
    }
    let complete = file(&frames);
    let entries = read_and_skip(&complete).unwrap();
    let mut second_lines = Vec::new();
    for entry in &entries {
        format::write(&entry.item, entry.at, entry.monotonic, &mut second_lines).unwrap();
    }
    if second_lines.len() < frame::MAX_FRAME_LEN {
        let reread = read_and_skip(&file(&[second_lines])).unwrap();
        // Compares items only: a line of a gap has its end twice, and only an invented line has two different ones.
        assert!(reread.iter().map(|entry| &entry.item).eq(entries.iter().map(|entry| &entry.item)), "{entries:?}");
    }
    let cut = complete.len() - bytes.len() % complete.len();
    if let Ok(first) = read_and_skip(&complete[..cut]) {
        let is_gap = |entry: &&JournalEntry| {
            matches!(&entry.item, Item::Notice(Notice::Gap { reason: GapReason::Damaged | GapReason::TornEnd, .. }))
        };
        let complete: Vec<_> = entries.iter().filter(|entry| !is_gap(entry)).collect();
        let first: Vec<_> = first.iter().filter(|entry| !is_gap(entry)).collect();
        assert!(complete.starts_with(&first));
    }
}

/// A closed journal of these frames.
fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let (mut last, mut bytes) = (None, Vec::new());
    for (place, lines) in frames.iter().map(Vec::as_slice).chain([&b""[..]]).enumerate() {
        let header = FrameHeader::after(last, 1, 0, place == frames.len());
        let (frame, checksum) = frame::pack(&header, lines).unwrap();
        last = Some(Link { number: header.frame, previous: header.previous, checksum });
        bytes.extend(frame);
    }
    bytes
}

/// Reads and skips a journal, which must both succeed or not; returns the items.
fn read_and_skip(bytes: &[u8]) -> Result<Vec<JournalEntry>> {
    let open = || Reader::new(Cursor::new(bytes), Path::new("a.journal"));
    let mut entries = Vec::new();
    let mut reader = open()?;
    while reader.next(&mut entries)? {}
    let tail = open()?.tail()?;
    assert!(tail.last.is_some() && tail.end <= bytes.len() as u64);
    Ok(entries)
}
