//! Checks a body against the declared schema in one pass that builds nothing: finds unknown fields, and whether every
//! table will decode. It runs on every response, so the common case costs one comparison per key: the key that followed
//! last time is tried first.
//!
//! The check is conservative: it may leave a body to decoding, but never calls a broken one valid.

use super::Context;
use super::declaration::Ty;
use super::duplicate_keys::DuplicateKeys;
use super::error::{DecodeErrorKind, DecodeResult};
use super::extent::{MAX_EXTRA_COLUMNS, Quota, is_too_wide};
use super::lists::for_each;
use super::schema_tree::{LIST_FACTOR, SchemaNode, SchemaTree, member};
use super::{record_batch, scalars};
use reader::{Cursor, ErrorKind, Expected, MaybeInteger};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Further unknown paths of a body are dropped: where keys are data, each would be a path.
pub const MAX_UNKNOWN_FIELDS: usize = 1000;

/// Suffixes of the paths of values that no column holds.
const NOT_WHOLE: &str = "(not a whole number)";
const NOT_EXACT: &str = "(loses digits)";
const NOT_MILLISECONDS: &str = "(seconds, not milliseconds)";
const NO_RESULT: &str = "(neither MAKE nor MISS)";

/// Times in seconds since 2001; in milliseconds they are of the first months of 1970.
const SECONDS: std::ops::Range<i64> = 1_000_000_000..10_000_000_000;

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
    pub unknown_fields: Vec<UnknownPath>,
    /// The rows of the first table, if every table is certain to decode. `None` leaves it to decoding.
    pub rows: Option<usize>,
}

/// Checks a body whose documents are where the tree has them. Without a context it only looks for unknown fields.
pub(super) fn check(
    tree: &SchemaTree,
    context: Option<&Context>,
    cursor: Cursor,
) -> Result<SchemaCheck, (DecodeErrorKind, usize)> {
    let has_value = |context: &Context, (name, ty): &(&str, Ty)| {
        context.get(name).is_some_and(|value| *ty != Ty::Int64 || record_batch::digits(value).is_some())
    };
    let has_all = |context: &Context| tree.requests.iter().all(|request| has_value(context, request));
    let mut validator = Validator {
        tree,
        cursor,
        next: vec![0; tree.places],
        is_visited: vec![false; tree.nodes.len()],
        has_unknown: vec![false; tree.nodes.len()],
        unknown_fields: Vec::new(),
        places: HashMap::new(),
        key: Cow::Borrowed(b""),
        fits: tree.is_conclusive && context.is_some_and(has_all),
        duplicates: DuplicateKeys::default(),
        elements: vec![0; tree.nodes.len()],
        extra_keys: HashSet::new(),
        longest: context.and_then(|context| context.iter().map(|(_, value)| value.len()).max()).unwrap_or_default(),
    };
    match validator.body() {
        Ok(()) => {
            validator.missing(0);
            let is_certain = validator.fits && validator.has_room();
            let rows = tree.first_rows.filter(|_| is_certain).map(|node| validator.elements[node]);
            Ok(SchemaCheck { unknown_fields: validator.unknown_fields, rows })
        }
        Err(kind) => Err((kind, validator.cursor.position())),
    }
}

struct Validator<'a> {
    tree: &'a SchemaTree,
    cursor: Cursor<'a>,
    /// For each key of each node, and for the start of its objects: the key that followed last time.
    next: Vec<u16>,
    is_visited: Vec<bool>,
    /// By node: whether one of its objects has an unknown key.
    has_unknown: Vec<bool>,
    unknown_fields: Vec<UnknownPath>,
    /// The index in `unknown_fields` of each path.
    places: HashMap<String, usize>,
    /// The last key of an object whose keys are data.
    key: Cow<'a, [u8]>,
    /// Whether every table decodes so far.
    fits: bool,
    duplicates: DuplicateKeys,
    /// Number of elements of each node.
    elements: Vec<usize>,
    /// Length of the longest value that a column holds.
    longest: usize,
    extra_keys: HashSet<Cow<'a, [u8]>>,
}

impl<'a> Validator<'a> {
    fn body(&mut self) -> DecodeResult<()> {
        self.cursor.whitespace();
        self.element(0)?;
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(()) } else { Err(ErrorKind::Trailing.into()) }
    }

    /// Whether every table fits even if all its rows repeat the longest value.
    fn has_room(&self) -> bool {
        let (body, extra) = (self.cursor.len(), self.extra_keys.len());
        let rows = self.elements.iter().copied().max().unwrap_or_default();
        let open_rows = self.tree.open_rows.map_or(0, |node| self.elements[node]);
        let column = rows.saturating_mul(LIST_FACTOR).saturating_mul(self.longest);
        let declared_bytes = rows.saturating_mul(self.tree.row_width).saturating_mul(self.longest.saturating_add(16));
        let bytes = declared_bytes.saturating_add(open_rows.saturating_mul(extra * 9));
        i32::try_from(column).is_ok() && !is_too_wide(extra, open_rows, body) && Quota::of(body).check(bytes).is_ok()
    }

    fn element(&mut self, at: usize) -> DecodeResult<()> {
        let node = &self.tree.nodes[at];
        self.elements[at] += 1;
        let start = self.cursor;
        let has_value = self.value(at)?;
        if node.is_root && (!has_value || (start.peek_byte() != b'{' && node.is_object())) {
            self.cursor = start;
            return Err(DecodeErrorKind::Document);
        }
        self.fits &= has_value || !node.is_needed;
        Ok(())
    }

    /// Checks one value; returns whether it is not null.
    fn value(&mut self, at: usize) -> DecodeResult<bool> {
        let tree: &'a SchemaTree = self.tree;
        let node = &tree.nodes[at];
        self.is_visited[at] = true;
        let start = self.cursor;
        if start.peek_byte() == b'n' {
            self.cursor.validate()?;
            return Ok(false);
        }
        for ty in &node.types {
            self.cursor = start;
            self.fit(*ty, at)?;
        }
        if node.is_leaf() {
            if node.types.is_empty() && !self.cursor.validate_flat() {
                self.cursor.validate()?;
            }
            return Ok(true);
        }
        self.cursor = start;
        match (self.cursor.peek_byte(), node.item) {
            (b'{', _) if node.is_object() => self.members(at, node)?,
            (b'[', Some(item)) => {
                self.cursor.advance(1);
                let mut has_item = self.cursor.has_first_item(b']');
                while has_item {
                    self.element(item)?;
                    has_item = self.cursor.has_next_item(b']')?;
                }
            }
            // `[?]`: the value counts as the only element.
            (_, Some(item)) => {
                self.fits &= node.or_one;
                self.element(item)?;
            }
            (_, None) => {
                self.fits = false;
                self.cursor.validate()?;
            }
        }
        Ok(true)
    }

    /// Checks a value against a column type; reports a number that the column cannot hold.
    #[inline(always)]
    fn fit(&mut self, ty: Ty, at: usize) -> DecodeResult<()> {
        let start = self.cursor;
        let is_read = match ty {
            Ty::Count | Ty::TimestampMs => match self.cursor.short_integer() {
                Some(value) if ty == Ty::Count || !SECONDS.contains(&value) => true,
                _ => self.whole(start, ty, at),
            },
            Ty::Float64 => match self.cursor.float() {
                Ok(Some(value)) if value.abs() >= EXACT_INTEGERS => {
                    self.large(start, at);
                    true
                }
                read => read.is_ok(),
            },
            Ty::Int64 => self.cursor.integer().is_ok(),
            Ty::Text if let Some(plain) = self.cursor.plain_string() => {
                self.longest = self.longest.max(plain.len());
                true
            }
            _ => self.other_fit(ty, at).is_ok(),
        };
        if !is_read {
            self.fits = false;
            self.cursor = start;
            self.cursor.validate()?;
        }
        Ok(())
    }

    /// Reads a number where an integer is expected; reports others, and times in seconds.
    #[inline(never)]
    fn whole(&mut self, start: Cursor<'a>, ty: Ty, at: usize) -> bool {
        self.cursor = start;
        let Ok(number) = self.cursor.whole() else { return false };
        let node = &self.tree.nodes[at];
        let suffix = match number {
            MaybeInteger::Integer(Some(time)) if ty == Ty::TimestampMs && SECONDS.contains(&time) => NOT_MILLISECONDS,
            MaybeInteger::Integer(_) => return true,
            _ => NOT_WHOLE,
        };
        // A required time is null if it is too large.
        self.fits &= ty == Ty::Count || number.floor().is_some() || !node.is_needed;
        self.report(format!("{} {suffix}", node.path), "number", start.position());
        true
    }

    /// Reports a large integer at `start` that is no float.
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
        if is_exact {
            return;
        }
        let SchemaNode { path, open, .. } = &self.tree.nodes[at];
        let key = String::from_utf8_lossy(&self.key);
        let path = match path.rsplit_once("{}") {
            Some((before, rest)) => member(before, &key) + rest,
            None if *open => member(path, &key),
            None => path.clone(),
        };
        self.report(format!("{path} {NOT_EXACT}"), "number", start.position());
    }

    /// Reads a value of a type whose values are not reported.
    #[inline(never)]
    fn other_fit(&mut self, ty: Ty, at: usize) -> DecodeResult<()> {
        let start = self.cursor;
        let cursor = &mut self.cursor;
        match ty {
            Ty::Text => drop(cursor.text(Expected::Text)?),
            Ty::Int32 => {
                if let Some(position) = cursor.integer()? {
                    i32::try_from(position).map_err(|_| ErrorKind::Range)?;
                }
            }
            Ty::LinkFrom | Ty::LinkTo => {
                let link = cursor.text(Expected::Text)?;
                link.and_then(|link| scalars::link_ms(&link, ty)).ok_or(DecodeErrorKind::Engine)?;
            }
            Ty::IsMake if cursor.peek_byte() == b'"' => {
                if scalars::is_make(&cursor.string()?).is_none() {
                    self.report(format!("{} {NO_RESULT}", self.tree.nodes[at].path), "string", start.position());
                }
            }
            Ty::Bool | Ty::IsMake => drop(cursor.boolean()?),
            Ty::Links if cursor.peek_byte() != b'[' => drop(cursor.text(Expected::Links)?),
            // An array of links may be empty.
            Ty::Links if self.tree.nodes[at].is_needed => return Err(DecodeErrorKind::Engine),
            Ty::Links | Ty::ListText => drop(for_each(cursor, |cursor| cursor.text(Expected::Text).map(drop))?),
            Ty::ListInt64 => drop(for_each(cursor, |cursor| cursor.integer().map(drop))?),
            Ty::MapFloat64 => self.floats()?,
            _ => return Err(DecodeErrorKind::Engine),
        }
        self.longest = self.longest.max(self.cursor.span_from(&start).len());
        Ok(())
    }

    fn floats(&mut self) -> DecodeResult<()> {
        if self.cursor.peek_byte() != b'{' {
            return Ok(self.cursor.expect_null(Expected::Object)?);
        }
        self.cursor.advance(1);
        self.duplicates.open();
        let mut has_entry = self.cursor.has_first_item(b'}');
        while has_entry {
            let key = self.cursor.string()?;
            self.cursor.colon()?;
            self.fits &= self.duplicates.insert(&key);
            self.cursor.float()?;
            has_entry = self.cursor.has_next_item(b'}')?;
        }
        self.duplicates.close();
        Ok(())
    }

    /// Checks the members of an object.
    fn members(&mut self, at: usize, node: &'a SchemaNode) -> DecodeResult<()> {
        let tree: &'a SchemaTree = self.tree;
        if node.has_data_keys() {
            self.duplicates.open();
        }
        let (mut seen, mut present, mut place) = (0u64, 0u64, node.place);
        self.cursor.advance(1);
        let mut has_member = self.cursor.has_first_item(b'}');
        while has_member {
            let expected = usize::from(self.next[place]);
            let number = match node.keys.get(expected) {
                Some(member) if !node.has_data_keys() && member.step.is_at(&self.cursor) => {
                    self.cursor.advance(member.step.len());
                    self.cursor.whitespace();
                    Some(expected)
                }
                _ => self.other_key(at, node, place)?,
            };
            if let Some(number) = number {
                place = node.place + 1 + number;
                let (below, bit) = (node.keys[number].below, 1u64.checked_shl(number as u32).unwrap_or_default());
                self.fits &= seen & bit == 0;
                if seen & bit != 0 && tree.nodes[below].leads_to_root {
                    return Err(DecodeErrorKind::DuplicateKey);
                }
                seen |= bit;
                let has_value = match tree.nodes[below].only {
                    Some(ty) if self.cursor.peek_byte() != b'n' => self.fit(ty, below).map(|()| true)?,
                    _ => self.value(below)?,
                };
                present |= if has_value { bit } else { 0 };
            }
            has_member = self.cursor.has_next_item(b'}')?;
        }
        if node.has_data_keys() {
            self.duplicates.close();
        }
        self.fits &= node.required_bits & !present == 0;
        Ok(())
    }

    /// Looks up a key other than the expected one. Leaves the cursor at a declared value, and passes an unknown one.
    #[inline(never)]
    fn other_key(&mut self, at: usize, node: &'a SchemaNode, place: usize) -> DecodeResult<Option<usize>> {
        if self.cursor.peek_byte() != b'"' {
            return Err(ErrorKind::Key.into());
        }
        let key = self.cursor.string()?;
        self.cursor.colon()?;
        let value = self.cursor;
        let number = node.keys.iter().position(|member| member.step.key() == &*key);
        if !node.has_data_keys() && number.is_none() {
            self.has_unknown[at] = true;
            self.report(member(&node.path, &String::from_utf8_lossy(&key)), self.kind(), value.position());
            self.cursor.validate()?;
            return Ok(None);
        }
        if node.has_data_keys() {
            self.longest = self.longest.max(key.len());
            self.fits &= self.duplicates.insert(&key);
            self.key = key;
        }
        if node.open && number.is_none() {
            // Names no column.
            self.fits &= !self.key.contains(&0);
            if self.extra_keys.len() <= MAX_EXTRA_COLUMNS {
                self.extra_keys.insert(self.key.clone());
            }
            self.fit(Ty::Float64, at)?;
        }
        if let Some(map) = node.map {
            self.cursor = value;
            self.element(map)?;
        }
        if let Some(number) = number {
            self.cursor = value;
            self.next[place] = u16::try_from(number).unwrap_or_default();
        }
        Ok(number)
    }

    /// The JSON type of the value at the cursor.
    fn kind(&self) -> &'static str {
        match self.cursor.peek_byte() {
            b'"' => "string",
            b'{' => "object",
            b'[' => "array",
            b't' | b'f' => "boolean",
            b'n' => "null",
            _ => "number",
        }
    }

    /// Adds a path, or the type of its first value that is not null.
    fn report(&mut self, path: String, kind: &'static str, offset: usize) {
        let is_full = self.unknown_fields.len() >= MAX_UNKNOWN_FIELDS;
        match self.places.get(&path).map(|place| &mut self.unknown_fields[*place]) {
            Some(field) if field.kind == Some("null") => field.kind = Some(kind),
            None if !is_full => {
                self.places.insert(path.clone(), self.unknown_fields.len());
                self.unknown_fields.push(UnknownPath { path, kind: Some(kind), offset });
            }
            _ => {}
        }
    }

    /// Reports missing containers of rows: a renamed one must not become a silently empty table.
    fn missing(&mut self, at: usize) {
        let tree: &'a SchemaTree = self.tree;
        let node = &tree.nodes[at];
        for below in node.keys.iter().map(|member| member.below) {
            let field = &tree.nodes[below];
            if self.is_visited[below] {
                self.missing(below);
            } else if field.holds_rows && self.is_visited[at] && (node.is_document || self.has_unknown[at]) {
                let bracket = if field.map.is_some() { "{}" } else { "[]" };
                let path = format!("{}{bracket} (missing)", field.path);
                self.unknown_fields.push(UnknownPath { path, kind: None, offset: 0 });
            }
        }
        for below in [node.item, node.map].into_iter().flatten() {
            self.missing(below);
        }
    }
}
