//! Frames as bytes: zstd frames with a checksum of their content. The first line of each gives its place in the journal.

use super::chain::Link;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;

/// Bytes of lines after which a frame is written.
pub(super) const MAX_FRAME_LEN: usize = 256 * 1024;

/// Maximum bytes of a line, far beyond any message of the service.
pub(super) const MAX_LINE_LEN: usize = 128 * 1024 * 1024;

const VERSION: u32 = 3;

/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
pub(super) const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// In the byte after it, of these bits only that of the checksum is set.
const FLAGS: u8 = 0b1_1111;
const CHECKSUM_FLAG: u8 = 0b0_0100;

/// The decoder's memory: four times the window of the default level.
const MAX_WINDOW_LOG: u32 = 23;

const MAX_HEADER_LEN: usize = 1024;
const MAX_CONTENT_LEN: usize = MAX_HEADER_LEN + MAX_FRAME_LEN + MAX_LINE_LEN;

/// The first bytes of a journal of version 1.
const VERSION_1: &[u8] = b"\x50\x2A\x4D\x18\x14\0\0\0sideline journal";

/// The first line of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrameHeader {
    /// The version of the format.
    journal: u32,
    /// The frame's number, from 0.
    pub(super) frame: u64,
    /// Checksum of the frame before it; 0 for the first.
    pub(super) previous: u32,
    /// The number of the recording, from 1.
    pub(super) recording: u32,
    /// When it was written, in nanoseconds since 1970.
    pub(super) at: i64,
    /// Whether the recording ends with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_closing: bool,
}

impl FrameHeader {
    /// The header of the frame after `last`.
    pub(super) fn after(last: Option<Link>, recording: u32, at: i64, is_closing: bool) -> Self {
        let (frame, previous) = last.map_or((0, 0), |last| (last.number.saturating_add(1), last.checksum));
        FrameHeader { journal: VERSION, frame, previous, recording, at, is_closing }
    }
}

/// An intact frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) header: FrameHeader,
    checksum: u32,
    content: Vec<u8>,
}

impl Frame {
    pub(super) fn link(&self) -> Link {
        Link { number: self.header.frame, previous: self.header.previous, checksum: self.checksum }
    }

    /// The lines of its items.
    pub(super) fn lines(&self) -> &[u8] {
        first_line(&self.content).1
    }
}

/// Returns a frame as in the file, and its checksum.
pub(super) fn pack(header: &FrameHeader, lines: &[u8]) -> io::Result<(Vec<u8>, u32)> {
    let mut content = serde_json::to_vec(header)?;
    content.push(b'\n');
    content.extend_from_slice(lines);
    let mut compressor = Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
    compressor.include_checksum(true)?;
    let frame = compressor.compress(&content)?;
    let checksum = frame.last_chunk().copied().map(u32::from_le_bytes).unwrap_or_default();
    Ok((frame, checksum))
}

/// Reads the frame at the input's position; `None`: no intact frame of a journal begins there.
pub(super) fn read(input: &mut (impl BufRead + Seek)) -> io::Result<Option<Frame>> {
    let Some(content) = unpack(input)? else { return Ok(None) };
    let Ok(header) = serde_json::from_slice::<FrameHeader>(first_line(&content).0) else { return Ok(None) };
    if header.journal != VERSION {
        return Ok(None);
    }
    let mut checksum = [0; 4];
    input.seek(SeekFrom::Current(-4))?;
    input.read_exact(&mut checksum)?;
    Ok(Some(Frame { header, checksum: u32::from_le_bytes(checksum), content }))
}

/// Why the file that begins with these bytes is not read, if there is a better reason than that it is no journal.
pub(super) fn other_version(mut beginning: &[u8]) -> Option<String> {
    if beginning.starts_with(VERSION_1) {
        return Some(refusal(1));
    }
    let content = unpack(&mut beginning).ok()??;
    let header: serde_json::Value = serde_json::from_slice(first_line(&content).0).ok()?;
    let version = header["journal"].as_u64()?;
    (version != u64::from(VERSION)).then(|| refusal(version))
}

fn refusal(version: u64) -> String {
    format!(
        "the journal has version {version} of the format, and this sideline reads version {VERSION}: replay it with the \
         sideline that recorded it"
    )
}

/// Decompresses the frame at the input's position.
fn unpack(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut start = [0; 5];
    let mut content = Vec::new();
    let mut read = || -> io::Result<bool> {
        input.read_exact(&mut start)?;
        if start[..4] != MAGIC || start[4] & FLAGS != CHECKSUM_FLAG {
            return Ok(false);
        }
        let mut decoder = Decoder::with_buffer((&start[..]).chain(&mut *input))?.single_frame();
        decoder.window_log_max(MAX_WINDOW_LOG)?;
        // One byte more, so that a frame with a longer content differs from one that ends there.
        decoder.take(MAX_CONTENT_LEN as u64 + 1).read_to_end(&mut content)?;
        Ok(content.len() <= MAX_CONTENT_LEN)
    };
    match read() {
        Ok(true) => Ok(Some(content)),
        Ok(false) => Ok(None),
        // Errors of the file have a number; those of zstd, and the end of the file, have none.
        Err(error) if error.raw_os_error().is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// The first line without its end, and what follows it.
fn first_line(content: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', content) {
        Some(end) => (&content[..end], &content[end + 1..]),
        None => (&[], &[]),
    }
}
