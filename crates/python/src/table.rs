//! One Arrow table.

use crate::schema::Schema;
use crate::{capsule, convert, errors, gather, memory, pickle_table, to_dicts};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString, PyTuple};
use sideline::config::Sport;
use sideline::resource;
use sideline::scrub::{self, Scrubber};
use std::collections::HashMap;
use std::sync::Arc;

/// A named Arrow table. pyarrow, polars, DuckDB and others read it without conversion: ``pl.DataFrame(table)``,
/// ``pa.table(table)``, ``duckdb.sql("from table")``.
///
/// >>> table = client.stats(session_id).table("box_score")
/// >>> import polars as pl
/// >>> pl.DataFrame(table).height == table.num_rows == len(table)
/// True
#[pyclass(frozen, subclass, module = "sideline", name = "Table")]
pub struct PyTable {
    name: String,
    pub(super) schema: SchemaRef,
    /// All of this schema. The batches of several bodies stay separate: concatenating them would need twice the memory.
    batches: Vec<RecordBatch>,
}

impl PyTable {
    /// `batches`: at least one, all of one schema.
    pub fn new(py: Python<'_>, name: String, batches: Vec<RecordBatch>) -> PyResult<Self> {
        let Some(first) = batches.first() else { return Err(errors::internal(py, "a table without a batch")) };
        Ok(PyTable { name, schema: first.schema(), batches })
    }

    /// Calls a Python function that converts the table, or names the library to install.
    pub fn frame<'py>(table: Bound<'py, Self>, function: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = table.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1(function, (table,)))
    }

    /// Like [`PyTable::frame`], with only some columns if they are named.
    fn frame_of<'py>(
        table: Bound<'py, Self>,
        columns: Option<&Bound<'py, PyAny>>,
        function: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        match columns {
            None => Self::frame(table, function),
            Some(_) => Self::frame(Bound::new(table.py(), table.get()._select(table.py(), columns)?)?, function),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.schema.fields().iter().position(|field| field.name() == name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(|field| field.name().as_str())
    }

    fn listed_columns(&self) -> String {
        scrub::visible(&self.column_names().join(", "))
    }

    /// A table of the same name with other batches.
    fn with_batches(&self, batches: Result<Vec<RecordBatch>, ArrowError>) -> PyResult<PyTable> {
        let batches = batches.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let schema = batches.first().map_or_else(|| self.schema.clone(), RecordBatch::schema);
        Ok(PyTable { name: self.name.clone(), schema, batches })
    }
}

/// The function that restores a table, and its arguments.
pub(super) type Pickled<'py, T = PyAny> = (Bound<'py, PyAny>, (String, Bound<'py, T>));

#[pymethods]
impl PyTable {
    #[new]
    fn create(py: Python<'_>, name: String, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::_from_arrow(py, name, data)
    }

    /// Make a `Table` from pyarrow, polars, pandas, DuckDB, or any object with `__arrow_c_stream__`.
    ///
    /// Raises `TypeError` for anything else, and for a column of a type that has no Python form (a union, runs);
    /// `ValueError` for two columns of one name, and for a time zone that Python does not know.
    ///
    /// >>> import pyarrow as pa
    /// >>> sideline.Table.from_arrow(pa.table({"team_id": [7]}), "teams").to_dicts()
    /// [{'team_id': 7}]
    #[staticmethod]
    #[pyo3(signature = (data, name = None))]
    fn from_arrow(py: Python<'_>, data: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<Self> {
        if !data.hasattr("__arrow_c_stream__")? {
            return Err(PyTypeError::new_err(format!(
                "data is an Arrow table (pyarrow, polars, what has __arrow_c_stream__), not {}{}",
                convert::kind(data),
                if data.hasattr("collect")? { ": write .collect()" } else { "" }
            )));
        }
        let own_name = data.cast::<PyTable>().ok().map(|table| table.get().name.clone());
        Self::_from_arrow(py, name.or(own_name).unwrap_or_else(|| "table".to_owned()), data)
    }

    /// Make a table with a name from any Arrow table.
    #[staticmethod]
    pub(super) fn _from_arrow(py: Python<'_>, name: String, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        errors::guard(py, || {
            let (schema, mut batches) = capsule::read(data)?;
            to_dicts::check_columns(py, &schema)?;
            if batches.is_empty() {
                batches.push(RecordBatch::new_empty(schema));
            }
            Self::new(py, name, batches)
        })
    }

    /// The table's name, as in `sideline.SCHEMAS`.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The column names, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Names, types, units and descriptions of the columns.
    #[getter]
    pub(super) fn schema(&self) -> Schema {
        Schema { name: self.name.clone(), schema: self.schema.clone() }
    }

    /// A requested schema is ignored if a value does not fit it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        slf: Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let table = slf.get();
        errors::guard(slf.py(), || {
            capsule::of_batches(slf.py(), &table.schema, &table.batches, requested_schema.as_ref())
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, &self.schema)
    }

    /// Return a `pyarrow.Table` of all or of the named columns.
    ///
    /// >>> client.teams().table().to_arrow().column_names[:2]
    /// ['team_id', 'name']
    #[pyo3(signature = (columns = None))]
    fn to_arrow<'py>(slf: Bound<'py, Self>, columns: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        Self::frame_of(slf, columns, "to_arrow")
    }

    /// Return a `polars.DataFrame` of all or of the named columns; needs no pyarrow.
    ///
    /// >>> client.teams().table().to_polars(["team_id"]).dtypes
    /// [Int64]
    #[pyo3(signature = (columns = None))]
    fn to_polars<'py>(slf: Bound<'py, Self>, columns: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        Self::frame_of(slf, columns, "to_polars")
    }

    /// Return a `pandas.DataFrame` with categoricals, aware times, and nullable types for columns that may be null.
    ///
    /// >>> client.teams().table(columns=["sport"]).to_pandas().sport.dtype.name
    /// 'category'
    #[pyo3(signature = (columns = None))]
    fn to_pandas<'py>(slf: Bound<'py, Self>, columns: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        Self::frame_of(slf, columns, "to_pandas")
    }

    /// Write a Parquet file, with pyarrow or, without it, with polars.
    ///
    /// >>> import tempfile
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     client.teams().table().to_parquet(f"{folder}/teams.parquet")
    fn to_parquet<'py>(slf: Bound<'py, Self>, path: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1("to_parquet", (slf, path)).map(|_| ()))
    }

    /// Write a CSV file with a header, in UTF-8; needs no library. Times are ISO 8601, lists and maps JSON, null is
    /// empty, bytes base64, durations ISO 8601. "-" is standard output.
    ///
    /// A spreadsheet takes a name such as "=cmd" for a formula: for one, pass `formulas="escape"`, which puts an
    /// apostrophe before texts that begin with =, +, -, @, a tab or a carriage return. Excel reads accents only with
    /// `bom=True`, which begins the file with a byte order mark.
    ///
    /// >>> import tempfile
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     client.teams().table().to_csv(f"{folder}/teams.csv")
    #[pyo3(signature = (path, *, formulas = "keep", bom = false))]
    fn to_csv<'py>(slf: Bound<'py, Self>, path: &Bound<'py, PyAny>, formulas: &str, bom: bool) -> PyResult<()> {
        let py = slf.py();
        errors::guard(py, || {
            py.import("sideline._rows")?.call_method1("to_csv", (slf, path, formulas, bom)).map(|_| ())
        })
    }

    /// The values of a column, as a list. Raises `KeyError` if there is no such column.
    ///
    /// >>> 1001 in client.teams().table()["team_id"]
    /// True
    fn __getitem__<'py>(&self, py: Python<'py>, column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let Ok(name) = column.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!(
                "a table is read by the name of a column, such as table[\"{}\"], not by {}; rows are in to_dicts()",
                self.column_names().first().map_or("team_id", String::as_str),
                convert::kind(column)
            )));
        };
        let name = name.to_cow()?;
        let Some(place) = self.place(&name) else {
            let text = format!("no column {name:?}; there are: {}", self.listed_columns());
            let error = errors::unknown_name(py, &text, &name, self.names().collect());
            return Err(PyKeyError::new_err(error.value(py).to_string()));
        };
        errors::guard(py, || to_dicts::column(py, self.batches.iter().map(|batch| batch.column(place))))
    }

    /// Return some columns, in the order named.
    #[pyo3(signature = (columns))]
    fn _select(&self, py: Python<'_>, columns: Option<&Bound<'_, PyAny>>) -> PyResult<PyTable> {
        errors::guard(py, || {
            let columns = convert::columns(columns)?.unwrap_or_else(|| self.column_names());
            let place = |name: &String| {
                self.place(name).ok_or_else(|| {
                    let name_of_table = scrub::visible(&self.name);
                    let text = format!("{name_of_table} has no column {name:?}; there are: {}", self.listed_columns());
                    errors::unknown_name(py, &text, name, self.names().collect())
                })
            };
            let places = columns.iter().map(place).collect::<PyResult<Vec<_>>>()?;
            self.with_batches(self.batches.iter().map(|batch| batch.project(&places)).collect())
        })
    }

    /// Return the rows at these positions, in this order.
    fn _take(&self, py: Python<'_>, places: Vec<u64>) -> PyResult<PyTable> {
        errors::guard(py, || {
            self.with_batches(gather::take(&self.schema, &self.batches, &places).map(|batch| vec![batch]))
        })
    }

    /// Add columns of texts or lists of texts: name, description, a value for each row.
    fn _with_texts(
        &self,
        py: Python<'_>,
        columns: Vec<(String, String, Bound<'_, PyList>, bool)>,
    ) -> PyResult<PyTable> {
        errors::guard(py, || {
            let table = gather::concat(&self.schema, &self.batches);
            let table = table.map_err(|error| PyValueError::new_err(error.to_string()))?;
            let mut fields: Vec<Arc<ArrowField>> = self.schema.fields().iter().cloned().collect();
            let mut arrays = table.columns().to_vec();
            for (name, meaning, values, is_list) in columns {
                let array = texts(&values, is_list)?;
                let metadata = HashMap::from([("description".to_owned(), meaning)]);
                fields.push(Arc::new(ArrowField::new(name, array.data_type().clone(), true).with_metadata(metadata)));
                arrays.push(array);
            }
            let schema = ArrowSchema::new_with_metadata(fields, self.schema.metadata().clone());
            let rows = RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
            self.with_batches(
                RecordBatch::try_new_with_options(Arc::new(schema), arrays, &rows).map(|batch| vec![batch]),
            )
        })
    }

    /// Return the table with its timestamps in another time zone: the instants stay.
    fn _in_zone(&self, py: Python<'_>, zone: &str) -> PyResult<PyTable> {
        errors::guard(py, || {
            let fields = self.schema.fields().iter().map(|field| match field.data_type() {
                DataType::Timestamp(unit, Some(_)) => {
                    Arc::new(field.as_ref().clone().with_data_type(DataType::Timestamp(*unit, Some(zone.into()))))
                }
                _ => field.clone(),
            });
            let metadata = self.schema.metadata().clone();
            let schema = Arc::new(ArrowSchema::new_with_metadata(fields.collect::<Vec<_>>(), metadata));
            let in_zone = |(array, field): (&ArrayRef, &Arc<ArrowField>)| {
                let data = array.to_data().into_builder().data_type(field.data_type().clone()).build()?;
                Ok(make_array(data))
            };
            let convert = |batch: &RecordBatch| {
                let columns = batch.columns().iter().zip(schema.fields()).map(in_zone);
                let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_, ArrowError>>()?, &rows)
            };
            self.with_batches(self.batches.iter().map(convert).collect())
        })
    }

    /// Return a list with a dict for each row; times are aware datetimes. Needs no library.
    ///
    /// A time before the year 1 or after 9999, or with a part of a microsecond, which no datetime can hold, is a text:
    /// as ISO 8601 writes it, or ``<out of range>`` beyond that. `to_arrow()` keeps it unchanged,
    /// `to_polars()` as far as polars can show it: beyond 260,000 years it is null. An interval, whose months have no
    /// fixed length, is a text too.
    ///
    /// >>> client.teams().table(columns=["gender", "sport"]).to_dicts()[0]
    /// {'gender': 'MEN', 'sport': 'BASKETBALL'}
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        errors::guard(py, || {
            memory::ensure(memory::of_rows(&self.batches))?;
            to_dicts::dicts(py, &self.batches)
        })
    }

    /// Return the first rows.
    ///
    /// >>> client.teams().table().head(2).num_rows
    /// 2
    #[pyo3(signature = (rows = None), text_signature = "($self, rows=5)")]
    fn head(&self, rows: Option<&Bound<'_, PyAny>>) -> PyResult<PyTable> {
        let (mut left, mut batches) = (rows.map_or(Ok(5), convert::count_of_rows)?, Vec::new());
        for batch in &self.batches {
            if left == 0 && !batches.is_empty() {
                break;
            }
            let count = left.min(batch.num_rows());
            batches.push(batch.slice(0, count));
            left -= count;
        }
        Ok(PyTable { name: self.name.clone(), schema: self.schema.clone(), batches })
    }

    /// A table is immutable, so a copy is the same object.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// Pickled as its buffers; no library is needed.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py, PyTuple>> {
        let (py, table) = (slf.py(), slf.get());
        let restore = slf.get_type().getattr("_restore")?;
        errors::guard(py, || {
            Ok((restore, (table.name.clone(), pickle_table::state(py, &table.schema, &table.batches)?)))
        })
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, name: String, state: &Bound<'_, PyAny>) -> PyResult<Self> {
        errors::guard(py, || {
            let (schema, batches) = pickle_table::restore(state)?;
            Ok(PyTable { name, schema, batches })
        })
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let columns = self.schema.fields().len();
        let names = scrub::visible(&self.column_names().join(", "));
        format!("<sideline.Table {}: {} rows, {columns} columns: {names}>", self.name, self.num_rows())
    }

    fn __str__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1("table_text", (slf,)))
    }

    fn _repr_html_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        errors::guard(py, || py.import("sideline._rows")?.call_method1("table_html", (slf,)))
    }
}

/// A column of texts, or of lists of texts.
fn texts(values: &Bound<'_, PyList>, is_list: bool) -> PyResult<ArrayRef> {
    if !is_list {
        let mut column = StringBuilder::new();
        for value in values.iter() {
            column.append_option(value.extract::<Option<String>>()?);
        }
        return Ok(Arc::new(column.finish()));
    }
    let mut column = ListBuilder::new(StringBuilder::new());
    for value in values.iter() {
        column.append_option(value.extract::<Option<Vec<Option<String>>>>()?);
    }
    Ok(Arc::new(column.finish()))
}

/// Return a table of the package's own, from rows as a JSON array.
#[pyfunction]
#[pyo3(name = "_own_table", signature = (name, json, sport = "basketball"))]
pub(crate) fn own_table(py: Python<'_>, name: &str, json: &[u8], sport: &str) -> PyResult<PyTable> {
    errors::guard(py, || {
        let sport = Sport::parse(sport).unwrap_or(Sport::Basketball);
        let resource = resource::by_name(name).map(|resource| resource::of_sport(resource, sport));
        let Some(resource) = resource else { return Err(errors::internal(py, "no such table")) };
        let batch = tables::decode(resource, name, None, &reader::Body::from(json), &tables::Context::default());
        let batch =
            batch.map_err(|error| errors::raise(py, sideline::error::Error::decode(error, &Scrubber::default())))?;
        PyTable::new(py, name.to_owned(), vec![batch])
    })
}
