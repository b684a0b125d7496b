//! The options of a fault: from Python's arguments, and as data for the generator of `Faults.add`.

use crate::simulator::in_range;
use bytes::Bytes;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyString};
use sideline_simulator::{Fault, Gzip, Words, fault_options};

/// A value for an option.
struct OptionValue<'a, 'py> {
    name: &'static str,
    /// What it is to be, such as "a whole number".
    expected: &'static str,
    value: &'a Bound<'py, PyAny>,
}

impl<'py> OptionValue<'_, 'py> {
    fn extract<T: FromPyObjectOwned<'py>>(&self) -> PyResult<T> {
        self.value.extract::<T>().map_err(Into::<PyErr>::into).map_err(|error| self.refuse(error))
    }

    fn whole<T: TryFrom<i64>>(&self) -> PyResult<T> {
        in_range(self.name, self.extract()?)
    }

    /// With the name of the option, and what to write.
    fn refuse(&self, error: PyErr) -> PyErr {
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
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self>;
}

impl OptionType for bool {
    fn annotation() -> String {
        "bool".into()
    }
    fn source(&self) -> String {
        if *self { "True".into() } else { "False".into() }
    }
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        option.extract()
    }
}

impl OptionType for f64 {
    fn annotation() -> String {
        "float".into()
    }
    fn source(&self) -> String {
        format!("{self:?}")
    }
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        option.extract()
    }
}

impl OptionType for String {
    fn annotation() -> String {
        "str".into()
    }
    fn source(&self) -> String {
        format!("{self:?}")
    }
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        option.extract()
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
            fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
                option.whole()
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
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        if option.value.is_none() { Ok(None) } else { T::read(option).map(Some) }
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
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        let text: String = option.extract()?;
        let entry = Self::WORDS.iter().find(|(word, _)| *word == text);
        let refusal = || PyValueError::new_err(format!("{} is {}, not {text:?}", option.name, option.expected));
        entry.map(|(_, value)| *value).ok_or_else(refusal)
    }
}

/// Bytes, unchanged.
impl OptionType for Bytes {
    fn annotation() -> String {
        "bytes".into()
    }
    fn source(&self) -> String {
        "b\"\"".into()
    }
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        let OptionValue { name, expected, value } = option;
        if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
            return Ok(value.extract::<Vec<u8>>()?.into());
        }
        let kind = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("{name} is {expected}, not {kind}: write b\"...\"")))
    }
}

/// A body: bytes unchanged, text as UTF-8, anything else as JSON.
impl OptionType for Vec<u8> {
    fn annotation() -> String {
        "object".into()
    }
    fn source(&self) -> String {
        "None".into()
    }
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        let body = option.value;
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
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        option.extract::<Vec<i64>>()?.into_iter().map(|number| in_range(option.name, number)).collect()
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
    fn read(option: &OptionValue<'_, '_>) -> PyResult<Self> {
        let value = option.value;
        if value.is_none() {
            return Ok(Vec::new());
        }
        let pairs = match value.cast::<PyMapping>() {
            Ok(mapping) => mapping.items()?.into_any(),
            Err(_) => value.clone(),
        };
        let pairs = pairs.try_iter().map_err(|error| option.refuse(error))?;
        pairs.map(|pair| pair?.extract().map_err(|error: PyErr| option.refuse(error))).collect()
    }
}

macro_rules! read_and_describe {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $expected:literal;)+) => {
        /// The fault with these options.
        pub(super) fn fault(options: &Bound<'_, PyDict>) -> PyResult<Fault> {
            let mut fault = Fault::default();
            $(if let Some(value) = options.get_item(stringify!($name))? {
                let option = OptionValue { name: stringify!($name), expected: $expected, value: &value };
                fault.$name = OptionType::read(&option)?;
            })+
            Ok(fault)
        }

        /// Return every option as name, type and default in Python, and meaning; in order.
        #[pyfunction]
        #[pyo3(name = "_fault_options")]
        pub(super) fn describe() -> Vec<(&'static str, String, String, &'static str)> {
            let default = Fault::default();
            vec![$(describe_option(stringify!($name), &default.$name, concat!($($doc),+))),+]
        }
    };
}
fault_options!(read_and_describe);

fn describe_option<T: OptionType>(
    name: &'static str,
    default: &T,
    doc: &'static str,
) -> (&'static str, String, String, &'static str) {
    (name, T::annotation(), default.source(), doc.trim())
}
