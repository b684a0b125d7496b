//! What a body holds, found in one pass that builds nothing: the paths that no declaration knows, and whether every table is
//! sure to decode. Every answer is walked as it comes, so a body that fits costs one comparison for each key and the reading
//! of its values: the key that followed last time is tried first.
//!
//! That a body fits is never said too soon. What is odd, though it may well decode (a key that stands twice, a row without
//! its id where there are no rows), is left to decoding.

use super::Context;
use super::DecodeError;
use super::brackets::Brackets;
use super::cursor::Cursor;
use super::decl::{Resource, Root, Ty};
use super::extent::{Extent, Longest, OpenKeys};
use super::fault::{Fault, Read, Wanted};
use super::finish;
use super::known::{Fit, Known, Node, known, member};
use super::lists::each;
use super::number::WholeOrNot;
use super::repeats::Repeats;
use super::scalars;
use std::collections::{HashMap, HashSet};

/// Beyond so many paths of one body none is noted: where data stands as keys, each would be a path.
pub const MAX_UNKNOWN: usize = 1000;

/// What the path of a number ends in that is not whole where a table has integers.
const NOT_WHOLE: &str = "(not a whole number)";

/// A path that no declaration knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// As the body spells it, such as `teams[].new`; `games[] (missing)` for rows that should have been there;
    /// `players[].sensor (not a whole number)` for a value that a table cannot hold.
    pub path: String,
    /// The JSON type of an example: of the first value that was not null, where there is one. `None` where it is missing.
    pub kind: Option<&'static str>,
    /// Byte of the body at which the first value stands; of what is missing, 0.
    pub offset: usize,
}

/// What a pass over a body found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Paths that no declaration knows, in the order met, then row paths that should have been there and never were.
    pub unknown: Vec<Unknown>,
    /// The rows of the first table, where every table is sure to decode. `None`: decoding tells.
    pub rows: Option<usize>,
    /// Why the body is no answer of the resource: its root is missing. Then nothing else is known.
    pub root: Option<DecodeError>,
}

/// Surveys a body whose documents lie at `root`, and notes its brackets. Without a context only what is unknown is looked
/// for. A fault comes with its offset.
pub(super) fn survey(
    resource: &'static Resource,
    root: &'static Root,
    context: Option<&Context>,
    cursor: Cursor,
) -> Result<(Survey, Option<Brackets>), (Fault, usize)> {
    let known = known(resource, root);
    let has = |(name, ty): &(&str, Ty)| {
        context
            .and_then(|context| context.get(name))
            .is_some_and(|value| *ty != Ty::Int64 || finish::digits(value).is_some())
    };
    let mut walk = Walk {
        known: &known,
        cursor,
        next: vec![0; known.places],
        met: vec![false; known.nodes.len()],
        found: Vec::new(),
        places: HashMap::new(),
        not_whole: HashSet::new(),
        fits: known.tells && context.is_some() && known.requests.iter().all(has),
        repeats: Repeats::default(),
        elements: vec![0; known.nodes.len()],
        longest: Longest { text: context.map_or(0, Context::longest), list: 0 },
        open: OpenKeys::default(),
        brackets: Brackets::of(resource, cursor.len()),
    };
    match walk.body() {
        Ok(()) => {
            walk.missing(0);
            let rows = known.extents.first().map(|first| walk.elements[first.node]);
            let fits = walk.fits && walk.has_room();
            Ok((Survey { rows: rows.filter(|_| fits), unknown: walk.found, root: None }, walk.brackets))
        }
        Err(fault) => Err((fault, walk.cursor.position())),
    }
}

struct Walk<'a> {
    known: &'a Known,
    cursor: Cursor<'a>,
    /// For each key of each node, and for the start of its objects: the key that followed last time.
    next: Vec<u16>,
    met: Vec<bool>,
    found: Vec<Unknown>,
    /// Where in `found` the unknown keys of each node stand.
    places: HashMap<usize, HashMap<String, usize>>,
    /// Nodes with a number that is not whole.
    not_whole: HashSet<usize>,
    /// So far every table decodes.
    fits: bool,
    repeats: Repeats,
    /// Of each node.
    elements: Vec<usize>,
    longest: Longest,
    open: OpenKeys<'a>,
    brackets: Option<Brackets>,
}

impl<'a> Walk<'a> {
    fn body(&mut self) -> Read<()> {
        self.cursor.whitespace();
        if self.cursor.byte() == b'n' {
            self.cursor.skip_checked()?;
        } else {
            self.element(0)?;
        }
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(()) } else { Err(Fault::Trailing) }
    }

    /// Whether each table fits even if all its rows repeat the longest values.
    fn has_room(&self) -> bool {
        let body = self.cursor.len();
        let fits = |table: &Extent| table.fits(self.elements[table.node], self.longest, self.open.len(), body);
        self.known.extents.iter().all(fits)
    }

    fn element(&mut self, at: usize) -> Read<()> {
        let known: &'a Known = self.known;
        self.elements[at] += 1;
        let here = self.cursor;
        let has_value = self.value(at)?;
        if known.nodes[at].is_root && (!has_value || (here.byte() != b'{' && known.nodes[at].is_object())) {
            self.cursor = here;
            return Err(Fault::Document);
        }
        self.fits &= has_value || !known.nodes[at].is_needed;
        Ok(())
    }

    /// One value; whether it is none but null.
    fn value(&mut self, at: usize) -> Read<bool> {
        let known: &'a Known = self.known;
        let node = &known.nodes[at];
        self.met[at] = true;
        let here = self.cursor;
        if here.byte() == b'n' {
            return self.cursor.skip_checked().map(|()| false);
        }
        let opened = self.brackets.as_mut().map(|brackets| brackets.open(here.position()));
        self.value_at(at, node, here)?;
        if let (Some(brackets), Some(opened)) = (&mut self.brackets, opened) {
            brackets.close(opened, self.cursor.position());
        }
        Ok(true)
    }

    /// The same, of one that is not null.
    #[inline(always)]
    fn value_at(&mut self, at: usize, node: &'a Node, here: Cursor<'a>) -> Read<()> {
        for fit in &node.fits {
            self.cursor = here;
            self.fit(*fit, at)?;
        }
        if node.is_skipped || !(node.is_object() || node.each.is_some()) {
            if node.fits.is_empty() && !self.cursor.skip_flat() {
                self.cursor.skip_checked()?;
            }
            return Ok(());
        }
        self.cursor = here;
        match (self.cursor.byte(), node.each) {
            (b'{', each) if each.is_none() || node.is_object() => self.object(at, node)?,
            (b'[', Some(each)) => self.array(each)?,
            // `[?]`: a value that counts as the only element.
            (_, Some(each)) => {
                self.fits &= node.or_one;
                self.element(each)?;
            }
            (_, None) => {
                self.fits = false;
                self.cursor.skip_checked()?;
            }
        }
        Ok(())
    }

    /// Over a value; where a column does not take it, that is noted.
    #[inline(always)]
    fn fit(&mut self, fit: Fit, at: usize) -> Read<()> {
        let here = self.cursor;
        if let Fit::Count | Fit::Time = fit {
            match self.cursor.short_integer() {
                Some(_) => return Ok(()),
                None => return self.whole(fit, at),
            }
        }
        if self.fits {
            let read = match fit {
                Fit::Integer => self.cursor.integer().is_ok(),
                Fit::Float => self.cursor.float().is_ok(),
                Fit::Text => match self.cursor.plain_string() {
                    Some(plain) => {
                        self.longest.text = self.longest.text.max(plain.len());
                        true
                    }
                    None => self.odd_fit(fit).is_ok(),
                },
                _ => self.odd_fit(fit).is_ok(),
            };
            if read {
                return Ok(());
            }
            self.fits = false;
            self.cursor = here;
        }
        self.cursor.skip_checked()
    }

    /// A number where whole ones are expected: others are reported.
    #[inline(never)]
    fn whole(&mut self, fit: Fit, at: usize) -> Read<()> {
        let here = self.cursor;
        let Ok(number) = self.cursor.whole() else {
            self.fits = false;
            self.cursor = here;
            return self.cursor.skip_checked();
        };
        if matches!(number, WholeOrNot::Whole(_)) {
            return Ok(());
        }
        // A time that a row needs is null where it is too large.
        self.fits &= fit == Fit::Count || number.floor().is_some() || !self.known.nodes[at].is_needed;
        if self.not_whole.insert(at) {
            let path = format!("{} {NOT_WHOLE}", self.known.nodes[at].path);
            self.found.push(Unknown { path, kind: Some("number"), offset: here.position() });
        }
        Ok(())
    }

    #[inline(never)]
    fn odd_fit(&mut self, fit: Fit) -> Read<()> {
        let here = self.cursor;
        let cursor = &mut self.cursor;
        match fit {
            Fit::Integer | Fit::Count | Fit::Time => drop(cursor.integer()?),
            Fit::Position => {
                if let Some(position) = cursor.integer()? {
                    i32::try_from(position).map_err(|_| Fault::Range)?;
                }
            }
            Fit::Float => drop(cursor.float()?),
            Fit::LinkMs(parameter) => {
                let link = cursor.text(Wanted::Text)?;
                link.and_then(|link| scalars::link_ms(&link, parameter)).ok_or(Fault::Engine)?;
            }
            Fit::Make if cursor.byte() == b'"' => cursor.skip_string()?,
            Fit::Boolean | Fit::Make => drop(cursor.boolean()?),
            Fit::Text => drop(cursor.text(Wanted::Text)?),
            Fit::Links if cursor.byte() != b'[' => drop(cursor.text(Wanted::Links)?),
            Fit::Links | Fit::Texts => drop(each(cursor, |cursor| cursor.text(Wanted::Text).map(drop))?),
            Fit::Integers => drop(each(cursor, |cursor| cursor.integer().map(drop))?),
            Fit::Floats => self.floats()?,
        }
        let len = self.cursor.since(&here).len();
        match fit {
            Fit::Links | Fit::Texts | Fit::Integers | Fit::Floats => self.longest.list = self.longest.list.max(len),
            _ => self.longest.text = self.longest.text.max(len),
        }
        Ok(())
    }

    fn floats(&mut self) -> Read<()> {
        if self.cursor.byte() != b'{' {
            return self.cursor.null_or(Wanted::Object);
        }
        self.cursor.advance(1);
        if !self.cursor.opened(b'}') {
            return Ok(());
        }
        self.repeats.open();
        loop {
            let key = self.cursor.string()?;
            self.cursor.colon()?;
            self.fits &= !self.repeats.meets(&key);
            self.cursor.float()?;
            if !self.cursor.another(b'}')? {
                self.repeats.close();
                return Ok(());
            }
        }
    }

    fn array(&mut self, each: usize) -> Read<()> {
        self.cursor.advance(1);
        if !self.cursor.opened(b']') {
            return Ok(());
        }
        loop {
            self.element(each)?;
            if !self.cursor.another(b']')? {
                return Ok(());
            }
        }
    }

    fn object(&mut self, at: usize, node: &'a Node) -> Read<()> {
        let has_data_keys = node.map.is_some() || node.open;
        if has_data_keys {
            self.repeats.open();
        }
        let present = self.members(at, node, has_data_keys)?;
        if has_data_keys {
            self.repeats.close();
        }
        if node.is_needed {
            let is_there = |number: usize| 1u64.checked_shl(number as u32).is_some_and(|bit| present & bit != 0);
            self.fits &= (0..node.keys.len()).all(|number| !node.keys[number].is_needed || is_there(number));
        }
        Ok(())
    }

    /// The members of an object; gives the bits of the declared ones that are not null.
    fn members(&mut self, at: usize, node: &'a Node, has_data_keys: bool) -> Read<u64> {
        let known: &'a Known = self.known;
        let (mut seen, mut nulls) = (0u64, 0u64);
        self.cursor.advance(1);
        if !self.cursor.opened(b'}') {
            return Ok(0);
        }
        let mut place = node.place;
        loop {
            let expected = usize::from(self.next[place]);
            let declared = match node.keys.get(expected) {
                Some(member) if !has_data_keys && member.step.is_at(&self.cursor) => {
                    self.cursor.advance(member.step.len());
                    self.cursor.whitespace();
                    Some(expected)
                }
                _ => self.other_key(at, node, place)?,
            };
            if let Some(number) = declared {
                place = node.place + 1 + number;
                let bit = 1u64.checked_shl(number as u32).unwrap_or_default();
                self.fits &= seen & bit == 0;
                let member = &node.keys[number];
                if seen & bit != 0 && known.nodes[member.below].leads_to_root {
                    return Err(Fault::RepeatedKey);
                }
                seen |= bit;
                let has_value = match member.fit {
                    Some(fit) if self.cursor.byte() != b'n' => self.fit(fit, member.below).map(|()| true)?,
                    _ => self.value(member.below)?,
                };
                if !has_value {
                    nulls |= bit;
                }
            }
            if !self.cursor.another(b'}')? {
                return Ok(seen & !nulls);
            }
        }
    }

    /// A key that is not the one that was expected. The cursor comes to the value of a declared one, and over an unknown one.
    #[inline(never)]
    fn other_key(&mut self, at: usize, node: &'a Node, place: usize) -> Read<Option<usize>> {
        if self.cursor.byte() != b'"' {
            return Err(Fault::Key);
        }
        let key = self.cursor.string()?;
        self.cursor.colon()?;
        let value = self.cursor;
        let declared = node.keys.iter().position(|member| member.step.key() == &*key);
        if node.map.is_some() || node.open {
            self.longest.text = self.longest.text.max(key.len());
            self.fits &= !self.repeats.meets(&key);
        }
        if node.open && declared.is_none() {
            self.open.note(key.clone());
            self.fit(Fit::Float, at)?;
        }
        if let Some(map) = node.map {
            self.cursor = value;
            self.element(map)?;
        }
        if let Some(number) = declared {
            self.cursor = value;
            self.next[place] = u16::try_from(number).unwrap_or_default();
        } else if !node.open && node.map.is_none() {
            self.unknown(at, node, &String::from_utf8_lossy(&key));
            self.cursor.skip_checked()?;
        }
        Ok(declared)
    }

    fn unknown(&mut self, at: usize, node: &Node, key: &str) {
        let kind = match self.cursor.byte() {
            b'"' => "string",
            b'{' => "object",
            b'[' => "array",
            b't' | b'f' => "boolean",
            b'n' => "null",
            _ => "number",
        };
        let places = self.places.entry(at).or_default();
        let is_full = self.found.len() >= MAX_UNKNOWN;
        match places.get(key).and_then(|place| self.found.get_mut(*place)) {
            Some(found) if found.kind == Some("null") => found.kind = Some(kind),
            Some(_) => {}
            None if is_full => {}
            None => {
                places.insert(key.to_owned(), self.found.len());
                let offset = self.cursor.position();
                self.found.push(Unknown { path: member(&node.path, key), kind: Some(kind), offset });
            }
        }
    }

    /// Containers of rows that should have been there and never were: a renamed one must not be a quietly empty table.
    fn missing(&mut self, at: usize) {
        let known: &'a Known = self.known;
        let node = &known.nodes[at];
        for below in node.keys.iter().map(|member| member.below) {
            let field = &known.nodes[below];
            if self.met[below] {
                self.missing(below);
            } else if field.holds_rows && self.met[at] && (node.is_document || self.has_unknown(at)) {
                let bracket = if field.map.is_some() { "{}" } else { "[]" };
                let path = format!("{}{bracket} (missing)", field.path);
                self.found.push(Unknown { path, kind: None, offset: 0 });
            }
        }
        for below in [node.each, node.map].into_iter().flatten() {
            self.missing(below);
        }
    }

    fn has_unknown(&self, at: usize) -> bool {
        self.places.contains_key(&at)
    }
}
