//! Casts between Arrow types in which every value stays the same. arrow-cast, which can cast everything to everything, would
//! be a fifth of the wheel.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, LargeStringArray, ListArray, MapArray, StringArray, StringViewArray,
    StructArray, downcast_integer, make_array, new_null_array,
};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// The values in another type; `None` if one would change, or if the types are too different: integers, times, texts and
/// dictionaries of them become others of their kind, alone or in lists, maps and structs; integers become floats.
pub(crate) fn cast(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    use DataType::*;
    match (array.data_type(), to) {
        (from, to) if from == to => Some(array.clone()),
        (Dictionary(..), _) => {
            let dictionary = array.as_any_dictionary();
            let values = cast(dictionary.values(), to)?;
            if values.is_empty() {
                return Some(new_null_array(to, array.len()));
            }
            let values = values.to_data();
            let mut plain = MutableArrayData::new(vec![&values], true, array.len());
            for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
                if array.is_null(row) { plain.try_extend_nulls(1) } else { plain.try_extend(0, key, key + 1) }.ok()?;
            }
            Some(make_array(plain.freeze()))
        }
        (Timestamp(from, from_zone), Timestamp(to_unit, to_zone)) if from_zone.is_some() == to_zone.is_some() => {
            let times = with_unit(stored_as(array, Int64)?.as_primitive(), *from, *to_unit)?;
            stored_as(&(Arc::new(times) as _), to.clone())
        }
        (from, Float64) if from.is_integer() => {
            let exact =
                |number: i64| (number.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS).then_some(number as f64).ok_or(());
            Some(Arc::new(integers(array)?.try_unary(exact).ok()? as Float64Array))
        }
        (from, to) if from.is_integer() && to.is_integer() => {
            let numbers = integers(array)?;
            macro_rules! fitting {
                ($to:ty) => {
                    Arc::new(numbers.try_unary::<_, $to, _>(|number| number.try_into().map_err(drop)).ok()?)
                };
            }
            Some(downcast_integer! { to => (fitting), _ => return None })
        }
        (Utf8, _) => texts(array.as_string::<i32>().iter(), to),
        (LargeUtf8, _) => texts(array.as_string::<i64>().iter(), to),
        (Utf8View, _) => texts(array.as_string_view().iter(), to),
        (List(_), List(item)) => {
            let lists = array.as_list::<i32>();
            let values = cast(lists.values(), item.data_type())?;
            let lists = ListArray::try_new(item.clone(), lists.offsets().clone(), values, lists.nulls().cloned());
            Some(Arc::new(lists.ok()?))
        }
        (Map(..), Map(entry, is_ordered)) => {
            let maps = array.as_map();
            let entries = cast(&(Arc::new(maps.entries().clone()) as _), entry.data_type())?.as_struct().clone();
            let nulls = maps.nulls().cloned();
            Some(Arc::new(MapArray::try_new(entry.clone(), maps.offsets().clone(), entries, nulls, *is_ordered).ok()?))
        }
        (Struct(from), Struct(to)) if from.iter().map(|field| field.name()).eq(to.iter().map(|field| field.name())) => {
            let fields = array.as_struct();
            let columns = fields.columns().iter().zip(to).map(|(column, field)| cast(column, field.data_type()));
            let nulls = fields.nulls().cloned();
            Some(Arc::new(StructArray::try_new(to.clone(), columns.collect::<Option<_>>()?, nulls).ok()?))
        }
        _ => None,
    }
}

/// The same bytes under another type of their width.
fn stored_as(array: &ArrayRef, data_type: DataType) -> Option<ArrayRef> {
    Some(make_array(array.to_data().into_builder().data_type(data_type).build().ok()?))
}

/// The numbers that times, days and durations are stored as.
pub(crate) fn stored_numbers(array: &ArrayRef) -> Option<Int64Array> {
    let is_narrow = array.data_type().primitive_width() == Some(size_of::<i32>());
    integers(&stored_as(array, if is_narrow { DataType::Int32 } else { DataType::Int64 })?)
}

fn integers(array: &ArrayRef) -> Option<Int64Array> {
    macro_rules! wide {
        ($of:ty) => {
            array.as_primitive::<$of>().try_unary::<_, Int64Type, _>(|number| number.try_into().map_err(drop)).ok()
        };
    }
    downcast_integer! { array.data_type() => (wide), _ => None }
}

fn with_unit(times: &Int64Array, from: TimeUnit, to: TimeUnit) -> Option<Int64Array> {
    let (from, to) = (parts_of_second(from), parts_of_second(to));
    let time = |time: i64| match from < to {
        true => time.checked_mul(to / from),
        false => (time % (from / to) == 0).then_some(time / (from / to)),
    };
    times.try_unary(|value| time(value).ok_or(())).ok()
}

pub(crate) fn parts_of_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>> + Clone, to: &DataType) -> Option<ArrayRef> {
    match to {
        // Its offsets are of 32 bits.
        DataType::Utf8 => {
            i32::try_from(texts.clone().flatten().map(str::len).sum::<usize>()).ok()?;
            Some(Arc::new(texts.collect::<StringArray>()))
        }
        DataType::LargeUtf8 => Some(Arc::new(texts.collect::<LargeStringArray>())),
        DataType::Utf8View => Some(Arc::new(texts.collect::<StringViewArray>())),
        _ => None,
    }
}
