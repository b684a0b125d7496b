//! HTML of the package's template files, which escape every value.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Value, path_loader};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::PathBuf;

use crate::errors;

#[pyclass(module = "sideline._core", name = "_Templates", frozen)]
pub(crate) struct Templates {
    environment: Environment<'static>,
}

#[pymethods]
impl Templates {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(raise)?;
        environment.set_syntax(syntax);
        environment.set_loader(path_loader(folder));
        Ok(Self { environment })
    }

    /// Render a template with a dict of texts, numbers, lists and dicts.
    fn render(&self, py: Python<'_>, name: &str, values: &Bound<'_, PyDict>) -> PyResult<String> {
        errors::guard(py, || {
            let template = self.environment.get_template(name).map_err(raise)?;
            template.render(value(values)?).map_err(raise)
        })
    }
}

fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        Ok(Value::from(()))
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(Value::from(&*text.to_string_lossy()))
    } else if object.is_instance_of::<PyBool>() {
        object.extract().map(|flag: bool| Value::from(flag))
    } else if object.is_instance_of::<PyInt>() {
        object.extract().map(|number: i64| Value::from(number))
    } else if object.is_instance_of::<PyFloat>() {
        object.extract().map(|number: f64| Value::from(number))
    } else if let Ok(dict) = object.cast::<PyDict>() {
        let pairs: PyResult<Vec<(String, Value)>> =
            dict.iter().map(|(key, member)| Ok((key.extract()?, value(&member)?))).collect();
        Ok(Value::from_pairs(pairs?))
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let elements: PyResult<Vec<Value>> = object.try_iter()?.map(|element| value(&element?)).collect();
        Ok(elements?.into_iter().collect())
    } else {
        Err(PyTypeError::new_err(format!("a template takes no {}", object.get_type().name()?)))
    }
}

fn raise(error: minijinja::Error) -> PyErr {
    PyRuntimeError::new_err(format!("{error:#}"))
}
