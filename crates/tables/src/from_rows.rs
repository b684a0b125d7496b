//! Tables of the package's own, from Rust values: coverage, the items of a stream.

use super::declaration::Table;
use super::schema::schema;
use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, DictionaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use std::collections::HashMap;
use std::sync::Arc;

/// The table of these columns, in the order of the declaration; an error if a type differs or a required value is missing.
pub fn from_columns(table: &'static Table, columns: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema(table), columns)
}

/// One loop for all columns of a type: a loop for each column of each table was a twentieth of the wheel. Collecting an array
/// writes a bit for each row; a builder only once there is a null.
#[inline(never)]
fn primitives<T: ArrowPrimitiveType>(values: &mut dyn Iterator<Item = Option<T::Native>>) -> PrimitiveArray<T> {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(values.size_hint().0);
    values.for_each(|value| builder.append_option(value));
    builder.finish()
}

pub fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringBuilder::with_capacity(values.size_hint().0, 0);
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

pub fn categories<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let (mut keys, mut words): (HashMap<&str, i32>, Vec<&str>) = Default::default();
    // Neighbours are most often the same text.
    let mut last: Option<(&str, i32)> = None;
    let mut key = |text: &'a str| match last {
        Some((previous, key)) if std::ptr::eq(previous, text) => key,
        _ => {
            let key = *keys.entry(text).or_insert_with(|| {
                words.push(text);
                words.len() as i32 - 1
            });
            last = Some((text, key));
            key
        }
    };
    let mut places = PrimitiveBuilder::<Int32Type>::with_capacity(values.size_hint().0);
    values.for_each(|text| places.append_option(text.map(&mut key)));
    Arc::new(DictionaryArray::new(places.finish(), Arc::new(StringArray::from(words))))
}

pub fn integers(mut values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(primitives::<Int64Type>(&mut values))
}

pub fn floats(mut values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(primitives::<Float64Type>(&mut values))
}

pub fn small_integers(mut values: impl Iterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(primitives::<Int32Type>(&mut values))
}

/// Of milliseconds since the epoch.
pub fn times(mut values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(primitives::<TimestampMillisecondType>(&mut values).with_timezone("UTC"))
}
