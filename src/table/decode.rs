//! Runs a plan over a body: one pass, no recursion but along the declared path.

use super::brackets::{self, Brackets};
use super::cells::Cells;
use super::columns::{Categories, Entries, Lists, Numbers, Texts};
use super::cursor::Cursor;
use super::fault::{Fault, Read, Wanted};
use super::keys::Keys;
use super::open::OpenColumns;
use super::plan::{Cell, Learned, Level, LevelKind, Op, Plan};
use super::repeats::Repeats;
use super::scalars;
use std::borrow::Cow;

/// What a pass over a body gives.
#[derive(Debug)]
pub(super) struct Decoded {
    pub cells: Cells,
    pub rows: usize,
    /// For each level above the rows, the row after the last of each of its elements.
    pub ends: Vec<Vec<u32>>,
    pub open: OpenColumns,
    /// Those of the body, where they were to be noted.
    pub brackets: Option<Brackets>,
}

/// What to do where an object says one key twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Stop: `Fault::RepeatedKey`.
    Stop,
    /// Keep the first value.
    KeepFirst,
}

/// What is done with values that no column asks for.
#[derive(Debug)]
pub(super) enum Unasked<'a> {
    /// They are checked as JSON. It may be noted where long ones end.
    Checked(Option<Brackets>),
    /// They are stepped over, the long ones of these at once.
    Passed(&'a [(u32, u32)]),
}

/// Decodes a body (`cursor` at its start) by a plan. A fault comes with its offset.
pub(super) fn run(
    plan: &Plan,
    cursor: Cursor,
    repeated: Repeated,
    unasked: Unasked,
) -> Result<Decoded, (Fault, usize)> {
    let learned = plan.learned();
    let elements = |level: usize| {
        let guess = (learned.density[level] * cursor.len() as f64 * 1.05) as usize + 8;
        guess.min(cursor.len() / 2 + 1)
    };
    let storage = &plan.storage;
    let cells = Cells {
        ints: storage.ints.iter().map(|l| Numbers::with_capacity(elements(*l))).collect(),
        floats: storage.floats.iter().map(|l| Numbers::with_capacity(elements(*l))).collect(),
        bools: storage.bools.iter().map(|l| Numbers::with_capacity(elements(*l))).collect(),
        texts: storage.texts.iter().map(|l| Texts::with_capacity(elements(*l))).collect(),
        categories: storage.categories.iter().map(|l| Categories::with_capacity(elements(*l))).collect(),
        int_lists: list_cells(&storage.int_lists, elements, Numbers::with_capacity),
        text_lists: list_cells(&storage.text_lists, elements, Texts::with_capacity),
        maps: list_cells(&storage.maps, elements, Entries::with_capacity),
    };
    let mut decoder = Decoder {
        plan,
        cursor,
        learned,
        cells,
        rows: 0,
        ends: plan.levels[1..].iter().map(|_| Vec::new()).collect(),
        open: OpenColumns::new(&plan.open, cursor.len()),
        repeated,
        unasked,
        repeats: Repeats::default(),
        ids: Vec::new(),
        text: Vec::new(),
    };
    match decoder.body() {
        Ok(()) => Ok(decoder.finish()),
        Err(fault) => Err((fault, decoder.cursor.position())),
    }
}

fn list_cells<T>(levels: &[usize], elements: impl Fn(usize) -> usize, items: fn(usize) -> T) -> Vec<Lists<T>> {
    levels.iter().map(|l| Lists::new(items(elements(*l).saturating_mul(4)), elements(*l))).collect()
}

/// What a key leads to.
enum Found {
    Step(usize),
    /// An unknown key that was not learned, and what is done with its value.
    Unlearned(Op),
}

pub(super) struct Decoder<'a> {
    plan: &'a Plan,
    pub cursor: Cursor<'a>,
    learned: Learned,
    pub cells: Cells,
    rows: usize,
    ends: Vec<Vec<u32>>,
    open: OpenColumns,
    repeated: Repeated,
    unasked: Unasked<'a>,
    pub repeats: Repeats,
    /// Of one lineup, and its text.
    pub ids: Vec<i64>,
    pub text: Vec<u8>,
}

impl<'a> Decoder<'a> {
    fn body(&mut self) -> Read<()> {
        self.cursor.whitespace();
        if !self.cursor.null() {
            let plan = self.plan;
            self.element(0, &plan.levels[0], 0)?;
        }
        self.cursor.whitespace();
        if self.cursor.is_at_end() { Ok(()) } else { Err(Fault::Trailing) }
    }

    fn finish(mut self) -> Decoded {
        let bytes = self.cursor.len().max(1) as f64;
        for (density, ends) in self.learned.density.iter_mut().zip(&self.ends) {
            *density = ends.len() as f64 / bytes;
        }
        if let Some(density) = self.learned.density.last_mut() {
            *density = self.rows as f64 / bytes;
        }
        for keys in self.learned.objects.iter_mut().flatten().filter(|keys| keys.open) {
            keys.forget();
        }
        self.plan.keep(self.learned);
        let brackets = if let Unasked::Checked(brackets) = self.unasked { brackets } else { None };
        Decoded { cells: self.cells, rows: self.rows, ends: self.ends, open: self.open, brackets }
    }

    /// All elements of a level.
    fn level(&mut self, number: u32) -> Read<()> {
        let plan = self.plan;
        let level = &plan.levels[number as usize];
        match (level.kind, self.cursor.byte()) {
            (LevelKind::Map, _) => self.map(number as usize, level),
            (_, b'[') => self.array(number as usize, level),
            _ if self.cursor.null() => Ok(()),
            (LevelKind::ArrayOrOne, _) => self.element(number as usize, level, 0),
            _ => Err(Fault::Expected(Wanted::Array)),
        }
    }

    fn array(&mut self, number: usize, level: &'a Level) -> Read<()> {
        self.cursor.advance(1);
        if !self.cursor.opened(b']') {
            return Ok(());
        }
        let mut position = 0;
        loop {
            self.element(number, level, position)?;
            position += 1;
            if !self.cursor.another(b']')? {
                return Ok(());
            }
        }
    }

    fn map(&mut self, number: usize, level: &'a Level) -> Read<()> {
        if self.cursor.byte() != b'{' {
            return self.cursor.null_or(Wanted::Object);
        }
        self.cursor.advance(1);
        if !self.cursor.opened(b'}') {
            return Ok(());
        }
        self.repeats.open();
        loop {
            let key = self.key_of_map()?;
            for cell in &level.keys {
                match *cell {
                    Cell::Text(i) => self.cells.texts[i as usize].push(&key),
                    Cell::Category(i) => self.cells.categories[i as usize].push(&key),
                    _ => return Err(Fault::Engine),
                }
            }
            self.element(number, level, 0)?;
            if !self.cursor.another(b'}')? {
                self.repeats.close();
                return Ok(());
            }
        }
    }

    /// A key that is data. The cursor comes to its value.
    pub fn key_of_map(&mut self) -> Read<Cow<'a, [u8]>> {
        let here = self.cursor;
        if self.cursor.byte() != b'"' {
            return Err(Fault::Key);
        }
        let key = self.cursor.string()?;
        self.cursor.colon()?;
        if self.repeats.meets(&key) && self.repeated == Repeated::Stop {
            self.cursor = here;
            return Err(Fault::RepeatedKey);
        }
        Ok(key)
    }

    #[inline(always)]
    fn element(&mut self, number: usize, level: &'a Level, position: i64) -> Read<()> {
        let start = self.cursor;
        let rows = self.rows;
        for cell in &level.positions {
            let Cell::Int(i) = *cell else { return Err(Fault::Engine) };
            self.cells.ints[i as usize].push(Some(position));
        }
        let has_value = match level.op {
            Op::Object(number) => self.object(number)?,
            op => self.value(op)?,
        };
        if level.is_root && start.byte() != b'{' {
            self.cursor = start;
            return Err(Fault::Document);
        }
        if !has_value {
            self.fill(&level.fill);
        }
        match self.ends.get_mut(number) {
            Some(ends) => ends.push(self.rows as u32),
            None => self.rows += 1,
        }
        if !level.required.is_empty() && self.rows > rows {
            self.required(level, start)?;
        }
        Ok(())
    }

    /// An element with rows must have what its columns require. It is told where the element starts.
    #[inline(always)]
    fn required(&mut self, level: &Level, start: Cursor<'a>) -> Read<()> {
        for (cell, column) in &level.required {
            if self.cells.last_is_null(*cell) {
                self.cursor = start;
                return Err(Fault::Required(*column));
            }
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn fill(&mut self, cells: &[Cell]) {
        cells.iter().for_each(|cell| self.cells.null(*cell));
    }

    fn object(&mut self, number: u32) -> Read<bool> {
        if self.cursor.byte() != b'{' {
            return self.cursor.null_or(Wanted::Object).map(|()| false);
        }
        let mut keys = self.learned.objects[number as usize].take().ok_or(Fault::Engine)?;
        let missing = keys.fillable & !self.members(&mut keys)?;
        if missing != 0 {
            for step in keys.steps[..keys.known].iter().filter(|step| step.bit & missing != 0) {
                self.fill(&step.fill);
            }
        }
        self.learned.objects[number as usize] = Some(keys);
        Ok(true)
    }

    /// The members of an object; gives the bits of those that have a value.
    #[inline(never)]
    fn members(&mut self, keys: &mut Keys) -> Read<u64> {
        let mut cursor = self.cursor;
        let present = self.members_at(&mut cursor, keys);
        self.cursor.go_to(&cursor);
        present
    }

    /// The same, of a cursor of its own, that stays in a register: inlined, and its address is never given away.
    #[inline(always)]
    fn members_at(&mut self, cursor: &mut Cursor<'a>, keys: &mut Keys) -> Read<u64> {
        let (mut seen, mut nulls, mut previous, mut expected) = (0u64, 0u64, 0, keys.expected(0));
        cursor.advance(1);
        if !cursor.opened(b'}') {
            return Ok(0);
        }
        loop {
            if keys.is_passed(expected)
                && let Some(last) = keys.pass(expected, cursor)
            {
                (previous, expected) = (last + 1, keys.expected(last + 1));
                if !cursor.apart(|cursor| cursor.another(b'}'))? {
                    return Ok(seen & !nulls);
                }
                continue;
            }
            let step = match keys.steps.get(expected) {
                Some(step) if step.is_at(cursor) => {
                    cursor.advance(step.len());
                    cursor.whitespace();
                    Some(step)
                }
                _ => match self.with(cursor, |d| d.key(keys, previous))? {
                    Found::Step(number) => {
                        expected = number;
                        Some(&keys.steps[number])
                    }
                    Found::Unlearned(op) => {
                        self.with(cursor, |d| d.value(op))?;
                        None
                    }
                },
            };
            if let Some(step) = step {
                (previous, expected) = (expected + 1, usize::from(step.next));
                if seen & step.bit != 0 {
                    if self.repeated == Repeated::Stop {
                        return Err(Fault::RepeatedKey);
                    }
                    self.with(cursor, Self::skip)?;
                } else {
                    seen |= step.bit;
                    if !self.cells.usual(&step.op, cursor) && !self.with(cursor, |d| d.value(step.op))? {
                        nulls |= step.bit;
                    }
                }
            }
            if cursor.byte() == b',' {
                cursor.advance(1);
                cursor.whitespace();
            } else if !cursor.apart(|cursor| cursor.another(b'}'))? {
                return Ok(seen & !nulls);
            }
        }
    }

    /// Calls what reads at the decoder's own cursor.
    #[inline(always)]
    fn with<T>(&mut self, cursor: &mut Cursor<'a>, call: impl FnOnce(&mut Self) -> T) -> T {
        self.cursor.go_to(cursor);
        let result = call(self);
        cursor.go_to(&self.cursor);
        result
    }

    /// A key that was not the expected one. The cursor comes to its value.
    #[inline(never)]
    fn key(&mut self, keys: &mut Keys, previous: usize) -> Read<Found> {
        if self.cursor.byte() != b'"' {
            return Err(Fault::Key);
        }
        let found = if let Some(found) = keys.find_at(previous, &self.cursor) {
            self.cursor.advance(keys.steps[found].len());
            self.cursor.whitespace();
            found
        } else {
            let key = self.cursor.string()?;
            self.cursor.colon()?;
            match keys.find(&key) {
                Some(found) => found,
                None => {
                    let column = if keys.open { self.open.column(&key, self.plan.table.cols)? } else { None };
                    let op = column.map_or(self.plan.unasked(), Op::Open);
                    // Keys are compared as written, so one that was written with an escape is not learned.
                    let learned = if let Cow::Borrowed(plain) = key { keys.learn(plain, op) } else { None };
                    let Some(learned) = learned else { return Ok(Found::Unlearned(op)) };
                    learned
                }
            }
        };
        keys.followed(previous, found);
        Ok(Found::Step(found))
    }

    /// One value. `false`: a null where an object stands, whose columns still need theirs.
    fn value(&mut self, op: Op) -> Read<bool> {
        match op {
            Op::Object(number) => return self.noted(|decoder| decoder.object(number)),
            Op::Level(number) => self.noted(|decoder| decoder.level(number))?,
            Op::Int(i) => {
                let value = self.cursor.integer()?;
                self.cells.ints[i as usize].push(value);
            }
            Op::Count(i) => {
                let value = self.cursor.whole()?.count();
                self.cells.ints[i as usize].push(value);
            }
            Op::Time(i) => {
                let value = self.cursor.whole()?.floor();
                self.cells.ints[i as usize].push(value);
            }
            Op::Float(i) => {
                let value = self.cursor.float()?;
                self.cells.floats[i as usize].push(value);
            }
            Op::Skip | Op::Pass => self.skip()?,
            Op::Text(i) => self.text(i)?,
            Op::Category(i) => match self.cursor.plain_string() {
                Some(plain) => self.cells.categories[i as usize].push_span(plain),
                None => match self.cursor.text(Wanted::Text)? {
                    Some(text) => self.cells.categories[i as usize].push(&text),
                    None => self.cells.categories[i as usize].null(),
                },
            },
            Op::TextAndClock(text, clock) => self.text_and_clock(text, clock)?,
            Op::Bool(i) => {
                let value = self.cursor.boolean()?;
                self.cells.bools[i as usize].push(value);
            }
            Op::Clock(i) => {
                let value = self.clock()?;
                self.cells.floats[i as usize].push(value);
            }
            Op::IsTeamTotal(i) => {
                let id = self.cursor.integer()?;
                self.cells.bools[i as usize].push(id.map(|id| id == 0));
            }
            Op::IsMake(i) => {
                let made = if self.cursor.byte() == b'"' {
                    scalars::is_make(&self.cursor.string()?)
                } else {
                    self.cursor.boolean()?
                };
                self.cells.bools[i as usize].push(made);
            }
            Op::LinkMs(i, parameter) => {
                let link = self.cursor.text(Wanted::Text)?;
                self.cells.ints[i as usize].push(link.and_then(|link| scalars::link_ms(&link, parameter)));
            }
            Op::LinkText(i, parameter) => {
                let links = self.joined_links()?;
                let value = links.as_deref().and_then(|links| scalars::link_text(links, parameter));
                self.cells.texts[i as usize].push_option(value);
            }
            Op::BeforeAt(i) => {
                let text = self.cursor.text(Wanted::Text)?;
                let part = text.as_deref().and_then(scalars::split_at_sign).map(|(before, _)| before);
                self.cells.texts[i as usize].push_option(part);
            }
            Op::AfterAt(i) => {
                let text = self.cursor.text(Wanted::Text)?;
                let part = text.as_deref().and_then(scalars::split_at_sign).map(|(_, after)| after);
                self.cells.texts[i as usize].push_option(part);
            }
            Op::Ints(i) => self.integers(i as usize)?,
            Op::Texts(i) => self.texts(i as usize)?,
            Op::Links(i) => self.links(i as usize)?,
            Op::Map(i) => self.entries(i as usize)?,
            Op::Lineup(i) => self.lineup(i as usize)?,
            Op::IntsAndLineup(list, text) => self.integers_and_lineup(list as usize, text as usize)?,
            Op::Open(i) => {
                let value = self.cursor.float()?;
                if !self.open.push(i, self.rows, value)? && self.repeated == Repeated::Stop {
                    return Err(Fault::RepeatedKey);
                }
            }
            Op::Several(number) => {
                let plan = self.plan;
                let here = self.cursor;
                for op in &plan.several[number as usize] {
                    self.cursor = here;
                    self.value(*op)?;
                }
            }
        }
        Ok(true)
    }

    #[inline(always)]
    fn text(&mut self, i: u32) -> Read<()> {
        match self.cursor.plain_string() {
            Some(plain) => self.cells.texts[i as usize].push_span(plain),
            None => self.text_slow(i)?,
        }
        Ok(())
    }

    #[inline(always)]
    fn text_and_clock(&mut self, text: u32, clock: u32) -> Read<()> {
        match self.cursor.plain_string() {
            Some(plain) => {
                self.cells.texts[text as usize].push_span(plain);
                self.cells.floats[clock as usize].push(scalars::clock_seconds(plain));
            }
            None => {
                let here = self.cursor;
                self.value(Op::Clock(clock))?;
                self.cursor = here;
                self.text_slow(text)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn skip(&mut self) -> Read<()> {
        if self.cursor.skip_flat() { Ok(()) } else { self.skip_slow() }
    }

    #[inline(never)]
    fn skip_slow(&mut self) -> Read<()> {
        if let Unasked::Passed(brackets) = &mut self.unasked {
            let end = brackets::end_of(brackets, self.cursor.position());
            return if end.is_some_and(|end| self.cursor.jump(end)) { Ok(()) } else { self.cursor.skip_unchecked() };
        }
        self.noted(|decoder| decoder.cursor.skip_checked())
    }

    /// Reads an object or array; where it is long, that is noted.
    #[inline(always)]
    fn noted<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let start = self.cursor.position();
        let opened = self.brackets().map(|brackets| brackets.open(start));
        let value = read(self)?;
        let end = self.cursor.position();
        if let (Some(brackets), Some(opened)) = (self.brackets(), opened) {
            brackets.close(opened, end);
        }
        Ok(value)
    }

    fn brackets(&mut self) -> Option<&mut Brackets> {
        if let Unasked::Checked(brackets) = &mut self.unasked { brackets.as_mut() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn text_slow(&mut self, i: u32) -> Read<()> {
        let text = self.cursor.text(Wanted::Text)?;
        self.cells.texts[i as usize].push_option(text.as_deref());
        Ok(())
    }

    /// Whatever stands here: what is no clock has no seconds.
    fn clock(&mut self) -> Read<Option<f64>> {
        match self.cursor.byte() {
            b'"' => match self.cursor.plain_string() {
                Some(plain) => Ok(scalars::clock_seconds(plain)),
                None => Ok(scalars::any_clock(&self.cursor.string()?)),
            },
            b'0'..=b'9' | b'-' => match self.cursor.float() {
                Err(Fault::Range) => self.skip().map(|()| None),
                read => read,
            },
            _ => self.skip().map(|()| None),
        }
    }
}
