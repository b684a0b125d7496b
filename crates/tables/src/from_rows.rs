//! Tables of the package's own, from Rust values: coverage, the items of a stream.

use super::declaration::Table;
use super::schema::schema;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow_schema::ArrowError;
use std::collections::HashMap;
use std::sync::Arc;

/// The table of these columns, in the order of the declaration; an error if a type differs or a required value is missing.
pub fn from_columns(table: &'static Table, columns: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema(table), columns)
}

pub fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
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
    let places: Int32Array = values.map(|text| text.map(&mut key)).collect();
    Arc::new(DictionaryArray::new(places, Arc::new(StringArray::from(words))))
}

pub fn integers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

pub fn floats(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

pub fn small_integers(values: impl Iterator<Item = Option<i32>>) -> ArrayRef {
    Arc::new(values.collect::<Int32Array>())
}

/// Of milliseconds since the epoch.
pub fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<TimestampMillisecondArray>().with_timezone("UTC"))
}
