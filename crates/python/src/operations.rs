//! The declarations of the operations as plain data, for the generator of the Python clients.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sideline::operation::argument::{Argument, Kind};
use sideline::operation::{OPERATIONS, Operation, Reach};

/// Return every operation that is a method of the clients, in order.
#[pyfunction]
#[pyo3(name = "_operations")]
pub(crate) fn operations(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let methods = OPERATIONS.iter().filter(|operation| operation.reach == Reach::Method);
    methods.map(|operation| describe(py, operation)).collect()
}

fn describe<'py>(py: Python<'py>, operation: &Operation) -> PyResult<Bound<'py, PyDict>> {
    let tables = operation.resource.map_or(&[][..], |resource| resource.tables);
    let arguments = operation.arguments.iter().map(|argument| describe_argument(py, argument));
    let fields = PyDict::new(py);
    fields.set_item("name", operation.name)?;
    fields.set_item("summary", operation.doc.summary)?;
    fields.set_item("details", operation.doc.details)?;
    fields.set_item("raises", operation.doc.raises)?;
    fields.set_item("section", operation.doc.section)?;
    fields.set_item("example", operation.doc.example.join("\n"))?;
    fields.set_item("tables", tables.iter().map(|table| table.name).collect::<Vec<_>>())?;
    fields.set_item("arguments", arguments.collect::<PyResult<Vec<_>>>()?)?;
    Ok(fields)
}

fn describe_argument<'py>(py: Python<'py>, argument: &Argument) -> PyResult<Bound<'py, PyDict>> {
    let (kind, choices) = match argument.kind {
        Kind::Id => ("id", &[][..]),
        Kind::ForeignIds => ("foreign_ids", &[][..]),
        Kind::Time => ("time", &[][..]),
        Kind::Flag => ("flag", &[][..]),
        Kind::Text => ("text", &[][..]),
        Kind::Count => ("count", &[][..]),
        Kind::Choice(words) => ("choice", words),
        Kind::Choices(words) => ("choices", words),
        Kind::Parameters => ("parameters", &[][..]),
    };
    let fields = PyDict::new(py);
    fields.set_item("name", argument.name)?;
    fields.set_item("kind", kind)?;
    fields.set_item("choices", choices)?;
    fields.set_item("doc", argument.doc)?;
    fields.set_item("is_required", argument.is_required)?;
    fields.set_item("is_keyword_only", argument.is_keyword_only)?;
    fields.set_item("takes_many", argument.takes_many)?;
    fields.set_item("is_context_only", argument.is_context_only)?;
    fields.set_item("is_confidential", argument.is_confidential)?;
    Ok(fields)
}
