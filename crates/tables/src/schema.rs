//! The Arrow schema of a table, from its declaration.

use super::declaration::{Col, Table, Ty};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// The fixed schema of a table, whatever its body, with `unit`, `frame` and `description` in each field's metadata.
pub fn schema(table: &'static Table) -> SchemaRef {
    of(table, (0..table.cols.len()).filter(|i| !table.cols[*i].is_hidden))
}

pub fn of(table: &'static Table, columns: impl Iterator<Item = usize>) -> SchemaRef {
    let fields: Vec<FieldRef> = columns.map(|i| field(&table.cols[i])).collect();
    Arc::new(Schema::new(fields).with_metadata(metadata(table)))
}

pub fn metadata(table: &Table) -> HashMap<String, String> {
    HashMap::from([("description".into(), table.doc.into())])
}

pub fn field(col: &Col) -> FieldRef {
    let about = [("unit", col.unit), ("frame", col.frame), ("description", col.doc)];
    let about = about.into_iter().filter(|(_, text)| !text.is_empty());
    let metadata: HashMap<String, String> = about.map(|(name, text)| (name.into(), text.into())).collect();
    Arc::new(Field::new(col.name, data_type(col.ty), !col.required).with_metadata(metadata))
}

/// The field of a list's elements.
pub(super) fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, true))
}

/// An entry of a map, with the names that the Arrow specification uses.
pub fn entry() -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Float64, true)])
}

pub fn entries() -> FieldRef {
    Arc::new(Field::new("entries", DataType::Struct(entry()), false))
}

pub fn data_type(ty: Ty) -> DataType {
    match ty {
        Ty::Int64 | Ty::Count => DataType::Int64,
        Ty::Int32 => DataType::Int32,
        Ty::Float64 | Ty::ClockSeconds => DataType::Float64,
        Ty::Bool | Ty::IsTeamTotal | Ty::IsMake => DataType::Boolean,
        Ty::Text | Ty::Links | Ty::LinkId | Ty::LineupId | Ty::BeforeAt | Ty::AfterAt => DataType::Utf8,
        Ty::Category => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Ty::TimestampMs | Ty::LinkFrom | Ty::LinkTo => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        Ty::ListInt64 => DataType::List(item(DataType::Int64)),
        Ty::ListText => DataType::List(item(DataType::Utf8)),
        Ty::MapFloat64 => DataType::Map(entries(), false),
    }
}
