//! Websocket framing (RFC 6455) of a client. Pure and incremental. An oversized message is skipped without buffering.

use super::options::MAX_SKIPPED_FACTOR;

/// A message or control frame of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Incoming {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close {
        code: Option<u16>,
        reason: String,
    },
    /// A message that exceeds the limit, with its size in bytes.
    Skipped(u64),
}

/// A protocol violation, which ends the connection, with its close code (RFC 6455, 7.4.1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Violation {
    pub code: u16,
    pub message: String,
}

fn protocol(problem: &str) -> Violation {
    Violation { code: 1002, message: format!("the service broke the websocket protocol: {problem}") }
}

fn not_utf8(subject: &str) -> Violation {
    Violation { code: 1007, message: format!("the service broke the websocket protocol: {subject} is not UTF-8") }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn of(bits: u8) -> Option<Self> {
        use Opcode::{Binary, Close, Continuation, Ping, Pong, Text};
        [Continuation, Text, Binary, Close, Ping, Pong].into_iter().find(|opcode| *opcode as u8 == bits)
    }

    fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

#[derive(Debug, Clone, Copy)]
struct Header {
    opcode: Opcode,
    is_last: bool,
    /// Bytes of the payload still to be read.
    left: u64,
}

/// An incomplete message.
#[derive(Debug)]
struct Partial {
    is_text: bool,
    data: Vec<u8>,
    size: u64,
}

const INPUT_CAPACITY: usize = 64 * 1024;
/// Maximum capacity reserved for a message before its bytes arrive.
const MAX_RESERVE: u64 = 64 * 1024;

#[derive(Debug)]
pub(crate) struct FrameDecoder {
    /// The maximum of bytes of a message.
    pub(super) limit: usize,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    header: Option<Header>,
    message: Option<Partial>,
}

impl FrameDecoder {
    pub(crate) fn new(limit: usize) -> Self {
        FrameDecoder { limit, input: vec![0; INPUT_CAPACITY].into(), start: 0, end: 0, header: None, message: None }
    }

    /// The buffer for the next bytes; never empty after `read` returned `None`.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.input[self.end..]
    }

    /// Records that `count` bytes were written to `space`.
    pub(crate) fn fill(&mut self, count: usize) {
        self.end = (self.end + count).min(self.input.len());
    }

    /// Returns the next complete item; `None`: more bytes are needed. After an error the decoder cannot be used further.
    pub(crate) fn read(&mut self) -> Result<Option<Incoming>, Violation> {
        loop {
            let header = match self.header {
                Some(header) => header,
                None => match self.read_header()? {
                    Some(header) => header,
                    None => return Ok(None),
                },
            };
            let available = (self.end - self.start) as u64;
            if header.opcode.is_control() {
                if available < header.left {
                    self.header = Some(header);
                    return Ok(None);
                }
                self.header = None;
                let payload = self.input[self.start..self.start + header.left as usize].to_vec();
                self.start += payload.len();
                return control(header.opcode, payload).map(Some);
            }
            let count = header.left.min(available);
            let limit = self.limit as u64;
            let bytes = &self.input[self.start..self.start + count as usize];
            self.start += bytes.len();
            if let Some(message) = self.message.as_mut().filter(|message| message.size <= limit) {
                message.data.extend_from_slice(bytes);
            }
            if count < header.left {
                self.header = Some(Header { left: header.left - count, ..header });
                return Ok(None);
            }
            self.header = None;
            if header.is_last
                && let Some(message) = self.message.take()
            {
                return message.finish(limit).map(Some);
            }
        }
    }

    fn read_header(&mut self) -> Result<Option<Header>, Violation> {
        let bytes = &self.input[self.start..self.end];
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let lengths = match second & 0x7F {
            126 => rest.first_chunk::<2>().map(|two| (u64::from(u16::from_be_bytes(*two)), 4)),
            127 => rest.first_chunk::<8>().map(|eight| (u64::from_be_bytes(*eight), 10)),
            short => Some((u64::from(short), 2)),
        };
        if first & 0x70 != 0 {
            return Err(protocol("reserved bits are set"));
        }
        if second & 0x80 != 0 {
            return Err(protocol("a frame of a server is masked"));
        }
        let Some(opcode) = Opcode::of(first & 0x0F) else { return Err(protocol("a reserved opcode")) };
        let is_last = first & 0x80 != 0;
        if opcode.is_control() && (!is_last || second & 0x7F > 125) {
            return Err(protocol("a control frame is fragmented or longer than 125 bytes"));
        }
        let Some((left, length)) = lengths else { return Ok(None) };
        if left >> 63 != 0 {
            return Err(protocol("the highest bit of a length is set"));
        }
        self.start += length;
        let header = Header { opcode, is_last, left };
        if !opcode.is_control() {
            self.start_frame(header)?;
        }
        Ok(Some(header))
    }

    /// Starts a data frame.
    fn start_frame(&mut self, header: Header) -> Result<(), Violation> {
        let limit = self.limit as u64;
        match (header.opcode, &self.message) {
            (Opcode::Continuation, None) => return Err(protocol("a continuation of no message")),
            (Opcode::Continuation, Some(_)) => {}
            (_, Some(_)) => return Err(protocol("a message begins within another one")),
            (opcode, None) => {
                let capacity = if header.left <= limit { header.left.min(MAX_RESERVE) } else { 0 };
                let data = Vec::with_capacity(capacity as usize);
                self.message = Some(Partial { is_text: opcode == Opcode::Text, data, size: 0 });
            }
        }
        let Some(message) = &mut self.message else { return Ok(()) };
        message.size = message.size.saturating_add(header.left);
        if message.size > limit {
            message.data = Vec::new();
        }
        if message.size > limit.saturating_mul(MAX_SKIPPED_FACTOR) {
            let message = format!(
                "a message of {} bytes, too long even to be skipped (max_event_bytes is {limit})",
                message.size
            );
            return Err(Violation { code: 1009, message });
        }
        Ok(())
    }
}

impl Partial {
    fn finish(self, limit: u64) -> Result<Incoming, Violation> {
        if self.size > limit {
            return Ok(Incoming::Skipped(self.size));
        }
        match self.is_text {
            true => String::from_utf8(self.data).map(Incoming::Text).map_err(|_| not_utf8("a text message")),
            false => Ok(Incoming::Binary(self.data)),
        }
    }
}

fn control(opcode: Opcode, payload: Vec<u8>) -> Result<Incoming, Violation> {
    match opcode {
        Opcode::Ping => return Ok(Incoming::Ping(payload)),
        Opcode::Close => {}
        _ => return Ok(Incoming::Pong),
    }
    let (code, reason) = match payload.split_first_chunk::<2>() {
        None if payload.is_empty() => return Ok(Incoming::Close { code: None, reason: String::new() }),
        None => return Err(protocol("a close of one byte")),
        Some((code, reason)) => (u16::from_be_bytes(*code), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(protocol(&format!("close code {code} may not be sent")));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| not_utf8("the reason of a close"))?;
    Ok(Incoming::Close { code: Some(code), reason: reason.to_owned() })
}

/// Appends a masked frame.
pub fn write(opcode: Opcode, payload: &[u8], mask: [u8; 4], into: &mut Vec<u8>) {
    into.push(0x80 | opcode as u8);
    match payload.len() {
        short @ 0..=125 => into.push(0x80 | short as u8),
        medium @ 126..=0xFFFF => {
            into.push(0x80 | 126);
            into.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            into.push(0x80 | 127);
            into.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    into.extend_from_slice(&mask);
    into.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

/// Returns the payload of a close frame; a reason that is too long is truncated.
pub fn close(code: u16, reason: &str) -> Vec<u8> {
    let mut payload = code.to_be_bytes().to_vec();
    let end = (0..=reason.len().min(123)).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0);
    payload.extend_from_slice(&reason.as_bytes()[..end]);
    payload
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = match payload.len() {
            short @ 0..=125 => vec![short as u8],
            medium @ 126..=0xFFFF => [&[126], &(medium as u16).to_be_bytes()[..]].concat(),
            long => [&[127], &(long as u64).to_be_bytes()[..]].concat(),
        };
        [&[first][..], &length, payload].concat()
    }

    fn read(limit: usize, chunks: &[&[u8]]) -> (Vec<Incoming>, Option<Violation>) {
        let (mut decoder, mut all) = (FrameDecoder::new(limit), Vec::new());
        for mut chunk in chunks.iter().copied() {
            while !chunk.is_empty() {
                let space = decoder.space();
                let count = chunk.len().min(space.len());
                space[..count].copy_from_slice(&chunk[..count]);
                decoder.fill(count);
                chunk = &chunk[count..];
                loop {
                    match decoder.read() {
                        Ok(Some(incoming)) => all.push(incoming),
                        Ok(None) => break,
                        Err(violation) => return (all, Some(violation)),
                    }
                }
            }
        }
        (all, None)
    }

    fn text(text: &str) -> Incoming {
        Incoming::Text(text.into())
    }

    #[test]
    fn a_message_beyond_the_limit_is_skipped_with_its_size_and_the_next_one_is_read() {
        let bytes = [frame(0x81, &[b'x'; 1_000_000]), frame(0x81, b"next")].concat();
        assert_eq!(read(100_000, &[&bytes]), (vec![Incoming::Skipped(1_000_000), text("next")], None));
        // In fragments of which each alone is within the limit, cut inside a character.
        let parts = [frame(0x01, b"ab\xC3"), frame(0x89, b"p"), frame(0x00, b"\xA9cd"), frame(0x80, b"ef")].concat();
        let bytes = [parts, frame(0x82, b"\xff")].concat();
        let expected = vec![Incoming::Ping(b"p".to_vec()), Incoming::Skipped(8), Incoming::Binary(vec![0xff])];
        assert_eq!(read(5, &[&bytes]), (expected, None));
        assert_eq!(read(8, &[&bytes]).0[1], text("abécdef"));
    }

    #[test]
    fn an_extreme_length_is_rejected_by_its_header() {
        let header = [&[0x82, 127][..], &(i64::MAX as u64).to_be_bytes()].concat();
        let (_, violation) = read(1_000, &[&header]);
        let violation = violation.unwrap();
        assert_eq!(violation.code, 1009);
        assert!(violation.message.contains("9223372036854775807") && violation.message.contains("max_event_bytes"));
    }

    #[test]
    fn each_violation_has_its_close_code() {
        for (bytes, code) in [
            (&b"\xf1\x00"[..], 1002),
            (b"\x83\x00", 1002),
            (b"\x81\x81", 1002),
            (b"\x09\x00", 1002),
            (b"\x89\x7e", 1002),
            (b"\x80\x00", 1002),
            (b"\x01\x00\x81\x00", 1002),
            (b"\x88\x01\x03", 1002),
            (b"\x88\x02\x03\xed", 1002),
            (b"\x88\x02\x00\x00", 1002),
            (b"\x82\x7f\xff\x00\x00\x00\x00\x00\x00\x00", 1002),
            (b"\x81\x01\xff", 1007),
            (b"\x88\x03\x03\xe8\xff", 1007),
        ] {
            assert_eq!(read(100, &[bytes]).1.map(|violation| violation.code), Some(code), "{bytes:x?}");
        }
    }

    #[test]
    fn a_close_has_a_code_and_a_reason_or_neither() {
        let close = |code, reason: &str| Incoming::Close { code, reason: reason.into() };
        assert_eq!(read(9, &[b"\x88\x00"]).0, [close(None, "")]);
        assert_eq!(read(9, &[b"\x88\x04\x03\xe8ok"]).0, [close(Some(1000), "ok")]);
        assert_eq!(super::close(1002, &"é".repeat(100)).len(), 2 + 122);
    }

    #[test]
    fn written_frames_are_masked() {
        let mut bytes = Vec::new();
        write(Opcode::Text, b"Hello", [0x37, 0xfa, 0x21, 0x3d], &mut bytes);
        assert_eq!(bytes, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
        for length in [125, 126, 65_535, 65_536] {
            let mut bytes = Vec::new();
            write(Opcode::Binary, &vec![7; length], [0; 4], &mut bytes);
            bytes[1] &= 0x7F;
            let mask = bytes.len() - length - 4..bytes.len() - length;
            bytes.drain(mask);
            assert_eq!(read(100_000, &[&bytes]).0, [Incoming::Binary(vec![7; length])]);
        }
    }

    proptest! {
        #[test]
        fn every_split_decodes_the_same(
            frames in prop::collection::vec(
                (prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8a, 0x88]), prop::collection::vec(any::<u8>(), 0..300)),
                0..8,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let bytes: Vec<u8> = frames.iter().flat_map(|(first, payload)| frame(*first, payload)).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(200, &chunks), read(200, &[&bytes]));
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            read(50, &[&bytes]);
        }
    }
}
