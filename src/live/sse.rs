//! Event-stream framing (WHATWG HTML, "Server-sent events"): bytes in, events and comments out. Pure and
//! incremental: the result does not depend on how the bytes are split, each item is emitted with its last byte, and time and
//! memory are linear in the input.

use super::options::MAX_SKIPPED_FACTOR;
use std::sync::Arc;
use std::time::Duration;

/// A decoded item of an event stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    Event(SseEvent),
    /// The text after the colon, unstripped; empty for a heartbeat.
    Comment(String),
    /// An event or comment that exceeds the limit, with its size in bytes.
    Skipped(u64),
}

/// A complete event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; `None`: the default, `message`.
    pub event: Option<Arc<str>>,
    pub data: Vec<u8>,
    /// The last event id at its end; empty if there was none.
    pub id: Arc<str>,
}

/// An event or a line is too long even to be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {} bytes, too long even to be skipped (max_event_bytes is {limit})", self.limit.saturating_mul(MAX_SKIPPED_FACTOR))]
pub struct EventTooLarge {
    limit: u64,
}

/// Decodes the stream of one connection. The next connection needs a new decoder, with this one's `last_event_id`.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The maximum of bytes of an event's data, and of a line.
    pub(super) limit: usize,
    /// An incomplete line.
    line: Vec<u8>,
    /// If the line is too long: whether it is a comment, and its bytes so far.
    long_line: Option<(bool, u64)>,
    /// If the event is too long: its bytes so far.
    long_event: Option<u64>,
    /// The event's `data` lines, each followed by a line feed.
    data: Vec<u8>,
    event: Option<Arc<str>>,
    id_buffer: Arc<str>,
    /// The id to send with the next request; empty: none. An incomplete event does not change it.
    pub(super) last_event_id: Arc<str>,
    /// The last valid `retry`.
    pub(super) retry: Option<Duration>,
    /// The last line ended with a carriage return, so a line feed next is part of that line end.
    after_cr: bool,
    /// No line has ended yet, so a byte order mark is allowed.
    at_start: bool,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl SseDecoder {
    pub fn new(limit: usize, last_event_id: Arc<str>) -> Self {
        let id_buffer = last_event_id.clone();
        SseDecoder { limit, id_buffer, last_event_id, at_start: true, ..SseDecoder::default() }
    }

    /// Calls `emit` with each item that these bytes complete. After an error the decoder cannot be used further.
    pub fn feed(&mut self, mut bytes: &[u8], mut emit: impl FnMut(SseItem)) -> Result<(), EventTooLarge> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, ending, rest) = (&bytes[..end], bytes[end], &bytes[end + 1..]);
            self.finish_line(line, &mut emit)?;
            bytes = rest;
            if ending == b'\r' {
                // End the line now: waiting for a line feed would delay the events of a server that sends none.
                self.after_cr = rest.is_empty();
                bytes = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.extend(bytes)
    }

    /// Extends the incomplete line. Only the size of a line that is too long is kept.
    fn extend(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        // `data: ` and a byte order mark do not count towards the event.
        let max_line = self.limit.saturating_add(9);
        if self.long_line.is_none() && self.line.len() + bytes.len() > max_line {
            let begin: Vec<u8> = self.line.iter().chain(bytes).copied().take(BYTE_ORDER_MARK.len() + 1).collect();
            let begin = if self.at_start { begin.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&begin) } else { &begin };
            self.long_line = Some((begin.first() == Some(&b':'), self.line.len() as u64));
            self.line = Vec::new();
        }
        match &mut self.long_line {
            None => self.line.extend_from_slice(bytes),
            Some((_, size)) => {
                *size += bytes.len() as u64;
                let so_far = size.saturating_add(self.long_event.unwrap_or(0));
                self.check(so_far)?;
            }
        }
        Ok(())
    }

    fn check(&self, bytes: u64) -> Result<(), EventTooLarge> {
        let limit = self.limit as u64;
        if bytes > limit.saturating_mul(MAX_SKIPPED_FACTOR).saturating_add(9) {
            Err(EventTooLarge { limit })
        } else {
            Ok(())
        }
    }

    /// Ends a line with these last bytes.
    fn finish_line(&mut self, end: &[u8], emit: &mut impl FnMut(SseItem)) -> Result<(), EventTooLarge> {
        let is_long = self.long_line.is_some() || self.line.len() + end.len() > self.limit.saturating_add(9);
        if !is_long && self.line.is_empty() {
            return self.process_line(end, emit);
        }
        self.extend(end)?;
        if let Some((is_comment, size)) = self.long_line.take() {
            self.at_start = false;
            match is_comment {
                true => emit(SseItem::Skipped(size)),
                false => self.skip(size)?,
            }
            return Ok(());
        }
        let mut line = std::mem::take(&mut self.line);
        let result = self.process_line(&line, emit);
        line.clear();
        line.shrink_to(MAX_LINE_CAPACITY);
        self.line = line;
        result
    }

    /// Skips the event, which became too long with a line of `bytes` bytes. If the line was its id, the id before stays: the next
    /// request repeats events rather than missing some.
    fn skip(&mut self, bytes: u64) -> Result<(), EventTooLarge> {
        let size = self.long_event.unwrap_or(self.data.len() as u64).saturating_add(bytes);
        self.long_event = Some(size);
        self.data = Vec::new();
        self.check(size)
    }

    fn process_line(&mut self, mut line: &[u8], emit: &mut impl FnMut(SseItem)) -> Result<(), EventTooLarge> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            None if line.is_empty() => {
                self.dispatch(emit);
                return Ok(());
            }
            Some(0) => {
                emit(SseItem::Comment(String::from_utf8_lossy(&line[1..]).into_owned()));
                return Ok(());
            }
            Some(colon) => (&line[..colon], line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..])),
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                if self.long_event.is_some() || self.data.len() + value.len() > self.limit {
                    return self.skip(value.len() as u64);
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.event = Some(text(value)),
            // A NUL cannot be sent in a header.
            b"id" if !value.contains(&0) => self.id_buffer = text(value),
            b"retry" => self.retry = milliseconds(value).or(self.retry),
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, emit: &mut impl FnMut(SseItem)) {
        self.last_event_id = self.id_buffer.clone();
        let event = self.event.take().filter(|event| !event.is_empty());
        if let Some(size) = self.long_event.take() {
            emit(SseItem::Skipped(size));
            return;
        }
        if self.data.pop().is_none() {
            return;
        }
        emit(SseItem::Event(SseEvent { event, data: std::mem::take(&mut self.data), id: self.last_event_id.clone() }));
    }
}

/// Maximum capacity that the line buffer keeps.
const MAX_LINE_CAPACITY: usize = 64 * 1024;

fn text(value: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(value).into()
}

/// Parses ASCII digits; a number beyond 64 bits is ignored.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::live::fuzz::{decode_by_the_standard, replace_invalid};
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> (Vec<SseItem>, SseDecoder) {
        let mut decoder = SseDecoder::new(1 << 20, "".into());
        let mut items = Vec::new();
        chunks.iter().for_each(|chunk| decoder.feed(chunk, |item| items.push(item)).unwrap());
        (items, decoder)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn every_split_decodes_as_the_standard_says(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "data", "event", "id", "retry", "Data", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "x", "12", "\0", "\u{feff}",
                "é", "data: y\n\n", "id: 7\n", "retry: 5\n", ":\n\n",
            ]), 0..40),
            noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut bytes = pieces.concat().into_bytes();
            for (at, byte) in noise {
                let at = at.index(bytes.len() + 1);
                bytes.insert(at, byte);
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let (items, decoder) = read(&chunks);
            let (expected, id, retry) = decode_by_the_standard(&bytes);
            prop_assert_eq!(items.into_iter().map(replace_invalid).collect::<Vec<_>>(), expected);
            prop_assert_eq!(&*decoder.last_event_id, id.as_str());
            prop_assert_eq!(decoder.retry, retry.map(Duration::from_millis));
        }
    }

    #[test]
    fn an_event_is_emitted_with_its_last_byte() {
        for (text, at) in [("data: x\n\n", 9), ("data: x\r\r", 9), ("data: x\r\n\r\n", 10)] {
            let mut decoder = SseDecoder::new(100, "".into());
            let mut out = None;
            for (n, byte) in text.bytes().enumerate() {
                decoder.feed(&[byte], |_| out = Some(n + 1)).unwrap();
            }
            assert_eq!(out, Some(at), "{text:?}");
        }
    }

    #[test]
    fn an_oversized_item_is_skipped_with_its_size_and_the_next_one_is_read() {
        let all = |limit: usize, bytes: &[u8]| {
            let mut decoder = SseDecoder::new(limit, "".into());
            let mut seen = Vec::new();
            let describe = |item: SseItem, seen: &mut Vec<String>| match item {
                SseItem::Event(event) => seen.push(String::from_utf8(event.data).unwrap()),
                SseItem::Comment(text) => seen.push(format!(":{text}")),
                SseItem::Skipped(size) => seen.push(format!("skipped {size}")),
            };
            let end = bytes.chunks(3).try_for_each(|chunk| decoder.feed(chunk, |item| describe(item, &mut seen)));
            (seen.join(", "), end.is_ok(), decoder.last_event_id.to_string())
        };
        let ok = |seen: &str, id: &str| (seen.to_string(), true, id.to_string());
        assert_eq!(all(10, b"data: 1234567890\n\n"), ok("1234567890", ""));
        assert_eq!(all(10, b"data: 12345678901\n\ndata: a\n\n"), ok("skipped 11, a", ""));
        assert_eq!(all(10, b"data: 12345\ndata:6789\n\n"), ok("12345\n6789", ""));
        assert_eq!(all(10, b"data: 12345\ndata:67890\ndata: x\n\ndata: b\n\n"), ok("skipped 12, b", ""));
        let long = [&b"id: 7\ndata: "[..], &[b'x'; 40], b"\nevent: a\n\ndata: c\n\n"].concat();
        assert_eq!(all(10, &long), ok("skipped 46, c", "7"));
        let id = [&b"id: 7\ndata: a\n\nid: "[..], &[b'8'; 40], b"\ndata: b\n\ndata: c\n\n"].concat();
        assert_eq!(all(10, &id), ok("a, skipped 45, c", "7"));
        let comment = [&b"data: d\n:"[..], &[b'x'; 40], b"\n\n"].concat();
        assert_eq!(all(10, &comment), ok("skipped 41, d", ""));
        let first = [&b"\xEF\xBB\xBF:"[..], &[b'x'; 40], b"\n\n"].concat();
        assert_eq!(all(10, &first), ok("skipped 44", ""));
        for endless in [[b'x'; 400], [b':'; 400]] {
            assert!(!all(10, &endless).1, "a line without an end");
        }
        assert!(!all(10, &b"data: 1234567\n".repeat(100)).1, "an event without an end");
        assert!(EventTooLarge { limit: 10 }.to_string().contains("max_event_bytes is 10"));
    }

    #[test]
    fn an_incomplete_event_changes_nothing() {
        let (items, decoder) = read(&[b"id: a\ndata: 1\n\nid: b\ndata: 2\n"]);
        assert_eq!(items.len(), 1);
        assert_eq!(&*decoder.last_event_id, "a");
    }

    /// A decoder that scans its buffer again with each chunk takes minutes for this.
    #[test]
    fn a_long_line_in_small_chunks_takes_linear_time() {
        let mut decoder = SseDecoder::new(64 << 20, "".into());
        decoder.feed(b"data: ", |_| ()).unwrap();
        (0..16 << 20 >> 6).for_each(|_| decoder.feed(&[b'y'; 64], |_| ()).unwrap());
        let mut length = 0;
        decoder
            .feed(b"\n\n", |item| {
                if let SseItem::Event(event) = item {
                    length = event.data.len();
                }
            })
            .unwrap();
        assert_eq!(length, 16 << 20);
    }
}
