//! Journals of any bytes. Checksums would keep a fuzzer out, so it may also write what lies within them.

// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::format::{self, HEAD, Head};
use super::{Entry, Reader};
use crate::error::Result;
use std::path::Path;

/// The first byte chooses: a file; what follows its beginning; lines; or a zstd frame, with its length before it.
pub(crate) fn journal(bytes: &[u8]) {
    let [how, rest @ ..] = bytes else { return };
    match how % 4 {
        0 => drop(both(rest)),
        1 => drop(both(&[&format::beginning(), rest].concat())),
        2 => lines(rest),
        _ => {
            let Some((raw, packed)) = rest.split_first_chunk::<3>() else { return };
            // Up to 64 KiB; the size of what a frame may ask for has a test of its own.
            let [raw, items] = [u32::from(u16::from_le_bytes([raw[0], raw[1]])), raw[2].into()];
            let head = Head { packed: packed.len() as u32, raw, items, crc: crc32fast::hash(packed) };
            drop(both(&[&format::beginning()[..], &head.to_bytes(), packed].concat()));
        }
    }
}

/// Each part between two empty lines is a frame. What can be read is read, comes back as it was written, and a tail that is
/// cut off takes nothing else with it.
fn lines(bytes: &[u8]) {
    let mut file = format::beginning().to_vec();
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
    let (entries, end) = both(&whole);
    if end.is_err() {
        return;
    }
    let mut again = Vec::new();
    for (at, item) in &entries {
        format::write(item, *at, &mut again).unwrap();
    }
    let file = [&format::beginning()[..], &format::pack(&again, entries.len() as u32).unwrap()].concat();
    let (reread, end) = both(&file);
    assert!(end.is_ok());
    // The items alone: a line of a gap says twice when it ended, and only a line that was made up says it differently.
    assert!(reread.iter().map(|(_, item)| item).eq(entries.iter().map(|(_, item)| item)), "{entries:?}");
    let cut = whole.len() - bytes.len() % whole.len();
    let (first, end) = both(&whole[..cut]);
    assert!(end.is_ok() && entries.starts_with(&first));
}

fn count(lines: &[u8]) -> u32 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u32
}

/// What a journal gives and how it ends; to read it and to step over it end at the same place.
fn both(bytes: &[u8]) -> (Vec<Entry>, Result<()>) {
    let mut entries = Vec::new();
    let mut read = || {
        let mut reader = Reader::new(bytes, Path::new("a.journal"))?;
        while reader.next(&mut entries)? {
            assert!(reader.offset() >= HEAD as u64 && reader.offset() <= bytes.len() as u64);
        }
        Ok(reader.offset())
    };
    let read = read();
    let stepped = Reader::new(bytes, Path::new("a.journal")).and_then(|mut reader| {
        reader.skip_all()?;
        Ok(reader.offset())
    });
    if let Ok(offset) = &read {
        assert_eq!(stepped.as_ref().ok(), Some(offset));
    }
    (entries, read.map(|_| ()))
}
