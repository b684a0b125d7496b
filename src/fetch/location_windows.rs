//! Several windows of locations as one table. Each is decoded separately and stays a batch of its own. Peak memory:
//! bodies, table, and one column copy.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch, RecordBatchOptions, StringArray, make_array,
};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};
use reader::Body;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tables::{Context, DecodeError, Resource, decode};

/// The columns that identify a location.
const KEY_COLUMNS: [&str; 3] = ["t", "tag", "player_id"];
type RowKey<'a> = (i64, Option<&'a str>, Option<i64>);

/// The table of each window in order; like `merge_json`, a window leaves out what the previous one has. Returns at
/// least one batch; all share one schema, and one dictionary for each column.
pub(super) fn table(
    resource: &'static Resource,
    name: &str,
    columns: Option<&[String]>,
    bodies: &[&Body],
    context: &Context,
) -> Result<Vec<RecordBatch>, DecodeError> {
    let needed_columns: Option<Vec<String>> = columns.map(|columns| {
        let missing = KEY_COLUMNS.iter().filter(|key| !columns.iter().any(|column| column == *key));
        columns.iter().cloned().chain(missing.map(|key| (*key).to_owned())).collect()
    });
    let projection = columns.map(|columns| (0..columns.len()).collect::<Vec<_>>());
    let mut windows: Vec<RecordBatch> = Vec::with_capacity(bodies.len());
    let mut before: Option<[ArrayRef; 3]> = None;
    for (number, body) in bodies.iter().enumerate() {
        let window = decode(resource, name, needed_columns.as_deref(), body, context)
            .map_err(|error| in_answer(error, number + 1, bodies.len()))?;
        let key = key_columns(&window)?;
        let new = before.as_ref().map(|before| new(&key, before));
        before = Some(key);
        let window = match &projection {
            Some(projection) => window.project(projection).map_err(mismatch)?,
            None => window,
        };
        windows.push(match new {
            Some(new) => only(window, &new).map_err(mismatch)?,
            None => window,
        });
    }
    drop(before);
    if let Some(first) = windows.iter().position(|window| window.num_rows() > 0) {
        windows.drain(..first);
        windows.retain(|window| window.num_rows() > 0);
    } else {
        windows.truncate(1);
    }
    with_one_dictionary(windows).map_err(mismatch)
}

fn key_columns(window: &RecordBatch) -> Result<[ArrayRef; 3], DecodeError> {
    let column = |name: &str| window.column_by_name(name).cloned();
    match KEY_COLUMNS.map(column) {
        [Some(t), Some(tag), Some(player)] => Ok([t, tag, player]),
        _ => Err(mismatch(ArrowError::SchemaError(format!("a table without {}", KEY_COLUMNS.join(", "))))),
    }
}

fn keys(columns: &[ArrayRef; 3]) -> impl Iterator<Item = RowKey<'_>> {
    let [t, tag, player] = columns;
    let times = t.as_primitive::<TimestampMillisecondType>().values().iter().copied();
    times.zip(tag.as_string::<i32>()).zip(player.as_primitive::<Int64Type>()).map(|((t, tag), player)| (t, tag, player))
}

/// The rows that the previous window does not have. Windows only touch: only their few equal times are compared.
fn new(window: &[ArrayRef; 3], before: &[ArrayRef; 3]) -> BooleanArray {
    let times = || keys(window).map(|key| key.0);
    let range = times().min().unwrap_or(i64::MAX)..=times().max().unwrap_or(i64::MIN);
    let previous_keys: HashSet<RowKey> = keys(before).filter(|key| range.contains(&key.0)).collect();
    keys(window).map(|key| Some(previous_keys.is_empty() || !previous_keys.contains(&key))).collect()
}

/// The selected rows: a slice if they are adjacent, as between touching windows; else a copy, column by column.
fn only(window: RecordBatch, mask: &BooleanArray) -> Result<RecordBatch, ArrowError> {
    let bits = mask.values();
    let rows = mask.true_count();
    let first = bits.set_indices().next().unwrap_or(0);
    if bits.slice(first, rows).count_set_bits() == rows {
        return Ok(window.slice(first, rows));
    }
    let (schema, columns, _) = window.into_parts();
    // arrow-select, which has code for each type of array, would be a tenth of the wheel.
    let copy = |column: ArrayRef| {
        let data = column.to_data();
        let mut selected_rows = MutableArrayData::new(vec![&data], false, rows);
        bits.set_slices().try_for_each(|(start, end)| selected_rows.try_extend(0, start, end))?;
        Ok(make_array(selected_rows.freeze()))
    };
    let columns = columns.into_iter().map(copy).collect::<Result<_, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

/// Each window numbers its categories by itself. Most readers accept one dictionary for each batch, but Arrow's file
/// format, for example, does not.
pub(super) fn with_one_dictionary(windows: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, ArrowError> {
    let [first, _, ..] = windows.as_slice() else { return Ok(windows) };
    let schema = first.schema();
    let mut columns: Vec<Vec<ArrayRef>> = windows.iter().map(|window| window.columns().to_vec()).collect();
    for (place, field) in schema.fields().iter().enumerate() {
        if matches!(field.data_type(), DataType::Dictionary(key, _) if **key == DataType::Int32) {
            let old: Vec<_> = windows.iter().map(|window| window.column(place).as_dictionary::<Int32Type>()).collect();
            for (columns, shared) in columns.iter_mut().zip(shared(&old)?) {
                columns[place] = shared;
            }
        }
    }
    let batch = |(columns, window): (Vec<ArrayRef>, &RecordBatch)| {
        let options = RecordBatchOptions::new().with_row_count(Some(window.num_rows()));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
    };
    columns.into_iter().zip(&windows).map(batch).collect()
}

fn shared(columns: &[&DictionaryArray<Int32Type>]) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut words: Vec<&str> = Vec::new();
    let mut places: HashMap<&str, i32> = HashMap::new();
    let mut mappings: Vec<Vec<i32>> = Vec::with_capacity(columns.len());
    for column in columns {
        let place = |word| {
            *places.entry(word).or_insert_with(|| {
                words.push(word);
                words.len() as i32 - 1
            })
        };
        mappings.push(column.values().as_string::<i32>().iter().map(Option::unwrap_or_default).map(place).collect());
    }
    let values: ArrayRef = Arc::new(StringArray::from(words));
    let rewritten = |(column, mapping): (&&DictionaryArray<Int32Type>, Vec<i32>)| -> Result<ArrayRef, ArrowError> {
        let stay = mapping.iter().enumerate().all(|(old, new)| old as i32 == *new);
        let new = |old: i32| mapping.get(old as usize).copied().unwrap_or_default();
        let keys = if stay { column.keys().clone() } else { column.keys().unary(new) };
        Ok(Arc::new(DictionaryArray::try_new(keys, values.clone())?))
    };
    columns.iter().zip(mappings).map(rewritten).collect()
}

/// The position in a body says little if there are several.
fn in_answer(error: DecodeError, number: usize, count: usize) -> DecodeError {
    match error {
        DecodeError::Body { message, path, offset } => {
            DecodeError::Body { message: format!("answer {number} of {count}: {message}"), path, offset }
        }
        other => other,
    }
}

/// Never happens for the engine's batches; an error is better than a panic.
pub(super) fn mismatch(error: ArrowError) -> DecodeError {
    DecodeError::Body { message: format!("the parts do not fit together: {error}"), path: "$".into(), offset: 0 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::super::merge_json::merge;
    use super::*;
    use crate::operation::Merge;
    use crate::resource::locations::LOCATIONS;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn windows(bodies: &[String], columns: Option<&[&str]>) -> Result<Vec<RecordBatch>, DecodeError> {
        let bodies: Vec<Body> = bodies.iter().map(|body| Body::from(body.as_bytes())).collect();
        let columns = columns.map(|columns| columns.iter().map(ToString::to_string).collect::<Vec<_>>());
        table(&LOCATIONS, "locations", columns.as_deref(), &bodies.iter().collect::<Vec<_>>(), &Context::default())
    }

    /// The values of each row, written out.
    fn rows(batches: &[RecordBatch]) -> Vec<Vec<String>> {
        let text = |batch: &RecordBatch, row| {
            let slice = batch.slice(row, 1);
            let texts = slice.columns().iter().map(|column| match column.as_dictionary_opt::<Int32Type>() {
                Some(words) => format!("{:?}", words.downcast_dict::<StringArray>().unwrap().into_iter().next()),
                None => format!("{column:?}"),
            });
            texts.collect()
        };
        batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| text(batch, row))).collect()
    }

    /// The table of the merged body.
    fn decode_joined(bodies: &[String]) -> RecordBatch {
        let bodies: Vec<Body> = bodies.iter().map(|body| Body::from(body.as_bytes())).collect();
        let body = Body::from(merge(Merge::Locations, &bodies.iter().collect::<Vec<_>>()).unwrap());
        decode(&LOCATIONS, "locations", None, &body, &Context::default()).unwrap()
    }

    fn location() -> impl Strategy<Value = Value> {
        let id = || prop_oneof![Just(None), (1i64..3).prop_map(Some)];
        (0i64..6, id(), id(), "[A-D]?", any::<bool>()).prop_map(|(t, tag, player, kind, text)| {
            let player = player.map(|id| if text { json!(id.to_string()) } else { json!(id) });
            json!({"t": t, "tag": tag, "pid": player, "type": kind, "x": t as f64 / 7.0})
        })
    }

    fn body() -> impl Strategy<Value = String> {
        let batch = prop_oneof![
            8 => prop::collection::vec(location(), 0..4).prop_map(|list| json!({"n": 1, "locations": list})),
            1 => Just(json!({"locations": null})),
        ];
        prop_oneof![
            8 => prop::collection::vec(batch.clone(), 0..5).prop_map(|batches| Value::from(batches).to_string()),
            1 => batch.prop_filter("its root", |batch| !batch["locations"].is_null()).prop_map(|batch| batch.to_string()),
        ]
    }

    proptest! {
        #[test]
        fn windows_give_the_rows_that_the_joined_body_gives(bodies in prop::collection::vec(body(), 2..5)) {
            let (batches, expected) = (windows(&bodies, None).unwrap(), decode_joined(&bodies));
            prop_assert_eq!(rows(&batches), rows(std::slice::from_ref(&expected)));
            prop_assert!(batches.iter().all(|batch| batch.schema() == expected.schema()));
            prop_assert!(batches.len() == 1 || batches.iter().all(|batch| batch.num_rows() > 0));
            let dictionary = |batch: &RecordBatch| batch["type"].as_dictionary::<Int32Type>().values().clone();
            prop_assert!(batches.iter().all(|batch| *dictionary(batch) == *dictionary(&batches[0])));
            // Whether or not the identifying columns are requested.
            for columns in [&["x"][..], &["player_id", "type", "t"]] {
                let places: Vec<usize> = columns.iter().map(|name| expected.schema().index_of(name).unwrap()).collect();
                let selection = windows(&bodies, Some(columns)).unwrap();
                prop_assert_eq!(rows(&selection), rows(&[expected.project(&places).unwrap()]));
            }
        }
    }

    #[test]
    fn the_border_between_windows_is_left_out_without_a_copy() {
        let at = |t: i64| json!({"locations": [{"t": t, "pid": 1}, {"t": t, "pid": 2}]});
        let bodies = [json!([at(1), at(2)]), json!([at(2), at(3), at(4)])].map(|body| body.to_string());
        let [_, second] = &windows(&bodies, None).unwrap()[..] else { panic!() };
        assert_eq!(second["t"].as_primitive::<TimestampMillisecondType>().values(), &[3, 3, 4, 4]);
        // Its buffer still begins with the rows that are left out.
        assert_eq!(second["t"].to_data().buffers()[0].ptr_offset(), 16);
    }

    #[test]
    fn an_error_in_one_response_names_it() {
        let bodies = ["[]", r#"[{"locations": [{"t": "x"}]}]"#, "[]"].map(str::to_owned);
        let DecodeError::Body { message, path, offset } = windows(&bodies, None).unwrap_err() else { panic!() };
        assert!(message.starts_with("answer 2 of 3: "), "{message}");
        assert_eq!((path.as_str(), offset), ("$[0].locations[0].t", 22));
        assert!(matches!(windows(&bodies, Some(&["y", "no"])), Err(DecodeError::NoColumn { .. })));
    }
}
