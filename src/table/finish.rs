//! From filled cells to a record batch: values above the rows repeated, request values, derived columns.

use super::cells::Cells;
use super::columns::{Categories, Entries, Lists, Numbers, Texts};
use super::decl::{Col, Src, Ty};
use super::decode::Decoded;
use super::extent::Room;
use super::fault::{Fault, Read};
use super::plan::{Cell, From, OpenKeys, Plan, Planned, Shown, no_column};
use super::{Context, DecodeError, schema};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Int64Array, ListArray, MapArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use std::sync::Arc;

pub(super) fn finish(
    plan: &Plan,
    decoded: Decoded,
    context: &Context,
    body: usize,
) -> Result<RecordBatch, DecodeError> {
    let Decoded { mut cells, rows, ends, open, .. } = decoded;
    let fault = |fault: Fault| fault.at(b"{}", 0, |_| String::new());
    let open = open.finish(rows).map_err(fault)?;
    let mut room = Room::of(body);
    room.take(open.len().saturating_mul(rows).saturating_mul(9)).map_err(fault)?;
    if let OpenKeys::Named(names) = &plan.open
        && let Some(missing) = names.iter().find(|name| !open.iter().any(|(n, _)| n == *name))
    {
        return Err(no_column(plan.table, missing));
    }
    let mut arrays: Vec<Option<ArrayRef>> = vec![None; plan.columns.len()];
    for (array, planned) in arrays.iter_mut().zip(&plan.columns) {
        let col = planned.col;
        let made = match planned.from {
            From::Columns(_) => continue,
            From::Nowhere => nulls(planned, rows, &room).map_err(fault)?,
            From::Request(name) => match request(col, context.get(name), rows, &room).map_err(fault)? {
                None if col.required => {
                    let message =
                        format!("column {} of {} comes from the request: give {name}", col.name, plan.table.name);
                    return Err(DecodeError::Body { message, path: "$".into(), offset: 0 });
                }
                None => nulls(planned, rows, &room).map_err(fault)?,
                Some(made) => made,
            },
            From::Body { level, cell } => {
                let made =
                    column(&mut cells, cell, ends.get(level).map(Vec::as_slice), col.ty, &room).map_err(fault)?;
                match col.or_request.and_then(|name| context.get(name)) {
                    Some(value) if col.by_request => {
                        request(col, Some(value), rows, &room).map_err(fault)?.unwrap_or(made)
                    }
                    Some(value) if made.null_count() > 0 => filled(&made, col, value, &room).map_err(fault)?,
                    _ => made,
                }
            }
        };
        check_required(plan, col, &made)?;
        room.take(size(&made)).map_err(fault)?;
        *array = Some(made);
    }
    for number in plan.shown.iter().filter_map(|s| if let Shown::Planned(i) = s { Some(*i) } else { None }) {
        let planned = &plan.columns[number];
        let (From::Columns(inputs), Src::Derived(how)) = (&planned.from, planned.col.src) else { continue };
        let inputs: Option<Vec<ArrayRef>> = inputs.iter().map(|i| arrays[*i].clone()).collect();
        let made = (how.make)(&inputs.ok_or_else(|| fault(Fault::Engine))?, context);
        check_required(plan, planned.col, &made)?;
        room.take(size(&made)).map_err(fault)?;
        arrays[number] = Some(made);
    }
    batch(plan, arrays, open, rows).map_err(fault)
}

fn batch(
    plan: &Plan,
    arrays: Vec<Option<ArrayRef>>,
    mut open: Vec<(String, Numbers<f64>)>,
    rows: usize,
) -> Read<RecordBatch> {
    let mut schema = plan.schema.clone();
    let mut columns = Vec::with_capacity(plan.shown.len() + open.len());
    let shown_open = |(name, numbers): (String, Numbers<f64>)| -> (FieldRef, ArrayRef) {
        (schema::open_field(&name), numbers.into_floats())
    };
    if open.is_empty() {
        for shown in &plan.shown {
            let Shown::Planned(number) = shown else { return Err(Fault::Engine) };
            columns.push(arrays[*number].clone().ok_or(Fault::Engine)?);
        }
    } else {
        let mut fields = Vec::with_capacity(plan.shown.len() + open.len());
        for shown in &plan.shown {
            let (field, array) = match shown {
                Shown::Planned(number) => {
                    (plan.columns[*number].field.clone(), arrays[*number].clone().ok_or(Fault::Engine)?)
                }
                Shown::Open(name) => {
                    let at = open.iter().position(|(n, _)| n == name).ok_or(Fault::Engine)?;
                    shown_open(open[at].clone())
                }
            };
            fields.push(field);
            columns.push(array);
        }
        if plan.open == OpenKeys::All {
            for (field, array) in open.drain(..).map(shown_open) {
                fields.push(field);
                columns.push(array);
            }
        }
        schema = Arc::new(Schema::new(fields).with_metadata(schema::metadata(plan.table)));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|_| Fault::Engine)
}

/// What the decoder cannot tell an element of: columns filled or made on whole arrays.
fn check_required(plan: &Plan, col: &Col, array: &ArrayRef) -> Result<(), DecodeError> {
    if !col.required || array.null_count() == 0 {
        return Ok(());
    }
    let message = format!("column {} of {} needs a value in every row", col.name, plan.table.name);
    Err(DecodeError::Body { message, path: "$".into(), offset: 0 })
}

/// What the values of an array take.
fn size(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or(usize::MAX)
}

fn nulls(planned: &Planned, rows: usize, room: &Room) -> Read<ArrayRef> {
    room.check(rows.saturating_mul(8))?;
    Ok(new_null_array(planned.field.data_type(), rows))
}

/// A column's array, one value for each row. `ends`: the last rows of its elements, where it stands above the rows.
fn column(cells: &mut Cells, cell: Cell, ends: Option<&[u32]>, ty: Ty, room: &Room) -> Read<ArrayRef> {
    let rows = ends.and_then(<[u32]>::last).map_or(0, |rows| *rows as usize);
    room.check(rows.saturating_mul(8))?;
    fn take<T: Copy + Default>(numbers: &mut Numbers<T>, ends: Option<&[u32]>) -> Numbers<T> {
        let numbers = std::mem::take(numbers);
        match ends {
            Some(ends) => numbers.repeat(ends),
            None => numbers,
        }
    }
    Ok(match cell {
        Cell::Int(i) => {
            let numbers = take(&mut cells.ints[i as usize], ends);
            match ty {
                Ty::Int32 => numbers.into_positions()?,
                Ty::TimestampMs | Ty::LinkMs(_) => numbers.into_timestamps(),
                _ => numbers.into_integers(),
            }
        }
        Cell::Float(i) => take(&mut cells.floats[i as usize], ends).into_floats(),
        Cell::Bool(i) => take(&mut cells.bools[i as usize], ends).into_booleans(),
        Cell::Category(i) => {
            std::mem::replace(&mut cells.categories[i as usize], Categories::with_capacity(0)).into_array()?
        }
        Cell::Text(i) => {
            let texts = std::mem::replace(&mut cells.texts[i as usize], Texts::with_capacity(0));
            match (ends, ty) {
                (Some(ends), Ty::Category) => texts.repeat_as_categories(ends)?.into_array()?,
                (Some(ends), _) => Arc::new(texts.repeat(ends, room)?.into_array()?),
                (None, _) => Arc::new(texts.into_array()?),
            }
        }
        Cell::Ints(i) => {
            let empty = Lists::new(Numbers::default(), 0);
            let list = std::mem::replace(&mut cells.int_lists[i as usize], empty);
            Arc::new(repeat_list(
                list.into_array(item(DataType::Int64), |n: Numbers<i64>| Ok(n.into_integers()))?,
                ends,
                room,
            )?)
        }
        Cell::Texts(i) => {
            let empty = Lists::new(Texts::with_capacity(0), 0);
            let list = std::mem::replace(&mut cells.text_lists[i as usize], empty);
            Arc::new(repeat_list(
                list.into_array(item(DataType::Utf8), |t: Texts| Ok(Arc::new(t.into_array()?)))?,
                ends,
                room,
            )?)
        }
        Cell::Map(i) => {
            let empty = Lists::new(Entries::with_capacity(0), 0);
            let maps = std::mem::replace(&mut cells.maps[i as usize], empty);
            let lists = repeat_list(maps.into_array(schema::entries(), Entries::into_array)?, ends, room)?;
            let (field, offsets, entries, nulls) = lists.into_parts();
            let entries = entries.as_struct().clone();
            Arc::new(MapArray::try_new(field, offsets, entries, nulls, false).map_err(|_| Fault::Engine)?)
        }
    })
}

fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, true))
}

fn repeat_list(list: ListArray, ends: Option<&[u32]>, room: &Room) -> Read<ListArray> {
    let Some(ends) = ends else { return Ok(list) };
    // Elements share the bytes of all items as they share their number.
    let each = list.values().to_data().get_slice_memory_size().unwrap_or(usize::MAX) / list.values().len().max(1) + 1;
    let mut start = 0;
    let mut bytes = 0usize;
    for (element, end) in ends.iter().enumerate() {
        let items = list.value_length(element) as usize;
        bytes = bytes.saturating_add(items.saturating_mul((*end - start) as usize).saturating_mul(each));
        start = *end;
    }
    room.check(bytes)?;
    let mut elements = Numbers::<u32>::default();
    elements.values.extend(0..ends.len() as u32);
    let indices = UInt32Array::from(elements.repeat(ends).values);
    let repeated = arrow_select::take::take(&list, &indices, None).map_err(|_| Fault::TooLarge)?;
    Ok(repeated.as_list::<i32>().clone())
}

/// A value of the request for every row; none where the request has none that fits.
fn request(col: &Col, value: Option<&str>, rows: usize, room: &Room) -> Read<Option<ArrayRef>> {
    let Some(value) = value else { return Ok(None) };
    room.check(rows.saturating_mul(8))?;
    Ok(match col.ty {
        Ty::Int64 => digits(value).map(|id| -> ArrayRef { Arc::new(Int64Array::from(vec![id; rows])) }),
        _ => {
            let mut texts = Texts::with_capacity(1);
            texts.push(value.as_bytes());
            Some(Arc::new(texts.repeat(&[rows as u32], room)?.into_array()?))
        }
    })
}

/// An id of another system is no number of ours.
pub(super) fn digits(id: &str) -> Option<i64> {
    id.bytes().all(|b| b.is_ascii_digit()).then(|| id.parse().ok())?
}

/// The request's value where the body has none.
fn filled(array: &ArrayRef, col: &Col, value: &str, room: &Room) -> Read<ArrayRef> {
    room.check(array.null_count().saturating_mul(value.len()))?;
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
