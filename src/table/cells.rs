//! The columns of a table while it is decoded, each in the storage of its type.

use super::columns::{Categories, Entries, Lists, Numbers, Texts};
use super::cursor::Cursor;
use super::plan::{Cell, Op};
use super::scalars;

/// The cells of a plan, filled.
#[derive(Debug)]
pub(super) struct Cells {
    pub ints: Vec<Numbers<i64>>,
    pub floats: Vec<Numbers<f64>>,
    pub bools: Vec<Numbers<bool>>,
    pub texts: Vec<Texts>,
    pub categories: Vec<Categories>,
    pub int_lists: Vec<Lists<Numbers<i64>>>,
    pub text_lists: Vec<Lists<Texts>>,
    pub maps: Vec<Lists<Entries>>,
}

impl Cells {
    /// Takes a value as most columns' values are written. `false`: not this one, and the cursor stays.
    #[inline(always)]
    pub fn usual(&mut self, op: &Op, cursor: &mut Cursor) -> bool {
        match *op {
            Op::Int(i) | Op::Count(i) | Op::Time(i) => {
                let Some(value) = cursor.short_integer() else { return false };
                self.ints[i as usize].values.push(value);
            }
            Op::Float(i) => {
                let Some(value) = cursor.short_float() else { return false };
                self.floats[i as usize].values.push(value);
            }
            Op::Text(i) => {
                let Some(plain) = cursor.plain_string() else { return false };
                self.texts[i as usize].push_span(plain);
            }
            Op::Category(i) => {
                let Some(plain) = cursor.plain_string() else { return false };
                self.categories[i as usize].push_span(plain);
            }
            Op::TextAndClock(text, clock) => {
                let Some(plain) = cursor.plain_string() else { return false };
                self.texts[text as usize].push_span(plain);
                self.floats[clock as usize].push(scalars::clock_seconds(plain));
            }
            Op::Bool(i) => {
                let Some(value) = cursor.word_of_truth() else { return false };
                self.bools[i as usize].values.push(value);
            }
            Op::Skip => return cursor.skip_flat(),
            Op::Pass => return cursor.pass_flat(),
            _ => return false,
        }
        true
    }

    pub fn null(&mut self, cell: Cell) {
        match cell {
            Cell::Int(i) => self.ints[i as usize].null(),
            Cell::Float(i) => self.floats[i as usize].null(),
            Cell::Bool(i) => self.bools[i as usize].null(),
            Cell::Text(i) => self.texts[i as usize].null(),
            Cell::Category(i) => self.categories[i as usize].null(),
            Cell::Ints(i) => self.int_lists[i as usize].null(),
            Cell::Texts(i) => self.text_lists[i as usize].null(),
            Cell::Map(i) => self.maps[i as usize].null(),
        }
    }

    #[inline(always)]
    pub fn last_is_null(&self, cell: Cell) -> bool {
        let (nulls, len) = match cell {
            Cell::Int(i) => (&self.ints[i as usize].nulls, self.ints[i as usize].values.len()),
            Cell::Float(i) => (&self.floats[i as usize].nulls, self.floats[i as usize].values.len()),
            Cell::Bool(i) => (&self.bools[i as usize].nulls, self.bools[i as usize].values.len()),
            Cell::Text(i) => (&self.texts[i as usize].nulls, self.texts[i as usize].len()),
            Cell::Category(i) => return self.categories[i as usize].last_is_null(),
            Cell::Ints(i) => (&self.int_lists[i as usize].nulls, self.int_lists[i as usize].len()),
            Cell::Texts(i) => (&self.text_lists[i as usize].nulls, self.text_lists[i as usize].len()),
            Cell::Map(i) => (&self.maps[i as usize].nulls, self.maps[i as usize].len()),
        };
        len.checked_sub(1).is_some_and(|last| nulls.last_is(last))
    }
}
