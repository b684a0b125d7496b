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
    methods.map(|operation| described(py, operation)).collect()
}

fn described<'py>(py: Python<'py>, operation: &Operation) -> PyResult<Bound<'py, PyDict>> {
    let tables = operation.resource.map_or(&[][..], |resource| resource.tables);
    let arguments = operation.arguments.iter().map(|argument| described_argument(py, argument));
    let described = PyDict::new(py);
    described.set_item("name", operation.name)?;
    described.set_item("summary", operation.doc.summary)?;
    described.set_item("details", operation.doc.details)?;
    described.set_item("raises", operation.doc.raises)?;
    described.set_item("section", operation.doc.section)?;
    described.set_item("example", operation.doc.example.join("\n"))?;
    described.set_item("tables", tables.iter().map(|table| table.name).collect::<Vec<_>>())?;
    described.set_item("arguments", arguments.collect::<PyResult<Vec<_>>>()?)?;
    Ok(described)
}

fn described_argument<'py>(py: Python<'py>, argument: &Argument) -> PyResult<Bound<'py, PyDict>> {
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
    let described = PyDict::new(py);
    described.set_item("name", argument.name)?;
    described.set_item("kind", kind)?;
    described.set_item("choices", choices)?;
    described.set_item("doc", argument.doc)?;
    described.set_item("is_required", argument.is_required)?;
    described.set_item("is_keyword_only", argument.is_keyword_only)?;
    described.set_item("takes_many", argument.takes_many)?;
    described.set_item("is_context_only", argument.is_context_only)?;
    described.set_item("is_confidential", argument.is_confidential)?;
    Ok(described)
}
