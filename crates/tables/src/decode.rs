//! Runs a plan over a body in one pass, recursing only along the declared path.

use super::builders::ColumnBuilders;
use super::columns::{Categories, Lists, MapEntries, Numbers, Texts};
use super::declaration::Ty;
use super::duplicate_keys::DuplicateKeys;
use super::error::{DecodeErrorKind, DecodeResult};
use super::extra_columns::ExtraColumns;
use super::keys::ObjectKeys;
use super::path::Segment;
use super::plan::{ColumnRef, DecodeHints, DecodePlan, Level, LevelTable, Op};
use super::scalars;
use reader::{Cursor, ErrorKind, Expected};
use std::borrow::Cow;

/// What to do with a duplicate key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DuplicatePolicy {
    /// Stop with `DecodeErrorKind::DuplicateKey`.
    Stop,
    /// Keep the first value.
    KeepFirst,
}

/// Decodes a body by a plan, with `cursor` at its start. `validates`: values that no column reads are validated as
/// JSON, not only skipped. Errors come with their offset.
pub(super) fn run<'a>(
    plan: &'a DecodePlan,
    cursor: Cursor<'a>,
    policy: DuplicatePolicy,
    validates: bool,
) -> Result<TableDecoder<'a>, (DecodeErrorKind, usize)> {
    let hints = plan.hints();
    let elements = |level: usize| {
        let guess = (hints.density[level] * cursor.len() as f64 * 1.05) as usize + 8;
        guess.min(cursor.len() / 2 + 1)
    };
    let mut decoder = TableDecoder {
        plan,
        cursor,
        builders: builders(&plan.cells, elements),
        hints,
        rows: vec![0; plan.tables.len()],
        ends: vec![Vec::new(); plan.ends],
        open: ExtraColumns::new(cursor.len()),
        policy,
        validates,
        duplicates: DuplicateKeys::default(),
        ids: Vec::new(),
        text: Vec::new(),
    };
    match decoder.body() {
        Ok(()) => {
            decoder.return_hints();
            Ok(decoder)
        }
        Err(kind) => Err((kind, decoder.cursor.position())),
    }
}

/// The builders of a plan's columns, with room for so many elements of each level.
fn builders(cells: &[(ColumnRef, usize)], elements: impl Fn(usize) -> usize) -> ColumnBuilders {
    let mut builders = ColumnBuilders::default();
    for (cell, level) in cells {
        let elements = elements(*level);
        let items = elements.saturating_mul(4);
        match cell {
            ColumnRef::Int(_) => builders.ints.push(Numbers::with_capacity(elements)),
            ColumnRef::Float(_) => builders.floats.push(Numbers::with_capacity(elements)),
            ColumnRef::Bool(_) => builders.bools.push(Numbers::with_capacity(elements)),
            ColumnRef::Text(_) => builders.texts.push(Texts::with_capacity(elements)),
            ColumnRef::Category(_) => builders.categories.push(Categories::with_capacity(elements)),
            ColumnRef::Ints(_) => builders.int_lists.push(Lists::new(Numbers::with_capacity(items), elements)),
            ColumnRef::Texts(_) => builders.text_lists.push(Lists::new(Texts::with_capacity(items), elements)),
            ColumnRef::Map(_) => builders.maps.push(Lists::new(MapEntries::with_capacity(items), elements)),
        }
    }
    builders
}

/// The result of looking up a key.
enum KeyLookup {
    Step(usize),
    /// An unknown key that was not learned, and how to skip its value.
    Unlearned(Op),
}

pub(super) struct TableDecoder<'a> {
    plan: &'a DecodePlan,
    pub cursor: Cursor<'a>,
    hints: DecodeHints,
    pub(crate) builders: ColumnBuilders,
    /// Number of rows of each table.
    pub rows: Vec<usize>,
    /// By table and level above its rows: for each element, the row after its last.
    pub ends: Vec<Vec<u32>>,
    pub open: ExtraColumns,
    policy: DuplicatePolicy,
    validates: bool,
    pub duplicates: DuplicateKeys,
    /// Buffers for one lineup: its ids and its text.
    pub ids: Vec<i64>,
    pub text: Vec<u8>,
}

impl<'a> TableDecoder<'a> {
    fn body(&mut self) -> DecodeResult<()> {
        self.cursor.whitespace();
        if !self.cursor.consume_null() {
            let plan = self.plan;
            self.element(&plan.levels[0], 0)?;
        }
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(()) } else { Err(ErrorKind::Trailing.into()) }
    }

    fn return_hints(&mut self) {
        let bytes = self.cursor.len().max(1) as f64;
        for (density, level) in self.hints.density.iter_mut().zip(&self.plan.levels) {
            let elements = level.tables.first().map_or(0, |table| match table.ends {
                Some(ends) => self.ends[ends].len(),
                None => self.rows[table.table],
            });
            *density = elements as f64 / bytes;
        }
        for keys in self.hints.objects.iter_mut().flatten().filter(|keys| keys.open) {
            keys.forget();
        }
        self.plan.return_hints(std::mem::take(&mut self.hints));
    }

    fn level(&mut self, number: u32) -> DecodeResult<()> {
        let plan = self.plan;
        let level = &plan.levels[number as usize];
        match (level.segment, self.cursor.peek_byte()) {
            (Some(Segment::Map), _) => self.map(level),
            (_, b'[') => self.array(level),
            _ if self.cursor.consume_null() => Ok(()),
            (Some(Segment::EachOrOne), _) => self.element(level, 0),
            _ => Err(ErrorKind::Expected(Expected::Array).into()),
        }
    }

    fn array(&mut self, level: &'a Level) -> DecodeResult<()> {
        self.cursor.advance(1);
        let mut has_item = self.cursor.has_first_item(b']');
        let mut position = 0;
        while has_item {
            self.element(level, position)?;
            position += 1;
            has_item = self.cursor.has_next_item(b']')?;
        }
        Ok(())
    }

    fn map(&mut self, level: &'a Level) -> DecodeResult<()> {
        let read = |decoder: &mut Self, key: &[u8]| {
            for cell in &level.keys {
                match *cell {
                    ColumnRef::Text(i) => decoder.builders.texts[i as usize].push(key),
                    ColumnRef::Category(i) => decoder.builders.categories[i as usize].push(key),
                    _ => return Err(DecodeErrorKind::Engine),
                }
            }
            decoder.element(level, 0)
        };
        self.each_entry(read).map(drop)
    }

    /// Calls `entry` at each value of an object whose keys are data; `false` for null.
    pub(crate) fn each_entry(
        &mut self,
        mut entry: impl FnMut(&mut Self, &[u8]) -> DecodeResult<()>,
    ) -> DecodeResult<bool> {
        if self.cursor.peek_byte() != b'{' {
            self.cursor.expect_null(Expected::Object)?;
            return Ok(false);
        }
        self.cursor.advance(1);
        self.duplicates.open();
        let mut has_entry = self.cursor.has_first_item(b'}');
        while has_entry {
            let key = self.key_of_map()?;
            entry(self, &key)?;
            has_entry = self.cursor.has_next_item(b'}')?;
        }
        self.duplicates.close();
        Ok(true)
    }

    /// Reads a key that is data, and leaves the cursor at its value.
    fn key_of_map(&mut self) -> DecodeResult<Cow<'a, [u8]>> {
        let start = self.cursor;
        if self.cursor.peek_byte() != b'"' {
            return Err(ErrorKind::Key.into());
        }
        let key = match self.cursor.plain_string() {
            Some(plain) => Cow::Borrowed(plain.bytes()),
            None => self.cursor.string()?,
        };
        self.cursor.colon()?;
        if !self.duplicates.insert(&key) && self.policy == DuplicatePolicy::Stop {
            self.cursor = start;
            return Err(DecodeErrorKind::DuplicateKey);
        }
        Ok(key)
    }

    #[inline(always)]
    fn element(&mut self, level: &'a Level, position: i64) -> DecodeResult<()> {
        let start = self.cursor;
        for cell in &level.positions {
            let ColumnRef::Int(i) = *cell else { return Err(DecodeErrorKind::Engine) };
            self.builders.ints[i as usize].push(Some(position));
        }
        let has_value = match level.op {
            Op::Object(number) => self.object(number)?,
            op => self.value(op)?,
        };
        if level.is_root && start.peek_byte() != b'{' {
            self.cursor = start;
            return Err(DecodeErrorKind::Document);
        }
        if !has_value {
            self.fill(&level.fill);
        }
        for table in &level.tables {
            let rows = &mut self.rows[table.table];
            let has_rows = match table.ends {
                None => {
                    *rows += 1;
                    true
                }
                Some(ends) => {
                    let ends = &mut self.ends[ends];
                    let before = ends.last().copied().unwrap_or_default();
                    ends.push(*rows as u32);
                    *rows as u32 > before
                }
            };
            if has_rows && !table.required.is_empty() {
                self.required(table, start)?;
            }
        }
        Ok(())
    }

    /// Checks the required columns of an element that has rows. Errors are reported at the start of the element.
    #[inline(always)]
    fn required(&mut self, table: &LevelTable, start: Cursor<'a>) -> DecodeResult<()> {
        for (cell, column) in &table.required {
            if self.builders.last_is_null(*cell) {
                self.cursor = start;
                return Err(DecodeErrorKind::Required(*column));
            }
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, builders: &[ColumnRef]) {
        builders.iter().for_each(|cell| self.builders.null(*cell));
    }

    fn object(&mut self, number: u32) -> DecodeResult<bool> {
        if self.cursor.peek_byte() != b'{' {
            self.cursor.expect_null(Expected::Object)?;
            return Ok(false);
        }
        let mut keys = self.hints.objects[number as usize].take().ok_or(DecodeErrorKind::Engine)?;
        let missing = keys.fillable & !self.members(&mut keys)?;
        if missing != 0 {
            for step in keys.steps[..keys.plan_steps].iter().filter(|step| step.bit & missing != 0) {
                self.fill(&step.fill);
            }
        }
        self.hints.objects[number as usize] = Some(keys);
        Ok(true)
    }

    /// Reads the members of an object; returns the bits of those that are not null.
    #[inline(never)]
    fn members(&mut self, keys: &mut ObjectKeys) -> DecodeResult<u64> {
        let mut cursor = self.cursor;
        let present = self.members_at(&mut cursor, keys);
        self.cursor.go_to(&cursor);
        present
    }

    /// Inlined and with its own cursor, so that the cursor stays in a register.
    #[inline(always)]
    fn members_at(&mut self, cursor: &mut Cursor<'a>, keys: &mut ObjectKeys) -> DecodeResult<u64> {
        let (mut seen, mut nulls, mut previous, mut expected) = (0u64, 0u64, 0, keys.expected(0));
        cursor.advance(1);
        if !cursor.has_first_item(b'}') {
            return Ok(0);
        }
        loop {
            let step = match keys.steps.get(expected) {
                Some(step) if step.is_at(cursor) => {
                    cursor.advance(step.len());
                    cursor.whitespace();
                    Some(step)
                }
                _ => match self.with(cursor, |d| d.key(keys, previous))? {
                    KeyLookup::Step(number) => {
                        expected = number;
                        Some(&keys.steps[number])
                    }
                    KeyLookup::Unlearned(op) => {
                        self.with(cursor, |d| d.value(op))?;
                        None
                    }
                },
            };
            if let Some(step) = step {
                (previous, expected) = (expected + 1, usize::from(step.next));
                if seen & step.bit != 0 {
                    if self.policy == DuplicatePolicy::Stop {
                        return Err(DecodeErrorKind::DuplicateKey);
                    }
                    self.with(cursor, Self::skip)?;
                } else {
                    seen |= step.bit;
                    if !self.builders.push_common(&step.op, cursor) && !self.with(cursor, |d| d.value(step.op))? {
                        nulls |= step.bit;
                    }
                }
            }
            if cursor.peek_byte() == b',' {
                cursor.advance(1);
                cursor.whitespace();
            } else if !cursor.with_copy(|cursor| cursor.has_next_item(b'}'))? {
                return Ok(seen & !nulls);
            }
        }
    }

    /// Calls a method that reads at the decoder's own cursor.
    #[inline(always)]
    fn with<T>(&mut self, cursor: &mut Cursor<'a>, call: impl FnOnce(&mut Self) -> T) -> T {
        self.cursor.go_to(cursor);
        let result = call(self);
        cursor.go_to(&self.cursor);
        result
    }

    /// Looks up a key other than the expected one, and leaves the cursor at its value.
    #[inline(never)]
    fn key(&mut self, keys: &mut ObjectKeys, previous: usize) -> DecodeResult<KeyLookup> {
        if self.cursor.peek_byte() != b'"' {
            return Err(ErrorKind::Key.into());
        }
        let step = if let Some(step) = keys.find_at(&self.cursor) {
            self.cursor.advance(keys.steps[step].len());
            self.cursor.whitespace();
            step
        } else {
            let key = self.cursor.string()?;
            self.cursor.colon()?;
            match keys.find(&key) {
                Some(step) => step,
                None => {
                    let table = &self.plan.tables[self.plan.open];
                    let column = if keys.open { self.open.column(&key, table)? } else { None };
                    let op = column.map_or(Op::Skip, Op::Open);
                    // Keys are compared as written, so a key with an escape is not learned.
                    let step = if let Cow::Borrowed(plain) = key { keys.learn(plain, op) } else { None };
                    let Some(step) = step else { return Ok(KeyLookup::Unlearned(op)) };
                    step
                }
            }
        };
        keys.observe_successor(previous, step);
        Ok(KeyLookup::Step(step))
    }

    /// Reads one value. Returns `false` for a null in place of an object, whose columns then need nulls.
    fn value(&mut self, op: Op) -> DecodeResult<bool> {
        match op {
            Op::Object(number) => return self.object(number),
            Op::Level(number) => self.level(number)?,
            Op::Value(Ty::Int64 | Ty::Int32, i) => {
                let value = self.cursor.integer()?;
                self.builders.ints[i as usize].push(value);
            }
            Op::Value(Ty::Count, i) => {
                let value = self.cursor.whole()?.count();
                self.builders.ints[i as usize].push(value);
            }
            Op::Value(Ty::TimestampMs, i) => {
                let value = self.cursor.whole()?.floor();
                self.builders.ints[i as usize].push(value);
            }
            Op::Value(Ty::Float64, i) => {
                let value = self.cursor.float()?;
                self.builders.floats[i as usize].push(value);
            }
            Op::Skip => self.skip()?,
            Op::Value(Ty::Text, i) => match self.cursor.plain_string() {
                Some(plain) => self.builders.texts[i as usize].push_span(plain),
                None => self.text_slow(i)?,
            },
            Op::Value(Ty::Category, i) => match self.cursor.plain_string() {
                Some(plain) => self.builders.categories[i as usize].push_span(plain),
                None => match self.cursor.text(Expected::Text)? {
                    Some(text) => self.builders.categories[i as usize].push(&text),
                    None => self.builders.categories[i as usize].null(),
                },
            },
            Op::TextAndClock(text, clock) => self.text_and_clock(text, clock)?,
            Op::Value(Ty::ListInt64, i) => self.integers(i as usize)?,
            Op::Value(Ty::ListText, i) => self.texts(i as usize)?,
            Op::Value(Ty::MapFloat64, i) => self.entries(i as usize)?,
            Op::Value(Ty::LineupId, i) => self.lineup(i as usize)?,
            Op::IntsAndLineup(list, text) => self.integers_and_lineup(list as usize, text as usize)?,
            Op::Open(i) => {
                let value = self.cursor.float()?;
                if !self.open.push(i, self.rows[self.plan.open], value)? && self.policy == DuplicatePolicy::Stop {
                    return Err(DecodeErrorKind::DuplicateKey);
                }
            }
            Op::Several(number) => {
                let plan = self.plan;
                let start = self.cursor;
                for (op, fill) in &plan.several[number as usize] {
                    self.cursor = start;
                    if !self.value(*op)? {
                        self.fill(fill);
                    }
                }
            }
            Op::Value(ty, i) => self.converted_value(ty, i)?,
        }
        Ok(true)
    }

    /// Reads one value whose column holds something other than what is written.
    fn converted_value(&mut self, ty: Ty, i: u32) -> DecodeResult<()> {
        match ty {
            Ty::Bool => {
                let value = self.cursor.boolean()?;
                self.builders.bools[i as usize].push(value);
            }
            Ty::ClockSeconds => {
                let value = self.clock()?;
                self.builders.floats[i as usize].push(value);
            }
            Ty::IsTeamTotal => {
                let id = self.cursor.integer()?;
                self.builders.bools[i as usize].push(id.map(|id| id == 0));
            }
            Ty::IsMake => {
                let is_make = if self.cursor.peek_byte() == b'"' {
                    scalars::is_make(&self.cursor.string()?)
                } else {
                    self.cursor.boolean()?
                };
                self.builders.bools[i as usize].push(is_make);
            }
            Ty::LinkFrom | Ty::LinkTo => {
                let link = self.cursor.text(Expected::Text)?;
                self.builders.ints[i as usize].push(link.and_then(|link| scalars::link_ms(&link, ty)));
            }
            Ty::Links => {
                let links = self.links()?;
                self.builders.texts[i as usize].push_option(links.as_deref());
            }
            Ty::LinkId => {
                let links = self.links()?;
                let value = links.as_deref().and_then(|links| scalars::link_text(links, "id"));
                self.builders.texts[i as usize].push_option(value);
            }
            Ty::BeforeAt | Ty::AfterAt => {
                let text = self.cursor.text(Expected::Text)?;
                let parts = text.as_deref().and_then(scalars::split_at_sign);
                let part = parts.map(|(before, after)| if ty == Ty::BeforeAt { before } else { after });
                self.builders.texts[i as usize].push_option(part);
            }
            _ => return Err(DecodeErrorKind::Engine),
        }
        Ok(())
    }

    #[inline(always)]
    fn text_and_clock(&mut self, text: u32, clock: u32) -> DecodeResult<()> {
        match self.cursor.plain_string() {
            Some(plain) => {
                self.builders.texts[text as usize].push_span(plain);
                self.builders.floats[clock as usize].push(scalars::clock_seconds(plain));
            }
            None => {
                let start = self.cursor;
                self.converted_value(Ty::ClockSeconds, clock)?;
                self.cursor = start;
                self.text_slow(text)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn skip(&mut self) -> DecodeResult<()> {
        if self.cursor.validate_flat() { Ok(()) } else { self.skip_slow() }
    }

    #[inline(never)]
    fn skip_slow(&mut self) -> DecodeResult<()> {
        let result = if self.validates { self.cursor.validate() } else { self.cursor.skip_value() };
        Ok(result?)
    }

    #[cold]
    #[inline(never)]
    fn text_slow(&mut self, i: u32) -> DecodeResult<()> {
        let text = self.cursor.text(Expected::Text)?;
        self.builders.texts[i as usize].push_option(text.as_deref());
        Ok(())
    }

    /// Reads any value; one that is not a clock becomes null.
    fn clock(&mut self) -> DecodeResult<Option<f64>> {
        match self.cursor.peek_byte() {
            b'"' => match self.cursor.plain_string() {
                Some(plain) => Ok(scalars::clock_seconds(plain)),
                None => Ok(scalars::any_clock(&self.cursor.string()?)),
            },
            b'0'..=b'9' | b'-' => match self.cursor.float() {
                Err(ErrorKind::Range) => self.skip().map(|()| None),
                read => Ok(read?),
            },
            _ => self.skip().map(|()| None),
        }
    }
}
