//! Tables of the package's own, from Rust values: coverage, the items of a stream.

use super::declaration::Table;
use super::schema::schema;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow_schema::ArrowError;
use std::collections::HashMap;
use std::sync::Arc;

/// The table of these columns, in the order of the declaration; an error if a type differs or a required value is missing.
pub fn from_columns(table: &'static Table, columns: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema(table), columns)
}

/// One loop for all columns of a type: a loop for each column of each table was a twentieth of the wheel.
#[inline(never)]
fn collect<T, A: FromIterator<T>>(values: &mut dyn Iterator<Item = T>) -> A {
    values.collect()
}

pub fn texts<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(collect::<_, StringArray>(&mut values))
}

pub fn categories<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    dictionary(&mut values)
}

#[inline(never)]
fn dictionary<'a>(values: &mut dyn Iterator<Item = Option<&'a str>>) -> ArrayRef {
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
    let places: Int32Array = values.map(|text| text.map(&mut key)).collect();
    Arc::new(DictionaryArray::new(places, Arc::new(StringArray::from(words))))
}

pub fn integers(mut values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(collect::<_, Int64Array>(&mut values))
}

pub fn floats(mut values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(collect::<_, Float64Array>(&mut values))
}

pub fn small_integers(mut values: impl Iterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(collect::<_, Int32Array>(&mut values))
}

pub fn flags(mut values: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(collect::<_, BooleanArray>(&mut values))
}

/// Of milliseconds since the epoch.
pub fn times(mut values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(collect::<_, TimestampMillisecondArray>(&mut values).with_timezone("UTC"))
}
