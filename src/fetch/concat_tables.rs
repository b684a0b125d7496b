//! The tables of many payloads as one, in order. Each stays a batch: concatenating would need twice the memory.

use super::Payload;
use super::location_windows::{mismatch, with_one_dictionary};
use crate::error::{Error, Result, Undecodable};
use crate::scrub::{Scrubbed, Scrubber};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tables::{DecodeError, TOO_WIDE_MESSAGE, is_too_wide};

/// The table `name` (`None`: the first) over `payloads`; `shape` gives the schema if there are none. Returns at least
/// one batch; all share one schema, and one dictionary for each column. Columns that only some bodies have come last,
/// by name. `ensure` fails where there is no memory to decode the next bodies, or for so many bytes.
pub fn table(
    shape: &Payload,
    payloads: &[Payload],
    name: Option<&str>,
    columns: Option<&[String]>,
    ensure: impl Fn(&[&[u8]], usize) -> Result<()> + Sync,
) -> Result<(String, Vec<RecordBatch>)> {
    let resource = shape.with_tables()?;
    let Some(declaration) = resource.tables.iter().find(|table| name.is_none_or(|name| table.name == name)) else {
        let (name, candidates) = (name.unwrap_or_default().to_owned(), shape.tables().join(", "));
        return Err(shape.error(DecodeError::NoTable { name, candidates }));
    };
    let fixed = tables::schema(declaration);
    // A code that one body has and another lacks must not be an error.
    let of_some = columns.is_some_and(|names| names.iter().any(|column| fixed.field_with_name(column).is_err()));
    let parts = decode_all(payloads, |payload| {
        ensure(&payload.bodies().collect::<Vec<_>>(), 0)?;
        // A copy, so that merged responses are not kept beside the single ones.
        payload.clone().table(Some(declaration.name), if of_some { None } else { columns })
    })?;
    let schema = schema(declaration.name, &fixed, &parts, columns)?;
    let rows: usize = parts.iter().map(RecordBatch::num_rows).sum();
    let bodies = payloads.iter().map(Payload::size).sum();
    if is_too_wide(schema.fields().len().saturating_sub(fixed.fields().len()), rows, bodies) {
        return Err(shape.error(DecodeError::Body { message: TOO_WIDE_MESSAGE.into(), path: "$".into(), offset: 0 }));
    }
    let missing = |part: &RecordBatch| part.num_rows() * schema.fields().len().saturating_sub(part.num_columns());
    let dictionaries = schema.fields().iter().filter(|field| matches!(field.data_type(), DataType::Dictionary(..)));
    ensure(&[], 9 * parts.iter().map(missing).sum::<usize>() + 4 * rows * dictionaries.count())?;
    let mut parts = parts.into_iter().map(|part| fit(part, &schema)).collect::<Result<Vec<_>>>()?;
    parts.retain(|part| part.num_rows() > 0);
    if parts.is_empty() {
        parts.push(RecordBatch::new_empty(schema));
    }
    let parts = with_one_dictionary(parts).map_err(|error| shape.error(mismatch(error)))?;
    Ok((declaration.name.to_owned(), parts))
}

/// The fixed columns, then the extra columns of any part; of these the requested ones.
fn schema(name: &str, fixed: &SchemaRef, parts: &[RecordBatch], columns: Option<&[String]>) -> Result<SchemaRef> {
    let mut more: BTreeMap<String, FieldRef> = BTreeMap::new();
    for field in parts.iter().flat_map(|part| part.schema().fields().iter().cloned().collect::<Vec<_>>()) {
        if fixed.field_with_name(field.name()).is_err() {
            more.insert(field.name().clone(), field);
        }
    }
    let all: Vec<FieldRef> = fixed.fields().iter().cloned().chain(more.into_values()).collect();
    let find_column = |column: &String| {
        all.iter().find(|field| field.name() == column).cloned().ok_or_else(|| {
            let candidates = all.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
            let error = DecodeError::NoColumn { table: name.to_owned(), name: column.clone(), candidates };
            Error::decode(error, &Scrubber::default())
        })
    };
    let fields = columns.map(|columns| columns.iter().map(find_column).collect::<Result<Vec<_>>>()).transpose()?;
    Ok(Arc::new(Schema::new(fields.unwrap_or(all)).with_metadata(fixed.metadata().clone())))
}

fn fit(part: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |field: &FieldRef| -> ArrayRef {
        part.column_by_name(field.name()).cloned().unwrap_or_else(|| new_null_array(field.data_type(), part.num_rows()))
    };
    let columns = schema.fields().iter().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(part.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::decode(mismatch(error), &Scrubber::default()))
}

/// Decodes each payload's table, on as many threads as there are processors.
fn decode_all(
    payloads: &[Payload],
    decode: impl Fn(&Payload) -> Result<Vec<RecordBatch>> + Sync,
) -> Result<Vec<RecordBatch>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tables = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(payload) = payloads.get(place) else { return tables };
            let table = decode(payload);
            if table.is_err() {
                next.store(payloads.len(), Ordering::Relaxed);
            }
            tables.push((place, table));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(payloads.len());
    let mut all = thread::scope(|scope| {
        // If no thread can be started, this one does the work.
        let more: Vec<_> = (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut all = work();
        for thread in more {
            all.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(place, _)| *place);
    let mut batches = Vec::with_capacity(all.len());
    for (place, table) in all {
        match table {
            // The position in a body says little if there are many.
            Err(Error::Decode(error)) => {
                let payload = format!("payload {} of {}: {}", place + 1, payloads.len(), error.message);
                return Err(Error::Decode(Undecodable { message: Scrubbed::local(payload), ..error }));
            }
            table => batches.extend(table?),
        }
    }
    Ok(batches)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Sport;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type};
    use tables::Context;

    const ENSURE: fn(&[&[u8]], usize) -> Result<()> = |_, _| Ok(());

    fn stats(session: &str, code: &str) -> Payload {
        let body = format!(r#"{{"teams":[{{"id":46,"player_stats":[{{"id":1,"stats":{{"PTS":2,"{code}":7}}}}]}}]}}"#);
        let context = Context::default().with("session_id", session);
        Payload::from_bytes("stats", body.as_bytes(), Sport::Basketball, context).unwrap()
    }

    fn columns(batches: &[RecordBatch]) -> Vec<String> {
        batches[0].schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[test]
    fn columns_of_some_bodies_come_last_by_name_and_are_null_in_the_others() {
        let payloads = [stats("a", "ZZ"), stats("b", "AA"), stats("c", "ZZ")];
        let (name, batches) = table(&payloads[0], &payloads, Some("box_score"), None, ENSURE).unwrap();
        assert_eq!((name.as_str(), batches.len()), ("box_score", 3));
        assert!(columns(&batches).ends_with(&["AA".to_owned(), "ZZ".to_owned()]), "{:?}", columns(&batches));
        assert!(batches.iter().all(|batch| batch.schema() == batches[0].schema()));
        assert_eq!(batches[1]["AA"].as_primitive::<Float64Type>().value(0), 7.0);
        assert_eq!((batches[1]["ZZ"].null_count(), batches[2]["ZZ"].null_count()), (1, 0));
        let names = ["ZZ".to_owned(), "player_id".to_owned()];
        let (_, selection) = table(&payloads[0], &payloads, Some("box_score"), Some(&names), ENSURE).unwrap();
        assert_eq!((columns(&selection), selection.len()), (names.to_vec(), 3));
        assert!(table(&payloads[0], &payloads, Some("box_score"), Some(&["YY".to_owned()]), ENSURE).is_err());
    }

    #[test]
    fn batches_share_one_dictionary_and_no_payload_has_the_schema() {
        let payloads = [stats("a", "ZZ"), stats("b", "AA")];
        let (_, batches) = table(&payloads[0], &payloads, None, None, ENSURE).unwrap();
        let words = |batch: &RecordBatch| batch["stat"].as_dictionary::<Int32Type>().values().clone();
        assert_eq!(*words(&batches[0]), *words(&batches[1]));
        let (_, none) = table(&payloads[0], &[], None, None, ENSURE).unwrap();
        assert_eq!((none.len(), none[0].num_rows(), none[0].schema()), (1, 0, batches[0].schema()));
        let (_, selection) = table(&payloads[0], &[], None, Some(&["stat".to_owned()]), ENSURE).unwrap();
        assert_eq!(columns(&selection), ["stat"]);
    }

    #[test]
    fn a_body_that_does_not_fit_names_its_payload() {
        let invalid = Payload::from_bytes(
            "stats",
            br#"{"teams":[{"id":"x","player_stats":[{"id":1,"stats":{"PTS":1}}]}]}"#,
            Sport::Basketball,
            Context::default().with("session_id", "b"),
        )
        .unwrap();
        let Err(Error::Decode(Undecodable { message, .. })) =
            table(&invalid, &[stats("a", "A"), invalid.clone()], None, None, ENSURE)
        else {
            panic!()
        };
        assert!(message.starts_with("payload 2 of 2: "), "{message}");
    }
}
