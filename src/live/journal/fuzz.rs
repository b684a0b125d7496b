//! Fuzzes journals. Since a fuzzer cannot guess checksums, it may also write the content that they cover.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::format::{self, FrameHeader, HEADER_LEN};
use super::{Entry, Reader};
use crate::error::Result;
use std::path::Path;

/// The first byte selects what the rest is: a file, a file without its header, lines, or a zstd frame after its length.
pub(crate) fn journal(bytes: &[u8]) {
    let [kind, rest @ ..] = bytes else { return };
    match kind % 4 {
        0 => drop(read_and_skip(rest)),
        1 => drop(read_and_skip(&[&format::file_header(), rest].concat())),
        2 => lines(rest),
        _ => {
            let Some((raw, packed)) = rest.split_first_chunk::<3>() else { return };
            // Up to 64 KiB; another test covers the limit on a frame's size.
            let [raw, items] = [u32::from(u16::from_le_bytes([raw[0], raw[1]])), raw[2].into()];
            let header = FrameHeader { packed: packed.len() as u32, raw, items, crc: crc32fast::hash(packed) };
            drop(read_and_skip(&[&format::file_header()[..], &header.to_bytes(), packed].concat()));
        }
    }
}

/// Empty lines separate frames. Readable items survive another write and read, and a cut tail affects no earlier item.
fn lines(bytes: &[u8]) {
    let mut file = format::file_header().to_vec();
    let mut whole = Vec::new();
    let mut frame = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            file.extend(format::pack(&frame, count(&frame)).unwrap());
            frame.clear();
            continue;
        }
        frame.extend_from_slice(line);
        frame.push(b'\n');
    }
    whole.extend_from_slice(&file);
    let (entries, end) = read_and_skip(&whole);
    if end.is_err() {
        return;
    }
    let mut again = Vec::new();
    for (at, item) in &entries {
        format::write(item, *at, &mut again).unwrap();
    }
    let file = [&format::file_header()[..], &format::pack(&again, entries.len() as u32).unwrap()].concat();
    let (reread, end) = read_and_skip(&file);
    assert!(end.is_ok());
    // Compares items only: a line of a gap has its end twice, and only an invented line has two different ones.
    assert!(reread.iter().map(|(_, item)| item).eq(entries.iter().map(|(_, item)| item)), "{entries:?}");
    let cut = whole.len() - bytes.len() % whole.len();
    let (first, end) = read_and_skip(&whole[..cut]);
    assert!(end.is_ok() && entries.starts_with(&first));
}

fn count(lines: &[u8]) -> u32 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u32
}

/// Reads and skips a journal, which must end at the same offset; returns the items and the result.
fn read_and_skip(bytes: &[u8]) -> (Vec<Entry>, Result<()>) {
    let mut entries = Vec::new();
    let mut read = || {
        let mut reader = Reader::new(bytes, Path::new("a.journal"))?;
        while reader.next(&mut entries)? {
            assert!(reader.offset() >= HEADER_LEN as u64 && reader.offset() <= bytes.len() as u64);
        }
        Ok(reader.offset())
    };
    let read = read();
    let skipped = Reader::new(bytes, Path::new("a.journal")).and_then(|mut reader| {
        reader.skip_all()?;
        Ok(reader.offset())
    });
    if let Ok(offset) = &read {
        assert_eq!(skipped.as_ref().ok(), Some(offset));
    }
    (entries, read.map(|_| ()))
}
