//! Incremental JSON: parses messages that differ little from the previous one, such as the snapshots of a game. The
//! parser keeps the Python objects of the last message, patches what differs, and returns a copy, in a fraction of the
//! time of parsing it all. The result equals that of [`objects`].

use crate::dicts::objects;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use reader::{
    Body,
    simd::{non_digit_mask, parse_digits},
};
use sideline::live::{BufferPool, Stream};
use sideline::scrub::Scrubber;
use std::sync::{Arc, Mutex};

/// Longer messages are not snapshots, and would be kept for long.
const MAX_MESSAGE_LEN: usize = 256 * 1024;

/// Maximum nesting. Together with the values parsed inside it stays far below the depth that `objects` rejects.
const MAX_DEPTH: usize = 16;

/// After `n` misses in a row, 2^n - 2 messages are not compared; this bounds `n`.
const MAX_MISSES: u32 = 7;

/// The parser of one stream's messages.
#[derive(Default)]
pub(crate) struct IncrementalParser {
    state: Mutex<ParserState>,
    pool: Option<Arc<BufferPool>>,
    scrubber: Scrubber,
}

#[derive(Default)]
struct ParserState {
    last: Option<LastMessage>,
    /// Messages in a row that could not be patched.
    misses: u32,
    /// How many further messages to parse without comparing.
    skip_count: u32,
}

struct LastMessage {
    text: Vec<u8>,
    root: JsonNode,
}

/// An object or array of the last message. Its Python object is never given away, only copies.
struct JsonNode {
    object: Container,
    members: Vec<NodeMember>,
    /// Whether no member has ever been an object or array.
    is_flat: bool,
}

enum Container {
    Dict(Py<PyDict>),
    List(Py<PyList>),
}

/// A value in a node.
struct NodeMember {
    /// Start of its text, relative to the node's text.
    start: usize,
    len: usize,
    /// Its key, in an object.
    key: Option<Py<PyAny>>,
    /// Its node, if the value is an object or array.
    node: Option<Box<JsonNode>>,
}

impl IncrementalParser {
    pub(crate) fn of(stream: &Stream) -> Self {
        IncrementalParser {
            state: Mutex::default(),
            pool: stream.buffer_pool().cloned(),
            scrubber: stream.scrubber().clone(),
        }
    }

    /// For errors about its messages.
    pub(crate) fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// Returns a message's buffer to the pool.
    pub(crate) fn recycle(&self, text: String) {
        if let Some(pool) = &self.pool {
            pool.put(text);
        }
    }

    /// The next message as Python objects, which the caller may change.
    pub(crate) fn objects<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let read = || objects(py, &Body::from(text.as_bytes()), &self.scrubber);
        // Making objects may run the garbage collector, and so another call of this method.
        let Ok(mut state) = self.state.try_lock() else { return read() };
        if state.skip_count > 0 || text.len() > MAX_MESSAGE_LEN {
            state.skip_count = state.skip_count.saturating_sub(1);
            return read();
        }
        if let Some(mut last) = state.last.take() {
            if last.patch(py, text.as_bytes()).is_some() {
                state.misses = 0;
                return state.last.insert(last).root.copy(py);
            }
            state.misses = (state.misses + 1).min(MAX_MISSES);
            state.skip_count = (1 << state.misses) - 2;
        }
        let value = read()?;
        match JsonNode::new(&value, text.as_bytes(), 0) {
            Some(root) => state.last.insert(LastMessage { text: text.into(), root }).root.copy(py),
            None => Ok(value),
        }
    }
}

impl LastMessage {
    /// Patches the message to `text`. `None`: it cannot be patched or is not JSON, and this value must be dropped.
    fn patch(&mut self, py: Python<'_>, text: &[u8]) -> Option<()> {
        let old = self.text.as_slice();
        let (len, _) = self.root.patch(py, old, old.len(), text, common_prefix(old, text), 0)?;
        self.text.clear();
        self.text.extend_from_slice(text);
        (len == text.len()).then_some(())
    }
}

impl JsonNode {
    /// A node for a `value` that was parsed from exactly this text.
    fn new(value: &Bound<'_, PyAny>, text: &[u8], depth: usize) -> Option<JsonNode> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut members = Vec::new();
        let mut at = 1;
        let mut add = |key: Option<Bound<'_, PyAny>>, value: Bound<'_, PyAny>| {
            if !members.is_empty() {
                at = past(text, at, b',')?;
            }
            if key.is_some() {
                at += whitespace_len(text.get(at..)?);
                at = past(text, at + value_len(text.get(at..)?)?, b':')?;
            }
            let start = at + whitespace_len(text.get(at..)?);
            let rest = text.get(start..)?;
            let len = value_len(rest)?;
            at = start + len;
            let node = match rest.first()? {
                b'{' | b'[' => Some(Box::new(JsonNode::new(&value, rest.get(..len)?, depth + 1)?)),
                _ => None,
            };
            members.push(NodeMember { start, len, key: key.map(Bound::unbind), node });
            Some(())
        };
        let (object, end) = if let Ok(dict) = value.cast::<PyDict>() {
            dict.iter().try_for_each(|(key, value)| add(Some(key), value))?;
            (Container::Dict(dict.clone().unbind()), b'}')
        } else if let Ok(list) = value.cast::<PyList>() {
            list.iter().try_for_each(|value| add(None, value))?;
            (Container::List(list.clone().unbind()), b']')
        } else {
            return None;
        };
        // A duplicate key leaves text over, since the dict has only one of the values.
        let is_flat = members.iter().all(|member| member.node.is_none());
        (past(text, at, end)? == text.len()).then_some(JsonNode { object, members, is_flat })
    }

    /// Patches this node in place so that it represents `new`. `old[..len]` is its previous text; the first `same`
    /// bytes are known to be equal. Returns the new length and the next differing offset, or `None` if the node cannot
    /// be patched.
    fn patch(
        &mut self,
        py: Python<'_>,
        old: &[u8],
        len: usize,
        new: &[u8],
        same: usize,
        depth: usize,
    ) -> Option<(usize, usize)> {
        // `at` and `old_at` are the end of the last member in the new and the old text.
        let (mut same, mut old_at, mut at) = (same, 0_usize, 0_usize);
        let (mut place, mut is_first, mut is_in_order) = (0, true, true);
        loop {
            let shift = at.wrapping_sub(old_at);
            // Members that end before the difference are unchanged. A number directly before it may have grown.
            let rest = self.members.get_mut(place..)?;
            let unchanged = rest.iter().take_while(|member| member.start + member.len < same).count();
            if shift != 0 {
                rest.iter_mut().take(unchanged).for_each(|member| member.start = member.start.wrapping_add(shift));
            }
            (place, is_first) = (place + unchanged, is_first && unchanged == 0);
            if self.members.get(place).map_or(len, |member| member.start) > same {
                // The new text has an additional member here.
                (old_at, at) = match place.checked_sub(1).and_then(|before| self.members.get(before)) {
                    Some(NodeMember { start, len, .. }) if !is_first => (old_at + start + len - at, start + len),
                    _ => (1, at.max(1)),
                };
                at = self.insert_member(py, place, is_first, new, at, depth)?;
                same = old_at + common_prefix(old.get(old_at..)?, new.get(at..)?);
                place += 1;
                is_in_order &= place == self.members.len();
                continue;
            }
            let Some(member) = self.members.get_mut(place) else { break };
            let (start, len) = (member.start, member.len);
            member.start = start.wrapping_add(shift);
            (place, is_first) = (place + 1, false);
            let (was, is) = (old.get(start..)?, new.get(member.start..)?);
            let patched = match &mut member.node {
                Some(node) if is.first() == was.first() => node.patch(py, was, len, is, same - start, depth + 1),
                _ => None,
            };
            let mut followed = None;
            if let Some((len, beyond)) = patched {
                member.len = len;
                followed = Some(start + beyond);
            } else {
                let (value, node, len) = read(py, is, depth + 1)?;
                match (&self.object, &member.key) {
                    (Container::Dict(dict), Some(key)) => dict.bind(py).set_item(key, value).ok()?,
                    (Container::List(list), None) => list.bind(py).set_item(place - 1, value).ok()?,
                    _ => return None,
                }
                self.is_flat &= node.is_none();
                (member.node, member.len) = (node, len);
            }
            (old_at, at) = (start + len, member.start + member.len);
            same = match followed {
                Some(same) => same,
                None => old_at + common_prefix(old.get(old_at..)?, new.get(at..)?),
            };
        }
        if !is_in_order {
            self.sort_keys(py)?;
        }
        Some((at + len - old_at, same))
    }

    /// Parses a member that exists only in `new` and inserts it at index `place`; returns the offset where old and new
    /// line up again. `is_first`: no old member precedes it. `None`: it is not a member with a new key.
    fn insert_member(
        &mut self,
        py: Python<'_>,
        place: usize,
        is_first: bool,
        new: &[u8],
        at: usize,
        depth: usize,
    ) -> Option<usize> {
        let is_last = place == self.members.len();
        // Before the first old member, the comma follows the new member.
        let has_comma = is_first && !is_last;
        let at = if has_comma || place == 0 { at } else { past(new, at, b',')? };
        let at = at + whitespace_len(new.get(at..)?);
        let (key, start) = match &self.object {
            Container::Dict(dict) if new.first() == Some(&b'{') => {
                let end = at + value_len(new.get(at..)?)?;
                let key = PyString::new(py, plain_string(new.get(at..end)?)?).into_any();
                if dict.bind(py).contains(&key).ok()? {
                    return None;
                }
                let start = past(new, end, b':')?;
                (Some(key), start + whitespace_len(new.get(start..)?))
            }
            Container::List(_) if new.first() == Some(&b'[') && is_last => (None, at),
            _ => return None,
        };
        let (value, node, len) = read(py, new.get(start..)?, depth + 1)?;
        match (&self.object, &key) {
            (Container::Dict(dict), Some(key)) => dict.bind(py).set_item(key, value).ok()?,
            (Container::List(list), None) => list.bind(py).append(value).ok()?,
            _ => return None,
        }
        self.is_flat &= node.is_none();
        self.members.insert(place, NodeMember { start, len, key: key.map(Bound::unbind), node });
        let end = start + len;
        if has_comma { past(new, end, b',') } else { Some(end) }
    }

    /// Sorts the dict's keys in the order of the members, which is that of the text.
    fn sort_keys(&mut self, py: Python<'_>) -> Option<()> {
        let Container::Dict(dict) = &self.object else { return None };
        let (dict, ordered) = (dict.bind(py), PyDict::new(py));
        for key in self.members.iter().filter_map(|member| member.key.as_ref()) {
            ordered.set_item(key, dict.get_item(key).ok()??).ok()?;
        }
        self.object = Container::Dict(ordered.unbind());
        Some(())
    }

    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.object {
            Container::Dict(dict) => {
                let copy = dict.bind(py).copy()?;
                for member in self.nesting() {
                    if let (Some(key), Some(node)) = (&member.key, &member.node) {
                        copy.set_item(key, node.copy(py)?)?;
                    }
                }
                Ok(copy.into_any())
            }
            Container::List(list) => {
                let copy = list.bind(py).get_slice(0, self.members.len());
                for (place, member) in self.nesting().iter().enumerate() {
                    if let Some(node) = &member.node {
                        copy.set_item(place, node.copy(py)?)?;
                    }
                }
                Ok(copy.into_any())
            }
        }
    }

    /// The members that may have nodes.
    fn nesting(&self) -> &[NodeMember] {
        if self.is_flat { &[] } else { &self.members }
    }
}

type ParsedValue<'py> = (Bound<'py, PyAny>, Option<Box<JsonNode>>, usize);

/// Parses the value at the start of `text`; returns it with its node and length. `None`: it is not JSON.
fn read<'py>(py: Python<'py>, text: &[u8], depth: usize) -> Option<ParsedValue<'py>> {
    if let Some((number, len)) = integer(text) {
        return Some((number.into_pyobject(py).ok()?.into_any(), None, len));
    }
    let len = value_len(text)?;
    let text = text.get(..len)?;
    if let Some(text) = plain_string(text) {
        return Some((PyString::new(py, text).into_any(), None, len));
    }
    match text.first()? {
        b'{' | b'[' => {
            let value = objects(py, &Body::from(text), &Scrubber::default()).ok()?;
            let node = JsonNode::new(&value, text, depth)?;
            Some((value, Some(Box::new(node)), len))
        }
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            Some((objects(py, &Body::from(text), &Scrubber::default()).ok()?, None, len))
        }
        // Only a whole body may begin with a byte order mark.
        _ => None,
    }
}

/// An integer of up to fifteen digits, and its length.
fn integer(text: &[u8]) -> Option<(i64, usize)> {
    let block = text.first_chunk().copied().unwrap_or_else(|| std::array::from_fn(|at| *text.get(at).unwrap_or(&0)));
    let sign = usize::from(block[0] == b'-');
    let end = (non_digit_mask(&block) & !(sign as u32)).trailing_zeros() as usize;
    let count = end.checked_sub(sign).filter(|count| *count > 0)?;
    let word = |at: usize| block.get(at..at + 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let digits = match count {
        ..=8 => parse_digits(word(sign)?, count),
        9..=15 => {
            parse_digits(word(sign)?, 8) * 10_u64.pow(count as u32 - 8)
                + parse_digits(word(8)? >> (8 * sign), count - 8)
        }
        _ => return None,
    };
    // `007` is not a number, and `-0` is a float; both are left to `objects`.
    let is_plain = block[sign] != b'0' || (count == 1 && sign == 0);
    let value = digits as i64;
    (is_plain && is_end(text.get(end))).then_some((if sign == 1 { -value } else { value }, end))
}

/// The text of a string without escapes.
fn plain_string(text: &[u8]) -> Option<&str> {
    let inside = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let is_plain = inside.iter().all(|byte| *byte >= b' ' && *byte != b'\\' && *byte != b'"');
    if is_plain { std::str::from_utf8(inside).ok() } else { None }
}

/// The length of the value at the start, if it is JSON.
fn value_len(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_len(text),
        b'{' | b'[' => {
            let (mut open, mut at) = (0_usize, 0);
            loop {
                match text.get(at)? {
                    b'"' => {
                        at += string_len(text.get(at..)?)?;
                        continue;
                    }
                    b'{' | b'[' => open += 1,
                    b'}' | b']' => open -= 1,
                    _ => {}
                }
                at += 1;
                if open == 0 {
                    return Some(at);
                }
            }
        }
        _ => text.iter().position(|byte| is_end(Some(byte))),
    }
}

fn string_len(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Length of the common prefix.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let (ones, others) = (one.as_chunks::<32>().0, other.as_chunks::<32>().0);
    let same = 32 * ones.iter().zip(others).take_while(|(one, other)| one == other).count();
    let (one, other) = (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
    let (ones, others) = (one.as_chunks::<16>().0, other.as_chunks::<16>().0);
    for (place, (one, other)) in ones.iter().zip(others).enumerate() {
        let differs = u128::from_le_bytes(*one) ^ u128::from_le_bytes(*other);
        if differs != 0 {
            return same + 16 * place + differs.trailing_zeros() as usize / 8;
        }
    }
    let whole = 16 * ones.len().min(others.len());
    let rest = one.iter().zip(other).skip(whole);
    same + whole + rest.take_while(|(one, other)| one == other).count()
}

/// Whether a number or literal ends before this byte.
fn is_end(next: Option<&u8>) -> bool {
    matches!(next, Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
}

fn whitespace_len(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// The offset after `byte` and the whitespace before it, if `byte` is next.
fn past(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = at + whitespace_len(text.get(at..)?);
    (text.get(at) == Some(&byte)).then_some(at + 1)
}
