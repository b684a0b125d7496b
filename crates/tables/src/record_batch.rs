//! From filled builders to a record batch: repeats values above the row level, fills request values, derives columns.

use super::builders::ColumnBuilders;
use super::columns::{Categories, Lists, MapEntries, Numbers, Texts};
use super::declaration::{Col, Src, Table, Ty};
use super::decode::TableDecoder;
use super::error::{DecodeErrorKind, DecodeResult};
use super::extent::Quota;
use super::extra_columns::ExtraColumns;
use super::plan::{ColumnRef, ColumnSource, DecodePlan, PlannedColumn, ResultColumn, TablePlan, indexes, no_column};
use super::{Context, DecodeError, schema};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, MapArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use std::sync::Arc;

/// The tables of a plan.
pub(super) fn finish(
    plan: &DecodePlan,
    decoder: TableDecoder<'_>,
    context: &Context,
    body: usize,
) -> Result<Vec<RecordBatch>, DecodeError> {
    let TableDecoder { mut builders, rows, ends, open, .. } = decoder;
    let mut open = Some(open);
    let table = |(number, (table, rows)): (usize, (&TablePlan, usize))| {
        let open = open.take_if(|_| number == plan.open);
        finish_table(table, &mut builders, rows, &ends, open, context, body)
    };
    plan.tables.iter().zip(rows).enumerate().map(table).collect()
}

fn finish_table(
    plan: &TablePlan,
    builders: &mut ColumnBuilders,
    rows: usize,
    ends: &[Vec<u32>],
    open: Option<ExtraColumns>,
    context: &Context,
    body: usize,
) -> Result<RecordBatch, DecodeError> {
    let open = open.map(|open| open.finish(rows)).transpose()?.unwrap_or_default();
    let mut quota = Quota::of(body);
    quota.take(open.len().saturating_mul(rows).saturating_mul(9))?;
    let mut arrays: Vec<Option<ArrayRef>> = vec![None; plan.columns.len()];
    for (array, column_plan) in arrays.iter_mut().zip(&plan.columns) {
        if matches!(column_plan.from, ColumnSource::Columns(_)) {
            continue;
        }
        let output = read_column(plan.table, column_plan, builders, rows, ends, context, &quota)?;
        check_required(plan, column_plan.col, &output)?;
        quota.take(size(&*output))?;
        *array = Some(output);
    }
    for number in indexes(&plan.result_columns) {
        let PlannedColumn { col, from, .. } = &plan.columns[number];
        let (ColumnSource::Columns(inputs), Src::Derived(derivation)) = (from, col.src) else { continue };
        let inputs: Option<Vec<ArrayRef>> = inputs.iter().map(|i| arrays[*i].clone()).collect();
        let output = (derivation.make)(&inputs.ok_or(DecodeErrorKind::Engine)?, context);
        check_required(plan, col, &output)?;
        quota.take(size(&*output))?;
        arrays[number] = Some(output);
    }
    batch(plan, &arrays, open, rows)
}

/// A column of the body or of the request.
fn read_column(
    table: &Table,
    column_plan: &PlannedColumn,
    builders: &mut ColumnBuilders,
    rows: usize,
    ends: &[Vec<u32>],
    context: &Context,
    quota: &Quota,
) -> Result<ArrayRef, DecodeError> {
    let col = column_plan.col;
    Ok(match column_plan.from {
        ColumnSource::Columns(_) => return Err(DecodeErrorKind::Engine.into()),
        ColumnSource::Nowhere => nulls(column_plan, rows, quota)?,
        ColumnSource::Request(name) => match request(col, context.get(name), rows, quota)? {
            None if col.required => {
                let message = format!("column {} of {} comes from the request: give {name}", col.name, table.name);
                return Err(DecodeError::Body { message, path: "$".into(), offset: 0 });
            }
            None => nulls(column_plan, rows, quota)?,
            Some(output) => output,
        },
        ColumnSource::Body { ends: at, cell } => {
            let output = column(builders, cell, at.map(|at| ends[at].as_slice()), col.ty, quota)?;
            match col.or_request.and_then(|name| context.get(name)) {
                Some(value) if col.by_request => request(col, Some(value), rows, quota)?.unwrap_or(output),
                Some(value) if output.null_count() > 0 => fill_nulls(&output, col, value, quota)?,
                _ => output,
            }
        }
    })
}

fn batch(
    plan: &TablePlan,
    arrays: &[Option<ArrayRef>],
    open: Vec<(String, Numbers<f64>)>,
    rows: usize,
) -> Result<RecordBatch, DecodeError> {
    let open_column = |(name, numbers): (String, Numbers<f64>)| -> (FieldRef, ArrayRef) {
        (Arc::new(Field::new(name, DataType::Float64, true)), Arc::new(numbers.into_array::<Float64Type>()))
    };
    let open: Vec<(FieldRef, ArrayRef)> = open.into_iter().map(open_column).collect();
    let (mut fields, mut columns) = (Vec::with_capacity(arrays.len()), Vec::with_capacity(arrays.len()));
    for column in &plan.result_columns {
        let (field, array) = match column {
            ResultColumn::PlannedColumn(number) => (&plan.columns[*number].field, arrays[*number].as_ref()),
            ResultColumn::Open(name) => {
                let column = open.iter().find(|(field, _)| field.name() == name);
                column.map(|(field, array)| (field, Some(array))).ok_or_else(|| no_column(plan.table, name))?
            }
        };
        fields.push(field);
        columns.push(array.ok_or(DecodeErrorKind::Engine)?.clone());
    }
    if plan.takes_extra {
        fields.extend(open.iter().map(|(field, _)| field));
        columns.extend(open.iter().map(|(_, array)| array.clone()));
    }
    let mut schema = plan.schema.clone();
    if !open.is_empty() {
        let fields: Vec<FieldRef> = fields.into_iter().cloned().collect();
        schema = Arc::new(Schema::new(fields).with_metadata(schema::metadata(plan.table)));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options).map_err(|_| DecodeErrorKind::Engine)?)
}

/// Checks the columns that are filled or computed on whole arrays, which the decoder cannot check by element.
fn check_required(plan: &TablePlan, col: &Col, array: &ArrayRef) -> Result<(), DecodeError> {
    if !col.required || array.null_count() == 0 {
        return Ok(());
    }
    let message = format!("column {} of {} needs a value in every row", col.name, plan.table.name);
    Err(DecodeError::Body { message, path: "$".into(), offset: 0 })
}

/// Bytes of an array's values. `to_data` allocates, which small bodies notice, so it is left to the rare types.
fn size(array: &dyn Array) -> usize {
    let len = array.len();
    let values = match array.data_type() {
        DataType::Boolean => len.div_ceil(8),
        DataType::Utf8 => {
            let offsets = array.as_string::<i32>().value_offsets();
            let bytes = offsets.last().zip(offsets.first()).map_or(0, |(last, first)| last - first);
            size_of_val(offsets) + bytes as usize
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return size(dictionary.keys()).saturating_add(size(dictionary.values()));
        }
        ty => match ty.primitive_width() {
            Some(width) => len.saturating_mul(width),
            None => return array.to_data().get_slice_memory_size().unwrap_or(usize::MAX),
        },
    };
    let nulls = if array.null_count() > 0 { len.div_ceil(8) } else { 0 };
    values.saturating_add(nulls)
}

fn nulls(column_plan: &PlannedColumn, rows: usize, quota: &Quota) -> DecodeResult<ArrayRef> {
    quota.check(rows.saturating_mul(8))?;
    Ok(new_null_array(column_plan.field.data_type(), rows))
}

/// A column's array with one value for each row. Above the rows, `ends` has for each element the row after its last.
fn column(
    builders: &mut ColumnBuilders,
    cell: ColumnRef,
    ends: Option<&[u32]>,
    ty: Ty,
    quota: &Quota,
) -> DecodeResult<ArrayRef> {
    let rows = ends.and_then(<[u32]>::last).map_or(0, |rows| *rows as usize);
    quota.check(rows.saturating_mul(8))?;
    Ok(match cell {
        ColumnRef::Int(i) => {
            let numbers = take(&mut builders.ints[i as usize], ends);
            match ty {
                Ty::Int32 => Arc::new(numbers.into_positions()?.into_array::<Int32Type>()),
                Ty::TimestampMs | Ty::LinkFrom | Ty::LinkTo => {
                    Arc::new(numbers.into_array::<TimestampMillisecondType>().with_timezone("UTC"))
                }
                _ => Arc::new(numbers.into_array::<Int64Type>()),
            }
        }
        ColumnRef::Float(i) => Arc::new(take(&mut builders.floats[i as usize], ends).into_array::<Float64Type>()),
        ColumnRef::Bool(i) => take(&mut builders.bools[i as usize], ends).into_booleans(),
        ColumnRef::Category(i) => {
            std::mem::replace(&mut builders.categories[i as usize], Categories::with_capacity(0)).into_array()?
        }
        ColumnRef::Text(i) => {
            let texts = std::mem::replace(&mut builders.texts[i as usize], Texts::with_capacity(0));
            match (ends, ty) {
                (Some(ends), Ty::Category) => texts.repeat_as_categories(ends)?.into_array()?,
                (Some(ends), _) => Arc::new(texts.repeat(ends, quota)?.into_array()?),
                (None, _) => Arc::new(texts.into_array()?),
            }
        }
        ColumnRef::Ints(_) | ColumnRef::Texts(_) | ColumnRef::Map(_) => list_column(builders, cell, ends, quota)?,
    })
}

fn take<T: Copy + Default>(numbers: &mut Numbers<T>, ends: Option<&[u32]>) -> Numbers<T> {
    let numbers = std::mem::take(numbers);
    if let Some(ends) = ends { numbers.repeat(ends) } else { numbers }
}

/// The same of a list or a map.
fn list_column(
    builders: &mut ColumnBuilders,
    cell: ColumnRef,
    ends: Option<&[u32]>,
    quota: &Quota,
) -> DecodeResult<ArrayRef> {
    Ok(match cell {
        ColumnRef::Ints(i) => {
            let empty = Lists::new(Numbers::default(), 0);
            let list = std::mem::replace(&mut builders.int_lists[i as usize], empty);
            let list = list.into_array(schema::item(DataType::Int64), |n: Numbers<i64>| {
                Ok(Arc::new(n.into_array::<Int64Type>()))
            })?;
            Arc::new(repeat_list(list, ends, quota)?)
        }
        ColumnRef::Texts(i) => {
            let empty = Lists::new(Texts::with_capacity(0), 0);
            let list = std::mem::replace(&mut builders.text_lists[i as usize], empty);
            let list = list.into_array(schema::item(DataType::Utf8), |t: Texts| Ok(Arc::new(t.into_array()?)))?;
            Arc::new(repeat_list(list, ends, quota)?)
        }
        ColumnRef::Map(i) => {
            let empty = Lists::new(MapEntries::with_capacity(0), 0);
            let maps = std::mem::replace(&mut builders.maps[i as usize], empty);
            let lists = repeat_list(maps.into_array(schema::entries(), MapEntries::into_array)?, ends, quota)?;
            let (field, offsets, entries, nulls) = lists.into_parts();
            let entries = entries.as_struct().clone();
            Arc::new(MapArray::try_new(field, offsets, entries, nulls, false).map_err(|_| DecodeErrorKind::Engine)?)
        }
        _ => return Err(DecodeErrorKind::Engine),
    })
}

fn repeat_list(list: ListArray, ends: Option<&[u32]>, quota: &Quota) -> DecodeResult<ListArray> {
    let Some(ends) = ends else { return Ok(list) };
    // Elements are charged an equal share of the items' bytes.
    let item_size = size(list.values()) / list.values().len().max(1) + 1;
    let counts = || ends.iter().scan(0, |start, end| Some((end - std::mem::replace(start, *end)) as usize));
    let mut bytes = 0usize;
    for (element, count) in counts().enumerate() {
        let items = list.value_length(element) as usize;
        bytes = bytes.saturating_add(items.saturating_mul(count).saturating_mul(item_size));
    }
    quota.check(bytes)?;
    let data = list.to_data();
    let mut rows = MutableArrayData::new(vec![&data], false, ends.last().map_or(0, |end| *end as usize));
    for (element, count) in counts().enumerate() {
        for _ in 0..count {
            rows.try_extend(0, element, element + 1).map_err(|_| DecodeErrorKind::TooLarge)?;
        }
    }
    Ok(ListArray::from(rows.freeze()))
}

/// A request value for every row; `None` if it is missing or does not fit the type.
fn request(col: &Col, value: Option<&str>, rows: usize, quota: &Quota) -> DecodeResult<Option<ArrayRef>> {
    let Some(value) = value else { return Ok(None) };
    quota.check(rows.saturating_mul(8))?;
    Ok(match col.ty {
        Ty::Int64 => digits(value).map(|id| -> ArrayRef { Arc::new(Int64Array::from(vec![id; rows])) }),
        _ => {
            let mut texts = Texts::with_capacity(1);
            texts.push(value.as_bytes());
            Some(Arc::new(texts.repeat(&[rows as u32], quota)?.into_array()?))
        }
    })
}

/// An id from another system may not be numeric.
pub(super) fn digits(id: &str) -> Option<i64> {
    id.bytes().all(|b| b.is_ascii_digit()).then(|| id.parse().ok())?
}

/// Fills nulls with the request value.
fn fill_nulls(array: &ArrayRef, col: &Col, value: &str, quota: &Quota) -> DecodeResult<ArrayRef> {
    quota.check(array.null_count().saturating_mul(value.len()))?;
    if col.ty == Ty::Int64 {
        let (numbers, value) = (array.as_primitive::<Int64Type>(), digits(value));
        return Ok(Arc::new(numbers.iter().map(|n| n.or(value)).collect::<Int64Array>()));
    }
    let mut texts = Texts::with_capacity(array.len());
    for text in array.as_string::<i32>() {
        texts.push(text.unwrap_or(value).as_bytes());
    }
    Ok(Arc::new(texts.into_array()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BooleanArray, DictionaryArray, Float64Array, Int32Array, NullArray, StringArray, StructArray};

    #[test]
    fn an_array_s_size_is_that_of_its_slice() {
        let texts = StringArray::from(vec![Some("Iowa"), None, Some("S\u{e3}o Paulo"), Some("")]);
        let keys = DictionaryArray::<Int32Type>::from_iter([Some("H1"), None, Some("H2"), Some("H1")]);
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        let field = Arc::new(Field::new("x", DataType::Int32, true));
        let parts = StructArray::from(vec![(field, Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef)]);
        let arrays: [ArrayRef; 10] = [
            Arc::new(Int64Array::from(vec![1, 2, 3])),
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
            Arc::new(Float64Array::from(vec![0.5; 9])),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Arc::new(texts),
            Arc::new(StringArray::from(Vec::<&str>::new())),
            Arc::new(keys),
            Arc::new(list),
            Arc::new(parts),
            Arc::new(NullArray::new(3)),
        ];
        for array in arrays {
            for from in 0..array.len().max(1) {
                let slice = array.slice(from, array.len() - from);
                let expected = slice.to_data().get_slice_memory_size().unwrap();
                assert_eq!(size(&*slice), expected, "{:?} from {from}", array.data_type());
            }
        }
    }
}
