//! One Arrow table, and the fixed schema of each.

use crate::python::{capsule, errors, rows};
use crate::resource;
use crate::scrub::{self, Scrubber};
use crate::table as engine;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, TimeUnit};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};
use std::sync::Arc;

/// A named Arrow table. pyarrow, polars, DuckDB and others read it as it stands: ``pl.DataFrame(table)``,
/// ``pa.table(table)``, ``duckdb.sql("from table")``.
///
/// >>> table = client.stats(session_id).table("box_score")
/// >>> import polars as pl
/// >>> pl.DataFrame(table).height == table.num_rows == len(table)
/// True
#[pyclass(frozen, subclass, module = "sideline")]
pub struct Table {
    name: String,
    schema: SchemaRef,
    /// Of this schema. What was answered in several bodies stays apart: joining it would hold it twice.
    batches: Vec<RecordBatch>,
}

impl Table {
    /// `batches`: one at least, of one schema.
    pub fn new(py: Python<'_>, name: String, batches: Vec<RecordBatch>) -> PyResult<Self> {
        let Some(first) = batches.first() else { return Err(errors::internal(py, "a table without a batch")) };
        Ok(Table { name, schema: first.schema(), batches })
    }

    /// Hands the table to the frames' side, in Python: which library, and what to install where it is missing.
    pub fn frame<'py>(table: Bound<'py, Self>, function: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = table.py();
        errors::guard(py, || py.import("sideline._frames")?.call_method1(function, (table,)))
    }
}

/// What makes a table again, and of what: its name and a `pyarrow.Table`.
type Pickled<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyAny>));

#[pymethods]
impl Table {
    #[new]
    fn create(py: Python<'_>, name: String, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::_from_arrow(py, name, data)
    }

    /// Any Arrow table, under a name.
    #[staticmethod]
    fn _from_arrow(py: Python<'_>, name: String, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        errors::guard(py, || {
            let (schema, mut batches) = capsule::read(data)?;
            if batches.is_empty() {
                batches.push(RecordBatch::new_empty(schema));
            }
            Self::new(py, name, batches)
        })
    }

    /// Its name, as in `sideline.SCHEMAS`.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The columns' names, in their order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Names, types, units and meanings of the columns.
    #[getter]
    fn schema(&self) -> Schema {
        Schema { name: self.name.clone(), schema: self.schema.clone() }
    }

    /// A schema that is asked for is a wish: where it cannot be had, the table is what it is.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        slf: Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some(wanted) = requested_schema {
            let cast = || py.import("sideline._frames")?.call_method1("stream_as", (&slf, wanted));
            let cast = errors::guard(py, cast)?;
            if !cast.is_none() {
                return Ok(cast);
            }
        }
        let table = slf.get();
        Ok(capsule::of_batches(py, table.schema.clone(), table.batches.clone())?.into_any())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, &self.schema)
    }

    /// A `pyarrow.Table`.
    ///
    /// >>> client.teams().table().to_arrow().column_names[:2]
    /// ['team_id', 'name']
    fn to_arrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        Self::frame(slf, "to_arrow")
    }

    /// A `polars.DataFrame`; needs no pyarrow.
    ///
    /// >>> client.teams().table(columns=["team_id"]).to_polars().dtypes
    /// [Int64]
    fn to_polars(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        Self::frame(slf, "to_polars")
    }

    /// A `pandas.DataFrame`: categories are categoricals, times aware, and what may be null is of a type that has nulls.
    ///
    /// >>> client.teams().table(columns=["sport"]).to_pandas().sport.dtype.name
    /// 'category'
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        Self::frame(slf, "to_pandas")
    }

    /// A list with a dict for each row; times are aware datetimes. It needs no library.
    ///
    /// A time before the year 1 or after 9999, which no datetime can hold, is a text: as ISO 8601 writes it, or
    /// ``<out of range>`` beyond that. `to_arrow()` and `to_polars()` have it as it is.
    ///
    /// >>> client.teams().table(columns=["gender", "sport"]).to_dicts()[0]
    /// {'gender': 'MEN', 'sport': 'BASKETBALL'}
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        errors::guard(py, || rows::dicts(py, &self.batches))
    }

    /// The first rows.
    ///
    /// >>> client.teams().table().head(2).num_rows
    /// 2
    #[pyo3(signature = (rows = 5))]
    fn head(&self, rows: i64) -> PyResult<Table> {
        let rows = usize::try_from(rows)
            .map_err(|_| PyValueError::new_err(format!("rows is {rows}; it must be a number of rows from 0 up")))?;
        let (mut left, mut batches) = (rows, Vec::new());
        for batch in &self.batches {
            if left == 0 && !batches.is_empty() {
                break;
            }
            let taken = left.min(batch.num_rows());
            batches.push(batch.slice(0, taken));
            left -= taken;
        }
        Ok(Table { name: self.name.clone(), schema: self.schema.clone(), batches })
    }

    /// It cannot change: a copy is the same table.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// Pickled as a `pyarrow.Table`, which it takes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let from_arrow = slf.get_type().getattr("_from_arrow")?;
        Ok((from_arrow, (slf.get().name.clone(), Self::to_arrow(slf.clone())?)))
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let columns = self.schema.fields().len();
        let names = scrub::visible(&self.column_names().join(", ")).into_owned();
        format!("<sideline.Table {}: {} rows, {columns} columns: {names}>", self.name, self.num_rows())
    }

    fn __str__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._text")?.call_method1("table_text", (slf,)))
    }

    fn _repr_html_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._text")?.call_method1("table_html", (slf,)))
    }
}

/// The columns of a table: a sequence of `Field`, by name too.
///
/// >>> sideline.SCHEMAS["teams"].names[:3]
/// ['team_id', 'name', 'gender']
/// >>> sideline.SCHEMAS["shots"]["distance_cm"].unit
/// 'cm'
#[pyclass(frozen, module = "sideline", eq)]
#[derive(PartialEq)]
pub struct Schema {
    name: String,
    schema: SchemaRef,
}

impl Schema {
    fn of_table(name: &str) -> Option<Self> {
        let tables = resource::tables();
        let table = tables.iter().find(|table| table.name == name)?;
        Some(Schema { name: name.to_owned(), schema: engine::schema(table) })
    }
}

#[pymethods]
impl Schema {
    /// The table's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The columns' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The columns, in their order.
    #[getter]
    fn fields(&self) -> Vec<Field> {
        self.schema.fields().iter().map(|field| Field(field.as_ref().clone())).collect()
    }

    /// What a row is.
    #[getter]
    fn description(&self) -> Option<String> {
        let tables = resource::tables();
        tables.iter().find(|table| table.name == self.name).map(|table| table.doc.to_owned())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, &self.schema)
    }

    /// A `pyarrow.Schema`, with unit and meaning in the metadata of its fields.
    ///
    /// >>> sideline.SCHEMAS["locations"].to_arrow().field("x").metadata[b"unit"]
    /// b'mm'
    fn to_arrow(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._frames")?.call_method1("schema_to_arrow", (slf,)))
    }

    /// One of `sideline.SCHEMAS` is pickled as its name, any other as an empty table of `pyarrow`.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let columns = if Schema::of_table(&this.name).as_ref() == Some(this) {
            py.None().into_bound(py)
        } else {
            let empty = Table::new(py, this.name.clone(), vec![RecordBatch::new_empty(this.schema.clone())])?;
            Table::to_arrow(Bound::new(py, empty)?)?
        };
        Ok((slf.get_type().getattr("_restore")?, (this.name.clone(), columns)))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, name: String, columns: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !columns.is_none() {
            return Ok(Table::_from_arrow(py, name, columns)?.schema());
        }
        let unknown = || PyValueError::new_err(format!("this version of sideline has no table {name:?}"));
        Schema::of_table(&name).ok_or_else(unknown)
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
            let field = self.schema.field_with_name(&name).ok();
            return field.map(|field| Field(field.clone())).ok_or_else(|| PyKeyError::new_err(name.into_owned()));
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
        errors::guard(py, || py.import("sideline._text")?.call_method1("schema_html", (slf,)))
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

    /// Whether it may be null.
    #[getter]
    fn nullable(&self) -> bool {
        self.0.is_nullable()
    }

    /// Such as `cm` or `s`; `None` where there is none.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.metadata("unit")
    }

    /// Of a coordinate: ``court`` or ``hoop``, as `sideline.court` describes them; `None` elsewhere.
    #[getter]
    fn frame(&self) -> Option<&str> {
        self.metadata("frame")
    }

    /// The meaning of the column.
    #[getter]
    fn description(&self) -> Option<&str> {
        self.metadata("description")
    }

    /// Pickled as a schema with this column alone.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let (py, this) = (slf.py(), slf.get());
        let schema = Arc::new(ArrowSchema::new(vec![this.0.clone()]));
        let table = Table::new(py, String::new(), vec![RecordBatch::new_empty(schema)])?;
        Ok((slf.get_type().getattr("_restore")?, (Table::to_arrow(Bound::new(py, table)?)?,)))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<Self> {
        let table = Table::_from_arrow(py, String::new(), columns)?;
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

/// A table of what the package itself found: its rows as a JSON array.
#[pyfunction]
#[pyo3(name = "_own_table")]
pub fn own_table(py: Python<'_>, name: &str, json: &[u8]) -> PyResult<Table> {
    errors::guard(py, || {
        let Some(resource) = resource::by_name(name) else { return Err(errors::internal(py, "no such table")) };
        let batch = engine::decode(resource, name, None, &engine::Body::from(json), &engine::Context::default());
        let batch = batch.map_err(|error| errors::raise(py, error.scrubbed(&Scrubber::default())))?;
        Table::new(py, name.to_owned(), vec![batch])
    })
}

/// Every table's schema, by name.
#[pyfunction]
#[pyo3(name = "_schemas")]
pub fn schemas(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    errors::guard(py, || {
        let all = PyDict::new(py);
        for table in resource::tables() {
            let schema = Schema { name: table.name.to_owned(), schema: engine::schema(table) };
            all.set_item(table.name, Bound::new(py, schema)?)?;
        }
        Ok(all)
    })
}
