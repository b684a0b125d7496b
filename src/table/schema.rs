//! The Arrow schema of a table, from its declaration.

use super::decl::{Col, Src, Table, Ty};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// The fixed schema of a table, with `unit` and `description` in each field's metadata.
pub fn schema(table: &'static Table) -> SchemaRef {
    of(table, (0..table.cols.len()).filter(|i| !table.cols[*i].hidden))
}

/// The schema of some of a table's columns.
pub(super) fn of(table: &'static Table, columns: impl Iterator<Item = usize>) -> SchemaRef {
    let fields: Vec<FieldRef> = columns.map(|i| field(&table.cols[i])).collect();
    Arc::new(Schema::new(fields).with_metadata(metadata(table)))
}

pub(super) fn metadata(table: &Table) -> HashMap<String, String> {
    HashMap::from([("description".into(), table.doc.into())])
}

pub(super) fn field(col: &Col) -> FieldRef {
    let mut metadata = HashMap::from([("source".to_string(), source(col))]);
    for (name, text) in [("unit", col.unit), ("description", col.doc)] {
        if !text.is_empty() {
            metadata.insert(name.into(), text.into());
        }
    }
    Arc::new(Field::new(col.name, data_type(col.ty), !col.required).with_metadata(metadata))
}

/// A column that a body brought along in the table's open object.
pub(super) fn open_field(table: &Table, name: &str) -> FieldRef {
    let source = format!("{}.{name}", table.open.unwrap_or_default());
    Arc::new(Field::new(name, DataType::Float64, true).with_metadata(HashMap::from([("source".into(), source)])))
}

fn source(col: &Col) -> String {
    match (col.src, col.or_request) {
        (Src::Path(path), None) => path.into(),
        (Src::Path(path), Some(name)) => format!("{path}, else request {name}"),
        (Src::Key(path), _) => format!("key of {path}"),
        (Src::Index(path), _) => format!("position in {path}"),
        (Src::Request(name), _) => format!("request {name}"),
        (Src::Derived(how), _) => format!("made from {}", how.inputs.join(", ")),
    }
}

pub(super) fn data_type(ty: Ty) -> DataType {
    let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
    match ty {
        Ty::Int64 => DataType::Int64,
        Ty::Int32 => DataType::Int32,
        Ty::Float64 | Ty::ClockSeconds => DataType::Float64,
        Ty::Bool | Ty::IsTeamTotal => DataType::Boolean,
        Ty::Text | Ty::Links | Ty::LineupId | Ty::BeforeAt | Ty::AfterAt => DataType::Utf8,
        Ty::Category => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Ty::TimestampMs | Ty::LinkMs(_) => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        Ty::ListInt64 => list(DataType::Int64),
        Ty::ListText => list(DataType::Utf8),
    }
}
