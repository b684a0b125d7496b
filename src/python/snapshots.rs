//! Messages as Python objects where each is much like the one before it, as the snapshots of a game are. Of the last message
//! its objects are kept; in them what differs is set anew, and what is given is a copy of them: that is a fraction of the work
//! of reading all of the text again. What comes out is what [`objects`] makes of it.

use crate::live::{Spent, Stream};
use crate::python::dicts::objects;
use crate::scrub::Scrubber;
use crate::table::{Body, number, others};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::sync::{Arc, Mutex};

/// Longer texts are no snapshots, and would be kept for long.
const LONGEST: usize = 256 * 1024;

/// How many arrays and objects may lie in each other. With what is read anew in the innermost of them it stays far from the
/// depth that is refused.
const DEEPEST: usize = 16;

/// After misses in a row so many messages are not compared: two to the power of this at most.
const MOST_MISSES: u32 = 7;

/// What a stream's messages have in common.
#[derive(Default)]
pub struct Snapshots {
    memory: Mutex<Memory>,
    spent: Option<Arc<Spent>>,
    scrubber: Scrubber,
}

#[derive(Default)]
struct Memory {
    last: Option<Last>,
    /// Messages in a row that were not like the one before.
    misses: u32,
    /// So many are not compared.
    uncompared: u32,
}

struct Last {
    text: Vec<u8>,
    root: Node,
}

/// An object or an array. Its Python object is never given away.
struct Node {
    object: Object,
    members: Vec<Member>,
    /// None of them has ever been an object or an array.
    is_flat: bool,
}

enum Object {
    Dict(Py<PyDict>),
    List(Py<PyList>),
}

/// A value in it.
struct Member {
    /// Where its text begins, from that of the node.
    start: usize,
    len: usize,
    /// In an object.
    key: Option<Py<PyAny>>,
    /// Of a value that is an object or an array itself.
    node: Option<Box<Node>>,
}

impl Snapshots {
    pub fn of(stream: &Stream) -> Self {
        Snapshots { memory: Mutex::default(), spent: stream.spent().cloned(), scrubber: stream.scrubber().clone() }
    }

    /// For what is said of its messages.
    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// Nobody looks at this text any more.
    pub fn done_with(&self, text: String) {
        if let Some(spent) = &self.spent {
            spent.give(text);
        }
    }

    /// The JSON of the next message as Python objects, which the caller may change.
    pub fn objects<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let read = || objects(py, &Body::from(text.as_bytes()), &self.scrubber);
        // Who makes objects may be interrupted by the garbage collector, and that by a thread that reads here too.
        let Ok(mut memory) = self.memory.try_lock() else { return read() };
        if memory.uncompared > 0 || text.len() > LONGEST {
            memory.uncompared = memory.uncompared.saturating_sub(1);
            return read();
        }
        if let Some(mut last) = memory.last.take() {
            if last.becomes(py, text.as_bytes()).is_some() {
                memory.misses = 0;
                return memory.last.insert(last).root.copy(py);
            }
            memory.misses = (memory.misses + 1).min(MOST_MISSES);
            memory.uncompared = (1 << memory.misses) - 2;
        }
        let value = read()?;
        match Node::new(&value, text.as_bytes(), 0) {
            Some(root) => memory.last.insert(Last { text: text.into(), root }).root.copy(py),
            None => Ok(value),
        }
    }
}

impl Last {
    /// `None`: the text is not like the last one, or no JSON, and this is good for nothing any more.
    fn becomes(&mut self, py: Python<'_>, text: &[u8]) -> Option<()> {
        let old = self.text.as_slice();
        let (len, _) = self.root.becomes(py, old, old.len(), text, alike(old, text), 0)?;
        self.text.clear();
        self.text.extend_from_slice(text);
        (len == text.len()).then_some(())
    }
}

impl Node {
    /// Of a value that was read from this text, and nothing else stands there.
    fn new(value: &Bound<'_, PyAny>, text: &[u8], depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let mut members = Vec::new();
        let mut at = 1;
        let mut add = |key: Option<Bound<'_, PyAny>>, value: Bound<'_, PyAny>| {
            if !members.is_empty() {
                at = past(text, at, b',')?;
            }
            if key.is_some() {
                at += blanks(text.get(at..)?);
                at = past(text, at + value_len(text.get(at..)?)?, b':')?;
            }
            let start = at + blanks(text.get(at..)?);
            let rest = text.get(start..)?;
            let len = value_len(rest)?;
            at = start + len;
            let node = match rest.first()? {
                b'{' | b'[' => Some(Box::new(Node::new(&value, rest.get(..len)?, depth + 1)?)),
                _ => None,
            };
            members.push(Member { start, len, key: key.map(Bound::unbind), node });
            Some(())
        };
        let (object, end) = if let Ok(dict) = value.cast::<PyDict>() {
            dict.iter().try_for_each(|(key, value)| add(Some(key), value))?;
            (Object::Dict(dict.clone().unbind()), b'}')
        } else if let Ok(list) = value.cast::<PyList>() {
            list.iter().try_for_each(|value| add(None, value))?;
            (Object::List(list.clone().unbind()), b']')
        } else {
            return None;
        };
        // A key that stands twice has one value in the dict, and leaves text.
        let is_flat = members.iter().all(|member| member.node.is_none());
        (past(text, at, end)? == text.len()).then_some(Node { object, members, is_flat })
    }

    /// Sets what differs between the text of this node, so many (`len`) of the first bytes of the old one, and the new one. So
    /// many of the first bytes of both are known to be the `same`. How long its new text is, and up to where the old one is the
    /// same as what the new one goes on with. `None`: keys are gone, or it has another length, and it is good for nothing any
    /// more.
    fn becomes(
        &mut self,
        py: Python<'_>,
        old: &[u8],
        len: usize,
        new: &[u8],
        same: usize,
        depth: usize,
    ) -> Option<(usize, usize)> {
        // Where the old text and the new one part, and how far the new one has got beyond the old one before.
        let (mut same, mut old_at, mut at) = (same, 0_usize, 0_usize);
        let (mut place, mut is_first, mut is_in_order) = (0, true, true);
        loop {
            let shift = at.wrapping_sub(old_at);
            // What ends before they part has stayed. With the byte behind it: a number may have got longer.
            let rest = self.members.get_mut(place..)?;
            let stayed = rest.iter().take_while(|member| member.start + member.len < same).count();
            if shift != 0 {
                rest.iter_mut().take(stayed).for_each(|member| member.start = member.start.wrapping_add(shift));
            }
            (place, is_first) = (place + stayed, is_first && stayed == 0);
            if self.members.get(place).map_or(len, |member| member.start) > same {
                // The new text has a member more here.
                (old_at, at) = match place.checked_sub(1).and_then(|before| self.members.get(before)) {
                    Some(Member { start, len, .. }) if !is_first => (old_at + start + len - at, start + len),
                    _ => (1, at.max(1)),
                };
                at = self.gains(py, place, is_first, new, at, depth)?;
                same = old_at + alike(old.get(old_at..)?, new.get(at..)?);
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
                Some(node) if is.first() == was.first() => node.becomes(py, was, len, is, same - start, depth + 1),
                _ => None,
            };
            let mut followed = None;
            if let Some((len, beyond)) = patched {
                member.len = len;
                followed = Some(start + beyond);
            } else {
                let (value, node, len) = read(py, is, depth + 1)?;
                match (&self.object, &member.key) {
                    (Object::Dict(dict), Some(key)) => dict.bind(py).set_item(key, value).ok()?,
                    (Object::List(list), None) => list.bind(py).set_item(place - 1, value).ok()?,
                    _ => return None,
                }
                self.is_flat &= node.is_none();
                (member.node, member.len) = (node, len);
            }
            (old_at, at) = (start + len, member.start + member.len);
            same = match followed {
                Some(same) => same,
                None => old_at + alike(old.get(old_at..)?, new.get(at..)?),
            };
        }
        if !is_in_order {
            self.put_in_order(py)?;
        }
        Some((at + len - old_at, same))
    }

    /// Reads a member that the new text has here and the old one has not, and puts it at this place; where in the new text the
    /// old one is to go on. `is_first`: no old member stands before it. `None`: it is none, or not one of a new key.
    fn gains(
        &mut self,
        py: Python<'_>,
        place: usize,
        is_first: bool,
        new: &[u8],
        at: usize,
        depth: usize,
    ) -> Option<usize> {
        let is_last = place == self.members.len();
        // The old text has no comma before its first member: it is a new one's, and behind it.
        let has_comma = is_first && !is_last;
        let at = if has_comma || place == 0 { at } else { past(new, at, b',')? };
        let at = at + blanks(new.get(at..)?);
        let (key, start) = match &self.object {
            Object::Dict(dict) if new.first() == Some(&b'{') => {
                let end = at + value_len(new.get(at..)?)?;
                let key = PyString::new(py, plain_string(new.get(at..end)?)?).into_any();
                if dict.bind(py).contains(&key).ok()? {
                    return None;
                }
                let start = past(new, end, b':')?;
                (Some(key), start + blanks(new.get(start..)?))
            }
            Object::List(_) if new.first() == Some(&b'[') && is_last => (None, at),
            _ => return None,
        };
        let (value, node, len) = read(py, new.get(start..)?, depth + 1)?;
        match (&self.object, &key) {
            (Object::Dict(dict), Some(key)) => dict.bind(py).set_item(key, value).ok()?,
            (Object::List(list), None) => list.bind(py).append(value).ok()?,
            _ => return None,
        }
        self.is_flat &= node.is_none();
        self.members.insert(place, Member { start, len, key: key.map(Bound::unbind), node });
        let end = start + len;
        if has_comma { past(new, end, b',') } else { Some(end) }
    }

    /// In the order of the members, which is that of the text.
    fn put_in_order(&mut self, py: Python<'_>) -> Option<()> {
        let Object::Dict(dict) = &self.object else { return None };
        let (dict, ordered) = (dict.bind(py), PyDict::new(py));
        for key in self.members.iter().filter_map(|member| member.key.as_ref()) {
            ordered.set_item(key, dict.get_item(key).ok()??).ok()?;
        }
        self.object = Object::Dict(ordered.unbind());
        Some(())
    }

    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.object {
            Object::Dict(dict) => {
                let copy = dict.bind(py).copy()?;
                for member in self.nesting() {
                    if let (Some(key), Some(node)) = (&member.key, &member.node) {
                        copy.set_item(key, node.copy(py)?)?;
                    }
                }
                Ok(copy.into_any())
            }
            Object::List(list) => {
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

    /// Its members, unless none of them has any.
    fn nesting(&self) -> &[Member] {
        if self.is_flat { &[] } else { &self.members }
    }
}

type Found<'py> = (Bound<'py, PyAny>, Option<Box<Node>>, usize);

/// The value that stands at the beginning, its node, and its length. `None`: it is no JSON.
fn read<'py>(py: Python<'py>, text: &[u8], depth: usize) -> Option<Found<'py>> {
    if let Some((number, len)) = whole_number(text) {
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
            let node = Node::new(&value, text, depth)?;
            Some((value, Some(Box::new(node)), len))
        }
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            Some((objects(py, &Body::from(text), &Scrubber::default()).ok()?, None, len))
        }
        // What may stand before a whole body, such as a byte order mark, may not stand here.
        _ => None,
    }
}

/// A number as most are: up to fifteen digits and no more. And its length.
fn whole_number(text: &[u8]) -> Option<(i64, usize)> {
    let block = text.first_chunk().copied().unwrap_or_else(|| std::array::from_fn(|at| *text.get(at).unwrap_or(&0)));
    let sign = usize::from(block[0] == b'-');
    let end = (others(&block) & !(sign as u32)).trailing_zeros() as usize;
    let count = end.checked_sub(sign).filter(|count| *count > 0)?;
    let word = |at: usize| block.get(at..at + 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let digits = match count {
        ..=8 => number(word(sign)?, count),
        9..=15 => number(word(sign)?, 8) * 10_u64.pow(count as u32 - 8) + number(word(8)? >> (8 * sign), count - 8),
        _ => return None,
    };
    // `007` is no number, and `-0` is one that others have to tell of.
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

/// The length of the value that stands at the beginning, if it is JSON.
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

/// How many bytes at the beginning of both are the same.
fn alike(one: &[u8], other: &[u8]) -> usize {
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

/// Whether a number or a word ends before this byte.
fn is_end(next: Option<&u8>) -> bool {
    matches!(next, Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
}

fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Past this byte and the blanks before it, if that is what comes.
fn past(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = at + blanks(text.get(at..)?);
    (text.get(at) == Some(&byte)).then_some(at + 1)
}
