//! Checks a body against the declared schema in one pass that builds nothing: finds unknown fields, and whether every
//! table will decode. It runs on every response, so the common case costs one comparison per key: the key that followed
//! last time is tried first.
//!
//! The check is conservative: it may leave a body to decoding, but never calls a broken one valid.

use super::Context;
use super::declaration::{Resource, Root, Ty};
use super::duplicate_keys::DuplicateKeys;
use super::error::{DecodeErrorKind, DecodeResult};
use super::extent::{Extent, ExtraKeySet, LongestValues};
use super::lists::each;
use super::record_batch;
use super::scalars;
use super::schema_tree::{SchemaNode, SchemaTree, member};
use reader::{Cursor, ErrorKind, Expected, MaybeInteger};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Further unknown paths of a body are dropped: where keys are data, each would be a path.
pub const MAX_UNKNOWN_FIELDS: usize = 1000;

/// Suffix of the path of a number that is not an integer where a table needs one.
const NOT_WHOLE: &str = "(not a whole number)";

/// Suffix of the path of an integer that a float column holds without its last digits.
const NOT_EXACT: &str = "(loses digits)";

/// From here on, not every integer is a float.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// A field outside the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPath {
    /// As the body spells it, such as `teams[].new`; `games[] (missing)` for missing rows; `players[].sensor (not a
    /// whole number)` and `stats.PTS (loses digits)` for a value that a table cannot hold.
    pub path: String,
    /// The JSON type of the first value that is not null, if any. `None` if the path is missing.
    pub kind: Option<&'static str>,
    /// Byte offset of the first value; 0 if the path is missing.
    pub offset: usize,
}

/// The result of a schema check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaCheck {
    /// Unknown fields in order of appearance, then missing row paths.
    pub unknown: Vec<UnknownPath>,
    /// The rows of the first table, if every table is certain to decode. `None` leaves it to decoding.
    pub rows: Option<usize>,
}

/// Checks a body whose documents are at `root`. Without a context it only looks for unknown fields. Errors come with
/// their offset.
pub(super) fn check(
    resource: &'static Resource,
    root: &'static Root,
    context: Option<&Context>,
    cursor: Cursor,
) -> Result<SchemaCheck, (DecodeErrorKind, usize)> {
    let tree = resource.schema_tree(root);
    let has = |(name, ty): &(&str, Ty)| {
        context
            .and_then(|context| context.get(name))
            .is_some_and(|value| *ty != Ty::Int64 || record_batch::digits(value).is_some())
    };
    let mut validator = Validator {
        tree: &tree,
        cursor,
        next: vec![0; tree.places],
        visited: vec![false; tree.nodes.len()],
        unknown_fields: Vec::new(),
        places: HashMap::new(),
        not_whole: HashSet::new(),
        key: Cow::Borrowed(b""),
        fits: tree.is_conclusive && context.is_some() && tree.requests.iter().all(has),
        duplicates: DuplicateKeys::default(),
        elements: vec![0; tree.nodes.len()],
        longest: LongestValues { text: context.map_or(0, Context::longest), list: 0 },
        open: ExtraKeySet::default(),
    };
    match validator.body() {
        Ok(()) => {
            validator.missing(0);
            let rows = tree.extents.first().map(|first| validator.elements[first.node]);
            let fits = validator.fits && validator.has_room();
            Ok(SchemaCheck { rows: rows.filter(|_| fits), unknown: validator.unknown_fields })
        }
        Err(kind) => Err((kind, validator.cursor.position())),
    }
}

struct Validator<'a> {
    tree: &'a SchemaTree,
    cursor: Cursor<'a>,
    /// For each key of each node, and for the start of its objects: the key that followed last time.
    next: Vec<u16>,
    visited: Vec<bool>,
    unknown_fields: Vec<UnknownPath>,
    /// The indexes in `unknown_fields` of the unknown keys of each node.
    places: HashMap<usize, HashMap<String, usize>>,
    /// Nodes with a number that is not an integer.
    not_whole: HashSet<usize>,
    /// The last key of an object whose keys are data.
    key: Cow<'a, [u8]>,
    /// Whether every table decodes so far.
    fits: bool,
    duplicates: DuplicateKeys,
    /// Number of elements of each node.
    elements: Vec<usize>,
    longest: LongestValues,
    open: ExtraKeySet<'a>,
}

impl<'a> Validator<'a> {
    fn body(&mut self) -> DecodeResult<()> {
        self.cursor.whitespace();
        if self.cursor.peek_byte() == b'n' {
            self.cursor.validate()?;
        } else {
            self.element(0)?;
        }
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(()) } else { Err(ErrorKind::Trailing.into()) }
    }

    /// Whether each table fits even if all its rows repeat the longest values.
    fn has_room(&self) -> bool {
        let body = self.cursor.len();
        let fits = |table: &Extent| table.fits(self.elements[table.node], self.longest, self.open.len(), body);
        self.tree.extents.iter().all(fits)
    }

    fn element(&mut self, at: usize) -> DecodeResult<()> {
        let tree: &'a SchemaTree = self.tree;
        self.elements[at] += 1;
        let here = self.cursor;
        let has_value = self.value(at)?;
        if tree.nodes[at].is_root && (!has_value || (here.peek_byte() != b'{' && tree.nodes[at].is_object())) {
            self.cursor = here;
            return Err(DecodeErrorKind::Document);
        }
        self.fits &= has_value || !tree.nodes[at].is_needed;
        Ok(())
    }

    /// Checks one value; returns whether it is not null.
    fn value(&mut self, at: usize) -> DecodeResult<bool> {
        let tree: &'a SchemaTree = self.tree;
        let node = &tree.nodes[at];
        self.visited[at] = true;
        let here = self.cursor;
        if here.peek_byte() == b'n' {
            self.cursor.validate()?;
            return Ok(false);
        }
        self.value_at(at, node, here)?;
        Ok(true)
    }

    /// Checks one value that is not null.
    #[inline(always)]
    fn value_at(&mut self, at: usize, node: &'a SchemaNode, here: Cursor<'a>) -> DecodeResult<()> {
        for fit in &node.fits {
            self.cursor = here;
            self.fit(*fit, at)?;
        }
        if node.is_skipped || !(node.is_object() || node.each.is_some()) {
            if node.fits.is_empty() && !self.cursor.validate_flat() {
                self.cursor.validate()?;
            }
            return Ok(());
        }
        self.cursor = here;
        match (self.cursor.peek_byte(), node.each) {
            (b'{', each) if each.is_none() || node.is_object() => self.object(at, node)?,
            (b'[', Some(each)) => self.array(each)?,
            // `[?]`: the value counts as the only element.
            (_, Some(each)) => {
                self.fits &= node.or_one;
                self.element(each)?;
            }
            (_, None) => {
                self.fits = false;
                self.cursor.validate()?;
            }
        }
        Ok(())
    }

    /// Checks a value against a column type.
    #[inline(always)]
    fn fit(&mut self, fit: Ty, at: usize) -> DecodeResult<()> {
        let here = self.cursor;
        if let Ty::Count | Ty::TimestampMs = fit {
            match self.cursor.short_integer() {
                Some(_) => return Ok(()),
                None => return self.whole(fit, at),
            }
        }
        if let Ty::Float64 = fit {
            match self.cursor.float() {
                Ok(Some(value)) if value.abs() >= EXACT_INTEGERS => self.large(here, at),
                Ok(_) => {}
                Err(_) => {
                    self.fits = false;
                    self.cursor = here;
                    self.cursor.validate()?;
                }
            }
            return Ok(());
        }
        if self.fits {
            let read = match fit {
                Ty::Int64 => self.cursor.integer().is_ok(),
                Ty::Text => match self.cursor.plain_string() {
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
        Ok(self.cursor.validate()?)
    }

    /// Checks a number where an integer is expected; others are reported.
    #[inline(never)]
    fn whole(&mut self, fit: Ty, at: usize) -> DecodeResult<()> {
        let here = self.cursor;
        let Ok(number) = self.cursor.whole() else {
            self.fits = false;
            self.cursor = here;
            return Ok(self.cursor.validate()?);
        };
        if matches!(number, MaybeInteger::Integer(_)) {
            return Ok(());
        }
        // A required time is null if it is too large.
        self.fits &= fit == Ty::Count || number.floor().is_some() || !self.tree.nodes[at].is_needed;
        if self.not_whole.insert(at) {
            let path = format!("{} {NOT_WHOLE}", self.tree.nodes[at].path);
            self.unknown_fields.push(UnknownPath { path, kind: Some("number"), offset: here.position() });
        }
        Ok(())
    }

    /// Reports a large integer at `here` that is no float.
    #[cold]
    #[inline(never)]
    fn large(&mut self, start: Cursor<'a>, at: usize) {
        let mut cursor = start;
        let is_exact = match cursor.whole() {
            Ok(MaybeInteger::Integer(Some(value))) => value as f64 as i128 == i128::from(value),
            // A fraction or an exponent promises no digits.
            Ok(MaybeInteger::TooLarge) => cursor.span_from(&start).bytes().iter().any(|byte| b".eE".contains(byte)),
            _ => true,
        };
        if is_exact || self.unknown_fields.len() >= MAX_UNKNOWN_FIELDS {
            return;
        }
        let SchemaNode { path, open, .. } = &self.tree.nodes[at];
        let key = String::from_utf8_lossy(&self.key);
        let path = match path.rsplit_once("{}") {
            Some((before, rest)) => member(before, &key) + rest,
            None if *open => member(path, &key),
            None => path.clone(),
        };
        let path = format!("{path} {NOT_EXACT}");
        if self.unknown_fields.iter().all(|field| field.path != path) {
            self.unknown_fields.push(UnknownPath { path, kind: Some("number"), offset: start.position() });
        }
    }

    /// As `fit`, for the rarer types and spellings.
    #[inline(never)]
    fn odd_fit(&mut self, fit: Ty) -> DecodeResult<()> {
        let here = self.cursor;
        let cursor = &mut self.cursor;
        match fit {
            Ty::Int32 => {
                if let Some(position) = cursor.integer()? {
                    i32::try_from(position).map_err(|_| ErrorKind::Range)?;
                }
            }
            Ty::LinkMs(parameter) => {
                let link = cursor.text(Expected::Text)?;
                link.and_then(|link| scalars::link_ms(&link, parameter)).ok_or(DecodeErrorKind::Engine)?;
            }
            Ty::IsMake if cursor.peek_byte() == b'"' => cursor.skip_string()?,
            Ty::Bool | Ty::IsMake => drop(cursor.boolean()?),
            Ty::Text => drop(cursor.text(Expected::Text)?),
            Ty::Links if cursor.peek_byte() != b'[' => drop(cursor.text(Expected::Links)?),
            Ty::Links | Ty::ListText => drop(each(cursor, |cursor| cursor.text(Expected::Text).map(drop))?),
            Ty::ListInt64 => drop(each(cursor, |cursor| cursor.integer().map(drop))?),
            Ty::MapFloat64 => self.floats()?,
            _ => return Err(DecodeErrorKind::Engine),
        }
        let len = self.cursor.span_from(&here).len();
        match fit {
            Ty::Links | Ty::ListText | Ty::ListInt64 | Ty::MapFloat64 => self.longest.list = self.longest.list.max(len),
            _ => self.longest.text = self.longest.text.max(len),
        }
        Ok(())
    }

    fn floats(&mut self) -> DecodeResult<()> {
        if self.cursor.peek_byte() != b'{' {
            return Ok(self.cursor.expect_null(Expected::Object)?);
        }
        self.cursor.advance(1);
        if !self.cursor.has_first_item(b'}') {
            return Ok(());
        }
        self.duplicates.open();
        loop {
            let key = self.cursor.string()?;
            self.cursor.colon()?;
            self.fits &= self.duplicates.insert(&key);
            self.cursor.float()?;
            if !self.cursor.has_next_item(b'}')? {
                self.duplicates.close();
                return Ok(());
            }
        }
    }

    fn array(&mut self, each: usize) -> DecodeResult<()> {
        self.cursor.advance(1);
        if !self.cursor.has_first_item(b']') {
            return Ok(());
        }
        loop {
            self.element(each)?;
            if !self.cursor.has_next_item(b']')? {
                return Ok(());
            }
        }
    }

    fn object(&mut self, at: usize, node: &'a SchemaNode) -> DecodeResult<()> {
        let has_data_keys = node.map.is_some() || node.open;
        if has_data_keys {
            self.duplicates.open();
        }
        let present = self.members(at, node, has_data_keys)?;
        if has_data_keys {
            self.duplicates.close();
        }
        if node.is_needed {
            let is_there = |number: usize| 1u64.checked_shl(number as u32).is_some_and(|bit| present & bit != 0);
            self.fits &= (0..node.keys.len()).all(|number| !node.keys[number].is_needed || is_there(number));
        }
        Ok(())
    }

    /// Checks the members of an object; returns the bits of the declared ones that are not null.
    fn members(&mut self, at: usize, node: &'a SchemaNode, has_data_keys: bool) -> DecodeResult<u64> {
        let tree: &'a SchemaTree = self.tree;
        let (mut seen, mut nulls) = (0u64, 0u64);
        self.cursor.advance(1);
        if !self.cursor.has_first_item(b'}') {
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
                if seen & bit != 0 && tree.nodes[member.below].leads_to_root {
                    return Err(DecodeErrorKind::DuplicateKey);
                }
                seen |= bit;
                let has_value = match member.fit {
                    Some(fit) if self.cursor.peek_byte() != b'n' => self.fit(fit, member.below).map(|()| true)?,
                    _ => self.value(member.below)?,
                };
                if !has_value {
                    nulls |= bit;
                }
            }
            if !self.cursor.has_next_item(b'}')? {
                return Ok(seen & !nulls);
            }
        }
    }

    /// Looks up a key other than the expected one. Leaves the cursor at a declared value, and skips an unknown one.
    #[inline(never)]
    fn other_key(&mut self, at: usize, node: &'a SchemaNode, place: usize) -> DecodeResult<Option<usize>> {
        if self.cursor.peek_byte() != b'"' {
            return Err(ErrorKind::Key.into());
        }
        let key = self.cursor.string()?;
        self.cursor.colon()?;
        let value = self.cursor;
        let declared = node.keys.iter().position(|member| member.step.key() == &*key);
        if node.map.is_some() || node.open {
            self.longest.text = self.longest.text.max(key.len());
            self.fits &= self.duplicates.insert(&key);
        }
        if node.open && declared.is_none() {
            self.open.note(key.clone());
            self.key = key.clone();
            self.fit(Ty::Float64, at)?;
        }
        if let Some(map) = node.map {
            self.cursor = value;
            self.key = key.clone();
            self.element(map)?;
        }
        if let Some(number) = declared {
            self.cursor = value;
            self.next[place] = u16::try_from(number).unwrap_or_default();
        } else if !node.open && node.map.is_none() {
            self.unknown(at, node, &String::from_utf8_lossy(&key));
            self.cursor.validate()?;
        }
        Ok(declared)
    }

    fn unknown(&mut self, at: usize, node: &SchemaNode, key: &str) {
        let kind = match self.cursor.peek_byte() {
            b'"' => "string",
            b'{' => "object",
            b'[' => "array",
            b't' | b'f' => "boolean",
            b'n' => "null",
            _ => "number",
        };
        let places = self.places.entry(at).or_default();
        let is_full = self.unknown_fields.len() >= MAX_UNKNOWN_FIELDS;
        match places.get(key).and_then(|place| self.unknown_fields.get_mut(*place)) {
            Some(unknown_fields) if unknown_fields.kind == Some("null") => unknown_fields.kind = Some(kind),
            Some(_) => {}
            None if is_full => {}
            None => {
                places.insert(key.to_owned(), self.unknown_fields.len());
                let offset = self.cursor.position();
                self.unknown_fields.push(UnknownPath { path: member(&node.path, key), kind: Some(kind), offset });
            }
        }
    }

    /// Reports missing containers of rows: a renamed one must not become a silently empty table.
    fn missing(&mut self, at: usize) {
        let tree: &'a SchemaTree = self.tree;
        let node = &tree.nodes[at];
        for below in node.keys.iter().map(|member| member.below) {
            let field = &tree.nodes[below];
            if self.visited[below] {
                self.missing(below);
            } else if field.holds_rows && self.visited[at] && (node.is_document || self.has_unknown(at)) {
                let bracket = if field.map.is_some() { "{}" } else { "[]" };
                let path = format!("{}{bracket} (missing)", field.path);
                self.unknown_fields.push(UnknownPath { path, kind: None, offset: 0 });
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
