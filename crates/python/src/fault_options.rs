//! The options of a fault: from Python's arguments, and as data for the generator of `Faults.add`.

use crate::simulator::in_range;
use bytes::Bytes;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyString};
use sideline_simulator::{Fault, Gzip, Words, fault_options};

/// A value for an option.
struct Given<'a, 'py> {
    name: &'static str,
    /// What it is to be, such as "a whole number".
    expected: &'static str,
    value: &'a Bound<'py, PyAny>,
}

impl<'py> Given<'_, 'py> {
    fn extract<T: FromPyObjectOwned<'py>>(&self) -> PyResult<T> {
        self.value.extract::<T>().map_err(Into::<PyErr>::into).map_err(|error| self.refused(error))
    }

    fn whole<T: TryFrom<i64>>(&self) -> PyResult<T> {
        in_range(self.name, self.extract()?)
    }

    /// With the name of the option, and what to write.
    fn refused(&self, error: PyErr) -> PyErr {
        let (name, expected, py) = (self.name, self.expected, self.value.py());
        if error.is_instance_of::<PyOverflowError>(py) {
            PyValueError::new_err(format!("{name} is {expected}; this one exceeds 64 bits"))
        } else {
            PyTypeError::new_err(format!("{name} is {expected}; {}", error.value(py)))
        }
    }
}

/// The type of an option.
trait OptionType: Sized {
    /// Its type in Python.
    fn annotation() -> String;
    /// It as a default in Python.
    fn source(&self) -> String;
    fn read(given: &Given<'_, '_>) -> PyResult<Self>;
}

impl OptionType for bool {
    fn annotation() -> String {
        "bool".into()
    }
    fn source(&self) -> String {
        if *self { "True".into() } else { "False".into() }
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        given.extract()
    }
}

impl OptionType for f64 {
    fn annotation() -> String {
        "float".into()
    }
    fn source(&self) -> String {
        format!("{self:?}")
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        given.extract()
    }
}

impl OptionType for String {
    fn annotation() -> String {
        "str".into()
    }
    fn source(&self) -> String {
        format!("{self:?}")
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        given.extract()
    }
}

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl OptionType for $type {
            fn annotation() -> String {
                "int".into()
            }
            fn source(&self) -> String {
                self.to_string()
            }
            fn read(given: &Given<'_, '_>) -> PyResult<Self> {
                given.whole()
            }
        }
    )+};
}
whole_numbers!(u16, u32, usize, i64);

impl<T: OptionType> OptionType for Option<T> {
    fn annotation() -> String {
        format!("{} | None", T::annotation())
    }
    fn source(&self) -> String {
        self.as_ref().map_or("None".into(), T::source)
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        if given.value.is_none() { Ok(None) } else { T::read(given).map(Some) }
    }
}

impl OptionType for Gzip {
    fn annotation() -> String {
        let words: Vec<_> = Self::WORDS.iter().map(|(word, _)| format!("{word:?}")).collect();
        format!("Literal[{}]", words.join(", "))
    }
    fn source(&self) -> String {
        "None".into()
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        let text: String = given.extract()?;
        let found = Self::WORDS.iter().find(|(word, _)| *word == text);
        let refusal = || PyValueError::new_err(format!("{} is {}, not {text:?}", given.name, given.expected));
        found.map(|(_, value)| *value).ok_or_else(refusal)
    }
}

/// Bytes as they are.
impl OptionType for Bytes {
    fn annotation() -> String {
        "bytes".into()
    }
    fn source(&self) -> String {
        "b\"\"".into()
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        let Given { name, expected, value } = given;
        if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
            return Ok(value.extract::<Vec<u8>>()?.into());
        }
        let kind = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("{name} is {expected}, not {kind}: write b\"...\"")))
    }
}

/// A body: bytes as they are, text as UTF-8, anything else as JSON.
impl OptionType for Vec<u8> {
    fn annotation() -> String {
        "object".into()
    }
    fn source(&self) -> String {
        "None".into()
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        let body = given.value;
        if let Ok(bytes) = body.cast::<PyBytes>() {
            return Ok(bytes.as_bytes().to_vec());
        }
        if let Ok(text) = body.cast::<PyString>() {
            return Ok(text.to_cow()?.into_owned().into_bytes());
        }
        let json: String = body.py().import("json")?.call_method1("dumps", (body,))?.extract()?;
        Ok(json.into_bytes())
    }
}

/// Statuses.
impl OptionType for Vec<u16> {
    fn annotation() -> String {
        "Sequence[int]".into()
    }
    fn source(&self) -> String {
        "()".into()
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        given.extract::<Vec<i64>>()?.into_iter().map(|number| in_range(given.name, number)).collect()
    }
}

/// Headers.
impl OptionType for Vec<(String, String)> {
    fn annotation() -> String {
        "Mapping[str, str] | Iterable[tuple[str, str]] | None".into()
    }
    fn source(&self) -> String {
        "None".into()
    }
    fn read(given: &Given<'_, '_>) -> PyResult<Self> {
        let value = given.value;
        if value.is_none() {
            return Ok(Vec::new());
        }
        let pairs = match value.cast::<PyMapping>() {
            Ok(mapping) => mapping.items()?.into_any(),
            Err(_) => value.clone(),
        };
        let pairs = pairs.try_iter().map_err(|error| given.refused(error))?;
        pairs.map(|pair| pair?.extract().map_err(|error: PyErr| given.refused(error))).collect()
    }
}

macro_rules! read_and_describe {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $expected:literal;)+) => {
        /// The fault with these options.
        pub(super) fn fault(options: &Bound<'_, PyDict>) -> PyResult<Fault> {
            let mut fault = Fault::default();
            $(if let Some(value) = options.get_item(stringify!($name))? {
                let given = Given { name: stringify!($name), expected: $expected, value: &value };
                fault.$name = OptionType::read(&given)?;
            })+
            Ok(fault)
        }

        /// Return every option as name, type and default in Python, and meaning; in order.
        #[pyfunction]
        #[pyo3(name = "_fault_options")]
        pub(super) fn described() -> Vec<(&'static str, String, String, &'static str)> {
            let default = Fault::default();
            vec![$(described_option(stringify!($name), &default.$name, concat!($($doc),+))),+]
        }
    };
}
fault_options!(read_and_describe);

fn described_option<T: OptionType>(
    name: &'static str,
    default: &T,
    doc: &'static str,
) -> (&'static str, String, String, &'static str) {
    (name, T::annotation(), default.source(), doc.trim())
}
