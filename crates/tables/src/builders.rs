//! The columns of a table while it is decoded, each in the storage of its type.

use super::columns::{Categories, Lists, MapEntries, Numbers, Texts};
use super::declaration::Ty;
use super::plan::{ColumnRef, Op};
use super::scalars;
use reader::Cursor;

/// The column builders of a plan, by type.
#[derive(Debug, Default)]
pub(super) struct ColumnBuilders {
    pub ints: Vec<Numbers<i64>>,
    pub floats: Vec<Numbers<f64>>,
    pub(crate) bools: Vec<Numbers<bool>>,
    pub texts: Vec<Texts>,
    pub categories: Vec<Categories>,
    pub(crate) int_lists: Vec<Lists<Numbers<i64>>>,
    pub(crate) text_lists: Vec<Lists<Texts>>,
    pub maps: Vec<Lists<MapEntries>>,
}

impl ColumnBuilders {
    /// Reads a value in its most common form. Returns `false` and leaves the cursor if it has another form.
    #[inline(always)]
    pub(crate) fn push_common(&mut self, op: &Op, cursor: &mut Cursor) -> bool {
        match *op {
            Op::Value(Ty::Int64 | Ty::Int32 | Ty::Count | Ty::TimestampMs, i) => {
                let Some(value) = cursor.short_integer() else { return false };
                self.ints[i as usize].values.push(value);
            }
            Op::Value(Ty::Float64, i) => {
                let Some(value) = cursor.short_float() else { return false };
                self.floats[i as usize].values.push(value);
            }
            Op::Value(Ty::Text | Ty::Links, i) => {
                let Some(plain) = cursor.plain_string() else { return false };
                self.texts[i as usize].push_span(plain);
            }
            Op::Value(Ty::Category, i) => {
                let Some(plain) = cursor.plain_string() else { return false };
                self.categories[i as usize].push_span(plain);
            }
            Op::TextAndClock(text, clock) => {
                let Some(plain) = cursor.plain_string() else { return false };
                self.texts[text as usize].push_span(plain);
                self.floats[clock as usize].push(scalars::clock_seconds(plain));
            }
            Op::Value(Ty::Bool, i) => {
                let Some(value) = cursor.bool_literal() else { return false };
                self.bools[i as usize].values.push(value);
            }
            Op::Skip => return cursor.validate_flat(),
            _ => return false,
        }
        true
    }

    pub(crate) fn null(&mut self, cell: ColumnRef) {
        match cell {
            ColumnRef::Int(i) => self.ints[i as usize].null(),
            ColumnRef::Float(i) => self.floats[i as usize].null(),
            ColumnRef::Bool(i) => self.bools[i as usize].null(),
            ColumnRef::Text(i) => self.texts[i as usize].null(),
            ColumnRef::Category(i) => self.categories[i as usize].null(),
            ColumnRef::Ints(i) => self.int_lists[i as usize].null(),
            ColumnRef::Texts(i) => self.text_lists[i as usize].null(),
            ColumnRef::Map(i) => self.maps[i as usize].null(),
        }
    }

    #[inline(always)]
    pub(crate) fn last_is_null(&self, cell: ColumnRef) -> bool {
        let (nulls, len) = match cell {
            ColumnRef::Int(i) => (&self.ints[i as usize].nulls, self.ints[i as usize].values.len()),
            ColumnRef::Float(i) => (&self.floats[i as usize].nulls, self.floats[i as usize].values.len()),
            ColumnRef::Bool(i) => (&self.bools[i as usize].nulls, self.bools[i as usize].values.len()),
            ColumnRef::Text(i) => (&self.texts[i as usize].nulls, self.texts[i as usize].len()),
            ColumnRef::Category(i) => return self.categories[i as usize].last_is_null(),
            ColumnRef::Ints(i) => (&self.int_lists[i as usize].nulls, self.int_lists[i as usize].len()),
            ColumnRef::Texts(i) => (&self.text_lists[i as usize].nulls, self.text_lists[i as usize].len()),
            ColumnRef::Map(i) => (&self.maps[i as usize].nulls, self.maps[i as usize].len()),
        };
        len.checked_sub(1).is_some_and(|last| nulls.last_is(last))
    }
}
