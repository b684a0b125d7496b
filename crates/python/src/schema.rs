//! The fixed schema of each table.

use crate::payload::parse_sport;
use crate::table::{Pickled, PyTable};
use crate::{capsule, errors};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, TimeUnit};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};
use sideline::config::Sport;
use sideline::resource;
use sideline::scrub;
use std::sync::Arc;
use tables as engine;

/// The columns of a table: a sequence of `Field`, also by name.
///
/// >>> sideline.SCHEMAS["teams"].names[:3]
/// ['team_id', 'name', 'gender']
/// >>> sideline.SCHEMAS["shots"]["distance_cm"].unit
/// 'cm'
#[pyclass(frozen, module = "sideline", eq)]
#[derive(PartialEq)]
pub struct Schema {
    pub(super) name: String,
    pub(super) schema: SchemaRef,
}

impl Schema {
    fn of_table(name: &str) -> Option<Self> {
        let tables = resource::tables(Sport::Basketball);
        let table = tables.iter().find(|table| table.name == name)?;
        Some(Schema { name: name.to_owned(), schema: engine::schema(table) })
    }
}

#[pymethods]
impl Schema {
    /// The name of the table.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The column names, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The columns, in order.
    #[getter]
    fn fields(&self) -> Vec<Field> {
        self.schema.fields().iter().map(|field| Field(field.as_ref().clone())).collect()
    }

    /// The meaning of a row.
    #[getter]
    fn description(&self) -> Option<&str> {
        self.schema.metadata().get("description").map(String::as_str)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, &self.schema)
    }

    /// Return a `pyarrow.Schema`, with unit and description in the metadata of its fields.
    ///
    /// >>> sideline.SCHEMAS["locations"].to_arrow().field("x").metadata[b"unit"]
    /// b'mm'
    fn to_arrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1("schema_to_arrow", (slf,)))
    }

    /// A schema of `sideline.SCHEMAS` is pickled as its name, any other as an empty table.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, table) = (slf.py(), slf.get());
        let columns = if Schema::of_table(&table.name).as_ref() == Some(table) {
            py.None().into_bound(py)
        } else {
            let empty = PyTable::new(py, table.name.clone(), vec![RecordBatch::new_empty(table.schema.clone())])?;
            Bound::new(py, empty)?.into_any()
        };
        Ok((slf.get_type().getattr("_restore")?, (table.name.clone(), columns)))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, name: String, columns: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !columns.is_none() {
            return Ok(PyTable::_from_arrow(py, name, columns)?.schema());
        }
        let error = || PyValueError::new_err(format!("this version of sideline has no table {name:?}"));
        Schema::of_table(&name).ok_or_else(error)
    }

    fn __len__(&self) -> usize {
        self.schema.fields().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.fields())?.try_iter()?.into_any())
    }

    fn __contains__(&self, name: &str) -> bool {
        self.schema.field_with_name(name).is_ok()
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Field> {
        if let Ok(name) = key.cast::<PyString>() {
            let name = name.to_cow()?;
            let key_error = || {
                let names = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
                let error = errors::unknown_name(key.py(), &format!("there is no column {name:?}"), &name, names);
                PyKeyError::new_err(error.value(key.py()).to_string())
            };
            return self.schema.field_with_name(&name).map(|field| Field(field.clone())).map_err(|_| key_error());
        }
        let position: isize = key.extract()?;
        let fields = self.schema.fields();
        let position = if position < 0 { position + fields.len() as isize } else { position };
        let field = usize::try_from(position).ok().and_then(|position| fields.get(position));
        field.map(|field| Field(field.as_ref().clone())).ok_or_else(|| PyIndexError::new_err("no such column"))
    }

    fn __repr__(&self) -> String {
        let mut text = format!("<sideline.Schema {}", self.name);
        for field in self.schema.fields() {
            text.push_str("\n  ");
            text.push_str(&Field(field.as_ref().clone()).line());
        }
        text.push('>');
        text
    }

    fn _repr_html_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1("schema_html", (slf,)))
    }
}

/// One column of a schema.
///
/// >>> x = sideline.SCHEMAS["locations"]["x"]
/// >>> x.type, x.nullable, x.unit, x.frame
/// ('double', True, 'mm', 'court')
#[pyclass(frozen, module = "sideline", eq)]
#[derive(PartialEq)]
pub struct Field(ArrowField);

impl Field {
    fn metadata(&self, key: &str) -> Option<&str> {
        self.0.metadata().get(key).map(String::as_str).filter(|text| !text.is_empty())
    }

    fn line(&self) -> String {
        let mut text = format!("{}: {}", scrub::visible(self.0.name()), self.type_name());
        if self.0.is_nullable() {
            text.push('?');
        }
        if let Some(unit) = self.unit() {
            text.push_str(&format!(" [{unit}]"));
        }
        if let Some(description) = self.description() {
            text.push_str(&format!("  {description}"));
        }
        text
    }
}

#[pymethods]
impl Field {
    /// The column's name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The Arrow type, as pyarrow writes it.
    #[getter]
    #[pyo3(name = "type")]
    fn type_name(&self) -> String {
        type_name(self.0.data_type())
    }

    /// Whether the column may be null.
    #[getter]
    fn nullable(&self) -> bool {
        self.0.is_nullable()
    }

    /// The unit, such as `cm` or `s`, if any.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.metadata("unit")
    }

    /// For a coordinate, ``court`` or ``hoop``, as `sideline.court` describes them; else `None`.
    #[getter]
    fn frame(&self) -> Option<&str> {
        self.metadata("frame")
    }

    /// The description of the column.
    #[getter]
    fn description(&self) -> Option<&str> {
        self.metadata("description")
    }

    /// Pickled as a schema with this column alone.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let (py, field) = (slf.py(), slf.get());
        let schema = Arc::new(ArrowSchema::new(vec![field.0.clone()]));
        let table = PyTable::new(py, String::new(), vec![RecordBatch::new_empty(schema)])?;
        Ok((slf.get_type().getattr("_restore")?, (Bound::new(py, table)?.into_any(),)))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<Self> {
        let table = PyTable::_from_arrow(py, String::new(), columns)?;
        let field = table.schema.fields().first().map(|field| Field(field.as_ref().clone()));
        field.ok_or_else(|| PyValueError::new_err("a pickled column without its name"))
    }

    fn __repr__(&self) -> String {
        format!("<sideline.Field {}>", self.line())
    }
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Int64 => "int64".into(),
        DataType::Int32 => "int32".into(),
        DataType::Float64 => "double".into(),
        DataType::Boolean => "bool".into(),
        DataType::Utf8 => "string".into(),
        DataType::Binary => "binary".into(),
        DataType::Timestamp(TimeUnit::Millisecond, Some(zone)) => format!("timestamp[ms, tz={zone}]"),
        DataType::Dictionary(key, value) => {
            format!("dictionary<values={}, indices={}>", type_name(value), type_name(key))
        }
        DataType::List(field) => format!("list<{}>", type_name(field.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| type_name(part.data_type())).collect();
                format!("map<{}>", parts.join(", "))
            }
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

/// Return the schemas of all tables of a sport, by name.
#[pyfunction]
#[pyo3(name = "_schemas")]
pub(crate) fn schemas<'py>(py: Python<'py>, sport: &str) -> PyResult<Bound<'py, PyDict>> {
    errors::guard(py, || {
        let all = PyDict::new(py);
        for table in resource::tables(parse_sport(sport)?) {
            let schema = Schema { name: table.name.to_owned(), schema: engine::schema(table) };
            all.set_item(table.name, Bound::new(py, schema)?)?;
        }
        Ok(all)
    })
}
